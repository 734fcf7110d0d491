"""More bodies than the cache holds: what it finds again, beside the best that could be done.

The best is Belady's: whoever knows the future gives up what is asked for again last, or never takes
it. Requests come by Zipf's law: the nth body is asked for 1/n^s times as often as the first.
"""

import heapq
import itertools
import random

from benchkit import rounds, sample, stats, tools, verdict
from benchkit.load import WRK_REPORT, parse_wrk
from benchkit.once.origin import BODY_BYTES, KB, OURS, Leg, cached

SKEW = 0.9
CONNECTIONS = 8
HEAD = 64  # bytes of an entry beside the encoding
SECONDS_MOST = 3600
# The module's own memory beside the cache: contexts and buffers of some threads.
OTHER_MEMORY_KB = 16 * KB

SCRIPT = """
local numbers = {{}}
for line in io.lines("{trace}") do numbers[#numbers + 1] = line end
local asked, answered = 0, 0
function request()
    asked = asked % #numbers + 1
    return wrk.format("GET", "/body/" .. numbers[asked])
end
function response()
    answered = answered + 1
    if answered >= #numbers then wrk.thread:stop() end
end
"""


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


def load_trace(run, httpd, path):
    """A Load of all requests of the file, in order."""
    script = run.work / "trace.lua"
    script.write_text(WRK_REPORT + SCRIPT.format(trace=path), encoding="utf-8")
    command = [tools.find("wrk"), "-t1", f"-c{CONNECTIONS}", f"-d{SECONDS_MOST}s", "-s",
               str(script), "-H", "Accept-Encoding: gzip", httpd.url("/")]
    return parse_wrk(run.load(command, SECONDS_MOST))


def measure(run, origin, bodies, requests, store_bytes):
    """One row: a run of all requests against a server with a cache of so many bytes."""
    numbers = trace(bodies, requests)
    path = run.work / "trace.txt"
    path.write_text("".join(f"{number}\n" for number in numbers), encoding="ascii")
    httpd = origin.front("churn", cached(OURS, store_bytes))
    leg = Leg({"server": "churn"}, httpd, "/body/1", origin.body("/body/1"), "gzip", "gzip",
              private=False)
    size = rounds.check(leg)
    base = sample.memory_kb(sample.family(httpd.pids, sample.read_parents()))
    before = httpd.counters()
    row = sample.measure(httpd, lambda: load_trace(run, httpd, path))
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
    return (f"{row['requests']} requests by Zipf's law (exponent {SKEW}) for {row['bodies']} "
            f"bodies of {BODY_BYTES // KB} KB, with a cache of {row['store_bytes'] / KB / KB:g} MB: "
            f"{100 * row['hit_share']:.1f} % are found again; the best that could be "
            f"(Belady's) is {100 * row['best_share']:.1f} %.")
