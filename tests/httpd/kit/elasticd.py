"""A real elasticd beside the server, on a machine whose load the test sets."""

import contextlib
import subprocess
import threading
import time

from . import env
from .procstat import ProcStat


class Machine:
    """A /proc/stat that advances with the share `busy`."""

    def __init__(self, path):
        self.stat = ProcStat(path)
        self.busy = 65
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self):
        while not self._end.wait(0.02):
            self.stat.busy(self.busy, ticks=100)

    def close(self):
        self._end.set()
        self._thread.join()


class Elasticd:
    """Processes that publish in `path`, one after another."""

    def __init__(self, folder, path):
        self.path = path
        self.machine = Machine(folder / "elasticd.stat")
        self.log = folder / "elasticd.log"
        self.process = None

    def start(self):
        """Returns when it publishes, or has ended."""
        before = self.path.read_bytes() if self.path.is_file() else b""
        with open(self.log, "ab") as log:
            self.process = subprocess.Popen(
                [env.ELASTICD, "--foreground", "--file", str(self.path), "--interval", "100ms",
                 "--proc-stat", str(self.machine.stat.path)], stderr=log)
        end = time.monotonic() + 20
        while self.process.poll() is None and time.monotonic() < end:
            with contextlib.suppress(OSError):
                if self.path.read_bytes() != before:
                    return
            time.sleep(0.02)

    def send(self, number):
        self.process.send_signal(number)

    def end(self, number):
        self.send(number)
        return self.process.wait(20)

    def close(self):
        if self.process and self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        self.machine.close()
