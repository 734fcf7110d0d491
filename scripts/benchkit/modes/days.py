"""A day's demand in minutes: mod_deflate at level 1 against the controller with the whole range.

The same arrivals are replayed to each server in turn; pages come from php-fpm.
"""

import dataclasses
import math

from benchkit import arrivals, plot, replay, stats, verdict
from benchkit.modes import controller
from benchkit.site import ELASTIC

STOCK_LEVEL = 1

PEAK = 0.75  # of the CPU of mod_deflate at that level: below the high threshold

HOURS = 24
# From one hour to another: of a short day, a single one is but a fraction of a second.
BUSIEST = (19, 22)

# Of the CPU, what mod_deflate must have used in the busiest hours: where it had much more left than
# is meant, because the machine was slow while its capacity was measured, there was no peak.
PEAK_SEEN = 0.9 * PEAK * arrivals.mean(arrivals.DAY, *(hour / HOURS for hour in BUSIEST))

TIMEOUT = 5.0  # seconds
LATE = 0.05  # of an hour: demand is not another one yet

GZIP = {"Accept-Encoding": "gzip"}
ALL = {"Accept-Encoding": "gzip, br, zstd"}

RUNNING = 2  # intervals above the high threshold that are let pass

PER_HOUR, MOST = 20, 0.5  # intervals, where they are not longer than the default, in seconds

# The aims are of a day in four minutes: in a shorter one demand rises faster than a controller that
# samples ten times a second can follow, and a busy hour is a few samples.
LEAST = 240


@dataclasses.dataclass(frozen=True)
class Variant:
    mode: str  # of the controller; empty: mod_deflate
    headers: dict
    colour: str
    below: float = math.inf  # the bytes, to mod_deflate's, that are wanted


STATIC = "mod_deflate 1"

VARIANTS = {
    STATIC: Variant("", GZIP, plot.IDENTITY),
    "predict, gzip": Variant("predict", GZIP, plot.GZIP, 0.86),
    "predict, zstd+br+gzip": Variant("predict", ALL, plot.KEPT, 0.82),
    "step, gzip": Variant("step", GZIP, plot.THRESHOLD),
}


def interval_of(seconds):
    """The controller's interval, in seconds: a part of an hour, within what it may be."""
    tenths = round(10 * seconds / HOURS / PER_HOUR)
    return min(MOST, max(controller.INTERVAL, tenths / 10))


def measure(run, site, names, seconds, days, done):
    """(rows of each hour, rows of each day, [pages a second that mod_deflate has CPU for])."""
    stock = site.serve_stock(STOCK_LEVEL)
    hours, whole, capacities = [], [], []
    for number in range(1, days + 1):
        capacities.append(site.working_capacity(stock, min(4, seconds / 4)))
        times = arrivals.poisson(arrivals.DAY, PEAK * capacities[-1], seconds, seed=number)
        for name in names if number % 2 else reversed(names):
            rows, day = one_pass(site, name, times, seconds)
            labels = {"server": name, "round": number, "capacity": round(capacities[-1], 1)}
            hours += [{**labels, **row} for row in rows]
            whole.append({**labels, **day})
            done(len(whole) / days / len(names))
    stock.stop()
    return hours, whole, capacities


def one_pass(site, name, times, seconds):
    """(rows of each hour, the day's row) of one replay."""
    variant = VARIANTS[name]
    httpd = (site.serve(controller.settings(variant.mode, interval=interval_of(seconds)), ELASTIC)
             if variant.mode else site.serve_stock(STOCK_LEVEL))
    seen = site.replay(httpd, times, TIMEOUT, variant.headers,
                       max(replay.LATE, LATE * seconds / HOURS))
    logged = site.logged(httpd)
    updates = controller.updates_of(httpd, seen.began)
    hour = seconds / HOURS
    rows = [one_hour(seen, controller.during(updates, number * hour, (number + 1) * hour), number,
                     hour) for number in range(HOURS)]
    day = {"arrivals": len(times), "sent_share": round(seen.sent_share(times), 4),
           "foreign_share": round(seen.foreign_share, 3), "responses": len(logged),
           "bytes_per_response": round(stats.ratio(sum(one.bytes for one in logged),
                                                   len(logged)), 1),
           "failed": seen.failures(0, seconds),
           "cpu_share": round(seen.cpu_share(0, seconds), 3),
           "cpu_share_peak": round(seen.cpu_share(*(hour * number for number in BUSIEST)), 3),
           "above_running": (controller.longest_above(controller.during(updates, 0, seconds),
                                                      controller.HIGH) if updates else "")}
    return rows, day


def one_hour(seen, updates, number, length):
    start, end = number * length, (number + 1) * length
    return {"hour": number,
            "responses": sum(start <= one.at < end for one in seen.responses),
            "position": round(stats.ratio(sum(one.position / one.top for one in updates),
                                          len(updates)), 3),
            "cpu_share": round(seen.cpu_share(start, end), 3),
            "p95_ms": round(1e3 * min(seen.percentile(95, start, end), seen.timeout), 2)}


def judge(days, seconds):
    """The verdicts on days of so many seconds."""
    static = {"server": STATIC}
    peak = stats.median(row["cpu_share_peak"] for row in days if row["server"] == STATIC)
    sent = min((row["sent_share"] for row in days), default=1)

    def if_long(one):
        if seconds >= LEAST:
            return one
        return verdict.untold(one, f"a day of {seconds:g} s is too short: the aim is of one of "
                                   f"{LEAST} s")

    def if_sent(one):
        if sent >= replay.SENT:
            return one
        return verdict.untold(one, f"of a day's requests {100 * sent:.0f} % were sent in time")

    found = []
    for name, variant in VARIANTS.items():
        ours = {"server": name}
        members = [row for row in days if row["server"] == name]
        if not members or variant.below == math.inf:
            continue
        found += [
            if_long(verdict.every_round(
                f"{name}: bytes of the day, to {STATIC}'s",
                verdict.per_round(days, ours, static, "bytes_per_response"),
                f"at least {100 - 100 * variant.below:.0f} % fewer", below=variant.below)),
            if_long(verdict.exact(
                f"{name}: intervals running that saw a load above the high threshold",
                max(row["above_running"] for row in members), f"at most {RUNNING}",
                below=RUNNING + 0.5)),
            if_long(judge_peak(
                f"{name}: CPU in the busiest hours, to {STATIC}'s", peak,
                verdict.per_round(days, ours, static, "cpu_share_peak"))),
            verdict.exact(f"{name}: failed requests", max(row["failed"] for row in members),
                          "none", below=1)]
    return [if_sent(one) for one in found]


def judge_peak(finding, peak, ratios):
    if peak < PEAK_SEEN:
        return verdict.impossible(finding, "no more",
                                  f"{STATIC} used {peak:.2f} of the CPU: that was no peak")
    return verdict.every_round(finding, ratios, "no more", below=1.005)


def draw(run, name, hours):
    panels = (("position", "position"), ("cpu_share", "CPU, share"), ("p95_ms", "p95, ms"))
    names = list(dict.fromkeys(row["server"] for row in hours))
    middle = stats.medians(hours, ("server", "hour"), [key for key, _ in panels])
    with plot.figure(run, name, len(panels), width=11, height=3.4) as all_axes:
        for axes, (key, label) in zip(all_axes, panels):
            for server in names:
                axes.plot(range(HOURS), [middle[server, hour][key] for hour in range(HOURS)],
                          color=VARIANTS[server].colour, label=server)
            axes.set_xlabel("hour of the day")
            axes.set_ylabel(label)
            axes.set_ylim(bottom=0)
        all_axes[1].legend()
