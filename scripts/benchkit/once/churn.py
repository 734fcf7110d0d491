"""More bodies than the cache holds: what it finds again, beside the best that could be done.

The best is Belady's: whoever knows the future gives up what is asked for again last, or never takes
it. Requests come by Zipf's law: the nth body is asked for 1/n^s times as often as the first.
"""

import heapq
import itertools
import math
import random

from benchkit import load, rounds, sample, stats, verdict
from benchkit.once.origin import BODY_BYTES, KB, OURS, Leg, cached

# Of the traces that L. Breslau et al. looked at ("Web Caching and Zipf-like Distributions: Evidence
# and Implications", INFOCOM 1999), the exponents were 0.64 to 0.83.
SKEW = 0.83
LAW = f"Zipf's law (exponent {SKEW}, of Breslau et al., INFOCOM 1999)"
AT_A_TIME = 20000  # requests of one run of h2load
HEAD = 64  # bytes of an entry beside the encoding
# The module's own memory beside the cache: contexts and buffers of some threads.
OTHER_MEMORY_KB = 16 * KB

def trace(bodies, requests, seed=1):
    """The numbers of the bodies that are asked for, one after the other."""
    weights = list(itertools.accumulate(1 / rank ** SKEW for rank in range(1, bodies + 1)))
    return random.Random(seed).choices(range(1, bodies + 1), cum_weights=weights, k=requests)


def belady(numbers, room):
    """How many of the requests find their body, where `room` bodies are kept, as well as can be."""
    never = len(numbers)
    following, last = [never] * len(numbers), {}
    for place in range(len(numbers) - 1, -1, -1):
        following[place] = last.get(numbers[place], never)
        last[numbers[place]] = place
    kept, latest, hits = {}, [], 0  # body: when it is asked for next; those, the latest first
    for number, again in zip(numbers, following):
        hits += number in kept
        kept[number] = again
        heapq.heappush(latest, (-again, number))
        while len(kept) > room:
            when, candidate = heapq.heappop(latest)
            # What was asked for since is in the heap once more.
            if kept.get(candidate) == -when:
                del kept[candidate]
    return hits


def load_trace(run, httpd, numbers):
    """A Load of all the requests in their order, by one client."""
    parts = []
    for start in range(0, len(numbers), AT_A_TIME):
        part = numbers[start:start + AT_A_TIME]
        parts.append(load.h2load(run, None, {"Accept-Encoding": "gzip"}, 1, requests=len(part),
                                 urls=[httpd.url(f"/body/{number}") for number in part]))
        run.still_running()
    return load.Load(*(sum(getattr(part, name) for part in parts)
                       for name in ("requests", "failed", "seconds", "bytes")),
                     math.nan, math.nan, math.nan, all(part.whole for part in parts))


def measure(run, origin, bodies, requests, store_bytes):
    """One row: a run of all requests against a server with a cache of so many bytes."""
    numbers = trace(bodies, requests)
    httpd = origin.front("churn", cached(OURS, store_bytes))
    leg = Leg({"server": "churn"}, httpd, "/body/1", origin.body("/body/1"), "gzip", "gzip",
              private=False)
    size = rounds.check(leg)
    base = sample.memory_kb(sample.family(httpd.pids, sample.read_parents()))
    before = httpd.counters()
    row = sample.measure(httpd, lambda: load_trace(run, httpd, numbers))
    after = httpd.counters()
    rounds.check(leg)
    httpd.stop()
    hits = after["ElasticCacheHits"] - before["ElasticCacheHits"]
    best = belady(numbers, store_bytes // (size + HEAD))
    return {"bodies": bodies, "body_bytes": BODY_BYTES, "store_bytes": store_bytes,
            "base_kb": base, **row,
            "hit_share": round(stats.ratio(hits, row["requests"]), 4),
            "best_share": round(best / len(numbers), 4)}


def judge(row):
    return [
        verdict.exact(f"{row['requests']} requests for {row['bodies']} bodies: failures",
                      float(row["failed"]), "none", below=1, origin=verdict.AIM),
        verdict.exact("memory that the server's processes took meanwhile, to the cache's and "
                      f"{OTHER_MEMORY_KB // KB} MB",
                      (row["memory_peak_kb"] - row["base_kb"])
                      / (row["store_bytes"] / KB + OTHER_MEMORY_KB),
                      "it is bounded", below=1, origin=verdict.OWN)]


def sentence(row):
    return (f"{row['requests']} requests by {LAW} for {row['bodies']} bodies of "
            f"{BODY_BYTES // KB} KB, with a cache of {row['store_bytes'] / KB / KB:g} MB: "
            f"{100 * row['hit_share']:.1f} % are found again; the best that could be "
            f"(Belady's) is {100 * row['best_share']:.1f} %.")
