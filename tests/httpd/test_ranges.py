"""Ranges are always of the identity body."""

import pytest

from kit import at, bodies, check, config

BODY = bodies.text(30000)

PART_CGI = """\
head('Status: 206 Partial Content', 'Content-Type: text/plain', 'Content-Range: bytes 0-9999/30000')
out(bodies.text(30000)[:10000])
"""

WHOLE_CGI = """\
head('Content-Type: text/plain', 'ETag: "cgi"', 'Accept-Ranges: bytes')
out(bodies.text(30000))
"""


@pytest.fixture(scope="module")
def server(httpd_shared, origin):
    server = httpd_shared(
        f"Elastic On\nProxyPass /origin/ {origin.url}/\n"
        + at("off", "Elastic Off") + at("suffix", "ElasticETag suffix"),
        modules=["proxy", "proxy_http"], tls=True, h2=True,
        files={"a.txt": BODY}, cgi={"part.cgi": PART_CGI, "whole.cgi": WHOLE_CGI})
    origin.route("/part", lambda e: e.respond(
        206, {"Content-Range": "bytes 0-9999/30000", "ETag": '"o"'}, BODY[:10000]))
    return server


@pytest.mark.smoke
@pytest.mark.protocols()
@pytest.mark.parametrize("range,first,last", [
    ("0-99", 0, 99), ("0-", 0, 29999), ("-5000", 25000, 29999), ("100-20000", 100, 20000)])
def test_slices_are_of_the_identity(server, protocol, range, first, last):
    answer = server.get("/a.txt", ae="gzip", headers={"Range": f"bytes={range}"}, protocol=protocol)
    check.plain(answer, BODY[first : last + 1], 206)
    assert answer.headers["Content-Range"] == f"bytes {first}-{last}/30000"
    identity = server.get("/a.txt", protocol=protocol)
    check.same_header(answer, identity, "ETag")
    assert server.reason(answer) == "range"


def test_httpd_does_not_slice_a_cgi_and_neither_do_we(server):
    answer = server.get("/whole.cgi", ae="gzip", headers={"Range": "bytes=0-99"})
    check.plain(answer, BODY)
    assert server.reason(answer) == "range"


def test_several_slices(server):
    answer = server.get("/a.txt", ae="br", headers={"Range": "bytes=0-9,20000-20009"})
    assert answer.status == 206 and answer.coding is None
    assert BODY[:10] in answer.raw and BODY[20000:20010] in answer.raw
    assert answer.headers["Content-Type"].startswith("multipart/byteranges")


def test_a_range_that_cannot_be_met(server):
    answer = server.get("/a.txt", ae="gzip", headers={"Range": "bytes=50000-"})
    assert answer.status == 416 and answer.coding is None


@pytest.mark.smoke
@pytest.mark.parametrize("path", ["/part.cgi", "/origin/part"])
def test_parts_made_elsewhere_pass(server, path):
    answer = server.get(path, ae="gzip", headers={"Range": "bytes=0-9999"})
    check.plain(answer, BODY[:10000], 206)
    assert answer.headers["Content-Range"] == "bytes 0-9999/30000"
    assert server.reason(answer) == "range"


@pytest.mark.smoke
@pytest.mark.parametrize("path", ["/a.txt", "/whole.cgi"])
@pytest.mark.parametrize("coding", ["gzip", "br"])
def test_only_identity_advertises_ranges(server, path, coding):
    check.encoded(server.get(path, ae=coding), coding, BODY)
    plain = server.get(path)
    check.plain(plain, BODY)
    assert plain.headers.get("Accept-Ranges") == "bytes"


@pytest.mark.smoke
def test_if_range_with_the_identitys_tag(server):
    tag = server.get("/a.txt").headers["ETag"]
    answer = server.get("/a.txt", ae="gzip", headers={"Range": "bytes=5-9", "If-Range": tag})
    check.plain(answer, BODY[5:10], 206)


@pytest.mark.parametrize("prefix", ["", "/suffix"])
@pytest.mark.parametrize("coding", ["gzip", "br"])
def test_if_range_with_an_encoded_tag_gets_the_whole(server, prefix, coding):
    """A prefix of the gzip body must never be continued with bytes of another one."""
    tag = server.get(f"{prefix}/a.txt", ae=coding).headers["ETag"]
    for ae in (coding, None):
        answer = server.get(f"{prefix}/a.txt", ae=ae,
                            headers={"Range": "bytes=5-", "If-Range": tag})
        # Where the condition cannot hold it is no request for a range, and no reason for identity.
        check.negotiated(answer, ae, BODY)
    answer = server.get("/a.txt", ae=coding, headers={"Range": "bytes=5-", "If-Range": '"other"'})
    assert answer.status == 200 and answer.body == BODY


@pytest.mark.smoke
@pytest.mark.parametrize("ae,coding", [("gzip", "gzip"), ("br", "br"), (None, None)])
def test_if_range_with_a_date_gets_the_whole(server, ae, coding):
    """The date does not say which representation the client has a part of."""
    server.write("old.txt", BODY, mtime=1_500_000_000)
    modified = server.get("/old.txt").headers["Last-Modified"]
    answer = server.get("/old.txt", ae=ae, headers={"Range": "bytes=5-9", "If-Range": modified})
    check.whole(answer, coding, BODY)


def test_if_range_with_a_date_works_where_nothing_is_negotiated(server):
    server.write("old.txt", BODY, mtime=1_500_000_000)
    modified = server.get("/off/old.txt").headers["Last-Modified"]
    answer = server.get("/off/old.txt", ae="gzip",
                        headers={"Range": "bytes=5-9", "If-Range": modified})
    check.plain(answer, BODY[5:10], 206, varies=False)


def test_head_with_range(server):
    """RFC 9110 §14.2: Range is defined for GET only."""
    answer = server.head("/a.txt", ae="gzip", headers={"Range": "bytes=0-9"})
    assert answer.raw == b"" and answer.complete
    assert "Content-Range" not in answer.headers or answer.coding is None


def test_the_guard_against_cached_slices(httpd):
    """mod_cache takes Range away while it revalidates: its answer is never a slice of an encoded
    body."""
    server = httpd(
        "Elastic On\n" + config.CACHE + "CacheDefaultExpire 0\nCacheMinExpire 0\n"
        "CacheIgnoreNoLastMod On\nCacheIgnoreCacheControl On\n",
        modules=["cache", "cache_disk"], files={"a.txt": BODY})
    config.make_cache(server)
    # One connection: over several, a request would overtake what mod_cache still writes.
    with server.connect() as connection:
        check.plain(connection.request("/a.txt"), BODY)
        for ae in ("gzip", "br", "gzip", None):
            check.whole(connection.request("/a.txt", ae=ae), ae, BODY)
            part = connection.request("/a.txt", ae=ae, headers={"Range": "bytes=100-199"})
            if part.status == 206:
                check.plain(part, BODY[100:200], 206)
            else:
                assert part.status == 200 and part.body == BODY


def test_a_unit_that_httpd_does_not_know_is_no_range(server):
    check.encoded(server.get("/a.txt", "gzip", {"Range": "lines=1-2"}), "gzip", BODY)
