"""Many clients that ask for one new page at the same moment."""

import re

from benchkit import load, rounds, stats, tools, verdict
from benchkit.once.origin import OURS, Leg, cached

CLIENTS = 256
CHILDREN = 2
PER_PROCESS = 2  # encodings of it
PATIENCE = 10  # seconds until the log has the last response

LOG = """
LogFormat "%U %{{elastic-engine}}n %{{Content-Length}}o" engines
CustomLog {folder}/engines.log engines
AsyncRequestWorkerFactor 1000
"""
WITH, WITHOUT = "cache", "no cache"


def encodings(httpd, path, wanted):
    """How many of a path's responses were encoded whole, and how many as streams, which came so
    late that they were not waited for; by the server's log.
    """
    log = httpd.folder / "engines.log"
    found = []

    def is_whole():
        found[:] = re.findall(rf"^{re.escape(path)} (\S+) (\S+)$",
                              log.read_text(encoding="utf-8"), re.MULTILINE)
        return len(found) >= wanted

    if not tools.wait_for(is_whole, PATIENCE):
        raise tools.BenchError(f"the log of {httpd.name} has {len(found)} of {wanted} responses")
    made = [length for engine, length in found if engine not in ("cache", "-")]
    return len(made) - made.count("-"), made.count("-")


def measure(run, origin):
    """A row for each server and round; each round has a page of its own."""
    fronts = {name: origin.front("crowd", setup, LOG, children=CHILDREN, threads=CLIENTS)
              for name, setup in ((WITH, cached(OURS)), (WITHOUT, OURS))}
    rows = []
    for number, (name, httpd) in rounds.interleaved(run, fronts.items()):
        path = f"/page/{1000 + number}"
        leg = Leg({"server": name}, httpd, path, origin.body(path), "gzip", "gzip", private=False)
        seen = load.h2load(run, leg.url, leg.headers, CLIENTS, requests=CLIENTS)
        whole, streamed = encodings(httpd, path, seen.requests)
        rows.append({"server": name, "round": number, "requests": seen.requests,
                     "failed": seen.failed, "encoded": whole, "streamed": streamed,
                     "p50_ms": seen.p50_ms, "p95_ms": seen.p95_ms, "seconds": seen.seconds})
        rounds.check(leg)
    for httpd in fronts.values():
        httpd.stop()
    return rows


def judge(rows):
    return [
        verdict.every_round(
            f"{CLIENTS} clients on a new page: encodings of it, for each process",
            [row["encoded"] / CHILDREN for row in rows if row["server"] == WITH],
            f"at most {PER_PROCESS}", below=PER_PROCESS + 0.01, drift=verdict.NO_DRIFT,
            origin=verdict.AIM),
        verdict.compare(f"{CLIENTS} clients on a new page: p95 of their wait, to that without the "
                        "cache", rows, ({"server": WITH}, {"server": WITHOUT}), "p95_ms",
                        "no longer", below=1, origin=verdict.AIM)]


def sentence(rows):
    middle = stats.medians(rows, ("server",), ("p95_ms", "encoded", "streamed"))
    return (f"{CLIENTS} clients on a new page wait {middle[WITH,]['p95_ms']:.0f} ms (p95) with the "
            f"cache, {middle[WITHOUT,]['p95_ms']:.0f} ms without; it is encoded "
            f"{middle[WITH,]['encoded']:g} times by {CHILDREN} processes, and "
            f"{middle[WITH,]['streamed']:g} bodies came so late that they were streamed.")
