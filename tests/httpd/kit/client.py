"""A client that shows exact bytes: nothing is decoded, retried or repaired behind the test's back.

    with Connection(address) as connection:             # HTTP/1; over HTTP/2: kit.http2.Connection
        answer = connection.request("/a.txt", ae="gzip")
    answers = Client(address).exchange([Request("GET", "/a.txt"), Request("GET", "/b.txt")])

Only Client asks again, as browsers do, and counts it.
"""

import collections
import contextlib
import itertools
import os
import re
import socket
import ssl
import struct
import time
import urllib.parse
from typing import NamedTuple

from . import decode

_ids = itertools.count(1)
_STATUS_LINE = re.compile(rb"HTTP/1\.[01] \d{3}( .*)?")
_FIELD_LINE = re.compile(r"[!#$%&'*+.^`|~\w-]+:.*")


class Incomplete(ValueError):
    """The connection ended visibly before the message was complete, or broke HTTP's rules."""


class Headers:
    """Fields in their order; names in any case."""

    def __init__(self, fields=()):
        self.fields = list(fields.items() if isinstance(fields, dict) else fields)

    def get(self, name, default=None):
        """The value; several fields with this name are joined by `, `."""
        values = self.all(name)
        return ", ".join(values) if values else default

    def all(self, name):
        return [value for field, value in self.fields if field.lower() == name.lower()]

    def __contains__(self, name):
        return bool(self.all(name))

    def __getitem__(self, name):
        return self.get(name)

    def __repr__(self):
        return "\n".join(f"{name}: {value}" for name, value in self.fields)


def _parse_fields(lines):
    fields = []
    for line in map(lambda line: line.decode("latin-1"), lines):
        if not _FIELD_LINE.fullmatch(line):
            raise Incomplete(f"no field: {line!r}")
        name, _, value = line.partition(":")
        fields.append((name, value.strip()))
    return Headers(fields)


class Response:
    """status (0: nothing came), headers, raw (the body as sent), complete (else `why` not),
    trailers, pieces [(seconds since the request, bytes)], interim [the preceding 1xx]."""

    def __init__(self, head=b"", id=None):
        self.head, self.id = head, id  # the header as sent, with the blank line: only in HTTP/1
        self.status, self.headers = 0, Headers()
        if head:
            line, *fields = head.removesuffix(b"\r\n\r\n").split(b"\r\n")
            if not _STATUS_LINE.fullmatch(line):
                raise Incomplete(f"no status line: {line!r}")
            self.status, self.headers = int(line.split()[1]), _parse_fields(fields)
        self.pieces = []
        self.complete, self.why = False, ""
        self.interim, self.trailers = [], Headers()

    @classmethod
    def of(cls, status, headers, raw=b"", complete=True):
        made = cls()
        made.status, made.headers, made.complete = status, Headers(headers), complete
        made.pieces = [(0.0, raw)]
        return made

    @property
    def raw(self):
        return b"".join(data for _, data in self.pieces)

    @property
    def coding(self):
        """Content-Encoding as sent; None without one."""
        return self.headers.get("Content-Encoding")

    @property
    def body(self):
        """The decoded body; raises unless it is exactly one complete body of its coding."""
        if not self.complete:
            raise Incomplete(f"the message ended after {len(self.raw)} bytes of body")
        return decode.decode(self.coding, self.raw)

    def tokens(self, name):
        """The members of a list field, in small letters."""
        members = (member.strip().lower() for member in self.headers.get(name, "").split(","))
        return [member for member in members if member]

    def has_token(self, name, token):
        """True if the list field `name` has `token`, in any case."""
        return token.lower() in self.tokens(name)

    @property
    def varies(self):
        return self.has_token("Vary", "Accept-Encoding")

    @property
    def goes_on(self):
        """True if another response may follow on the connection."""
        is_framed = {"content-length", "transfer-encoding"} & {
            name.lower() for name, _ in self.headers.fields} or self.status in (204, 304)
        return self.complete and is_framed and not self.has_token("Connection", "close")

    def __repr__(self):
        end = "" if self.complete else ", cut"
        return f"<{self.status}, {len(self.raw)} bytes{end}\n{self.headers}>"


class Request(NamedTuple):
    method: str
    path: str
    headers: tuple = ()  # of (name, value)
    body: bytes = b""
    version: str = "HTTP/1.1"

    def encoded(self):
        """As HTTP/1 has it."""
        names = {name.lower() for name, _ in self.headers}
        lines = [f"{self.method} {self.path} {self.version}"]
        lines += [] if "host" in names else ["Host: localhost"]
        lines += [f"{name}: {value}" for name, value in self.headers]
        lines += [f"Content-Length: {len(self.body)}"] * bool(self.body)
        return "\r\n".join([*lines, "", ""]).encode("latin-1") + self.body


