"""Encodes and decodes bodies, and measures the time of encoding; codeckit has the libraries."""

import contextlib
import ctypes
import time
import zlib

from benchkit import tools
from codeckit import decoders, dictionaries, streams

MALLOPT_TRIM, MALLOPT_MMAP = -1, -3  # glibc's M_TRIM_THRESHOLD and M_MMAP_THRESHOLD
ALWAYS, NEVER = 16 << 10, 32 << 20  # bytes from which memory is mapped anew, and returned


class WrongBody(tools.BenchError):
    """A body is not the expected one."""


@contextlib.contextmanager
def fresh_memory(fresh):
    """Has malloc take larger blocks from the system each time, or reuse its own. A server whose
    threads' heaps shrink between two requests has fresh memory for each."""
    mallopt = getattr(ctypes.CDLL(None), "mallopt", lambda *_: None)

    def set_limit(limit):
        mallopt(MALLOPT_MMAP, limit)
        mallopt(MALLOPT_TRIM, limit)

    set_limit(ALWAYS if fresh else NEVER)
    try:
        yield
    finally:
        set_limit(NEVER)


def encode_all(encoder, bodies):
    started = time.process_time()
    total = sum(encoder.encode(body) for body in bodies)
    return total, time.process_time() - started


def encode(body, coding, window_bits):
    """The body in a coding, at a low level."""
    if coding == "br":
        return streams.whole(streams.BrotliStream(1, window_bits, len(body)), body)
    if coding == "zstd":
        return streams.whole(streams.ZstdStream(3, window_bits, len(body)), body)
    encoder = zlib.compressobj(1, zlib.DEFLATED, 16 + window_bits)
    return encoder.compress(body) + encoder.flush()


DECODERS = {"gzip": decoders.gunzip, "br": decoders.brotli, "zstd": decoders.zstd,
            "dcb": decoders.brotli, "dcz": decoders.zstd}


def decode(body, coding, dictionary=b""):
    """The identity of a body; raises WrongBody if it is damaged."""
    if not coding:
        return body
    if coding not in DECODERS:
        raise WrongBody(f"a body came in the unknown coding '{coding}'")
    try:
        if coding not in dictionaries.HEADS:
            return DECODERS[coding](body)
        head = dictionaries.head(coding, dictionary)
        if not body.startswith(head):
            raise WrongBody(f"a {coding} body begins otherwise than with its dictionary's hash")
        return DECODERS[coding](body[len(head):], dictionary)
    except ValueError as problem:
        raise WrongBody(str(problem)) from None
