"""WebSocket (RFC 6455): a server that says back what it gets, and a client's half.

    backend = Switcher()                                  # ws://127.0.0.1:{backend.port}/
    with server.connect() as connection:
        head, talk = switch(connection, "/chat", ae="gzip")
        assert head.status == 101
        talk.send(b"hello")
        assert talk.receive() == (BINARY, b"hello")
        assert backend.wire.received == talk.wire.sent     # byte for byte

The server switches to whatever protocol is asked for; only the frames of `websocket` are read as
such, other protocols' bytes come back as they are. Below /refused it answers 403 with a page.
"""

import base64
import contextlib
import email
import hashlib
import os
import socket
import struct

import pytest

from .client import Response
from .process import Listener

# Where it is not here, the files that import this one are skipped.
_websocket = pytest.importorskip("websocket", reason="websocket is not there (package "
                                 "python3-websocket)")
ABNF, frame_buffer = _websocket.ABNF, _websocket.frame_buffer

BINARY, CLOSE, PING, PONG = (ABNF.OPCODE_BINARY, ABNF.OPCODE_CLOSE, ABNF.OPCODE_PING,
                            ABNF.OPCODE_PONG)

PAGE = b"<p>nobody speaks that here</p>\n" * 300


def accept_key(key):
    """Sec-WebSocket-Accept for Sec-WebSocket-Key."""
    guid = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
    return base64.b64encode(hashlib.sha1((key + guid).encode()).digest()).decode()


def frame(payload, opcode=BINARY, masked=False):
    """One unfragmented frame; clients mask theirs."""
    return ABNF(1, 0, 0, 0, opcode, int(masked), payload).format()


class Wire:
    """Exact reads, and all bytes that went through in either direction."""

    def __init__(self, receive, send):
        self._receive = receive
        self._send = send
        self._buffer = b""
        self.sent = b""
        self.received = b""

    def write(self, data):
        self.sent += data
        self._send(data)

    def read(self, size):
        while len(self._buffer) < size:
            self._fill()
        data, self._buffer = self._buffer[:size], self._buffer[size:]
        self.received += data
        return data

    def read_some(self):
        if not self._buffer:
            self._fill()
        return self.read(len(self._buffer))

    def read_head(self):
        """The bytes up to the blank line; what follows counts anew."""
        while b"\r\n\r\n" not in self._buffer:
            self._fill()
        head = self.read(self._buffer.index(b"\r\n\r\n") + 4)
        self.sent = self.received = b""
        return head

    def read_frame(self):
        """(opcode, payload)"""
        found = frame_buffer(self.read, skip_utf8_validation=True).recv_frame()
        return found.opcode, found.data

    def _fill(self):
        data = self._receive(65536)
        if not data:
            raise EOFError("the other side has closed the connection")
        self._buffer += data


class Talk:
    """The client's half of a switched connection."""

    def __init__(self, wire):
        self.wire = wire

    def send(self, payload, opcode=BINARY):
        self.wire.write(frame(payload, opcode, masked=True))

    def receive(self):
        return self.wire.read_frame()

    def end(self):
        """The closing handshake."""
        code = struct.pack("!H", 1000)
        self.send(code, CLOSE)
        assert self.receive() == (CLOSE, code)


def switch(connection, path, ae=None, protocol="websocket", headers=()):
    """Asks for another protocol: (the answer's header, a Talk behind it)."""
    key = base64.b64encode(os.urandom(16)).decode()
    fields = [("Connection", "Upgrade"), ("Upgrade", protocol), *headers]
    if protocol == "websocket":
        fields += [("Sec-WebSocket-Version", "13"), ("Sec-WebSocket-Key", key)]
    id = connection.send_request(path, ae=ae, headers=fields)
    wire = Wire(connection.receive, connection.send)
    head = Response(wire.read_head(), id)
    if head.status == 101 and protocol == "websocket":
        assert head.headers["Sec-WebSocket-Accept"] == accept_key(key), head
    return head, Talk(wire)


class Switcher(Listener):
    """The server. `first`, where set, is said before anything was asked."""

    def __init__(self):
        self.first = b""
        self.wire = None  # the last switched connection's, from behind the 101 on
        super().__init__(self._talk)

    def _talk(self, sock):
        try:
            self._answer(Wire(sock.recv, sock.sendall))
        finally:
            self._let_the_answer_arrive(sock)

    @staticmethod
    def _let_the_answer_arrive(sock):
        """To close a socket with something unread resets it, whatever was sent before."""
        with contextlib.suppress(OSError):
            sock.shutdown(socket.SHUT_WR)
            sock.settimeout(5)
            while sock.recv(65536):
                pass

    def _answer(self, wire):
        line, _, rest = wire.read_head().partition(b"\r\n")
        fields = email.message_from_bytes(rest)
        protocol = fields["Upgrade"]
        if line.split()[1].startswith(b"/refused") or not protocol:
            wire.write(b"HTTP/1.1 403 Forbidden\r\nContent-Type: text/html\r\n"
                       b"Connection: close\r\nContent-Length: %d\r\n\r\n%s" % (len(PAGE), PAGE))
            return
        websocket = protocol.lower() == "websocket"
        head = ["HTTP/1.1 101 Switching Protocols", "Connection: Upgrade", f"Upgrade: {protocol}",
                "Content-Type: text/html"]
        if websocket:
            head.append(f"Sec-WebSocket-Accept: {accept_key(fields['Sec-WebSocket-Key'])}")
        wire.write("\r\n".join([*head, "", ""]).encode())
        wire.sent = b""
        self.wire = wire
        if self.first:
            wire.write(frame(self.first) if websocket else self.first)
        while True:
            if websocket:
                self._say_back_frame(wire)
            else:
                wire.write(wire.read_some())

    @staticmethod
    def _say_back_frame(wire):
        opcode, payload = wire.read_frame()
        wire.write(frame(payload, PONG if opcode == PING else opcode))
        if opcode == CLOSE:
            raise EOFError
