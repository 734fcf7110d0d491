"""Decoders that accept exactly one complete encoded body and nothing behind it."""

import zlib

import brotli
import zstandard


class DecodeError(Exception):
    pass


class Identity:
    def feed(self, data):
        return data

    def finished(self):
        return True


class Gzip:
    def __init__(self):
        self._z = zlib.decompressobj(16 + zlib.MAX_WBITS)

    def feed(self, data):
        try:
            out = self._z.decompress(data)
        except zlib.error as error:
            raise DecodeError(f"gzip: {error}") from error
        if self._z.unused_data:
            raise DecodeError(f"gzip: {len(self._z.unused_data)} bytes behind the end")
        return out

    def finished(self):
        return self._z.eof


class Brotli:
    def __init__(self):
        self._b = brotli.Decompressor()

    def feed(self, data):
        if not data:
            return b""
        if self._b.is_finished():
            raise DecodeError(f"br: {len(data)} bytes behind the end")
        try:
            return self._b.process(data)
        except brotli.error as error:
            raise DecodeError(f"br: {error}") from error

    def finished(self):
        return self._b.is_finished()


class Zstd:
    """With no larger window than browsers take (RFC 9659)."""

    def __init__(self):
        self._z = zstandard.ZstdDecompressor(max_window_size=8 << 20).decompressobj()

    def feed(self, data):
        if not data:
            return b""
        if self._z.eof:
            raise DecodeError(f"zstd: {len(data)} bytes behind the end")
        try:
            out = self._z.decompress(data)
        except zstandard.ZstdError as error:
            raise DecodeError(f"zstd: {error}") from error
        if self._z.unused_data:
            raise DecodeError(f"zstd: {len(self._z.unused_data)} bytes behind the end")
        return out

    def finished(self):
        return self._z.eof


def decoder(coding):
    """An incremental decoder: feed(bytes) -> bytes that can be shown now; finished()."""
    if coding in (None, "", "identity"):
        return Identity()
    if coding in ("gzip", "x-gzip"):
        return Gzip()
    if coding == "br":
        return Brotli()
    if coding == "zstd":
        return Zstd()
    raise DecodeError(f"unknown coding {coding!r}")


def decode(coding, data):
    """The whole body `data`; raises where it is cut short, damaged or followed by anything."""
    d = decoder(coding)
    # br's decoder is silent about bytes that follow in the same call: the last one goes separately.
    out = d.feed(data[:-1]) + d.feed(data[-1:])
    if not d.finished():
        raise DecodeError(f"{coding}: the body of {len(data)} bytes is cut short")
    return out
