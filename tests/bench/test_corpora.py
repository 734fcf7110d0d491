"""Packages, the corpora made of them, codecs, and which encoder made a body."""

import gzip
import random
import re
import shutil
import subprocess
import zlib

import brotli
import pytest
import zstandard

from benchkit import codecs, corpus, identify_encoder, packages, pages, web
from benchkit.run import Scale
from benchkit.tools import BenchError
from codeckit import engines


class Run:
    """What the corpora ask of a run."""

    def __init__(self, given=None, **scale):
        self.pages, self.download = given, False
        self.scale = Scale(1, 1, **scale)

    def say(self, text):
        pass


@pytest.fixture(autouse=True)
def no_packages(monkeypatch, tmp_path):
    """Neither the machine's packages nor its cache: what a test needs it makes."""
    monkeypatch.setenv("ELASTIC_BENCH_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(packages, "INSTALLED", tmp_path / "nowhere")


def put(name, files):
    """A package in the cache."""
    folder = packages.cache() / name
    for path, body in files.items():
        (folder / "tree" / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / "tree" / path).write_bytes(body)
    (folder / "version").write_text("1.0-1")


@pytest.mark.skipif(not shutil.which("dpkg-deb"), reason="no dpkg-deb")
def test_package_is_unpacked_whole(tmp_path):
    tree = tmp_path / "source"
    (tree / "DEBIAN").mkdir(parents=True)
    (tree / "DEBIAN" / "control").write_text(
        "Package: some-doc\nVersion: 1:2.0-3\nArchitecture: all\nMaintainer: x <x@example.org>\n"
        "Description: x\n")
    (tree / "usr/share/doc").mkdir(parents=True)
    (tree / "usr/share/doc/a.html").write_bytes(b"<p>")
    (tree / "usr/share/doc/a.png").write_bytes(b"no page")
    (tree / "usr/share/doc/link.html").symlink_to("/etc/passwd")
    deb = tmp_path / "some-doc_2.0_all.deb"
    subprocess.run(["dpkg-deb", "--root-owner-group", "-b", tree, deb], check=True,
                   stdout=subprocess.DEVNULL)
    packages.cache().mkdir(parents=True)
    packages.unpack(shutil.which("dpkg-deb"), deb, packages.cache() / "unpacked")
    (found,), missing = packages.get(("some-doc", "other"), print, download=False)
    assert missing == ["other"]
    assert (found.version, [name for name, _ in found.files]) == (
        "1:2.0-3", ["usr/share/doc/a.html"])


def test_installed_package_serves_where_nothing_can_be_downloaded(monkeypatch, tmp_path):
    (tmp_path / "a.html").write_bytes(b"<p>")
    (tmp_path / "some-doc:all.list").write_text(f"/.\n{tmp_path}/a.html\n{tmp_path}/b.html\n")
    monkeypatch.setattr(packages, "INSTALLED", tmp_path)
    (found,), missing = packages.get(("some-doc",), print, download=False)
    assert not missing and [path.name for _, path in found.of_kind(".html")] == ["a.html"]


def test_web_files_have_their_number_mean_and_kinds():
    source = random.Random(1)
    put(web.SITES[0], {f"{number}{suffix}": b"x" * int(source.lognormvariate(8.8, 1))
                       for suffix, _ in web.SHARES for number in range(400)})
    files = web.web_files(Run())
    sizes = [len(body) for _, body in files]
    assert abs(len(files) - web.FILES) <= 3
    assert 0.85 < sum(sizes) / len(sizes) / web.MEAN < 1.15
    assert {name.rpartition(".")[2] for name, _ in files} == {"html", "js", "css", "svg", "json"}
    assert files == web.web_files(Run())


def test_web_files_are_those_of_the_packages_that_there_are():
    put(web.SITES[0], {f"{number}.html": b"x" * 9000 for number in range(40)})
    files = web.web_files(Run())
    assert len(files) == 40 and all(name.startswith(web.SITES[0]) for name, _ in files)


def test_package_with_pages_is_a_site():
    put(web.SITES[0], {f"{number}.html": b"x" * 5000 for number in range(9)})
    put(web.SITES[1], {"tiny.html": b"x"})
    (site,) = web.sites(Run(pages=4))
    assert (site.name, len(site.pages)) == (web.SITES[0], 4)


def test_pages_of_the_user_are_a_site_and_a_document(tmp_path):
    folder = tmp_path / "mine"
    folder.mkdir()
    bodies = {"a.html": b"<p>one</p>", "b.css": b"p{color:red}" * 9}
    for name, body in bodies.items():
        (folder / name).write_bytes(body)
    run = Run(given=folder)
    (site,) = web.sites(run)
    assert site.pages == tuple(bodies.values())
    assert corpus.document(20, run) == b"<p>one</p>p{color:re"
    assert corpus.document_origin(run) == "your pages"


def put_whole(name, files):
    """All of a package's files in the cache."""
    for path, body in files.items():
        (packages.cache() / "whole" / name / path).parent.mkdir(parents=True, exist_ok=True)
        (packages.cache() / "whole" / name / path).write_bytes(body)


@pytest.mark.parametrize("application", [False, True])
def test_page_with_images(application):
    put(corpus.DOCUMENT_PACKAGES[0], {"manual/en/a.html": b"<p>a <img src=own></p>" * 5000})
    put(corpus.DOCUMENT_PACKAGES[1], {"b.js": b"b()"})
    if application:
        put_whole(web.APPLICATION, {f"{size}.png": b"x" * size for size in range(1000, 1060)})
    html, images, origin = web.page_with_images(Run())
    assert len(html) == web.HTML_BYTES and len(images) == web.IMAGES == html.count(b"<img ")
    assert {f'"{name}"'.encode() for name, _ in images} == set(re.findall(rb'src=(".*?")', html))
    sizes = [len(body) for _, body in images]
    if application:
        assert origin == web.APPLICATION and sorted(sizes) == list(range(1019, 1060))
    else:
        assert origin == "random bytes" and abs(sum(sizes) - web.IMAGE_BYTES) < 200
    # Evenly spread: every quarter has its share of the links.
    quarter = len(html) // 4
    assert all(9 <= html[start:start + quarter].count(b"<img ") <= 12
               for start in range(0, 4 * quarter, quarter))


def test_article_is_a_page_of_its_package_as_it_is(tmp_path):
    assert corpus.article(3000, Run()) == (corpus.page(3000), corpus.origin())
    put(corpus.ARTICLES, {f"{size}.html": b"x" * size for size in (1000, 4000, 9000)})
    assert corpus.article(3000, Run()) == (b"x" * 4000, f"{corpus.ARTICLES} 1.0-1")
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "a.html").write_bytes(b"mine")
    assert corpus.article(3000, Run(given=tmp_path / "mine")) == (b"mine", "your pages")


