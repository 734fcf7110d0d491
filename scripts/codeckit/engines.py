"""Bodies encoded whole, with a context for each, or one context for all of them.

An encoder takes a body and returns the size of its encoded form; the bytes stay in a buffer of its
own. A library that is not installed is left out.
"""

import ctypes
import functools
import typing
import zlib

from codeckit import libraries

MARGIN = 4096  # the most that incompressible bodies grow, beside 1 %
DEFLATED, GZIP_WINDOW, MEMORY_LEVEL, DEFAULT_STRATEGY, FINISH = 8, 15 + 16, 9, 0, 4

# A context is made for each body, in memory fresh from the system; made for each, in reused memory;
# or kept for all of them.
CONTEXTS = FRESH, REMADE, KEPT = "fresh", "remade", "kept"


class Encoder:
    """Encodes bodies; `kept`: one context serves for all of them."""

    contexts = CONTEXTS  # supported by its library

    def __init__(self, lib, level, largest, kept=False):
        self.lib, self.level, self.kept = lib, level, kept
        self.capacity = largest + largest // 100 + MARGIN
        self.buffer = ctypes.create_string_buffer(self.capacity)
        if kept:
            self.open()

    def open(self):
        """Makes a context."""

    def close(self):
        """Returns it."""

    def run(self, body):
        """Encodes into the buffer with the open context; returns the size."""
        raise NotImplementedError

    def encode(self, body):
        if self.kept:
            return self.run(body)
        self.open()
        size = self.run(body)
        self.close()
        return size

    def bytes_of(self, body):
        size = self.encode(body)
        return self.buffer.raw[:size]


class Zlib(Encoder):
    """zlib as mod_deflate sets it: gzip's framing, window 15, memory level 9."""

    levels = range(1, 10)
    fresh = True

    def open(self):
        self.stream = libraries.ZlibStream()
        self.pointer = ctypes.byref(self.stream)
        self.fresh = True
        if self.lib.deflateInit2_(self.pointer, self.level, DEFLATED, GZIP_WINDOW,
                                  MEMORY_LEVEL, DEFAULT_STRATEGY,
                                  zlib.ZLIB_RUNTIME_VERSION.encode(),
                                  ctypes.sizeof(self.stream)):
            raise OSError("zlib makes no encoder")

    def close(self):
        self.lib.deflateEnd(self.pointer)

    def run(self, body):
        if not self.fresh:
            self.lib.deflateReset(self.pointer)
        self.fresh = False
        self.stream.next_in, self.stream.avail_in = body, len(body)
        self.stream.next_out = ctypes.addressof(self.buffer)
        self.stream.avail_out = self.capacity
        self.lib.deflate(self.pointer, FINISH)
        return self.capacity - self.stream.avail_out


class Libdeflate(Encoder):
    levels = range(1, 13)

    def open(self):
        self.context = libraries.created(self.lib.libdeflate_alloc_compressor(self.level),
                                         "libdeflate")

    def close(self):
        self.lib.libdeflate_free_compressor(self.context)

    def run(self, body):
        return self.lib.libdeflate_gzip_compress(self.context, body, len(body), self.buffer,
                                                 self.capacity)


class Zstd(Encoder):
    levels = range(1, 10)

    def open(self):
        self.context = libraries.created(self.lib.ZSTD_createCCtx(), "zstd")

    def close(self):
        self.lib.ZSTD_freeCCtx(self.context)

    def run(self, body):
        return self.lib.ZSTD_compressCCtx(self.context, self.buffer, self.capacity, body,
                                          len(body), self.level)


ISAL_STREAM = 128 << 10  # bytes; an isal_zstream of version 2.30 has 82384
ISAL_TABLES = (0, 282624, 331776, 348160)  # its ISAL_DEF_LVLn_LARGE
ISAL_GZIP = 1


class Isal(Encoder):
    levels = range(4)

    def open(self):
        self.memory = ctypes.CDLL(None)
        self.memory.malloc.restype = libraries.POINTER
        self.memory.malloc.argtypes = (libraries.SIZE,)
        self.memory.free.argtypes = (libraries.POINTER,)
        self.pointer = self.memory.malloc(ISAL_STREAM)
        self.tables = self.memory.malloc(ISAL_TABLES[self.level]) if self.level else None

    def close(self):
        self.memory.free(self.pointer)
        self.memory.free(self.tables)

    def run(self, body):
        self.lib.isal_deflate_init(self.pointer)
        stream = libraries.IsalStream.from_address(self.pointer)
        stream.level, stream.level_buf = self.level, self.tables
        stream.level_buf_size = ISAL_TABLES[self.level]
        stream.gzip_flag, stream.end_of_stream = ISAL_GZIP, 1
        stream.next_in, stream.avail_in = body, len(body)
        stream.next_out, stream.avail_out = ctypes.addressof(self.buffer), self.capacity
        if self.lib.isal_deflate_stateless(self.pointer):
            raise OSError("ISA-L failed")
        return stream.total_out


class Brotli(Encoder):
    """Its encoder cannot be reused: every call makes one."""

    levels = range(7)  # the module's range
    contexts = (FRESH, REMADE)

    WINDOW, GENERIC = 18, 0

    def run(self, body):
        size = libraries.SIZE(self.capacity)
        if not self.lib.BrotliEncoderCompress(self.level, self.WINDOW, self.GENERIC, len(body),
                                              body, ctypes.byref(size), self.buffer):
            raise OSError("brotli failed")
        return size.value


class Engine(typing.NamedTuple):
    """An installed library, and its encoders."""

    levels: range
    make: typing.Callable  # of (level, largest body, keep the context)
    contexts: tuple


KINDS = {"zlib": Zlib, "libdeflate": Libdeflate, "ISA-L": Isal, "zstd": Zstd, "brotli": Brotli}


@functools.lru_cache(maxsize=None)
def installed():
    """{name: Engine} of the installed libraries."""
    return {name: Engine(kind.levels, functools.partial(kind, libraries.load(name)),
                         kind.contexts)
            for name, kind in KINDS.items() if libraries.load(name)}


def whole(name, level, body):
    """Encodes a body in one call, by an encoder of its own."""
    return KINDS[name](libraries.needed(name), level, len(body)).bytes_of(body)
