"""What the header of a response decides: no-transform, digests, types; and the log's notes."""

import urllib.parse

import pytest

from kit import at, bodies, check

BODY = bodies.html(30000)

CGI = """\
import urllib.parse
query = urllib.parse.unquote(os.environ['QUERY_STRING'])
head(%s)
out(bodies.html(30000))
"""


@pytest.fixture(scope="module")
def server(httpd_shared):
    server = httpd_shared(
        "Elastic On\n"
        + at("no-transform", "Header set Cache-Control \"max-age=60, no-transform\"")
        + at("no-transform-case", "Header set Cache-Control No-Transform")
        + at("no-transform-always", "Header always set Cache-Control no-transform")
        + at("other-control", "Header set Cache-Control \"max-age=60, x-no-transform\"")
        + at("digests", "Header set Content-MD5 abc=", "Header set Digest sha-256=abc=",
             "Header set Repr-Digest sha-256=:abc=:", "Header set Content-Digest sha-256=:abc=:")
        + at("charset", "AddDefaultCharset utf-8")
        + at("set-encoding", "Header set Content-Encoding gzip")
        + at("late", "Header set Content-Type text/html")
        + at("types", "ElasticTypes application/octet-stream image/*")
        + at("types-plus", "ElasticTypes +image/png -text/html")
        + at("only-gzip", "ElasticCodings gzip"),
        cgi={"field.cgi": CGI % "'Content-Type: text/html', query",
             "type.cgi": CGI % "'Content-Type: ' + query"},
        files={"a.html": BODY, "a.bin": BODY, "a.png": BODY, "tiny.html": b"x"})
    return server


@pytest.mark.smoke
@pytest.mark.parametrize("path", ["/no-transform/a.html", "/no-transform-case/a.html",
                                  "/no-transform-always/a.html",
                                  "/field.cgi?Cache-Control:%20no-transform",
                                  "/field.cgi?Cache-Control:%20private%2C%20NO-TRANSFORM"])
def test_no_transform_is_respected(server, path):
    answer = server.get(path, ae="gzip, br")
    check.plain(answer, BODY, varies=False)
    assert server.reason(answer) == "no-transform"


def test_what_only_looks_like_no_transform_is_compressed(server):
    check.encoded(server.get("/other-control/a.html", ae="gzip"), "gzip", BODY)


def test_digests_of_the_identity_go(server):
    names = ("Content-MD5", "Digest", "Repr-Digest", "Content-Digest")
    answer = server.get("/digests/a.html", ae="gzip")
    check.encoded(answer, "gzip", BODY)
    for name in names:
        assert name not in answer.headers
    answer = server.get("/digests/a.html")
    check.plain(answer, BODY)
    for name in names:
        assert name in answer.headers


def test_other_fields_stay(server):
    plain, encoded = server.get("/charset/a.html"), server.get("/charset/a.html", ae="br")
    check.encoded(encoded, "br", BODY)
    check.same_header(plain, encoded, "Content-Type", "Last-Modified", "Server")
    assert encoded.headers["Content-Type"].lower() == "text/html; charset=utf-8"


def test_content_encoding_by_header_counts_as_encoded(server):
    answer = server.get("/set-encoding/a.html", ae="br")
    assert answer.coding == "gzip" and answer.raw == BODY
    assert server.reason(answer) == "encoded"


@pytest.mark.smoke
@pytest.mark.parametrize("type,compressed", [
    ("text/html", True), ("TEXT/HTML", True), ("text/html;charset=utf-8", True),
    ("text/x-new", True), ("text/event-stream", True),
    ("application/javascript", True), ("application/json", True),
    ("application/ld+json", True), ("application/problem+json; charset=utf-8", True),
    ("application/xml", True), ("application/atom+xml", True), ("application/xhtml+xml", True),
    ("application/x-javascript", True), ("application/x-tar", True),
    ("application/manifest+json", True), ("application/wasm", True),
    ("application/vnd.ms-fontobject", True), ("font/otf", True),
    ("font/ttf", True), ("image/svg+xml", True), ("image/bmp", True), ("image/x-icon", True),
    ("font/woff2", False), ("image/png", False), ("image/jpeg", False), ("application/zip", False),
    ("application/octet-stream", False), ("video/mp4", False), ("application/jsonx", False),
    ("application/x+jsonp", False), ("image/svg", False),
])
def test_the_default_types(server, type, compressed):
    answer = server.get(f"/type.cgi?{urllib.parse.quote(type)}", ae="gzip")
    assert answer.headers["Content-Type"].lower().replace(" ", "") == type.lower().replace(" ", "")
    if compressed:
        check.encoded(answer, "gzip", BODY)
    else:
        check.plain(answer, BODY, varies=False)
        assert server.reason(answer) == "type"


def test_a_type_that_mod_headers_sets_counts(server):
    """mod_headers runs as a filter: the type was another one when the filters were chosen."""
    check.encoded(server.get("/late/a.png", ae="gzip"), "gzip", BODY)


@pytest.mark.parametrize("path,compressed", [
    ("/a.png", False), ("/types/a.bin", True), ("/types/a.png", True), ("/types/a.html", False),
    ("/types-plus/a.png", True), ("/types-plus/a.html", False), ("/types-plus/a.bin", False),
])
def test_types_replaced_and_amended(server, path, compressed):
    answer = server.get(path, ae="gzip")
    if compressed:
        check.encoded(answer, "gzip", BODY)
    else:
        check.plain(answer, BODY, varies=False)


def test_notes_of_a_response_that_was_not_compressed(server):
    notes = server.notes(server.get("/tiny.html", ae="gzip"))
    assert {name for name in notes if name.startswith("elastic")} == {"elastic-reason"}
