"""The compression libraries that mod_elastic uses itself, loaded where they are installed.

libdeflate and ISA-L take a body whole. brotli and zstd are streams here: take() a piece and get
what is written so far, finish(), close(). Calls release Python's lock.
"""

import ctypes
import functools

SIZE, POINTER, BYTES = ctypes.c_size_t, ctypes.c_void_p, ctypes.c_char_p

NAMES = {"libdeflate": "libdeflate.so.0", "isal": "libisal.so.2", "brotli": "libbrotlienc.so.1",
         "zstd": "libzstd.so.1"}

# Of each library: (function, result, arguments).
FUNCTIONS = {
    "libdeflate": (
        ("libdeflate_alloc_compressor", POINTER, ctypes.c_int),
        ("libdeflate_free_compressor", None, POINTER),
        ("libdeflate_gzip_compress_bound", SIZE, POINTER, SIZE),
        ("libdeflate_gzip_compress", SIZE, POINTER, BYTES, SIZE, POINTER, SIZE)),
    "isal": (
        ("isal_deflate_init", None, POINTER),
        ("isal_deflate_stateless", ctypes.c_int, POINTER)),
    "brotli": (
        ("BrotliEncoderCreateInstance", POINTER, POINTER, POINTER, POINTER),
        ("BrotliEncoderDestroyInstance", None, POINTER),
        ("BrotliEncoderSetParameter", ctypes.c_int, POINTER, ctypes.c_int, ctypes.c_uint32),
        ("BrotliEncoderCompressStream", ctypes.c_int, POINTER, ctypes.c_int, POINTER, POINTER,
         POINTER, POINTER, POINTER),
        ("BrotliEncoderTakeOutput", POINTER, POINTER, POINTER),
        ("BrotliEncoderIsFinished", ctypes.c_int, POINTER)),
    "zstd": (
        ("ZSTD_createCCtx", POINTER),
        ("ZSTD_freeCCtx", SIZE, POINTER),
        ("ZSTD_CCtx_setParameter", SIZE, POINTER, ctypes.c_int, ctypes.c_int),
        ("ZSTD_CCtx_setPledgedSrcSize", SIZE, POINTER, ctypes.c_ulonglong),
        ("ZSTD_compressStream2", SIZE, POINTER, POINTER, POINTER, ctypes.c_int),
        ("ZSTD_isError", ctypes.c_uint, SIZE),
        ("ZSTD_getErrorName", BYTES, SIZE)),
}


@functools.lru_cache(maxsize=None)
def load(name):
    """The library, or None where it is not installed."""
    try:
        library = ctypes.CDLL(NAMES[name])
    except OSError:
        return None
    for function, result, *arguments in FUNCTIONS[name]:
        found = getattr(library, function)
        found.restype, found.argtypes = result, arguments
    return library


def created(encoder, name):
    if not encoder:
        raise OSError(f"no memory is left for {name}")
    return encoder


def libdeflate_gzip(level, body):
    library = load("libdeflate")
    encoder = created(library.libdeflate_alloc_compressor(level), "libdeflate")
    try:
        room = library.libdeflate_gzip_compress_bound(encoder, len(body))
        buffer = ctypes.create_string_buffer(room)
        size = library.libdeflate_gzip_compress(encoder, body, len(body), buffer, room)
        return buffer.raw[:size]
    finally:
        library.libdeflate_free_compressor(encoder)


class IsalStream(ctypes.Structure):
    """The head of struct isal_zstream; more than what follows it has room in `rest`."""

    _fields_ = [("next_in", BYTES), ("avail_in", ctypes.c_uint32), ("total_in", ctypes.c_uint32),
                ("next_out", POINTER), ("avail_out", ctypes.c_uint32),
                ("total_out", ctypes.c_uint32), ("hufftables", POINTER),
                ("level", ctypes.c_uint32), ("level_buf_size", ctypes.c_uint32),
                ("level_buf", POINTER), ("end_of_stream", ctypes.c_uint16),
                ("flush", ctypes.c_uint16), ("gzip_flag", ctypes.c_uint16),
                ("hist_bits", ctypes.c_uint16), ("rest", ctypes.c_char * (1 << 20))]


ISAL_GZIP = 1
ISAL_TABLES = 4 << 20  # bytes; no level needs as many


