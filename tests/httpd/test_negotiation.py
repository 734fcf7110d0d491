"""Negotiation: Accept-Encoding against the server's codings and the response's header, and the
fields that a coding changes."""

import os
import urllib.parse

import pytest

from kit import at, bodies, check, env

BODY = bodies.html(20000)
ZSTD = "zstd" if env.HAS_ZSTD else None

PLACES = {
    "gzip-first": "ElasticCodings gzip br", "only-br": "ElasticCodings br", "off": "Elastic Off",
    "vary-before": "Header set Vary Cookie", "vary-star": "Header set Vary *",
    "vary-same": 'Header set Vary "Cookie, accept-encoding"',
    "no-transform": 'Header set Cache-Control "max-age=60, No-Transform"',
    "no-transform-always": "Header always set Cache-Control no-transform",
    "other-control": 'Header set Cache-Control "max-age=60, x-no-transform"',
    "digests": "Header set Content-MD5 abc=\nHeader set Digest sha-256=abc=\n"
               "Header set Repr-Digest sha-256=:abc=:\nHeader set Content-Digest sha-256=:abc=:",
    "charset": "AddDefaultCharset utf-8", "set-encoding": "Header set Content-Encoding gzip",
    "late": "Header set Content-Type text/html",
    "types": "ElasticTypes application/octet-stream image/*",
    "types-plus": "ElasticTypes +image/png -text/html",
}
CGI = """\
import os
import urllib.parse
head(*urllib.parse.unquote(os.environ['QUERY_STRING']).split('|'))
out(bodies.html(20000))
"""


@pytest.fixture(scope="module")
def server(httpd_shared):
    return httpd_shared(
        # Among equals the server's order decides; with the controller on, costs would.
        "Elastic On\nElasticControl off\n" + "".join(at(*place) for place in PLACES.items()),
        tls=True, h2=True, cgi={"field.cgi": CGI},
        files={**{f"a.{extension}": BODY for extension in ("html", "bin", "png")},
               "tiny.html": b"tiny"})


def of_type(value, *fields):
    return "/field.cgi?" + urllib.parse.quote("|".join([f"Content-Type: {value}", *fields]))


# The types in Debian's table, by extension, of content that shrinks by a third or more.
SHRINKS = ("ico", "bmp", "svg", "ttf", "otf", "ttc", "eot", "js", "json", "xml", "rss", "atom",
           "css", "csv", "m3u", "m3u8", "pls", "gltf", "glb", "obj", "mtl", "stl", "dae", "ps",
           "rtf", "sql", "dtd", "nt", "ttl", "wasm", "webmanifest", "geojson", "ics", "vcf", "vtt", "sh", "pac")


@pytest.mark.skipif(not os.path.exists("/etc/mime.types"), reason="Debian's table is not there")
def test_files_have_types_that_are_listed(httpd):
    server = httpd("Elastic On\nTypesConfig /etc/mime.types\n",
                   files={f"a.{name}": BODY for name in (*SHRINKS, "png", "zip", "woff2")})
    codings = {name: server.get(f"/a.{name}", ae="gzip").coding for name in SHRINKS}
    assert codings == dict.fromkeys(SHRINKS, "gzip")
    for name in ("png", "zip", "woff2"):
        assert server.get(f"/a.{name}", ae="gzip").coding is None


