"""What peers measures beside its sizes: a streamed page, and precompressed siblings.

Of a page of 1 MB that a handler writes in pieces: the time to its first byte, and the memory of 64
of them at once, this module against mod_deflate. And a sibling against an identity file as large.
"""

import gzip
import socket
import time

from benchkit import load, rounds, sample, server, tools, verdict

LEVEL = 6

STREAMS = 64
STREAM_ROUNDS = 7  # at most: each takes the CPU seconds of all the streams

PATH = "/stream"

# The handler writes as an application does, and flushes nothing itself.
HANDLER = """
local file = assert(io.open("{path}", "rb"))
local page = file:read("a")
file:close()
function handle(r)
    r.content_type = "text/html"
    for start = 1, #page, 8192 do
        r:write(page:sub(start, start + 8191))
    end
    return apache2.OK
end
"""

LUA = "LuaScope thread\nLuaMapHandler ^/stream$ {folder}/stream.lua handle\n"

STREAMED = {
    "elastic": ("Elastic On\nElasticControl off\nElasticCodings gzip\n"
                f"ElasticLevel gzip {LEVEL} {LEVEL}\n", True),
    "mod_deflate": (f"SetOutputFilter DEFLATE\nDeflateCompressionLevel {LEVEL}\n", False),
}

SIBLING = """
<Location /kept>
    Elastic On
    ElasticPrecompressed On
</Location>
"""

CLIENTS = 4


def make_streams(run, page):
    made = {}
    for name, (snippet, is_ours) in STREAMED.items():
        modules = ("lua",) if is_ours else ("lua", "filter", "deflate")
        httpd = server.Httpd(run, f"stream-{name}", LUA + snippet, modules=modules,
                             elastic=is_ours, threads=STREAMS)
        source = httpd.folder / "page.html"
        source.write_bytes(page)
        (httpd.folder / "stream.lua").write_text(HANDLER.format(path=source), encoding="utf-8")
        made[name] = httpd.start()
    return made


def first_byte(httpd):
    """Milliseconds from a request to the first byte of its body."""
    with socket.create_connection((httpd.address, httpd.port), 30) as connection:
        started = time.perf_counter()
        connection.sendall(f"GET {PATH} HTTP/1.1\r\nHost: a\r\nAccept-Encoding: gzip\r\n"
                           "Connection: close\r\n\r\n".encode())
        data = b""
        while b"\r\n\r\n" not in data or data.endswith(b"\r\n\r\n"):
            piece = connection.recv(65536)
            if not piece:
                raise tools.BenchError(f"{PATH} ended before its body")
            data += piece
        seen = 1e3 * (time.perf_counter() - started)
        while connection.recv(65536):
            pass
    return seen


def measure_streams(run, page):
    """Rows of both modules: the first byte, and CPU and memory under STREAMS clients."""
    servers = make_streams(run, page)
    for name, httpd in servers.items():
        rounds.check(httpd, rounds.Leg({"server": name}, PATH, page, "gzip", "gzip"))
    rows = []
    legs = list(servers.items())
    for number, index in rounds.interleaved(min(run.scale.rounds, STREAM_ROUNDS), len(legs)):
        name, httpd = legs[index]
        first = min(first_byte(httpd) for _ in range(5))
        figures = sample.measure(httpd, lambda: load.h2load(
            run, httpd.url(PATH), {"Accept-Encoding": "gzip"}, STREAMS, requests=STREAMS,
            http1=True))
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
    rows = rounds.measure(run, httpd, legs, lambda leg: load.h2load(
        run, httpd.url(leg.path), leg.headers, CLIENTS, seconds=max(run.scale.seconds, 0.05),
        http1=True))
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
                      "at most 1, give or take 2 %", below=1.02),
        verdict.judge("a sibling's requests per second, to an identity file's of its size",
                      verdict.per_round(siblings, {"server": "sibling"}, {"server": "identity"},
                                        "rate"), "at least 0.95", above=0.95)]
