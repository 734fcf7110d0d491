"""Flushed data can be decoded at once: server-sent events, progress pages, slow backends."""

import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from kit import at, bodies, check, env
from kit.proxied import Gate, gated

# The time limit for data that should arrive at once. The script and the origin wait longer for the
# test, so that they do not continue by themselves.
BOUND = 10.0
PATIENCE = 15.0

# A large first part passes every threshold.
EVENTS = [b"data: event %d of a stream\n\n" % n for n in range(3)]
LARGE = [bodies.text(50000) + b"<!-- end of part one -->", bodies.text(50001)]

# Waits after part n until the test, having seen it, makes the file `key-n`.
CGI = """\
parts = {parts}
head('Content-Type: text/event-stream')
for n, part in enumerate(parts):
    out(part)
    for turn in range(2000 if n < len(parts) - 1 else 0):
        if os.path.exists('%s/steps/%s-%d' % (os.environ['KIT'], os.environ['QUERY_STRING'], n)):
            break
        time.sleep(.01)
"""
LARGE_PARTS = "[bodies.text(50000) + b'<!-- end of part one -->', bodies.text(50001)]"

WAYS = {"cgi": "/sse.cgi", "proxied": "/origin/sse", "flushed by mod_proxy": "/flushing/sse"}
CODINGS = ("gzip", "br", *(("zstd",) if env.HAS_ZSTD else ()), None)
# The encoders flush in special ways at these levels.
LOW = (("gzip", 1), ("br", 0), ("br", 1))

# A page's head, which names its style sheets; the script then works on the rest.
HEADS = {size: [b"<!DOCTYPE html><title>t</title>" + bodies.text(size) + b"<!-- the head -->",
                bodies.text(60000)] for size in (1000, 8000)}
HEAD_PARTS = "[b'<!DOCTYPE html><title>t</title>' + bodies.text({size}) + b'<!-- the head -->'," \
    " bodies.text(60000)]"
PAGES = {"cgi": "/head-{}.cgi", "proxied": "/origin/head-{}", "announced": "/origin/length-{}"}

# {name: (path, coding, protocol, the parts)}
STREAMS = {
    **{f"{protocol} {way} {coding}": (path, coding, protocol, EVENTS)
       for protocol in env.protocols(()) for way, path in WAYS.items() for coding in CODINGS},
    **{f"{coding} {level}": (f"/{coding}-{level}/sse.cgi", coding, "http/1.1", EVENTS)
       for coding, level in LOW},
    **{f"large {coding}": ("/large.cgi", coding, "http/1.1", LARGE) for coding in CODINGS},
    **{f"page {way} {size} {coding}": (path.format(size), coding, "http/1.1", parts)
       for way, path in PAGES.items() for size, parts in HEADS.items() for coding in CODINGS},
}


@pytest.fixture(scope="module")
def server(httpd_shared, origin):
    # Another name makes a worker with its own parameters.
    flushing = origin.url.replace("127.0.0.1", "127.1")
    return httpd_shared(
        f"Elastic On\nProxyPass /origin/ {origin.url}/\n"
        f"ProxyPass /flushing/ {flushing}/ flushpackets=on\n"
        + "".join(at(f"{coding}-{level}", f"ElasticLevel {coding} {level}")
                  for coding, level in LOW),
        modules=["proxy", "proxy_http"], tls=True, h2=True,
        cgi={"sse.cgi": CGI.replace("{parts}", repr(EVENTS)),
             "large.cgi": CGI.replace("{parts}", LARGE_PARTS),
             **{f"head-{size}.cgi": CGI.replace("{parts}", HEAD_PARTS.replace("{size}", str(size)))
                for size in HEADS},
             "late.cgi": "head('Content-Type: text/plain')\ntime.sleep(.5)\nout('x' * 2000)\n"})


@pytest.fixture(scope="module")
def watched(server, origin):
    """Reads all streams at the same time: {name: its body, or the error}."""
    steps = server.root / "steps"
    steps.mkdir()
    steps.chmod(0o755)
    gates = {str(key): Gate() for key in range(len(STREAMS))}
    origin.route("/sse", lambda exchange: exchange.chunked(
        200, {"Content-Type": "text/event-stream"},
        gated(gates[exchange.path.partition("?")[2]], *EVENTS)))

    for size, parts in HEADS.items():
        origin.route(f"/head-{size}", lambda exchange, parts=parts: exchange.chunked(
            200, {"Content-Type": "text/html"},
            gated(gates[exchange.path.partition("?")[2]], *parts)))

        def announced(exchange, parts=parts):
            exchange.head(200, {"Content-Type": "text/html",
                                "Content-Length": sum(map(len, parts))})
            for piece in gated(gates[exchange.path.partition("?")[2]], *parts):
                exchange.send(piece)

        origin.route(f"/length-{size}", announced)

    def open_gate(key, n):
        (steps / f"{key}-{n}").touch()
        gates[str(key)].open()

    def watch(key, path, coding, protocol, parts):
        """Each part can be decoded before the next is sent."""
        try:
            began = time.monotonic()
            with server.stream(f"{path}?{key}", ae=coding, protocol=protocol) as stream:
                assert (stream.status, stream.coding) == (200, coding)
                for n, part in enumerate(parts):
                    stream.wait_for(part, BOUND)
                    assert time.monotonic() - began < PATIENCE, "it came with what is behind it"
                    open_gate(key, n)
                    began = time.monotonic()
                return stream.read_all()
        finally:  # lets the script and the origin continue
            for n in range(len(EVENTS)):
                open_gate(key, n)

    with ThreadPoolExecutor(len(STREAMS)) as pool:
        return {name: pool.submit(watch, key, *STREAMS[name]) for key, name in enumerate(STREAMS)}


def _arrived_in_time(watched, name):
    assert watched[name].result() == b"".join(STREAMS[name][-1])


@pytest.mark.smoke
@pytest.mark.protocols()
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("coding", CODINGS)
def test_events_can_be_decoded_when_they_are_sent(watched, protocol, way, coding):
    _arrived_in_time(watched, f"{protocol} {way} {coding}")


@pytest.mark.parametrize("coding,level", LOW)
def test_an_event_can_be_decoded_at_low_levels(watched, coding, level):
    _arrived_in_time(watched, f"{coding} {level}")


@pytest.mark.parametrize("coding", CODINGS)
def test_a_large_part_is_whole_before_the_pause(watched, coding):
    _arrived_in_time(watched, f"large {coding}")


@pytest.mark.parametrize("size", HEADS)
@pytest.mark.parametrize("way", PAGES)
@pytest.mark.parametrize("coding", CODINGS)
def test_the_head_of_a_page_arrives_while_its_script_works(watched, way, size, coding):
    """mod_deflate and mod_brotli hold the head until the script ends."""
    _arrived_in_time(watched, f"page {way} {size} {coding}")


def test_a_body_that_starts_late(server):
    check.encoded(server.get("/late.cgi", ae="gzip"), "gzip", b"x" * 2000)


def test_many_small_flushes_come_back_whole(server, origin):
    pieces = list(bodies.pieces(bodies.text(20000), (1, 3, 17)))
    origin.route("/many", lambda e: e.chunked(200, {}, pieces))
    for coding in ("gzip", "br"):
        check.encoded(server.get("/origin/many", ae=coding), coding, bodies.text(20000))
