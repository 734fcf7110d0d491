"""Precompressed siblings: tags, conditional requests and ranges."""

import gzip
import time

import brotli
import pytest

from kit import bodies, check

BODY = bodies.html(30000)
SIBLINGS = {"br": brotli.compress(BODY, quality=11), "gzip": gzip.compress(BODY, 9, mtime=0)}
EXTENSIONS = {"br": "br", "gzip": "gz"}
CODINGS = pytest.mark.parametrize("coding", SIBLINGS)
OLD = int(time.time()) - 1000
EARLY = "Mon, 01 Jan 2001 00:00:00 GMT"
PATH = "/page.html"
# Of this file nothing is encoded, so that a response without a sibling is the file.
ALONE = "/alone/page.html"


@pytest.fixture(scope="module")
def site(httpd_shared):
    server = httpd_shared(
        "Elastic On\nElasticPrecompressed On\n<Location /alone>\nElastic Off\n</Location>\n"
        "<Location /missing>\nErrorDocument 404 /page.html\n</Location>\n"
        "<Location /missing-alone>\nErrorDocument 404 /single.html\n</Location>\n",
        tls=True, h2=True, files={"fresh.html": BODY})
    server.write("single.html", BODY, OLD)
    for name in ("page.html", "alone/page.html"):
        add_set(server, name)
    return server


def add_set(server, name, siblings=SIBLINGS, mtime=OLD):
    server.write(name, BODY, OLD)
    for coding, data in siblings.items():
        server.write(f"{name}.{EXTENSIONS[coding]}", data, mtime)


@pytest.fixture(scope="module")
def tags(site):
    """The current tags: {coding: tag}."""
    return {coding: site.get(PATH, ae=coding).headers["ETag"]
            for coding in ("identity", "br", "gzip")}


def ask(site, ae, path=PATH, **fields):
    """A GET with those fields, whose names have underscores."""
    headers = {name.replace("_", "-"): value for name, value in fields.items()}
    return site.get(path, ae=ae, headers=headers)


@pytest.mark.smoke
def test_every_representation_has_a_strong_tag_of_its_own(site, tags):
    # Though size and time may be the same.
    add_set(site, "same.html", {"br": BODY, "gzip": BODY})
    same = [site.get("/same.html", ae=ae).headers["ETag"] for ae in ("br", "gzip", None)]
    for found in (list(tags.values()), same):
        assert len(set(found)) == 3
        assert all(tag.startswith('"') and tag.endswith('"') and len(tag) > 2 for tag in found)


def test_a_fresh_sibling_has_a_strong_tag_too(site):
    """httpd's own tags are weak for a second after a change; siblings are replaced, not edited."""
    site.write("fresh.html.br", SIBLINGS["br"], time.time())
    answer = site.get("/fresh.html", ae="br")
    assert answer.raw == SIBLINGS["br"]
    assert answer.headers["ETag"].startswith('"') and answer.headers["ETag"].endswith('.br"')


@CODINGS
def test_the_tag_changes_with_the_sibling_only(site, tags, coding):
    assert site.get(PATH, ae=coding).headers["ETag"] == tags[coding]
    add_set(site, "tagged.html")
    before = site.get("/tagged.html", ae=coding).headers["ETag"]
    add_set(site, "tagged.html", mtime=OLD + 3)
    assert site.get("/tagged.html", ae=coding).headers["ETag"] != before


# --- If-None-Match, If-Match and dates


@pytest.mark.smoke
@pytest.mark.protocols()
@CODINGS
def test_its_own_tag_gives_304(site, tags, coding, protocol):
    tag = tags[coding]
    for value in (tag, "W/" + tag, f'"other", {tag}', f"{tag},"):
        for ask in (site.get, site.head):
            answer = ask(PATH, ae=coding, headers={"If-None-Match": value}, protocol=protocol)
            check.not_modified(answer)
            assert answer.headers["ETag"].removeprefix("W/") == tag


@pytest.mark.parametrize("ae,named", [("br, gzip", "gzip"), ("gzip, br", "br"),
                                      ("br, gzip", "identity"), ("gzip;q=0.1, br", "gzip")])
def test_any_accepted_representations_tag_gives_304_with_that_tag(site, tags, ae, named):
    check.not_modified(ask(site, ae, If_None_Match=tags[named]), tags[named])


@pytest.mark.parametrize("ae,named", [("gzip", "br"), ("br", "gzip"), ("identity", "br"),
                                      (None, "gzip"), ("br;q=0, gzip", "br")])
def test_a_tag_whose_coding_is_not_accepted_gives_200(site, tags, ae, named):
    answer = ask(site, ae, If_None_Match=tags[named])
    assert answer.status == 200 and answer.body == BODY


def test_any_tag_gives_304_and_another_one_200(site, tags):
    check.not_modified(ask(site, "br", If_None_Match="*"), tags["br"])
    answer = ask(site, "br", If_None_Match='"nothing"')
    assert answer.status == 200 and answer.raw == SIBLINGS["br"]


