"""brotli and zstd back: the identity of a body. ValueError where it is damaged, cut short, or has
a tail, or more than so many bytes come of it.
"""

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


def brotli(body, dictionary=b"", most=0):
    loaded = libraries.load_dictionaries if dictionary else libraries.load
    library = libraries.needed("brotli decoder", loaded)
    decoder = libraries.created(library.BrotliDecoderCreateInstance(None, None, None), "brotli")
    try:
        if dictionary:
            library.BrotliDecoderAttachDictionary(decoder, BROTLI_RAW, len(dictionary), dictionary)
        return brotli_output(library, decoder, body, most)
    finally:
        library.BrotliDecoderDestroyInstance(decoder)


def brotli_output(library, decoder, body, most):
    left, none, place = SIZE(len(body)), SIZE(0), BYTES(body)
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
    if done != BROTLI_SUCCESS or left.value:
        raise ValueError("the brotli body is damaged, cut short or has a tail")
    return b"".join(written)


def zstd(body, dictionary=b"", most=0):
    """`dictionary` is raw."""
    library = libraries.needed("zstd")
    decoder = libraries.created(library.ZSTD_createDCtx(), "zstd")
    try:
        if dictionary:
            library.ZSTD_DCtx_refPrefix(decoder, dictionary, len(dictionary))
        return zstd_output(library, decoder, body, most)
    except OSError as problem:
        raise ValueError(f"the zstd body is broken: {problem}") from None
    finally:
        library.ZSTD_freeDCtx(decoder)


def zstd_output(library, decoder, body, most):
    buffer = ctypes.create_string_buffer(ROOM)
    source = libraries.ZstdBuffer(ctypes.cast(BYTES(body), POINTER), len(body), 0)
    written, left, full, count = [], 1, True, 0
    while left and (full or source.position < source.size):
        target = libraries.ZstdBuffer(ctypes.addressof(buffer), ROOM, 0)
        left = libraries.check_zstd(library, library.ZSTD_decompressStream(
            decoder, ctypes.byref(target), ctypes.byref(source)))
        written.append(buffer.raw[:target.position])
        count += target.position
        check_size(count, most)
        full = target.position == ROOM
    if left or source.position < source.size:
        raise ValueError("the zstd body is cut short or has a tail")
    return b"".join(written)


PLAIN = {"gzip": gunzip, "br": lambda body, most: brotli(body, most=most),
         "zstd": lambda body, most: zstd(body, most=most)}


def decode(coding, body, dictionary=b"", most=0):
    """Of a response in a coding that is named so; those of RFC 9842 need the dictionary."""
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
