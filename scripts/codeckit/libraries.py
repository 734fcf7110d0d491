"""mod_elastic's own compression libraries, loaded if they are installed."""

import ctypes
import functools

SIZE, POINTER, BYTES, INT = ctypes.c_size_t, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_int
U16, U32, U64, LONG = ctypes.c_uint16, ctypes.c_uint32, ctypes.c_uint64, ctypes.c_ulong

NAMES = {"zlib": "libz.so.1", "libdeflate": "libdeflate.so.0", "ISA-L": "libisal.so.2",
         "brotli": "libbrotlienc.so.1", "brotli decoder": "libbrotlidec.so.1",
         "zstd": "libzstd.so.1"}


class ZlibStream(ctypes.Structure):
    """z_stream."""

    _fields_ = [
        ("next_in", BYTES), ("avail_in", ctypes.c_uint), ("total_in", LONG),
        ("next_out", POINTER), ("avail_out", ctypes.c_uint), ("total_out", LONG),
        ("msg", BYTES), ("state", POINTER), ("zalloc", POINTER), ("zfree", POINTER),
        ("opaque", POINTER), ("data_type", INT), ("adler", LONG), ("reserved", LONG)]


class IsalStream(ctypes.Structure):
    """The fields of isal_zstream that its users set; the library's own state follows."""

    _fields_ = [
        ("next_in", BYTES), ("avail_in", U32), ("total_in", U32), ("next_out", POINTER),
        ("avail_out", U32), ("total_out", U32), ("hufftables", POINTER), ("level", U32),
        ("level_buf_size", U32), ("level_buf", POINTER), ("end_of_stream", U16), ("flush", U16),
        ("gzip_flag", U16), ("hist_bits", U16)]


class ZstdBuffer(ctypes.Structure):
    """ZSTD_inBuffer and ZSTD_outBuffer."""

    _fields_ = [("data", POINTER), ("size", SIZE), ("position", SIZE)]


class ZstdTables(ctypes.Structure):
    """ZSTD_compressionParameters."""

    _fields_ = [(name, ctypes.c_uint) for name in (
        "window", "chain", "hash", "search", "least", "target", "strategy")]


class ZstdMemory(ctypes.Structure):
    """ZSTD_customMem; zeros mean the library's own."""

    _fields_ = [("alloc", POINTER), ("free", POINTER), ("opaque", POINTER)]


# {library: (function, result, arguments) of each}
FUNCTIONS = {
    "zlib": (
        ("deflateInit2_", INT, POINTER, INT, INT, INT, INT, INT, BYTES, INT),
        ("deflateReset", INT, POINTER),
        ("deflate", INT, POINTER, INT),
        ("deflateEnd", INT, POINTER)),
    "libdeflate": (
        ("libdeflate_alloc_compressor", POINTER, INT),
        ("libdeflate_free_compressor", None, POINTER),
        ("libdeflate_gzip_compress", SIZE, POINTER, BYTES, SIZE, POINTER, SIZE)),
    "ISA-L": (
        ("isal_deflate_init", None, POINTER),
        ("isal_deflate_stateless", INT, POINTER)),
    "brotli": (
        ("BrotliEncoderCreateInstance", POINTER, POINTER, POINTER, POINTER),
        ("BrotliEncoderDestroyInstance", None, POINTER),
        ("BrotliEncoderSetParameter", INT, POINTER, INT, U32),
        ("BrotliEncoderCompress", INT, INT, INT, INT, SIZE, BYTES, POINTER, POINTER),
        ("BrotliEncoderCompressStream", INT, POINTER, INT, POINTER, POINTER, POINTER, POINTER,
         POINTER),
        ("BrotliEncoderTakeOutput", POINTER, POINTER, POINTER),
        ("BrotliEncoderIsFinished", INT, POINTER)),
    "brotli decoder": (
        ("BrotliDecoderCreateInstance", POINTER, POINTER, POINTER, POINTER),
        ("BrotliDecoderDestroyInstance", None, POINTER),
        ("BrotliDecoderDecompressStream", INT, POINTER, POINTER, POINTER, POINTER, POINTER,
         POINTER),
        ("BrotliDecoderTakeOutput", POINTER, POINTER, POINTER)),
    "zstd": (
        ("ZSTD_createCCtx", POINTER),
        ("ZSTD_freeCCtx", SIZE, POINTER),
        ("ZSTD_CCtx_setParameter", SIZE, POINTER, INT, INT),
        ("ZSTD_CCtx_setPledgedSrcSize", SIZE, POINTER, U64),
        ("ZSTD_compressCCtx", SIZE, POINTER, POINTER, SIZE, BYTES, SIZE, INT),
        ("ZSTD_compressStream2", SIZE, POINTER, POINTER, POINTER, INT),
        ("ZSTD_createDCtx", POINTER),
        ("ZSTD_freeDCtx", SIZE, POINTER),
        ("ZSTD_DCtx_refPrefix", SIZE, POINTER, BYTES, SIZE),
        ("ZSTD_decompressStream", SIZE, POINTER, POINTER, POINTER),
        ("ZSTD_isError", ctypes.c_uint, SIZE),
        ("ZSTD_getErrorName", BYTES, SIZE)),
}

# The same for dictionaries, which older releases lack.
DICTIONARIES = {
    "zstd": (
        ("ZSTD_getCParams", ZstdTables, INT, U64, SIZE),
        ("ZSTD_createCDict_advanced", POINTER, BYTES, SIZE, INT, INT, ZstdTables, ZstdMemory),
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
    "brotli decoder": (
        ("BrotliDecoderAttachDictionary", INT, POINTER, INT, SIZE, BYTES),),
}


def declare(library, functions):
    for function, result, *arguments in functions:
        found = getattr(library, function)
        found.restype, found.argtypes = result, arguments
    return library


@functools.lru_cache(maxsize=None)
def load(name):
    """The library, or None if it is not installed."""
    try:
        library = ctypes.CDLL(NAMES[name])
    except OSError:
        return None
    return declare(library, FUNCTIONS[name])


def load_dictionaries(name):
    """The library with its functions for dictionaries; None if it or they are missing."""
    library = load(name)
    try:
        return library and declare(library, DICTIONARIES[name])
    except AttributeError:
        return None


def needed(name, loaded=load):
    """The library; raises OSError if it is missing."""
    library = loaded(name)
    if not library:
        raise OSError(f"{NAMES[name]} is missing, or too old")
    return library


def created(encoder, name):
    if not encoder:
        raise OSError(f"no memory is left for {name}")
    return encoder


def check_zstd(library, result):
    if library.ZSTD_isError(result):
        raise OSError("zstd failed: " + library.ZSTD_getErrorName(result).decode())
    return result
