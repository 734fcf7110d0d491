"""Bodies that mod_proxy_http brings, in every form that a backend may give them."""

import time

import pytest

from kit import bodies, check
from kit.origin import raw
from kit.proxied import EACH, EACH_WAY, Gate, config, gated, start

BODY = bodies.text(30000)
LARGE = bodies.text(3 << 20)
TEXT = {"Content-Type": "text/plain"}


SIZED = {**TEXT, "Content-Length": len(BODY)}


def _in_1_0(fields, close=True):
    """For Origin.route: the body by HTTP/1.0."""
    def answer(exchange):
        exchange.close = close
        raw(fields, BODY, version="1.0")(exchange)

    return answer


def _late(exchange):
    """The header well before the body."""
    exchange.head(200, SIZED)
    time.sleep(0.2)
    exchange.send(BODY)


SLOW = [part for piece in bodies.pieces(BODY, (5000, 1, 10000)) for part in (piece, 0.02)]

SHAPES = {
    "length": lambda e: e.respond(200, {}, BODY),
    "chunked": lambda e: e.chunked(200, {}, [BODY]),
    "odd-chunks": lambda e: e.chunked(200, {}, bodies.pieces(BODY)),
    "until-close": lambda e: e.until_close(200, {}, [BODY]),
    "1.0": _in_1_0(TEXT),
    "1.0-length": _in_1_0(SIZED),
    "1.0-kept": _in_1_0({**SIZED, "Connection": "keep-alive"}, close=False),
    "slow": lambda e: e.chunked(200, {}, SLOW),
    "slow-until-close": lambda e: e.until_close(200, {}, bodies.pieces(BODY, (9000,))),
    "late": _late,
    "late-chunked": lambda e: e.chunked(200, {}, [0.2, BODY]),
}


@pytest.fixture(scope="module")
def server(httpd_shared, origin):
    # Another name of 127.0.0.1 makes another worker, which has its own parameters.
    url = origin.url.replace("127.0.0.1", "{}").format
    server = start(
        httpd_shared,
        config(origin.url)
        + config(url("127.1"), parameters="flushpackets=on", prefix="flush-")
        + config(url("127.0.1"), parameters="flushpackets=auto flushwait=20", prefix="auto-")
        + config(url("0x7f.0.0.1"), parameters="disablereuse=on", prefix="single-")
        + "<Proxy balancer://pool>\n"
          f"BalancerMember {url('0x7f.0.1')} route=a retry=0\nBalancerMember {url('0x7f.1')}\n"
          "ProxySet lbmethod=byrequests\n</Proxy>\n"
        + config("balancer://pool", prefix="pool-")
        + "<Proxy balancer://broken>\nBalancerMember http://127.0.0.1:1 retry=0\n"
          f"BalancerMember {url('0x7f.0x1')}\nProxySet lbmethod=byrequests\n</Proxy>\n"
        + config("balancer://broken", prefix="broken-"),
        modules=["slotmem_shm", "proxy_balancer", "lbmethod_byrequests"], tls=True,
        h2=True)
    for name, handler in SHAPES.items():
        origin.route(f"/{name}", handler)
    origin.route("/large", lambda e: e.respond(200, {}, LARGE))
    origin.route("/large-chunked", lambda e: e.chunked(200, {}, bodies.pieces(LARGE, (100000, 7))))
    origin.route("/echo", lambda e: e.respond(200, {}, e.body))
    return server


@pytest.mark.parametrize("shape", SHAPES)
@EACH
def test_every_form_of_a_body(server, way, coding, shape, protocol):
    check.encoded(server.get(way.path(shape), ae=coding, protocol=protocol), coding, BODY)


@pytest.mark.parametrize("shape", ["length", "chunked", "until-close", "1.0"])
@EACH_WAY
def test_a_client_that_accepts_nothing_gets_the_identity(server, way, shape, protocol):
    check.plain(server.get(way.path(shape), protocol=protocol), BODY)


@pytest.mark.smoke
@pytest.mark.protocols()
@EACH_WAY
def test_large_bodies(server, way, protocol):
    for path in ("large", "large-chunked"):
        for coding in way.codings:
            check.encoded(server.get(way.path(path), ae=coding, protocol=protocol), coding, LARGE)


