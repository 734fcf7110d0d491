"""ElasticMaxMemory bounds the memory of bodies in flight in all processes together."""

import contextlib
import gzip
import os
import signal
import socket

import brotli
import pytest

from kit import aborts, bodies, check, env, inflate
from kit.client import Incomplete
from kit.config import HOLD
from kit.counters import counted

SMALL = bodies.text(20000)
ZIPPED = inflate.encode(SMALL, "gzip")
TEXT = bodies.text(30000)
ECHO = "size = len(sys.stdin.buffer.read())\nhead('Content-Type: text/plain')\nout(str(size))\n"

# Its decoder has a window of 4 MB and some KB more.
WINDOW = 4 << 20
LARGE = bodies.text(6 << 20)
WIDE = brotli.compress(LARGE, quality=3, lgwin=22)


def memory(server):
    return int(server.status()["ElasticMemory"])


def in_flight(server):
    return int(server.status()["ElasticInFlight"])


def settled(server):
    """Waits until nothing is held. A killed child may have taken the connection."""
    def is_settled():
        with contextlib.suppress(OSError, Incomplete):
            return memory(server) == in_flight(server) == 0
    server.wait_for(is_settled, 30, "memory that nobody holds")


def limited(most, config=""):
    return f"Elastic On\nElasticControl off\nElasticLevel gzip 6\nElasticMaxMemory {most}\n{config}"


@pytest.fixture
def site(httpd):
    def make(config, **kw):
        return httpd(config, files={"a.txt": SMALL, "hold": b""},
                     cgi={"hold.cgi": HOLD, "echo.cgi": ECHO, **aborts.CGI}, **kw)

    return make


@contextlib.contextmanager
def held(server, count):
    """Opens this many gzip streams, each with its encoder."""
    with contextlib.ExitStack() as stack:
        streams = [stack.enter_context(server.stream("/hold.cgi?30000", ae="gzip"))
                   for _ in range(count)]
        for stream in streams:
            assert stream.coding == "gzip"
            stream.wait_for(TEXT, 30)
        yield streams
        (server.docs / "hold").unlink()
        for stream in streams:
            assert stream.read_all() == TEXT + b"the end"


@pytest.mark.smoke
def test_beyond_it_responses_go_out_as_they_are(site):
    """Two gzip encoders fit, with 270 KB each in zlib and 350 KB in zlib-ng; a third one or a whole
    body does not."""
    server = site(limited("64M"))
    with held(server, 1):
        two = 2 * memory(server)
    assert two > 500000
    most = two + (60 << 10)
    server.write("hold", b"")
    server.configure(limited(most))
    server.graceful()
    settled(server)
    check.encoded(server.get("/a.txt", ae="gzip"), "gzip", SMALL)
    with held(server, 2):
        assert two <= memory(server) <= most and in_flight(server) == 2
        answer, grown = counted(server, lambda: server.get("/a.txt", ae="gzip"))
        check.plain(answer, SMALL)
        assert server.reason(answer) == "memory" and grown == {"memory": 1}
        with server.stream("/hold.cgi?30000", ae="gzip") as third:
            assert third.coding is None
        assert two <= memory(server) <= most
    settled(server)
    check.encoded(server.get("/a.txt", ae="gzip"), "gzip", SMALL)
    assert server.status()["ElasticMaxMemory"] == str(most)


def test_a_slow_client_holds_a_whole_body_at_its_encoded_size(site):
    server = site(limited("64M", "SendBufferSize 8192"))
    body = bodies.text(1_000_000)
    server.write("whole.txt", body)
    encoded = len(server.get("/whole.txt", ae="gzip").raw)
    settled(server)
    with server.connect(timeout=60) as connection:
        connection.sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        connection.send(b"GET /whole.txt HTTP/1.1\r\nHost: a\r\nAccept-Encoding: gzip\r\n\r\n")
        # The encoder's memory is returned before the client gets anything.
        server.wait_for(lambda: aborts.is_readable(connection), 60, "the answer")
        assert encoded < memory(server) <= 2 * encoded
        answer = connection.read_head()
        assert gzip.decompress(b"".join(connection.body_pieces(answer))) == body
    settled(server)


