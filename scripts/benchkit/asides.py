"""What peers measures beside its sizes: a streamed page, and precompressed siblings.

Of a page of 1 MB that a handler writes in pieces: the time to its first byte, and the memory of 64
of them at once, this module against mod_deflate. And a sibling against an identity file as large.
"""

import dataclasses
import gzip
import socket
import time

from benchkit import handler, load, rounds, sample, server, tools, verdict

LEVEL = 6

STREAMS = 64
STREAM_ROUNDS = 6  # at most: each takes the CPU seconds of all the streams
# Until each thread has written its pages a few times, a server's memory grows.
STREAM_WARM_UPS = 3

PATH = "/stream"

LUA = "LuaScope thread\nLuaMapHandler ^/stream$ {folder}/stream.lua handle\n"


@dataclasses.dataclass(frozen=True)
class Setup:
    """A way to compress: lines of the configuration, stock modules, what the client asks for."""

    snippet: str
    modules: tuple = ()  # beside those that every server has; none with this module
    coding: str = "gzip"

    @property
    def is_ours(self):
        return not self.modules and bool(self.coding)


def ours(coding, level, more=""):
    return Setup(f"Elastic On\nElasticControl off\nElasticCodings {coding}\n"
                 f"ElasticLevel {coding} {level} {level}\n{more}", coding=coding)


def mod_deflate(level):
    return Setup(f"SetOutputFilter DEFLATE\nDeflateCompressionLevel {level}\n",
                 ("filter", "deflate"))


def mod_brotli(level):
    return Setup(f"SetOutputFilter BROTLI_COMPRESS\nBrotliCompressionQuality {level}\n",
                 ("filter", "brotli"), "br")


NOTHING = Setup("", coding="")

STREAMED = {"elastic": ours("gzip", LEVEL), "mod_deflate": mod_deflate(LEVEL)}

SIBLING = """
<Location /kept>
    Elastic On
    ElasticPrecompressed On
</Location>
"""

CLIENTS = 4
SIBLING_TIMES = 4  # as long as another leg: the difference that counts is of 5 %


def make_streams(run, page, setups):
    made = {}
    for name, setup in setups.items():
        httpd = server.Httpd(run, f"stream-{name}".replace(" ", "-"), LUA + setup.snippet,
                             modules=(*handler.MODULES, *setup.modules), elastic=setup.is_ours,
                             threads=STREAMS)
        handler.write_script(httpd.folder / "stream.lua", page)
        made[name] = httpd.start()
    return made


def arrival(httpd, path, coding):
    """Milliseconds from a request to the first byte of its body, and to the last."""
    with socket.create_connection((httpd.address, httpd.port), 30) as connection:
        started = time.perf_counter()
        connection.sendall(f"GET {path} HTTP/1.1\r\nHost: a\r\nAccept-Encoding: {coding}\r\n"
                           "Connection: close\r\n\r\n".encode())
        data = b""
        while b"\r\n\r\n" not in data or data.endswith(b"\r\n\r\n"):
            piece = connection.recv(65536)
            if not piece:
                raise tools.BenchError(f"{path} ended before its body")
            data += piece
        first = time.perf_counter() - started
        while connection.recv(65536):
            pass
        return 1e3 * first, 1e3 * (time.perf_counter() - started)


def measure_streams(run, page, setups):
    """Rows of each setup: the first byte, and CPU and memory under STREAMS clients."""
    servers = make_streams(run, page, setups)
    for name, httpd in servers.items():
        coding = setups[name].coding
        rounds.check(httpd, rounds.Leg({"server": name}, PATH, page, coding, coding))

    def generate(name):
        return load.h2load(run, servers[name].url(PATH), {
            "Accept-Encoding": setups[name].coding or "identity"}, STREAMS, requests=STREAMS,
                           http1=True)

    for name in list(servers) * min(run.scale.rounds - 1, STREAM_WARM_UPS):
        generate(name)
    rows = []
    legs = list(servers.items())
    for number, index in rounds.interleaved(min(run.scale.rounds, STREAM_ROUNDS), len(legs)):
        name, httpd = legs[index]
        first = min(arrival(httpd, PATH, setups[name].coding)[0] for _ in range(5))
        figures = sample.measure(httpd, lambda name=name: generate(name))
        rows.append({"server": name, "round": number, "first_byte_ms": round(first, 3), **figures})
    for httpd in servers.values():
        httpd.stop()
    return rows


def measure_siblings(run, page):
    """Rows: a sibling, and a file that is as large and served as it is."""
    httpd = server.Httpd(run, "siblings", SIBLING)
    (httpd.site / "kept").mkdir()
    body = gzip.compress(page, LEVEL, mtime=0)
    (httpd.site / "kept" / "page.html").write_bytes(page)
    (httpd.site / "kept" / "page.html.gz").write_bytes(body)
    (httpd.site / "same.html").write_bytes(body)
    httpd.start()
    legs = [rounds.Leg({"server": "sibling"}, "/kept/page.html", page, "gzip", "gzip"),
            rounds.Leg({"server": "identity"}, "/same.html", body, "", "gzip")]
    count = load.count_requests(httpd, legs[1], CLIENTS, SIBLING_TIMES * run.scale.seconds)
    rows = rounds.measure(run, httpd, legs, lambda leg: load.h2load(
        run, httpd.url(leg.path), leg.headers, CLIENTS, requests=count, http1=True))
    httpd.stop()
    return rows


def judge(streams, siblings):
    ours, stock = {"server": "elastic"}, {"server": "mod_deflate"}
    return [
        verdict.judge("a streamed page's first byte comes no later than mod_deflate's",
                      verdict.per_round(streams, ours, stock, "first_byte_ms"),
                      "at most 1, give or take 5 %", below=1.05),
        verdict.judge(f"{STREAMS} streams at once take no more memory than mod_deflate's",
                      verdict.per_round(streams, ours, stock, "memory_peak_kb"),
                      "at most 1, give or take 2 %", below=1.02, drift=verdict.NO_DRIFT),
        verdict.judge("a sibling's requests per second, to an identity file's of its size",
                      verdict.per_round(siblings, {"server": "sibling"}, {"server": "identity"},
                                        "rate"), "at least 0.95", above=0.95,
                      drift=verdict.NO_DRIFT)]
