"""gzip, brotli and zstd decoded: the identity of a body, and a decoder's output as pieces arrive.
Raises ValueError for a body that is damaged, has more than `most` bytes (0: no limit), or, if
whole, is truncated or has a tail."""

import contextlib
import ctypes
import zlib

from codeckit import dictionaries, libraries
from codeckit.libraries import BYTES, POINTER, SIZE

ROOM = 1 << 17  # bytes; a block of zstd's format
BROTLI_RAW, BROTLI_SUCCESS, BROTLI_MORE_OUTPUT = 0, 1, 3


def check_size(count, most):
    if most and count > most:
        raise ValueError(f"it has more than {most} bytes")


def gunzip(body, most=0):
    decoder = zlib.decompressobj(31)
    try:
        plain = decoder.decompress(body, most + 1 if most else 0)
    except zlib.error as problem:
        raise ValueError(f"the gzip body is damaged: {problem}") from None
    check_size(len(plain), most)
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


def brotli_step(library, decoder, piece, most=0):
    """(its result, unused bytes of the piece, its output)."""
    left, none, place = SIZE(len(piece)), SIZE(0), BYTES(piece)
    written, done, count = [], BROTLI_MORE_OUTPUT, 0
    while done == BROTLI_MORE_OUTPUT:
        done = library.BrotliDecoderDecompressStream(
            decoder, ctypes.byref(left), ctypes.byref(place), ctypes.byref(none),
            ctypes.byref(POINTER()), None)
        size = SIZE(0)
        output = library.BrotliDecoderTakeOutput(decoder, ctypes.byref(size))
        written.append(ctypes.string_at(output, size.value) if size.value else b"")
        count += size.value
        check_size(count, most)
    return done, left.value, b"".join(written)


def brotli(body, dictionary=b"", most=0):
    with brotli_decoder(dictionary) as decoder:
        done, left, plain = brotli_step(*decoder, body, most)
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


def zstd_step(library, decoder, piece, most=0):
    """(whether it needs more input, unused bytes of the piece, its output)."""
    buffer = ctypes.create_string_buffer(ROOM)
    source = libraries.ZstdBuffer(ctypes.cast(BYTES(piece), POINTER), len(piece), 0)
    written, wants, full, count = [], 1, True, 0
    while wants and (full or source.position < source.size):
        target = libraries.ZstdBuffer(ctypes.addressof(buffer), ROOM, 0)
        wants = libraries.check_zstd(library, library.ZSTD_decompressStream(
            decoder, ctypes.byref(target), ctypes.byref(source)))
        written.append(buffer.raw[:target.position])
        count += target.position
        check_size(count, most)
        full = target.position == ROOM
    return wants, source.size - source.position, b"".join(written)


def zstd(body, dictionary=b"", most=0):
    """`dictionary` is raw."""
    with zstd_decoder(dictionary) as decoder:
        wants, left, plain = zstd_step(*decoder, body, most)
    if wants or left:
        raise ValueError("the zstd body is cut short or has a tail")
    return plain


def in_pieces(coding, pieces, dictionary=b""):
    """The output of a coding's decoder after each of the pieces, which do not include a
    dictionary's head."""
    if coding == "gzip":
        decoder = zlib.decompressobj(31)
        yield from map(decoder.decompress, pieces)
        return
    opened, step = (brotli_decoder, brotli_step) if coding in ("br", "dcb") else (
        zstd_decoder, zstd_step)
    with opened(dictionary) as decoder:
        for piece in pieces:
            yield step(*decoder, piece)[2]


PLAIN = {"gzip": gunzip, "br": lambda body, most: brotli(body, most=most),
         "zstd": lambda body, most: zstd(body, most=most)}


def decode(coding, body, dictionary=b"", most=0):
    """Decodes a response in the coding of that name; those of RFC 9842 need the dictionary."""
    coding = coding.strip().lower()
    if coding in ("", "identity"):
        return body
    if coding in dictionaries.HEADS and dictionary:
        head = dictionaries.head(coding, dictionary)
        if not body.startswith(head):
            raise ValueError(f"the {coding} body is for another dictionary")
        return (zstd if coding == "dcz" else brotli)(body[len(head):], dictionary, most)
    if coding not in PLAIN:
        raise ValueError(f"the coding is {coding}, which was not asked for")
    return PLAIN[coding](body, most)
