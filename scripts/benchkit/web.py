"""The larger corpora: a mix of web files, sites, a page with images, pieces of a dynamic page."""

import dataclasses
import hashlib
import random
import re
import time

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

# The third source's set: 27400 files in 50 runs, 240800700 bytes; pages, style sheets, scripts, SVG
# and JSON, in unknown shares.
FILES, MEAN = 548, 8788
SHARES = ((".html", 0.45), (".js", 0.33), (".css", 0.16), (".svg", 0.04), (".json", 0.02))
SMALLEST = 200  # bytes; smaller ones are redirections or nearly empty
IMAGES, IMAGE_BYTES, HTML_BYTES = 41, 125 * KB, 42 * KB
PIECE_BYTES = 4 * KB  # of a piece of a dynamic page, at most
CACHE_PATIENCE = 60  # seconds
SETTLED = 41  # seconds after which a file's numbers identify it, see src/core/entry.c
SITE_PAGE = (2 * KB, 512 * KB)  # the least and the most of a site's page


@dataclasses.dataclass(frozen=True)
class Site:
    name: str
    version: str
    pages: tuple  # bodies


def digest_order(named):
    """A shuffle that is the same everywhere: by the digests of the names."""
    return sorted(named, key=lambda one: hashlib.sha256(one[0].encode()).digest())


def web_files(run, count):
    """((name, body) of `count` web files of 8.8 KB on average, their origin)."""
    found, _ = packages.get((*SITES, *SCRIPTS), run.download)
    candidates = digest_order([(f"{package.name}/{name}", path) for package in found
                               for name, path in package.of_kind(*dict(SHARES))])
    if not candidates:
        return [(f"{number}.html", corpus.invented_html(MEAN, number % 7))
                for number in range(count)], "invented text"
    sized = [(name, path, path.stat().st_size) for name, path in candidates]
    chosen = min((choose(sized, count, limit) for limit in range(16 * KB, 128 * KB, 4 * KB)),
                 key=lambda files: abs(sum(size for _, _, size in files) / max(1, len(files))
                                        - MEAN))
    return [(name, path.read_bytes()) for name, path, _ in chosen], packages.names(found)


def choose(sized, count, limit):
    """The first files of each kind, up to its share, of at most `limit` bytes."""
    chosen = []
    for suffix, share in SHARES:
        fitting = [one for one in sized if one[0].endswith(suffix) and SMALLEST <= one[2] <= limit]
        chosen += fitting[:round(share * count)]
    return chosen


def sites(run, most):
    least, largest = SITE_PAGE
    made = []
    for package in packages.get(SITES, run.download)[0]:
        fitting = [(name, path) for name, path in package.of_kind(".html")
                   if least <= path.stat().st_size <= largest]
        chosen = digest_order(fitting)[:most]
        if chosen:
            made.append(Site(package.name, package.version,
                             tuple(path.read_bytes() for _, path in chosen)))
    return made or [Site(f"invented-{seed}", "-", (corpus.invented_html(20 * KB, seed),))
                    for seed in range(1, 4)]


def page_with_images(run):
    """(a page of 42 KB, its 41 images as (name, body), the page's origin). Links are evenly spread,
    as in the source; images are random bytes, because real ones hardly compress either."""
    text, origin = corpus.document(HTML_BYTES * 2, run)
    plain = text.replace(b"<img", b"<hr")  # its own images are missing
    source = random.Random(42)
    weights = [source.lognormvariate(0, 0.8) for _ in range(IMAGES)]
    images = [(f"image{number:02}.gif",
               source.randbytes(max(60, round(IMAGE_BYTES * weight / sum(weights)))))
              for number, weight in enumerate(weights)]
    links = [b'<img src="%s" alt="">\n' % name.encode() for name, _ in images]
    piece = (HTML_BYTES - sum(map(len, links))) // IMAGES
    html = b"".join(plain[number * piece:(number + 1) * piece] + link
                    for number, link in enumerate(links))
    return html + b"\n" * (HTML_BYTES - len(html)), images, origin


def fragments(run, count=400):
    """(pieces of HTML for a dynamic page, their origin)."""
    text, origin = corpus.document(count * KB, run)
    pieces = re.findall(rb".+?</(?:p|li|pre|table|h\d|script)>", text, re.DOTALL)
    return ([piece[:PIECE_BYTES] for piece in pieces if len(piece) > 80] or [text[:KB]]), origin


def write_script(path, text):
    path.write_text(text, encoding="utf-8")
    path.chmod(0o755)


def write_folders(site, files, *folders):
    """Writes the files, (name, body), into folders of a site; in `kept` each has a `.gz`."""
    for folder in folders:
        (site / folder).mkdir()
        for name, body in files:
            (site / folder / name).write_bytes(body)
        if folder == "kept":
            tools.output_of(str(tools.ROOT / "scripts" / "precompress"), "--quiet", "--no-br",
                            "--no-zst", str(site / folder), timeout=300)


def wait_settled(folder):
    last = max((path.stat().st_ctime for path in folder.rglob("*")), default=0)
    time.sleep(max(0, last + SETTLED - time.time()))


def wait_cached(httpd, paths, accept="gzip"):
    """Requests files until the encoding of each is cached, and no file is read any more."""

    def is_hit(path):
        before = httpd.counters()["ElasticCacheHits"]
        httpd.get(path, {"Accept-Encoding": accept})
        return httpd.counters()["ElasticCacheHits"] > before

    wait_settled(httpd.site)
    for path in paths:
        if not tools.wait_for(lambda path=path: is_hit(path), CACHE_PATIENCE):
            raise tools.BenchError(f"{path} is not kept")
