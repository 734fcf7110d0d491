"""What is flushed can be decoded at once: server-sent events, progress pages, slow backends."""

import itertools
import re
import threading
import time

import pytest

from kit import bodies, check, env
from kit.client import Incomplete

# The next event is sent this much later; one that arrives within BOUND was not held for it.
PAUSE = 3.2
BOUND = 2.0
EVENTS = 3

# An event says when it was sent.
EVENT = "data: event %d at %.3f of a stream\n\n"

CGI = f"""\
head('Content-Type: text/event-stream')
for n in range({EVENTS}):
    out({EVENT!r} % (n, time.time()))
    time.sleep({PAUSE} if n < {EVENTS - 1} else 0)
"""

# A large first part, which passes every threshold, and then a pause.
CGI_LARGE = f"""\
head('Content-Type: text/html')
out(bodies.text(50000))
out('<!-- end of part one -->')
time.sleep({PAUSE})
out(bodies.text(50001))
"""

WAYS = {"cgi": "/sse.cgi", "proxied": "/origin/sse", "flushed by mod_proxy": "/flushing/sse"}
CODINGS = ("gzip", "br", None)


@pytest.fixture(scope="module")
def server(httpd_shared, origin):
    # Another name makes another worker, which has its own parameters.
    flushing = origin.url.replace("127.0.0.1", "127.1")
    server = httpd_shared(
        f"Elastic On\nProxyPass /origin/ {origin.url}/\n"
        f"ProxyPass /flushing/ {flushing}/ flushpackets=on\n",
        modules=["proxy", "proxy_http"], tls=True, h2=True,
        cgi={"sse.cgi": CGI, "large.cgi": CGI_LARGE,
             "late.cgi": f"head('Content-Type: text/plain')\ntime.sleep({PAUSE})\n"
                         "out('x' * 2000)\n"})
    origin.route("/sse", _send_events)
    return server


def _send_events(exchange):
    def pieces():
        for n in range(EVENTS):
            yield (EVENT % (n, time.time())).encode()
            if n < EVENTS - 1:
                yield PAUSE

    exchange.chunked(200, {"Content-Type": "text/event-stream"}, pieces())


def _watch(server, path, ae, protocol):
    """How late each event was decodable, in seconds."""
    late = []
    with server.stream(path, ae=ae, protocol=protocol) as stream:
        assert (stream.status, stream.coding) == (200, ae)
        for n in range(EVENTS):
            stream.wait_for(b"event %d" % n, 3 * PAUSE)
            late.append(time.time() - float(re.findall(rb"at ([\d.]+)", stream.text)[n]))
        text = stream.read_all()
    assert re.fullmatch(rb"(data: event \d at [\d.]+ of a stream\n\n){%d}" % EVENTS, text)
    return late


@pytest.fixture(scope="module")
def arrivals(server):
    """Every stream of this module, watched at the same time: (protocol, way, coding) -> lateness or
    error."""
    found = {}

    def watch(key):
        protocol, way, coding = key
        try:
            found[key] = _watch(server, WAYS[way], coding, protocol)
        except Exception as error:  # noqa: BLE001 - the test that asks for it raises it
            found[key] = error

    keys = list(itertools.product(env.protocols(()), WAYS, CODINGS))
    threads = [threading.Thread(target=watch, args=(key,)) for key in keys]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return found


@pytest.mark.smoke
@pytest.mark.protocols()
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("coding", CODINGS)
def test_events_can_be_decoded_when_they_are_sent(arrivals, protocol, way, coding):
    late = arrivals[protocol, way, coding]
    if isinstance(late, Exception):
        raise late
    assert max(late) < BOUND, late


@pytest.mark.parametrize("coding", ["gzip", "br"])
def test_a_large_part_is_whole_before_the_pause(server, coding):
    with server.stream("/large.cgi", ae=coding) as stream:
        assert stream.coding == coding
        stream.wait_for(b"<!-- end of part one -->", BOUND)
        whole = bodies.text(50000) + b"<!-- end of part one -->" + bodies.text(50001)
        assert stream.read_all() == whole


def test_a_body_that_starts_late(server):
    check.encoded(server.get("/late.cgi", ae="gzip"), "gzip", b"x" * 2000)


@pytest.mark.parametrize("coding", ["gzip", "br"])
def test_a_backend_that_breaks_off_never_looks_whole(server, origin, coding):
    def broken(exchange):
        exchange.close = True
        exchange.head(200, {"Content-Type": "text/plain", "Content-Length": 100000})
        exchange.send(bodies.text(30000))

    origin.route("/broken", broken)
    server.expect_log(r"\[proxy(_http)?:\w+\]")
    answer = server.get("/origin/broken", ae=coding)
    if answer.status == 200:
        with pytest.raises(Exception) as error:
            answer.body  # noqa: B018
        assert isinstance(error.value, Incomplete) or "cut short" in str(error.value)
    else:
        assert answer.status == 502


@pytest.mark.parametrize("coding", ["gzip", "br"])
def test_a_chunked_backend_that_breaks_off_never_looks_whole(server, origin, coding):
    def broken(exchange):
        exchange.close = True
        exchange.head(200, {"Content-Type": "text/plain", "Transfer-Encoding": "chunked"})
        data = bodies.text(100000)
        exchange.send(b"%x\r\n%s\r\n" % (len(data), data) + b"ffff\r\nabc")

    origin.route("/broken-chunked", broken)
    server.expect_log(r"\[proxy(_http)?:\w+\]")
    answer = server.get("/origin/broken-chunked", ae=coding)
    assert not answer.complete or answer.status == 502


def test_many_small_flushes_come_back_whole(server, origin):
    pieces = list(bodies.pieces(bodies.text(20000), (1, 3, 17)))
    origin.route("/many", lambda e: e.chunked(200, {}, pieces))
    for coding in ("gzip", "br"):
        check.encoded(server.get("/origin/many", ae=coding), coding, bodies.text(20000))
