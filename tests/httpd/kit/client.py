"""A client that shows exact bytes: nothing is decoded, retried or repaired behind the test's back.

http/1.1, http/1.0 and tls (HTTP/1.1 in TLS) use sockets of our own. h2c and h2 (HTTP/2 in TLS) use
curl, whose output is read as it arrives.
"""

import itertools
import os
import select
import socket
import ssl
import struct
import subprocess
import tempfile
import time

from . import decode

_ids = itertools.count(1)


class Incomplete(Exception):
    """The connection ended visibly before the message was complete."""


class Headers:
    """Fields in their order; names in any case."""

    def __init__(self, fields):
        self.fields = fields

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


def _parse_head(text):
    lines = text.decode("latin-1").split("\r\n")
    version, _, rest = lines[0].partition(" ")
    status, _, reason = rest.partition(" ")
    return version, int(status), reason, _parse_fields(lines[1:])


def _parse_fields(lines):
    fields = []
    for line in lines:
        if line:
            name, _, value = line.partition(":")
            fields.append((name.strip(), value.strip()))
    return Headers(fields)


class Response:
    """status, headers, raw (the body as sent), complete, trailers, pieces [(seconds since the
    request, bytes)], interim [the preceding 1xx]; no trailers and interim for HTTP/2."""

    def __init__(self, head, id):
        self.head = head  # the header as sent, with the blank line (not for HTTP/2)
        self.version, self.status, self.reason, self.headers = _parse_head(head)
        self.id = id
        self.pieces = []
        self.complete = False
        self.interim, self.trailers = [], Headers([])

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

    def has_token(self, name, token):
        """True if the list field `name` has `token`, in any case."""
        members = (self.headers.get(name) or "").split(",")
        return token.lower() in (m.strip().lower() for m in members)

    @property
    def varies(self):
        return self.has_token("Vary", "Accept-Encoding")

    def __repr__(self):
        end = "" if self.complete else ", cut"
        return f"<{self.status}, {len(self.raw)} bytes{end}\n{self.headers}>"


def request_fields(host, ae, headers, id):
    """Request fields as [(name, value)]; `headers` is a dict or such a list and overrides Host."""
    given = list(headers.items()) if isinstance(headers, dict) else list(headers or [])
    names = {name.lower() for name, _ in given}
    fields = [] if "host" in names else [("Host", host)]
    if ae is not None:
        fields.append(("Accept-Encoding", ae))
    if id:
        fields.append(("X-Request", id))
    return fields + given