def test_nothing_may_be_held_at_all(site):
    """For responses, those that INFLATE decodes, and request bodies; Off lifts the bound again."""
    places = inflate.PLACES + "AddEncoding x-gzip gz\n<Location /out>\nSetOutputFilter INFLATE\n" \
        "</Location>\nAliasMatch ^/(?:elastic|deflate|out)/(.*) {docs}/$1"
    server = site(limited("0", places), records=("elastic", "deflate"),
                  allow_log=("elastic:", "AH0"))
    server.write("b.txt.gz", ZIPPED)
    for coding in ("gzip", "br"):
        check.plain(server.get("/a.txt", ae=coding), SMALL)
        for way in inflate.WAYS:
            sent = inflate.encode(SMALL, coding)
            assert inflate.post(server, f"/{way}/echo.cgi", sent, coding).status == 503
    check.whole(server.get("/out/b.txt.gz"), "x-gzip", SMALL)
    assert inflate.post(server, "/elastic/echo.cgi", SMALL, None).body == b"20000"
    server.configure(limited("Off", places))
    server.graceful()
    check.encoded(server.get("/a.txt", ae="gzip"), "gzip", SMALL)
    assert "ElasticMemory" not in server.status()
    assert inflate.post(server, "/elastic/echo.cgi", ZIPPED).body == b"20000"


def open_until_refused(server, stack, most):
    """Opens clients that stop within their bodies until one is refused, because windows fill the
    memory."""
    head = inflate.head("/echo.cgi", Content_Encoding="br", Content_Length=len(WIDE))
    waiting = []
    settled(server)
    while True:
        connection = stack.enter_context(server.connect(timeout=60))
        connection.send(head + WIDE[:-1])
        # Not by the difference to the value before: another decoder may hold more then than at its
        # end.
        server.wait_for(lambda: memory(server) >= (len(waiting) + 1) * WINDOW
                        or aborts.is_readable(connection), 60, "a window, or an answer")
        assert memory(server) <= most
        if aborts.is_readable(connection):
            assert connection.read_head().status == 503
            assert len(waiting) == (most - 1) // WINDOW
            return waiting
        waiting.append(connection)


def finish(server, waiting):
    for connection in waiting:
        connection.send(WIDE[-1:])
        answer = connection.read_head()
        assert answer.status == 200
        assert b"".join(connection.body_pieces(answer)) == b"%d" % len(LARGE)
    settled(server)
    assert inflate.post(server, "/echo.cgi", WIDE, "br").body == b"%d" % len(LARGE)


def test_encoded_requests_of_many_clients(site):
    server = site(limited("10M", "ElasticInflate On"), allow_log=("elastic:", "AH0"))
    with contextlib.ExitStack() as stack:
        finish(server, open_until_refused(server, stack, 10 << 20))


@pytest.mark.smoke
@pytest.mark.parametrize("lines", [
    "ElasticInflate On", "SetInputFilter DEFLATE",
    "<Directory {docs}>\nAllowOverride FileInfo\n</Directory>"], ids=[*inflate.WAYS, "htaccess"])
def test_request_bodies_have_a_bound_by_default(site, lines):
    """Responses have no bound: clients' bodies must not keep others' responses from compression."""
    server = site(f"Elastic On\nElasticLevel gzip 6\n{lines}\n",
                  records=("elastic", *["deflate"] * ("DEFLATE" in lines)),
                  allow_log=("elastic:", "AH0"))
    if "Override" in lines:
        server.write(".htaccess", "ElasticInflate On\n")
        inflate.post(server, "/echo.cgi", ZIPPED)
    most = (96 if env.MPM == "prefork" else 128) << 20  # a MB for each worker
    assert int(server.status()["ElasticMaxMemory"]) == most
    with contextlib.ExitStack() as stack:
        waiting = open_until_refused(server, stack, most)
        # Small bodies still fit.
        assert inflate.post(server, "/echo.cgi", ZIPPED).status == 200
        held_by_bodies = memory(server)
        with held(server, 1):
            assert memory(server) == held_by_bodies
            check.encoded(server.get("/a.txt", ae="gzip"), "gzip", SMALL)
        finish(server, waiting)


def test_the_default_follows_the_workers(httpd):
    few = "" if env.MPM == "prefork" else "ThreadsPerChild 10\n"
    for config, most in (("MaxRequestWorkers 150\n", 150), (f"{few}MaxRequestWorkers 10\n", 64)):
        server = httpd("ElasticInflate On", mpm_config=config, allow_log=("AH10159",))
        assert server.status()["ElasticMaxMemory"] == str(most << 20)
    # Nothing decodes, so the bound is not shown.
    assert "ElasticMaxMemory" not in httpd("Elastic On").status()


def test_what_is_broken_off_is_held_no_longer(site):
    server = site(limited("64M"), allow_log=(aborts.LOG, "AH00052|AH00051|elastic:"))
    for name, body in aborts.FILES.items():
        server.write(name, body)
    for index in range(24):
        aborts.midway(server, index)
    settled(server)
    with server.stream("/hold.cgi?30000", ae="gzip") as stream:
        stream.wait_for(TEXT, 30)
        assert memory(server) > 200000 and in_flight(server) == 1
        for pid in server.children():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
    settled(server)
