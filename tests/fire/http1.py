"""A client of HTTP/1 for many requests on one socket, with answers as they are.

    client = Client(("127.0.0.1", 8080))
    answers = client.exchange([Request("GET", "/a.txt"), Request("GET", "/b.txt")])

h11 reads the answers; the requests are bytes of ours, which it would not all send. A request whose
connection ended before the first byte of its answer is sent again on a new one, as browsers do: a
server may end a connection between two requests.
"""

import socket
import ssl
import struct
from collections import Counter
from dataclasses import dataclass, field

import h11

ATTEMPTS = 3
# How a client names connections that end before an answer begins.
NEW, KEPT = "new connections without an answer", "kept connections without one"
TIMEOUT = 60.0


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


def joined(pairs):
    """{field: value} of (name, value); repeated fields are joined."""
    fields = {}
    for name, value in pairs:
        fields[name] = f"{fields[name]}, {value}" if name in fields else value
    return fields


def connect(address, protocol=None, timeout=TIMEOUT):
    """A socket; in TLS where a protocol is named."""
    sock = socket.create_connection(address, timeout=timeout)
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    if not protocol:
        return sock
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    context.set_alpn_protocols([protocol])
    return context.wrap_socket(sock)


def abort(sock):
    """The connection ends with RST."""
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    sock.close()


class Client:
    def __init__(self, address, tls=False):
        self._address = address
        self._protocol = "http/1.1" if tls else None
        self._sock = None
        self.unanswered = Counter()

    def close(self):
        if self._sock:
            self._sock.close()
        self._sock = None

    def _ask(self, request):
        """The answer; the connection stays open where it goes on, and nothing came behind it."""
        parser = h11.Connection(h11.CLIENT, max_incomplete_event_size=1 << 20)
        parser.send(h11.Request(method=request.method, target="/", headers=[("Host", "x")]))
        parser.send(h11.EndOfMessage())
        answer, pieces = Answer(), []
        try:
            self._sock = self._sock or connect(self._address, self._protocol)
            self._sock.sendall(request.encoded())
        except OSError as error:
            answer.why = str(error)  # what the server answered before it closed may still be here
        try:
            while self._sock and not answer.whole:
                event = parser.next_event()
                if event is h11.NEED_DATA:
                    parser.receive_data(self._sock.recv(262144))
                elif isinstance(event, h11.Response):
                    answer.status = event.status_code
                    answer.headers = joined((name.decode(), value.decode("latin-1"))
                                            for name, value in event.headers)
                elif isinstance(event, h11.Data):
                    pieces.append(bytes(event.data))
                elif isinstance(event, h11.EndOfMessage):
                    answer.whole = True
        except (h11.RemoteProtocolError, OSError) as error:
            answer.why = str(error) or type(error).__name__
        answer.raw = b"".join(pieces)
        if parser.trailing_data[0]:
            answer.whole, answer.why = False, "bytes behind its end"
        if not answer.whole or parser.their_state is not h11.DONE or request.version != "HTTP/1.1":
            self.close()
        return answer

    def exchange(self, requests):
        """The answers, in order."""
        answers = []
        for request in requests:
            for _ in range(ATTEMPTS):
                kind = KEPT if self._sock else NEW
                answer = self._ask(request)
                if answer.status:
                    break
                self.unanswered[kind] += 1
            answers.append(answer)
        return answers
