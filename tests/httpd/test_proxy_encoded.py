"""Backends' fields about their bodies: codings that they applied, fields about bytes, Vary."""

import gzip

import brotli
import pytest

from kit import bodies, check
from kit.origin import raw
from kit.proxied import EACH, EACH_WAY, config, start

BODY = bodies.html(30000)
HTML = {"Content-Type": "text/html"}
TAG = ("ETag", '"o"')
GZ = gzip.compress(BODY, mtime=0)
BR = brotli.compress(BODY, quality=1)
GZ_BR = brotli.compress(GZ, quality=1)
# Frames that are never decoded.
ZSTD = b"\x28\xb5\x2f\xfd" + bodies.noise(9000)
NOISE_GZ = gzip.compress(bodies.noise(3 << 20), mtime=0)
RANGE = ("Content-Range", f"bytes 0-8999/{len(BODY)}")
PARTS = b"--cut\r\nContent-Range: bytes 0-8999/30000\r\n\r\n" + BODY[:9000] + b"\r\n--cut--\r\n"
IMAGE = ("Content-Type", "image/png")


def _page(*fields, body=BODY, status="200 OK"):
    """For Origin.route: a page with these fields, in this order."""
    typed = any(name == "Content-Type" for name, _ in fields)
    return raw([("Content-Length", len(body)), *(() if typed else HTML.items()), *fields], body,
               status)


def _fields(name, *values):
    return [(name, value) for value in values]


# {name: (fields, body, the reason not to encode it)}
KEPT = {
    **{",".join(codings): (_fields("Content-Encoding", *codings), body, "encoded")
       for codings, body in (
           (["gzip"], GZ), (["x-gzip"], GZ), (["GZip"], GZ), (["br"], BR), (["zstd"], ZSTD),
           (["gzip, br"], GZ_BR), (["gzip", "br"], GZ_BR), (["identity, gzip"], GZ),
           (["identity", "gzip"], GZ), (["aes128gcm"], ZSTD))},
    **{",".join(values): (_fields("Cache-Control", *values), BODY, "no-transform") for values in (
        ["no-transform"], ["max-age=1,No-Transform"], ["max-age=60", "public, no-transform"],
        ["no-transform", "max-age=3"], ["max-age=3", "public", "x=1, No-Transform"])},
}


@pytest.fixture(scope="module")
def server(httpd_shared, origin):
    return start(httpd_shared, config(origin.url), tls=True, h2=True)


@pytest.mark.smoke
@pytest.mark.parametrize("name", KEPT)
@EACH_WAY
def test_what_may_not_be_encoded_passes_untouched(server, origin, way, name, protocol):
    """And was not negotiated."""
    fields, body, reason = KEPT[name]
    origin.route("/kept", _page(TAG, ("Accept-Ranges", "bytes"), *fields, body=body))
    for ae in ("gzip", "br", "gzip, br, zstd", None):
        answer = server.get(way.path("kept"), ae=ae, protocol=protocol)
        assert answer.status == 200 and answer.complete and answer.raw == body
        assert answer.headers["ETag"] == '"o"' and answer.headers["Accept-Ranges"] == "bytes"
        assert not answer.varies and server.reason(answer) == reason
    head = server.head(way.path("kept"), ae="gzip", protocol=protocol)
    assert (head.status, head.raw) == (200, b"")
    for one in (answer, head):
        assert one.headers["Content-Length"] == str(len(body))
        for field, _ in fields:
            assert one.headers[field] == ", ".join(v for n, v in fields if n == field)


@pytest.mark.parametrize("status,field,body", [
    ("200 OK", RANGE, BODY[:9000]), ("206 Partial Content", RANGE, BODY[:9000]),
    ("206 Partial Content", ("Content-Type", "multipart/byteranges; boundary=cut"), PARTS)])
@EACH
def test_parts_pass(server, origin, way, coding, status, field, body):
    origin.route("/part", _page(TAG, field, body=body, status=status))
    answer = server.get(way.path("part"), ae=coding, headers={"Range": "bytes=0-8999"})
    check.whole(answer, None, body, int(status[:3]))
    assert answer.headers["ETag"] == '"o"'
    assert server.reason(answer) == ("range" if way.errors or answer.status == 200 else None)


