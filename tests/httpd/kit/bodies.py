"""Deterministic bodies. The same size gives the same bytes in every process.

CGI scripts have a copy with the block of text in a file: to make it takes longer than a script.
"""

import contextlib
import functools

_WORDS = (
    "the of and to in is that it was for on are as with his they at be this from have or by one "
    "had not but what all were when we there can an your which their said if do will each about "
    "server response header client coding level segment compress body request stream flush cache"
).split()


@functools.lru_cache(maxsize=None)
def block():
    """What texts are made of."""
    with contextlib.suppress(FileNotFoundError), open(__file__ + ".block", "rb") as file:
        return file.read()
    import random  # which scripts do without

    rng = random.Random(2)
    words = []
    size = 0
    while size < 1 << 18:
        word = rng.choice(_WORDS) if rng.random() < 0.8 else f"{rng.randrange(1 << 24):x}"
        words.append(word)
        size += len(word) + 1
    return " ".join(words).encode()[: 1 << 18]


@functools.lru_cache(maxsize=64)
def text(size):
    """Text of exactly `size` bytes that compresses about as well as prose."""
    parts = []
    left = size
    index = 0
    while left > 0:
        # A line that differs in each block keeps large bodies from being one repetition.
        piece = (b"\n[%d]\n" % index) + block() if index else block()
        parts.append(piece[:left])
        left -= len(parts[-1])
        index += 1
    return b"".join(parts)


def html(size):
    head, tail = b"<!DOCTYPE html><title>t</title><p>", b"</p>\n"
    return head + text(size - len(head) - len(tail)) + tail


@functools.lru_cache(maxsize=16)
def noise(size):
    import random

    return random.Random(size).randbytes(size)


def pieces(data, sizes=(1, 7, 1000, 8191, 3, 16385, 2, 4096)):
    """`data` cut into odd pieces, the sizes in rotation."""
    at = 0
    turn = 0
    while at < len(data):
        size = sizes[turn % len(sizes)]
        yield data[at : at + size]
        at += size
        turn += 1
