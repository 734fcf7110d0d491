"""A client of HTTP/2 on a socket, whose windows and resets are its user's. HPACK is libnghttp2's,
which mod_http2 needs as well.

    client = Client(("127.0.0.1", 8080))
    answers = client.exchange([Request("GET", "/a.txt"), Request("GET", "/b.txt")])
"""

import ctypes
import socket
import struct

from .http1 import ATTEMPTS, TIMEOUT, Answer, Ended, tls_context

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
DATA, HEADERS, RST_STREAM, SETTINGS, PING, GOAWAY, WINDOW_UPDATE = 0, 1, 3, 4, 6, 7, 8
CONTINUATION = 9
END_STREAM, ACK, END_HEADERS, PADDED = 1, 1, 4, 8
ENABLE_PUSH, INITIAL_WINDOW = 2, 4
NO_ERROR, CANCEL = 0, 8
LARGEST_WINDOW = (1 << 31) - 1
FRAME_MOST = 16384
AT_ONCE = 16  # streams

# Fields that HTTP/2 does not know (RFC 9113 §8.2.2).
OF_THE_CONNECTION = ("connection", "keep-alive", "transfer-encoding", "upgrade", "host")


class _Field(ctypes.Structure):
    _fields_ = [("name", ctypes.c_void_p), ("value", ctypes.c_void_p),
                ("namelen", ctypes.c_size_t), ("valuelen", ctypes.c_size_t),
                ("flags", ctypes.c_uint8)]


class _Inflater:
    """HPACK undone, by libnghttp2."""

    _library = None

    def __init__(self):
        if not _Inflater._library:
            library = ctypes.CDLL("libnghttp2.so.14")
            library.nghttp2_hd_inflate_hd2.restype = ctypes.c_ssize_t
            _Inflater._library = library
        self._self = ctypes.c_void_p()
        if self._library.nghttp2_hd_inflate_new(ctypes.byref(self._self)):
            raise MemoryError("nghttp2_hd_inflate_new")

    def fields(self, block):
        at, found = 0, []
        field, flags = _Field(), ctypes.c_int()
        while True:
            used = self._library.nghttp2_hd_inflate_hd2(
                self._self, ctypes.byref(field), ctypes.byref(flags), block[at:],
                ctypes.c_size_t(len(block) - at), 1)
            if used < 0:
                raise Ended(f"a header that cannot be decoded ({used})")
            at += used
            if flags.value & 2:
                found.append((ctypes.string_at(field.name, field.namelen).decode("latin-1"),
                              ctypes.string_at(field.value, field.valuelen).decode("latin-1")))
            if flags.value & 1:
                self._library.nghttp2_hd_inflate_end_headers(self._self)
                return found

    def close(self):
        self._library.nghttp2_hd_inflate_del(self._self)


def _number(value, bits):
    """An integer of HPACK (RFC 7541 §5.1), its first byte's upper bits 0."""
    most = (1 << bits) - 1
    if value < most:
        return bytes([value])
    value -= most
    out = bytearray([most])
    while value >= 128:
        out.append(value & 127 | 128)
        value >>= 7
    out.append(value)
    return bytes(out)


def header_block(pairs):
    """Literal fields, never indexed and not compressed."""
    out = bytearray()
    for name, value in pairs:
        name, value = name.encode("latin-1"), value.encode("latin-1")
        out += b"\x10" + _number(len(name), 7) + name + _number(len(value), 7) + value
    return bytes(out)


class Stream:
    def __init__(self, id):
        self.id = id
        self.answer = Answer()
        self.pieces = []
        self.ended = False
        self.credit = 0  # bytes that may be sent on it

    def finish(self, why=""):
        self.answer.raw = b"".join(self.pieces)
        self.answer.whole = not why
        self.answer.why = why
        self.ended = True


