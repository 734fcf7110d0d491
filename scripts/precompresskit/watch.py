"""Waits for a change in a tree of folders (inotify, which Linux has)."""

import ctypes
import errno
import os
import select
import struct
import time

from precompresskit import files

IN_ATTRIB, IN_CLOSE_WRITE, IN_MOVED_FROM, IN_MOVED_TO = 0x4, 0x8, 0x40, 0x80
IN_CREATE, IN_DELETE, IN_Q_OVERFLOW, IN_ONLYDIR = 0x100, 0x200, 0x4000, 0x1000000
WATCHED = (IN_ATTRIB | IN_CLOSE_WRITE | IN_MOVED_FROM | IN_MOVED_TO | IN_CREATE | IN_DELETE
           | IN_ONLYDIR)

EVENT = struct.Struct("iIII")  # watch, mask, cookie, length of the name that follows
ROOM = 1 << 16  # bytes of events read at a time

# A deployment writes many files: they are compressed together once it pauses for QUIET, and at the
# latest after PATIENCE.
QUIET, PATIENCE = 0.3, 5.0  # seconds


class Watch:
    def __init__(self):
        self.libc = ctypes.CDLL(None, use_errno=True)
        self.descriptor = self.call("inotify_init1", os.O_NONBLOCK | os.O_CLOEXEC)
        self.poll = select.poll()
        self.poll.register(self.descriptor, select.POLLIN)

    def call(self, function, *arguments):
        result = getattr(self.libc, function)(*arguments)
        if result < 0:
            number = ctypes.get_errno()
            raise OSError(number, os.strerror(number))
        return result

    def add(self, top):
        """Watches `top` and all folders below it, unless they are watched already."""
        for folder, _ in files.folders(top):
            try:
                self.call("inotify_add_watch", self.descriptor, os.fsencode(folder),
                          ctypes.c_uint32(WATCHED))
            except OSError as problem:
                if problem.errno == errno.ENOSPC:
                    raise OSError(f"{folder} cannot be watched: raise "
                                  "fs.inotify.max_user_watches") from None
                if problem.errno not in (errno.ENOENT, errno.ENOTDIR, errno.EACCES):
                    raise

    def has_news(self):
        """True if anything but precompress's own files has changed since the last call."""
        news = False
        while True:
            try:
                events = os.read(self.descriptor, ROOM)
            except BlockingIOError:
                return news
            at = 0
            while at < len(events):
                _, mask, _, length = EVENT.unpack_from(events, at)
                at += EVENT.size + length
                name = os.fsdecode(events[at - length:at].rstrip(b"\0"))
                # An event of a folder itself has no name; the folder above has it, too.
                news |= bool(mask & IN_Q_OVERFLOW or name and not files.is_own_name(name))

    def wait(self):
        while not self.has_news():
            self.poll.poll()
        until = time.monotonic() + PATIENCE
        while time.monotonic() < until and self.poll.poll(QUIET * 1000):
            self.has_news()
