"""What peers measures beside its sizes: a streamed page, and precompressed siblings.

Of a page of 1 MB that a handler writes in pieces: the time to its first byte, and the memory of 64
of them at once, this module against mod_deflate. And a sibling against an identity file as large.
"""

import gzip
import socket
import time

from benchkit import handler, load, rounds, sample, server, tools, verdict
from benchkit.setups import KEPT, mod_deflate, ours

LEVEL = 6
STREAMS = 64
STREAM_ROUNDS = 6  # at most: each takes the CPU seconds of all the streams
# Until each thread has written its pages a few times, a server's memory grows.
STREAM_WARM_UPS = 3
PATH = "/stream"
STREAMED = {"elastic": ours("gzip", LEVEL), "mod_deflate": mod_deflate(LEVEL)}

CLIENTS = 4
SIBLING_TIMES = 4  # as long as another leg: the difference that counts is of 5 %


def arrival(leg):
    """Milliseconds from a request to the first byte of its body, and to the last."""
    with socket.create_connection((leg.server.address, leg.server.port), 30) as connection:
        started = time.perf_counter()
        connection.sendall(f"GET {leg.path} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n"
                           f"Accept-Encoding: {leg.accept}\r\n\r\n".encode())
        data = b""
        while b"\r\n\r\n" not in data or data.endswith(b"\r\n\r\n"):
            piece = connection.recv(65536)
            if not piece:
                raise tools.BenchError(f"{leg.path} ended before its body")
            data += piece
        first = time.perf_counter() - started
        while connection.recv(65536):
            pass
        return 1e3 * first, 1e3 * (time.perf_counter() - started)


def measure_streams(run, page):
    """Rows of each setup: the first byte, and CPU and memory under STREAMS clients."""
    legs = []
    for name, setup in STREAMED.items():
        httpd = setup.serve(run, f"stream-{name}", handler.snippet(PATH), handler.MODULES,
                            threads=STREAMS)
        handler.write(httpd.folder, page)
        legs.append(setup.leg({"server": name}, httpd.start(), PATH, page))
        rounds.check(legs[-1])

    def generate(leg):
        return load.h2load(run, leg.url, leg.headers, STREAMS, requests=STREAMS, http1=True)

    for leg in legs * min(run.scale.rounds - 1, STREAM_WARM_UPS):
        generate(leg)
    rows = []
    for number, leg in rounds.interleaved(run, legs, min(run.scale.rounds, STREAM_ROUNDS)):
        first = min(arrival(leg)[0] for _ in range(5))
        figures = sample.measure(leg.server, generate, leg)
        rows.append({**leg.labels, "round": number, "first_byte_ms": round(first, 3), **figures})
    for leg in legs:
        leg.server.stop()
    return rows


def measure_siblings(run, page):
    """Rows: a sibling, and a file that is as large and served as it is."""
    httpd = server.Httpd(run, "siblings", KEPT)
    (httpd.site / "kept").mkdir()
    body = gzip.compress(page, LEVEL, mtime=0)
    for path, content in (("kept/page.html", page), ("kept/page.html.gz", body),
                          ("same.html", body)):
        (httpd.site / path).write_bytes(content)
    httpd.start()
    legs = [rounds.Leg({"server": "sibling"}, httpd, "/kept/page.html", page, "gzip", "gzip"),
            rounds.Leg({"server": "identity"}, httpd, "/same.html", body, "", "gzip")]
    count = load.count_requests(legs[1], CLIENTS, SIBLING_TIMES * run.scale.seconds)
    rows = rounds.measure(run, legs, lambda leg: load.h2load(
        run, leg.url, leg.headers, CLIENTS, requests=count, http1=True))
    httpd.stop()
    return rows


def judge(streams, siblings):
    sides = {"server": "elastic"}, {"server": "mod_deflate"}
    return [
        verdict.compare("a streamed page's first byte comes no later than mod_deflate's", streams,
                        sides, "first_byte_ms", "at most 1, give or take 5 %", below=1.05),
        verdict.compare(f"{STREAMS} streams at once take no more memory than mod_deflate's",
                        streams, sides, "memory_peak_kb", "at most 1, give or take 2 %",
                        below=1.02, drift=verdict.NO_DRIFT),
        verdict.compare("a sibling's requests per second, to an identity file's of its size",
                        siblings, ({"server": "sibling"}, {"server": "identity"}), "rate",
                        "at least 0.95", above=0.95, drift=verdict.NO_DRIFT)]