def test_kinds_of_files():
    put(web.SITES[0], {f"{number}.{kind}": b"<p>" * 500 for number in range(600)
                       for kind in ("html", "css")})
    put_whole(web.APPLICATION, {"a.png": b"image"})
    found, origin = web.kinds(Run(pages=1))
    assert [(site.name, len(site.pages)) for site in found] == [
        (".html", 8), (".css", 8), (".png", 1)]
    assert origin == f"{web.SITES[0]} 1.0-1, {web.APPLICATION}"
    for name, file in zip(web.OTHER_FILES, ("a.ttf", "b.wasm", "no-kind.php")):
        put_whole(name, {file: b"other"})
    found, origin = web.kinds(Run(pages=1))
    assert {site.name for site in found} == {".html", ".css", ".ttf", ".wasm", ".png"}
    assert origin == ", ".join([f"{web.SITES[0]} 1.0-1", *web.OTHER_FILES])


def test_fragments_are_html():
    pieces = web.fragments(Run())
    assert len(pieces) > 20 and all(80 < len(piece) <= 4096 for piece in pieces)


def test_composition_names_the_bodies():
    row = corpus.composition("pages", [b"a" * 1000, b"b" * 3000], "here")
    assert (row["files"], row["bytes"], row["mean_bytes"]) == (2, 4000, 2000)
    assert row["sha256"] != corpus.composition("pages", [b"a" * 1000], "here")["sha256"]


