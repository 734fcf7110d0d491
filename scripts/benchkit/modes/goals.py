"""The goal of the least cost.

Every level is first measured pinned, under the same arrivals: that is the exhaustive search that the
goal is compared with. Costs are compared at two prices of CPU, a low one, at which high levels are
cheapest, and one at which the levels cost so different sums that a controller which stayed at its
ceiling would be seen. None that stays anywhere does well at both.
"""

import dataclasses

from benchkit import arrivals, controller, rounds, stats, verdict

LEVELS = range(1, 10)
MODE = "step"  # says nothing: a goal sets a price, and no position

# Of what saturates the ceiling: the load leaves every level to the goal.
SHARE = 0.4
SETTLE = 0.5  # of the time, until what is reached counts
PRICE_GB = 0.09  # what a cloud charges
CHEAP_HOUR = 0.01  # of a core: cheaper than a cloud's
SPREAD = 1.5  # of the levels' costs where CPU is dear, dearest to cheapest
# Prices of a core's hour that are tried: up to where CPU is all.
PRICES = [CHEAP_HOUR * 1.25 ** number for number in range(60)]
WITHIN = 1.10
COSTS = {"cost, cheap CPU": "cheap", "cost, dear CPU": "dear"}
KB_PER_GB, USEC_PER_HOUR = 1e9 / 1024, 3.6e9


@dataclasses.dataclass(frozen=True)
class Figures:
    """What a setting came to, in the time that counts."""

    responses: int
    usec_per_kb: float  # CPU
    ratio: float  # bytes after to bytes before
    level: float  # the mean

    def price(self, per_hour, per_gb):
        """Of a GB of bodies: CPU and egress."""
        return self.usec_per_kb * KB_PER_GB / USEC_PER_HOUR * per_hour + self.ratio * per_gb


def figures_of(logged, before, after, start):
    """Of a log from `start` (epoch) on, and of the status page's counters at start and end."""
    here = [one for one in logged if one.at >= start and one.level > 0]
    grown = {key: after[key] - before[key]
             for key in ("ElasticCpuUsec", "ElasticBytesIn", "ElasticBytesOut")}
    return Figures(
        len(here), 1024 * stats.ratio(grown["ElasticCpuUsec"], grown["ElasticBytesIn"]),
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


def spread(pinned, per_hour):
    """What the dearest level costs, to the cheapest."""
    prices = [one.price(per_hour, PRICE_GB) for one in pinned.values()]
    return stats.ratio(max(prices), min(prices))


def dear_hour(pinned):
    """The least price of a core's hour at which the highest level is too dear by SPREAD."""
    def too_dear(price):
        return (spread(pinned, price) >= SPREAD
                and pinned[max(pinned)].price(price, PRICE_GB) > pinned[min(pinned)].price(
                    price, PRICE_GB))

    return next(filter(too_dear, PRICES), PRICES[-1])


def cheapest(pinned, per_hour):
    return min(pinned, key=lambda level: pinned[level].price(per_hour, PRICE_GB))


def measure(run, site, seconds, levels):
    """Rows: every pinned level, and each goal."""
    ceiling = site.serve(controller.PINNED)
    rate = SHARE * site.capacity(ceiling, min(1, seconds / 4))
    ceiling.stop()
    pinned = {level: one_pass(site, controller.pinned("gzip", level),
                              steady(rate, seconds, seed=level)) for level in levels}
    hours = dict(zip(COSTS, (CHEAP_HOUR, dear_hour(pinned))))
    rows = [row_of(f"gzip {level}", 0, one, hours) for level, one in pinned.items()]
    goals = {name: f"cost {hour:.4g}/h {PRICE_GB:g}/GB" for name, hour in hours.items()}
    for number, name in rounds.interleaved(run, goals):
        one = one_pass(site, controller.settings(MODE, f"ElasticGoal {goals[name]}\n"),
                       steady(rate, 2 * seconds, seed=100 * number + len(rows)))
        rows.append({**row_of(name, number, one, hours), "goal": goals[name],
                     **reached(name, one, pinned, hours)})
    return rows


def reached(name, one, pinned, hours):
    """What a goal's pass came to, to what was wanted, and how far the pinned levels are apart."""
    hour = hours[name]
    best = pinned[cheapest(pinned, hour)]
    return {"to_goal": round(one.price(hour, PRICE_GB) / best.price(hour, PRICE_GB), 4),
            "spread": round(spread(pinned, hour), 4)}


def steady(rate, seconds, seed):
    """Two responses at least, so that there is a time before and after."""
    times = arrivals.steady(max(rate, 4 / seconds), seconds, seed)
    return times if len(times) > 1 else [0.0, seconds]


def row_of(name, number, one, hours):
    return {"setting": name, "round": number, "responses": one.responses,
            "usec_per_kb": round(one.usec_per_kb, 3),
            "ratio": round(one.ratio, 4), "level": one.level,
            **{f"price, {COSTS[goal]} CPU": round(one.price(hour, PRICE_GB), 5)
               for goal, hour in hours.items()}}


def judge(rows):
    return [judge_cost(name, [row for row in rows if row["setting"] == name]) for name in COSTS]


def judge_cost(name, rows):
    one = verdict.every_round(f"{name}: CPU and egress together, to the cheapest level's",
                              [row["to_goal"] for row in rows], "at most 10 % more", below=WITHIN,
                              origin=verdict.AIM)
    apart = min((row["spread"] for row in rows), default=WITHIN)
    if apart <= WITHIN:
        return verdict.inconclusive(one, f"the levels' costs are only {100 * apart - 100:.1f} % "
                                         "apart: any of them would do")
    return verdict.remarked(one, f"the dearest level's is {apart:.2f} times the cheapest's")
