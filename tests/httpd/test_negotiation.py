"""Negotiation: Accept-Encoding against the server's codings and the response's header, and the
fields that a coding changes; the drop-in filters DEFLATE and BROTLI_COMPRESS: stock defaults, one
change by each Elastic directive, and negotiation between the two."""

import urllib.parse
from pathlib import Path

import pytest

from kit import at, bodies, check, env

pytestmark = pytest.mark.rules

BODY = bodies.html(20000)
ZSTD = "zstd" if env.HAS_ZSTD else None

PLACES = {
    "on": "",
    "gzip-first": "ElasticCodings gzip br", "only-br": "ElasticCodings br", "off": "Elastic Off",
    "vary-before": "Header set Vary Cookie", "vary-star": "Header set Vary *",
    "vary-same": 'Header set Vary "Cookie, accept-encoding"',
    "no-transform": 'Header set Cache-Control "max-age=60, No-Transform"',
    "no-transform-always": "Header always set Cache-Control no-transform",
    "other-control": 'Header set Cache-Control "max-age=60, x-no-transform"',
    "digests": "AddDefaultCharset utf-8\n"
               "Header set Content-MD5 abc=\nHeader set Digest sha-256=abc=\n"
               "Header set Repr-Digest sha-256=:abc=:\nHeader set Content-Digest sha-256=:abc=:",
    "set-encoding": "Header set Content-Encoding gzip",
    "late": "Header set Content-Type text/html",
    "types": "ElasticTypes application/octet-stream image/*",
    "types-plus": "ElasticTypes +image/png -text/html",
}
DEFLATE = 'SetOutputFilter DEFLATE\n'
SECTIONS = {
    "deflate": DEFLATE,
    "brotli": "SetOutputFilter BROTLI_COMPRESS\n",
    "both": "AddOutputFilterByType BROTLI_COMPRESS;DEFLATE text/html text/plain\n",
    "reversed": "SetOutputFilter DEFLATE;BROTLI_COMPRESS\n",
    "unlike": "AddOutputFilterByType DEFLATE text/html\n"
              "AddOutputFilterByType BROTLI_COMPRESS text/plain\n",
    "deflate-off": DEFLATE + "Elastic Off\n",
    "min": DEFLATE + "ElasticMinSize 30000\n",
    "weak": DEFLATE + "ElasticETag weak\n",
    "deflate-types": DEFLATE + "ElasticTypes text/plain\n",
    "level": DEFLATE + "ElasticLevel gzip 3\n",
    "cut": "SetOutputFilter BUCKETEER;DEFLATE\n",
    "cut-br": "SetOutputFilter BUCKETEER;BROTLI_COMPRESS\n",
    "cut-min": "SetOutputFilter BUCKETEER;DEFLATE\nElasticMinSize 69\n",
    "cut-elastic": "SetOutputFilter BUCKETEER;ELASTIC\nElasticMinSize 69\n",
    "cut-chain": "SetOutputFilter BUCKETEER;ELASTIC;DEFLATE\n",
    "included": DEFLATE.replace("DEFLATE", "INCLUDES;DEFLATE") + "Options +Includes",
}
# The types in Debian's table, by extension, of content that shrinks by a third or more.
DEBIANS = Path("/etc/mime.types")
SHRINKS = DEBIANS.exists() * (
    "ico bmp svg ttf otf ttc eot js json xml rss atom css csv m3u m3u8 pls gltf glb obj mtl stl dae "
    "ps rtf sql dtd nt ttl wasm webmanifest geojson ics vcf vtt sh pac").split()
FILES = {
    **{f"a.{name}": BODY for name in ("html", "bin", "png", "zip", "woff2", *SHRINKS)}, "tiny.html": b"tiny",
    "s68.html": b"x" * 68, "s69.html": bodies.text(69), "empty.html": b"",
    "noise.html": bodies.noise(3000),
    # mod_bucketeer ends a bucket at \x02 and a brigade at \x10.
    "brigades.html": b"a small page in \x10brigades",
    "buckets.html": b"a small page in \x02buckets",
    "last.html": b"a small page before its end\x10",
    "encoded.html": b"\x1f\x8b\x08" + BODY[:3000] + b"\x10" + BODY[3000:],
}
CGI = """\
import urllib.parse
head(*urllib.parse.unquote(os.environ['QUERY_STRING']).split('|'))
out(bodies.html(20000))
"""


@pytest.fixture(scope="module")
def server(httpd_shared):
    return httpd_shared(
        # Among equals the server's order decides; with the controller on, costs would.
        "ElasticControl off\n" + f"TypesConfig {DEBIANS}\n" * DEBIANS.exists()
        + "".join(at(name, "Elastic On", lines) for name, lines in PLACES.items())
        + "".join(at(*section) for section in SECTIONS.items()),
        modules=("filter", "include", "bucketeer"), records=("elastic", "deflate", "brotli"),
        tls=True, h2=True, files={**FILES, "small.html": b'<p><!--#echo var="REQUEST_METHOD" -->'},
        cgi={"field.cgi": CGI,
             "small.cgi": "whole(b'<p>small', 'Content-Type: text/html')\n"})


