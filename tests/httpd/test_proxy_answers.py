"""Backends' fields about their bodies: codings that they applied, fields about bytes, Vary.
Failing backends, and httpd's pages for them."""

import gzip

import brotli
import pytest

from kit import bodies, check, decode
from kit.counters import counted
from kit.origin import breaks_off, raw
from kit.process import free_port
from kit.proxied import EACH, EACH_WAY, WAYS, config, locations, start

pytestmark = pytest.mark.rules

BODY = bodies.html(30000)
PAGE = bodies.html(5000)
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
    closed = free_port()  # nobody will listen there
    override = "ProxyErrorOverride On"
    server = start(
        httpd_shared,
        config(origin.url)
        + config(origin.url.replace("127.0.0.1", "127.1"), parameters="timeout=1", prefix="hasty-")
        + config(origin.url, override, "ErrorDocument 500 /pages/%s/error.html",
                 "ErrorDocument 404 /made-%s/page", 'ErrorDocument 403 "no entry"',
                 "ErrorDocument 503 /pages/%s/none.html", prefix="paged-")
        + config(origin.url, override, prefix="canned-")
        + config(origin.url, "ProxyErrorOverride On 500", "ErrorDocument 500 /pages/%s/error.html",
                 prefix="some-")
        + config(origin.url, override, prefix="made-")
        + config(f"http://127.0.0.1:{closed}", parameters="retry=0", prefix="closed-")
        + config(f"http://127.1:{closed}", "ErrorDocument 503 /pages/%s/error.html",
                 parameters="retry=0", prefix="closed-paged-")
        + "".join(f"Alias /pages/{way.name}/ {{docs}}/\n" for way in WAYS)
        + locations(prefix="pages/"),
        tls=True, h2=True, files={"error.html": PAGE}, allow_log=[r"\[proxy(_\w+)?:\w+\]"])
    origin.route("/page", lambda e: e.respond(200, {**HTML, "ETag": '"page"'}, PAGE))
    return server


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
    ("206 Partial Content", ("Content-Type", "multipart/byteranges; boundary=cut"), PARTS)],
    ids=["200", "206", "several"])
@EACH
def test_parts_pass(server, origin, way, coding, status, field, body):
    origin.route("/part", _page(TAG, field, body=body, status=status))
    answer = server.get(way.path("part"), ae=coding, headers={"Range": "bytes=0-8999"})
    check.whole(answer, None, body, int(status[:3]))
    assert answer.headers["ETag"] == '"o"'
    assert server.reason(answer) == ("range" if way.errors or answer.status == 200 else None)


