"""A real elasticd, on a machine whose load the test sets."""

import os
import signal
import subprocess
import threading
import time

from . import env, messages
from .process import until
from .procstat import ProcStat

PATIENCE = 60


class Machine:
    """The kernel's files of a machine with one CPU below `root`, which is `busy` percent of the
    time. Its control group, where it has one, uses as much of a CPU as `group_uses` says."""

    def __init__(self, root):
        self.root, self.busy, self.group_uses = root, 65, None
        (root / "proc").mkdir(parents=True)
        self.stat = ProcStat(root / "proc" / "stat")
        self.lock = threading.Lock()
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self):
        began = time.monotonic()
        while not self._end.wait(0.01):
            with self.lock:
                if self.stat.path.exists():
                    self.stat.busy(self.busy, ticks=100)
                if self.group_uses is not None:
                    usec = (time.monotonic() - began) * self.group_uses * 1e6
                    self.file("sys/fs/cgroup/web/cpu.stat", f"usage_usec {usec:.0f}\n")

    def file(self, name, text):
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        part = path.with_name(path.name + ".part")
        part.write_text(text)
        part.rename(path)
        return path

    def close(self):
        self._end.set()
        self._thread.join()


class Elasticd:
    """Processes that publish in `path`, one after another, in the foreground."""

    def __init__(self, folder, path, machine=None, options=(), wrapper=()):
        self.path = path
        self.machine = machine or Machine(folder / "machine")
        self.log = folder / "elasticd.log"
        self.process = None
        self._command = [*wrapper, env.ELASTICD, "--foreground", "--file", str(path), "--interval",
                         "100ms", "--root", str(self.machine.root), *map(str, options)]

    def start(self):
        """Returns when it publishes, or has ended."""
        before = self._published()
        self.run()
        until(lambda: self.process.poll() is not None or self._published() not in (before, b""),
              PATIENCE, "a position")

    def run(self):
        with open(self.log, "ab") as log:
            self.process = subprocess.Popen(
                self._command, stderr=log,
                env={k: v for k, v in os.environ.items() if k != "JOURNAL_STREAM"})

    def _published(self):
        try:
            return self.path.read_bytes()
        except OSError:
            return b""

    def send(self, number):
        self.process.send_signal(number)

    def end(self, number=signal.SIGTERM):
        if self.process.poll() is None:
            self.send(number)
        code = self.process.wait(PATIENCE)
        messages.see(self.log.read_text())
        return code

    def close(self):
        if self.process and self.process.poll() is None:
            self.end(signal.SIGKILL)
        self.machine.close()
