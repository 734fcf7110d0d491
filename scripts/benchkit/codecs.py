"""Compression libraries called directly: encoders of each, with fresh and with kept contexts.

They are reached through ctypes, so that nothing needs to be compiled. An encoder takes a body and
gives the size of its gzip (zstd: zstd) form; the bytes stay in a buffer of its own. Only whole
bodies are encoded. A library that is not installed is left out.
"""

import contextlib
import ctypes
import zlib

from benchkit import tools

MARGIN = 4096  # what incompressible bodies may grow by, beside 1 %

DEFLATED, GZIP_WINDOW, MEMORY_LEVEL, DEFAULT_STRATEGY, FINISH = 8, 15 + 16, 9, 0, 4


class ZStream(ctypes.Structure):
    """zlib's z_stream."""

    _fields_ = [
        ("next_in", ctypes.c_char_p), ("avail_in", ctypes.c_uint), ("total_in", ctypes.c_ulong),
        ("next_out", ctypes.c_void_p), ("avail_out", ctypes.c_uint), ("total_out", ctypes.c_ulong),
        ("msg", ctypes.c_char_p), ("state", ctypes.c_void_p), ("zalloc", ctypes.c_void_p),
        ("zfree", ctypes.c_void_p), ("opaque", ctypes.c_void_p), ("data_type", ctypes.c_int),
        ("adler", ctypes.c_ulong), ("reserved", ctypes.c_ulong)]


MALLOPT_TRIM, MALLOPT_MMAP = -1, -3  # glibc's M_TRIM_THRESHOLD and M_MMAP_THRESHOLD
ALWAYS, NEVER = 16 << 10, 32 << 20  # bytes from which memory is mapped anew, and given back


@contextlib.contextmanager
def fresh_memory(fresh):
    """Whether malloc takes larger pieces from the system each time, or uses its own again.

    A server whose threads' heaps shrink between two requests has fresh memory for each.
    """
    mallopt = getattr(ctypes.CDLL(None), "mallopt", lambda *_: None)
    limit = ALWAYS if fresh else NEVER
    mallopt(MALLOPT_MMAP, limit)
    mallopt(MALLOPT_TRIM, limit)
    try:
        yield
    finally:
        mallopt(MALLOPT_MMAP, NEVER)
        mallopt(MALLOPT_TRIM, NEVER)


def library(*names):
    """The first of the shared libraries that there is, or None."""
    for name in names:
        with contextlib.suppress(OSError):
            return ctypes.CDLL(name)
    return None


class Encoder:
    """What encodes bodies; `kept` says whether its context serves for all of them."""

    def __init__(self, largest, kept):
        self.kept = kept
        self.capacity = largest + largest // 100 + MARGIN
        self.buffer = ctypes.create_string_buffer(self.capacity)
        if kept:
            self.open()

    def open(self):
        """Makes a context."""

    def close(self):
        """Gives it back."""

    def run(self, body):
        """Encodes into the buffer with the open context; the size."""
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

    def __init__(self, lib, level, largest, kept=False, memory_level=MEMORY_LEVEL):
        self.lib, self.level, self.memory_level = lib, level, memory_level
        self.stream = ZStream()
        self.pointer = ctypes.byref(self.stream)
        self.version = ctypes.c_char_p(zlib.ZLIB_RUNTIME_VERSION.encode())
        self.fresh = True
        super().__init__(largest, kept)

    def open(self):
        ctypes.memset(self.pointer, 0, ctypes.sizeof(self.stream))
        self.fresh = True
        if self.lib.deflateInit2_(self.pointer, self.level, DEFLATED, GZIP_WINDOW,
                                  self.memory_level, DEFAULT_STRATEGY, self.version,
                                  ctypes.sizeof(self.stream)):
            raise tools.BenchError("zlib makes no encoder")

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

    def __init__(self, lib, level, largest, kept=False):
        self.lib, self.level = lib, level
        lib.libdeflate_alloc_compressor.restype = ctypes.c_void_p
        lib.libdeflate_gzip_compress.restype = ctypes.c_size_t
        lib.libdeflate_gzip_compress.argtypes = (ctypes.c_void_p, ctypes.c_char_p, ctypes.c_size_t,
                                                 ctypes.c_void_p, ctypes.c_size_t)
        lib.libdeflate_free_compressor.argtypes = (ctypes.c_void_p,)
        super().__init__(largest, kept)

    def open(self):
        self.context = self.lib.libdeflate_alloc_compressor(self.level)

    def close(self):
        self.lib.libdeflate_free_compressor(self.context)

    def run(self, body):
        return self.lib.libdeflate_gzip_compress(self.context, body, len(body), self.buffer,
                                                 self.capacity)


class Zstd(Encoder):
    levels = range(1, 10)

    def __init__(self, lib, level, largest, kept=False):
        self.lib, self.level = lib, level
        lib.ZSTD_createCCtx.restype = ctypes.c_void_p
        lib.ZSTD_compressCCtx.restype = ctypes.c_size_t
        lib.ZSTD_compressCCtx.argtypes = (ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t,
                                          ctypes.c_char_p, ctypes.c_size_t, ctypes.c_int)
        lib.ZSTD_freeCCtx.argtypes = (ctypes.c_void_p,)
        super().__init__(largest, kept)

    def open(self):
        self.context = self.lib.ZSTD_createCCtx()

    def close(self):
        self.lib.ZSTD_freeCCtx(self.context)

    def run(self, body):
        return self.lib.ZSTD_compressCCtx(self.context, self.buffer, self.capacity, body,
                                          len(body), self.level)


# Engines with both kinds of context: name -> (class, shared libraries). Brotli's encoder cannot be
# used twice, and ISA-L's context needs no making.
ENGINES = {
    "zlib": (Zlib, ("libz.so.1",)),
    "libdeflate": (Libdeflate, ("libdeflate.so.0",)),
    "zstd": (Zstd, ("libzstd.so.1",)),
}


def engines():
    """{name: function of (level, largest body, kept) that makes an encoder} of what is there."""
    made = {}
    for name, (kind, libraries) in ENGINES.items():
        lib = library(*libraries)
        if lib is not None:
            made[name] = (kind.levels, lambda *arguments, kind=kind, lib=lib, **named:
                          kind(lib, *arguments, **named))
    return made


def zstd_decode(body):
    """The identity of a zstd body whose frame says its size, or that of one that does not."""
    lib = library("libzstd.so.1")
    if lib is None:
        raise tools.BenchError("libzstd.so.1 is missing: install libzstd1 (Debian)")
    lib.ZSTD_decompress.restype = ctypes.c_size_t
    capacity = 64 * len(body) + (8 << 20)  # more than any body of the experiments
    target = ctypes.create_string_buffer(capacity)
    size = lib.ZSTD_decompress(target, ctypes.c_size_t(capacity), body,
                               ctypes.c_size_t(len(body)))
    if lib.ZSTD_isError(ctypes.c_size_t(size)):
        raise tools.BenchError("the zstd body is broken")
    return target.raw[:size]
