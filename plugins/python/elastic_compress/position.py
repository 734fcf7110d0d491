"""The position file of elasticd: its bytes, their age, and the setup that a request takes."""

import itertools
import os
import struct
import time
import zlib

DEFAULT_PATH = "/run/elastic/elastic.position"

# As docs/internals/control.md describes it.
LAYOUT = struct.Struct("<8sIIQHHHHIIQI8xI")
MAGIC = b"elastic\0"
VERSION = 1
STALE_INTERVALS = 10

# Seconds that a position is used for without looking at the file again.
CACHE = 0.1

# 2^32 divided by the golden ratio: its multiples are spread evenly.
GOLDEN = 2654435769


def decode(data, now):
    """(share of the way from floor to ceiling, bypass), or None where `data` cannot be gone by."""
    if len(data) != LAYOUT.size:
        return None
    (magic, version, interval, updated, fraction, whole, top, bypass, _load, ended, _samples, _pid,
     checksum) = LAYOUT.unpack(data)
    if magic != MAGIC or version != VERSION or checksum != zlib.crc32(data[:-4]):
        return None
    age, interval = now - updated / 1e6, interval / 1e3
    if ended & 1 or not -interval <= age <= STALE_INTERVALS * interval:
        return None
    position = whole + fraction / 65536
    if position > top:
        return None
    return position / top if top else 1.0, bool(bypass & 1)


class Follower:
    """Tells each request its setup. One for a process; threads may share it without a lock: at
    worst two of them read the file at the same time."""

    def __init__(self, path=DEFAULT_PATH, clock=time.monotonic):
        self.path = path
        self.clock = clock
        self.count = itertools.count(os.getpid())
        self.cached = (float("-inf"), None)

    def read(self):
        try:
            fd = os.open(self.path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
        except OSError:
            return None
        try:
            # Read, not mapped: who truncates a mapped file kills its readers.
            return decode(os.pread(fd, LAYOUT.size, 0), self.clock())
        except OSError:
            return None
        finally:
            os.close(fd)

    def look(self):
        """(share, bypass) or None, at most 100 ms old."""
        now = self.clock()
        read_at, position = self.cached
        if now - read_at >= CACHE:
            position = self.read()
            self.cached = (now, position)
        return position

    def setup(self, setups, default):
        """One of `setups`, a sequence in the order of effort: mixed from the two that the position
        is between, by its fraction. None where nothing is to be compressed; `default` while no
        position is published."""
        position = self.look()
        if position is None:
            return default
        share, bypass = position
        if bypass:
            return None
        parts = round(share * (len(setups) - 1) * 65536)
        whole, fraction = divmod(parts, 65536)
        upper = (next(self.count) * GOLDEN & 0xffffffff) >> 16 < fraction
        return setups[whole + upper]
