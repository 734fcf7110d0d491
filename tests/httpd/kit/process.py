"""Waiting, processes beside httpd, and the figures of /proc about a process."""

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
    """Skips the test if the program is missing; `package` has it, by default under the same
    name."""
    if not shutil.which(program):
        pytest.skip(f"{program} is not there (package {package or program})")


def free_port(host="127.0.0.1"):
    """A port that nobody else gets: a socket stays bound to it, which lets sockets with
    SO_REUSEADDR listen there."""
    sock = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    sock.bind((host, 0))
    _held.append(sock)
    return sock.getsockname()[1]


def exactly(sock, size):
    """So many bytes of the socket."""
    data = b""
    while len(data) < size:
        piece = sock.recv(size - len(data))
        if not piece:
            raise EOFError
        data += piece
    return data


def until(condition, timeout, what):
    """Waits for the condition, and returns what it found."""
    deadline = time.monotonic() + timeout
    while not (found := condition()):
        if time.monotonic() > deadline:
            raise TimeoutError(f"{what} did not come within {timeout} s")
        time.sleep(0.02)
    return found


def runs(pid):
    """True if the process exists, and a thread of it has not ended."""
    try:
        with open(f"/proc/{pid}/stat", encoding="ascii", errors="replace") as file:
            state = file.read().rpartition(")")[2].split()[0]
        return state not in "ZX" or len(os.listdir(f"/proc/{pid}/task")) > 1
    except (FileNotFoundError, ProcessLookupError):
        return False


def accepts(family, address):
    with socket.socket(family) as sock:
        sock.settimeout(5)
        return sock.connect_ex(address) == 0


class Backend:
    """A server behind httpd that runs until stop(); `ready` tells if it serves, `log` has its
    faults."""

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
    """Calls serve(sock) in a thread for each connection to `port`, and closes it afterwards."""

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


def memory(pid):
    """{"Rss", "Pss", "Anonymous", ...} in KB."""
    text = Path(f"/proc/{pid}/smaps_rollup").read_text()
    return {name: int(kb) for name, kb in re.findall(r"^(\w+):\s+(\d+) kB$", text, re.M)}


def anonymous_kb(pid):
    """Private anonymous memory in KB, including pages still shared after a fork."""
    return memory(pid)["Anonymous"]


def settled_kb(pid):
    """The same once it no longer changes."""
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
    """Address space in KB, which shows mappings that are never unmapped."""
    status = Path(f"/proc/{pid}/status").read_text()
    return int(re.search(r"^VmSize:\s+(\d+) kB", status, re.M)[1])


def build(directory, name, text, *flags):
    """Builds a shared library of that C, where httpd's children can read it; returns its path."""
    for folder in (directory, *directory.parents[:2]):
        folder.chmod(folder.stat().st_mode | 0o055)
    source = directory / f"{name}.c"
    source.write_text(text)
    path = source.with_suffix(".so")
    subprocess.run(["cc", "-w", "-shared", "-fPIC", "-fno-builtin", *flags, "-o", path, source,
                    "-ldl"], check=True)
    path.chmod(0o755)
    return path
