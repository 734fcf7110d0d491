"""elasticd as it is built, on a machine that is made up, and the file that it publishes in."""

import os
import pathlib
import signal
import struct
import subprocess
import sys
import threading
import time
import zlib

import pytest

SOURCE = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(SOURCE / "tests" / "httpd"))

from kit import env  # noqa: E402
from kit.procstat import ProcStat  # noqa: E402

# Seconds that something may take that takes a few intervals; generous, for busy machines.
PATIENCE = 60

FILE = struct.Struct("<8sIIQHHHHIIQI8xI")


class Position:
    """The file's bytes, read by docs/internals/control.md and nothing of the sources."""

    def __init__(self, data):
        assert len(data) == 64, len(data)
        (magic, self.version, self.interval, self.updated, fraction, whole, self.top, flags,
         self.load, ended, self.samples, self.pid, checksum) = FILE.unpack(data)
        assert magic == b"elastic\0"
        assert checksum == zlib.crc32(data[:60])
        self.position = whole + fraction / 65536
        self.bypass = bool(flags & 1)
        self.stopped = bool(ended & 1)


def until(question, what):
    """Asks until the answer is true, and returns it."""
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        answer = question()
        if answer:
            return answer
        time.sleep(0.02)
    raise AssertionError(f"not within {PATIENCE} s: {what}")


class Machine:
    """The kernel's files of a machine with one CPU, which is `busy` percent of the time. Its
    control group, where it has one, uses as much of a CPU as `group_uses` says."""

    def __init__(self, root):
        self.root = root
        self.busy = 65
        self.group_uses = None
        (root / "proc").mkdir(parents=True)
        self.stat = ProcStat(root / "proc" / "stat")
        self._lock = threading.Lock()
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def _run(self):
        began = time.monotonic()
        while not self._end.wait(0.01):
            with self._lock:
                if self.stat.path.exists():
                    self.stat.busy(self.busy, ticks=100)
                if self.group_uses is not None:
                    usec = (time.monotonic() - began) * self.group_uses * 1e6
                    self.file("sys/fs/cgroup/web/cpu.stat", f"usage_usec {usec:.0f}\n")

    def without_stat(self):
        """Its /proc/stat is no longer there; the next write() makes a new one."""
        with self._lock:
            self.stat.path.unlink()

    def file(self, name, text):
        """Replaces the file at once."""
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        part = path.with_name(path.name + ".part")
        part.write_text(text)
        part.rename(path)
        return path

    def close(self):
        self._end.set()
        self._thread.join()


class Daemon:
    """One elasticd in the foreground."""

    def __init__(self, machine, path, *options):
        self.path = path
        self.log = open(path.with_suffix(".log"), "a+b")
        self.process = subprocess.Popen(
            [env.ELASTICD, "--foreground", "--file", str(path), "--interval", "100ms",
             "--root", str(machine.root), *map(str, options)], stderr=self.log,
            env={k: v for k, v in os.environ.items() if k != "JOURNAL_STREAM"})

    @property
    def pid(self):
        return self.process.pid

    def read(self):
        """The position that this process published last; None where there is none."""
        try:
            position = Position(self.path.read_bytes())
        except (OSError, AssertionError):
            return None
        return position if position.pid == self.pid else None

    def published(self, condition=lambda position: True, what="a position"):
        """The first position that is this process's and as it should be."""
        return until(lambda: next((p for p in [self.read()] if p and condition(p)), None), what)

    def logged(self):
        self.log.seek(0)
        return self.log.read().decode()

    def refused(self):
        """It does not start: what it logged."""
        assert self.process.wait(PATIENCE) == 1
        return self.logged()

    def end(self, number=signal.SIGTERM):
        if self.process.poll() is None:
            self.process.send_signal(number)
        return self.process.wait(PATIENCE)


@pytest.fixture
def machine(tmp_path):
    made = Machine(tmp_path / "root")
    yield made
    made.close()


@pytest.fixture
def elasticd(machine, tmp_path):
    """Starts daemons, and ends those that a test leaves."""
    started = []

    def start(*options, path=tmp_path / "elastic.position"):
        daemon = Daemon(machine, path, *options)
        started.append(daemon)
        return daemon

    yield start
    for daemon in started:
        daemon.end()
        daemon.log.close()