# (fields, names in Vary, the tag's text, whether it is weak)
VARIES = [
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


@pytest.mark.parametrize("fields,names,tag,is_weak", VARIES)
@EACH
def test_vary_has_every_name_once(server, origin, way, coding, fields, names, tag, is_weak):
    """Tags get a suffix, weak ones stay weak, and an invalid Content-Encoding is replaced."""
    origin.route("/body", _page(*fields))
    answer, plain = server.get(way.path("body"), ae=coding), server.get(way.path("body"))
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
    origin.route("/body", _page())
    origin.route("/hints", lambda e: (
        raw({"Link": "</a.css>; rel=preload"}, status="103 Early Hints")(e), _page()(e)))
    with server.connect() as connection:
        for status, fields in (("204 No Content", []), ("205 Reset Content",
                                                        [("Content-Length", 0)])):
            origin.route("/none", raw([TAG, *fields], status=status))
            answer = connection.request(way.path("none"), ae=coding)
            check.empty(answer, int(status[:3]))
            assert answer.headers["ETag"] == '"o"'
            for page in ("body", "hints"):
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


# --- failing backends

# Long enough that some of it is sent before the end; otherwise the answer would be a 502. The
# beginning compresses, so it is encoded; the rest passes through every coding without delay.
LARGE = bodies.text(16 << 10) + bodies.noise(2 << 20)
# Fields of a body that another one replaces.
FIELDS = {"ETag": '"failed"', "Content-Encoding": "gzip", "Vary": "Cookie",
          "Cache-Control": "no-transform", "Accept-Ranges": "bytes"}


def _broken(answer):
    """The response cannot look complete."""
    if answer.complete:
        with pytest.raises(decode.DecodeError):
            answer.body  # noqa: B018


def _reset(exchange):
    # Data that is still in flight would be lost with the connection.
    breaks_off(LARGE, HTML, pause=0.3)(exchange)
    exchange.reset()


BREAKS = {
    "short": breaks_off(LARGE, HTML, len(LARGE) + 1000),
    "cut-chunk": breaks_off(LARGE, HTML, rest=b"ffff\r\nabc"),
    "no-last-chunk": breaks_off(LARGE, HTML),
    "no-chunk": breaks_off(LARGE, HTML, rest=b"no chunk at all\r\n"),
    "reset": _reset,
}


def _breaks(server, origin, path, coding, handler, protocol):
    origin.route("/broken", handler)
    answer, grown = counted(server, lambda: server.get(path, ae=coding, protocol=protocol))
    assert (answer.status, answer.coding) == (200, coding)
    _broken(answer)
    assert server.reason(answer) == "error" and grown == {"error": 1}


@pytest.mark.smoke
@pytest.mark.protocols()
@pytest.mark.parametrize("how", BREAKS)
@EACH
def test_a_body_that_breaks_off_never_looks_whole(server, origin, way, coding, how, protocol):
    """It counts as an error."""
    _breaks(server, origin, way.path("broken"), coding, BREAKS[how], protocol)
    check.encoded(server.get(way.path("page"), ae=coding, protocol=protocol), coding, PAGE)


@EACH
def test_a_body_whose_rest_comes_too_late_never_looks_whole(server, origin, way, coding):
    """The rest comes after the worker's timeout."""
    _breaks(server, origin, f"/hasty-{way.name}/broken", coding,
            breaks_off(LARGE, HTML, len(LARGE) + 1000, pause=2), "http/1.1")


@EACH
def test_a_body_that_breaks_off_early(server, origin, way, coding):
    """So little that the header may not be sent: a 502, or a visible end."""
    for size in (0, 10, 500, 3000, 60000):
        origin.route("/early", breaks_off(bodies.text(size), {**HTML, "ETag": '"o"'}, size + 5000))
        answer = server.get(way.path("early"), ae=coding)
        if answer.status == 200:
            _broken(answer)
        else:
            assert (answer.status, answer.coding) == (502, None), answer
            assert b"Bad Gateway" in answer.body and "ETag" not in answer.headers


@EACH
def test_a_backend_that_does_not_speak_http(server, origin, way, coding):
    def strange(exchange):
        exchange.close = True
        exchange.send(b"nothing of HTTP\r\n\r\n")

    origin.route("/strange", strange)
    answer = server.get(way.path("strange"), ae=coding)
    assert answer.complete and answer.coding in (None, coding)
    assert answer.status in (200, 502)  # for a body without header (HTTP/0.9), httpd says 200
    assert answer.body  # it can be decoded


# (prefix, the backend's status, its fields, the body or words of httpd's own text)
PAGES = [
    *(("", status, {}, BODY) for status in (400, 404, 500, 502, 503)),
    ("some-", 503, {}, BODY),  # not overridden
    *(("paged-", 500, fields, PAGE) for fields in ({}, FIELDS)),
    ("some-", 500, FIELDS, PAGE),
    ("paged-", 404, FIELDS, PAGE),  # from another backend
    ("closed-paged-", 503, {}, PAGE),
    ("closed-", 503, {}, "Service Unavailable"),
    ("paged-", 403, FIELDS, "no entry"),
    ("paged-", 503, FIELDS, "Service Unavailable"),  # the page is missing
    ("canned-", 500, FIELDS, "internal error"),
]


@pytest.mark.smoke
@pytest.mark.parametrize("prefix,status,fields,expected", PAGES, ids=[
    f"{prefix}{status}{'-with-fields' * bool(fields)}" for prefix, status, fields, _ in PAGES])
@EACH
def test_pages_for_errors(server, origin, way, coding, prefix, status, fields, expected, protocol):
    body = gzip.compress(BODY) if fields else BODY
    origin.route("/failed", lambda e: e.respond(status, {**HTML, **fields}, body))
    for ae in (coding, None):
        answer = server.get(f"/{prefix}{way.name}/failed", ae=ae, protocol=protocol)
        if isinstance(expected, str):
            assert (answer.status, answer.coding) == (status, None), answer
            assert expected.encode() in answer.body
        elif ae:
            way.check(answer, coding, expected, status)
        else:
            check.plain(answer, expected, status, varies=way.errors)
        assert '"failed"' not in (answer.headers.get("ETag") or ""), answer
