"""The fewest bytes of each coding.

A body is encoded in several ways, and the smallest result wins. The ways include those of the
server with the same libraries, so that no file is larger than the server's own encoding. Larger
files are read in pieces, and encoded in one way.
"""

import shutil
import subprocess
import tempfile
import typing
import zlib

from codeckit import engines, libraries, streams

# Up to this size a file is encoded as a whole, in several ways: libdeflate takes three seconds for
# it, brotli half a minute.
WHOLE_MOST = 16 << 20

# Up to this size every level is tried. Only for larger bodies is the best level certain: for small
# ones a lower level may save some bytes more.
EVERY_LEVEL_MOST = 128 << 10

CHUNK = 1 << 16  # bytes; small enough that Ctrl-C takes effect soon even with slow encoders

LIBDEFLATE_LEVELS, ZLIB_LEVELS, ISAL_LEVELS = range(1, 13), range(1, 10), range(4)
BROTLI_LEVELS, ZSTD_LEVELS = range(12), range(1, 23)

# The server's, up to the format's largest (RFC 7932 §9.1).
BROTLI_WINDOWS = range(18, 25)

# The largest that a client must accept (RFC 9659 §3).
ZSTD_WINDOW_MOST = 23

# 22 usually makes the fewest bytes, in more time. The server's highest is 19; if blocks end early
# (streams.zstd_blocks), a level from 15 on may make fewer than those above it.
ZSTD_BEST = (22, 19, 18, 17, 16, 15)


class Interrupted(Exception):
    """Ctrl-C or SIGTERM came while a file was being compressed."""


class Missing(Exception):
    """A requested program is not installed; the text names its package."""


class Codec(typing.NamedTuple):
    """One coding."""

    extension: str  # of its files
    ways: typing.Callable  # (size) -> functions (body, stop) -> encoded bytes
    open_stream: typing.Callable  # (size) -> a stream, for large files


class ZlibStream:
    """Like those of codeckit.streams. The header has no name or time: equal files give equal
    bytes."""

    def __init__(self, level):
        encoder = zlib.compressobj(level, zlib.DEFLATED, 31)
        self.take, self.finish = encoder.compress, encoder.flush

    def close(self):
        pass


def pieces(body):
    return (body[at:at + CHUNK] for at in range(0, len(body), CHUNK))


def run_stream(stream, source, stop):
    """The encoded pieces of the pieces of `source`."""
    try:
        for piece in source:
            if stop.is_set():
                raise Interrupted
            yield stream.take(piece)
        yield stream.finish()
    finally:
        stream.close()


def by_stream(make, *arguments):
    """The way that encodes by a stream of its own."""

    def encode(body, stop):
        return b"".join(run_stream(make(*arguments), pieces(body), stop))

    return encode


def levels(size, every, best):
    return every if size <= EVERY_LEVEL_MOST else best


def gzip_ways(size):
    for level in levels(size, ZLIB_LEVELS, (9,)):
        yield by_stream(ZlibStream, level)
    if libraries.load("libdeflate"):
        for level in levels(size, LIBDEFLATE_LEVELS, (12,)):
            yield in_one_call("libdeflate", level)
    if libraries.load("ISA-L"):
        for level in levels(size, ISAL_LEVELS, ()):
            yield in_one_call("ISA-L", level)
    if shutil.which("zopfli"):
        yield by_zopfli


def in_one_call(engine, level):
    """The way that passes a whole body to a library."""

    def encode_whole(body, stop):
        if stop.is_set():
            raise Interrupted
        return engines.whole(engine, level, body)

    return encode_whole


def by_zopfli(body, stop):
    with tempfile.TemporaryFile() as source, tempfile.TemporaryFile() as target:
        source.write(body)
        source.flush()
        # By this name it opens the file anew, at its beginning.
        command = ["zopfli", "-c", f"/dev/fd/{source.fileno()}"]
        with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=target,
                              stderr=subprocess.PIPE, start_new_session=True,
                              pass_fds=[source.fileno()]) as process:
            errors = wait_for(process, stop)
        target.seek(0)
        encoded = target.read()
    if process.returncode != 0:
        raise OSError(f"zopfli failed: {errors or process.returncode}")
    # This encoder is another program, of any version, so its output is verified.
    if not decodes_to(encoded, body):
        raise OSError("what zopfli wrote is not the gzip of the file")
    return encoded


def wait_for(process, stop):
    """The process's stderr, when it has ended."""
    try:
        while True:
            try:
                return process.communicate(timeout=0.1)[1].decode(errors="replace").strip()
            except subprocess.TimeoutExpired:
                if stop.is_set():
                    raise Interrupted from None
    except BaseException:
        process.kill()
        raise


def decodes_to(encoded, body):
    decoder = zlib.decompressobj(31)
    try:
        return (decoder.decompress(encoded, len(body) + 1) == body and decoder.eof
                and not decoder.unused_data)
    except zlib.error:
        return False


def brotli_window(size):
    """The smallest window that covers the whole body (RFC 7932 §9.1)."""
    return next((bits for bits in BROTLI_WINDOWS if size <= (1 << bits) - 16), BROTLI_WINDOWS[-1])


def brotli_ways(size):
    for window in sorted({BROTLI_WINDOWS[0], brotli_window(size)}):
        for level in levels(size, BROTLI_LEVELS, (11,)):
            yield by_stream(streams.BrotliStream, level, window, size)


def brotli_stream(size):
    return streams.BrotliStream(11, brotli_window(size), size)


def zstd_window(size):
    return ZSTD_WINDOW_MOST if size > 1 << ZSTD_WINDOW_MOST else 0


def zstd_ways(size):
    for level in levels(size, ZSTD_LEVELS, ZSTD_BEST):
        yield by_stream(streams.ZstdStream, level, zstd_window(size), size)


def zstd_stream(size):
    return streams.ZstdStream(ZSTD_BEST[0], zstd_window(size), size)


def encode(codec, source, size, stop):
    """The encoded pieces of the open file, which had `size` bytes when it was opened."""
    if size > WHOLE_MOST:
        return run_stream(codec.open_stream(size), iter(lambda: source.read(CHUNK), b""), stop)
    body = source.read()
    return [min((way(body, stop) for way in codec.ways(len(body))), key=len)]


def choose_codecs(options):
    """The requested codecs. Raises Missing with the name of a missing package."""
    codecs = []
    if options.gz:
        codecs.append(Codec(".gz", gzip_ways, lambda size: ZlibStream(9)))
    if options.br:
        if not libraries.load("brotli"):
            raise Missing("libbrotlienc is missing: install libbrotli1 (Debian) or libbrotli "
                          "(Fedora), or say --no-br")
        codecs.append(Codec(".br", brotli_ways, brotli_stream))
    if options.zst is not False:
        if libraries.load("zstd"):
            codecs.append(Codec(".zst", zstd_ways, zstd_stream))
        elif options.zst:
            raise Missing("libzstd is missing: install libzstd1 (Debian) or libzstd (Fedora)")
    return codecs
