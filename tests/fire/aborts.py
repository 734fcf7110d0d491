"""Clients that go away, read slowly, or open no window: memory, descriptors and workers are back
where they were afterwards."""

import contextlib
import gzip
import random
import re
import socket
import time
from concurrent.futures import ThreadPoolExecutor

from kit import Server, aborts, env
from kit.process import anonymous_kb, descriptors

from . import http1, http2

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

_PATHS = ("/large.txt", "/large.txt", "/small.txt", "/stream.cgi")


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
        with contextlib.suppress(OSError, http2.Ended):
            self._pick.choice(self._kinds)()

    def _maybe(self):
        return self._pick.random() < 0.5

    def _request(self, path=None):
        coding = self._pick.choice(("gzip", "br", "zstd", "gzip, br", "identity"))
        return http1.Request("GET", path or self._pick.choice(_PATHS),
                             (("Accept-Encoding", coding),))

    @contextlib.contextmanager
    def _http2(self, **options):
        connection = http2.Connection(self._address, **options)
        connection.sock.settimeout(PATIENCE)
        try:
            yield connection
        finally:
            connection.abort()

    def _http1(self):
        """Reads some, and ends with RST or, as often, with FIN while more comes."""
        sock = http1.connect(self._address, timeout=PATIENCE)
        sock.sendall(self._request().encoded())
        wanted = self._pick.choice((0, 1, 300, 5000, 60000))
        while wanted > 0 and (data := sock.recv(wanted)):
            wanted -= len(data)
        (http1.abort if self._maybe() else socket.socket.close)(sock)

    def _upload(self):
        """A compressed request body that does not end."""
        sock = http1.connect(self._address, timeout=PATIENCE)
        body = gzip.compress(aborts.FILES["small.txt"], 1)
        sent = http1.Request("POST", "/echo", (("Content-Type", "text/plain"),
                                               ("Content-Encoding", "gzip"),
                                               ("Accept-Encoding", "br")), body).encoded()
        sock.sendall(sent[:self._pick.randrange(len(sent) - len(body), len(sent))])
        if self._maybe():
            sock.shutdown(socket.SHUT_WR)
            sock.recv(100)
        http1.abort(sock)

    def _stall(self):
        """Reads nothing of a large body for as long as others come and go."""
        sock = http1.connect(self._address, timeout=PATIENCE)
        sock.sendall(self._request("/large.txt").encoded())
        self._stalled.append(sock)
        self.end(STALLED - 1)

    def _reset(self):
        """Streams that are reset before and while they are read."""
        with self._http2(window=self._pick.choice((1, 1000, 65535)),
                         refill=self._maybe()) as connection:
            for _ in range(self._pick.randrange(1, 8)):
                stream = connection.open(self._request())
                if self._maybe():
                    connection.receive()
                connection.reset(stream)

    def _no_window(self):
        """Streams without a window, that end with the connection."""
        with self._http2(window=0, refill=False) as connection:
            streams = [connection.open(self._request()) for _ in range(self._pick.randrange(1, 6))]
            connection.receive()
            if self._maybe():
                connection.grant(streams[0], self._pick.choice((1, 1000, 70000)))
                connection.receive()

    def _cut(self):
        """A connection that ends in the middle of a frame."""
        with self._http2() as connection:
            connection.open(self._request("/large.txt"))
            connection.receive()
            connection.sock.sendall(b"\0\0\x08\x06\0\0\0")

    def end(self, left=0):
        while len(self._stalled) > left:
            http1.abort(self._stalled.pop(0))


def _state(server):
    """(KB of the child, its descriptors), when nothing is on its way any more."""
    def idle():
        with contextlib.suppress(OSError, ValueError, KeyError, AssertionError):
            busy = re.search(rb"BusyWorkers: (\d+)", server.get("/server-status?auto").raw)
            return busy and int(busy[1]) <= 1 and server.status()["ElasticMemory"] == "0"
        return False

    server.wait_for(idle, 90, "workers that are idle, and memory that nobody holds")
    [child] = server.children()
    return anonymous_kb(child), descriptors(child)


def _some(server, seed, until):
    """How many there were, of CLIENTS at the same time."""
    def work(number):
        aborter = Aborter(server, f"{seed}/{number}")
        made = 0
        while time.monotonic() < until:
            aborter.one()
            made += 1
        aborter.end()
        return made

    with ThreadPoolExecutor(CLIENTS) as pool:
        return sum(pool.map(work, range(CLIENTS)))


def _abort(plan, made, server):
    began = time.monotonic()
    # What httpd and malloc() make once.
    _some(server, "first", began + min(30, plan.seconds / 3))
    before, children = _state(server), server.children()
    made.count = _some(server, plan.seed, began + plan.seconds)
    after = _state(server)
    made.figures.update({"KB before": before[0], "KB after": after[0],
                         "descriptors before": before[1], "after": after[1]})
    if server.children() != children:
        made.failures.append("the child is another")
    if after[0] > before[0] + SLACK_KB or after[1] > before[1] + SLACK_DESCRIPTORS:
        made.failures.append("the child has more than it had")
    for coding in ("gzip", "br"):
        for name, body in aborts.FILES.items():
            answer = server.get(f"/{name}", ae=coding)
            if answer.status != 200 or answer.body != body:
                made.failures.append(f"{name} is answered with {answer}")


def run(plan, made):
    server = Server(_CONFIG, modules=("reflector", "status", "reqtimeout"), h2=True,
                    mpm_config=_MPM, files=aborts.FILES, cgi=aborts.CGI,
                    environ={"MALLOC_ARENA_MAX": "2"})
    try:
        server.start()
        _abort(plan, made, server)
    except (TimeoutError, ValueError) as error:
        made.failures.append(str(error))
    finally:
        made.failures += server.log.lines("exit signal")
        server.stop()
        server.remove()