# (path, Accept-Encoding, coding, reason for none, whether others may get one).
# tests/unit/test_http.c proves how a line is read, and which types are listed.
TABLE = [
    *(("/a.html", ae, coding, None if coding else "not-acceptable", True) for ae, coding in (
        ("gzip", "gzip"), ("br", "br"), ("x-gzip", "gzip"), ("GZip", "gzip"), ("gzip, br", "br"),
        ("gzip;q=1, br;q=0.5", "gzip"), ("\tgzip\t;\tQ=0.4\t,\tbr\t;\tQ=0.3", "gzip"),
        ("gzip;q=0", None), ("gzip;q=0, br", "br"), ("*", "br"), ("*;q=0", None),
        ("*, br;q=0", ZSTD or "gzip"), ("br;q=0, gzip;q=0, *", ZSTD), ("zstd", ZSTD),
        ("gzip, zstd", ZSTD or "gzip"), ("identity;q=1, gzip;q=0.5", None),
        ("identity;q=0.5, gzip;q=0.5", "gzip"), ("deflate, gzip;q=0.1", "gzip"), ("deflate", None),
        ("", None), (None, None), ("@@@", None),
        # RFC 9110 §12.5.3 allows this or 415; a body helps more than an error.
        ("identity;q=0", None), ("deflate, *;q=0", None))),
    ("/gzip-first/a.html", "gzip, br", "gzip", None, True),
    ("/gzip-first/a.html", "gzip;q=0.5, br", "br", None, True),
    ("/only-br/a.html", "gzip", None, "not-acceptable", True),
    ("/only-br/a.html", "gzip, br;q=0.1", "br", None, True),
    ("/off/a.html", "gzip", None, "off", False), ("/tiny.html", "gzip", None, "small", True),
    ("/tiny.html", "gzip;q=1, identity;q=0", "gzip", None, True),
    ("/tiny.html", "br, *;q=0", "br", None, True),
    *((path, "gzip, br", None, "no-transform", False) for path in (
        "/no-transform/a.html", "/no-transform-always/a.html",
        of_type("text/html", "Cache-Control: private, NO-TRANSFORM"))),
    ("/other-control/a.html", "gzip", "gzip", None, True),
    ("/set-encoding/a.html", "br", "gzip", "encoded", False),
    *((of_type(value), "gzip", "gzip", None, True) for value in (
        "TEXT/HTML", "text/html;charset=utf-8", "text/event-stream", "application/ld+json",
        "image/svg+xml", "image/vnd.microsoft.icon", "model/gltf+json", "audio/mpegurl",
        "application/openapi+yaml", "font/collection")),
    *((of_type(value), "gzip", None, "type", False) for value in (
        "font/woff2", "application/octet-stream", "application/jsonx", "image/tiff",
        "model/step+zip", "audio/x-wav")),
    # mod_headers changes the type as a filter, after the filters were chosen.
    ("/late/a.png", "gzip", "gzip", None, True),
    *((path, "gzip", "gzip", None, True) for path in (
        "/types/a.bin", "/types/a.png", "/types-plus/a.png")),
    *((path, "gzip", None, "type", False) for path in (
        "/a.png", "/types/a.html", "/types-plus/a.html", "/types-plus/a.bin")),
]


@pytest.mark.smoke
@pytest.mark.parametrize("path,ae,coding,reason,varies", TABLE)
def test_the_table(server, path, ae, coding, reason, varies):
    answer = server.get(path, ae=ae)
    body = b"tiny" if path.startswith("/tiny") else BODY
    notes = server.notes(answer)
    assert notes.get("elastic-reason") == reason
    if reason == "encoded":
        assert (answer.coding, answer.raw, answer.varies) == (coding, body, varies)
    elif coding:
        check.encoded(answer, coding, body)
    else:
        check.plain(answer, body, varies=varies)
        assert ("Accept-Ranges" in answer.headers) == ("cgi" not in path)
        assert {name for name in notes if name.startswith("elastic")} == {"elastic-reason"}


@pytest.mark.smoke
@pytest.mark.protocols()
@pytest.mark.parametrize("ae,coding", [
    ("gzip", "gzip"), ("br", "br"), ("gzip, br", "br"), (None, None), ("gzip;q=0, identity", None)])
def test_over_every_protocol(server, protocol, ae, coding):
    check.negotiated(server.get("/a.html", ae=ae, protocol=protocol), coding, BODY)


def test_several_fields_count_as_one_list(server):
    fields = [("Accept-Encoding", "gzip;q=0.2"), ("Accept-Encoding", "br;q=0.1")]
    check.encoded(server.get("/a.html", headers=fields), "gzip", BODY)


@pytest.mark.parametrize("place,names", [
    ("vary-before", ["cookie", "accept-encoding"]), ("vary-same", ["cookie", "accept-encoding"]),
    ("vary-star", ["*"])])
@pytest.mark.parametrize("ae", ["gzip", None])
def test_vary_is_merged_and_names_nothing_twice(server, place, names, ae):
    answer = server.get(f"/{place}/a.html", ae=ae)
    check.whole(answer, ae, BODY)
    assert answer.headers["Vary"].lower().replace(" ", "").split(",") == names


@pytest.mark.protocols("http/1.1", "tls")
def test_pipelined_and_kept_connections(server, protocol):
    """Each response on a connection is negotiated by its own request."""
    expected = {"gzip": "gzip", None: None, "br": "br", "gzip;q=0": None}
    with server.connect(protocol) as connection:
        ids = [connection.send_request("/a.html", ae=ae) for ae in expected]
        for id, coding in zip(ids, expected.values(), strict=True):
            check.negotiated(connection.read_response(id), coding, BODY)


def test_digests_of_the_identity_go(server):
    encoded, plain = (server.get("/digests/a.html", ae=ae) for ae in ("gzip", None))
    check.encoded(encoded, "gzip", BODY)
    check.plain(plain, BODY)
    for name in ("Content-MD5", "Digest", "Repr-Digest", "Content-Digest"):
        assert name in plain.headers and name not in encoded.headers


def test_other_fields_stay(server):
    plain, encoded = server.get("/charset/a.html"), server.get("/charset/a.html", ae="br")
    check.encoded(encoded, "br", BODY)
    check.same_header(plain, encoded, "Content-Type", "Last-Modified", "Server")
    assert encoded.headers["Content-Type"].lower() == "text/html; charset=utf-8"
