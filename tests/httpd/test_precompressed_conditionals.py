"""Precompressed siblings: tags, conditional requests and ranges."""

import gzip
import time

import brotli
import pytest

from kit import bodies

BODY = bodies.html(30000)
BR = brotli.compress(BODY, quality=11)
GZ = gzip.compress(BODY, 9, mtime=0)
OLD = int(time.time()) - 1000
PATH = "/page.html"


@pytest.fixture(scope="module")
def site(httpd_shared):
    server = httpd_shared("Elastic On\nElasticPrecompressed On", tls=True, h2=True)
    server.write("page.html", BODY, OLD)
    server.write("page.html.br", BR, OLD)
    server.write("page.html.gz", GZ, OLD)
    return server


@pytest.fixture(scope="module")
def tags(site):
    """The current tags: {coding: tag}."""
    return {coding: site.get(PATH, ae=coding).headers["ETag"]
            for coding in ("identity", "br", "gzip")}


def assert_304(answer, tag):
    assert answer.status == 304 and answer.raw == b""
    assert answer.varies
    assert answer.headers["ETag"] == tag


@pytest.mark.smoke
def test_every_representation_has_a_strong_tag_of_its_own(tags):
    assert len(set(tags.values())) == 3
    for tag in tags.values():
        assert tag.startswith('"') and tag.endswith('"') and len(tag) > 2


def test_the_tag_stays_while_the_file_does(site, tags):
    assert site.get(PATH, ae="br").headers["ETag"] == tags["br"]


@pytest.mark.parametrize("coding", ["br", "gzip"])
def test_the_tag_changes_with_the_sibling(site, coding):
    name = {"br": "br", "gzip": "gz"}[coding]
    data = {"br": BR, "gzip": GZ}[coding]
    site.write("tagged.html", BODY, OLD)
    site.write(f"tagged.html.{name}", data, OLD)
    before = site.get("/tagged.html", ae=coding).headers["ETag"]
    site.write(f"tagged.html.{name}", data, OLD + 3)
    assert site.get("/tagged.html", ae=coding).headers["ETag"] != before


@pytest.mark.smoke
@pytest.mark.protocols()
@pytest.mark.parametrize("coding", ["br", "gzip"])
def test_its_own_tag_gives_304(site, tags, coding, protocol):
    tag = tags[coding]
    for value in (tag, "W/" + tag, f'"other", {tag}', f"{tag},"):
        answer = site.get(PATH, ae=coding, headers={"If-None-Match": value}, protocol=protocol)
        assert answer.status == 304 and answer.varies, value
        assert answer.headers["ETag"].removeprefix("W/") == tags[coding]


def test_head_gives_304_too(site, tags):
    assert site.head(PATH, ae="br", headers={"If-None-Match": tags["br"]}).status == 304


@pytest.mark.parametrize("accept,named", [("br, gzip", "gzip"), ("gzip, br", "br"),
                                          ("br, gzip", "identity"), ("gzip;q=0.1, br", "gzip")])
def test_any_accepted_representations_tag_gives_304_with_that_tag(site, tags, accept, named):
    assert_304(site.get(PATH, ae=accept, headers={"If-None-Match": tags[named]}), tags[named])


@pytest.mark.parametrize("accept,named", [("gzip", "br"), ("br", "gzip"), ("identity", "br"),
                                          (None, "gzip"), ("br;q=0, gzip", "br")])
def test_a_tag_whose_coding_is_not_accepted_gives_200(site, tags, accept, named):
    answer = site.get(PATH, ae=accept, headers={"If-None-Match": tags[named]})
    assert answer.status == 200 and answer.body == BODY


def test_a_strange_tag_gives_200(site):
    answer = site.get(PATH, ae="br", headers={"If-None-Match": '"nothing"'})
    assert answer.status == 200 and answer.raw == BR


def test_any_tag_gives_304(site, tags):
    assert_304(site.get(PATH, ae="br", headers={"If-None-Match": "*"}), tags["br"])


def test_the_tag_of_a_sibling_that_went_gives_200(site):
    site.write("gone.html", BODY, OLD)
    sibling = site.write("gone.html.br", BR, OLD)
    tag = site.get("/gone.html", ae="br").headers["ETag"]
    sibling.unlink()
    answer = site.get("/gone.html", ae="br", headers={"If-None-Match": tag})
    assert answer.status == 200 and answer.body == BODY


