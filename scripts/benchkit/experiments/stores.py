"""Two servers that share compressed copies by redis, before and after it is gone."""

import os

from benchkit import arrivals, clients, corpus, load, others, plot, rounds, sample, site, stats
from benchkit.experiments import once
from benchkit.findings import Finding, compare, exact
from benchkit.results import Outcome, medians
from benchkit.setups import ours

TITLE = "two servers and one redis: CPU and latency of a request, hit rate, and without redis"
SOURCE = THERE = ""
SETUP = ("Pages of 40 KB in br, pinned to each level from 5 to 9, from an origin on the load's CPU "
         "through two proxies, which are asked in turn; 200 pages by Zipf's law, random arrivals "
         "at 0.6 of what a proxy has CPU for at level 9 without a store. The same visits for each "
         "way: each proxy compresses for itself, or has a store of its own in shmcb, or both share "
         "a redis, which is stopped half-way. CPU is that of both proxies and of redis. Each pass "
         "begins with empty stores, and with visits that do not count.")
SECONDS = 20, 150, 2600

LEVELS = range(5, 10)
NONE, OWN, SHARED, GONE = "no store", "shmcb, each its own", "redis", "redis is gone"
COLOURS = {NONE: plot.IDENTITY, OWN: plot.GZIP, SHARED: plot.KEPT, GONE: plot.BR}
PAGE_BYTES, PAGES, LOAD = 40 * corpus.KB, 200, 0.6
LEAD = 200  # visits before those that count
COUNTED = 20 * stats.BEYOND + 20  # visits of each half: 20 and more are beyond its p95
PROBE = 0.5  # CPU seconds to find the cost of a page
FIGURES = ("cpu_usec", "redis_usec", "p50_ms", "p95_ms", "hit_rate", "bytes")
TEXTS = {"cpu_usec": "CPU of a request", "p50_ms": "median latency", "p95_ms": "p95 of latency"}
COUNTERS = "ElasticCacheHits", "ElasticCacheMisses", "ElasticCacheFaults"


class Pair:
    """Two started servers, and redis if they share one, as one server of a replay."""

    def __init__(self, run, level, way, proxy):
        self.run, self.redis, lines = run, None, ""
        if way == SHARED:
            self.redis = others.Redis(run, run.new_name("redis"), "").start()
            key = self.redis.folder / "key"
            key.write_bytes(os.urandom(32))
            key.chmod(0o600)
            lines = (f"ElasticCache On\nElasticCacheStore redis:127.0.0.1:{self.redis.port}\n"
                     f"ElasticCacheKey {key}\nElasticCacheScope all\n")
        self.members = [ours("br", level, once.STORE if way == OWN else lines).serve(
            run, run.new_name("proxy"), proxy, (*once.MODULES, "socache_redis")).start()
            for _ in range(2)]
        self.addresses = [one.addresses[0] for one in self.members]
        self.pids = [pid for one in self.members for pid in one.pids]
        self.pids += self.redis.pids if self.redis else []

    def counters(self):
        """The sums of both servers' counters, and the CPU seconds of redis."""
        both = [one.counters() for one in self.members]
        return [*(sum(one[name] for one in both) for name in COUNTERS),
                sample.cpu_of(self.redis.pids) if self.redis else 0.0]

    def stop(self):
        for one in (*self.members, *([self.redis] if self.redis else [])):
            one.stop()


def half(pair, visits, before):
    """The row of one half of a pass."""
    seen = site.replay(pair, visits, accept="br")
    hits, misses, faults, redis = (now - then for now, then in zip(pair.counters(), before))
    end, answered = visits[-1].at, seen.answered(0, visits[-1].at + 1)
    used = seen.cpu[-1][1] - seen.cpu[0][1]
    return {"arrivals": len(visits), "failed": len(visits) - len(answered),
            "cpu_usec": round(1e6 * stats.ratio(used, len(visits)), 1),
            "redis_usec": round(1e6 * redis / len(visits), 1),
            "p50_ms": seen.percentile_ms(50, 0, end + 1),
            "p95_ms": seen.percentile_ms(95, 0, end + 1), "hit_rate": round(
                stats.ratio(hits, hits + misses), 4) if hits + misses else 0.0, "faults": faults,
            "bytes": stats.mean([one.bytes for one in answered], 1),
            "cpu_share": seen.cpu_share(0, end), **site.conditions(pair.run, seen)}


def one_pass(run, level, way, proxy, rate, seed):
    """The rows of both halves."""
    counts = run.pick((20, 40), (LEAD, COUNTED), (LEAD, COUNTED))
    pair = Pair(run, level, way, proxy)
    rows = []
    for number, count in enumerate((counts[0], counts[1], counts[1])):
        visits = [clients.Visit(at, f"/page/{page}", place=place % 2) for place, (at, page) in
                  enumerate(zip(arrivals.exactly(count, count / rate, 10 * seed + number),
                                arrivals.popular(count, range(PAGES), 10 * seed + number)))]
        before = pair.counters()
        if number == 2 and pair.redis:
            before[-1] = 0.0
            pair.redis.stop()
        row = half(pair, visits, before)
        if number:
            rows.append({"half": number, "level": level, "round": seed,
                         "way": GONE if number == 2 and way == SHARED else way, **row})
    pair.stop()
    return rows


def find(tables):
    rows, _ = rounds.sent(tables[""])
    first, second = ([row for row in rows if row["half"] == number] for number in (1, 2))

    def to_none(of, way, column, text, **aim):
        return compare(of, f"{column}, {way}", f"{text}, {way} to {NONE}, levels 5 to 9",
                       {"way": way}, {"way": NONE}, column, each=("level",), **aim)

    def hits(way):
        return exact(stats.median(row["hit_rate"] for row in first if row["way"] == way))

    return [
        *(to_none(first, way, column, text) for way in (SHARED, OWN)
          for column, text in TEXTS.items()),
        *(to_none(second, GONE, column, text, there="at most 1.05", aim=(0, 1.05))
          for column, text in TEXTS.items()),
        *(Finding(f"hits, {way}", f"hit rate, {way}, the median", hits(way))
          for way in (SHARED, OWN))]


summaries = medians(("level", "way", "half"), FIGURES, lambda tables: rounds.sent(tables[""])[0])


def run(run):
    proxy, _ = once.make_origin(run, PAGE_BYTES)
    probe = ours("br", max(LEVELS)).serve(run, "probe", proxy, once.MODULES).start()
    leg, rates, rows = rounds.Leg({}, probe, "/page/1", b"", "br", "br"), {}, []
    for number, (level, way) in rounds.interleaved(run, [
            (level, way) for level in run.pick((5,), (5, 9), LEVELS)
            for way in (NONE, OWN, SHARED)]):
        if number not in rates:
            rates[number] = LOAD * load.count_requests(leg, 1, PROBE) / PROBE
        rows += one_pass(run, level, way, proxy, rates[number], number)
    run.save_table("", rows)
    good, unsent = rounds.sent(rows)
    middle = stats.intervals(good, ("way", "level"), FIGURES)
    plot.panels(run, "", "CPU (µs) and latency (ms) of a request by level of br", "level", [
        plot.Panel(text, plot.by_group(middle, COLOURS, key, style="o-"))
        for key, text in TEXTS.items()])
    return Outcome(f"cpu_usec, {SHARED}", "Two servers that share a redis take {here} of the CPU "
                   "of two that compress each page.", conditions=[
                       *unsent, *rounds.remarks(rows, "way")], tools=("redis-server",))
