"""A position file as elasticd publishes it, by docs/manual/elasticd.md."""

import os
import struct
import time
import zlib


class PositionFile:
    def __init__(self, path):
        self.path = path

    def write(self, position, top=8, bypass=False, load=0.65, age=0.0, interval=60000, version=1,
              ended=0):
        """Replaces the file at once: an httpd that reads all the time sees it whole."""
        whole, fraction = divmod(round(position * 65536), 65536)
        data = struct.pack("<8sIIQHHHHIIQI8x", b"elastic\0", version, interval,
                           int((time.monotonic() - age) * 1e6), fraction, whole, top, bypass,
                           round(load * 1e6), ended, 1, os.getpid())
        self.replace(data + struct.pack("<I", zlib.crc32(data)))

    def replace(self, data):
        part = self.path.with_suffix(".part")
        part.write_bytes(data)
        os.chmod(part, 0o644)
        part.rename(self.path)


# name: what happens to a file that was good
HARMS = {
    "absent": lambda file: file.path.unlink(),
    "empty": lambda file: file.replace(b""),
    "cut": lambda file: os.truncate(file.path, 63),
    "noise": lambda file: file.replace(os.urandom(64)),
    "a folder": lambda file: (file.path.unlink(), file.path.mkdir()),
    "a fifo": lambda file: (file.path.unlink(), os.mkfifo(file.path)),
    "of an old version": lambda file: file.write(0, version=0),
    "stale": lambda file: file.write(0, age=601),
    "of another boot": lambda file: file.write(0, age=-3600),
    "stopped": lambda file: file.write(0, ended=1),
    "beyond its top": lambda file: file.write(9, top=8),
}
