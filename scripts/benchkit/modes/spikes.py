"""A spike: from a load at which the ceiling is held to a multiple of what saturates mod_deflate.

The same arrivals are replayed to mod_deflate at level 6 and to each mode of the controller.
"""

import dataclasses
import math

from benchkit import arrivals, plot, replay, rounds, site, stats, verdict
from benchkit.modes import controller

STOCK_LEVEL = 6

MODES = ("step", "mix", "predict")

COLOURS = {"mod_deflate": plot.IDENTITY, "step": plot.KEPT, "mix": plot.THRESHOLD,
           "predict": plot.GZIP}

# Of what saturates the ceiling: far enough below the low threshold of 50 % that no sample of a tenth
# of a second, with its ten ticks, leaves it there by chance.
BASE = 0.25

# Of what saturates the floor, what it is asked for at most. With a bypass more is asked for.
FIT = 0.75

TIMEOUT = 5.0  # seconds: a user would have left

LATE = 0.25  # of an interval: a timer waits for a CPU that is full

SETTLED = 4  # intervals after the onset from which latency must be good again
GOOD_MS, BAD_MS = 100, 2000  # p99 that is wanted, where mod_deflate's is worse than the other

BACK = 10  # seconds within which the former position is regained

BEFORE, AFTER = 0.4, 0.6  # to the attack's length; some scales watch for longer

BINS = 60  # of the plot

BYPASSED = "ElasticSkipped-bypass"


@dataclasses.dataclass(frozen=True)
class Workload:
    name: str
    site: object
    height: float  # the peak, to what saturates mod_deflate
    headers: dict
    snippet: str
    bypass: str = ""  # a setting, where more may come than the floor can serve
    length: float = 1  # of the attack, to that of others: a higher one need not be as long


@dataclasses.dataclass(frozen=True)
class Rates:
    """Pages per second."""

    stock: float  # that saturate mod_deflate
    ceiling: float  # that saturate this module at its ceiling
    floor: float  # and at its floor
    base: float
    peak: float


def calibrate(workload, seconds):
    place = workload.site

    def capacity(httpd, headers):
        rate = place.capacity(httpd, seconds, headers)
        httpd.stop()
        return rate

    def stock_capacity():
        return capacity(place.serve_stock(STOCK_LEVEL), site.HEADERS)

    # Before the others and after them: slow for a moment, a machine would make a small spike.
    first = stock_capacity()
    ceiling = capacity(place.serve(controller.PINNED, workload.snippet), workload.headers)
    floor = capacity(place.serve(controller.FLOORED, workload.snippet), workload.headers)
    stock = max(first, stock_capacity())
    peak = workload.height * stock
    if not workload.bypass:
        peak = min(peak, FIT * floor)
    return Rates(stock, ceiling, floor, min(BASE * ceiling, peak / 2), peak)


def serve(workload, name):
    if name == "mod_deflate":
        return workload.site.serve_stock(STOCK_LEVEL)
    return workload.site.serve(controller.settings(name, workload.bypass), workload.snippet)


def check(workload, httpd):
    """One response must be what was meant: in a coding that the client takes, and whole."""
    _, headers, body = httpd.get(workload.site.path, workload.headers)
    rounds.decode(body, headers.get("Content-Encoding"))


def measure(run, workload, names, attack, done):
    """(rows of each server and round, points over time of the last round, the rates)."""
    rates = calibrate(workload, min(1, attack / 4))
    attack *= workload.length
    after = max(AFTER * attack, run.scale.after)
    total = attack * (BEFORE + 1) + after
    curve = arrivals.spike(BEFORE * attack, attack, after, rates.peak / rates.base)
    rows, over_time = [], []
    for number, index in rounds.interleaved(run.scale.rounds, len(names)):
        times = arrivals.poisson(curve, rates.base, total, seed=number)
        row, points = one_pass(workload, names[index], times, attack, total)
        rows.append({"load": workload.name, "server": names[index], "round": number, **row})
        if number == run.scale.rounds:
            over_time += [{"load": workload.name, "server": names[index], **point}
                          for point in points]
        done(len(rows) / run.scale.rounds / len(names))
    return rows, over_time, rates


