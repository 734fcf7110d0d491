"""Decoders that accept exactly one complete encoded body with nothing after it."""

import zlib

import brotli
import zstandard


DCZ = bytes.fromhex("5e2a4d1820000000")  # before the dictionary's hash


class DecodeError(ValueError):
    pass


class Identity:
    def feed(self, data):
        return data

    def finished(self):
        return True


class _Library:
    """A library's decoder: its exception, whether it is at the end, and the bytes after it."""

    def __init__(self, coding, decode, error, is_finished, unused=lambda: b""):
        self._coding = coding
        self._decode = decode
        self._error = error
        self._unused = unused
        self.finished = is_finished

    def _refuse_behind_the_end(self, data):
        if data:
            raise DecodeError(f"{self._coding}: {len(data)} bytes behind the end")

    def feed(self, data):
        if self.finished():
            self._refuse_behind_the_end(data)
        if not data:
            return b""
        try:
            out = self._decode(data)
        except self._error as error:
            raise DecodeError(f"{self._coding}: {error}") from error
        self._refuse_behind_the_end(self._unused())
        return out


def _gzip():
    z = zlib.decompressobj(16 + zlib.MAX_WBITS)
    return _Library("gzip", z.decompress, zlib.error, lambda: z.eof, lambda: z.unused_data)


def _brotli():
    b = brotli.Decompressor()

    def process(data):
        """In release 1.1, process() returns at most its first buffer of 32 KB if the input ends
        there. A call without input returns the rest."""
        out = b.process(data)
        while not b.is_finished() and (more := b.process(b"")):
            out += more
        return out

    return _Library("br", process, brotli.error, b.is_finished)


def _zstd():
    """With the largest window that browsers accept (RFC 9659)."""
    z = zstandard.ZstdDecompressor(max_window_size=8 << 20).decompressobj()
    return _Library("zstd", z.decompress, zstandard.ZstdError, lambda: z.eof,
                    lambda: z.unused_data)


_DECODERS = {None: Identity, "": Identity, "identity": Identity, "gzip": _gzip, "x-gzip": _gzip,
             "br": _brotli, "zstd": _zstd}


def decoder(coding):
    """An incremental decoder: feed(bytes) -> bytes that can be shown now; finished()."""
    if coding not in _DECODERS:
        raise DecodeError(f"unknown coding {coding!r}")
    return _DECODERS[coding]()


def decode(coding, data, dictionary=b""):
    """Decodes the whole body; raises if it is truncated, damaged or followed by anything.
    `dictionary` is for dcz."""
    if coding == "dcz":
        return decode_difference(data, dictionary)
    d = decoder(coding)
    # br's decoder ignores bytes that follow in the same call, so the last one goes separately.
    out = d.feed(data[:-1]) + d.feed(data[-1:])
    if not d.finished():
        raise DecodeError(f"{coding}: the body of {len(data)} bytes is cut short")
    return out


def decode_difference(data, dictionary):
    known = zstandard.ZstdCompressionDict(dictionary, dict_type=zstandard.DICT_TYPE_RAWCONTENT)
    frame = zstandard.ZstdDecompressor(dict_data=known).decompressobj()
    try:
        body = frame.decompress(data[len(DCZ) + 32:])  # after the dictionary's hash
    except zstandard.ZstdError as error:
        raise DecodeError(f"dcz: {error}") from error
    if not frame.eof or frame.unused_data or not data.startswith(DCZ):
        raise DecodeError("dcz: cut short, followed by something, or without its head")
    return body
