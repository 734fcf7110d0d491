"""How many bytes the server makes of a page: with brotli, and with a dictionary (RFC 9842).

The libraries, tables and windows are those of src/engines/zstd.c and brotli.c; the levels are in
the middle of what the server chooses among.
"""

import ctypes

from precompresskit import libraries

SIZE, POINTER, BYTES, INT = ctypes.c_size_t, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_int
LONG = ctypes.c_ulonglong

DCZ_LEVEL, DCZ_HEAD = 3, 40  # the head's bytes: RFC 9842 §5
TABLES_LEAST = 6  # ZSTD_HASHLOG_MIN
DCZ_WINDOW_LEAST, DCZ_WINDOW, DCZ_WINDOW_MOST = 10, 23, 27

DCB_QUALITY, DCB_HEAD = 5, 36  # §4
BROTLI_WINDOW = 18

UNKNOWN = 2**64 - 1  # ZSTD_CONTENTSIZE_UNKNOWN
BY_COPY, RAW_CONTENT, FORCE_ATTACH = 0, 1, 1
WINDOW, CHECKSUM, ATTACH = 101, 201, 1001  # of ZSTD_cParameter

BROTLI_RAW = 0  # BROTLI_SHARED_DICTIONARY_RAW


class Tables(ctypes.Structure):
    """ZSTD_compressionParameters."""

    _fields_ = [(name, ctypes.c_uint) for name in (
        "window", "chain", "hash", "search", "least", "target", "strategy")]


class Memory(ctypes.Structure):
    """ZSTD_customMem; zeros are the library's own."""

    _fields_ = [("alloc", POINTER), ("free", POINTER), ("opaque", POINTER)]


FUNCTIONS = {
    "zstd": (
        ("ZSTD_getCParams", Tables, INT, LONG, SIZE),
        ("ZSTD_createCDict_advanced", POINTER, BYTES, SIZE, INT, INT, Tables, Memory),
        ("ZSTD_freeCDict", SIZE, POINTER),
        ("ZSTD_CCtx_refCDict", SIZE, POINTER, POINTER),
        ("ZSTD_compress2", SIZE, POINTER, POINTER, SIZE, BYTES, SIZE),
        ("ZSTD_compressBound", SIZE, SIZE),
        ("ZDICT_trainFromBuffer", SIZE, POINTER, SIZE, BYTES, POINTER, ctypes.c_uint),
        ("ZDICT_getDictHeaderSize", SIZE, BYTES, SIZE),
        ("ZDICT_isError", ctypes.c_uint, SIZE)),
    "brotli": (
        ("BrotliEncoderPrepareDictionary", POINTER, INT, SIZE, BYTES, INT, POINTER, POINTER,
         POINTER),
        ("BrotliEncoderAttachPreparedDictionary", INT, POINTER, POINTER),
        ("BrotliEncoderDestroyPreparedDictionary", None, POINTER)),
}


def load(name):
    """The library with its functions of dictionaries; None where it is missing or has none."""
    library = libraries.load(name)
    if not library:
        return None
    try:
        for function, result, *arguments in FUNCTIONS[name]:
            found = getattr(library, function)
            found.restype, found.argtypes = result, arguments
    except AttributeError:
        return None
    return library


def brotli_size(body, level=5, window=BROTLI_WINDOW):
    stream = libraries.BrotliStream(level, window, len(body))
    try:
        return len(stream.take(body)) + len(stream.finish())
    finally:
        stream.close()


def dcz_window(size, dictionary):
    """As dcz_window_bits() of src/engines/zstd.c."""
    most = DCZ_WINDOW
    while most < DCZ_WINDOW_MOST and 2 << most <= dictionary + dictionary // 4:
        most += 1
    bits = DCZ_WINDOW_LEAST
    while bits < most and 1 << bits < size:
        bits += 1
    return bits


def dcz_tables(library, level, size):
    """As dcz_tables() of src/engines/zstd.c."""
    tables, most = library.ZSTD_getCParams(level, UNKNOWN, size), TABLES_LEAST
    while 2 << most < size:
        most += 1
    tables.hash, tables.chain = min(tables.hash, most), min(tables.chain, most)
    return tables


class Dcz:
    """A prepared dictionary for zstd; a context manager."""

    name, head = "dcz", DCZ_HEAD

    def __init__(self, content, level=DCZ_LEVEL):
        self.library, self.nbytes = load("zstd"), len(content)
        self.encoder = libraries.created(self.library.ZSTD_createCCtx(), "zstd")
        tables = dcz_tables(self.library, level, len(content))
        self.prepared = self.library.ZSTD_createCDict_advanced(
            content, len(content), BY_COPY, RAW_CONTENT, tables, Memory())
        if not self.prepared:
            self.close()
            raise OSError("no memory is left for a dictionary")

    def check(self, result):
        if self.library.ZSTD_isError(result):
            raise OSError("zstd failed: " + self.library.ZSTD_getErrorName(result).decode())
        return result

    def frame(self, body):
        """What follows the head."""
        for parameter, value in ((WINDOW, dcz_window(len(body), self.nbytes)), (CHECKSUM, 1),
                                 (ATTACH, FORCE_ATTACH)):
            self.check(self.library.ZSTD_CCtx_setParameter(self.encoder, parameter, value))
        self.check(self.library.ZSTD_CCtx_refCDict(self.encoder, self.prepared))
        room = self.library.ZSTD_compressBound(len(body))
        buffer = ctypes.create_string_buffer(room)
        size = self.check(self.library.ZSTD_compress2(self.encoder, buffer, room, body, len(body)))
        return buffer.raw[:size]

    def size(self, body):
        return self.head + len(self.frame(body))

    def close(self):
        self.library.ZSTD_freeCCtx(self.encoder)
        self.library.ZSTD_freeCDict(self.prepared)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


class Dcb:
    """The same for brotli, from 1.1 on."""

    name, head = "dcb", DCB_HEAD

    def __init__(self, content):
        self.library, self.content = load("brotli"), content  # which the library points into
        self.prepared = self.library.BrotliEncoderPrepareDictionary(
            BROTLI_RAW, len(content), content, DCB_QUALITY, None, None, None)
        if not self.prepared:
            raise OSError("no memory is left for a dictionary")

    def frame(self, body):
        stream = libraries.BrotliStream(DCB_QUALITY, BROTLI_WINDOW, len(body))
        try:
            if not self.library.BrotliEncoderAttachPreparedDictionary(stream.encoder,
                                                                      self.prepared):
                raise OSError("brotli takes no dictionary")
            return stream.take(body) + stream.finish()
        finally:
            stream.close()

    def size(self, body):
        return self.head + len(self.frame(body))

    def close(self):
        self.library.BrotliEncoderDestroyPreparedDictionary(self.prepared)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


def available():
    """The codings with dictionaries that this machine's libraries have; dcz comes first."""
    return [coding for name, coding in (("zstd", Dcz), ("brotli", Dcb)) if load(name)]


def train(bodies, nbytes):
    """Raw content of at most as many bytes, of what the bodies have in common; None: too few."""
    library = load("zstd")
    # Its own header, which dcz has no use for, comes first and has some hundred bytes.
    buffer = ctypes.create_string_buffer(nbytes)
    sizes = (SIZE * len(bodies))(*map(len, bodies))
    size = library.ZDICT_trainFromBuffer(buffer, nbytes, b"".join(bodies), sizes, len(bodies))
    if library.ZDICT_isError(size):
        return None
    made = buffer.raw[:size]
    head = library.ZDICT_getDictHeaderSize(made, size)
    return None if library.ZDICT_isError(head) else made[head:]