def one_pass(workload, name, times, attack, total):
    """(a row, points over time) of one replay."""
    httpd = serve(workload, name)
    check(workload, httpd)
    seen = workload.site.replay(httpd, times, TIMEOUT, workload.headers)
    bypassed = "" if name == "mod_deflate" else httpd.counters()[BYPASSED] / len(times)
    httpd.stop()
    updates = controller.updates_of(httpd, seen.began)
    onset, end = attack * BEFORE, attack * (BEFORE + 1)
    row = {"arrivals": len(times), "sent_share": round(seen.sent_share(times), 4),
           "foreign_share": round(seen.foreign_share, 3),
           "failed": seen.failures(0, total), "bypassed_share": bypassed,
           "p99_ms": p99_ms(seen, onset, end),
           "p99_settled_ms": p99_ms(seen, onset + SETTLED * controller.INTERVAL, end),
           "cpu_share": round(seen.cpu_share(onset, end), 3), **reaction(updates, onset, end),
           "watched_s": round(total - end, 2)}
    return row, points(seen, updates, total)


def p99_ms(seen, start, end):
    """What did not come in time counts as if it had come at its end."""
    return round(1e3 * min(seen.percentile(99, start, end), seen.timeout), 2)


def reaction(updates, onset, end):
    """Where the controller was, and when it was where; nothing where there is none."""
    if not updates:
        return {"former": "", "floor_intervals": "", "relief_intervals": "", "back_s": ""}
    former = stats.median(one.position for one in controller.during(updates, onset / 2, onset))
    attack = controller.during(updates, onset, end)

    def intervals(wanted):
        return next((round((one.at - onset) / controller.INTERVAL, 2) for one in attack
                     if wanted(one)), math.inf)

    # The first samples may still be of the time before.
    struck = next((one.at for one in attack if one.load > controller.HIGH), math.inf)
    back = next((one.at - end for one in updates if one.at >= end and one.position >= former - 1),
                math.inf)
    return {"former": round(former / updates[0].top, 3),
            "floor_intervals": intervals(lambda one: one.position == 0),
            "relief_intervals": intervals(lambda one: one.position == 0 or (
                one.at > struck and one.load <= controller.HIGH)),
            "back_s": round(back, 2)}


def points(seen, updates, total):
    width = total / BINS
    found = []
    for number in range(BINS):
        start, end = number * width, (number + 1) * width
        here = controller.during(updates, start, end)
        found.append({"at_s": round(start, 3),
                      "p50_ms": round(1e3 * seen.percentile(50, start, end), 2),
                      "position": round(stats.median(one.position for one in here), 3)})
    return found


def judge(rows, levels):
    """The verdicts on one load's rows; a pass whose load was not sent is void."""
    found = []
    for (load,), members in stats.group(rows, "load").items():
        found += judge_load(load, [row for row in members if row["sent_share"] >= replay.SENT], levels)
    return found


def judge_load(load, rows, levels):
    def worst(figure, *servers):
        return max((row[figure] for row in rows if row["server"] in servers), default=math.nan)

    former = min((row["former"] for row in rows if row["server"] in MODES), default=math.nan)
    stock = stats.median(row["p99_ms"] for row in rows if row["server"] == "mod_deflate")
    where = f", where mod_deflate's p99 is above {BAD_MS} ms"

    def where_stock_fails(finding, figure, reported, below):
        """A verdict on predict; mod_deflate says whether that was a spike."""
        if stock > BAD_MS:
            return verdict.exact(finding, worst(figure, "predict"), reported + where, below=below)
        return verdict.impossible(finding, reported + where,
                                  f"mod_deflate's is {stock:.0f}: the spike is too small")

    return [
        verdict.exact(f"{load}: before it, every mode stands at the ceiling", former, "1",
                      above=0.85),
        where_stock_fails(f"{load}: intervals until predict is at the floor", "floor_intervals",
                          "at most 2", 2 + LATE),
        verdict.exact(f"{load}: intervals until step is at the floor, or as low as the load asks "
                      "for", worst("relief_intervals", "step"), f"at most {levels + 1}",
                      below=levels + 1 + LATE),
        verdict.exact(f"{load}: failed requests of any mode", worst("failed", *MODES), "none",
                      below=1),
        where_stock_fails(f"{load}: predict's p99 from {SETTLED} intervals after the onset, ms",
                          "p99_settled_ms", f"at most {GOOD_MS}", GOOD_MS),
        judge_back(f"{load}: seconds until every mode is back within one setup",
                   [row for row in rows if row["server"] in MODES])]


def judge_back(finding, rows):
    """One that was not back when the replay ended may still have been in time."""
    one = verdict.exact(finding, max((row["back_s"] for row in rows), default=math.nan),
                        f"at most {BACK}", below=BACK)
    watched = min((row["watched_s"] for row in rows), default=BACK)
    if one.measured < math.inf or watched >= BACK:
        return one
    return verdict.untold(one, f"the replay ended {watched:g} s after the attack")