# (fields, names in Vary, the tag's text, whether it is weak)
PAGES = [
    ([], ["accept-encoding"], None, False),
    ([TAG], ["accept-encoding"], "o", False),
    (_fields("ETag", 'W/"o"'), ["accept-encoding"], "o", True),
    (_fields("Vary", "Cookie"), ["cookie", "accept-encoding"], None, False),
    (_fields("Vary", "accept-encoding"), ["accept-encoding"], None, False),
    (_fields("Vary", "Cookie", "Accept-Encoding, Accept"),
     ["cookie", "accept-encoding", "accept"], None, False),
    (_fields("Vary", "*"), ["*"], None, False),
    *((_fields("Content-Encoding", name), ["accept-encoding"], None, False)
      for name in ("identity", "7bit", "8bit", "binary", "Identity")),
]


@pytest.mark.parametrize("fields,names,tag,is_weak", PAGES)
@EACH
def test_vary_has_every_name_once(server, origin, way, coding, fields, names, tag, is_weak):
    """Tags get a suffix, weak ones stay weak, and an invalid Content-Encoding is replaced."""
    origin.route("/page", _page(*fields))
    answer, plain = server.get(way.path("page"), ae=coding), server.get(way.path("page"))
    check.whole(answer, coding, BODY)
    assert answer.headers.get("ETag") == (
        tag and ("W/" * is_weak + way.tagged(tag, coding)).replace("W/W/", "W/"))
    assert plain.complete and plain.raw == BODY
    assert plain.headers.get("ETag") == dict(fields).get("ETag")
    for one in (answer, plain):
        assert one.headers["Vary"].lower().replace(" ", "").split(",") == names


@EACH
def test_a_backend_that_negotiates_itself(server, origin, way, coding):
    """gzip comes from the backend; its plain responses are encoded here if the client accepts
    it."""
    def answer(exchange):
        packs = "gzip" in exchange.headers.get("accept-encoding", "")
        coded = {"Content-Encoding": "gzip", "ETag": '"o-packed"'} if packs else {"ETag": '"o"'}
        exchange.respond(200, {**HTML, "Vary": "Accept-Encoding", **coded}, GZ if packs else BODY)

    origin.route("/negotiates", answer)
    answer = server.get(way.path("negotiates"), ae=coding)
    check.encoded(answer, coding, BODY)
    assert answer.headers["Vary"].lower().count("accept-encoding") == 1
    expected = '"o-packed"' if coding == "gzip" else way.tagged("o", coding)
    assert answer.headers["ETag"] == expected
    check.plain(server.get(way.path("negotiates")), BODY)


@EACH
def test_the_answer_behind_one_without_content_begins_correctly(server, origin, way, coding):
    """Behind early hints, too."""
    origin.route("/page", _page())
    origin.route("/hints", lambda e: (
        raw({"Link": "</a.css>; rel=preload"}, status="103 Early Hints")(e), _page()(e)))
    with server.connect() as connection:
        for status, fields in (("204 No Content", []), ("205 Reset Content",
                                                        [("Content-Length", 0)])):
            origin.route("/none", raw([TAG, *fields], status=status))
            answer = connection.request(way.path("none"), ae=coding)
            check.empty(answer, int(status[:3]))
            assert answer.headers["ETag"] == '"o"'
            for page in ("page", "hints"):
                check.encoded(connection.request(way.path(page), ae=coding), coding, BODY)


@EACH
def test_other_types_pass_where_types_are_listed(server, origin, way, coding):
    data = bodies.noise(9000)
    origin.route("/image", _page(TAG, IMAGE, ("Accept-Ranges", "bytes"), body=data))
    answer = server.get(way.path("image"), ae=coding)
    if way.typed:
        check.plain(answer, data, varies=False)
        assert answer.headers["ETag"] == '"o"' and answer.headers["Accept-Ranges"] == "bytes"
    else:
        check.encoded(answer, coding, data)


@pytest.mark.parametrize("body", [GZ, ZSTD, NOISE_GZ], ids=["gzip", "zstd", "large"])
@EACH
def test_a_body_that_is_encoded_and_not_labelled_is_not_encoded_again(server, origin, way, coding,
                                                                      body):
    """Drop-in filters do encode it, like the stock modules."""
    origin.route("/unlabelled", _page(TAG, body=body))
    answer = server.get(way.path("unlabelled"), ae=coding)
    if way.stock:
        check.whole(answer, coding, body)
        return
    assert answer.status == 200 and answer.coding is None and answer.raw == body
    assert answer.headers["ETag"] == '"o"' and answer.headers["Content-Length"] == str(len(body))
    assert server.reason(answer) == "encoded"
    # An origin's answer to HEAD has no body to inspect.
    assert server.head(way.path("unlabelled"), ae=coding).status == 200