def test_the_tag_of_a_sibling_that_went_or_went_stale_gives_200(site):
    add_set(site, "gone.html")
    tag = site.get("/gone.html", ae="br").headers["ETag"]
    (site.docs / "gone.html.br").unlink()
    answer = ask(site, "br", "/gone.html", If_None_Match=tag)
    assert answer.status == 200 and answer.body == BODY
    add_set(site, "stale.html")
    tag = site.get("/stale.html", ae="br").headers["ETag"]
    site.write("stale.html", BODY + b"!", OLD + 10)
    answer = ask(site, "br", "/stale.html", If_None_Match=tag)
    assert answer.status == 200 and answer.body == BODY + b"!"


def test_dates(site, tags):
    modified = site.get(PATH, ae="br").headers["Last-Modified"]
    check.not_modified(ask(site, "br", If_Modified_Since=modified), tags["br"])
    assert ask(site, "br", If_Modified_Since=EARLY).raw == SIBLINGS["br"]
    assert ask(site, "br", If_Unmodified_Since=EARLY).status == 412


@pytest.mark.parametrize("ae,match,status,coding", [
    ("br", "{br}", 200, "br"), ("br", "*", 200, "br"), ("br", '"other", {br}', 200, "br"),
    ("br", "{identity}", 200, None), ("br", '"other"', 412, None), ("br", "W/{br}", 412, None),
    ("br", "W/{identity}", 412, None), (None, "{br}", 412, None)])
def test_if_match_is_strong_and_names_the_representation(site, tags, ae, match, status, coding):
    answer = ask(site, ae, ALONE, If_Match=match.format(**alone_tags(site)))
    assert (answer.status, answer.coding) == (status, coding), answer
    if status == 200:
        assert answer.body == BODY
        assert answer.headers["ETag"] == alone_tags(site)[coding or "identity"]


def alone_tags(site):
    return {coding: site.get(ALONE, ae=coding).headers["ETag"]
            for coding in ("identity", "br", "gzip")}


@pytest.mark.parametrize("first", [{"If_Match": '"other"'}, {"If_Unmodified_Since": EARLY}])
@pytest.mark.parametrize("ae", ["gzip", None])
def test_a_precondition_that_fails_comes_before_if_none_match(site, tags, ae, first):
    """RFC 9110 §13.2.2."""
    for tag in (*tags.values(), "*"):
        assert ask(site, ae, **first, If_None_Match=tag).status == 412, tag


@pytest.mark.parametrize("ae", ["gzip", "identity"])
def test_if_match_and_if_none_match_that_both_hold_give_304(site, tags, ae):
    answer = ask(site, ae, If_Match=tags[ae], If_None_Match=tags[ae])
    check.not_modified(answer, tags[ae])


@pytest.mark.parametrize("place", ["missing", "missing-alone"])
@pytest.mark.parametrize("ae", ["gzip", None])
def test_a_tag_does_not_make_an_error_a_304(site, place, ae):
    path = f"/{place}/none"
    tags = [site.get(path, ae=coding).headers.get("ETag")
            for path in (path, PATH, "/single.html") for coding in ("gzip", None)]
    for tag in filter(None, [*tags, "*"]):
        check.whole(ask(site, ae, path, If_None_Match=tag), ae, BODY, 404)


# --- ranges


@pytest.mark.parametrize("ae", ["br", "gzip", "br, gzip", None])
@pytest.mark.parametrize("span,start,end", [("0-99", 0, 100), ("29000-", 29000, 30000),
                                            ("-10", 29990, 30000)])
def test_a_range_is_one_of_the_file(site, tags, ae, span, start, end):
    answer = ask(site, ae, Range=f"bytes={span}")
    check.plain(answer, BODY[start:end], 206)
    assert answer.headers["Content-Range"] == f"bytes {start}-{end - 1}/30000"
    assert answer.headers["ETag"] == tags["identity"]


@CODINGS
def test_if_range_with_the_siblings_tag_gives_a_range_of_the_sibling(site, tags, coding):
    data = SIBLINGS[coding]
    answer = ask(site, coding, Range="bytes=100-199", If_Range=tags[coding])
    assert (answer.status, answer.coding, answer.raw) == (206, coding, data[100:200])
    assert answer.headers["Content-Range"] == f"bytes 100-199/{len(data)}"
    assert answer.headers["ETag"] == tags[coding] and answer.varies
    # A download goes on where it ended.
    first = site.get(PATH, ae=coding)
    assert first.headers["Accept-Ranges"] == "bytes"
    rest = ask(site, coding, Range="bytes=1000-", If_Range=tags[coding])
    assert rest.status == 206 and first.raw[:1000] + rest.raw == data


def test_if_range_with_the_files_tag_gives_a_range_of_the_file(site, tags):
    answer = ask(site, "br", Range="bytes=100-199", If_Range=tags["identity"])
    check.plain(answer, BODY[100:200], 206)


@pytest.mark.parametrize("value", ["{gzip}", '"nothing"', "W/{br}"])
def test_if_range_that_does_not_hold_gives_the_whole(site, tags, value):
    answer = ask(site, "br", Range="bytes=100-199", If_Range=value.format(**tags))
    assert answer.status == 200 and answer.body == BODY


@pytest.mark.parametrize("ae", ["br", None])
def test_if_range_with_a_date_gives_the_whole(site, ae):
    """File and sibling share the date: slices of the two would be joined."""
    for path in (PATH, ALONE):
        modified = site.get(path, ae="br").headers["Last-Modified"]
        check.whole(ask(site, ae, path, Range="bytes=100-199", If_Range=modified), ae, BODY)
