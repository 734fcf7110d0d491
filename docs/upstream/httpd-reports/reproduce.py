#!/usr/bin/env python3
"""Shows six faults of httpd's modules, each with its own server: reproduce.py [MODULES-FOLDER]

A line for each: what was seen, and whether that is the fault. Needs httpd or apache2 in PATH.
"""
import gzip
import http.client
import pathlib
import shutil
import socket
import subprocess
import sys
import tempfile
import time

MODULES = sys.argv[1] if len(sys.argv) > 1 else "/usr/lib/apache2/modules"
HTTPD = shutil.which("apache2") or shutil.which("httpd")
TEXT = "".join(f"line {i}\n" for i in range(500))
NAMES = ["mpm_event", "authz_core", "mime", "headers", "asis", "cache", "cache_socache",
         "socache_shmcb", "deflate", "brotli", "cgid", "http2"]


# Frames of HTTP/2, and their flags.
DATA, HEADERS, SETTINGS = 0, 1, 4
END_STREAM, END_HEADERS = 1, 4


def frame(kind, flags=0, stream=0, data=b""):
    return len(data).to_bytes(3, "big") + bytes((kind, flags)) + stream.to_bytes(4, "big") + data


class Server:
    def __init__(self, lines):
        self.root = pathlib.Path(tempfile.mkdtemp(prefix="reproduce-"))
        self.root.chmod(0o755)
        with socket.socket() as s:
            s.bind(("127.0.0.1", 0))
            self.port = s.getsockname()[1]
        (self.root / "a.txt").write_text(TEXT)
        body = gzip.compress(TEXT.encode())
        (self.root / "a.asis").write_bytes(
            b"Status: 200 OK\r\nContent-Type: text/plain\r\nContent-Encoding: gzip\r\n\r\n" + body)
        script = self.root / "a.cgi"
        script.write_text("#!/bin/sh\nprintf 'Content-Type: text/plain\\n\\n'\n"
                          f"cat {self.root}/a.txt\n")
        script.chmod(0o755)
        loads = "".join(f"LoadModule {n}_module {MODULES}/mod_{n}.so\n" for n in NAMES
                        if pathlib.Path(MODULES, f"mod_{n}.so").exists())
        (self.root / "httpd.conf").write_text(
            f"ServerRoot {self.root}\nServerName localhost\nListen 127.0.0.1:{self.port}\n{loads}"
            f"PidFile {self.root}/pid\nDefaultRuntimeDir {self.root}\nErrorLog {self.root}/log\n"
            f"DocumentRoot {self.root}\nTypesConfig /dev/null\nAddType text/plain .txt\n"
            f"AddHandler send-as-is .asis\nAddHandler cgi-script .cgi\nOptions ExecCGI\n"
            f"User www-data\nGroup www-data\n{lines}\n")
        self.process = subprocess.Popen([HTTPD, "-f", self.root / "httpd.conf", "-DFOREGROUND"],
                                        stderr=subprocess.DEVNULL)
        end = time.monotonic() + 30
        while time.monotonic() < end and self.process.poll() is None:
            with socket.socket() as s:
                if s.connect_ex(("127.0.0.1", self.port)) == 0:
                    return
            time.sleep(0.05)
        raise SystemExit(f"httpd did not start: {(self.root / 'log').read_text()}")

    def ask(self, path="/a.txt", method="GET", **fields):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=10)
        fields = {name.replace("_", "-"): value for name, value in fields.items()}
        connection.request(method, path, headers=fields)
        response = connection.getresponse()
        return response, response.read()

    def raw(self, request):
        with socket.create_connection(("127.0.0.1", self.port), timeout=10) as s:
            s.sendall(request.encode())
            data = b""
            while piece := s.recv(65536):
                data += piece
        return data

    def http2(self, method, path):
        """The bytes of DATA of an answer."""
        fields = b"\x86" + b"".join(bytes((name, len(value))) + value.encode() for name, value in (
            (1, "localhost"), (2, method), (4, path)))
        request = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + frame(SETTINGS) \
            + frame(HEADERS, END_STREAM | END_HEADERS, 1, fields)
        count, data, flags = 0, b"", 0
        with socket.create_connection(("127.0.0.1", self.port), timeout=10) as s:
            s.sendall(request)
            while not flags & END_STREAM:
                while len(data) < 9 or len(data) < 9 + int.from_bytes(data[:3], "big"):
                    piece = s.recv(65536)
                    if not piece:
                        return count
                    data += piece
                size, kind, stream = int.from_bytes(data[:3], "big"), data[3], data[8]
                flags = data[4] if stream == 1 else 0
                count += size if (kind, stream) == (DATA, 1) else 0
                data = data[9 + size:]
        return count

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait(30)
        shutil.rmtree(self.root, ignore_errors=True)


