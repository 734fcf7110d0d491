"""Request bodies that come encoded.

    answer = post(server, "/elastic/echo.cgi", encode(BODY, "gzip", "br"), "gzip, br")
    connection.send(head("/elastic/x", Content_Encoding="gzip", Content_Length=len(sent)) + sent)
"""

import gzip

import brotli
import zstandard

from . import env

# Those that are decoded, as Accept-Encoding of a 415 has them.
CODINGS = ("gzip", "br", *["zstd"] * env.HAS_ZSTD)
KNOWN = ", ".join(CODINGS)

# The ways of asking for the decoder, each in force below a place of that name.
WAYS = {"elastic": "ElasticInflate On", "deflate": "SetInputFilter DEFLATE"}
PLACES = "".join(f"<Location ~ /{name}/>\n{line}\n</Location>\n" for name, line in WAYS.items())


_ENCODERS = {
    "gzip": lambda data: gzip.compress(data, mtime=0),
    "br": lambda data: brotli.compress(data, quality=3),
    "zstd": zstandard.ZstdCompressor(level=3, write_checksum=True).compress,
}


def encode(data, *codings):
    """The codings in the order in which they are applied."""
    for coding in codings:
        data = _ENCODERS[coding.removeprefix("x-")](data)
    return data


def post(server, path, body, coding="gzip", headers=None, method="POST", **kw):
    fields = {**(headers or {}), **({"Content-Encoding": coding} if coding else {})}
    return server.get(path, headers=fields, method=method, body=body, **kw)


def head(path, **fields):
    """The bytes of a POST's header; names of fields have underscores."""
    lines = "".join(f"{name.replace('_', '-')}: {value}\r\n" for name, value in fields.items())
    return f"POST {path} HTTP/1.1\r\nHost: x\r\n{lines}\r\n".encode()
