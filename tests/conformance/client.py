"""One request over a connection of its own, with just the fields that are given."""

import dataclasses
import http.client
import ssl
import time
import urllib.parse
import zlib

TIMEOUT = 20  # seconds


@dataclasses.dataclass(frozen=True)
class Answer:
    status: int
    fields: list  # (name in small letters, value), in order
    body: bytes  # as it came, without chunks

    def get(self, name):
        """The values of a field, joined; None where there is none."""
        values = [value for field, value in self.fields if field == name]
        return ", ".join(values) if values else None

    def list(self, name):
        """The members of a field that is a list, in small letters."""
        return [one.strip().lower() for one in (self.get(name) or "").split(",") if one.strip()]

    @property
    def coding(self):
        return (self.get("content-encoding") or "").lower()

    @property
    def tag(self):
        return self.get("etag")

    def plain(self):
        """The decoded body; ValueError where it is damaged, or its coding is unknown."""
        return decode(self.body, self.coding)


def decode(body, coding):
    if coding in ("", "identity"):
        return body
    if coding in ("gzip", "x-gzip"):
        decoder = zlib.decompressobj(31)
        try:
            plain = decoder.decompress(body)
        except zlib.error as problem:
            raise ValueError(str(problem)) from None
        if not decoder.eof or decoder.unused_data:
            raise ValueError("the gzip body is cut short or has a tail")
        return plain
    if coding == "deflate":
        return zlib.decompress(body)
    if coding == "br":
        import brotli

        try:
            return brotli.decompress(body)
        except brotli.error as problem:
            raise ValueError(str(problem)) from None
    if coding == "zstd":
        import zstandard

        with zstandard.ZstdDecompressor().stream_reader(body) as reader:
            return reader.read()
    raise ValueError(f"the unknown coding '{coding}'")


def begun(body, coding):
    """What a decoder has of the beginning of a body."""
    if coding in ("gzip", "x-gzip"):
        return zlib.decompressobj(31).decompress(body)
    if coding == "br":
        import brotli

        return brotli.Decompressor().process(body)
    if coding == "zstd":
        import zstandard

        return zstandard.ZstdDecompressor().decompressobj().decompress(body)
    return body


class Client:
    """Asks the server of a base URL."""

    def __init__(self, base):
        self.base = urllib.parse.urlsplit(base)

    def connect(self):
        if self.base.scheme == "https":
            return http.client.HTTPSConnection(self.base.netloc, timeout=TIMEOUT,
                                               context=ssl._create_unverified_context())
        return http.client.HTTPConnection(self.base.netloc, timeout=TIMEOUT)

    def ask(self, path, accept=None, method="GET", body=None, **fields):
        """The Answer; a field's name is written with _ for -, `accept` is its Accept-Encoding."""
        connection = self.connect()
        try:
            self.send(connection, path, accept, method, body, fields)
            response = connection.getresponse()
            return Answer(response.status, [(name.lower(), value) for name, value
                                            in response.getheaders()], response.read())
        finally:
            connection.close()

    def send(self, connection, path, accept, method, body, fields):
        connection.putrequest(method, self.base.path.rstrip("/") + path,
                              skip_accept_encoding=True)
        if accept is not None:
            connection.putheader("Accept-Encoding", accept)
        for name, value in fields.items():
            connection.putheader(name.replace("_", "-"), value)
        if body is not None:
            connection.putheader("Content-Length", str(len(body)))
        connection.endheaders(body)

    def first_byte(self, path, accept):
        """Seconds until the first byte of a body, and until its end."""
        connection = self.connect()
        try:
            began = time.monotonic()
            self.send(connection, path, accept, "GET", None, {})
            response = connection.getresponse()
            response.read(1)
            first = time.monotonic() - began
            response.read()
            return first, time.monotonic() - began
        finally:
            connection.close()
