"""A client of HTTP/1 for many requests: one socket, requests sent ahead, answers as they are.

    client = Client(("127.0.0.1", 8080))
    answers = client.exchange([Request("GET", "/a.txt"), Request("GET", "/b.txt")])

A request whose connection ended before the first byte of its answer is sent again on a new one, as
browsers do: a server may end a connection between two requests.
"""

import socket
import ssl
from dataclasses import dataclass, field

ATTEMPTS = 3
TIMEOUT = 60.0

# What is sent ahead must fit into the sockets' buffers, or both sides wait for each other.
AHEAD_NBYTES = 32768


@dataclass
class Request:
    method: str
    path: str
    headers: tuple = ()  # of (name, value)
    body: bytes = b""
    version: str = "HTTP/1.1"

    def encoded(self):
        lines = [f"{self.method} {self.path} {self.version}\r\nHost: localhost\r\n"]
        lines += [f"{name}: {value}\r\n" for name, value in self.headers]
        if self.body or self.method in ("POST", "PUT"):
            lines.append(f"Content-Length: {len(self.body)}\r\n")
        return ("".join(lines) + "\r\n").encode("latin-1") + self.body


@dataclass
class Answer:
    """What came. `whole` is False where the connection or the stream ended before the message."""

    status: int = 0  # 0: nothing came
    headers: dict = field(default_factory=dict)  # lower-case names; repeated fields are joined
    raw: bytes = b""
    whole: bool = False
    why: str = ""  # it is not whole

    @property
    def coding(self):
        return self.headers.get("content-encoding", "")


class Ended(Exception):
    """The connection ended, or broke the rules of its protocol."""


def parse_head(head):
    """(status, {field: value}) of a header without its empty line."""
    lines = head.decode("latin-1").split("\r\n")
    fields = {}
    for line in lines[1:]:
        name, colon, value = line.partition(":")
        if not colon:
            raise Ended(f"a line without a colon: {line!r}")
        name = name.lower()
        value = value.strip()
        fields[name] = f"{fields[name]}, {value}" if name in fields else value
    return int(lines[0].split(" ", 2)[1]), fields


def tls_context(protocol):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    context.set_alpn_protocols([protocol])
    return context


class Client:
    def __init__(self, address, tls=False):
        self._address = address
        self._tls = tls
        self._sock = None
        self._buffer = bytearray()

    def close(self):
        if self._sock:
            self._sock.close()
        self._sock = None
        self._buffer.clear()

    def _open(self):
        self._sock = socket.create_connection(self._address, timeout=TIMEOUT)
        self._sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if self._tls:
            self._sock = tls_context("http/1.1").wrap_socket(self._sock)

    def _more(self):
        data = self._sock.recv(262144)
        if not data:
            raise Ended("the connection ended")
        self._buffer += data

    def _take(self, count):
        while len(self._buffer) < count:
            self._more()
        data = bytes(self._buffer[:count])
        del self._buffer[:count]
        return data

    def _line(self):
        while (end := self._buffer.find(b"\r\n")) < 0:
            self._more()
        return self._take(end + 2)[:-2]

    def _head(self, answer):
        while True:
            while (end := self._buffer.find(b"\r\n\r\n")) < 0:
                self._more()
            answer.status, answer.headers = parse_head(self._take(end + 4)[:-4])
            if answer.status >= 200:
                return

    def _chunked(self, pieces):
        while True:
            size = int(self._line().split(b";")[0], 16)
            if size == 0:
                while self._line():
                    pass
                return
            pieces.append(self._take(size))
            if self._take(2) != b"\r\n":
                raise Ended("a chunk does not end where it should")

    def _until_end(self, pieces):
        try:
            while True:
                pieces.append(bytes(self._buffer))
                self._buffer.clear()
                self._more()
        except Ended:
            pass

    def _read_body(self, request, answer, pieces):
        """True where the connection goes on behind it."""
        fields = answer.headers
        if request.method == "HEAD" or answer.status in (204, 304):
            return True
        if "transfer-encoding" in fields:
            self._chunked(pieces)
        elif "content-length" in fields:
            count = int(fields["content-length"])
            while count > 0:
                if not self._buffer:
                    self._more()
                pieces.append(self._take(min(count, len(self._buffer))))
                count -= len(pieces[-1])
        else:
            self._until_end(pieces)
            return False
        return True

    def _read(self, request):
        """(the answer, whether the connection goes on)."""
        answer, pieces, goes_on = Answer(), [], False
        try:
            self._head(answer)
            goes_on = self._read_body(request, answer, pieces)
            answer.whole = True
            goes_on = goes_on and "close" not in answer.headers.get("connection", "").lower() \
                and (request.version == "HTTP/1.1"
                     or "keep-alive" in answer.headers.get("connection", "").lower())
        except (Ended, OSError, ValueError) as error:
            answer.why = str(error) or type(error).__name__
        answer.raw = b"".join(pieces)
        return answer, goes_on

    def _ahead(self, requests):
        """How many of the requests are sent at once, and their bytes."""
        batch = bytearray()
        for count, request in enumerate(requests):
            data = request.encoded()
            if count and len(batch) + len(data) > AHEAD_NBYTES:
                return count, batch
            batch += data
            if request.version != "HTTP/1.1":
                return count + 1, batch
        return len(requests), batch

    def _some(self, requests):
        """The answers to the first of the requests, up to where the connection ended."""
        answers = []
        try:
            if not self._sock:
                self._open()
            count, batch = self._ahead(requests)
            self._sock.sendall(batch)
        except OSError:
            # What was answered before the server closed may still be here to be read.
            count = 1 if self._sock else 0
        for request in requests[:count]:
            answer, goes_on = self._read(request)
            if not answer.status:
                break
            answers.append(answer)
            if not goes_on:
                break
        else:
            if answers:
                return answers
        self.close()
        return answers

    def exchange(self, requests):
        """The answers, in order."""
        answers = []
        attempts = 0
        while len(answers) < len(requests):
            seen = self._some(requests[len(answers):])
            answers += seen
            attempts = 0 if seen else attempts + 1
            if attempts == ATTEMPTS:
                answers.append(Answer(why="no byte of an answer came"))
                attempts = 0
        return answers