@pytest.mark.parametrize("prefix", ["flush-", "auto-", "single-", "pool-"])
@EACH
def test_every_kind_of_worker(server, way, coding, prefix):
    for shape in ("length", "chunked", "slow", "until-close"):
        check.encoded(server.get(f"/{prefix}{way.name}/{shape}", ae=coding), coding, BODY)


@EACH
def test_answers_to_post(server, way, coding):
    answer = server.get(way.path("echo"), ae=coding, method="POST", body=BODY)
    check.encoded(answer, coding, BODY)


@pytest.mark.smoke
@EACH_WAY
def test_connections_to_the_backend_are_used_again(server, origin, way):
    """An encoded body leaves nothing of the backend's behind: the next answer begins where the last
    one ended."""
    seen = len(origin.seen)
    with server.connect() as connection:
        for shape in ("length", "chunked", "odd-chunks", "slow", "length"):
            for ae in (*way.codings, None):
                check.whole(connection.request(way.path(shape), ae=ae), ae, BODY)
            assert connection.request(way.path(shape), "HEAD", way.codings[0]).status == 200
    connections = {exchange.peer for exchange in origin.seen[seen:]}
    assert len(connections) < (len(origin.seen) - seen) / 2


# --- what is flushed


def _form(exchange, form, pieces):
    if form == "chunked":
        exchange.chunked(200, {}, pieces)
    elif form == "until-close":
        exchange.until_close(200, {}, pieces)
    else:
        exchange.head(200, {**TEXT, "Content-Length": 3 * len(BODY)})
        for piece in pieces:
            exchange.send(piece)


def _step_by_step(server, path, coding, gate, marks, whole):
    """Each mark can be decoded before what follows it is made."""
    with server.stream(path, ae=coding) as stream:
        assert (stream.status, stream.coding) == (200, coding)
        for mark in marks:
            stream.wait_for(mark, 10)
            gate.open()
        assert stream.read_all() == whole


@pytest.mark.parametrize("form", ["chunked", "until-close", "length"])
@pytest.mark.parametrize("prefix", ["", "flush-", "auto-"])
@EACH
def test_a_part_is_decodable_before_the_next_is_made(server, origin, way, coding, prefix, form):
    gate = Gate()
    marks = [b"<1>", b"<2>", b"<3>"]
    parts = [BODY[:-3] + mark for mark in marks]
    origin.route("/gated", lambda e: _form(e, form, gated(gate, *parts)))
    _step_by_step(server, f"/{prefix}{way.name}/gated", coding, gate, marks, b"".join(parts))


@pytest.mark.parametrize("prefix", ["", "flush-", "auto-"])
@EACH
def test_small_events_are_decodable_one_by_one(server, origin, way, coding, prefix):
    """Each is far below the size from which compression pays."""
    gate = Gate()
    events = [b"data: %d\n\n" % n for n in range(4)]
    origin.route("/events", lambda e: e.chunked(
        200, {"Content-Type": "text/event-stream"}, gated(gate, *events)))
    _step_by_step(server, f"/{prefix}{way.name}/events", coding, gate, events, b"".join(events))


@EACH
def test_the_header_does_not_wait_for_the_body(server, origin, way, coding):
    gate = Gate()
    origin.route("/header-first", lambda e: e.chunked(200, {}, gated(gate, b"", BODY)))
    _step_by_step(server, way.path("header-first"), coding, gate, [b""], BODY)


# --- balancers


@EACH
def test_a_balancer_turns_to_another_member(server, origin, way, coding):
    """Nobody listens on the first member's port."""
    origin.route("/x", lambda e: e.respond(200, {"ETag": '"x"'}, BODY))
    server.expect_log(r"\[proxy(_\w+)?:\w+\]")
    for _ in range(3):
        answer = server.get(f"/broken-{way.name}/x", ae=coding)
        check.encoded(answer, coding, BODY)
        assert answer.headers["ETag"] == way.tagged("x", coding)
