"""Clients that disconnect midway, and a server with one child whose memory can be watched."""

import contextlib
import os
import select
import socket
import time

from . import bodies, env
from .client import Incomplete

# One child with few threads, and without an arena of malloc for each thread.
ONE_CHILD = {
    "mpm_config": "StartServers 1\nMinSpareServers 1\nMaxSpareServers 1\nMaxRequestWorkers 1\n"
    if env.MPM == "prefork" else
    "StartServers 1\nServerLimit 1\nThreadsPerChild 4\nMaxRequestWorkers 4\n"
    "MinSpareThreads 1\nMaxSpareThreads 4\n",
    "environ": {"MALLOC_ARENA_MAX": "1"},
}

FILES = {"large.txt": bodies.text(4 << 20), "small.txt": bodies.text(60000)}
CGI = {"stream.cgi": "head('Content-Type: text/plain')\ntry:\n    for i in range(50):\n"
                     "        out('some text %d ' % i * 3000)\nexcept OSError:\n    pass\n"}

# httpd's own log lines about such clients, their scripts, and a single busy child.
LOG = "AH01220|AH02651|AH01215|AH02550|AH00161|AH00286|AH00484|AH03490|Broken pipe|Connection reset"


def midway(server, index, coding=None):
    """Sends a request and disconnects at one of many moments."""
    path = ("/large.txt", "/stream.cgi", "/small.txt")[index % 3]
    coding = coding or ("gzip", "br")[index % 2]
    with contextlib.suppress(OSError), server.connect(timeout=20) as connection:
        connection.send_request(path, ae=coding)
        if index % 4:
            connection.receive((1, 300, 5000)[index % 4 - 1])
        if index % 8 == 7:
            time.sleep(0.01)
        connection.abort()


def read_while_cut(server, path, file, coding, protocol="http/1.1"):
    """Reads slowly while the file is truncated; returns (whether it looked whole, the bytes)."""
    raw = []
    with server.connect(protocol) as connection:
        connection.sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 65536)
        response = connection.read_head(connection.send_request(path, ae=coding))
        assert (response.status, response.coding) == (200, coding), response
        time.sleep(0.5)
        os.truncate(file, 1 << 20)
        try:
            for piece in connection.body_pieces(response):
                raw.append(piece)
        except (Incomplete, ConnectionError):
            pass
    return response.complete, b"".join(raw)


def is_readable(connection):
    """True if an answer, or the end of the connection, has arrived."""
    return bool(select.select([connection.sock], [], [], 0)[0])
