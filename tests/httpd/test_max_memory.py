"""ElasticMaxMemory: what bodies on their way may hold, in all processes together."""

import contextlib
import gzip
import os
import re
import signal
import socket
import struct
from pathlib import Path

import brotli
import pytest

from kit import aborts, bodies, check, env, inflate
from kit.counters import counted

SMALL = bodies.text(20000)
TEXT = b"some text " * 3000

# Writes, and goes on when there is no file `hold` any more.
HOLD = f"""
head('Content-Type: text/plain')
out({TEXT!r})
until = time.time() + 60
while os.path.exists(os.environ['KIT'] + '/docs/hold') and time.time() < until:
    time.sleep(0.02)
out('the end')
"""
ECHO = """
size = 0
while data := os.read(0, 65536):
    size += len(data)
head('Content-Type: text/plain')
out('%d' % size)
"""


def memory(server):
    return int(server.status()["ElasticMemory"])


def settled(server):
    """Nothing is held any more."""
    server.wait_for(lambda: memory(server) == 0, 30, "memory that nobody holds")


def limited(most, config=""):
    return f"Elastic On\nElasticControl off\nElasticLevel gzip 6\nElasticMaxMemory {most}\n{config}"


@pytest.fixture
def bounded(httpd):
    def make(most, config="", **kw):
        return httpd(limited(most, config), files={"a.txt": SMALL, "hold": b""},
                     cgi={"hold.cgi": HOLD, "echo.cgi": ECHO, **aborts.CGI}, **kw)

    return make


@contextlib.contextmanager
def held(server, count):
    """So many streams of gzip are open, each with its encoder."""
    with contextlib.ExitStack() as stack:
        streams = [stack.enter_context(server.stream("/hold.cgi", ae="gzip"))
                   for _ in range(count)]
        for stream in streams:
            assert stream.coding == "gzip"
            stream.wait_for(TEXT, 30)
        yield streams
        (server.docs / "hold").unlink()
        for stream in streams:
            assert stream.read_all() == TEXT + b"the end"


@pytest.mark.smoke
def test_beyond_it_responses_go_out_as_they_are(bounded):
    """Two encoders of gzip take 540 KB; a third, or a whole body's, would be too much."""
    server = bounded("600K")
    check.encoded(server.get("/a.txt", ae="gzip"), "gzip", SMALL)
    with held(server, 2):
        assert 500000 < memory(server) <= 600 << 10
        answer, grown = counted(server, lambda: server.get("/a.txt", ae="gzip"))
        check.plain(answer, SMALL)
        assert server.reason(answer) == "memory" and grown == {"memory": 1}
        with server.stream("/hold.cgi", ae="gzip") as third:
            assert third.coding is None
        assert 500000 < memory(server) <= 600 << 10
    settled(server)
    check.encoded(server.get("/a.txt", ae="gzip"), "gzip", SMALL)
    assert server.status()["ElasticMaxMemory"] == str(600 << 10)


def test_a_slow_client_holds_a_whole_body_at_its_encoded_size(bounded):
    server = bounded("64M", "SendBufferSize 8192")
    body = bodies.text(1_000_000)
    server.write("whole.txt", body)
    encoded = len(server.get("/whole.txt", ae="gzip").raw)
    settled(server)
    with server.connect(timeout=60) as connection:
        connection.sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        connection.send(b"GET /whole.txt HTTP/1.1\r\nHost: a\r\nAccept-Encoding: gzip\r\n\r\n")
        # What was needed to encode it is given back before the client gets anything.
        server.wait_for(lambda: aborts.is_readable(connection), 60, "the answer")
        assert encoded < memory(server) <= 2 * encoded
        answer = connection.read_head()
        raw = b"".join(connection.body_pieces(answer))
        assert gzip.decompress(raw) == body
    settled(server)


