"""A small HTTP/1.1 server, scripted by tests, for use behind mod_proxy.

    origin.route("/x", lambda exchange: exchange.respond(200, {"ETag": '"1"'}, b"..."))
    origin.route("/y", lambda exchange: exchange.chunked(200, {}, [b"a", 3.0, b"b"]))

A number among the pieces is a pause in seconds. `exchange.method`, `.path`, `.headers` (lower-case
names) and `.body` hold the request, `.peer` the address of the connection's other end;
`.send(bytes)` writes raw bytes. Requests are kept in `origin.seen`.
"""

import socket
import struct
import time

from .process import Listener


class Exchange:
    def __init__(self, sock, method, path, headers, body):
        self._sock = sock
        self.peer = sock.getpeername()
        self.method = method
        self.path = path
        self.headers = headers
        self.body = body
        self.close = False

    def send(self, data):
        self._sock.sendall(data)

    def reset(self):
        """Ends the connection with RST after the handler."""
        self.close = True
        self._sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))

    def head(self, status, headers):
        lines = [f"HTTP/1.1 {status} Scripted"]
        lines += [f"{name}: {value}" for name, value in headers.items()]
        self.send(("\r\n".join(lines) + "\r\n\r\n").encode())

    def respond(self, status, headers, body=b""):
        """A response with Content-Length; without a body if HTTP has none for the status."""
        bare = status in (204, 304)
        extra = {} if bare else {"Content-Length": len(body)}
        self.head(status, {"Content-Type": "text/plain", **headers, **extra})
        if self.method != "HEAD" and not bare:
            self.send(body)

    def chunked(self, status, headers, pieces):
        self.head(status, {"Content-Type": "text/plain", **headers, "Transfer-Encoding": "chunked"})
        if self.method == "HEAD":
            return
        for piece in pieces:
            if isinstance(piece, (int, float)):
                time.sleep(piece)
            elif piece:
                self.send(b"%x\r\n%s\r\n" % (len(piece), piece))
        self.send(b"0\r\n\r\n")

    def until_close(self, status, headers, pieces):
        """A body that ends with the connection."""
        self.close = True
        self.head(status, {"Content-Type": "text/plain", **headers, "Connection": "close"})
        for piece in pieces if self.method != "HEAD" else ():
            self.send(piece)


def raw(fields, body=b"", status="200 OK", version="1.1"):
    """A handler that writes header and body at once. `fields` are pairs or a dict, and complete:
    there is a Content-Length only if they have one."""
    pairs = fields.items() if isinstance(fields, dict) else fields
    lines = "".join(f"{name}: {value}\r\n" for name, value in pairs)
    head = f"HTTP/{version} {status}\r\n{lines}\r\n".encode()
    return lambda exchange: exchange.send(head + (b"" if exchange.method == "HEAD" else body))


def framed(pieces):
    return b"".join(b"%x\r\n%s\r\n" % (len(piece), piece) for piece in pieces) + b"0\r\n\r\n"


def _chunks(reader):
    body = b""
    while size := int(reader.readline().partition(b";")[0] or b"0", 16):
        body += reader.read(size)
        reader.readline()
    reader.readline()
    return body


def breaks_off(body, fields=None, framing="chunked", rest=b"", pause=0.0):
    """A handler whose connection ends after `body` and `rest`, before the message does; `framing`
    is "chunked", or the announced Content-Length."""

    def answer(exchange):
        exchange.close = True
        frame = {"Transfer-Encoding": "chunked"} if framing == "chunked" else \
            {"Content-Length": framing}
        exchange.head(200, {"Content-Type": "text/plain", **(fields or {}), **frame})
        begun = b"%x\r\n%s\r\n" % (len(body), body) if framing == "chunked" else body
        exchange.send(begun + rest)
        time.sleep(pause)

    return answer


def conditional(body, tag, fields=None, modified="Fri, 14 Jul 2017 02:40:00 GMT"):
    """A handler for conditions and ranges of its one body; `tag` None: it has no tags."""

    def answer(exchange):
        asked = exchange.headers
        named = [name.strip().removeprefix("W/")
                 for name in asked.get("if-none-match", "").split(",")]
        header = {"Last-Modified": modified, **({"ETag": tag} if tag else {}), **(fields or {})}
        if "*" in named or (tag or "-").removeprefix("W/") in named or (
                named == [""] and asked.get("if-modified-since") == modified):
            exchange.respond(304, header)
        elif exchange.method != "HEAD" and "range" in asked \
                and asked.get("if-range", tag) in (tag, modified):
            first, last = map(int, asked["range"].removeprefix("bytes=").split("-"))
            exchange.respond(206, {**header, "Content-Range": f"bytes {first}-{last}/{len(body)}"},
                             body[first : last + 1])
        else:
            exchange.respond(200, {**header, "Accept-Ranges": "bytes"}, body)

    return answer


class Origin(Listener):
    def __init__(self):
        self._routes = {}
        self.seen = []
        super().__init__(self._answer)

    @property
    def url(self):
        return f"http://127.0.0.1:{self.port}"

    def route(self, path, handler):
        """`handler(exchange)` answers requests whose path without query is `path`."""
        self._routes[path] = handler

    def _answer(self, sock):
        with sock.makefile("rb") as reader:
            while self._answer_one(sock, reader):
                pass

    def _answer_one(self, sock, reader):
        line = reader.readline().decode("latin-1").split()
        if len(line) != 3:
            return False
        headers = {}
        while (field := reader.readline().decode("latin-1").rstrip("\r\n")):
            name, _, value = field.partition(":")
            headers[name.strip().lower()] = value.strip()
        chunked = headers.get("transfer-encoding") == "chunked"
        body = _chunks(reader) if chunked else reader.read(int(headers.get("content-length", "0")))
        exchange = Exchange(sock, line[0], line[1], headers, body)
        self.seen.append(exchange)
        handler = self._routes.get(line[1].partition("?")[0])
        if handler:
            handler(exchange)
        else:
            exchange.respond(404, {}, b"the origin has no such route\n")
        return not exchange.close
