"""Clients that go away, read slowly, or open no window: memory, descriptors and workers are back
where they were afterwards."""

import contextlib
import gzip
import random
import re
import socket
import time
from concurrent.futures import ThreadPoolExecutor

from kit import Server, aborts, client, env, http2
from kit.process import anonymous_kb, descriptors


# One child, so that what it holds can be told.
MPM = "StartServers 1\nServerLimit 1\nThreadsPerChild 40\nMaxRequestWorkers 40\n" \
      "MinSpareThreads 1\nMaxSpareThreads 40\n"
CONFIG = """
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

# Clients that go away at the same time: each leaves one connection unread meanwhile, and together
# they are less than the child has threads.
CLIENTS = 8


def _request(pick, path=None):
    coding = pick.choice(("gzip", "br", "zstd", "gzip, br", "identity"))
    return client.Request("GET", path or pick.choice(("/large.txt", "/small.txt", "/stream.cgi")),
                         (("Accept-Encoding", coding),))


def read_some(pick, address):
    """And end with RST or, as often, with FIN while more comes."""
    sock = client.connect(address, timeout=PATIENCE)
    sock.sendall(_request(pick).encoded())
    wanted = pick.choice((0, 1, 300, 5000, 60000))
    while wanted > 0 and (data := sock.recv(wanted)):
        wanted -= len(data)
    pick.choice((client.abort, socket.socket.close))(sock)


def upload(pick, address):
    """A compressed request body that does not end."""
    sock = client.connect(address, timeout=PATIENCE)
    body = gzip.compress(aborts.FILES["small.txt"], 1)
    sent = client.Request("POST", "/echo", (("Content-Type", "text/plain"),
                                           ("Content-Encoding", "gzip"),
                                           ("Accept-Encoding", "br")), body).encoded()
    sock.sendall(sent[:pick.randrange(len(sent) - len(body), len(sent))])
    if pick.random() < 0.5:
        sock.shutdown(socket.SHUT_WR)
        sock.recv(100)
    client.abort(sock)


@contextlib.contextmanager
def _http2(address, **options):
    connection = http2.Connection(address, **options)
    connection.sock.settimeout(PATIENCE)
    try:
        yield connection
    finally:
        connection.abort()


def reset(pick, address):
    """Streams that are reset before and while they are read."""
    with _http2(address, window=pick.choice((1, 1000, 65535)),
                refill=pick.random() < 0.5) as connection:
        for _ in range(pick.randrange(1, 8)):
            stream = connection.open(_request(pick))
            if pick.random() < 0.6:
                connection.receive()
            connection.reset(stream)


def open_no_window(pick, address):
    """Streams that end with the connection."""
    with _http2(address, window=0, refill=False) as connection:
        streams = [connection.open(_request(pick)) for _ in range(pick.randrange(1, 6))]
        connection.receive()
        if pick.random() < 0.5:
            connection.grant(streams[0], pick.choice((1, 1000, 70000)))
            connection.receive()


def cut(pick, address):
    """A connection that ends in the middle of a frame."""
    with _http2(address) as connection:
        connection.open(_request(pick, "/large.txt"))
        connection.receive()
        connection.sock.sendall(b"\0\0\x08\x06\0\0\0")


KINDS = [read_some, upload] * 2 + ([] if env.MPM == "prefork" else [reset, open_no_window, cut])


def _some(server, seed, until):
    address = ("127.0.0.1", server.port)

    def work(number):
        pick, made, unread = random.Random(f"{seed}/{number}"), 0, None
        while time.monotonic() < until:
            with contextlib.suppress(OSError, client.Incomplete):
                if made % 8 == 0:
                    if unread:
                        client.abort(unread)
                    unread = client.connect(address)
                    unread.sendall(_request(pick, "/large.txt").encoded())
                pick.choice(KINDS)(pick, address)
            made += 1
        return made

    with ThreadPoolExecutor(CLIENTS) as pool:
        return sum(pool.map(work, range(CLIENTS)))


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


def _abort(plan, made, server):
    began = time.monotonic()
    # What httpd and malloc() make once.
    _some(server, "first", began + min(30, plan.seconds / 3))
    before, children = _state(server), server.children()
    made.count = _some(server, plan.seed, began + plan.seconds)
    after = _state(server)
    made.figures.update({"KB before": before[0], "KB after": after[0],
                         "descriptors before": before[1], "after": after[1]})
    if server.children() != children or after[0] > before[0] + SLACK_KB \
            or after[1] > before[1] + SLACK_DESCRIPTORS:
        made.failures.append("the child is another, or has more than it had")
    for coding in ("gzip", "br"):
        for name, body in aborts.FILES.items():
            answer = server.get(f"/{name}", ae=coding)
            if answer.status != 200 or answer.body != body:
                made.failures.append(f"{name} is answered with {answer}")


def run(plan, made):
    server = Server(CONFIG, modules=("reflector", "status", "reqtimeout"), h2=True, mpm_config=MPM,
                    files=aborts.FILES, cgi=aborts.CGI, environ={"MALLOC_ARENA_MAX": "2"})
    try:
        server.start()
        _abort(plan, made, server)
    except (TimeoutError, ValueError) as error:
        made.failures.append(str(error))
    finally:
        made.failures += server.log.lines("exit signal")
        server.stop()
        server.remove()