class Connection:
    """One TCP (or TLS) connection."""

    def __init__(self, address, tls=False, timeout=30, version="HTTP/1.1", certificate=None,
                 name="localhost"):
        self.host = address[0]
        self.version = version
        self.sock = socket.create_connection(address[:2], timeout=timeout)
        self.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if tls:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
            context.check_hostname = False
            context.verify_mode = ssl.CERT_NONE
            context.set_alpn_protocols(["http/1.1"])
            if certificate:
                context.load_cert_chain(certificate)
            self.sock = context.wrap_socket(self.sock, server_hostname=name)
        self._buffer = b""
        self._sent = time.monotonic()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        self.sock.close()

    def abort(self):
        """Ends the connection with RST, like a client that crashed."""
        self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.sock.close()

    def send(self, data):
        self._sent = time.monotonic()
        self.sock.sendall(data)

    def send_request(self, path, method="GET", ae=None, headers=None, body=b"", id=None):
        """Sends a request without reading. Returns its id, the argument of `read_head`."""
        id = id or f"{os.getpid()}-{next(_ids)}"
        host = f"[{self.host}]" if ":" in self.host else self.host
        fields = request_fields(host, ae, headers, id)
        if body:
            fields.append(("Content-Length", len(body)))
        lines = [f"{method} {path} {self.version}"] + [f"{n}: {v}" for n, v in fields]
        self.send("\r\n".join(lines).encode("latin-1") + b"\r\n\r\n" + body)
        return id

    def receive(self, size=65536):
        """Returns up to `size` bytes as they arrive; empty at the end."""
        if self._buffer:
            data, self._buffer = self._buffer[:size], self._buffer[size:]
            return data
        return self.sock.recv(size)

    def _line(self):
        while b"\r\n" not in self._buffer:
            more = self.sock.recv(65536)
            if not more:
                raise Incomplete(f"the connection ended within a line: {self._buffer!r}")
            self._buffer += more
        line, self._buffer = self._buffer.split(b"\r\n", 1)
        return line

    def read_head(self, id=None):
        """Returns the header of the next final response."""
        interim = []
        while True:
            response = Response(b"\r\n".join(self._lines()) + b"\r\n\r\n", id)
            if response.status >= 200:
                response.interim = interim
                return response
            interim.append(response)

    def _lines(self):
        """Returns the lines before the next empty one."""
        lines = []
        while (line := self._line()):
            lines.append(line)
        return lines

    def body_pieces(self, response, method="GET"):
        """Yields the body's bytes as they arrive, without chunk framing; marks the response
        complete."""
        headers = response.headers
        if method == "HEAD" or response.status in (204, 304):
            response.complete = True
            return
        if "Transfer-Encoding" in headers:
            yield from self._chunks(response)
        elif "Content-Length" in headers:
            yield from self._exactly(int(headers["Content-Length"]))
        else:
            while (data := self.receive()):
                yield data
        response.complete = True

    def _exactly(self, size):
        while size:
            data = self.receive(min(size, 1 << 20))
            if not data:
                raise Incomplete(f"{size} bytes of the message are missing")
            size -= len(data)
            yield data

    def _chunks(self, response):
        while True:
            size = int(self._line().partition(b";")[0], 16)
            if size == 0:
                response.trailers = _parse_fields(
                    [line.decode("latin-1") for line in self._lines()])
                return
            yield from self._exactly(size)
            if self._line():
                raise Incomplete("a chunk does not end where its size says")

    def read_response(self, id=None, method="GET"):
        """Returns the next response, whole; `complete` is False if the connection ended too
        early."""
        response = self.read_head(id)
        try:
            for data in self.body_pieces(response, method):
                response.pieces.append((time.monotonic() - self._sent, data))
        except (Incomplete, ConnectionError, ssl.SSLError):
            pass
        return response

    def request(self, path, method="GET", ae=None, headers=None, body=b""):
        return self.read_response(self.send_request(path, method, ae, headers, body), method)


class Stream:
    """A response read while it arrives: `wait_for` returns when the decoded text has a given
    part."""

    def __init__(self, response, pieces, close, set_timeout):
        self.response = response
        self.status = response.status
        self.headers = response.headers
        self.coding = response.coding
        self.text = b""  # decoded so far
        self.received = 0  # encoded bytes so far
        self._pieces = pieces
        self._decoder = decode.decoder(response.coding)
        self._close = close
        self._set_timeout = set_timeout

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._close()

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
            self._set_timeout(left)
            if not self.read_piece():
                raise Incomplete(f"the stream ended without {needle!r}")
        return time.monotonic() - start

    def read_all(self, timeout=30.0):
        """Reads the rest, and asserts that the encoded body is whole. Returns the whole decoded
        text."""
        self._set_timeout(timeout)
        while self.read_piece():
            pass
        if not self._decoder.finished():
            raise Incomplete("the encoded body is cut short")
        return self.text