def connect(address, protocol=None, timeout=30, certificate=None, name="localhost"):
    """A socket; in TLS where a protocol is named. `certificate` is a file with a client's
    certificate and its key."""
    sock = socket.create_connection(address[:2], timeout=timeout)
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    if not protocol:
        return sock
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    context.set_alpn_protocols([protocol])
    if certificate:
        context.load_cert_chain(certificate)
    return context.wrap_socket(sock, server_hostname=name)


def abort(sock):
    """Ends the connection with RST, like a client that crashed."""
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    sock.close()


class Connected:
    """What connections of both versions have: they send_request(), read_head() and give
    body_pieces()."""

    def __init__(self, address, protocol=None, **kw):
        self.host = f"[{address[0]}]" if ":" in address[0] else address[0]
        self.sock = connect(address, protocol, **kw)
        self._buffer = b""
        self._sent = time.monotonic()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        self.sock.close()

    def abort(self):
        abort(self.sock)

    def ask_for(self, path, method, ae, headers, body, id=None, version="HTTP/1.1"):
        """(its id, a Request); `headers` is a dict or a list of pairs and may have a Host."""
        id = id or f"{os.getpid()}-{next(_ids)}"
        given = Headers(headers or ())
        fields = [] if "host" in given else [("Host", self.host)]
        fields += [("Accept-Encoding", ae)] if ae is not None else []
        return id, Request(method, path, (*fields, ("X-Request", id), *given.fields), body,
                           version)

    def read_response(self, sent=None, method="GET"):
        """Returns the next response, whole; `complete` is False if the connection ended too
        early. `sent` is what send_request() returned."""
        return self.read_body(self.read_head(sent), method)

    def read_body(self, response, method="GET"):
        try:
            for _ in self.body_pieces(response, method):
                pass
        except (Incomplete, ConnectionError, ssl.SSLError) as error:
            response.why = str(error) or type(error).__name__
        return response

    def request(self, path, method="GET", ae=None, headers=None, body=b""):
        return self.read_response(self.send_request(path, method, ae, headers, body), method)

    def stream(self, path, ae=None, headers=None):
        response = self.read_head(self.send_request(path, "GET", ae, headers))
        return Stream(response, self.body_pieces(response), self)


class Connection(Connected):
    """One TCP (or TLS) connection by HTTP/1."""

    def __init__(self, address, tls=False, timeout=30, version="HTTP/1.1", certificate=None,
                 name="localhost"):
        super().__init__(address, "http/1.1" if tls else None, timeout=timeout,
                         certificate=certificate, name=name)
        self.version = version

    def send(self, data):
        self._sent = time.monotonic()
        self.sock.sendall(data)

    def send_request(self, path, method="GET", ae=None, headers=None, body=b"", id=None):
        """Sends a request without reading. Returns its id, the argument of `read_head`."""
        id, request = self.ask_for(path, method, ae, headers, body, id, self.version)
        self.send(request.encoded())
        return id

    def receive(self, size=65536):
        """Returns up to `size` bytes as they arrive; empty at the end."""
        if self._buffer:
            data, self._buffer = self._buffer[:size], self._buffer[size:]
            return data
        return self.sock.recv(size)

    def has_more(self):
        """Bytes behind what was read, which nobody asked for."""
        return bool(self._buffer)

    def _line(self):
        while b"\r\n" not in self._buffer:
            more = self.sock.recv(65536)
            if not more:
                raise Incomplete(f"the connection ended within a line: {self._buffer!r}")
            self._buffer += more
        line, self._buffer = self._buffer.split(b"\r\n", 1)
        return line

    def _lines(self):
        """Returns the lines before the next empty one."""
        return list(iter(self._line, b""))

    def _read_one_head(self, id):
        return Response(b"\r\n".join([*self._lines(), b"", b""]), id)

    def read_head(self, id=None):
        """Returns the header of the next final response."""
        interim = []
        while (response := self._read_one_head(id)).status < 200:
            interim.append(response)
        response.interim = interim
        return response

    def body_pieces(self, response, method="GET"):
        """Yields the body's bytes as they arrive, without chunk framing; marks the response
        complete."""
        if method != "HEAD" and response.status not in (204, 304):
            for data in self._body(response):
                response.pieces.append((time.monotonic() - self._sent, data))
                yield data
        response.complete = True

    def _body(self, response):
        if "Transfer-Encoding" in response.headers:
            return self._chunks(response)
        if "Content-Length" in response.headers:
            return self._exactly(int(response.headers["Content-Length"]))
        return iter(self.receive, b"")

    def _exactly(self, size):
        while size:
            data = self.receive(min(size, 1 << 20))
            if not data:
                raise Incomplete(f"{size} bytes of the message are missing")
            size -= len(data)
            yield data

    def _chunks(self, response):
        while True:
            size = self._line().partition(b";")[0].strip()
            if not re.fullmatch(rb"[0-9A-Fa-f]+", size):
                raise Incomplete(f"no size of a chunk: {size!r}")
            if int(size, 16) == 0:
                response.trailers = _parse_fields(self._lines())
                return
            yield from self._exactly(int(size, 16))
            if self._line():
                raise Incomplete("a chunk does not end where its size says")