def of_type(value, *fields):
    return "/on/field.cgi?" + urllib.parse.quote("|".join([f"Content-Type: {value}", *fields]))


# (path, Accept-Encoding, coding, reason for none, whether others may get one).
# tests/unit/test_http.c proves how a line is read, and which types are listed.
TABLE = [
    *(("/on/a.html", ae, coding, None if coding else "not-acceptable", True) for ae, coding in (
        ("gzip", "gzip"), ("x-gzip", "gzip"), ("gzip, br", "br"), ("gzip;q=1, br;q=0.5", "gzip"),
        ("\tgzip\t;\tQ=0.4\t,\tbr\t;\tQ=0.3", "gzip"), ("gzip;q=0, br", "br"), ("*", "br"),
        ("*, br;q=0", ZSTD or "gzip"), ("br;q=0, gzip;q=0, *", ZSTD), ("zstd", ZSTD),
        ("gzip, zstd", ZSTD or "gzip"), ("identity;q=1, gzip;q=0.5", None), ("deflate", None),
        ("", None), (None, None), ("@@@", None),
        # RFC 9110 §12.5.3 allows this or 415; a body helps more than an error.
        ("identity;q=0", None), ("deflate, *;q=0", None))),
    ("/gzip-first/a.html", "gzip, br", "gzip", None, True),
    ("/gzip-first/a.html", "gzip;q=0.5, br", "br", None, True),
    ("/only-br/a.html", "gzip", None, "not-acceptable", True),
    ("/only-br/a.html", "gzip, br;q=0.1", "br", None, True),
    ("/off/a.html", "gzip", None, "off", False), ("/on/tiny.html", "gzip", None, "small", True),
    ("/on/tiny.html", "gzip;q=1, identity;q=0", "gzip", None, True),
    ("/on/tiny.html", "br, *;q=0", "br", None, True),
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
    *((f"/on/a.{name}", "gzip", "gzip", None, True) for name in SHRINKS),
    *((f"/on/a.{name}", "gzip", None, "type", False) for name in ("zip", "woff2") if SHRINKS),
    # mod_headers changes the type as a filter, after the filters were chosen.
    ("/late/a.png", "gzip", "gzip", None, True),
    *((path, "gzip", "gzip", None, True) for path in (
        "/types/a.bin", "/types/a.png", "/types-plus/a.png")),
    *((path, "gzip", None, "type", False) for path in (
        "/on/a.png", "/types/a.html", "/types-plus/a.html", "/types-plus/a.bin")),
]


@pytest.mark.smoke
@pytest.mark.parametrize("path,ae,coding,reason,varies", TABLE)
def test_the_table(server, path, ae, coding, reason, varies):
    answer = server.get(path, ae=ae)
    body = b"tiny" if "tiny" in path else BODY
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
    check.negotiated(server.get("/on/a.html", ae=ae, protocol=protocol), coding, BODY)


def test_several_fields_count_as_one_list(server):
    fields = [("Accept-Encoding", "gzip;q=0.2"), ("Accept-Encoding", "br;q=0.1")]
    check.encoded(server.get("/on/a.html", headers=fields), "gzip", BODY)


@pytest.mark.parametrize("place,names", [
    ("vary-before", ["cookie", "accept-encoding"]), ("vary-same", ["cookie", "accept-encoding"]),
    ("vary-star", ["*"])])
def test_vary_is_merged_and_names_nothing_twice(server, place, names):
    for ae in ("gzip", None):
        answer = server.get(f"/{place}/a.html", ae=ae)
        check.whole(answer, ae, BODY)
        assert answer.headers["Vary"].lower().replace(" ", "").split(",") == names


@pytest.mark.protocols("http/1.1", "tls")
def test_pipelined_and_kept_connections(server, protocol):
    """Each response on a connection is negotiated by its own request."""
    expected = {"gzip": "gzip", None: None, "br": "br", "gzip;q=0": None}
    with server.connect(protocol) as connection:
        ids = [connection.send_request("/on/a.html", ae=ae) for ae in expected]
        for id, coding in zip(ids, expected.values(), strict=True):
            check.negotiated(connection.read_response(id), coding, BODY)


def test_digests_of_the_identity_go_and_other_fields_stay(server):
    encoded, plain = (server.get("/digests/a.html", ae=ae) for ae in ("br", None))
    check.encoded(encoded, "br", BODY)
    check.plain(plain, BODY)
    for name in ("Content-MD5", "Digest", "Repr-Digest", "Content-Digest"):
        assert name in plain.headers and name not in encoded.headers
    check.same_header(plain, encoded, "Content-Type", "Last-Modified", "Server")
    assert encoded.headers["Content-Type"].lower() == "text/html; charset=utf-8"


