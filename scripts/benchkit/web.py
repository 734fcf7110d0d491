"""The larger corpora: a mix of web files, sites, a page with images."""

import dataclasses
import hashlib
import itertools
import pathlib
import random
import re

from benchkit import corpus, packages, tools

KB = corpus.KB

# Packages with HTML pages: each is a site.
SITES = (
    "apache2-doc", "debian-faq", "debian-policy", "debian-reference-en", "developers-reference",
    "docbook-xsl-doc-html", "exim4-doc-html", "flex-doc", "freetds-doc", "git-doc", "haproxy-doc",
    "libapr1-dev", "libaprutil1-dev", "libcairo2-doc", "libexif-doc", "libflac-doc",
    "libjs-codemirror", "libmpfr-doc", "libogg-dev", "libpango1.0-doc", "libsoup2.4-doc",
    "libtheora-doc", "libtiff-doc", "libusb-1.0-doc", "libvorbis-dev", "libxml2-doc", "m4-doc",
    "mailman3-doc", "maint-guide", "privoxy", "python-flask-doc", "python-jinja2-doc",
    "python-markdown-doc", "python-pytest-doc", "python-requests-doc", "python-werkzeug-doc",
    "rsyslog-doc", "varnish-doc")

# Packages with scripts and style sheets.
SCRIPTS = (
    "fonts-font-awesome", "libjs-backbone", "libjs-bootstrap", "libjs-d3", "libjs-highlight.js",
    "libjs-jquery", "libjs-jquery-ui", "libjs-leaflet", "libjs-modernizr", "libjs-moment",
    "libjs-prettify", "libjs-sphinxdoc", "libjs-underscore", "node-normalize.css")

# The third source's set: 27400 files in 50 runs, 240800700 bytes; pages, style sheets, scripts,
# SVG and JSON. Their shares are not given there.
FILES, MEAN = 548, 8788
SHARES = ((".html", 0.45), (".js", 0.33), (".css", 0.16), (".svg", 0.04), (".json", 0.02))
SMALLEST = 200  # bytes; what is smaller is a redirection or next to empty
IMAGES, IMAGE_BYTES, HTML_BYTES = 41, 125 * KB, 42 * KB
# Packages with fonts, WebAssembly, and a PHP application's images.
APPLICATION = "dokuwiki"
OTHER_FILES = ("fonts-font-awesome", "libjs-olm", APPLICATION)
IMAGE_KINDS = (".png", ".gif")
OTHER_KINDS = (".ttf", ".otf", ".woff", ".woff2", ".wasm", *IMAGE_KINDS)
OF_A_KIND = 8  # files, for each page of a site
YOUR_PAGES = 50  # of --pages, at most
PIECE_BYTES = 4 * KB  # of a piece of a dynamic page, at most
CACHE_PATIENCE = 60  # seconds
SITE_PAGE = (2 * KB, 512 * KB)  # the least and the most that counts as a page of a site


@dataclasses.dataclass(frozen=True)
class Site:
    name: str
    version: str
    pages: tuple  # bodies


def digest_order(named):
    """A shuffle that is the same everywhere: by the digests of the names."""
    return sorted(named, key=lambda one: hashlib.sha256(one[0].encode()).digest())


def web_files(run):
    """(name, body) of some 550 web files, 8.8 KB on average, or the files of --pages."""
    count = run.scale.only or FILES
    if run.pages is not None:
        return [(path.name, path.read_bytes())
                for path in corpus.spread(corpus.files_of(run.pages), count)]
    found, _ = packages.get((*SITES, *SCRIPTS), run.say, run.download)
    candidates = digest_order([(f"{package.name}/{name}", path) for package in found
                               for name, path in package.of_kind(*dict(SHARES))])
    if not candidates:
        return [(f"{number}.html", corpus.invented_html(MEAN, number % 7))
                for number in range(count)]
    sized = [(name, path, path.stat().st_size) for name, path in candidates]
    limits = range(16 * KB, 128 * KB, 4 * KB)
    chosen = min((choose(sized, count, limit) for limit in limits),
                 key=lambda files: abs(sum(size for _, _, size in files) / max(1, len(files))
                                        - MEAN))
    return [(name, path.read_bytes()) for name, path, _ in chosen]


def web_files_origin(run):
    if run.pages is not None:
        return "your pages"
    return packages.names(packages.get((*SITES, *SCRIPTS), run.say, False)[0]) or "invented text"


def other_files(run, package, kinds):
    """(name, body) of a package's files that are no text; none where it is missing."""
    try:
        folder, = packages.whole([package], run.say, run.download)
    except tools.BenchError:
        return []
    return [(str(path.relative_to(folder)), path.read_bytes())
            for path in sorted(folder.rglob("*"))
            if path.suffix in kinds and path.is_file() and not path.is_symlink()]


