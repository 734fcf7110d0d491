"""Memory of a server whose responses, or request bodies, are all on their way at once.

Clients stop reading, or sending, before the end, and so each body's engine is in use until they go
away: what is seen does not depend on how fast the machine is.
"""

import contextlib
import socket
import typing

from benchkit import memory, rounds, sample, tools
from benchkit.corpus import KB

PATIENCE = 120  # seconds for a server that encodes as many bodies as there are clients

# What is left of an encoded body when its client stops: more than httpd (64 KB) and both sockets
# (twice what they are asked for) hold, so that the encoder has not ended.
LEFT = 384 * KB
SOCKET = 64 * KB
SOCKETS = f"SendBufferSize {SOCKET}\nReceiveBufferSize {SOCKET}\nTimeout 600\n"

ENGINES = 'LogFormat "%{{elastic-engine}}n" engine\nCustomLog {folder}/engines.log engine\n'

COUNTING = """
ScriptSock {folder}/cgi.sock
<Directory {site}>
    Options ExecCGI
    AddHandler cgi-script .cgi
</Directory>
"""
COUNT = "#!/bin/sh\nprintf 'Content-Type: text/plain\\n\\n'\nexec wc -c\n"
KEPT_BACK = 64  # bytes that end an upload, and are not sent


class Seen(typing.NamedTuple):
    """Anonymous memory of the server's processes, in KB."""

    held: int  # with all bodies on their way
    idle: int  # when their clients have gone away
    engine: str = ""  # by the module's note; "-" without the module


def anonymous_kb(pids):
    return sum(memory.read_all(pids, "smaps_rollup", sample.parse_kb, "Anonymous"))


def _open(httpd, request):
    """A connection that holds little, on which `request` was sent."""
    connection = socket.socket()
    connection.settimeout(PATIENCE)
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, SOCKET)
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, SOCKET)
    connection.connect((httpd.address, httpd.port))
    with contextlib.suppress(ConnectionError):  # where the server refuses what is being sent
        connection.sendall(request)
    return contextlib.closing(connection)


def _read(connection, wanted):
    while wanted > 0:
        piece = connection.recv(min(wanted, 65536))
        if not piece:
            raise tools.BenchError("a response ended before its client stopped")
        wanted -= len(piece)


def _engine(httpd):
    """That of the last response."""
    log = httpd.folder / "engines.log"
    if not tools.wait_for(lambda: log.exists() and log.read_text(), PATIENCE):
        raise tools.BenchError("the response was not logged")
    return log.read_text().splitlines()[-1]


def _seen(httpd, requests, wanted=0):
    """With one connection for each of the requests, that reads `wanted` bytes and stops."""
    pids = httpd.child_pids()
    with contextlib.ExitStack() as stack:
        for connection in [stack.enter_context(_open(httpd, request)) for request in requests]:
            _read(connection, wanted)
        sample.wait_until_idle(httpd.pids)
        held = anonymous_kb(pids)
    sample.wait_until_idle(httpd.pids)
    return held, anonymous_kb(pids)


def measure_responses(run, name, setup, page, clients):
    """While `clients` have each read all but the end of the page."""
    httpd = memory.serve(run, name, setup, {"page.html": page}, snippet=SOCKETS + ENGINES,
                         children=1, threads=clients + memory.SPARE_THREADS)
    encoded = rounds.check(setup.leg({"server": name}, httpd, "/page.html", page))
    engine = _engine(httpd)
    request = f"GET /page.html HTTP/1.1\r\nHost: a\r\nAccept-Encoding: {setup.accept}\r\n\r\n"
    found = Seen(*_seen(httpd, [request.encode()] * clients, encoded - LEFT), engine)
    httpd.stop()
    return found


def measure_uploads(run, name, setup, coding, encoded, clients):
    """While `clients` have each sent all but the end of a request body; and what a script behind
    the decoder counted of a whole one.
    """
    httpd = setup.serve(run, name, SOCKETS + COUNTING, ("cgid",), children=1,
                        threads=clients + memory.SPARE_THREADS)
    script = httpd.site / "count.cgi"
    script.write_text(COUNT, encoding="utf-8")
    script.chmod(0o755)
    httpd.start()
    with contextlib.closing(httpd.connect()) as connection:
        connection.timeout = PATIENCE
        connection.request("POST", "/count.cgi", encoded, {"Content-Encoding": coding})
        counted = int(connection.getresponse().read())
    request = (f"POST /count.cgi HTTP/1.1\r\nHost: a\r\nContent-Encoding: {coding}\r\n"
               f"Content-Length: {len(encoded)}\r\n\r\n").encode() + encoded[:-KEPT_BACK]
    found = Seen(*_seen(httpd, [request] * clients))
    httpd.stop()
    return counted, found
