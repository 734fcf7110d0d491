"""Bodies through mod_proxy by HTTP/1 and HTTP/2, in every form that a backend may use."""

import socket
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from kit import bodies, check
from kit.origin import conditional, framed, raw
from kit.process import Backend, accepts, free_port, need
from kit.proxied import EACH, EACH_OWN, EACH_WAY, WAIT, Steps, config, start

pytestmark = pytest.mark.rules

BODY = bodies.text(30000)
LARGE = bodies.text(3 << 20)
SMALL = bodies.text(700)
TEXT = {"Content-Type": "text/plain"}
SIZED = {**TEXT, "Content-Length": len(BODY)}
SLOW = [part for piece in bodies.pieces(BODY, (5000, 1, 10000)) for part in (piece, 0.02)]


def _in_1_0(fields, close=True):
    def answer(exchange):
        exchange.close = close
        raw(fields, BODY, version="1.0")(exchange)

    return answer


def _late(exchange):
    """The header comes well before the body."""
    exchange.head(200, SIZED)
    time.sleep(0.2)
    exchange.send(BODY if exchange.method == "GET" else b"")


def _headless(exchange):
    """HEAD has none of the fields of a GET's body."""
    if exchange.method == "HEAD":
        exchange.head(200, TEXT)
    else:
        exchange.chunked(200, {}, [BODY])


def _chunked(pieces):
    """Header and body in one write, so that mod_proxy neither waits nor flushes."""
    return raw({**TEXT, "Transfer-Encoding": "chunked"}, framed(pieces))


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
    "headless": _headless,
    "many": lambda e: e.chunked(200, {}, bodies.pieces(BODY, (1, 3, 17))),
    # Each piece is a brigade, and their number is not announced.
    "held": _chunked([BODY[:700], BODY[700:1000], BODY[1000:]]),
}
# {shape: (handler, body)} for bodies that fit a segment.
SMALL_SHAPES = {
    "small": (raw({**TEXT, "Content-Length": len(SMALL)}, SMALL), SMALL),
    "small-later": (lambda e: e.respond(200, {}, SMALL), SMALL),
    "small-chunked": (_chunked([SMALL]), SMALL),
    "small-chunks": (_chunked(list(bodies.pieces(SMALL, (100, 1)))), SMALL),
    "empty": (lambda e: e.respond(200, {}, b""), b""),
    "empty-chunked": (_chunked([]), b""),
}
# {prefix: (a name of 127.0.0.1 that makes a separate worker, its parameters)}
WORKERS = {"": ("127.0.0.1", ""), "flush-": ("127.1", "flushpackets=on"),
           "auto-": ("127.0.1", "flushpackets=auto flushwait=20"),
           "single-": ("0x7f.0.0.1", "disablereuse=on")}
# Nothing listens on the port of the first member.
BALANCER = """
<Proxy balancer://pool>
    BalancerMember http://127.0.0.1:1 retry=0
    BalancerMember http://0x7f.0x1:{origin}
    ProxySet lbmethod=byrequests
</Proxy>
"""
FORMS = [("", shape) for shape in SHAPES] + [
    (prefix, shape) for prefix in ("flush-", "auto-", "single-", "pool-")
    for shape in ("length", "chunked", "slow", "until-close")] + [
    ("flush-", "many"), *((prefix, "body.txt") for prefix in ("h2-", "h2-unsized-"))]


class Nghttpd(Backend):
    """A server for HTTP/2 without TLS; `options` are command-line options."""

    def __init__(self, directory, *options):
        need("nghttpd", "nghttp2-server")
        port = free_port()
        self.url = f"h2c://127.0.0.1:{port}"
        super().__init__(["nghttpd", "--no-tls", "-a", "127.0.0.1", "-d", str(directory), *options,
                          str(port)], lambda: accepts(socket.AF_INET, ("127.0.0.1", port)))


@pytest.fixture(scope="module")
def server(httpd_shared, origin):
    server = start(httpd_shared, "",
                   ["proxy_http2", "slotmem_shm", "proxy_balancer", "lbmethod_byrequests"],
                   start=False, tls=True, h2=True, allow_log=[r"\[proxy(_\w+)?:\w+\]"],
                   files={"body.txt": BODY, "large.txt": LARGE, "small.txt": SMALL})
    over_h2 = {"h2-": Nghttpd(server.docs),
               "h2-unsized-": Nghttpd(server.docs, "--no-content-length")}
    server.configure(
        BALANCER.replace("{origin}", str(origin.port)) + config("balancer://pool", prefix="pool-")
        + "".join(config(f"http://{name}:{origin.port}", parameters=parameters, prefix=prefix)
                  for prefix, (name, parameters) in WORKERS.items())
        + "".join(config(other.url, prefix=prefix) for prefix, other in over_h2.items()))
    for name, handler in (*SHAPES.items(), *((n, small[0]) for n, small in SMALL_SHAPES.items())):
        origin.route(f"/{name}", handler)
    # Many pieces, most of which come after the 304 that is made of them.
    origin.route("/tag", conditional(BODY, '"o"'))
    origin.route("/tags", lambda e: e.chunked(200, {"ETag": '"o"'}, bodies.pieces(BODY, (300,))))
    origin.route("/large.txt", lambda e: e.respond(200, {}, LARGE))
    origin.route("/large-chunked", lambda e: e.chunked(200, {}, bodies.pieces(LARGE, (100000, 7))))
    origin.route("/late-small", lambda e: e.chunked(200, {}, [0.1, SMALL]))
    server.start()
    yield server
    for other in over_h2.values():
        other.stop()


