"""The position file (docs/manual/elasticd.md): it holds a server's effort for an experiment."""

import struct
import time
import zlib

LAYOUT = struct.Struct("<8sIIQHHHHIIQIQ")
NO_LOAD = 0xFFFFFFFF
LONG = 60 * 60 * 1000  # ms between updates, so that no experiment finds the file stale
ONE = 1 << 16


def encode(position, top, now=None):
    """The file's bytes for a `position` of 0 to `top`; its fraction is a share of the requests."""
    whole = int(position)
    head = LAYOUT.pack(b"elastic\0", 1, LONG,
                       round((time.monotonic() if now is None else now) * 1e6),
                       round((position - whole) * ONE), whole, top, 0, NO_LOAD, 0, 1, 1, 0)
    return head + struct.pack("<I", zlib.crc32(head))