def test_the_tag_of_a_sibling_that_went_stale_gives_200(site):
    site.write("stale.html", BODY, OLD)
    site.write("stale.html.br", BR, OLD)
    tag = site.get("/stale.html", ae="br").headers["ETag"]
    site.write("stale.html", BODY + b"!", OLD + 10)
    answer = site.get("/stale.html", ae="br", headers={"If-None-Match": tag})
    assert answer.status == 200 and answer.body == BODY + b"!"


def test_dates(site):
    modified = site.get(PATH, ae="br").headers["Last-Modified"]
    answer = site.get(PATH, ae="br", headers={"If-Modified-Since": modified})
    assert answer.status == 304 and answer.varies
    early = "Mon, 01 Jan 2001 00:00:00 GMT"
    assert site.get(PATH, ae="br", headers={"If-Modified-Since": early}).raw == BR
    assert site.get(PATH, ae="br", headers={"If-Unmodified-Since": early}).status == 412


def test_if_match_is_strong(site, tags):
    def status(value, accept="br"):
        return site.get(PATH, ae=accept, headers={"If-Match": value}).status

    assert status(tags["br"]) == 200
    assert status("*") == 200
    assert status('"nothing"') == 412
    assert status("W/" + tags["br"]) == 412


@pytest.mark.parametrize("accept", ["br", "gzip", "br, gzip", None])
@pytest.mark.parametrize("span,start,end", [("0-99", 0, 100), ("29000-", 29000, 30000),
                                            ("-10", 29990, 30000)])
def test_a_range_is_one_of_the_file(site, tags, accept, span, start, end):
    answer = site.get(PATH, ae=accept, headers={"Range": f"bytes={span}"})
    assert answer.status == 206 and answer.coding is None and answer.varies
    assert answer.raw == BODY[start:end]
    assert answer.headers["Content-Range"] == f"bytes {start}-{end - 1}/30000"
    assert answer.headers["ETag"] == tags["identity"]


@pytest.mark.parametrize("coding,data", [("br", BR), ("gzip", GZ)])
def test_if_range_with_the_siblings_tag_gives_a_range_of_the_sibling(site, tags, coding, data):
    answer = site.get(PATH, ae=coding, headers={"Range": "bytes=100-199", "If-Range": tags[coding]})
    assert answer.status == 206 and answer.coding == coding
    assert answer.raw == data[100:200]
    assert answer.headers["Content-Range"] == f"bytes 100-199/{len(data)}"
    assert answer.headers["ETag"] == tags[coding] and answer.varies


def test_if_range_with_the_files_tag_gives_a_range_of_the_file(site, tags):
    answer = site.get(PATH, ae="br",
                      headers={"Range": "bytes=100-199", "If-Range": tags["identity"]})
    assert answer.status == 206 and answer.coding is None and answer.raw == BODY[100:200]


def test_if_range_with_another_siblings_tag_splices_nothing(site, tags):
    answer = site.get(PATH, ae="br", headers={"Range": "bytes=100-199", "If-Range": tags["gzip"]})
    assert answer.status == 200 and answer.body == BODY


@pytest.mark.parametrize("value", ['"nothing"', "weak"])
def test_if_range_that_does_not_hold_gives_the_whole(site, tags, value):
    value = "W/" + tags["br"] if value == "weak" else value
    answer = site.get(PATH, ae="br", headers={"Range": "bytes=100-199", "If-Range": value})
    assert answer.status == 200 and answer.body == BODY


def test_if_range_with_a_date_splices_nothing(site):
    """A date names no representation: identity's bytes would be put behind a sibling's."""
    modified = site.get(PATH, ae="br").headers["Last-Modified"]
    answer = site.get(PATH, ae="br", headers={"Range": "bytes=100-199", "If-Range": modified})
    assert answer.status == 200 and answer.body == BODY


def test_siblings_advertise_ranges(site):
    assert site.get(PATH, ae="br").headers["Accept-Ranges"] == "bytes"


def test_a_resumed_download_is_whole(site, tags):
    first = site.get(PATH, ae="br").raw[:1000]
    rest = site.get(PATH, ae="br", headers={"Range": "bytes=1000-", "If-Range": tags["br"]})
    assert rest.status == 206 and brotli.decompress(first + rest.raw) == BODY
