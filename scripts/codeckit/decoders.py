"""brotli and zstd back: the identity of a body. ValueError where it is damaged, cut short, or has
a tail.
"""

import ctypes
import zlib

from codeckit import libraries
from codeckit.libraries import BYTES, POINTER, SIZE

ROOM = 1 << 17  # bytes; a block of zstd's format
BROTLI_RAW, BROTLI_SUCCESS, BROTLI_MORE_OUTPUT = 0, 1, 3


def gunzip(body):
    decoder = zlib.decompressobj(31)
    try:
        plain = decoder.decompress(body)
    except zlib.error as problem:
        raise ValueError(f"the gzip body is damaged: {problem}") from None
    if not decoder.eof or decoder.unused_data:
        raise ValueError("the gzip body is cut short or has a tail")
    return plain


def brotli(body, dictionary=b""):
    loaded = libraries.load_dictionaries if dictionary else libraries.load
    library = libraries.needed("brotli decoder", loaded)
    decoder = libraries.created(library.BrotliDecoderCreateInstance(None, None, None), "brotli")
    try:
        if dictionary:
            library.BrotliDecoderAttachDictionary(decoder, BROTLI_RAW, len(dictionary), dictionary)
        return brotli_output(library, decoder, body)
    finally:
        library.BrotliDecoderDestroyInstance(decoder)


def brotli_output(library, decoder, body):
    left, none, place = SIZE(len(body)), SIZE(0), BYTES(body)
    written, done = [], BROTLI_MORE_OUTPUT
    while done == BROTLI_MORE_OUTPUT:
        done = library.BrotliDecoderDecompressStream(
            decoder, ctypes.byref(left), ctypes.byref(place), ctypes.byref(none),
            ctypes.byref(POINTER()), None)
        size = SIZE(0)
        output = library.BrotliDecoderTakeOutput(decoder, ctypes.byref(size))
        written.append(ctypes.string_at(output, size.value) if size.value else b"")
    if done != BROTLI_SUCCESS or left.value:
        raise ValueError("the brotli body is damaged, cut short or has a tail")
    return b"".join(written)


def zstd(body, dictionary=b""):
    """`dictionary` is raw."""
    library = libraries.needed("zstd")
    decoder = libraries.created(library.ZSTD_createDCtx(), "zstd")
    try:
        if dictionary:
            library.ZSTD_DCtx_refPrefix(decoder, dictionary, len(dictionary))
        return zstd_output(library, decoder, body)
    except OSError as problem:
        raise ValueError(f"the zstd body is broken: {problem}") from None
    finally:
        library.ZSTD_freeDCtx(decoder)


def zstd_output(library, decoder, body):
    buffer = ctypes.create_string_buffer(ROOM)
    source = libraries.ZstdBuffer(ctypes.cast(BYTES(body), POINTER), len(body), 0)
    written, left, full = [], 1, True
    while left and (full or source.position < source.size):
        target = libraries.ZstdBuffer(ctypes.addressof(buffer), ROOM, 0)
        left = libraries.check_zstd(library, library.ZSTD_decompressStream(
            decoder, ctypes.byref(target), ctypes.byref(source)))
        written.append(buffer.raw[:target.position])
        full = target.position == ROOM
    if left or source.position < source.size:
        raise ValueError("the zstd body is cut short or has a tail")
    return b"".join(written)
