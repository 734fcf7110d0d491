"""Servers of other kinds than httpd, and a position file as elasticd would write it."""

import http.client
import os
import pathlib
import shutil
import socket
import struct
import subprocess
import sys
import time
import zlib

import pytest

SOURCE = pathlib.Path(__file__).resolve().parents[2]
ELASTICD = os.environ.get("ELASTICD", str(SOURCE / "elasticd"))

# Seconds that a server may take to start, or to answer.
PATIENCE = 30

TEXT = b"".join(b"Line %d: the quick brown fox jumps over the lazy dog.\n" % (n * n)
                for n in range(600))


def need(condition, package):
    """What is missing is a skip for a developer, and fails where nothing may be skipped."""
    if not condition:
        (pytest.fail if os.environ.get("ELASTIC_NO_SKIP") else pytest.skip)(f"no {package}")


class PositionFile:
    """Written by docs/manual/elasticd.md and nothing of the sources."""

    def __init__(self, path):
        self.path = path

    def write(self, position, top=8, bypass=False, age=0.0, interval=60000, version=1, ended=0):
        whole, fraction = divmod(round(position * 65536), 65536)
        data = struct.pack("<8sIIQHHHHIIQI8x", b"elastic\0", version, interval,
                           int((time.monotonic() - age) * 1e6), fraction, whole, top, bypass,
                           500000, ended, 1, 1)
        self.path.write_bytes(data + struct.pack("<I", zlib.crc32(data)))
        self.settle()

    def settle(self):
        """Longer than a reader keeps what it has read."""
        time.sleep(0.15)


class Elasticd:
    """A process that publishes in `path`, by a /proc/stat that goes on while it is waited for."""

    def __init__(self, path, stat):
        path.unlink()  # a position of a test's is stale only after minutes
        self.stat = stat
        self.ticks = [0, 0]
        self.go_on(0.65)
        self.process = subprocess.Popen([ELASTICD, "--foreground", "--file", str(path),
                                         "--proc-stat", str(stat), "--interval", "100ms"],
                                        stderr=subprocess.DEVNULL)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.kill()

    def kill(self):
        self.process.kill()
        self.process.wait()

    def go_on(self, busy):
        self.ticks[0] += 100 * busy
        self.ticks[1] += 100 * (1 - busy)
        part = self.stat.with_suffix(".part")
        part.write_text("cpu  {:.0f} 0 0 {:.0f} 0 0 0 0 0 0\n".format(*self.ticks))
        part.rename(self.stat)

    def wait_for(self, server, busy, effort):
        """Until the server's answers have that effort; each of them is whole."""
        end = time.monotonic() + PATIENCE
        while True:
            self.go_on(busy)
            answer = server.get("/")
            assert answer.body == TEXT
            if answer.effort == effort:
                return
            assert time.monotonic() < end, (answer.effort, effort)
            time.sleep(0.03)


# name: what happens to a file that was good, and said the floor
HARMS = {
    "absent": lambda file: file.path.unlink(),
    "empty": lambda file: file.path.write_bytes(b""),
    "cut": lambda file: os.truncate(file.path, 63),
    "noise": lambda file: file.path.write_bytes(os.urandom(64)),
    "unreadable": lambda file: (file.path.unlink(), file.path.mkdir()),
    "fifo": lambda file: (file.path.unlink(), os.mkfifo(file.path)),
    "an old version": lambda file: file.write(0, version=0),
    "stale": lambda file: file.write(0, age=601),
    "of another boot": lambda file: file.write(0, age=-3600),
    "stopped": lambda file: file.write(0, ended=1),
    "beyond its top": lambda file: file.write(9, top=8),
}


@pytest.fixture(scope="module")
def position(tmp_path_factory):
    folder = tmp_path_factory.mktemp("position")
    return PositionFile(folder / "elastic.position")


@pytest.fixture(autouse=True)
def fresh(position):
    """Each test begins with a file that can be read, at the floor."""
    if position.path.is_dir():
        position.path.rmdir()
    elif position.path.exists() and not position.path.is_file():
        position.path.unlink()
    position.write(0)


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def wait_for_port(port, process, log):
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end and process.poll() is None:
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
            return
        except OSError:
            time.sleep(0.05)
    raise AssertionError(f"it does not listen: {log.read_text()}")


