"""One request and its response: over in a bounded time, of a bounded size, whatever is sent."""

import http.client
import io
import socket
import ssl
import time
import typing
import urllib.parse

from dictionarykit import response, sources

EXCHANGE = 20  # seconds
HEAD_MOST = 256 << 10  # bytes of header, interim responses, chunk heads and trailers
BODY_MOST = 64 << 20  # bytes, of what comes compressed, too
REDIRECTS = (301, 302, 303, 307, 308)


class Refused(Exception):
    """Why there is no response."""


class Reach(typing.NamedTuple):
    """How a site is reached."""

    addresses: tuple = ()  # tried in this order; none: what the name leads to
    context: object = None  # of TLS
    port: int = 0  # instead of the site's own
    fields: dict = {}  # that each request has
    proof: tuple = ()  # the field, (name, value), that each response has to have


class Stream(io.RawIOBase):
    """What a socket receives until a moment, so many bytes at most."""

    def __init__(self, sock, until, most):
        super().__init__()
        self.sock, self.until, self.left = sock, until, most

    def readable(self):
        return True

    def readinto(self, buffer):
        seconds = self.until - time.monotonic()
        if seconds <= 0:
            raise Refused("came too slowly")
        if self.left <= 0:
            raise Refused("is too large")
        self.sock.settimeout(seconds)
        count = self.sock.recv_into(buffer)
        self.left -= count
        return count


class Received(io.BufferedReader):
    """What http.client wants of a socket; it stays open for the response after an interim one."""

    def makefile(self, _):
        return self

    def close(self):
        pass


def target_of(url):
    """Path and query, as they go over the wire."""
    parts = urllib.parse.urlsplit(url)
    text = (parts.path or "/") + ("?" + parts.query if parts.query else "")
    return urllib.parse.quote(text, safe="%/:=&?~#+!$,;'@()*[]|")


def connect(origin, reach, until):
    scheme, host, port = origin
    problem = None
    for address in reach.addresses or (host,):
        try:
            sock = socket.create_connection((address, reach.port or port),
                                            max(until - time.monotonic(), 0.1))
            break
        except OSError as found:
            problem = problem or found
    else:
        raise problem
    if scheme != "https":
        return sock
    try:
        context = reach.context or ssl.create_default_context()
        return context.wrap_socket(sock, server_hostname=host)
    except BaseException:
        sock.close()
        raise


def request_of(url, fields):
    head = [f"GET {target_of(url)} HTTP/1.1", f"Host: {sources.host_field(url)}",
            "Connection: close", *(f"{name}: {value}" for name, value in fields.items())]
    return "\r\n".join([*head, "", ""]).encode("ascii")


def read_body(answer, most):
    body = bytearray()
    while True:
        piece = answer.read1(1 << 16)
        if not piece:
            break
        body += piece
        if len(body) > most:
            raise Refused(f"has more than {most} bytes")
    if answer.length:
        raise Refused("breaks off")
    return bytes(body)


def talk(sock, url, fields, most, until):
    sock.settimeout(max(until - time.monotonic(), 0.1))
    sock.sendall(request_of(url, fields))
    received = Received(Stream(sock, until, most + HEAD_MOST))
    while True:
        answer = http.client.HTTPResponse(received)
        answer.begin()
        if not 100 < answer.status < 200:
            found = tuple((name.lower(), value) for name, value in answer.getheaders())
            return response.Response(answer.status, found, read_body(answer, most))


def get(url, reach, fields, most, seconds=EXCHANGE):
    """The response; Refused where there is none in this time, or its body has more bytes."""
    until = time.monotonic() + min(seconds, EXCHANGE)
    try:
        with connect(sources.origin(url), reach, until) as sock:
            answer = talk(sock, url, {**fields, **reach.fields}, most, until)
    except ssl.SSLError as problem:
        reason = getattr(problem, "verify_message", "") or problem.reason or str(problem)
        raise Refused(f"no connection: {reason}") from None
    except TimeoutError:
        raise Refused("came too slowly") from None
    except (OSError, http.client.HTTPException, ValueError) as problem:
        raise Refused(f"no response: {problem or type(problem).__name__}") from None
    if reach.proof and reach.proof not in answer.fields:
        raise Refused("what responds does not take the visitor for a stranger: httpd itself has to "
                      "do the site's TLS, with mod_elastic and without a proxy in front")
    return answer._replace(fields=tuple(one for one in answer.fields if one != reach.proof))


def redirect_of(url, answer):
    """Where a response leads to, of the same host; None: it leads nowhere. Refused: elsewhere."""
    places = answer.values("location")
    if answer.status not in REDIRECTS or not places:
        return None
    try:
        found = urllib.parse.urljoin(url, places[0]).partition("#")[0]
        origin = sources.origin(found)
    except (ValueError, sources.Unusable):
        raise Refused("leads to what is no URL") from None
    old = sources.origin(url)
    if origin != old and (old[0], origin[0], origin[1:]) != ("http", "https", (old[1], 443)):
        raise Refused(f"leads to another site, {found}")
    return found