def isal_gzip(level, body):
    library = load("isal")
    stream = IsalStream()
    tables = ctypes.create_string_buffer(ISAL_TABLES)
    room = len(body) + 1024  # whatever needs more is no smaller
    buffer = ctypes.create_string_buffer(room)
    library.isal_deflate_init(ctypes.byref(stream))
    stream.level, stream.gzip_flag, stream.end_of_stream = level, ISAL_GZIP, 1
    stream.level_buf, stream.level_buf_size = ctypes.addressof(tables), ISAL_TABLES
    stream.next_in, stream.avail_in = body, len(body)
    stream.next_out, stream.avail_out = ctypes.addressof(buffer), room
    if library.isal_deflate_stateless(ctypes.byref(stream)) != 0:
        raise OSError("ISA-L failed")
    return buffer.raw[:stream.total_out]


class BrotliStream:
    """`size` is a hint."""

    PROCESS, FINISH = 0, 2
    QUALITY, WINDOW, SIZE_HINT = 1, 2, 5

    def __init__(self, quality, window_bits, size):
        self.library = load("brotli")
        self.encoder = created(self.library.BrotliEncoderCreateInstance(None, None, None),
                               "brotli")
        for parameter, value in ((self.QUALITY, quality), (self.WINDOW, window_bits),
                                 (self.SIZE_HINT, min(size, 0xffffffff))):
            self.library.BrotliEncoderSetParameter(self.encoder, parameter, value)

    def take(self, piece):
        return self.run(piece, self.PROCESS)

    def finish(self):
        return self.run(b"", self.FINISH)

    def run(self, piece, operation):
        left, none = SIZE(len(piece)), SIZE(0)
        place = BYTES(piece)
        written = []
        while True:
            if not self.library.BrotliEncoderCompressStream(
                    self.encoder, operation, ctypes.byref(left), ctypes.byref(place),
                    ctypes.byref(none), ctypes.byref(POINTER()), None):
                raise OSError("brotli failed")
            size = SIZE(0)
            output = self.library.BrotliEncoderTakeOutput(self.encoder, ctypes.byref(size))
            if size.value:
                written.append(ctypes.string_at(output, size.value))
            elif not left.value and (operation == self.PROCESS
                                     or self.library.BrotliEncoderIsFinished(self.encoder)):
                return b"".join(written)

    def close(self):
        self.library.BrotliEncoderDestroyInstance(self.encoder)


class ZstdBuffer(ctypes.Structure):
    _fields_ = [("data", POINTER), ("size", SIZE), ("position", SIZE)]


class ZstdStream:
    """Of exactly `size` bytes; it fails where there are more or fewer."""

    CONTINUE, END = 0, 2
    LEVEL, WINDOW = 100, 101
    ROOM = 1 << 17  # bytes; a block of the format

    def __init__(self, level, window_bits, size):
        """`window_bits` of 0: the library's choice by level and size."""
        self.library = load("zstd")
        self.encoder = created(self.library.ZSTD_createCCtx(), "zstd")
        self.buffer = ctypes.create_string_buffer(self.ROOM)
        for parameter, value in ((self.LEVEL, level), (self.WINDOW, window_bits)):
            self.check(self.library.ZSTD_CCtx_setParameter(self.encoder, parameter, value))
        self.check(self.library.ZSTD_CCtx_setPledgedSrcSize(self.encoder, size))

    def check(self, result):
        if self.library.ZSTD_isError(result):
            raise OSError("zstd failed: " + self.library.ZSTD_getErrorName(result).decode())
        return result

    def take(self, piece):
        return self.run(piece, self.CONTINUE)

    def finish(self):
        return self.run(b"", self.END)

    def run(self, piece, operation):
        source = ZstdBuffer(ctypes.cast(BYTES(piece), POINTER), len(piece), 0)
        written = []
        while True:
            target = ZstdBuffer(ctypes.addressof(self.buffer), self.ROOM, 0)
            left = self.check(self.library.ZSTD_compressStream2(
                self.encoder, ctypes.byref(target), ctypes.byref(source), operation))
            written.append(self.buffer.raw[:target.position])
            if source.position == source.size and (operation == self.CONTINUE or not left):
                return b"".join(written)

    def close(self):
        self.library.ZSTD_freeCCtx(self.encoder)