class Curl:
    """A request over HTTP/2: h2c for an http URL, h2 for an https one; its output is read as it
    arrives."""

    def __init__(self, url, method, fields, body, timeout):
        self._dir = tempfile.TemporaryDirectory(prefix="elastic-curl-")
        self._head = os.path.join(self._dir.name, "head")
        version = ["--http2", "-k"] if url.startswith("https:") else ["--http2-prior-knowledge"]
        command = ["curl", "-sS", "-N", *version, "--path-as-is", "--raw",
                   "--max-time", str(timeout), "-D", self._head, "-o", "-", "-A", "",
                   "-H", "Accept:"]
        command += ["--head"] if method == "HEAD" else ["-X", method]
        for name, value in fields:
            # curl drops an empty field unless a semicolon follows its name.
            command += ["-H", f"{name}: {value}" if str(value) else f"{name};"]
        if body:
            command += ["--data-binary", "@-"]
        self.start = time.monotonic()
        self._process = subprocess.Popen(
            command + [url], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        try:
            self._process.stdin.write(body)
            self._process.stdin.close()
        except BrokenPipeError:
            pass
        self._method = method
        self._deadline = None

    def read_head(self, id):
        # curl creates the file first, and fills it when the header comes.
        while not self._head_is_whole():
            if self._process.poll() is not None and not self._head_is_whole():
                said = self._process.stderr.read().decode()
                self.close()
                raise Incomplete(f"curl: {said}")
            time.sleep(0.002)
        with open(self._head, "rb") as file:
            heads = [h for h in file.read().split(b"\r\n\r\n") if h]
        response = Response(heads[-1] + b"\r\n\r\n", id)
        # curl falls back to HTTP/1.1 silently.
        assert response.version == "HTTP/2", response
        return response

    def _head_is_whole(self):
        try:
            with open(self._head, "rb") as file:
                return file.read().endswith(b"\r\n\r\n")
        except FileNotFoundError:
            return False

    def set_timeout(self, seconds):
        self._deadline = time.monotonic() + seconds

    def body_pieces(self, response):
        out = self._process.stdout
        while True:
            if self._deadline:
                left = max(0, self._deadline - time.monotonic())
                if not select.select([out], [], [], left)[0]:
                    raise TimeoutError("nothing arrived in time")
            data = os.read(out.fileno(), 65536)
            if not data:
                break
            if self._method != "HEAD":  # with --head, it prints the header there
                yield data
        code = self._process.wait()
        if code:
            raise Incomplete(f"curl ended with {code}: {self._process.stderr.read().decode()}")
        response.complete = True

    def close(self):
        self._process.kill()
        self._process.wait()
        self._process.stdout.close()
        self._process.stderr.close()
        self._dir.cleanup()


def _curl(url, method, host, ae, headers, body, timeout):
    """Returns a Curl and the response's header."""
    id = f"{os.getpid()}-{next(_ids)}"
    curl = Curl(url, method, request_fields(host, ae, headers, id), body, timeout)
    return curl, curl.read_head(id)


def _ask_http2(url, method, host, ae, headers, body, timeout):
    """The same. On a busy machine mod_http2 ends one in some fifty streams of HEAD for a script
    with PROTOCOL_ERROR before it has sent anything, without this module as well: it is asked
    again, twice at most."""
    for last in (False, False, True):
        try:
            return _curl(url, method, host, ae, headers, body, timeout)
        except Incomplete as error:
            if last or method != "HEAD" or "PROTOCOL_ERROR" not in str(error):
                raise


def fetch_http2(url, method, host, ae, headers, body, timeout):
    curl, response = _ask_http2(url, method, host, ae, headers, body, timeout)
    try:
        for data in curl.body_pieces(response):
            response.pieces.append((time.monotonic() - curl.start, data))
    except Incomplete:
        pass
    finally:
        curl.close()
    return response


def stream_http2(url, host, ae, headers, timeout):
    curl, response = _curl(url, "GET", host, ae, headers, b"", timeout)
    return Stream(response, curl.body_pieces(response), curl.close, curl.set_timeout)


def stream(connection, path, ae, headers):
    response = connection.read_head(connection.send_request(path, "GET", ae, headers))
    return Stream(response, connection.body_pieces(response), connection.close,
                  connection.sock.settimeout)
