"""What a backend says of its body: codings that it applied, fields that speak of bytes, Vary."""

import gzip

import brotli
import pytest

from kit import bodies, check
from kit.proxied import EACH, EACH_WAY, config, start

BODY = bodies.html(30000)
HTML = {"Content-Type": "text/html"}
GZ = gzip.compress(BODY, mtime=0)
BR = brotli.compress(BODY, quality=1)

# A frame of zstd is no more than bytes here: nobody has to read it.
ZSTD = b"\x28\xb5\x2f\xfd" + bodies.noise(9000)

ENCODED = {
    "gzip": (["gzip"], GZ),
    "x-gzip": (["x-gzip"], GZ),
    "GZip": (["GZip"], GZ),
    "br": (["br"], BR),
    "zstd": (["zstd"], ZSTD),
    "list": (["gzip, br"], brotli.compress(GZ, quality=1)),
    "fields": (["gzip", "br"], brotli.compress(GZ, quality=1)),
    "identity-gzip": (["identity, gzip"], GZ),
    "unknown": (["aes128gcm"], bodies.noise(9000)),
}


def _raw(fields, body, status="200 OK"):
    """For Origin.route: a response whose fields keep their order and number."""
    lines = [f"HTTP/1.1 {status}", f"Content-Length: {len(body)}"]
    lines += [f"{name}: {value}" for name, value in fields]
    head = "\r\n".join(lines).encode() + b"\r\n\r\n"
    return lambda exchange: exchange.send(head + (b"" if exchange.method == "HEAD" else body))


@pytest.fixture(scope="module")
def server(httpd_shared, origin):
    server = start(httpd_shared, config(origin.url), tls=True, h2=True)
    for name, (codings, body) in ENCODED.items():
        fields = [("Content-Type", "text/html"), ("ETag", '"o"'), ("Accept-Ranges", "bytes"),
                  *(("Content-Encoding", coding) for coding in codings)]
        origin.route(f"/{name}", _raw(fields, body))
    origin.route("/negotiates", _negotiating)
    return server


def _negotiating(exchange):
    """A backend that compresses by itself, for those who accept it."""
    takes = "gzip" in exchange.headers.get("accept-encoding", "")
    coded = {"Content-Encoding": "gzip", "ETag": '"o-packed"'} if takes else {"ETag": '"o"'}
    exchange.respond(200, {**HTML, "Vary": "Accept-Encoding", **coded}, GZ if takes else BODY)


@pytest.mark.smoke
@pytest.mark.parametrize("name", ENCODED)
@EACH_WAY
def test_what_is_encoded_passes_untouched(server, way, name, protocol):
    codings, body = ENCODED[name]
    for ae in ("gzip", "br", "gzip, br, zstd", None):
        answer = server.get(way.path(name), ae=ae, protocol=protocol)
        assert answer.status == 200 and answer.complete and answer.raw == body
        assert answer.coding == ", ".join(codings)
        assert answer.headers["Content-Length"] == str(len(body))
        assert answer.headers["ETag"] == '"o"' and answer.headers["Accept-Ranges"] == "bytes"
        assert not answer.varies, "nothing was negotiated here"
        assert server.reason(answer) == "encoded"


@EACH_WAY
def test_heads_of_what_is_encoded(server, way):
    for name, (codings, body) in ENCODED.items():
        answer = server.head(way.path(name), ae="gzip")
        assert (answer.status, answer.raw, answer.coding) == (200, b"", ", ".join(codings))
        assert answer.headers["Content-Length"] == str(len(body))


@EACH
def test_a_backend_that_negotiates_itself(server, way, coding):
    """gzip comes from the backend; what it sends as it is, we encode where the client takes it."""
    answer = server.get(way.path("negotiates"), ae=coding)
    assert answer.body == BODY and answer.coding == coding and answer.varies
    assert answer.headers["Vary"].lower().count("accept-encoding") == 1
    expected = '"o-packed"' if coding == "gzip" else way.tagged("o", coding)
    assert answer.headers["ETag"] == expected
    check.plain(server.get(way.path("negotiates")), BODY)


@pytest.mark.parametrize("name", ["identity", "7bit", "binary"])
@EACH
def test_what_says_that_it_is_not_encoded(server, origin, way, coding, name):
    origin.route("/plain", _raw([*HTML.items(), ("Content-Encoding", name)], BODY))
    check.encoded(server.get(way.path("plain"), ae=coding), coding, BODY)


# --- fields


@pytest.mark.parametrize("fields,expected", [
    ([("Vary", "Cookie")], ["cookie", "accept-encoding"]),
    ([("Vary", "accept-encoding")], ["accept-encoding"]),
    ([("Vary", "Cookie"), ("Vary", "Accept-Encoding, Accept")],
     ["cookie", "accept-encoding", "accept"]),
    ([("Vary", "*")], ["*"]),
    ([], ["accept-encoding"]),
])
@EACH
def test_vary_says_everything_once(server, origin, way, coding, fields, expected):
    origin.route("/vary", _raw([*HTML.items(), *fields], BODY))
    for ae in (coding, None):
        answer = server.get(way.path("vary"), ae=ae)
        assert (answer.coding, answer.body) == (ae, BODY)
        members = [member.strip().lower() for member in answer.headers["Vary"].split(",")]
        assert members == expected


