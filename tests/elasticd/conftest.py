"""elasticd as it is built, on a machine that is made up, and the file that it publishes in."""

import os
import pathlib
import signal
import struct
import subprocess
import threading
import time
import zlib

import pytest

SOURCE = pathlib.Path(__file__).resolve().parents[2]
ELASTICD = os.environ.get("ELASTICD", str(SOURCE / "elasticd"))

# Seconds that something may take that takes a few intervals; generous, for slow machines.
PATIENCE = 20

FILE = struct.Struct("<8sIIQHHHHIIQI8xI")


class Position:
    """The file's bytes, read by docs/manual/elasticd.md and nothing of the sources."""

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
    """Asks until the answer is true, and gives it back."""
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        answer = question()
        if answer:
            return answer
        time.sleep(0.02)
    raise AssertionError(f"not within {PATIENCE} s: {what}")


class Machine:
    """The kernel's files of a machine with one CPU, which is as busy as the test says."""

    def __init__(self, root):
        self.root = root
        self.busy = 0.65
        self.written = True
        self.ticks = [1000.0, 1000.0]
        self.stop = threading.Event()
        (root / "proc").mkdir(parents=True)
        self.write()
        self.thread = threading.Thread(target=self.run)
        self.thread.start()

    def write(self):
        self.ticks[0] += 20 * self.busy
        self.ticks[1] += 20 * (1 - self.busy)
        new = self.root / "proc" / "stat.new"
        new.write_text(f"cpu  {self.ticks[0]:.0f} 0 0 {self.ticks[1]:.0f} 0 0 0 0 0 0\n")
        new.rename(self.root / "proc" / "stat")

    def run(self):
        while not self.stop.wait(0.01):
            if self.written:
                self.write()

    def file(self, name, text):
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path

    def close(self):
        self.stop.set()
        self.thread.join()


class Daemon:
    """One elasticd in the foreground."""

    def __init__(self, machine, path, *options):
        self.path = path
        self.log = open(path.with_suffix(".log"), "a+b")
        self.process = subprocess.Popen(
            [ELASTICD, "--foreground", "--file", str(path), "--interval", "100ms",
             "--root", str(machine.root), *options], stderr=self.log,
            env={k: v for k, v in os.environ.items() if k != "JOURNAL_STREAM"})

    def read(self):
        return Position(self.path.read_bytes())

    def try_read(self):
        try:
            return self.read()
        except (OSError, AssertionError):
            return None

    def published(self, condition=lambda position: True, what="a position"):
        """The first position that is this process's and as it should be."""
        return until(lambda: next((p for p in [self.try_read()] if p
                                   and p.pid == self.process.pid and condition(p)), None), what)

    def logged(self):
        self.log.seek(0)
        return self.log.read().decode()

    def send(self, number):
        self.process.send_signal(number)

    def end(self, number=signal.SIGTERM):
        if self.process.poll() is None:
            self.send(number)
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