@pytest.mark.parametrize("prefix,shape", FORMS)
@EACH_WAY
def test_every_form_of_a_body(server, way, prefix, shape, protocol):
    path = f"/{prefix}{way.name}/{shape}"
    for coding in way.codings:
        get, head = (ask(path, coding, protocol=protocol) for ask in (server.get, server.head))
        check.encoded(get, coding, BODY)
        check.head_of(get, head)
    check.plain(server.get(path, protocol=protocol), BODY)


@pytest.mark.smoke
@pytest.mark.protocols()
@pytest.mark.parametrize("path", ["{}/large.txt", "{}/large-chunked", "h2-{}/large.txt"])
@EACH
def test_large_bodies(server, way, coding, path, protocol):
    path = "/" + path.format(way.name)
    check.encoded(server.get(path, ae=coding, protocol=protocol), coding, LARGE)


@pytest.mark.smoke
@pytest.mark.parametrize("shape", SMALL_SHAPES)
@EACH_OWN
def test_what_fits_a_segment_is_not_encoded_and_has_a_length(server, way, coding, shape, protocol):
    answer = server.get(way.path(shape), ae=coding, protocol=protocol)
    check.plain(answer, SMALL_SHAPES[shape][1])
    assert server.reason(answer) == "small"
    if "chunk" not in shape:  # otherwise HEAD's answer has an unknown size
        check.head_of(answer, server.head(way.path(shape), ae=coding, protocol=protocol))
    if protocol == "http/1.1":
        assert answer.headers.get("Content-Length") == str(len(answer.body))


@EACH
def test_a_body_that_is_flushed_before_its_size_is_known_is_encoded(server, way, coding):
    """mod_proxy flushes the header before the body has come."""
    check.encoded(server.get(way.path("late-small"), ae=coding), coding, SMALL)


@pytest.mark.smoke
@EACH_WAY
def test_connections_to_the_backend_are_used_again(server, origin, way):
    """After an encoded body, a HEAD and a 304, the next answer begins correctly."""
    seen = len(origin.seen)
    with server.connect() as connection:
        for shape in ("length", "chunked", "odd-chunks", "headless", *SMALL_SHAPES, "tag", "tags"):
            body = SMALL_SHAPES[shape][1] if shape in SMALL_SHAPES else BODY
            for ae in (*way.codings, None):
                answer = connection.request(way.path(shape), ae=ae)
                check.whole(answer, answer.coding, body)
                if ae and (tag := answer.headers.get("ETag")):
                    check.not_modified(connection.request(
                        way.path(shape), ae=ae, headers={"If-None-Match": tag}), tag)
            assert connection.request(way.path(shape), "HEAD", way.codings[0]).status == 200
        check.whole(connection.request(way.path("length")), None, BODY)
    connections = {exchange.peer for exchange in origin.seen[seen:]}
    assert len(connections) < (len(origin.seen) - seen) / 2


# --- HTTP/2 to the backend

PARTS = [b"part %d\n" % n * 100 for n in range(3)]

# Answers conditions itself.
BACKEND = WAIT + f"""
if '"x"' in os.environ.get('HTTP_IF_NONE_MATCH', ''):
    head('Status: 304 Not Modified', 'ETag: "x"')
    sys.exit()
head('Content-Type: text/plain', 'ETag: "x"')
for n, part in enumerate({PARTS!r}):
    wait(n)
    out(part)
"""


@EACH_WAY
def test_many_at_a_time(server, way):
    """Streams of one connection to the backend, each with its own body and coding."""
    def ask(turn):
        name, body = (("body.txt", BODY), ("large.txt", LARGE), ("small.txt", SMALL))[turn % 3]
        ae = (*way.codings, None)[turn % (len(way.codings) + 1)]
        for _ in range(3):
            answer = server.get(f"/h2-{way.name}/{name}", ae=ae)
            check.whole(answer, None if name == "small.txt" else ae, body)

    with ThreadPoolExecutor(9) as pool:
        list(pool.map(ask, range(9)))


@EACH
def test_files_by_http2(server, way, coding):
    """HEAD, and 304 by date."""
    get = server.get(f"/h2-{way.name}/body.txt", ae=coding)
    check.head_of(get, server.head(f"/h2-{way.name}/body.txt", ae=coding))
    since = {"If-Modified-Since": get.headers["Last-Modified"]}
    check.not_modified(server.get(f"/h2-{way.name}/body.txt", ae=coding, headers=since))


@pytest.fixture(scope="module")
def pair(httpd_shared):
    """(a proxy, the steps of the httpd behind it)"""
    backend = httpd_shared("", elastic=False, h2=True, cgi={"parts.cgi": BACKEND})
    return start(httpd_shared, config(f"h2c://127.0.0.1:{backend.port}"), ["proxy_http2"],
                 h2=True), Steps(backend)


# mod_http2 does not run under prefork; these tests use HTTP/2 clients, too.
@pytest.mark.protocols("h2c")
@EACH
def test_an_httpd_as_the_backend(pair, way, coding, protocol):
    server, steps = pair
    path, tag = way.path("parts.cgi"), way.tagged("x", coding)
    steps.check(server, path, coding, PARTS, protocol)
    assert server.get(path, ae=coding, protocol=protocol).headers["ETag"] == tag
    check.not_modified(server.get(path, ae=coding, headers={"If-None-Match": tag},
                                  protocol=protocol), tag)
