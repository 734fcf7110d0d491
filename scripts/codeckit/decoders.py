"""gzip, brotli and zstd back: the identity of a body, and what a decoder has of it as its pieces
come. ValueError where it is damaged, and of a whole body where that is cut short or has a tail.
"""

import contextlib
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


@contextlib.contextmanager
def brotli_decoder(dictionary):
    """(the library, a decoder)."""
    loaded = libraries.load_dictionaries if dictionary else libraries.load
    library = libraries.needed("brotli decoder", loaded)
    decoder = libraries.created(library.BrotliDecoderCreateInstance(None, None, None), "brotli")
    try:
        if dictionary:
            library.BrotliDecoderAttachDictionary(decoder, BROTLI_RAW, len(dictionary), dictionary)
        yield library, decoder
    finally:
        library.BrotliDecoderDestroyInstance(decoder)


def brotli_step(library, decoder, piece):
    """(what it says, bytes of the piece that it left, its output)."""
    left, none, place = SIZE(len(piece)), SIZE(0), BYTES(piece)
    written, done = [], BROTLI_MORE_OUTPUT
    while done == BROTLI_MORE_OUTPUT:
        done = library.BrotliDecoderDecompressStream(
            decoder, ctypes.byref(left), ctypes.byref(place), ctypes.byref(none),
            ctypes.byref(POINTER()), None)
        size = SIZE(0)
        output = library.BrotliDecoderTakeOutput(decoder, ctypes.byref(size))
        written.append(ctypes.string_at(output, size.value) if size.value else b"")
    return done, left.value, b"".join(written)


def brotli(body, dictionary=b""):
    with brotli_decoder(dictionary) as decoder:
        done, left, plain = brotli_step(*decoder, body)
    if done != BROTLI_SUCCESS or left:
        raise ValueError("the brotli body is damaged, cut short or has a tail")
    return plain


@contextlib.contextmanager
def zstd_decoder(dictionary):
    """(the library, a decoder); `dictionary` is raw."""
    library = libraries.needed("zstd")
    decoder = libraries.created(library.ZSTD_createDCtx(), "zstd")
    try:
        if dictionary:
            library.ZSTD_DCtx_refPrefix(decoder, dictionary, len(dictionary))
        yield library, decoder
    except OSError as problem:
        raise ValueError(f"the zstd body is broken: {problem}") from None
    finally:
        library.ZSTD_freeDCtx(decoder)


def zstd_step(library, decoder, piece):
    """(whether it wants more, bytes of the piece that it left, its output)."""
    buffer = ctypes.create_string_buffer(ROOM)
    source = libraries.ZstdBuffer(ctypes.cast(BYTES(piece), POINTER), len(piece), 0)
    written, wants, full = [], 1, True
    while wants and (full or source.position < source.size):
        target = libraries.ZstdBuffer(ctypes.addressof(buffer), ROOM, 0)
        wants = libraries.check_zstd(library, library.ZSTD_decompressStream(
            decoder, ctypes.byref(target), ctypes.byref(source)))
        written.append(buffer.raw[:target.position])
        full = target.position == ROOM
    return wants, source.size - source.position, b"".join(written)


def zstd(body, dictionary=b""):
    """`dictionary` is raw."""
    with zstd_decoder(dictionary) as decoder:
        wants, left, plain = zstd_step(*decoder, body)
    if wants or left:
        raise ValueError("the zstd body is cut short or has a tail")
    return plain


def in_pieces(coding, pieces, dictionary=b""):
    """What the decoder of a coding gives after each of the pieces; a dictionary's head is none of
    them.
    """
    if coding == "gzip":
        decoder = zlib.decompressobj(31)
        yield from map(decoder.decompress, pieces)
        return
    opened, step = (brotli_decoder, brotli_step) if coding in ("br", "dcb") else (
        zstd_decoder, zstd_step)
    with opened(dictionary) as decoder:
        for piece in pieces:
            yield step(*decoder, piece)[2]