@pytest.mark.parametrize("fields", [
    [("Cache-Control", "no-transform")], [("Cache-Control", "max-age=1,No-Transform")],
    [("Cache-Control", "max-age=60"), ("Cache-Control", "public, no-transform")],
])
@EACH
def test_no_transform(server, origin, way, coding, fields):
    origin.route("/kept", _raw([*HTML.items(), *fields, ("ETag", '"o"')], BODY))
    answer = server.get(way.path("kept"), ae=coding)
    assert (answer.status, answer.coding, answer.body) == (200, None, BODY)
    assert answer.headers["ETag"] == '"o"'
    assert answer.headers["Content-Length"] == str(len(BODY))
    assert server.reason(answer) == "no-transform"


@EACH
def test_fields_that_speak_of_the_identitys_bytes(server, origin, way, coding):
    stale = {"Content-MD5": "a", "Digest": "md5=a", "Content-Digest": "sha-256=:a:",
             "Repr-Digest": "sha-256=:a:", "Accept-Ranges": "bytes"}
    origin.route("/told", lambda e: e.respond(
        200, {**HTML, **stale, "Last-Modified": "Fri, 14 Jul 2017 02:40:00 GMT", "X-Other": "kept"},
        BODY))
    answer = server.get(way.path("told"), ae=coding)
    check.encoded(answer, coding, BODY)
    assert not [name for name in stale if name in answer.headers], answer
    assert answer.headers["Last-Modified"] == "Fri, 14 Jul 2017 02:40:00 GMT"
    assert answer.headers["X-Other"] == "kept"
    plain = server.get(way.path("told"))
    check.plain(plain, BODY)
    assert all(plain.headers.get(name) == value for name, value in stale.items()), plain


@pytest.mark.parametrize("given,mode", [('"o"', "tag"), ('W/"o"', "tag"), (None, "none")])
@EACH
def test_tags(server, origin, way, coding, given, mode):
    origin.route("/tag", lambda e: e.respond(200, {**HTML, **({"ETag": given} if given else {})},
                                             BODY))
    answer = server.get(way.path("tag"), ae=coding)
    check.encoded(answer, coding, BODY)
    tag = answer.headers.get("ETag")
    if mode == "none":
        assert tag is None
    else:
        assert tag.removeprefix("W/") == way.tagged("o", coding).removeprefix("W/")
        assert tag.startswith("W/") or not given.startswith("W/")
    assert server.get(way.path("tag")).headers.get("ETag") == given


# --- parts that nobody asked us for


@pytest.mark.parametrize("status,fields", [
    ("206 Partial Content", [("Content-Range", f"bytes 0-8999/{len(BODY)}")]),
    ("200 OK", [("Content-Range", f"bytes 0-8999/{len(BODY)}")]),
])
@EACH
def test_parts_pass(server, origin, way, coding, status, fields):
    origin.route("/part", _raw([*HTML.items(), ("ETag", '"o"'), *fields], BODY[:9000], status))
    answer = server.get(way.path("part"), ae=coding)
    assert (answer.status, answer.coding) == (int(status[:3]), None)
    assert answer.body == BODY[:9000] and answer.headers["ETag"] == '"o"'
    assert server.reason(answer) == ("range" if way.errors or answer.status == 200 else None)


@EACH
def test_multipart_parts_pass(server, origin, way, coding):
    body = b"--cut\r\nContent-Range: bytes 0-8999/30000\r\n\r\n" + BODY[:9000] + b"\r\n--cut--\r\n"
    origin.route("/parts", _raw([("Content-Type", "multipart/byteranges; boundary=cut")], body,
                                "206 Partial Content"))
    answer = server.get(way.path("parts"), ae=coding, headers={"Range": "bytes=0-8999,9999-9999"})
    assert (answer.status, answer.coding, answer.body) == (206, None, body)


@pytest.mark.parametrize("status", ["204 No Content", "205 Reset Content"])
@EACH
def test_no_content(server, origin, way, coding, status):
    length = "Content-Length: 0\r\n" if status.startswith("205") else ""
    origin.route("/none", lambda e: e.send(
        f'HTTP/1.1 {status}\r\nETag: "o"\r\n{length}\r\n'.encode()))
    with server.connect() as connection:
        answer = connection.request(way.path("none"), ae=coding)
        assert (answer.status, answer.coding, answer.raw) == (int(status[:3]), None, b"")
        assert answer.headers["ETag"] == '"o"'
        # Nothing was added to it: the next answer is in its place.
        origin.route("/page", lambda e: e.respond(200, HTML, BODY))
        check.encoded(connection.request(way.path("page"), ae=coding), coding, BODY)


@EACH
def test_early_hints_are_no_response_yet(server, origin, way, coding):
    def answer(exchange):
        exchange.send(b"HTTP/1.1 103 Early Hints\r\nLink: </a.css>; rel=preload\r\n\r\n")
        exchange.respond(200, HTML, BODY)

    origin.route("/hints", answer)
    check.encoded(server.get(way.path("hints"), ae=coding), coding, BODY)


@EACH
def test_other_types_pass_where_types_are_listed(server, origin, way, coding):
    data = bodies.noise(9000)
    origin.route("/image", lambda e: e.respond(
        200, {"Content-Type": "image/png", "ETag": '"o"', "Accept-Ranges": "bytes"}, data))
    answer = server.get(way.path("image"), ae=coding)
    if not way.typed:
        check.encoded(answer, coding, data)
        return
    check.plain(answer, data, varies=False)
    assert answer.headers["ETag"] == '"o"' and answer.headers["Accept-Ranges"] == "bytes"
