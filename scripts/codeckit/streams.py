"""brotli and zstd in pieces: take() encodes a piece and returns the output so far; finish(),
close()."""

import ctypes

from codeckit import libraries
from codeckit.libraries import BYTES, POINTER, SIZE

# bytes, as in src/engines/zstd.c
ZSTD_BLOCK_FIRST, ZSTD_BLOCK_MOST, ZSTD_ONE_BLOCK = 5 << 10, 64 << 10, 16 << 10
ZSTD_AT_ONCE, ZSTD_BLOCKS_END, ZSTD_LENGTH_COUNTS = 4 * 1448, 256 << 10, 1 << 20


class BrotliStream:
    """`size` is a hint."""

    PROCESS, FINISH = 0, 2
    QUALITY, WINDOW, SIZE_HINT = 1, 2, 5

    def __init__(self, quality, window_bits, size):
        self.library = libraries.needed("brotli")
        self.encoder = libraries.created(
            self.library.BrotliEncoderCreateInstance(None, None, None), "brotli")
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


def zstd_blocks(size, made):
    """The lengths of the blocks that end early in a body of `size` bytes: see block_begin() in
    src/engines/zstd.c. `made()` returns the output of the previous ones. The rest is in the
    library's own blocks."""
    counts = size if size <= ZSTD_LENGTH_COUNTS else 0
    begin, length = 0, ZSTD_BLOCK_FIRST
    while size > ZSTD_ONE_BLOCK and begin < (counts // 2 if counts else ZSTD_BLOCKS_END):
        if counts:
            if made() * counts < ZSTD_AT_ONCE * begin:
                break
            length = min(length, counts // 8 * 5 - begin)
        yield length
        begin, length = begin + length, min(3 * length, ZSTD_BLOCK_MOST)


class ZstdStream:
    """For exactly `size` bytes; it fails if there are more or fewer."""

    CONTINUE, FLUSH, END = 0, 1, 2
    LEVEL, WINDOW = 100, 101
    ROOM = 1 << 17  # bytes; a block of the format

    def __init__(self, level, window_bits, size):
        """`window_bits` 0: the library's choice by level and size."""
        self.library = libraries.needed("zstd")
        self.encoder = libraries.created(self.library.ZSTD_createCCtx(), "zstd")
        self.buffer = ctypes.create_string_buffer(self.ROOM)
        for parameter, value in ((self.LEVEL, level), (self.WINDOW, window_bits)):
            self.check(self.library.ZSTD_CCtx_setParameter(self.encoder, parameter, value))
        self.check(self.library.ZSTD_CCtx_setPledgedSrcSize(self.encoder, size))
        self.made = 0
        self.blocks = zstd_blocks(size, lambda: self.made)
        self.left = next(self.blocks, None)  # of the block

    def check(self, result):
        return libraries.check_zstd(self.library, result)

    def take(self, piece):
        written = []
        while self.left is not None and self.left < len(piece):
            written.append(self.run(piece[:self.left], self.FLUSH))
            piece, self.left = piece[self.left:], next(self.blocks, None)
        if self.left is not None:
            self.left -= len(piece)
        return b"".join((*written, self.run(piece, self.CONTINUE)))

    def finish(self):
        return self.run(b"", self.END)

    def run(self, piece, operation):
        source = libraries.ZstdBuffer(ctypes.cast(BYTES(piece), POINTER), len(piece), 0)
        written = []
        while True:
            target = libraries.ZstdBuffer(ctypes.addressof(self.buffer), self.ROOM, 0)
            left = self.check(self.library.ZSTD_compressStream2(
                self.encoder, ctypes.byref(target), ctypes.byref(source), operation))
            written.append(self.buffer.raw[:target.position])
            self.made += target.position
            if source.position == source.size and (operation == self.CONTINUE or not left):
                return b"".join(written)

    def close(self):
        self.library.ZSTD_freeCCtx(self.encoder)


def whole(stream, body):
    """Encodes a body by a stream, and closes that."""
    try:
        return stream.take(body) + stream.finish()
    finally:
        stream.close()
