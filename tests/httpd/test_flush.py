"""What is flushed can be decoded at once: server-sent events, progress pages, slow backends."""

import threading
import time

import pytest

from kit import at, bodies, check, env
from kit.proxied import Gate, gated

# How long something is waited for that should be there at once; and for how long the script and
# the origin wait for the test, which is longer, so that they do not go on by themselves.
BOUND = 10.0
PATIENCE = 15.0
EVENTS = [b"data: event %d of a stream\n\n" % n for n in range(3)]

# Waits for the test, which makes the file `key-n` when it has seen part n.
AWAIT = """\
def await_step(n):
    for turn in range(2000):
        if os.path.exists('%s/steps/%s-%d' % (os.environ['KIT'], os.environ['QUERY_STRING'], n)):
            return
        time.sleep(.01)
"""

SSE = AWAIT + f"""\
head('Content-Type: text/event-stream')
for n, event in enumerate({EVENTS!r}):
    out(event)
    if n < {len(EVENTS) - 1}:
        await_step(n)
"""

# A large first part, which passes every threshold.
LARGE = AWAIT + """\
head('Content-Type: text/html')
out(bodies.text(50000))
out('<!-- end of part one -->')
await_step(0)
out(bodies.text(50001))
"""

WAYS = {"cgi": "/sse.cgi", "proxied": "/origin/sse", "flushed by mod_proxy": "/flushing/sse"}
CODINGS = ("gzip", "br", None)
# At these the encoders have ways of their own to flush.
LOW = (("gzip", 1), ("br", 0), ("br", 1))


class Steps:
    """What the scripts and the origin wait for, by the key in a request's query."""

    def __init__(self, server, origin):
        self._folder = server.root / "steps"
        self._folder.mkdir()
        self._folder.chmod(0o755)
        self._gates = {}
        origin.route("/sse", self._send_events)

    def new(self, key):
        self._gates[key] = Gate()

    def open(self, key, n):
        (self._folder / f"{key}-{n}").touch()
        self._gates[key].open()

    def _send_events(self, exchange):
        gate = self._gates[exchange.path.partition("?")[2]]
        exchange.chunked(200, {"Content-Type": "text/event-stream"}, gated(gate, *EVENTS))


@pytest.fixture(scope="module")
def server(httpd_shared, origin):
    # Another name makes another worker, which has its own parameters.
    flushing = origin.url.replace("127.0.0.1", "127.1")
    return httpd_shared(
        f"Elastic On\nProxyPass /origin/ {origin.url}/\n"
        f"ProxyPass /flushing/ {flushing}/ flushpackets=on\n"
        + "".join(at(f"{coding}-{level}", f"ElasticLevel {coding} {level}")
                  for coding, level in LOW),
        modules=["proxy", "proxy_http"], tls=True, h2=True,
        cgi={"sse.cgi": SSE, "large.cgi": LARGE,
             "late.cgi": "head('Content-Type: text/plain')\ntime.sleep(.5)\nout('x' * 2000)\n"})


@pytest.fixture(scope="module")
def steps(server, origin):
    return Steps(server, origin)


FIRST = bodies.text(50000) + b"<!-- end of part one -->"
EVENTS_BODY = b"".join(EVENTS)

# name: (path, coding, protocol, the parts that are seen one by one, the whole body)
STREAMS = {
    **{f"{protocol} {way} {coding}": (path, coding, protocol, EVENTS, EVENTS_BODY)
       for protocol in env.protocols(()) for way, path in WAYS.items() for coding in CODINGS},
    **{f"{coding} {level}": (f"/{coding}-{level}/sse.cgi", coding, "http/1.1", EVENTS, EVENTS_BODY)
       for coding, level in LOW},
    **{f"large {coding}": ("/large.cgi", coding, "http/1.1", [FIRST], FIRST + bodies.text(50001))
       for coding in ("gzip", "br")},
}


def _watch(server, steps, key, path, coding, protocol, parts):
    """Each part can be decoded before the next is sent; the whole body."""
    steps.new(key)
    began = time.monotonic()
    with server.stream(f"{path}?{key}", ae=coding, protocol=protocol) as stream:
        assert (stream.status, stream.coding) == (200, coding)
        for n, part in enumerate(parts):
            stream.wait_for(part, BOUND)
            assert time.monotonic() - began < PATIENCE, "it came with what is behind it"
            steps.open(key, n)
            began = time.monotonic()
        return stream.read_all()


@pytest.fixture(scope="module")
def watched(server, steps):
    """Every stream, all at the same time: name -> body, or what went wrong."""
    found = {}

    def watch(number, name):
        path, coding, protocol, parts, _ = STREAMS[name]
        try:
            found[name] = _watch(server, steps, f"{number}", path, coding, protocol, parts)
        except Exception as error:  # noqa: BLE001 - the test that asks for it raises it
            found[name] = error
            for n in range(len(EVENTS)):
                steps.open(f"{number}", n)  # the script and the origin need not wait any more

    threads = [threading.Thread(target=watch, args=case) for case in enumerate(STREAMS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return found


def _arrived_in_time(watched, name):
    if isinstance(watched[name], Exception):
        raise watched[name]
    assert watched[name] == STREAMS[name][-1]


@pytest.mark.smoke
@pytest.mark.protocols()
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("coding", CODINGS)
def test_events_can_be_decoded_when_they_are_sent(watched, protocol, way, coding):
    _arrived_in_time(watched, f"{protocol} {way} {coding}")


@pytest.mark.parametrize("coding,level", LOW)
def test_an_event_can_be_decoded_at_low_levels(watched, coding, level):
    _arrived_in_time(watched, f"{coding} {level}")


@pytest.mark.parametrize("coding", ["gzip", "br"])
def test_a_large_part_is_whole_before_the_pause(watched, coding):
    _arrived_in_time(watched, f"large {coding}")


def test_a_body_that_starts_late(server):
    check.encoded(server.get("/late.cgi", ae="gzip"), "gzip", b"x" * 2000)


def test_many_small_flushes_come_back_whole(server, origin):
    pieces = list(bodies.pieces(bodies.text(20000), (1, 3, 17)))
    origin.route("/many", lambda e: e.chunked(200, {}, pieces))
    for coding in ("gzip", "br"):
        check.encoded(server.get("/origin/many", ae=coding), coding, bodies.text(20000))
