"""Pages compressed with a dictionary (RFC 9842) as by the server, and dictionaries made from pages.

The libraries, tables and windows are those of src/engines/zstd.c and brotli.c; the levels are those
of a server that is not busy.
"""

import base64
import ctypes
import hashlib

from codeckit import libraries, streams

# The beginning of a body, before the dictionary's SHA-256 (§4, §5).
HEADS = {"dcz": bytes.fromhex("5e2a4d1820000000"), "dcb": bytes.fromhex("ff444342")}

DCZ_LEVEL = 5
TABLES_LEAST = 6  # ZSTD_HASHLOG_MIN
DCZ_WINDOW_LEAST, DCZ_WINDOW, DCZ_WINDOW_MOST = 10, 23, 27

DCB_QUALITY = 5
BROTLI_WINDOW = 18

UNKNOWN = 2**64 - 1  # ZSTD_CONTENTSIZE_UNKNOWN
BY_COPY, RAW_CONTENT, FORCE_ATTACH = 0, 1, 1
WINDOW, CHECKSUM, ATTACH = 101, 201, 1001  # of ZSTD_cParameter

BROTLI_RAW = 0  # BROTLI_SHARED_DICTIONARY_RAW


def brotli(body, level=5, window=BROTLI_WINDOW):
    """Encodes without a dictionary."""
    return streams.whole(streams.BrotliStream(level, window, len(body)), body)


def brotli_size(body, level=5, window=BROTLI_WINDOW):
    return len(brotli(body, level, window))


def head(coding, content):
    """The beginning of a body in the coding."""
    return HEADS[coding] + hashlib.sha256(content).digest()


def field(content):
    """The field Available-Dictionary of a client that has it."""
    return f":{base64.b64encode(hashlib.sha256(content).digest()).decode()}:"


def dcz_window(size, dictionary):
    """Like zstd_dcz_reset() in src/engines/zstd.c."""
    most = DCZ_WINDOW
    while most < DCZ_WINDOW_MOST and 2 << most <= dictionary + dictionary // 4:
        most += 1
    bits = DCZ_WINDOW_LEAST
    while bits < most and 1 << bits < size:
        bits += 1
    return bits


def dcz_tables(library, level, size):
    """Like dcz_tables() in src/engines/zstd.c."""
    tables, most = library.ZSTD_getCParams(level, UNKNOWN, size), TABLES_LEAST
    while 2 << most < size:
        most += 1
    tables.hash, tables.chain = min(tables.hash, most), min(tables.chain, most)
    return tables


class Prepared:
    """A dictionary that a library has prepared; a context manager."""

    name = ""  # of the coding

    def __init__(self, library, content):
        self.library = libraries.needed(library, libraries.load_dictionaries)
        self.content = content  # brotli points into it
        self.head = head(self.name, content)

    def frame(self, body):
        """The body's bytes after the head."""
        raise NotImplementedError

    def close(self):
        raise NotImplementedError

    def encode(self, body):
        return self.head + self.frame(body)

    def size(self, body):
        return len(self.encode(body))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


class Dcz(Prepared):
    name = "dcz"

    def __init__(self, content, level=DCZ_LEVEL):
        super().__init__("zstd", content)
        self.encoder = libraries.created(self.library.ZSTD_createCCtx(), "zstd")
        tables = dcz_tables(self.library, level, len(content))
        self.prepared = self.library.ZSTD_createCDict_advanced(
            content, len(content), BY_COPY, RAW_CONTENT, tables, libraries.ZstdMemory())
        if not self.prepared:
            self.close()
            raise OSError("no memory is left for a dictionary")

    def check(self, result):
        return libraries.check_zstd(self.library, result)

    def frame(self, body):
        for parameter, value in ((WINDOW, dcz_window(len(body), len(self.content))),
                                 (CHECKSUM, 1), (ATTACH, FORCE_ATTACH)):
            self.check(self.library.ZSTD_CCtx_setParameter(self.encoder, parameter, value))
        self.check(self.library.ZSTD_CCtx_refCDict(self.encoder, self.prepared))
        room = self.library.ZSTD_compressBound(len(body))
        buffer = ctypes.create_string_buffer(room)
        size = self.check(self.library.ZSTD_compress2(self.encoder, buffer, room, body, len(body)))
        return buffer.raw[:size]

    def close(self):
        self.library.ZSTD_freeCCtx(self.encoder)
        self.library.ZSTD_freeCDict(self.prepared)


class Dcb(Prepared):
    """From brotli 1.1 on."""

    name = "dcb"

    def __init__(self, content):
        super().__init__("brotli", content)
        self.prepared = libraries.created(self.library.BrotliEncoderPrepareDictionary(
            BROTLI_RAW, len(content), content, DCB_QUALITY, None, None, None), "a dictionary")

    def frame(self, body):
        stream = streams.BrotliStream(DCB_QUALITY, BROTLI_WINDOW, len(body))
        if not self.library.BrotliEncoderAttachPreparedDictionary(stream.encoder, self.prepared):
            stream.close()
            raise OSError("brotli takes no dictionary")
        return streams.whole(stream, body)

    def close(self):
        self.library.BrotliEncoderDestroyPreparedDictionary(self.prepared)


def available():
    """The codings with dictionaries that this machine's libraries have; dcz comes first."""
    return [coding for name, coding in (("zstd", Dcz), ("brotli", Dcb))
            if libraries.load_dictionaries(name)]


def train(bodies, nbytes):
    """Raw content of at most `nbytes` bytes with the bodies' common parts; None: too few bodies."""
    library = libraries.needed("zstd", libraries.load_dictionaries)
    # The library's header, which dcz does not use, comes first and has some hundred bytes.
    buffer = ctypes.create_string_buffer(nbytes)
    sizes = (libraries.SIZE * len(bodies))(*map(len, bodies))
    size = library.ZDICT_trainFromBuffer(buffer, nbytes, b"".join(bodies), sizes, len(bodies))
    if library.ZDICT_isError(size):
        return None
    made = buffer.raw[:size]
    header = library.ZDICT_getDictHeaderSize(made, size)
    return None if library.ZDICT_isError(header) else made[header:]
