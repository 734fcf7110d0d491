"""A position file as elasticd publishes it, by docs/internals/control.md."""

import contextlib
import fcntl
import os
import struct
import time
import zlib


ENDED, LOCKED = 1, 2  # flags: its writer has ended; it holds a lock for life

F_OFD_SETLK = 37  # from <fcntl.h>; Python's fcntl may have it from 3.9 on


class PositionFile:
    def __init__(self, path):
        self.path = path

    def write(self, position, top=8, bypass=False, load=0.65, age=0.0, interval=60000, version=1,
              flags=0):
        """Replaces the file atomically: a reading httpd sees it whole."""
        whole, fraction = divmod(round(position * 65536), 65536)
        data = struct.pack("<8sIIQHHHHIIQI8x", b"elastic\0", version, interval,
                           int((time.monotonic() - age) * 1e6), fraction, whole, top, bypass,
                           round(load * 1e6), flags, 1, os.getpid())
        self.replace(data + struct.pack("<I", zlib.crc32(data)))

    @contextlib.contextmanager
    def locked(self):
        """Holds the lock of a living writer; the file must not be replaced meanwhile."""
        with open(self.path, "r+b") as file:
            fcntl.fcntl(file, F_OFD_SETLK, struct.pack("hhqqi4x", fcntl.F_WRLCK, 0, 0, 0, 0))
            yield

    def replace(self, data):
        part = self.path.with_suffix(".part")
        part.write_bytes(data)
        os.chmod(part, 0o644)
        part.rename(self.path)


FOLLOW = """
ElasticInterval 100ms
ElasticControl external
ElasticPosition {root}/position
"""


def start_following(server):
    """Starts a server that has FOLLOW; returns a function that moves its position and waits."""
    file = PositionFile(server.root / "position")
    file.write(5)
    server.start()

    def follow(position, bypass=False):
        file.write(position, bypass=bypass)
        wanted = {"ElasticFollows": "1", "ElasticPosition": f"{position / 8:.3f}",
                  "ElasticBypass": str(int(bypass))}
        server.wait_for(lambda: wanted.items() <= server.status().items(), 60, str(wanted))
    follow(5)
    return follow


# {name: the damage to a good file}
HARMS = {
    "absent": lambda file: file.path.unlink(),
    "empty": lambda file: file.replace(b""),
    "cut": lambda file: os.truncate(file.path, 63),
    "noise": lambda file: file.replace(os.urandom(64)),
    "a folder": lambda file: (file.path.unlink(), file.path.mkdir()),
    "a fifo": lambda file: (file.path.unlink(), os.mkfifo(file.path)),
    "of an old version": lambda file: file.write(0, version=0),
    # A machine may have been up for seconds only, so this uses ten short intervals.
    "stale": lambda file: file.write(0, age=6, interval=500),
    "of another boot": lambda file: file.write(0, age=-3600),
    "stopped": lambda file: file.write(0, flags=ENDED),
    "beyond its top": lambda file: file.write(9, top=8),
}