class Stream:
    """A response read while it arrives: `wait_for` returns when the decoded text has a given
    part."""

    def __init__(self, response, pieces, connection):
        self.response, self.status = response, response.status
        self.headers, self.coding = response.headers, response.coding
        self.text = b""  # decoded so far
        self.received = 0  # encoded bytes so far
        self._pieces, self._connection = pieces, connection
        self._decoder = decode.decoder(response.coding)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._connection.close()

    def read_piece(self):
        """Decodes the next piece; False at the end."""
        data = next(self._pieces, None)
        if data is None:
            return False
        self.received += len(data)
        self.text += self._decoder.feed(data)
        return True

    def wait_for(self, needle, timeout=2.0):
        """Reads until `needle` is decoded; raises TimeoutError after `timeout` seconds. Returns the
        seconds it took."""
        start = time.monotonic()
        while needle not in self.text:
            left = start + timeout - time.monotonic()
            if left <= 0:
                raise TimeoutError(f"{needle!r} is not decodable after {timeout} s")
            self._connection.sock.settimeout(left)
            if not self.read_piece():
                raise Incomplete(f"the stream ended without {needle!r}")
        return time.monotonic() - start

    def read_all(self, timeout=30.0):
        """Reads the rest, and asserts that the encoded body is whole. Returns the whole decoded
        text."""
        self._connection.sock.settimeout(timeout)
        while self.read_piece():
            pass
        if not self._decoder.finished():
            raise Incomplete("the encoded body is cut short")
        return self.text


ATTEMPTS = 3
# How a client names connections that end before an answer begins.
NEW, KEPT = "new connections without an answer", "kept connections without one"


class Client:
    """Many requests to one server, on a connection that is kept. One whose connection ended before
    the first byte of its answer is sent again on a new one, as browsers do: a server may end a
    connection between two requests. An answer that breaks off has its `why`, and nothing is
    raised."""

    def __init__(self, address, tls=False, timeout=60):
        self._address, self._tls, self._timeout = address, tls, timeout
        self._connection = None
        self.unanswered = collections.Counter()

    def _make(self):
        return Connection(self._address, self._tls, self._timeout)

    def close(self):
        if self._connection:
            self._connection.close()
        self._connection = None

    def _some(self, requests):
        """The answers to the first of the requests, as many as the connection takes: here to one.
        The connection stays open where it goes on, and nothing came behind the answer."""
        [request, *_], answer, more = requests, Response(), False
        try:
            self._connection = connection = self._connection or self._make()
            with contextlib.suppress(OSError):  # what came before the server closed may be here
                connection.send(request.encoded())
            answer = connection.read_head()
            connection.read_body(answer, request.method)
            more = connection.has_more()
        except (Incomplete, OSError) as error:
            answer.why = str(error) or type(error).__name__
        if more:
            answer.complete, answer.why = False, "bytes behind its end"
        if not answer.goes_on or request.version != "HTTP/1.1":
            self.close()
        return [answer]

    def exchange(self, requests):
        """The answers, in order."""
        answers, tries = [Response() for _ in requests], collections.Counter()
        left = list(range(len(requests)))
        while left:
            kind = KEPT if self._connection else NEW
            for i, answer in zip(left, self._some([requests[i] for i in left])):
                answers[i] = answer
                tries[i] += 1
            self.unanswered[kind] += any(tries[i] and not answers[i].status for i in left)
            left = [i for i in left if not answers[i].status and tries[i] < ATTEMPTS]
        return answers


def fetch_http2(url, method, host, ae, headers, body, timeout):
    """One request to a URL of http or https."""
    from . import http2

    place = urllib.parse.urlsplit(url)
    fields = [("Host", host), *Headers(headers or ()).fields]
    with http2.Connection((place.hostname, place.port), place.scheme == "https",
                          timeout) as connection:
        return connection.request(place.path, method, ae, fields, body)
