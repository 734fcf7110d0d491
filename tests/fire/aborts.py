"""Clients that go away, read slowly, or open no window: memory, descriptors and workers are back
where they were afterwards."""

import contextlib
import gzip
import random
import re
import socket
import struct
import time
from concurrent.futures import ThreadPoolExecutor

from kit import Server, bodies, env
from kit.process import anonymous_kb, descriptors

from . import http1, http2, outcome

LARGE = bodies.text(4 << 20)
SMALL = bodies.text(60000)

# One child, so that what it holds can be told.
_MPM = "StartServers 1\nServerLimit 1\nThreadsPerChild 40\nMaxRequestWorkers 40\n" \
       "MinSpareThreads 1\nMaxSpareThreads 40\n"

_CONFIG = """
Elastic On
ElasticControl off
ElasticMaxMemory 1G
ElasticPoolMemory 16M
ElasticInflate On
Timeout 20
RequestReadTimeout header=20 body=20
<Location /echo>
    SetHandler reflector
    ReflectorHeader Content-Type
</Location>
<Location /server-status>
    SetHandler server-status
</Location>
"""

_SCRIPT = """
head('Content-Type: text/plain')
try:
    for i in range(50):
        out('some text %d ' % i * 3000)
except OSError:
    pass
"""

# What a child may keep beyond what it had after its first aborts: contexts within
# ElasticPoolMemory, and what malloc() does not give back of forty threads.
SLACK_KB = 48 << 10
SLACK_DESCRIPTORS = 8

# Seconds for what may not come: then the client goes away, too.
PATIENCE = 0.05

# Clients that go away at the same time, and the connections of each of which none is read: together
# less than the child has threads.
CLIENTS = 8
STALLED = 2

_PATHS = ("/large.txt", "/large.txt", "/small.txt", "/stream.cgi", "/lua")
_LUA = "function handle(r)\nr.content_type = 'text/plain'\n" \
       "local s = string.rep('text of lua ', 700)\n" \
       "for i = 1, 100 do r:write(s) end\nreturn apache2.OK\nend\n"


def _linger_none(sock):
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    sock.close()


class Aborter:
    """Makes one abort after the other, all kinds in turn."""

    def __init__(self, server, seed):
        self._address = ("127.0.0.1", server.port)
        self._pick = random.Random(seed)
        self._stalled = []
        self._kinds = [self._http1, self._upload, self._stall] * 2
        if env.MPM != "prefork":
            self._kinds += [self._reset, self._no_window, self._cut]

    def one(self):
        with contextlib.suppress(OSError, http1.Ended):
            self._pick.choice(self._kinds)()

    def _request(self, path=None):
        coding = self._pick.choice(("gzip", "br", "zstd", "gzip, br", "identity"))
        return http1.Request("GET", path or self._pick.choice(_PATHS),
                             (("Accept-Encoding", coding),))

    def _connect(self, nbytes=0):
        sock = socket.socket()
        if nbytes:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, nbytes)
        sock.settimeout(PATIENCE)
        sock.connect(self._address)
        return sock

    def _connect_http2(self, **options):
        connection = http2.Connection(self._address, **options)
        connection.sock.settimeout(PATIENCE)
        return connection

    def _http1(self):
        """Reads some, and ends with RST or, as often, with FIN while more comes."""
        sock = self._connect()
        sock.sendall(self._request().encoded())
        wanted = self._pick.choice((0, 1, 300, 5000, 60000))
        while wanted > 0 and (data := sock.recv(wanted)):
            wanted -= len(data)
        if self._pick.random() < 0.5:
            _linger_none(sock)
        else:
            sock.close()

    def _upload(self):
        """A compressed request body that does not end."""
        sock = self._connect()
        body = gzip.compress(SMALL, 1)
        sent = http1.Request("POST", "/echo", (("Content-Type", "text/plain"),
                                               ("Content-Encoding", "gzip"),
                                               ("Accept-Encoding", "br")), body).encoded()
        sock.sendall(sent[:self._pick.randrange(len(sent) - len(body), len(sent))])
        if self._pick.random() < 0.5:
            sock.shutdown(socket.SHUT_WR)
            sock.recv(100)
        _linger_none(sock)

    def _stall(self):
        """Reads nothing of a large body for as long as others come and go."""
        sock = self._connect(4096)
        sock.sendall(self._request("/large.txt").encoded())
        self._stalled.append(sock)
        if len(self._stalled) >= STALLED:
            _linger_none(self._stalled.pop(0))

    def _reset(self):
        """Streams that are reset before and while they are read."""
        connection = self._connect_http2(window=self._pick.choice((1, 1000, 65535)),
                                         refill=self._pick.random() < 0.5)
        try:
            for _ in range(self._pick.randrange(1, 8)):
                stream = connection.open(self._request())
                if self._pick.random() < 0.6:
                    connection.receive()
                connection.reset(stream)
        finally:
            connection.abort()

    def _no_window(self):
        """Streams without a window, that end with the connection."""
        connection = self._connect_http2(window=0, refill=False)
        try:
            streams = [connection.open(self._request()) for _ in range(self._pick.randrange(1, 6))]
            connection.receive()
            if self._pick.random() < 0.5:
                connection.grant(streams[0], self._pick.choice((1, 1000, 70000)))
                connection.receive()
        finally:
            connection.abort()

    def _cut(self):
        """A connection that ends in the middle of a frame."""
        connection = self._connect_http2()
        try:
            connection.open(self._request("/large.txt"))
            connection.receive()
            connection.sock.sendall(b"\0\0\x08\x06\0\0\0")
        finally:
            connection.abort()

    def end(self):
        for sock in self._stalled:
            _linger_none(sock)
        self._stalled.clear()


