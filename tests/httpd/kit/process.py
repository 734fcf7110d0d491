"""Waiting, processes beside httpd, and what /proc says about one."""

import collections
import os
import re
import shutil
import signal
import socket
import subprocess
import threading
import time
from pathlib import Path

import pytest

_held = collections.deque(maxlen=64)


def need(program, package=None):
    """Skips the test where the program is not here; its package has the same name, or this one."""
    if not shutil.which(program):
        pytest.skip(f"{program} is not there (package {package or program})")


def free_port(host="127.0.0.1"):
    """A port that nobody else is given: a socket stays bound to it, which keeps none from listening
    there that has SO_REUSEADDR set."""
    sock = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    sock.bind((host, 0))
    _held.append(sock)
    return sock.getsockname()[1]


def until(condition, timeout, what):
    """Waits for the condition."""
    deadline = time.monotonic() + timeout
    while not condition():
        if time.monotonic() > deadline:
            raise TimeoutError(f"{what} did not come within {timeout} s")
        time.sleep(0.02)


def runs(pid):
    """Whether there is such a process, and a thread of it that has not ended."""
    try:
        with open(f"/proc/{pid}/stat", encoding="ascii", errors="replace") as file:
            state = file.read().rpartition(")")[2].split()[0]
        return state not in "ZX" or len(os.listdir(f"/proc/{pid}/task")) > 1
    except (FileNotFoundError, ProcessLookupError):
        return False


def accepts(family, address):
    """Whether somebody listens there."""
    with socket.socket(family) as sock:
        sock.settimeout(5)
        return sock.connect_ex(address) == 0


class Backend:
    """A server behind httpd, which runs from its making to stop(); `ready` says when it serves,
    `log` what is wrong when it does not."""

    def __init__(self, command, ready, log=lambda: ""):
        self._process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL, start_new_session=True)
        try:
            until(lambda: ready() or self._process.poll() is not None, 60, command[0])
            assert self._process.poll() is None, f"{command[0]} did not start:\n{log()}"
        except Exception:
            self.stop()
            raise

    def stop(self):
        """Ends it with all its workers."""
        if self._process.poll() is None:
            self._process.terminate()
            try:
                self._process.wait(10)
            except subprocess.TimeoutExpired:
                os.killpg(self._process.pid, signal.SIGKILL)
                self._process.wait()


class Listener:
    """Calls serve(sock) in a thread for each connection to `port`, and closes it behind that."""

    def __init__(self, serve):
        self._serve = serve
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=64)
        self.port = self._listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def stop(self):
        self._listener.close()

    def _accept(self):
        while True:
            try:
                sock, _ = self._listener.accept()
            except OSError:
                return
            threading.Thread(target=self._serve_one, args=(sock,), daemon=True).start()

    def _serve_one(self, sock):
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        with sock:
            try:
                self._serve(sock)
            except (EOFError, OSError):
                pass


def anonymous_kb(pid):
    """Private anonymous memory in KB, pages that are still shared with a fork included."""
    text = Path(f"/proc/{pid}/smaps_rollup").read_text()
    return int(re.search(r"^Anonymous:\s+(\d+) kB", text, re.M)[1])


def settled_kb(pid):
    """The same when nothing moves any more."""
    last = anonymous_kb(pid)
    while True:
        time.sleep(0.2)
        now = anonymous_kb(pid)
        if abs(now - last) <= 16:
            return now
        last = now


def descriptors(pid):
    return len(os.listdir(f"/proc/{pid}/fd"))


def mapped_kb(pid):
    """Address space, in KB: mappings that nobody unmaps show here."""
    status = Path(f"/proc/{pid}/status").read_text()
    return int(re.search(r"^VmSize:\s+(\d+) kB", status, re.M)[1])
