"""What is flushed can be decoded at once: server-sent events, progress pages, slow backends."""

import itertools
import threading

import pytest

from kit import at, bodies, check, env
from kit.proxied import Gate, gated

# How long something is waited for that should be there at once.
BOUND = 5.0
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


def _watch(server, steps, key, path, ae, protocol="http/1.1", parts=EVENTS):
    """Each part can be decoded before the next is sent; the whole body."""
    steps.new(key)
    with server.stream(f"{path}?{key}", ae=ae, protocol=protocol) as stream:
        assert (stream.status, stream.coding) == (200, ae)
        for n, part in enumerate(parts):
            stream.wait_for(part, BOUND)
            steps.open(key, n)
        return stream.read_all()


@pytest.fixture(scope="module")
def watched(server, steps):
    """Every stream of the next test, all at the same time: (protocol, way, coding) -> body or
    error."""
    found = {}

    def watch(number, case):
        protocol, way, coding = case
        try:
            found[case] = _watch(server, steps, f"all-{number}", WAYS[way], coding, protocol)
        except Exception as error:  # noqa: BLE001 - the test that asks for it raises it
            found[case] = error

    cases = itertools.product(env.protocols(()), WAYS, CODINGS)
    threads = [threading.Thread(target=watch, args=case) for case in enumerate(cases)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return found


@pytest.mark.smoke
@pytest.mark.protocols()
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("coding", CODINGS)
def test_events_can_be_decoded_when_they_are_sent(watched, protocol, way, coding):
    body = watched[protocol, way, coding]
    if isinstance(body, Exception):
        raise body
    assert body == b"".join(EVENTS)


@pytest.mark.parametrize("coding,level", LOW)
def test_an_event_can_be_decoded_at_low_levels(server, steps, coding, level):
    place = f"{coding}-{level}"
    assert _watch(server, steps, place, f"/{place}/sse.cgi", coding) == b"".join(EVENTS)


@pytest.mark.parametrize("coding", ["gzip", "br"])
def test_a_large_part_is_whole_before_the_pause(server, steps, coding):
    first = bodies.text(50000) + b"<!-- end of part one -->"
    body = _watch(server, steps, f"large-{coding}", "/large.cgi", coding, parts=[first])
    assert body == first + bodies.text(50001)


def test_a_body_that_starts_late(server):
    check.encoded(server.get("/late.cgi", ae="gzip"), "gzip", b"x" * 2000)


def test_many_small_flushes_come_back_whole(server, origin):
    pieces = list(bodies.pieces(bodies.text(20000), (1, 3, 17)))
    origin.route("/many", lambda e: e.chunked(200, {}, pieces))
    for coding in ("gzip", "br"):
        check.encoded(server.get("/origin/many", ae=coding), coding, bodies.text(20000))