BODY = corpus.text(20000)


DECODERS = {"zstd": zstandard.decompress, "brotli": brotli.decompress}


@pytest.mark.parametrize("level", [0, 3])
@pytest.mark.parametrize("kept", [False, True])
@pytest.mark.parametrize("name", engines.KINDS)
def test_encoders_round_trip(name, kept, level):
    assert name in engines.installed(), "its library is not installed"
    engine = engines.installed()[name]
    if level not in engine.levels or kept and engines.KEPT not in engine.contexts:
        return
    encoder = engine.make(level, len(BODY), kept)
    for body in (BODY, b"", b"x" * 100, BODY):
        encoded = encoder.bytes_of(body)
        assert DECODERS.get(name, gzip.decompress)(encoded) == body
        assert body != BODY or len(encoded) < 0.6 * len(BODY)


# By other bindings than those that are tested.
ENCODED = {"gzip": gzip.compress, "br": brotli.compress, "zstd": zstandard.compress}


@pytest.mark.parametrize("body", [b"", b"x", BODY, bytes(1 << 20)],
                         ids=["empty", "tiny", "text", "zeros"])
@pytest.mark.parametrize("coding", ENCODED)
def test_only_whole_bodies_decode(coding, body):
    encoded = ENCODED[coding](body)
    assert codecs.decode(encoded, coding) == body
    assert codecs.decode(codecs.encode(body, coding, 15 if coding == "gzip" else 18),
                         coding) == body
    for broken in (b"", encoded[:-1], encoded[:len(encoded) // 2], encoded + b"x", b"?" + encoded):
        with pytest.raises(codecs.WrongBody):
            codecs.decode(broken, coding)


def test_unknown_codings_are_wrong():
    with pytest.raises(codecs.WrongBody, match="unknown coding 'x'"):
        codecs.decode(BODY, "x")


@pytest.mark.parametrize("memory_level", identify_encoder.MEMORY_LEVELS)
@pytest.mark.parametrize("level", range(1, 10))
def test_zlib_is_identified(level, memory_level):
    library, found = identify_encoder.identify(gzipped(level, memory_level))
    assert identify_encoder.family(library) == "zlib"
    assert (identify_encoder.zlib_stream(BODY, found, 9)
            == identify_encoder.zlib_stream(BODY, level, 9))


def test_program_and_header_fields_are_identified(tmp_path):
    (tmp_path / "a.html").write_bytes(BODY)
    made = subprocess.run(["gzip", "-c", "-3", tmp_path / "a.html"], capture_output=True,
                          check=True).stdout  # its header has a name
    assert identify_encoder.identify(made)[1] == 3


def gzipped(level, memory_level):
    encoder = zlib.compressobj(level, zlib.DEFLATED, 31, memory_level)
    return encoder.compress(BODY) + encoder.flush()


@pytest.mark.parametrize("body", [gzipped(6, 1), b"no gzip"])
def test_bodies_of_unknown_encoders(body):
    assert identify_encoder.identify(body) == (None, None)


def test_list_of_urls(tmp_path, monkeypatch):
    listing = tmp_path / "urls"
    listing.write_text("# mine\nhttp://example.org/a\nhttps://example.org/b.css\n")
    monkeypatch.setattr(pages, "fetch", lambda url: (url.encode(), {
        "http://example.org/a": "text/html"}.get(url, "unknown/kind")))
    folder = tmp_path / "pages"
    folder.mkdir()
    assert pages.collect(listing, folder) == folder
    assert sorted(path.name for path in folder.iterdir()) == ["001.html", "002.css"]


@pytest.mark.parametrize("text, says", [
    ("ftp://x/y", "no http"), ("file:///etc/passwd", "no http"),
    ("http://127.0.0.1:1/", "127.0.0.1:1")])
def test_list_of_what_is_no_url_or_does_not_answer(tmp_path, text, says):
    listing = tmp_path / "urls"
    listing.write_text(text)
    with pytest.raises(BenchError, match=says):
        pages.collect(listing, tmp_path)
