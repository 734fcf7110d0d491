"""A spike: from a load at which the ceiling is held to a multiple of what saturates mod_deflate.

The same arrivals are replayed to mod_deflate at level 6 and to each mode of the controller.
"""

import dataclasses
import math

from benchkit import arrivals, clients, controller, plot, rounds, stats, verdict
from benchkit.site import HEADERS

STOCK, STOCK_LEVEL = "mod_deflate", 6
MODES = ("step", "mix")
COLOURS = {STOCK: plot.IDENTITY, "step": plot.KEPT, "mix": plot.GZIP}

# Of what saturates the ceiling: far enough below the low threshold of 50 % that no sample of a
# tenth of a second, with its ten ticks, leaves it there by chance.
BASE = 0.25
# Of what saturates the floor, what it is asked for at most. With a bypass more is asked for.
FIT = 0.75
LATE = 0.25  # of an interval: a timer waits for a CPU that is full
SETTLED = 4  # intervals after the onset from which a second p99 counts
BACK = 10  # seconds within which the former position is regained
STAYS = 3  # seconds that it must be held then: what climbs in steps may overshoot and fall again
RELIEVED = 3  # samples running that are not above the high threshold: one alone may be by chance
WATCHED = BACK + STAYS  # seconds after an attack that decide whether it was
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
    interval: float = controller.INTERVAL  # seconds

    def serve(self, name):
        if name == STOCK:
            return self.site.serve_stock(STOCK_LEVEL)
        # What is bypassed comes as it is.
        httpd = self.site.serve(controller.settings(name, self.bypass, self.interval), self.snippet,
                                coding=None if self.bypass else "gzip")
        self.site.check(httpd, self.headers)
        return httpd


@dataclasses.dataclass(frozen=True)
class Rates:
    """Pages per second."""

    stock: float  # that saturate mod_deflate
    ceiling: float  # that saturate this module at its ceiling
    floor: float  # and at its floor
    base: float
    peak: float


def calibrate(workload, seconds):
    def capacity(httpd, headers=workload.headers):
        rate = workload.site.capacity(httpd, seconds, headers)
        httpd.stop()
        return rate

    # Before the others and after them: slow for a moment, a machine would make a small spike.
    first = capacity(workload.serve(STOCK), HEADERS)
    ceiling, floor = (capacity(workload.site.serve(settings, workload.snippet))
                      for settings in (controller.PINNED, controller.FLOORED))
    stock = max(first, capacity(workload.serve(STOCK), HEADERS))
    peak = workload.height * stock
    if not workload.bypass:
        peak = min(peak, FIT * floor)
    return Rates(stock, ceiling, floor, min(BASE * ceiling, peak / 2), peak)


def measure(run, workload, names):
    """(rows of each server and round, points over time of the last round, the rates)."""
    rates = calibrate(workload, min(1, run.scale.attack / 4))
    attack = workload.length * run.scale.attack
    after = max(AFTER * attack, run.scale.after)
    total = attack * (BEFORE + 1) + after
    curve = arrivals.spike(BEFORE * attack, attack, after, rates.peak / rates.base)
    rows, over_time = [], {}
    for number, name in rounds.interleaved(run, names):
        times = arrivals.poisson(curve, rates.base, total, seed=number)
        row, points = one_pass(workload, name, times, attack, total)
        labels = {"load": workload.name, "server": name}
        rows.append({**labels, "round": number, **row})
        over_time[name] = [{**labels, **point} for point in points]
    return rows, [point for points in over_time.values() for point in points], rates


def one_pass(workload, name, times, attack, total):
    """(a row, points over time) of one replay."""
    httpd = workload.serve(name)
    seen = workload.site.replay(httpd, times, headers=workload.headers)
    bypassed = "" if name == STOCK else httpd.counters()[BYPASSED] / len(times)
    httpd.stop()
    updates = controller.updates_of(httpd, seen.began)
    onset, end = attack * BEFORE, attack * (BEFORE + 1)

    row = {"arrivals": len(times), **seen.conditions(),
           "failed": seen.failures(0, total), "bypassed_share": bypassed,
           "p99_ms": seen.percentile_ms(99, onset, end),
           "p99_settled_ms": seen.percentile_ms(99, onset + SETTLED * workload.interval, end),
           "cpu_share": seen.cpu_share(onset, end),
           **reaction(updates, onset, end, workload.interval),
           "watched_s": round(total - end, 2)}
    return row, [{
        "at_s": round(start, 3), "p50_ms": seen.percentile_ms(50, start, stop),
        "position": round(stats.median(
            one.position for one in controller.during(updates, start, stop)), 3)}
                 for start, stop in arrivals.bins(total, BINS)]


