"""Compression libraries called directly: encoders of each, with fresh and with kept contexts.

They are reached through ctypes, so that nothing needs to be compiled. An encoder takes a body and
gives the size of its encoded form; the bytes stay in a buffer of its own. Only whole bodies are
encoded. A library that is not installed is left out.
"""

import contextlib
import ctypes
import functools
import time
import typing
import zlib
from ctypes import c_char_p, c_int, c_size_t, c_uint, c_ulong, c_void_p

from benchkit import tools

MARGIN = 4096  # what incompressible bodies may grow by, beside 1 %
DEFLATED, GZIP_WINDOW, MEMORY_LEVEL, DEFAULT_STRATEGY, FINISH = 8, 15 + 16, 9, 0, 4
LARGEST = 64 << 20  # bytes; more than any body of the experiments
MALLOPT_TRIM, MALLOPT_MMAP = -1, -3  # glibc's M_TRIM_THRESHOLD and M_MMAP_THRESHOLD
ALWAYS, NEVER = 16 << 10, 32 << 20  # bytes from which memory is mapped anew, and given back

# A context is made for each body in memory fresh from the system; made for each in memory used
# before; or kept for all of them.
CONTEXTS = FRESH, REMADE, KEPT = "fresh", "remade", "kept"


@contextlib.contextmanager
def fresh_memory(fresh):
    """Whether malloc takes larger pieces from the system each time, or uses its own again.

    A server whose threads' heaps shrink between two requests has fresh memory for each.
    """
    mallopt = getattr(ctypes.CDLL(None), "mallopt", lambda *_: None)

    def set_limit(limit):
        mallopt(MALLOPT_MMAP, limit)
        mallopt(MALLOPT_TRIM, limit)

    set_limit(ALWAYS if fresh else NEVER)
    try:
        yield
    finally:
        set_limit(NEVER)


class Encoder:
    """What encodes bodies; `kept` is whether its context serves for all of them."""

    contexts = CONTEXTS  # those that its library has
    prototypes = {}  # function -> (result, arguments), where they are not ints

    def __init__(self, lib, level, largest, kept=False):
        self.lib, self.level, self.kept = lib, level, kept
        for name, (result, *arguments) in self.prototypes.items():
            function = getattr(lib, name)
            function.restype, function.argtypes = result, arguments
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


class ZStream(ctypes.Structure):
    """zlib's z_stream."""

    _fields_ = [
        ("next_in", c_char_p), ("avail_in", c_uint), ("total_in", c_ulong),
        ("next_out", c_void_p), ("avail_out", c_uint), ("total_out", c_ulong),
        ("msg", c_char_p), ("state", c_void_p), ("zalloc", c_void_p), ("zfree", c_void_p),
        ("opaque", c_void_p), ("data_type", c_int), ("adler", c_ulong), ("reserved", c_ulong)]


