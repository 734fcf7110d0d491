"""Neighbours that change the header: mod_headers, mod_expires, recipes of the past."""

import pytest

from kit import bodies, check

BODY = bodies.html(30000)
OLD = 1_500_000_000

# What sites do against the stock modules' tags, which never gave a 304.
STRIP = 'RequestHeader edit If-None-Match "-(gzip|br)\\"" "\\""'
BOTH = 'RequestHeader edit If-None-Match "^(W/)?\\"(.*)-(gzip|br)\\"$" "\\"$2-$3\\", \\"$2\\""'


@pytest.fixture(scope="module")
def server(httpd_shared, way):
    server = way.start(
        httpd_shared,
        way.at("plain")
        + way.at("set", "Header set Vary Cookie")
        + way.at("append", "Header append Vary Cookie")
        + way.at("merge", "Header merge Vary accept-encoding")
        + way.at("always", "Header always set Vary Cookie")
        + way.at("always-same", "Header always set Vary Accept-Encoding")
        + way.at("unset-tag", "Header unset ETag", "CookieTracking On", "CookieName c")
        + way.at("edit-tag", 'Header edit ETag "^(W/)?\\"" "$1\\"v1-"')
        + way.at("strip-tag", 'Header edit ETag "-(gzip|br)\\"$" "\\""')
        + way.at("saw", "Header set X-Saw expr=%{resp:Content-Encoding}",
                 "Header set X-Is yes \"expr=resp('Content-Encoding') -in {'gzip', 'br'}\"")
        + way.at("if-html", "<If \"%{HTTP_USER_AGENT} == 'old'\">\nHeader set X-Old 1\n</If>")
        + way.at("strip", STRIP)
        + way.at("both", BOTH)
        + way.at("no-accept", "RequestHeader unset Accept-Encoding")
        + way.at("forced", f"RequestHeader set Accept-Encoding {way.codings[0]}")
        + way.at("expires", "ExpiresActive On", 'ExpiresByType text/html "access plus 1 hour"')
        + way.at("sum", "ContentDigest On"),
        modules=["expires", "usertrack"])
    server.write("a.html", BODY, OLD)
    return server


# --- Vary


@pytest.mark.parametrize("place", ["append", "always"])
def test_vary_holds_both_names(server, way, place):
    for _, answer in way.each(server, f"/{place}/a.html", BODY):
        assert answer.has_token("Vary", "Cookie"), answer
    check.plain(server.get(f"/{place}/a.html"), BODY)


def test_a_vary_that_is_set_late(server, way):
    """Filters that are named run before mod_headers, which then has the last word."""
    for coding in way.codings:
        answer = server.get("/set/a.html", ae=coding)
        check.whole(answer, coding, BODY)
        assert answer.has_token("Vary", "Cookie") and answer.varies == way.last, answer


@pytest.mark.parametrize("place", ["merge", "always-same"])
def test_vary_names_it_once(server, way, place):
    for _, answer in way.each(server, f"/{place}/a.html", BODY):
        names = answer.headers["Vary"].lower().replace(" ", "").split(",")
        if way.last or place == "merge":
            assert names == ["accept-encoding"], answer


# --- ETag


def test_a_tag_that_is_unset_and_a_cookie_that_is_set(server, way):
    for _, answer in way.each(server, "/unset-tag/a.html", BODY):
        assert "ETag" not in answer.headers, answer
        assert answer.headers["Set-Cookie"].startswith("c="), answer


def test_a_tag_that_is_edited(server, way):
    base = server.get("/plain/a.html").headers["ETag"].strip('"')
    assert server.get("/edit-tag/a.html").headers["ETag"] == f'"v1-{base}"'
    for coding, answer in way.each(server, "/edit-tag/a.html", BODY):
        tag = answer.headers["ETag"]
        assert tag == way.tagged(f"v1-{base}", coding)
        # httpd compares before mod_headers edits, and ELASTIC of Elastic On behind it.
        again = server.get("/edit-tag/a.html", ae=coding, headers={"If-None-Match": tag})
        if way.last:
            check.empty(again, 304)
        else:
            check.encoded(again, coding, BODY)


def test_a_suffix_that_is_stripped(server, way):
    base = server.get("/plain/a.html").headers["ETag"].strip('"')
    for coding, answer in way.each(server, "/strip-tag/a.html", BODY):
        tag = answer.headers["ETag"]
        if way.last:
            assert tag == way.tagged(base, coding)
        else:
            assert tag.removeprefix("W/") == f'"{base}"'
        again = server.get("/strip-tag/a.html", ae=coding, headers={"If-None-Match": tag})
        assert (again.status, again.raw) == (304, b""), again


@pytest.mark.parametrize("place", ["plain", "strip", "both"])
def test_recipes_for_304_do_no_harm(server, way, place):
    for coding, answer in way.each(server, f"/{place}/a.html", BODY):
        again = server.get(f"/{place}/a.html", ae=coding,
                           headers={"If-None-Match": answer.headers["ETag"]})
        check.empty(again, 304)
        assert again.varies or not way.seen, again


# --- conditions, requests


def test_what_mod_headers_sees(server, way):
    """In front of ours it sees the response as the handler made it."""
    for coding, answer in way.each(server, "/saw/a.html", BODY):
        seen = None if way.last else coding
        assert answer.headers["X-Saw"] == (seen or "")
        assert answer.headers.get("X-Is") == (seen and "yes"), answer


def test_sections_with_a_condition(server, way):
    for agent in ("old", "new"):
        for _, answer in way.each(server, "/if-html/a.html", BODY, headers={"User-Agent": agent}):
            assert ("X-Old" in answer.headers) == (agent == "old"), answer


def test_requests_that_are_edited(server, way):
    check.plain(server.get("/no-accept/a.html", ae="gzip, br"), BODY)
    check.encoded(server.get("/forced/a.html"), way.codings[0], BODY)


# --- others


def test_expires(server, way):
    plain = server.get("/expires/a.html")
    check.plain(plain, BODY)
    for coding, answer in way.each(server, "/expires/a.html", BODY):
        again = server.get("/expires/a.html", ae=coding,
                           headers={"If-None-Match": answer.headers["ETag"]})
        assert again.status == 304 and again.varies, again
        for one in (plain, answer, again):
            assert one.headers["Cache-Control"] == "max-age=3600" and "Expires" in one.headers, one


def test_a_digest_of_the_identity_goes(server, way):
    """ContentDigest is core's Content-MD5."""
    plain = server.get("/sum/a.html")
    assert "Content-MD5" in plain.headers
    check.plain(plain, BODY)
    for _, answer in way.each(server, "/sum/a.html", BODY):
        assert "Content-MD5" not in answer.headers, answer
