"""Goals: a 95th percentile of the time for compression, and the least cost.

Every level is first measured pinned, under the same arrivals: that shows which times are possible,
and is the exhaustive search that the cost's goal is compared with.
"""

import dataclasses
import math

from benchkit import arrivals, controller, rounds, stats, verdict

LEVELS = range(1, 10)
MODE = "predict"

# Of what saturates the ceiling: the thresholds leave every level to the goal, and of the responses
# there are as many as a percentile needs.
SHARE = 0.4
SETTLE = 0.5  # of the time, until what is reached counts
PRICE_GB = 0.09  # what a cloud charges
# Prices of a core's hour that are tried: from cheaper than a cloud's to where CPU is all.
PRICES = [0.01 * 1.25 ** number for number in range(60)]
WITHIN = 1.10
# Of fewer, a 95th percentile is as noisy as what it is to be within.
LEAST_RESPONSES = 500
KB_PER_GB, USEC_PER_HOUR = 1e9 / 1024, 3.6e9


@dataclasses.dataclass(frozen=True)
class Figures:
    """What a setting came to, in the time that counts."""

    responses: int
    p95_ms: float  # of the time elapsed in the encoder
    usec_per_kb: float  # CPU
    ratio: float  # bytes after to bytes before
    level: float  # the mean

    def price(self, per_hour, per_gb):
        """Of a GB of bodies: CPU and egress."""
        return self.usec_per_kb * KB_PER_GB / USEC_PER_HOUR * per_hour + self.ratio * per_gb


def figures_of(logged, before, after, start):
    """Of a log from `start` (epoch) on, and of the status page's counters at start and end."""
    here = [one for one in logged if one.at >= start and one.level > 0]
    elapsed = [one.usec / 1e3 for one in here if one.elapsed]
    grown = {key: after[key] - before[key]
             for key in ("ElasticCpuUsec", "ElasticBytesIn", "ElasticBytesOut")}
    return Figures(
        len(elapsed), stats.percentile(elapsed, 95),
        1024 * stats.ratio(grown["ElasticCpuUsec"], grown["ElasticBytesIn"]),
        stats.ratio(grown["ElasticBytesOut"], grown["ElasticBytesIn"]),
        stats.mean([one.level for one in here], 2))


def one_pass(site, settings, times):
    """The Figures of a steady load on a server with `settings`, after it has settled."""
    httpd = site.serve(settings)
    middle = times[-1] * SETTLE
    first, second = ([at for at in times if at < middle],
                     [at - middle for at in times if at >= middle])
    site.replay(httpd, first)
    before = httpd.counters()
    seen = site.replay(httpd, second)
    after = httpd.counters()
    return figures_of(site.logged(httpd), before, after, seen.began)


def time_wanted(pinned):
    """A goal that lies between those of two levels: the middle of the least and the greatest."""
    return math.sqrt(min(one.p95_ms for one in pinned.values())
                     * max(one.p95_ms for one in pinned.values()))


def dear_hour(pinned):
    """The price of a core's hour at which the cheapest level is the furthest from the ends."""
    def middling(price):
        best = cheapest(pinned, price, PRICE_GB)
        return min(best - min(pinned), max(pinned) - best)

    found = [price for price in PRICES if middling(price) == max(map(middling, PRICES))]
    return found[len(found) // 2]


def cheapest(pinned, per_hour, per_gb):
    return min(pinned, key=lambda level: pinned[level].price(per_hour, per_gb))


def measure(run, site, seconds, levels):
    """Rows: every pinned level, and each goal."""
    ceiling = site.serve(controller.PINNED)
    rate = SHARE * site.capacity(ceiling, min(1, seconds / 4))
    ceiling.stop()
    pinned = {level: one_pass(site, controller.pinned("gzip", level),
                              steady(rate, seconds, seed=level)) for level in levels}
    wanted, hour = time_wanted(pinned), dear_hour(pinned)
    best = pinned[cheapest(pinned, hour, PRICE_GB)].price(hour, PRICE_GB)
    rows = [row_of(f"gzip {level}", 0, one, hour) for level, one in pinned.items()]
    goals = {"latency": f"latency p95 {1e3 * wanted:.0f}us",
             "cost": f"cost {hour:.4g}/h {PRICE_GB:g}/GB"}
    for number, name in rounds.interleaved(run, goals):
        one = one_pass(site, controller.settings(MODE, f"ElasticGoal {goals[name]}\n"),
                       steady(rate, 2 * seconds, seed=100 * number + len(rows)))
        rows.append({**row_of(name, number, one, hour), "goal": goals[name],
                     "to_goal": round(one.p95_ms / wanted if name == "latency"
                                      else one.price(hour, PRICE_GB) / best, 4)})
    return rows


def steady(rate, seconds, seed):
    """Two responses at least, so that there is a time before and after."""
    times = arrivals.steady(max(rate, 4 / seconds), seconds, seed)
    return times if len(times) > 1 else [0.0, seconds]


def row_of(name, number, one, hour):
    return {"setting": name, "round": number, "responses": one.responses,
            "p95_ms": round(one.p95_ms, 3), "usec_per_kb": round(one.usec_per_kb, 3),
            "ratio": round(one.ratio, 4), "level": one.level,
            "price": round(one.price(hour, PRICE_GB), 5)}


def judge(rows):
    def reached(name):
        return [row["to_goal"] for row in rows if row["setting"] == name]

    latency = verdict.every_round(
        "the time that 95 of 100 responses are compressed in, to the goal's", reached("latency"),
        "within 10 %", above=1 / WITHIN, below=WITHIN)
    fewest = min((row["responses"] for row in rows if row["setting"] == "latency"), default=0)
    if fewest < LEAST_RESPONSES:
        latency = verdict.inconclusive(latency, f"{fewest} responses; {LEAST_RESPONSES} are needed")
    return [latency, verdict.every_round("CPU and egress together, to the cheapest level's",
                                         reached("cost"), "at most 10 % more", below=WITHIN)]
