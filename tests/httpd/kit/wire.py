"""Lengths on the wire: of TLS records, which everybody on the way sees, and of HTTP/2's frames.

    with wire.Http2(server) as connection:
        answers = [connection.get("/a.txt", ae="gzip") for _ in range(10)]
    [answer.records for answer in answers]      # bytes of TLS records that came with each
"""

import collections
import socket
import ssl

APPLICATION_DATA = 23  # a TLS record's type (RFC 8446 §5.1)

# Frames of HTTP/2 and their flags (RFC 9113 §6).
DATA, HEADERS, SETTINGS, WINDOW_UPDATE = 0, 1, 4, 8
ACK = END_STREAM = 1
END_HEADERS = 4
PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"

# records: bytes in TLS records; header: bytes of the header, as text or as HPACK has it.
Answer = collections.namedtuple("Answer", "records header body")


class _Tls:
    """A TLS connection that counts its records."""

    def __init__(self, server, protocol):
        self.counted = 0
        self._raw = b""  # of a record that has not come whole
        self._sock = socket.create_connection(("127.0.0.1", server.tls_port), timeout=60)
        self._sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._in, self._out = ssl.MemoryBIO(), ssl.MemoryBIO()
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
        context.set_alpn_protocols([protocol])
        self._tls = context.wrap_bio(self._in, self._out, server_hostname="localhost")
        self._do(self._tls.do_handshake)
        assert self._tls.selected_alpn_protocol() == protocol

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._sock.close()

    def _do(self, operation, *arguments):
        while True:
            try:
                return operation(*arguments)
            except ssl.SSLWantReadError:
                self._flush()
                self._receive()
            finally:
                self._flush()

    def _flush(self):
        if self._out.pending:
            self._sock.sendall(self._out.read())

    def _receive(self):
        data = self._sock.recv(65536)
        if not data:
            raise ConnectionError("the server closed the connection")
        self._in.write(data)
        self._raw += data
        while len(self._raw) >= 5:
            end = 5 + int.from_bytes(self._raw[3:5], "big")
            if len(self._raw) < end:
                break
            if self._raw[0] == APPLICATION_DATA:
                self.counted += end
            self._raw = self._raw[end:]

    def send(self, data):
        self._do(self._tls.write, data)

    def read(self, size):
        data = b""
        while len(data) < size:
            data += self._do(self._tls.read, size - len(data))
        return data

    def take(self):
        """The bytes of records since the last call."""
        counted, self.counted = self.counted, 0
        return counted


class Http1(_Tls):
    """HTTP/1.1 within TLS, for responses with a Content-Length."""

    def __init__(self, server):
        super().__init__(server, "http/1.1")

    def get(self, path, ae):
        self.take()
        self.send(f"GET {path} HTTP/1.1\r\nHost: x\r\nAccept-Encoding: {ae}\r\n\r\n".encode())
        header = b""
        while not header.endswith(b"\r\n\r\n"):
            header += self.read(1)
        [length] = [int(line.split(b":")[1]) for line in header.split(b"\r\n")
                    if line.lower().startswith(b"content-length:")]
        return Answer(header=header, body=self.read(length), records=self.take())


def _frame(kind, flags, stream, payload):
    return len(payload).to_bytes(3, "big") + bytes([kind, flags]) + stream.to_bytes(4, "big") + \
        payload


def _field(name, value):
    """A literal that goes into no table, without Huffman's code (RFC 7541 §6.2.2)."""
    return b"\0" + b"".join(bytes([len(text)]) + text.encode() for text in (name, value))


class Http2(_Tls):
    """HTTP/2 within TLS, for bodies of less than a stream's window, 64 KB."""

    def __init__(self, server):
        super().__init__(server, "h2")
        self._stream = -1
        self.send(PREFACE + _frame(SETTINGS, 0, 0, b""))

    def get(self, path, ae):
        self.take()
        self._stream += 2
        fields = {":method": "GET", ":scheme": "https", ":authority": "x", ":path": path,
                  "accept-encoding": ae}
        self.send(_frame(HEADERS, END_STREAM | END_HEADERS, self._stream,
                         b"".join(_field(*field) for field in fields.items())))
        came = {DATA: b"", HEADERS: b""}
        ended = False
        while not ended:
            head = self.read(9)
            kind, flags, stream = head[3], head[4], int.from_bytes(head[5:], "big")
            payload = self.read(int.from_bytes(head[:3], "big"))
            if kind == SETTINGS and not flags & ACK:
                self.send(_frame(SETTINGS, ACK, 0, b""))
            if stream == self._stream:
                assert kind in came, (kind, payload)
                came[kind] += payload
                ended = flags & END_STREAM
        self.send(_frame(WINDOW_UPDATE, 0, 0, len(came[DATA]).to_bytes(4, "big")))
        return Answer(header=came[HEADERS], body=came[DATA], records=self.take())
