"""Each coding and level of mod_elastic: bytes and CPU time of a body, measured here."""

import time
import typing

from codeckit import engines

# The engine of each level of a coding, within the default bounds; if the first is not installed,
# the next. ISA-L counts its levels differently: its 1 is gzip 1.
SETUPS = ([("gzip", 1, (("ISA-L", 1), ("libdeflate", 1), ("zlib", 1)))]
          + [("gzip", level, (("libdeflate", level), ("zlib", level))) for level in range(2, 10)]
          + [("br", level, (("brotli", level),)) for level in range(7)]
          + [("zstd", level, (("zstd", level),)) for level in range(1, 10)])

LONG_ENOUGH = 0.002  # seconds, so that the clock's resolution does not matter
MOST = 5  # times to encode a body


class Result(typing.NamedTuple):
    coding: str
    level: int
    nbytes: int
    seconds: float  # of CPU


def measured(encoder, body):
    """(bytes, seconds of the fastest run), because other work makes a run longer."""
    best, spent = float("inf"), 0.0
    for _ in range(MOST):
        started = time.process_time()
        nbytes = encoder.encode(body)
        seconds = time.process_time() - started
        best, spent = min(best, seconds), spent + seconds
        if spent > LONG_ENOUGH:
            break
    return nbytes, best


class Encoders:
    def __init__(self, largest):
        self.largest = largest
        self.made = {}

    def encode(self, library, level, kept, body):
        key = library, level, kept
        if key not in self.made:
            self.made[key] = engines.installed()[library].make(level, self.largest, kept)
        return measured(self.made[key], body)

    def elastic(self, body):
        """A Result of each installed setup; contexts are reused, as in the module."""
        found = []
        for coding, level, makers in SETUPS:
            for library, own in makers:
                if library in engines.installed():
                    kept = engines.KEPT in engines.installed()[library].contexts
                    found.append(Result(coding, level, *self.encode(library, own, kept, body)))
                    break
        return found

    def stock(self, coding, level, body):
        """mod_deflate's or mod_brotli's: an encoder for each body."""
        library = {"gzip": "zlib", "br": "brotli"}[coding]
        return Result(coding, level, *self.encode(library, level, False, body))