def reaction(updates, onset, end, interval=controller.INTERVAL):
    """Where the controller was, and when it was where; nothing where there is none."""
    if not updates:
        return dict.fromkeys(("former", "floor_intervals", "relief_intervals", "back_s"), "")
    former = stats.median(one.position for one in controller.during(updates, onset / 2, onset))
    attack = controller.during(updates, onset, end)

    def intervals(wanted):
        return next((round((one.at - onset) / interval, 2) for place, one in enumerate(attack)
                     if wanted(place, one)), math.inf)

    # The first samples may still be of the time before.
    struck = next((one.at for one in attack if one.load > controller.HIGH), math.inf)

    def relieved(place, one):
        following = attack[place:place + RELIEVED]
        return one.at > struck and len(following) == RELIEVED and all(
            later.load <= controller.HIGH for later in following)

    return {"former": round(former / updates[0].top, 3),
            "floor_intervals": intervals(lambda _, one: one.position == 0),
            "relief_intervals": intervals(lambda place, one: one.position == 0
                                          or relieved(place, one)),
            "back_s": round(held_from(updates, end, former - 1) - end, 2)}


def held_from(updates, end, least):
    """From when on, after `end`, positions are at `least` or above for STAYS seconds running."""
    since = math.inf
    for one in updates:
        if one.at < end or one.position < least:
            since = math.inf
        else:
            since = min(since, one.at)
            if one.at - since >= STAYS:
                return since
    return math.inf


def judge(rows, levels):
    """The verdicts on one load's rows; a pass whose load was not sent is void."""
    found = []
    for (load,), members in stats.group(rows, "load").items():
        sent = [row for row in members if row["sent_share"] >= clients.SENT]
        found += judge_load(load, sent, levels)
    return found


def judge_load(load, rows, levels):
    ours = [row for row in rows if row["server"] in MODES]

    def known(figure, members):
        """The figures; NaN where one is missing, because a server took no sample in time."""
        found = [row[figure] for row in members]
        return [math.nan] if "" in found or not found else found

    def worst(figure, *servers):
        return max(known(figure, [row for row in rows if row["server"] in servers]))

    return [
        verdict.exact(f"{load}: before it, every mode is at the ceiling",
                      min(known("former", ours)), "1", above=0.85,
                      origin=verdict.loosened(verdict.AIM, "1", "one setup of nine below it, by "
                                              "a sample of a few ticks")),
        verdict.exact(f"{load}: intervals until step is at the floor, or as low as the load asks "
                      "for", worst("relief_intervals", "step"), f"at most {levels + 1}",
                      below=levels + 1 + LATE, origin=verdict.loosened(
                          verdict.AIM, str(levels + 1), "a timer waits for a CPU that is full")),
        verdict.exact(f"{load}: failed requests of any mode", worst("failed", *MODES), "none",
                      below=1, origin=verdict.AIM),
        judge_back(f"{load}: seconds until every mode is back within one setup, and stays there "
                   f"for {STAYS} s", worst("back_s", *MODES),
                   min((row["watched_s"] for row in ours), default=0))]


def judge_back(finding, seconds, watched):
    """One that was not back when the replay ended may still have been in time."""
    one = verdict.exact(finding, seconds, f"at most {BACK}", below=BACK, origin=verdict.AIM)
    if one.measured < math.inf or watched >= WATCHED:
        return one
    return verdict.inconclusive(one, f"the replay ended {watched:g} s after the attack")


def draw(run, over_time):
    loads = list(dict.fromkeys(row["load"] for row in over_time))

    def curves(load, key, step=False):
        found = []
        for server, colour in COLOURS.items():
            of = [row for row in over_time if (row["load"], row["server"]) == (load, server)]
            found.append(plot.Curve([row["at_s"] for row in of], [row[key] for row in of], server,
                                    colour, step=step))
        return found

    diagrams = [panel for load in loads for panel in (
        plot.Panel("median latency, ms", curves(load, "p50_ms"), True, load),
        plot.Panel("position", curves(load, "position", True), title=load))]
    plot.panels(run, "spikes", "spikes: latency and position", "seconds", diagrams,
                width=7 * len(loads))