class Connection:
    """`window`: of each stream; what was read is given back where `refill` is True."""

    def __init__(self, address, tls=False, window=LARGEST_WINDOW, refill=True):
        self.sock = socket.create_connection(address, timeout=TIMEOUT)
        self.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if tls:
            self.sock = tls_context("h2").wrap_socket(self.sock)
        self.streams = {}
        self.going_away = False
        self._next = 1
        self._refill = refill
        self._unread = 0
        self._inflater = _Inflater()
        self._block = b""
        self._buffer = bytearray()
        self._credit = 65535
        self._initial_credit = 65535
        settings = struct.pack("!HIHI", ENABLE_PUSH, 0, INITIAL_WINDOW, window)
        self.sock.sendall(PREFACE + self.frame(SETTINGS, 0, 0, settings)
                          + self.frame(WINDOW_UPDATE, 0, 0,
                                       struct.pack("!I", LARGEST_WINDOW - 65535)))

    @staticmethod
    def frame(kind, flags, stream, payload=b""):
        return struct.pack("!I", len(payload))[1:] + bytes([kind, flags]) \
            + struct.pack("!I", stream) + payload

    def close(self):
        self.sock.close()
        self._inflater.close()

    def abort(self):
        """Ends with RST."""
        self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.close()

    def open(self, request):
        """Sends a request; the stream."""
        stream = self.streams[self._next] = Stream(self._next)
        self._next += 2
        stream.credit = self._initial_credit
        pairs = [(":method", request.method), (":scheme", "http"), (":path", request.path),
                 (":authority", "localhost")]
        pairs += [(name.lower(), value) for name, value in request.headers
                  if name.lower() not in OF_THE_CONNECTION]
        if request.body:
            pairs.append(("content-length", str(len(request.body))))
        self.sock.sendall(self.frame(HEADERS, END_HEADERS | (0 if request.body else END_STREAM),
                                     stream.id, header_block(pairs)))
        at = 0
        while at < len(request.body) and not stream.ended:
            most = min(FRAME_MOST, stream.credit, self._credit, len(request.body) - at)
            if most <= 0:
                self.receive()
                continue
            last = at + most == len(request.body)
            self.sock.sendall(self.frame(DATA, END_STREAM if last else 0, stream.id,
                                         request.body[at:at + most]))
            at += most
            stream.credit -= most
            self._credit -= most
        return stream

    def reset(self, stream):
        self.sock.sendall(self.frame(RST_STREAM, 0, stream.id, struct.pack("!I", CANCEL)))
        self.streams.pop(stream.id, None)

    def grant(self, stream, nbytes):
        """Opens the stream's window."""
        self.sock.sendall(self.frame(WINDOW_UPDATE, 0, stream.id, struct.pack("!I", nbytes)))

    def receive(self):
        """Reads once, and takes all frames that are whole."""
        data = self.sock.recv(262144)
        if not data:
            raise Ended("the connection ended")
        self._buffer += data
        while len(self._buffer) >= 9:
            length = int.from_bytes(self._buffer[:3], "big")
            if len(self._buffer) < 9 + length:
                return
            kind, flags = self._buffer[3], self._buffer[4]
            stream = int.from_bytes(self._buffer[5:9], "big") & LARGEST_WINDOW
            payload = bytes(self._buffer[9:9 + length])
            del self._buffer[:9 + length]
            self._take(kind, flags, self.streams.get(stream), payload)

    def _take(self, kind, flags, stream, payload):
        if kind == DATA:
            self._take_data(flags, stream, payload)
        elif kind in (HEADERS, CONTINUATION):
            self._take_header(kind, flags, stream, payload)
        elif kind == RST_STREAM and stream:
            code = struct.unpack("!I", payload)[0]
            # A server that has answered may end a request that it does not want to read.
            if not (stream.ended and code == NO_ERROR):
                stream.finish(f"the stream was reset ({code})")
        elif kind == SETTINGS and not flags & ACK:
            self._take_settings(payload)
        elif kind == PING and not flags & ACK:
            self.sock.sendall(self.frame(PING, ACK, 0, payload))
        elif kind == WINDOW_UPDATE:
            nbytes = struct.unpack("!I", payload)[0]
            if stream:
                stream.credit += nbytes
            else:
                self._credit += nbytes
        elif kind == GOAWAY:
            self.going_away = True

    def _take_settings(self, payload):
        for at in range(0, len(payload), 6):
            name, value = struct.unpack("!HI", payload[at:at + 6])
            if name == INITIAL_WINDOW:
                for stream in self.streams.values():
                    stream.credit += value - self._initial_credit
                self._initial_credit = value
        self.sock.sendall(self.frame(SETTINGS, ACK, 0))

    def _take_data(self, flags, stream, payload):
        self._unread += len(payload)
        if self._unread > 1 << 24:
            self.sock.sendall(self.frame(WINDOW_UPDATE, 0, 0, struct.pack("!I", self._unread)))
            self._unread = 0
        if not stream:
            return
        if self._refill and payload and not flags & END_STREAM:
            self.grant(stream, len(payload))
        if flags & PADDED:
            payload = payload[1:len(payload) - payload[0]]
        stream.pieces.append(payload)
        if flags & END_STREAM:
            stream.finish()

    def _take_header(self, kind, flags, stream, payload):
        self._block = payload if kind == HEADERS else self._block + payload
        if kind == HEADERS and flags & PADDED:
            self._block = payload[1:len(payload) - payload[0]]
        if kind == HEADERS:
            self._ends = bool(flags & END_STREAM)
        if not flags & END_HEADERS:
            return
        fields = {}
        for name, value in self._inflater.fields(self._block):
            fields[name] = f"{fields[name]}, {value}" if name in fields else value
        if not stream:
            return
        status = int(fields.pop(":status", 0))
        if status >= 200:
            stream.answer.status, stream.answer.headers = status, fields
        if self._ends:
            stream.finish()


class Client:
    """The same answers as http1.Client gives, up to AT_ONCE at a time."""

    def __init__(self, address, tls=False):
        self._address = address
        self._tls = tls
        self._connection = None

    def close(self):
        if self._connection:
            self._connection.close()
        self._connection = None

    def _some(self, requests):
        streams, waiting = [], list(requests)
        try:
            if not self._connection:
                self._connection = Connection(self._address, self._tls)
            connection = self._connection
            while waiting or not all(stream.ended for stream in streams):
                while waiting and not connection.going_away and \
                        sum(not stream.ended for stream in streams) < AT_ONCE:
                    streams.append(connection.open(waiting.pop(0)))
                if all(stream.ended for stream in streams):
                    break
                connection.receive()
        except (Ended, OSError) as error:
            for stream in streams:
                if not stream.ended:
                    stream.finish(str(error) or type(error).__name__)
            self.close()
        if self._connection and self._connection.going_away:
            self.close()
        elif self._connection:
            for stream in streams:
                self._connection.streams.pop(stream.id, None)
        return [stream.answer for stream in streams]

    def exchange(self, requests):
        answers = [Answer()] * len(requests)
        left = list(range(len(requests)))
        for _ in range(ATTEMPTS):
            seen = self._some([requests[i] for i in left])
            for i, answer in zip(left, seen):
                answers[i] = answer
            # Streams beyond the last that a closing server takes are not answered at all.
            left = [i for i in left if not answers[i].status and not answers[i].whole]
            if not left:
                break
        return answers