def test_nothing_may_be_held_at_all(bounded):
    """Responses, those that INFLATE decodes, and request bodies; and Off is Off again."""
    places = inflate.PLACES + "AddEncoding x-gzip gz\n<Location /out>\nSetOutputFilter INFLATE\n" \
        "</Location>\nAliasMatch ^/(?:elastic|deflate|out)/(.*) {docs}/$1"
    server = bounded("0", places, records=("elastic", "deflate"), allow_log=("elastic:", "AH0"))
    zipped = inflate.encode(SMALL, "gzip")
    server.write("b.txt.gz", zipped)
    for coding in ("gzip", "br"):
        check.plain(server.get("/a.txt", ae=coding), SMALL)
        for way in inflate.WAYS:
            answer = inflate.post(server, f"/{way}/echo.cgi", inflate.encode(SMALL, coding), coding)
            assert answer.status == 503, answer
    check.whole(server.get("/out/b.txt.gz"), "x-gzip", SMALL)
    assert inflate.post(server, "/elastic/echo.cgi", SMALL, None).body == b"20000"
    server.configure(limited("Off", places))
    server.graceful()
    check.encoded(server.get("/a.txt", ae="gzip"), "gzip", SMALL)
    assert "ElasticMemory" not in server.status()
    answer = inflate.post(server, "/elastic/echo.cgi", zipped)
    assert answer.body == b"20000"


def test_encoded_requests_of_many_clients(bounded):
    """Each body of br has a window of 4 MB."""
    server = bounded("10M", "ElasticInflate On", allow_log=("elastic:", "AH0"))
    body = bodies.text(6 << 20)
    sent = brotli.compress(body, quality=3, lgwin=22)
    head = inflate.head("/echo.cgi", Content_Encoding="br", Content_Length=len(sent))
    with contextlib.ExitStack() as stack:
        waiting = []
        while True:
            before = memory(server)
            connection = stack.enter_context(server.connect(timeout=60))
            connection.send(head + sent[:-1])
            server.wait_for(lambda: memory(server) - before > 4 << 20
                            or aborts.is_readable(connection), 60, "a window, or an answer")
            assert memory(server) <= 10 << 20
            if aborts.is_readable(connection):
                assert connection.read_head().status == 503
                break
            waiting.append(connection)
        assert len(waiting) == 2
        for connection in waiting:
            connection.send(sent[-1:])
            answer = connection.read_head()
            assert answer.status == 200
            assert b"".join(connection.body_pieces(answer)) == b"%d" % len(body)
    settled(server)
    assert inflate.post(server, "/echo.cgi", sent, "br").body == b"%d" % len(body)


# The header of a stream of br with a window of 16 MB, and of its first block, which has 16 MB and is
# not compressed (RFC 7932 §9): a decoder makes room for all of it at once.
WINDOW = 16 << 20
_BEGUN = struct.pack("<I", 0b1111 | 2 << 5 | (WINDOW - 1) << 7 | 1 << 31)


def begun(layers, length=1000):
    """A request whose body, of so many layers of br, begins so, and has `length` bytes."""
    return inflate.head("/echo.cgi", Content_Encoding=", ".join(["br"] * layers),
                        Content_Length=length) + _BEGUN * layers


def open_until_refused(server, stack, layers):
    """Clients who stop within their bodies, as many as are not refused."""
    waiting = []
    while True:
        before = memory(server)
        connection = stack.enter_context(server.connect(timeout=60))
        connection.send(begun(layers))
        server.wait_for(lambda: memory(server) - before >= layers * WINDOW
                        or aborts.is_readable(connection), 60, "windows, or an answer")
        if aborts.is_readable(connection):
            assert connection.read_head().status == 503
            return waiting
        waiting.append(connection)


def address_space(server):
    """Bytes, of all children."""
    found = 0
    for pid in server.children():
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):
            text = Path(f"/proc/{pid}/status").read_text()
            found += int(re.search(r"(?m)^VmSize:\s+(\d+)", text)[1]) << 10
    return found


# Whatever asks for the decoder.
INFLATING = {
    "elastic": "ElasticInflate On",
    "deflate": "SetInputFilter DEFLATE",
    "htaccess": "<Directory {docs}>\nAllowOverride FileInfo\n</Directory>",
}


