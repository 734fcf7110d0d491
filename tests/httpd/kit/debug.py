"""A plugin of pytest for `scripts/check httpd --debug`: the first server that a test starts with
the module is httpd -X under gdb, with the terminal. Nothing has a time limit. ELASTIC_GDB has gdb's
options."""

import os
import shlex
import signal
import socket
import subprocess
import time
import types
from pathlib import Path

from . import client, env, process
from .server import Server

# Signals of httpd's own, at which gdb would stop.
_SIGNALS = "handle SIGTERM SIGUSR1 SIGHUP SIGWINCH SIGPIPE nostop noprint pass"
_GDB = ["gdb", "-q", "-iex", "set debuginfod enabled off", "-iex", "set breakpoint pending on",
        "-iex", "set print thread-events off", "-iex", _SIGNALS,
        *shlex.split(os.environ.get("ELASTIC_GDB", "-ex run"))]

_debugged = []
_start, _stop = Server.start, Server.stop


def pytest_configure():
    Server.start, Server.stop = start, stop
    socket.socket.settimeout = lambda sock, seconds: None
    stands = types.SimpleNamespace(monotonic=lambda: 0.0, sleep=time.sleep, time=time.time)
    process.time = client.time = stands
    # Ctrl-C is for gdb, and for httpd, which gdb makes the terminal's foreground.
    signal.signal(signal.SIGINT, lambda *_: None)


def start(self, *arguments):
    if _debugged or not self.elastic:
        return _start(self, *arguments)
    _debugged.append(self)
    self.process = subprocess.Popen(  # pylint: disable=consider-using-with
        [*_GDB, "--args", env.HTTPD, "-X", "-f", str(self.conf)], env=self._environ())
    process.until(lambda: not self.is_running() or self._runs_scripts()
                  and process.accepts(socket.AF_INET, ("127.0.0.1", self.port)), 1, "httpd")
    return self


def stop(self, *arguments):
    if self not in _debugged:
        return _stop(self, *arguments)
    gdb = self.process.pid
    if self.is_running():
        print("\nThe test is over; q leaves gdb.")
        for pid in Path(f"/proc/{gdb}/task/{gdb}/children").read_text().split():
            os.kill(int(pid), signal.SIGTERM)
        self.process.wait()
    # Its one process is no longer root's when it removes the socket of mod_cgid.
    self.log.expect("AH01240")