def kinds(run):
    """(the web's files and others, each kind of them as a Site; where they are from)."""
    others, found = {package: files for package in OTHER_FILES
                     if (files := other_files(run, package, OTHER_KINDS))}, {}
    for name, body in [*web_files(run), *digest_order(itertools.chain(*others.values()))]:
        found.setdefault(pathlib.PurePath(name).suffix, []).append(body)
    return [Site(kind, "", tuple(bodies[:OF_A_KIND * run.scale.pages]))
            for kind, bodies in found.items()], ", ".join([web_files_origin(run), *others])


def choose(sized, count, limit):
    """The first files of each kind, up to its share, that are no larger than `limit`."""
    chosen = []
    for suffix, share in SHARES:
        fitting = [one for one in sized
                   if one[0].endswith(suffix) and SMALLEST <= one[2] <= limit]
        chosen += fitting[:round(share * count)]
    return chosen


def sites(run):
    """The sites, each with up to run.scale.pages pages; --pages makes one site of its files."""
    least, most = SITE_PAGE
    if run.pages is not None:
        chosen = corpus.spread(corpus.files_of(run.pages), YOUR_PAGES)
        return [Site(run.pages.name, "yours", tuple(path.read_bytes() for path in chosen))]
    found, _ = packages.get(SITES, run.say, run.download)
    made = []
    for package in found:
        fitting = [(name, path) for name, path in package.of_kind(".html")
                   if least <= path.stat().st_size <= most]
        chosen = digest_order(fitting)[:run.scale.pages]
        if chosen:
            made.append(Site(package.name, package.version,
                             tuple(path.read_bytes() for _, path in chosen)))
    if not made:
        return [Site(f"invented-{seed}", "-", (corpus.invented_html(20 * KB, seed),))
                for seed in range(1, 4)]
    return made[:run.scale.sites or None]


def kept_bodies(run, limit):
    """(name, body) of files that packages bring gzipped: made by others, at levels of theirs."""
    found, _ = packages.get((*SITES, *SCRIPTS), run.say, run.download)
    named = [(f"{package.name}/{name}", path) for package in found
             for name, path in package.of_kind(".gz")]
    return [(name, path.read_bytes()) for name, path in digest_order(named)[:limit]]


def page_with_images(run):
    """(html, [(name, body)], where the latter are from): a page of 42 KB and its 41 images.

    The links are evenly spread over the page, as the source has them. The largest images of an
    application have 125 KB together, as the source's; without it they are random bytes.
    """
    plain = corpus.document(HTML_BYTES * 2, run).replace(b"<img", b"<hr")  # its own are not there
    found = sorted(other_files(run, APPLICATION, IMAGE_KINDS),
                   key=lambda one: len(one[1]))[-IMAGES:]
    images = [(f"image{number:02}{pathlib.PurePath(name).suffix}", body)
              for number, (name, body) in enumerate(digest_order(found or random_images()), 1)]
    links = [b'<img src="%s" alt="">\n' % name.encode() for name, _ in images]
    piece = (HTML_BYTES - sum(map(len, links))) // IMAGES
    parts = [plain[number * piece:(number + 1) * piece] + link
             for number, link in enumerate(links)]
    html = b"".join(parts)
    return (html + b"\n" * (HTML_BYTES - len(html)), images,
            APPLICATION if found else "random bytes")


def random_images():
    source = random.Random(42)
    weights = [source.lognormvariate(0, 0.8) for _ in range(IMAGES)]
    return [(f"{number}.gif", source.randbytes(max(60, round(IMAGE_BYTES * weight / sum(weights)))))
            for number, weight in enumerate(weights)]


def fragments(run, count=400):
    """Pieces of HTML of which a dynamic page is put together, from several documents."""
    text = corpus.document(count * KB, run)
    pieces = re.findall(rb".+?</(?:p|li|pre|table|h\d|script)>", text, re.DOTALL)
    return [piece[:PIECE_BYTES] for piece in pieces if len(piece) > 80] or [text[:KB]]


def write_folders(site, files, *folders):
    """Writes the files, (name, body), into folders of a site; in `kept` each has a gzip sibling."""
    for folder in folders:
        (site / folder).mkdir()
        for name, body in files:
            (site / folder / name).write_bytes(body)
        if folder == "kept":
            tools.precompress(site / folder)


def wait_cached(httpd, paths, accept="gzip"):
    """Asks for files until the encoding of each is kept: once it is two seconds old."""

    def is_hit(path):
        before = httpd.counters()["ElasticCacheHits"]
        httpd.get(path, {"Accept-Encoding": accept})
        return httpd.counters()["ElasticCacheHits"] > before

    for path in paths:
        if not tools.wait_for(lambda path=path: is_hit(path), CACHE_PATIENCE):
            raise tools.BenchError(f"{path} is not kept")
