"""What peers measures beside its sizes: a streamed page, and precompressed siblings.

Of a page of 1 MB that a handler writes in pieces: the time to its first byte, and the memory of 64
of them at once, this module against mod_deflate. And a sibling against an identity file as large.
"""

import contextlib
import time

from benchkit import handler, load, rounds, sample, server, tools, verdict, web
from benchkit.setups import KEPT, location, mod_deflate, ours

LEVEL = 6
STREAMS = 64
STREAM_ROUNDS = 6  # at most: each takes the CPU seconds of all the streams
# Until each thread has written its pages a few times, a server's memory grows.
STREAM_WARM_UPS = 3
TIE = 1.0001  # so that what is no larger is told from what is
STREAMED = {"elastic": ours("gzip", LEVEL), "mod_deflate": mod_deflate(LEVEL)}

CLIENTS = 4
CEILING = 9  # of the default range
EACH = location("/each", f"ElasticLevel gzip {CEILING} {CEILING}")
SIBLING_TIMES = 4  # as long as another leg: the difference that counts is of 5 %


def arrival(leg):
    """Milliseconds from a request to the first byte of its body, and to the last."""
    with contextlib.closing(leg.server.connect()) as connection:
        connection.connect()
        started = time.perf_counter()
        connection.request("GET", leg.path, headers=leg.headers)
        response = connection.getresponse()
        if not response.read(1):
            raise tools.BenchError(f"{leg.path} ended before its body")
        first = time.perf_counter() - started
        response.read()
        return 1e3 * first, 1e3 * (time.perf_counter() - started)


def measure_streams(run, page):
    """Rows of each setup: the first byte, and CPU and memory under STREAMS clients."""
    legs = []
    for name, setup in STREAMED.items():
        legs.append(handler.leg(run, setup, {"server": name}, page, threads=STREAMS))
        rounds.check(legs[-1])

    def generate(leg):
        return load.h2load(run, leg.url, leg.headers, STREAMS, requests=STREAMS)

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
    """Rows: a sibling, a file that is as large and served as it is, and the page compressed for
    each response at the highest level of the default range.
    """
    httpd = server.Httpd(run, "siblings", KEPT + EACH)
    web.write_folders(httpd.site, [("page.html", page)], "kept", "each")
    body = (httpd.site / "kept" / "page.html.gz").read_bytes()
    (httpd.site / "same.html").write_bytes(body)
    httpd.start()
    legs = [rounds.Leg({"server": "sibling"}, httpd, "/kept/page.html", page, "gzip", "gzip"),
            rounds.Leg({"server": "identity"}, httpd, "/same.html", body, "", "gzip"),
            rounds.Leg({"server": "each time"}, httpd, "/each/page.html", page, "gzip", "gzip")]
    # What is made for each response takes a hundred times as long, and only its bytes count.
    counts = dict.fromkeys(("sibling", "identity"), load.count_requests(
        legs[1], CLIENTS, SIBLING_TIMES * run.scale.seconds)) | {"each time": CLIENTS}
    rows = rounds.measure(run, legs, lambda leg: load.h2load(
        run, leg.url, leg.headers, CLIENTS, requests=counts[leg.name]))
    httpd.stop()
    return rows


def judge(streams, siblings):
    sides = {"server": "elastic"}, {"server": "mod_deflate"}
    return [
        verdict.compare("a streamed page's first byte comes no later than mod_deflate's", streams,
                        sides, "first_byte_ms", "at most 1", below=1.05,
                        origin=verdict.loosened(verdict.AIM, "1", "what two legs that are alike "
                                                "may differ by")),
        verdict.compare(f"{STREAMS} streams at once take no more memory than mod_deflate's",
                        streams, sides, "memory_peak_kb", "at most 1", below=1.02,
                        drift=verdict.NO_DRIFT, origin=verdict.loosened(
                            verdict.AIM, "1", "threads grow to their size at different times")),
        verdict.compare("a sibling's requests per second, to an identity file's of its size",
                        siblings, ({"server": "sibling"}, {"server": "identity"}), "rate",
                        "at least 0.95", above=0.95, drift=verdict.FILES_DRIFT,
                        origin=verdict.AIM),
        verdict.compare(f"a sibling's bytes, to what gzip {CEILING} makes for each response",
                        siblings, ({"server": "sibling"}, {"server": "each time"}), "sent_bytes",
                        "at most 1", below=TIE, origin=verdict.loosened(
                            verdict.AIM, "1", "equal bytes are not more"))]