# --- the drop-in filters


@pytest.mark.parametrize("path,ae,coding,level", [
    ("/deflate/a.html", "br, gzip;q=0.1", "gzip", "6"),
    ("/deflate/a.html", "br", None, "not-acceptable"),
    ("/deflate/a.bin", "gzip", "gzip", "6"),
    ("/deflate/s68.html", "gzip", None, "small"), ("/deflate/s69.html", "gzip", "gzip", "6"),
    ("/deflate/empty.html", "gzip", None, "small"), ("/deflate/noise.html", "gzip", "gzip", "6"),
    ("/brotli/a.html", "gzip, br", "br", "5"),
    ("/brotli/a.html", "gzip", None, "not-acceptable"),
    ("/brotli/s68.html", "br", "br", "5"), ("/brotli/empty.html", "br", "br", "5"),
    ("/both/a.html", "gzip, br", "br", "5"),
    ("/both/a.html", "gzip, br;q=0.9", "gzip", "6"), ("/both/a.html", "gzip", "gzip", "6"),
    ("/both/a.html", "identity", None, "not-acceptable"),
    ("/both/s68.html", "gzip, br", "br", "5"), ("/both/s68.html", "gzip", None, "small"),
    ("/both/a.bin", "gzip, br", None, None),
    ("/reversed/a.html", "gzip, br", "gzip", "6"),
    ("/reversed/a.html", "gzip;q=0.5, br", "br", "5"),
    ("/reversed/s68.html", "gzip, br", "br", "5"),
    ("/unlike/a.html", "gzip, br", "gzip", "6"), ("/unlike/a.html", "br", None, None),
    ("/deflate-off/a.html", "gzip", None, "off"), ("/min/a.html", "gzip", None, "small"),
    ("/deflate-types/a.html", "gzip", None, "type"), ("/level/a.html", "gzip", "gzip", "3"),
    # Only a body in one brigade may be too small. An Elastic directive, and ELASTIC itself, have
    # one minimum for all bodies.
    ("/cut/brigades.html", "gzip", "gzip", "6"), ("/cut/last.html", "gzip", "gzip", "6"),
    ("/cut/buckets.html", "gzip", None, "small"), ("/cut-br/brigades.html", "br", "br", "5"),
    ("/cut-br/buckets.html", "br", "br", "5"), ("/cut-min/brigades.html", "gzip", None, "small"),
    ("/cut-elastic/brigades.html", "gzip", None, "small"),
    # A body that one filter held and left is encoded by the next. ELASTIC recognizes an encoded
    # body; drop-in filters do not look.
    ("/cut-chain/encoded.html", "gzip", "gzip", "6"),
])
def test_drop_ins(server, path, ae, coding, level):
    """`level` may be the reason for no coding instead; None: no filter is for the type."""
    answer = server.get(path, ae)
    _, place, name = path.split("/")
    body = FILES[name].translate(None, b"\x02\x10") if place.startswith("cut") else FILES[name]
    check.whole(answer, coding, body)
    notes = server.notes(answer)
    assert notes.get("elastic-level" if coding else "elastic-reason") == level
    varies = coding or level == "not-acceptable"
    if varies or place in ("deflate", "deflate-off"):
        assert answer.headers.get("Vary") == ("Accept-Encoding" if varies else None)
    if not place.startswith("cut"):
        head = server.head(path, ae)
        check.head_of(answer, head, "Accept-Ranges")
        if body:
            check.same_header(answer, head, "Content-Length")


@pytest.mark.parametrize("path,weak", [
    ("/deflate/a.html", False), ("/brotli/a.html", False), ("/weak/a.html", True)])
def test_tags_of_drop_ins(server, path, weak):
    plain = server.get(path)
    coding = "br" if "brotli" in path else "gzip"
    suffixed = ("W/" if weak else "") + plain.headers["ETag"][:-1] + f'-{coding}"'
    check.not_modified(server.get(path, coding, {"If-None-Match": suffixed}), suffixed)
    assert server.get(path, coding).headers["ETag"] == suffixed


def test_a_small_page_of_includes_comes_in_several_brigades(server):
    check.encoded(server.get("/included/small.html", "gzip"), "gzip", b"<p>GET")


@pytest.mark.parametrize("method", ["GET", "HEAD"])
def test_a_small_page_of_a_script_comes_in_one(server, method):
    """httpd passes on the script's pipe and its end, however slow the script is."""
    answer = check.once(lambda: server.get("/deflate/small.cgi", "gzip", method=method),
                        lambda answer: answer.coding is None)
    check.whole(answer, None, b"<p>small" if method == "GET" else b"")