def _state(server):
    """(KB of the child, its descriptors), when nothing is on its way any more."""
    def idle():
        with contextlib.suppress(OSError, ValueError, KeyError, AssertionError):
            busy = re.search(rb"BusyWorkers: (\d+)", server.get("/server-status?auto").raw)
            return busy and int(busy[1]) <= 1 and server.status()["ElasticMemory"] == "0"
        return False

    server.wait_for(idle, 90, "workers that are idle, and memory that nobody holds")
    (child,) = server.children()
    return anonymous_kb(child), descriptors(child)


def _complaints(server, before, after, children):
    if server.children() != children:
        yield f"the child is another: {server.children()}, {children}"
    if after[0] > before[0] + SLACK_KB:
        yield f"the child has {after[0]} KB, and had {before[0]}"
    if after[1] > before[1] + SLACK_DESCRIPTORS:
        yield f"the child has {after[1]} descriptors, and had {before[1]}"
    for coding in ("gzip", "br"):
        for path, body in (("/large.txt", LARGE), ("/small.txt", SMALL)):
            answer = server.get(path, ae=coding)
            if answer.status != 200 or answer.body != body:
                yield f"{path} is answered with {answer}"
    yield from map(str, server.log.lines("exit signal"))


def run(plan):
    made = outcome.Outcome()
    server = Server(_CONFIG + "LuaScope thread\nLuaMapHandler ^/lua$ {root}/text.lua handle\n",
                    modules=("reflector", "status", "lua", "reqtimeout"), h2=True, mpm_config=_MPM,
                    files={"large.txt": LARGE, "small.txt": SMALL},
                    cgi={"stream.cgi": _SCRIPT}, environ={"MALLOC_ARENA_MAX": "2"})
    (server.root / "text.lua").write_text(_LUA)
    (server.root / "text.lua").chmod(0o644)
    try:
        server.start()
        _abort(plan, made, server)
    finally:
        server.stop()
        server.remove()
    return made


def _some(server, seed, count, until):
    """How many there were, of CLIENTS at the same time."""
    def work(number):
        aborter = Aborter(server, f"{seed}/{number}")
        made = 0
        while made < count // CLIENTS and time.monotonic() < until:
            aborter.one()
            made += 1
        aborter.end()
        return made

    with ThreadPoolExecutor(CLIENTS) as pool:
        return sum(pool.map(work, range(CLIENTS)))


def _abort(plan, made, server):
    began = time.monotonic()
    # What httpd and malloc() make once.
    _some(server, "first", 800, began + plan.seconds / 3)
    before, children = _state(server), server.children()
    made.count = _some(server, plan.seed, plan.count, began + plan.seconds)
    try:
        after = _state(server)
        made.failures += _complaints(server, before, after, children)
        made.figures.update({"KB before": before[0], "KB after": after[0],
                             "descriptors before": before[1], "after": after[1]})
    except (TimeoutError, ValueError) as error:
        made.failures.append(str(error))
    made.seconds = time.monotonic() - began
