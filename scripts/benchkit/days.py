"""A day's demand in minutes, replayed to one server after another; pages come from php-fpm."""

import dataclasses
import math

from benchkit import arrivals, clients, controller, plot, rounds, stats
from benchkit.site import GZIP_ONLY, HEADERS

PEAK = 0.75  # of the CPU of the first variant: below the high threshold
HOURS = 24
# Hours running, in which demand is high, and low; one alone is short where the day is.
BUSY, QUIET = 3, 5
CALIBRATION = 4  # seconds
LATE = 0.05  # of an hour: demand does not change within it
LONGEST = 0.5  # seconds of an interval: the default
@dataclasses.dataclass(frozen=True)
class Variant:
    """A server: a mode of the controller and further settings, or mod_deflate at a level."""

    colour: str
    mode: str = ""
    settings: str = ""
    stock_level: int = 0
    headers: dict = dataclasses.field(default_factory=lambda: HEADERS)
    snippet: str = GZIP_ONLY

    def serve(self, site, interval):
        if self.stock_level:
            return site.serve_stock(self.stock_level)
        return site.serve(controller.settings(self.mode, self.settings, interval), self.snippet)


def interval_of(seconds, per_hour):
    """The controller's interval, in seconds: a part of an hour, within what it may be."""
    return min(LONGEST, max(controller.INTERVAL, round(10 * seconds / HOURS / per_hour) / 10))


def measure(run, site, variants, interval, curve=arrivals.DAY, days=0,
            is_enough=lambda hours, whole: False):
    """(rows of each hour, rows of each day); the peak is a share of the first variant's CPU."""
    seconds = run.scale.seconds
    calibrated = next(iter(variants.values())).serve(site, interval)
    hours, whole, capacity, times = [], [], {}, {}
    for number, name in rounds.interleaved(run, variants, days, lambda: is_enough(hours, whole)):
        if number not in capacity:
            # Anew for each round: a machine that has become slower has no CPU left over at this
            # load.
            capacity[number] = site.working_capacity(calibrated, min(CALIBRATION, seconds / 2))
            times[number] = arrivals.poisson(curve, PEAK * capacity[number], seconds, seed=number)
        rows, day = one_pass(site, variants[name], interval, times[number], seconds)
        labels = {"variant": name, "round": number, "capacity": round(capacity[number], 1)}
        hours += [{**labels, **row} for row in rows]
        whole.append({**labels, **total(rows), **day})
    calibrated.stop()
    return hours, whole


def one_pass(site, variant, interval, times, seconds):
    """(rows of each hour, further figures of the day) of one replay."""
    httpd = variant.serve(site, interval)
    hour = seconds / HOURS
    seen = site.replay(httpd, times, headers=variant.headers)
    logged = site.logged(httpd)
    updates = controller.updates_of(httpd, seen.began)
    rows = [one_hour(seen, logged, updates, number, hour) | {
        "requests": sum(number * hour <= at < (number + 1) * hour for at in times)}
            for number in range(HOURS)]
    return rows, {
        "arrivals": len(times), **seen.conditions(max(clients.LATE, LATE * hour)),
        "failed": seen.failures(0, seconds),
        "above_running": (controller.longest_above(controller.during(updates, 0, seconds),
                                                   controller.HIGH) if updates else "")}


def one_hour(seen, logged, updates, number, length):
    start, end = number * length, (number + 1) * length
    # What is served late still belongs to the day.
    first, last = -seen.began if number == 0 else start, math.inf if number == HOURS - 1 else end
    here = [one for one in logged if first <= one.at - seen.began < last]
    updates = controller.during(updates, start, end)
    return {"hour": number, "responses": len(here), "bytes": sum(one.bytes for one in here),
            "level": stats.mean([one.level for one in here], 2),
            "position": stats.mean([one.position / one.top for one in updates], 3),
            "cpu_share": seen.cpu_share(start, end), "foreign_share": seen.foreign_share,
            "failed_share": round(seen.failed_share(start, end), 4),
            "p95_ms": seen.percentile_ms(95, start, end)}


def total(rows):
    """Of a day's hours: bytes per response, CPU and failures."""
    responses = sum(row["responses"] for row in rows)
    total_bytes = sum(row["bytes"] for row in rows)
    return {"responses": responses, "bytes": total_bytes,
            "bytes_per_response": round(stats.ratio(total_bytes, responses), 1),
            "cpu_share": stats.median(row["cpu_share"] for row in rows),
            "cpu_share_peak": stats.mean([row["cpu_share"] for row in running(rows, BUSY, max)], 3),
            "failed_share": max(known(row["failed_share"] for row in rows), default=math.nan)}


def running(rows, count, of):
    """Of the rows of one day, `count` hours running: those of the `of` (max, min) demand."""
    return of((rows[start:start + count] for start in range(HOURS - count + 1)),
              key=lambda some: sum(row["requests"] for row in some))


def known(values):
    """The figures but for those of hours in which nobody came."""
    return [value for value in values if not math.isnan(value)]


def draw(run, part, caption, hours, variants, figures):
    """`figures` is {column: (label, factor)}."""
    middle = stats.intervals(hours, ("variant", "hour"), figures)
    plot.panels(run, part, caption, "hour of the day", [plot.Panel(label, [
        plot.Curve(range(HOURS), [stats.scaled(middle[variant, hour][key], factor)
                                  for hour in range(HOURS)],
                   variant, variants[variant].colour) for variant in variants])
        for key, (label, factor) in figures.items()], width=13)