class Answer:
    def __init__(self, status, headers, body):
        self.status, self.headers, self.raw = status, headers, body

    def get(self, name):
        return next((value for key, value in self.headers if key.lower() == name), None)

    @property
    def body(self):
        """Decoded, and whole: a stream that is not ended, or goes on, raises."""
        if self.get("content-encoding") is None:
            return self.raw
        assert self.get("content-encoding") == "gzip"
        decoder = zlib.decompressobj(31)
        body = decoder.decompress(self.raw)
        assert decoder.eof and not decoder.unused_data
        return body

    @property
    def effort(self):
        """What zlib notes in gzip's header: "least" for level 1, "most" for 9, or "between"."""
        if self.get("content-encoding") is None:
            return None
        return {4: "least", 2: "most", 0: "between"}[self.raw[8]]


class HttpServer:
    def __init__(self, command, port, log, env):
        self.port = port
        self.log = log
        with open(log, "wb") as out:
            self.process = subprocess.Popen(command, stdout=out, stderr=out,
                                            env={**os.environ, **env})
        try:
            wait_for_port(port, self.process, log)
        except AssertionError:
            self.close()
            raise

    def get(self, path, accept="gzip", method="GET"):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)
        try:
            connection.request(method, path, headers={"Accept-Encoding": accept} if accept else {})
            response = connection.getresponse()
            return Answer(response.status, response.getheaders(), response.read())
        finally:
            connection.close()

    def close(self):
        self.process.terminate()
        try:
            self.process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


class FastCgi:
    """A php-fpm with one process, and as much of a FastCGI client as asks it."""

    def __init__(self, folder, env):
        binary = next((path for name in ("php-fpm", "php-fpm8.2", "php-fpm8.3", "php-fpm8.4")
                       for path in [shutil.which(name, path="/usr/sbin:/usr/local/sbin:/usr/bin")]
                       if path), None)
        need(binary, "php-fpm")
        self.folder = folder
        self.port = free_port()
        self.log = folder / "fpm.log"
        variables = "".join(f"env[{key}] = {value}\n" for key, value in env.items())
        (folder / "fpm.conf").write_text(
            f"[global]\nerror_log = {self.log}\ndaemonize = no\n"
            f"[test]\nuser = root\ngroup = root\nlisten = 127.0.0.1:{self.port}\n"
            f"pm = static\npm.max_children = 1\ncatch_workers_output = yes\n{variables}")
        self.process = subprocess.Popen(
            [binary, "-n", "-F", "-y", str(folder / "fpm.conf"), "-d", "error_reporting=32767",
             "-d", "display_errors=1", "-d", "html_errors=0"]
            + (["-R"] if os.geteuid() == 0 else []),
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        wait_for_port(self.port, self.process, self.log)

    @staticmethod
    def record(kind, data):
        return struct.pack(">BBHHBx", 1, kind, 1, len(data), 0) + data

    def get(self, path, accept="gzip", method="GET"):
        script, _, query = path.lstrip("/").partition("?")
        parameters = {"SCRIPT_FILENAME": str(self.folder / script), "REQUEST_METHOD": method,
                      "QUERY_STRING": query, "SERVER_PROTOCOL": "HTTP/1.1"}
        if accept:
            parameters["HTTP_ACCEPT_ENCODING"] = accept
        pairs = b"".join(struct.pack(">BI", len(key), len(value) | 1 << 31) + key.encode()
                         + value.encode() for key, value in parameters.items())
        with socket.create_connection(("127.0.0.1", self.port), PATIENCE) as connection:
            connection.sendall(self.record(1, struct.pack(">HB5x", 1, 0)) + self.record(4, pairs)
                               + self.record(4, b"") + self.record(5, b""))
            stream = connection.makefile("rb")
            out, errors = b"", b""
            while True:
                _, kind, _, length, padding = struct.unpack(">BBHHBx", stream.read(8))
                data = stream.read(length + padding)[:length]
                if kind == 3:
                    break
                if kind == 6:
                    out += data
                elif kind == 7:
                    errors += data
        assert not errors, errors
        head, _, body = out.partition(b"\r\n\r\n")
        headers = [tuple(line.decode().split(": ", 1)) for line in head.split(b"\r\n")]
        status = next((value for key, value in headers if key == "Status"), "200")
        return Answer(int(status.split()[0]), headers, body)

    def close(self):
        self.process.terminate()
        self.process.wait(PATIENCE)


def python_with(module):
    """A python3 that has the server: the distribution's, whatever runs the tests."""
    for python in ("/usr/bin/python3", sys.executable):
        if os.path.exists(python) and subprocess.run(
                [python, "-c", f"import {module}"], capture_output=True).returncode == 0:
            return python
    return None
