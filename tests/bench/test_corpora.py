"""Packages, the corpora made of them, and codecs."""

import gzip
import itertools
import re
import shutil
import subprocess
import types

import brotli
import pytest
import zstandard

from benchkit import codecs, corpus, packages, web
from codeckit import dictionaries, engines

RUN = types.SimpleNamespace(download=False)  # what the corpora ask of a run


@pytest.fixture(autouse=True)
def no_packages(monkeypatch, tmp_path):
    """Not the cache of the machine: what a test needs it makes."""
    monkeypatch.setenv("ELASTIC_BENCH_CACHE", str(tmp_path / "cache"))


def put(name, files):
    """A package in the cache."""
    folder = packages.cache() / name
    for path, body in files.items():
        (folder / "tree" / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / "tree" / path).write_bytes(body)
    (folder / "version").write_text("1.0-1")


@pytest.mark.skipif(not shutil.which("dpkg-deb"), reason="no dpkg-deb")
def test_package_is_unpacked_whole(tmp_path):
    tree, deb = tmp_path / "source", tmp_path / "some-doc_2.0_all.deb"
    for name, text in {
            "DEBIAN/control": "Package: some-doc\nVersion: 1:2.0-3\nArchitecture: all\n"
                              "Maintainer: x <x@example.org>\nDescription: x\n",
            "usr/share/doc/a.html": "<p>", "usr/share/doc/a.png": "no page"}.items():
        (tree / name).parent.mkdir(parents=True, exist_ok=True)
        (tree / name).write_text(text)
    (tree / "usr/share/doc/link.html").symlink_to("/etc/passwd")
    subprocess.run(["dpkg-deb", "--root-owner-group", "-b", tree, deb], check=True,
                   stdout=subprocess.DEVNULL)
    packages.cache().mkdir(parents=True)
    packages.unpack(shutil.which("dpkg-deb"), deb, packages.cache() / "unpacked")
    (found,), missing = packages.get(("some-doc", "other"), download=False)
    assert missing == ["other"]
    assert (found.version, [name for name, _ in found.files]) == (
        "1:2.0-3", ["usr/share/doc/a.html"])


def test_web_files_have_their_number_mean_and_kinds():
    put(web.SITES[0], {f"{number}{suffix}": b"x" * (600 + 37 * number)
                       for number in range(400) for suffix, _ in web.SHARES})
    files, origin = web.web_files(RUN, 100)
    assert len(files) == 100 and origin == f"{web.SITES[0]} 1.0-1"
    assert sum(len(body) for _, body in files) / len(files) == pytest.approx(web.MEAN, rel=0.2)
    assert web.web_files(RUN, 100)[0] == files
    assert {name.rpartition(".")[2] for name, _ in files} == {"html", "js", "css", "svg", "json"}
    # A package with pages is a site.
    put(web.SITES[1], {f"{number}.html": b"<p>" * 1000 for number in range(9)})
    put(web.SITES[2], {"small.html": b"<p>", "a.css": b"x" * 9000})
    assert (web.SITES[1], "1.0-1", 4) in [
        (site.name, site.version, len(site.pages)) for site in web.sites(RUN, 4)]
    assert web.SITES[2] not in [site.name for site in web.sites(RUN, 4)]


def test_page_with_images_and_fragments():
    html, images, _ = web.page_with_images(RUN)
    links = re.findall(rb'<img src="([^"]+)"', html)
    assert len(html) == web.HTML_BYTES and [name.encode() for name, _ in images] == links
    assert sum(len(body) for _, body in images) == pytest.approx(web.IMAGE_BYTES, rel=0.02)
    places = [match.start() for match in re.finditer(rb"<img", html)]
    assert max(later - one for one, later in zip(places, places[1:])) < 1200, "evenly spread"
    pieces, _ = web.fragments(RUN)
    assert len(pieces) > 20 and all(80 < len(piece) <= 4096 for piece in pieces)


@pytest.mark.parametrize("invented", [False, True])
def test_small_files_have_their_sizes_and_ratios(monkeypatch, tmp_path, invented):
    """Of both sources of text: a machine has one of them."""
    if invented:
        monkeypatch.setattr(corpus, "DOCUMENTS", tmp_path)
    files = corpus.small_files()
    assert [len(body) for _, body in files] == [size for size, _ in corpus.SMALL_FILES]
    for (name, body), (size, wanted) in zip(files, corpus.SMALL_FILES):
        assert 0.75 * wanted < size / corpus.gzip_size(body) < 1.35 * wanted, name
        if size <= 32 * corpus.KB:
            assert corpus.gzip_size(body) < 1400, f"{name}: the source's fitted one segment"
    # The invented text is the same everywhere.
    assert corpus.invented_html(5000) == corpus.invented_html(50000)[:5000]
    row, other = (corpus.composition("text", [corpus.invented_html(size)], "here")
                  for size in (5000, 4000))
    assert (row["files"], row["bytes"]) == (1, 5000) and row["sha256"] != other["sha256"]


BODY = corpus.text(20000)
# By other bindings than those that are tested.
DECODERS = {"zstd": zstandard.decompress, "brotli": brotli.decompress}
ENCODED = {"gzip": gzip.compress, "br": brotli.compress, "zstd": zstandard.compress}


@pytest.mark.parametrize("name", engines.KINDS)
def test_encoders_round_trip(name):
    engine = engines.installed()[name]
    for context, level in itertools.product(engine.contexts,
                                            (min(engine.levels), max(engine.levels))):
        encoder = engine.make(level, len(BODY), context == engines.KEPT)
        for body in (BODY, b"", b"x" * 100, BODY):
            encoded = encoder.bytes_of(body)
            assert DECODERS.get(name, gzip.decompress)(encoded) == body
            assert body != BODY or len(encoded) < 0.6 * len(BODY)


@pytest.mark.parametrize("coding", ENCODED)
def test_only_whole_bodies_decode(coding):
    for body in (b"", b"x", BODY, bytes(1 << 20)):
        encoded = ENCODED[coding](body)
        again = codecs.encode(body, coding, 15 if coding == "gzip" else 18)
        assert codecs.decode(encoded, coding) == codecs.decode(again, coding) == body
        for broken in (b"", encoded[:-1], encoded[:len(encoded) // 2], encoded + b"x",
                       b"?" + encoded):
            with pytest.raises(codecs.WrongBody):
                codecs.decode(broken, coding)
    with pytest.raises(codecs.WrongBody, match="unknown coding 'x'"):
        codecs.decode(BODY, "x")


# dcb only where there is brotli 1.1.
@pytest.mark.parametrize("kind", dictionaries.available())
def test_differences_decode_with_their_dictionary_alone(kind):
    dictionary = BODY[:9000]
    body = dictionary[:4000] + b"<p>what only this page has</p>" + dictionary[4000:]
    with kind(dictionary) as prepared:
        encoded = prepared.encode(body)
    assert len(encoded) < 300
    assert codecs.decode(encoded, kind.name, dictionary) == body
    for broken, other in ((encoded[:-1], dictionary), (encoded, dictionary + b" ")):
        with pytest.raises(codecs.WrongBody):
            codecs.decode(broken, kind.name, other)