def socache():
    """mod_cache_socache: what it revalidated has no body at the next hit."""
    with Server("CacheSocache shmcb\nCacheEnable socache /\nCacheHeader on\n"
                'Header set Cache-Control "max-age=1"') as server:
        server.ask()
        end = time.monotonic() + 20
        seen = ""
        while "REVALIDATE" not in seen and time.monotonic() < end:
            time.sleep(0.3)
            seen = server.ask()[0].getheader("X-Cache") or ""
        response, body = server.ask()
        now = response.getheader("X-Cache")
        return (f"{seen!r}, then {now!r}: {len(body)} of {len(TEXT)} bytes",
                len(body) != len(TEXT))


def window():
    """mod_deflate: DeflateWindowSize 1 to 8 is accepted, and nothing is compressed."""
    with Server("SetOutputFilter DEFLATE\nDeflateWindowSize 8") as server:
        response, _ = server.ask(Accept_Encoding="gzip")
        log = (server.root / "log").read_text()
        coding = response.getheader("Content-Encoding")
        return f"coding {coding}, AH01383 logged: {'AH01383' in log}", coding is None


def level():
    """mod_deflate, mod_brotli: what follows the number of a level is not looked at."""
    lines = "DeflateCompressionLevel 6x\nBrotliCompressionQuality x"
    try:
        with Server(lines):
            return f"{lines!r} accepted", True
    except SystemExit:
        return f"{lines!r} refused", False


def precondition():
    """mod_brotli: a 412 has a body of one byte."""
    with Server("SetOutputFilter BROTLI_COMPRESS") as server:
        response, body = server.ask(Accept_Encoding="br", If_Match='"x"')
        coding = response.getheader("Content-Encoding")
        return f"{response.status}, coding {coding}, body {body!r}", len(body) == 1


def inflate():
    """mod_deflate: HEAD through INFLATE closes the connection if the handler sends no body."""
    with Server("SetOutputFilter INFLATE") as server:
        answer = server.raw("HEAD /a.asis HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
    with Server("") as server:
        plain = server.raw("HEAD /a.asis HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
    return f"{len(answer)} bytes, and {len(plain)} without the filter", not answer and bool(plain)


def head():
    """mod_http2: HEAD of a script has the script's body."""
    with Server("Protocols h2c http/1.1") as server:
        counts = [server.http2("HEAD", "/a.cgi") for _ in range(40)]
        file = server.http2("HEAD", "/a.txt")
        over_1 = server.raw("HEAD /a.cgi HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
    return (f"{max(counts)} bytes of DATA, in {sum(map(bool, counts))} of {len(counts)} answers; of "
            f"a file {file}, and over HTTP/1.1 "
            f"{len(over_1.partition(bytes((13, 10, 13, 10)))[2])}", any(counts))


def main():
    for case in (socache, window, level, precondition, inflate, head):
        seen, fault = case()
        print(f"{'fault' if fault else 'right'}: {case.__doc__} Seen: {seen}")


if __name__ == "__main__":
    main()
