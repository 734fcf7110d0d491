"""What is flushed can be decoded at once: server-sent events, progress pages, slow backends."""

import time

import pytest

from kit import bodies, check
from kit.client import Incomplete

# The next event comes this much later; one that arrives within `BOUND` was not held for it.
PAUSE = 3.2
BOUND = 2.0
EVENTS = [f"data: event {n} of a stream\n\n".encode() for n in range(3)]

CGI = f"""\
head('Content-Type: text/event-stream')
for n in range(3):
    out('data: event %d of a stream\\n\\n' % n)
    time.sleep({PAUSE} if n < 2 else 0)
"""

# As above, behind a large first part that has passed every threshold.
CGI_LARGE = f"""\
sys.path.insert(0, os.environ['KIT'])
from kit import bodies
head('Content-Type: text/html')
out(bodies.text(50000))
out('<!-- end of part one -->')
time.sleep({PAUSE})
out(bodies.text(50001))
"""


@pytest.fixture(scope="module")
def server(httpd_shared, origin):
    server = httpd_shared(
        f"Elastic On\nProxyPass /origin/ {origin.url}/ flushpackets=on\n"
        f"ProxyPass /auto/ {origin.url}/ flushpackets=auto\n",
        modules=["proxy", "proxy_http"], tls=True, h2=True,
        cgi={"sse.cgi": CGI, "large.cgi": CGI_LARGE,
             "late.cgi": f"head('Content-Type: text/plain')\ntime.sleep({PAUSE})\nout('x' * 2000)\n"})
    server.write_kit()
    pieces = [EVENTS[0], PAUSE, EVENTS[1], PAUSE, EVENTS[2]]
    origin.route("/sse", lambda e: e.chunked(200, {"Content-Type": "text/event-stream"}, pieces))
    return server


def _events_arrive_when_they_are_sent(server, path, ae, protocol):
    start = time.monotonic()
    with server.stream(path, ae=ae, protocol=protocol) as stream:
        assert stream.coding == ae
        for n, event in enumerate(EVENTS):
            stream.wait_for(event, PAUSE + BOUND)
            late = time.monotonic() - start - n * PAUSE
            assert late < BOUND, f"event {n} came {late:.1f} s late"
        assert stream.read_all() == b"".join(EVENTS)


@pytest.mark.smoke
@pytest.mark.protocols()
@pytest.mark.parametrize("coding", ["gzip", "br"])
def test_events_of_a_cgi(server, protocol, coding):
    _events_arrive_when_they_are_sent(server, "/sse.cgi", coding, protocol)


@pytest.mark.parametrize("way", ["origin", "auto"])
@pytest.mark.parametrize("coding", ["gzip", "br"])
def test_events_of_a_proxied_stream(server, protocol, coding, way):
    _events_arrive_when_they_are_sent(server, f"/{way}/sse", coding, protocol)


def test_events_for_who_takes_no_coding(server, protocol):
    _events_arrive_when_they_are_sent(server, "/sse.cgi", None, protocol)


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