class Zlib(Encoder):
    """zlib as mod_deflate sets it: gzip's framing, window 15, memory level 9."""

    levels = range(1, 10)
    fresh = True

    def open(self):
        self.stream = ZStream()
        self.pointer = ctypes.byref(self.stream)
        self.fresh = True
        if self.lib.deflateInit2_(self.pointer, self.level, DEFLATED, GZIP_WINDOW,
                                  MEMORY_LEVEL, DEFAULT_STRATEGY,
                                  c_char_p(zlib.ZLIB_RUNTIME_VERSION.encode()),
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
    prototypes = {
        "libdeflate_alloc_compressor": (c_void_p, c_int),
        "libdeflate_gzip_compress": (c_size_t, c_void_p, c_char_p, c_size_t, c_void_p, c_size_t),
        "libdeflate_free_compressor": (None, c_void_p)}

    def open(self):
        self.context = self.lib.libdeflate_alloc_compressor(self.level)

    def close(self):
        self.lib.libdeflate_free_compressor(self.context)

    def run(self, body):
        return self.lib.libdeflate_gzip_compress(self.context, body, len(body), self.buffer,
                                                 self.capacity)


class Zstd(Encoder):
    levels = range(1, 10)
    prototypes = {
        "ZSTD_createCCtx": (c_void_p,),
        "ZSTD_compressCCtx": (c_size_t, c_void_p, c_void_p, c_size_t, c_char_p, c_size_t, c_int),
        "ZSTD_freeCCtx": (c_size_t, c_void_p)}

    def open(self):
        self.context = self.lib.ZSTD_createCCtx()

    def close(self):
        self.lib.ZSTD_freeCCtx(self.context)

    def run(self, body):
        return self.lib.ZSTD_compressCCtx(self.context, self.buffer, self.capacity, body,
                                          len(body), self.level)


class IsalStream(ctypes.Structure):
    """The fields of ISA-L's isal_zstream that its users set; the library's own state follows."""

    _fields_ = [
        ("next_in", c_char_p), ("avail_in", ctypes.c_uint32), ("total_in", ctypes.c_uint32),
        ("next_out", c_void_p), ("avail_out", ctypes.c_uint32), ("total_out", ctypes.c_uint32),
        ("hufftables", c_void_p), ("level", ctypes.c_uint32), ("level_buf_size", ctypes.c_uint32),
        ("level_buf", c_void_p), ("end_of_stream", ctypes.c_uint16), ("flush", ctypes.c_uint16),
        ("gzip_flag", ctypes.c_uint16), ("hist_bits", ctypes.c_uint16)]


ISAL_STREAM = 128 << 10  # bytes; an isal_zstream of version 2.30 has 82384
ISAL_TABLES = (0, 282624, 331776, 348160)  # its ISAL_DEF_LVLn_LARGE
ISAL_GZIP = 1


class Isal(Encoder):
    levels = range(4)
    prototypes = {"isal_deflate_init": (None, c_void_p),
                  "isal_deflate_stateless": (c_int, c_void_p)}

    def open(self):
        self.memory = ctypes.CDLL(None)
        self.memory.malloc.restype, self.memory.malloc.argtypes = c_void_p, (c_size_t,)
        self.memory.free.argtypes = (c_void_p,)
        self.pointer = self.memory.malloc(ISAL_STREAM)
        self.tables = self.memory.malloc(ISAL_TABLES[self.level]) if self.level else None

    def close(self):
        self.memory.free(self.pointer)
        self.memory.free(self.tables)

    def run(self, body):
        self.lib.isal_deflate_init(self.pointer)
        stream = IsalStream.from_address(self.pointer)
        stream.level, stream.level_buf = self.level, self.tables
        stream.level_buf_size = ISAL_TABLES[self.level]
        stream.gzip_flag, stream.end_of_stream = ISAL_GZIP, 1
        stream.next_in, stream.avail_in = body, len(body)
        stream.next_out, stream.avail_out = ctypes.addressof(self.buffer), self.capacity
        if self.lib.isal_deflate_stateless(self.pointer):
            raise tools.BenchError("ISA-L encodes nothing")
        return stream.total_out


class Brotli(Encoder):
    """Its encoder cannot be used twice: every call makes one."""

    levels = range(7)  # the module's range
    contexts = (FRESH, REMADE)
    prototypes = {"BrotliEncoderCompress": (c_int, c_int, c_int, c_int, c_size_t, c_char_p,
                                            ctypes.POINTER(c_size_t), c_void_p)}

    WINDOW, GENERIC = 18, 0

    def run(self, body):
        size = c_size_t(self.capacity)
        if not self.lib.BrotliEncoderCompress(self.level, self.WINDOW, self.GENERIC, len(body),
                                              body, ctypes.byref(size), self.buffer):
            raise tools.BenchError("brotli encodes nothing")
        return size.value


class Engine(typing.NamedTuple):
    """A library that is installed, and its encoders."""

    levels: range
    make: typing.Callable  # of (level, largest body, whether its context is kept)
    contexts: tuple


KINDS = {  # name -> (class, shared library)
    "zlib": (Zlib, "libz.so.1"),
    "libdeflate": (Libdeflate, "libdeflate.so.0"),
    "ISA-L": (Isal, "libisal.so.2"),
    "zstd": (Zstd, "libzstd.so.1"),
    "brotli": (Brotli, "libbrotlienc.so.1"),
}


@functools.lru_cache(maxsize=None)
def engines():
    """{name: Engine} of what is installed."""
    made = {}
    for name, (kind, shared) in KINDS.items():
        with contextlib.suppress(OSError):
            made[name] = Engine(kind.levels, functools.partial(kind, ctypes.CDLL(shared)),
                                kind.contexts)
    return made


def encode_all(encoder, bodies):
    """(bytes out, CPU seconds) of encoding every body once."""
    started = time.process_time()
    total = sum(encoder.encode(body) for body in bodies)
    return total, time.process_time() - started


def zstandard_module():
    """Imported late: those that only encode need no package."""
    try:
        import zstandard
    except ImportError:
        raise tools.missing("zstandard module") from None
    return zstandard


def zstd_encode(body, window_bits):
    """A zstd frame whose decoder needs a window of so many bits."""
    zstandard = zstandard_module()
    parameters = zstandard.ZstdCompressionParameters.from_level(3, window_log=window_bits)
    return zstandard.ZstdCompressor(compression_params=parameters).compress(body)


class WrongBody(tools.BenchError):
    """A body is not what was meant."""


def zstd_decode(frame, dictionary=b""):
    """The identity of a zstd body, whose frame may name its size or not; `dictionary` is raw."""
    zstandard = zstandard_module()
    known = (zstandard.ZstdCompressionDict(dictionary, dict_type=zstandard.DICT_TYPE_RAWCONTENT)
             if dictionary else None)
    try:
        return zstandard.ZstdDecompressor(dict_data=known).decompress(frame, LARGEST)
    except zstandard.ZstdError as problem:
        raise WrongBody(f"the zstd body is broken: {problem}") from None
