"""Proxied bodies around the size of a segment, from which on compression pays."""

import pytest

from kit import bodies, check
from kit.origin import framed, raw
from kit.proxied import EACH, EACH_OWN, EACH_WAY, WAYS, config, start

SMALL = bodies.text(700)

# A segment's payload where the link's MTU is 1500; and how far below it `auto` may stay.
PAYLOAD = 1448
SLACK = 64
TEXT = {"Content-Type": "text/plain"}


def _chunked(pieces):
    return raw({**TEXT, "Transfer-Encoding": "chunked"}, framed(pieces))


def _sized(exchange):
    """As many bytes as the query says, in one write with the header: they come in one brigade."""
    body = bodies.text(int(exchange.path.split("?")[1]))
    raw({**TEXT, "Content-Length": len(body)}, body)(exchange)


# Header and body in one write, so that mod_proxy waits for nothing, and otherwise not.
SHAPES = {
    "length": raw({**TEXT, "Content-Length": len(SMALL)}, SMALL),
    "length-late": lambda e: e.respond(200, {}, SMALL),
    "chunked": _chunked([SMALL]),
    "chunks": _chunked(list(bodies.pieces(SMALL, (100, 1)))),
}


# Each is a brigade of its own, and nothing announces how many there are.
HELD = [bodies.text(size) for size in (700, 300, 900)]


@pytest.fixture(scope="module")
def server(httpd_shared, origin):
    server = start(
        httpd_shared,
        config(origin.url) + config(origin.url, "ElasticMinSize 500", prefix="500-"),
        tls=True, h2=True)
    for name, handler in SHAPES.items():
        origin.route(f"/{name}", handler)
    origin.route("/sized", _sized)
    origin.route("/held", _chunked(HELD))
    origin.route("/late", lambda e: e.chunked(200, {}, [0.1, SMALL]))
    origin.route("/empty", lambda e: e.respond(200, {}, b""))
    origin.route("/empty-chunked", _chunked([]))
    return server


@pytest.mark.smoke
@pytest.mark.parametrize("shape", SHAPES)
@EACH_OWN
def test_what_fits_a_segment_is_not_encoded_and_has_a_length(server, way, coding, shape, protocol):
    answer = server.get(way.path(shape), ae=coding, protocol=protocol)
    check.plain(answer, SMALL)
    assert server.reason(answer) == "small"
    if protocol == "http/1.1":
        assert answer.headers.get("Content-Length") == str(len(SMALL))


@EACH_OWN
def test_the_threshold_is_the_segments_payload(server, way, coding):
    """Of known lengths: the largest that stays, and the smallest that does not."""

    def ask(size):
        answer = server.get(way.path(f"sized?{size}"), ae=coding)
        assert answer.status == 200 and answer.body == bodies.text(size) and answer.varies
        return answer

    low, high = 1, 2000
    assert ask(low).coding is None and ask(high).coding == coding
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if ask(middle).coding else (middle, high)
    total = len(ask(low).head) + low
    assert PAYLOAD - SLACK <= total <= PAYLOAD


@EACH
def test_a_fixed_threshold(server, way, coding):
    for size, expected in ((499, None), (500, coding), (501, coding)):
        answer = server.get(f"/500-{way.name}/sized?{size}", ae=coding)
        check.negotiated(answer, expected, bodies.text(size))


@pytest.mark.parametrize("size,gzip,br", [
    (0, None, "br"), (1, None, "br"), (68, None, "br"), (69, "gzip", "br")])
@pytest.mark.parametrize("way", [way for way in WAYS if way.stock], ids=lambda way: way.name)
def test_stock_filters_keep_their_minimum(server, way, size, gzip, br):
    for ae, coding in (("gzip", gzip), ("br", br)):
        answer = server.get(way.path(f"sized?{size}"), ae=ae)
        check.whole(answer, coding, bodies.text(size))
        assert answer.varies


@EACH_OWN
def test_pieces_that_were_held_come_first(server, way, coding):
    check.encoded(server.get(way.path("held"), ae=coding), coding, b"".join(HELD))


@EACH
def test_a_body_that_is_flushed_before_its_size_is_known_is_encoded(server, way, coding):
    """mod_proxy flushes the header when the body is not there yet."""
    check.encoded(server.get(way.path("late"), ae=coding), coding, SMALL)


@pytest.mark.parametrize("shape", ["empty", "empty-chunked"])
@EACH_OWN
def test_empty_bodies(server, way, coding, shape):
    check.plain(server.get(way.path(shape), ae=coding), b"")


@EACH_WAY
def test_a_connection_stays_in_step(server, way):
    with server.connect() as connection:
        for shape in (*SHAPES, "late", "empty", "empty-chunked", *SHAPES):
            answer = connection.request(way.path(shape), ae=way.codings[-1])
            assert answer.body == (b"" if shape.startswith("empty") else SMALL)
