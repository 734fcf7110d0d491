"""Which library, at which level, made a gzip body: each is tried, and their bytes compared.

As the source did with its downloads: where the same bytes come out, the same code is assumed to
have made them. Several levels may give the same bytes for a small page; the lowest is named.
"""

import functools
import shutil
import subprocess
import zlib

from codeckit import engines

MEMORY_LEVELS = (8, 9)  # zlib's default; mod_deflate's
GZIP_HEADER = 10


def deflate_stream(body):
    """The raw deflate data of a gzip body, without header and trailer; None where it is none."""
    if body[:3] != b"\x1f\x8b\x08" or len(body) < 18:
        return None
    flags, place = body[3], GZIP_HEADER
    if flags & 4:
        place += 2 + int.from_bytes(body[place:place + 2], "little")
    for bit in (8, 16):  # a name, a comment
        if flags & bit:
            place = body.index(b"\0", place) + 1
    if flags & 2:
        place += 2
    return body[place:-8]


def zlib_stream(plain, level, memory_level):
    encoder = zlib.compressobj(level, zlib.DEFLATED, -15, memory_level)
    return encoder.compress(plain) + encoder.flush()


def gzip_stream(plain, level):
    """What the program gzip makes, whose deflate is not quite zlib's; None where there is none."""
    program = shutil.which("gzip")
    if program is None:
        return None
    made = subprocess.run([program, "-cn", f"-{level}"], input=plain, capture_output=True,
                          check=True).stdout
    return deflate_stream(made)


def candidates():
    """(library, level, function that makes a stream of a body) of all to be tried, zlib first."""
    for memory_level in MEMORY_LEVELS:
        for level in range(1, 10):
            yield (f"zlib, memory level {memory_level}", level,
                   functools.partial(zlib_stream, level=level, memory_level=memory_level))
    for level in range(1, 10):
        yield "gzip", level, functools.partial(gzip_stream, level=level)
    engine = engines.installed().get("libdeflate")
    for level in engine.levels if engine else ():
        yield ("libdeflate", level, lambda plain, level=level:
               deflate_stream(engines.whole("libdeflate", level, plain)))


def family(library):
    """zlib or libdeflate. zlib's memory levels often give the same bytes, and the program gzip,
    whose algorithm zlib took over, sometimes gives zlib's.
    """
    if library is None:
        return "-"
    return "zlib" if library.startswith(("zlib", "gzip")) else library


def identify(body):
    """(library, level) that made a gzip body; (None, None) where nothing gives its bytes."""
    stream = deflate_stream(body)
    return identify_stream(stream) if stream else (None, None)


def identify_stream(stream):
    plain = zlib.decompress(stream, -15)
    for library, level, make in candidates():
        if make(plain) == stream:
            return library, level
    return None, None
