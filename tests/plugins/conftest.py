"""Servers of other kinds than httpd that run the plugins, and the position file that they read."""

import os
import pathlib
import shutil
import socket
import struct
import subprocess
import sys
import time

import pytest

SOURCE = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(SOURCE / "tests" / "httpd"), str(SOURCE / "plugins" / "python")]

from kit import env, fpm  # noqa: E402
from kit.client import Connection, Response  # noqa: E402
from kit.position import HARMS, PositionFile  # noqa: E402
from kit.process import free_port  # noqa: E402

# Seconds that a server may take to start, or to answer; generous, for busy machines.
PATIENCE = 60

# Seconds that a reader uses a position without looking at the file again, and a bit.
READERS_CACHE = 0.15


def need(condition, package):
    """What is missing is a skip for a developer, and fails where nothing may be skipped."""
    if not condition:
        (pytest.fail if env.NO_SKIP else pytest.skip)(f"no {package}")


def until(question, what):
    """Asks until the answer is true."""
    end = time.monotonic() + PATIENCE
    while not question():
        assert time.monotonic() < end, f"not within {PATIENCE} s: {what}"
        time.sleep(0.03)


class Followed(PositionFile):
    """The file that the servers of a module read; each change returns when they have seen it."""

    def __init__(self, path):
        super().__init__(path)
        self.at_floor = False

    def publish(self, position, **fields):
        self.write(position, **fields)
        self.settle()

    def harm(self, name):
        HARMS[name](self)
        self.settle()

    def remove(self):
        if self.path.is_dir():
            self.path.rmdir()
        self.path.unlink(missing_ok=True)
        self.at_floor = False

    def return_to_floor(self):
        """Its readers' level is then the least."""
        if not self.at_floor:
            self.remove()
            self.publish(0)
            self.at_floor = True

    def settle(self):
        self.at_floor = False
        time.sleep(READERS_CACHE)


@pytest.fixture(scope="module")
def followed(tmp_path_factory):
    return Followed(tmp_path_factory.mktemp("position") / "elastic.position")


@pytest.fixture(autouse=True)
def position(followed):
    """Each test begins with a file that can be read, at the floor."""
    followed.return_to_floor()
    return followed


class Process:
    """A server's process that listens on `port` of this machine."""

    def __init__(self, command, port, log, **environment):
        self.port = port
        with open(log, "wb") as out:
            self.process = subprocess.Popen(command, stdout=out, stderr=out,
                                            env={**os.environ, **environment})
        try:
            until(self._listens, f"a server that listens: {log}")
        except AssertionError:
            self.close()
            raise AssertionError(f"it does not listen: {log.read_text()}") from None

    def _listens(self):
        assert self.process.poll() is None
        try:
            socket.create_connection(("127.0.0.1", self.port), 1).close()
        except OSError:
            return False
        return True

    def close(self):
        self.process.terminate()
        try:
            self.process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


class HttpServer(Process):
    def get(self, path, ae="gzip", method="GET"):
        with Connection(("127.0.0.1", self.port), timeout=PATIENCE) as connection:
            return connection.request(path, method, ae)


class FastCgi(Process):
    """A php-fpm with one process, and as much of a FastCGI client as its tests need."""

    def __init__(self, folder):
        need(fpm.binary(), "php-fpm")
        port = free_port()
        config = folder / "fpm.conf"
        config.write_text(
            f"[global]\nerror_log = {folder}/fpm.log\ndaemonize = no\n"
            f"[test]\nuser = root\ngroup = root\nlisten = 127.0.0.1:{port}\n"
            "pm = static\npm.max_children = 1\ncatch_workers_output = yes\n")
        self.folder = folder
        super().__init__([fpm.binary(), "-n", "-F", "-y", str(config),
                          "-d", "error_reporting=32767", "-d", "display_errors=1",
                          "-d", "html_errors=0", *(["-R"] if env.IS_ROOT else [])],
                         port, folder / "out")

    @staticmethod
    def _record(kind, data):
        return struct.pack(">BBHHBx", 1, kind, 1, len(data), 0) + data

    def get(self, path, ae="gzip", method="GET"):
        """The answer of the script that is named like the path."""
        parameters = {"SCRIPT_FILENAME": f"{self.folder}/{path[1:] or 'index'}.php",
                      "REQUEST_METHOD": method, "QUERY_STRING": "", "SERVER_PROTOCOL": "HTTP/1.1"}
        if ae is not None:
            parameters["HTTP_ACCEPT_ENCODING"] = ae
        pairs = b"".join(struct.pack(">BI", len(key), len(value) | 1 << 31) + key.encode()
                         + value.encode() for key, value in parameters.items())
        received = {6: b"", 7: b""}  # FCGI_STDOUT, FCGI_STDERR
        with socket.create_connection(("127.0.0.1", self.port), PATIENCE) as connection:
            connection.sendall(
                self._record(1, struct.pack(">HB5x", 1, 0)) + self._record(4, pairs)
                + self._record(4, b"") + self._record(5, b""))
            stream = connection.makefile("rb")
            while True:
                _, kind, _, length, padding = struct.unpack(">BBHHBx", stream.read(8))
                data = stream.read(length + padding)[:length]
                if kind == 3:  # FCGI_END_REQUEST
                    break
                received[kind] += data
        assert not received[7], received[7]
        head, _, body = received[6].partition(b"\r\n\r\n")
        answer = Response(b"HTTP/1.1 200\r\n" + head, None)
        answer.status = int((answer.headers.get("Status") or "200").split()[0])
        answer.pieces.append((0, body))
        answer.complete = True
        return answer


def python_with(module, package):
    """A python3 that has the server: the distribution's, whatever runs the tests."""
    for python in ("/usr/bin/python3", sys.executable):
        if shutil.which(python) and subprocess.run(
                [python, "-c", f"import {module}"], capture_output=True).returncode == 0:
            return python
    return need(False, f"{module} (Debian: {package})")