@pytest.mark.smoke
@pytest.mark.parametrize("way", INFLATING)
def test_request_bodies_have_a_bound_by_default(httpd, way):
    """Responses have none: what clients send cannot keep others' from being compressed."""
    server = httpd(f"Elastic On\nElasticLevel gzip 6\n{INFLATING[way]}\n",
                   records=("elastic", "deflate") if way == "deflate" else ("elastic",),
                   allow_log=("elastic:", "AH0"), files={"a.txt": SMALL, "hold": b""}, cgi={"hold.cgi": HOLD, "echo.cgi": ECHO})
    workers = 96 if env.MPM == "prefork" else 128
    if way == "htaccess":
        server.write(".htaccess", "ElasticInflate On\n")
        inflate.post(server, "/echo.cgi", inflate.encode(SMALL, "gzip"))
    assert int(server.status()["ElasticMaxMemory"]) == workers << 20
    with contextlib.ExitStack() as stack:
        waiting = open_until_refused(server, stack, 2)
        # A decoder has some KB beside its window.
        assert len(waiting) == ((workers << 20) - 1) // (2 * WINDOW)
        assert memory(server) <= workers << 20
        # What takes little still has room.
        assert inflate.post(server, "/echo.cgi", inflate.encode(SMALL, "gzip")).status == 200
        held_by_bodies = memory(server)
        with held(server, 1):
            assert memory(server) == held_by_bodies
            check.encoded(server.get("/a.txt", ae="gzip"), "gzip", SMALL)
    settled(server)
    sent = inflate.encode(SMALL, "br")
    assert inflate.post(server, "/echo.cgi", sent, "br").body == b"%d" % len(SMALL)


@pytest.mark.smoke
def test_more_than_two_layers_hold_nothing(bounded):
    server = bounded("64M", "ElasticInflate On", allow_log=("elastic:", "AH0"))
    with contextlib.ExitStack() as stack:
        for _ in range(5):
            connection = stack.enter_context(server.connect(timeout=60))
            connection.send(begun(4, 4 * len(_BEGUN)))
            assert connection.read_head().status == 415
            assert memory(server) == 0


def test_the_default_follows_the_workers(httpd):
    server = httpd("ElasticInflate On", mpm_config="MaxRequestWorkers 150\n",
                   allow_log=("AH10159",))
    assert server.status()["ElasticMaxMemory"] == str(150 << 20)
    few = "" if env.MPM == "prefork" else "ThreadsPerChild 10\n"
    server = httpd("ElasticInflate On", mpm_config=f"{few}MaxRequestWorkers 10\n",
                   allow_log=("AH10159",))
    assert server.status()["ElasticMaxMemory"] == str(64 << 20)
    # Nothing decodes: no bound is worth a figure.
    assert "ElasticMaxMemory" not in httpd("Elastic On").status()


def test_off_is_off_where_bodies_are_decoded(bounded):
    server = bounded("Off", "ElasticInflate On", allow_log=("AH0",))
    assert "ElasticMaxMemory" not in server.status()
    many = 5  # beyond what the default would be
    before = address_space(server)
    with contextlib.ExitStack() as stack:
        for _ in range(many):
            stack.enter_context(server.connect(timeout=60)).send(begun(2))
        server.wait_for(lambda: address_space(server) - before >= 2 * many * WINDOW, 60,
                        "the windows of all")


def test_what_is_broken_off_is_held_no_longer(bounded):
    """By clients that go away, and by a child that is killed."""
    server = bounded("64M", allow_log=(aborts.LOG, "AH00052|AH00051|elastic:"))
    server.write("large.txt", aborts.FILES["large.txt"])
    server.write("small.txt", aborts.FILES["small.txt"])
    for index in range(24):
        aborts.midway(server, index)
    settled(server)
    children = server.children()
    with server.stream("/hold.cgi", ae="gzip") as stream:
        stream.wait_for(TEXT, 30)
        assert memory(server) > 200000
        for pid in children if env.MPM != "prefork" else server.children():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
    settled(server)
