"""A day's demand in minutes: level 1 fixed against an elastic level 1 to 9.

After "Automatic and Dynamic Configuration of Data Compression for Web Servers", section 5.3. The
same arrivals are replayed to each server; pages come from php-fpm.
"""

import math

from benchkit import arrivals, machine, plot, stats, verdict
from benchkit.outcome import Outcome
from benchkit.run import Scale
from benchkit.site import Site, several

SUMMARY = "a day's demand: bytes and CPU, level 1 fixed against elastic 1 to 9"
SOURCE = ("“Automatic and Dynamic Configuration of Data Compression for Web Servers”, section 5.3 "
          "and figure 7a")

# Seconds are those of the day.
SCALES = {"smoke": Scale(1, 0.7), "quick": Scale(5, 12), "normal": Scale(3, 96),
          "full": Scale(3, 1440)}
SECONDS = {"smoke": 6, "quick": 146, "normal": 600, "full": 8700}

PEAK = 0.75  # of level 1's CPU: below the elastic server's upper bound of 80 %

HOURS = 24
# Hours running, in which demand is high, and low; one alone is short where the day is.
BUSY, QUIET = 3, 5

TIMEOUT = 5  # seconds

VARIANTS = {
    "static": ("ElasticControl off\nElasticLevel gzip 1 1\n", plot.IDENTITY),
    "elastic": ("ElasticControl step\nElasticLevel gzip 1 9\nElasticInterval {interval}\n",
                plot.GZIP),
}


def interval_of(seconds):
    """A tenth of an hour, between the least that there is and the default of 500 ms."""
    return f"{min(500, max(100, round(1000 * seconds / HOURS / 10 / 100) * 100))}ms"


def one_pass(run, site, name, times, seconds):
    """Rows of one replay: one for each hour of the day."""
    httpd = site.serve(VARIANTS[name][0].format(interval=interval_of(seconds)))
    seen = site.replay(httpd, times, TIMEOUT)
    logged = site.logged(httpd)
    rows = []
    for hour in range(HOURS):
        start, end = hour * seconds / HOURS, (hour + 1) * seconds / HOURS
        # What is served late still belongs to the day.
        last = math.inf if hour == HOURS - 1 else end
        first = 0 - seen.began if hour == 0 else start
        here = [one for one in logged if first <= one.at - seen.began < last]
        rows.append({
            "variant": name, "hour": hour, "requests": sum(start <= at < end for at in times),
            "responses": len(here), "bytes": sum(one.bytes for one in here),
            "level": round(stats.ratio(sum(one.level for one in here), len(here)), 2),
            "cpu_share": round(seen.cpu_share(start, end), 3),
            "foreign_share": round(seen.foreign_share, 3),
            "failed_share": round(seen.failed_share(start, end), 4),
            "p95_ms": round(1e3 * seen.percentile(95, start, end), 2)})
    return rows


def totals(rows):
    """A row for each variant and round: the day's bytes per response, CPU and failures."""
    found = []
    for (number, name), members in stats.group(rows, "round", "variant").items():
        responses = sum(row["responses"] for row in members)
        failed = told(row["failed_share"] for row in members)
        found.append({
            "variant": name, "round": number, "responses": responses,
            "bytes": sum(row["bytes"] for row in members),
            "bytes_per_response": round(stats.ratio(sum(row["bytes"] for row in members),
                                                    responses), 1),
            "cpu_share": stats.median(row["cpu_share"] for row in members),
            "cpu_share_peak": round(sum(row["cpu_share"] for row in hours(members, BUSY, max))
                                    / BUSY, 3),
            "failed_share": max(failed, default=math.nan)})
    return found


def hours(rows, count, of):
    """Of the rows of one day, `count` hours running: those of the `of` (max, min) demand."""
    return of((rows[start:start + count] for start in range(HOURS - count + 1)),
              key=lambda some: sum(row["requests"] for row in some))


def told(values):
    """The figures but for those of hours in which nobody came."""
    return [value for value in values if not math.isnan(value)]


def judge(days, rows):
    elastic, static = {"variant": "elastic"}, {"variant": "static"}
    of_rounds = stats.group([row for row in rows if row["variant"] == "elastic"], "round").values()
    return [
        verdict.judge("an elastic level saves traffic over level 1 all day", verdict.per_round(
            days, elastic, static, "bytes_per_response"), "0.894 of it", below=0.97,
            drift=verdict.NO_DRIFT),
        verdict.judge("it uses CPU that level 1 leaves unused", verdict.per_round(
            days, elastic, static, "cpu_share"), "most of the day", above=1.1),
        verdict.judge("it stays below the CPU allowed, as level 1 does, when demand is high",
                      [row["cpu_share_peak"] for row in days if row["variant"] == "elastic"],
                      "it does", below=0.97, drift=verdict.NO_DRIFT),
        verdict.judge("it compresses harder when demand is low", [
            stats.median(told(row["level"] for row in hours(members, QUIET, min)))
            for members in of_rounds], "up to level 9", above=4)]


def draw(run, rows):
    panels = (("requests", "requests an hour"), ("level", "gzip level"),
              ("cpu_share", "CPU, share"), ("bytes", "MB an hour"))
    middle = stats.medians(rows, ("variant", "hour"), [key for key, _ in panels])
    with plot.figure(run, run.name, len(panels), width=13, height=3.2) as all_axes:
        for axes, (key, label) in zip(all_axes, panels):
            for name, (_, colour) in VARIANTS.items():
                axes.plot(range(HOURS), [middle[name, hour][key] / (1e6 if key == "bytes" else 1)
                                         for hour in range(HOURS)], color=colour, label=name)
            axes.set_xlabel("hour of the day")
            axes.set_ylabel(label)
            axes.set_ylim(bottom=0)
        all_axes[1].legend()


def run(run):
    site = Site(run)
    seconds = run.scale.seconds
    curve = (arrivals.from_log(run.options.access_log) if run.options.access_log
             else arrivals.DAY)
    run.corpora.append(site.composition())
    calibrated = site.serve(VARIANTS["static"][0])
    rows, capacities, counts = [], [], []
    for number in range(1, run.scale.rounds + 1):
        # Anew for each round: a machine that has become slower has no CPU left over at this load.
        capacities.append(site.working_capacity(calibrated, min(3.5, seconds / 2)))
        times = arrivals.poisson(curve, PEAK * capacities[-1], seconds, seed=number)
        counts.append(len(times))
        for name in VARIANTS if number % 2 else reversed(VARIANTS):
            rows += [{"round": number, "capacity": round(capacities[-1], 1), **row}
                     for row in one_pass(run, site, name, times, seconds)]
            run.done(len(rows) / HOURS / len(VARIANTS) / run.scale.rounds)
    calibrated.stop()
    days = totals(rows)
    run.save_table(run.name, rows)
    run.save_table(f"{run.name}-days", days)
    draw(run, rows)
    return Outcome(
        f"day. {machine.describe(run, 'h2load', 'php-fpm')}\n"
        f"24 hours in {seconds:g} s, {several(counts)} arrivals, the same for both servers; at the "
        f"peak {100 * PEAK:.0f} % of the pages of 120 KB that level 1 has CPU for: "
        f"{several(capacities)} a second, measured before each round. The controller's "
        f"interval is {interval_of(seconds)}.",
        verdict.unless_busy(judge(days, rows), rows), {"each day": f"{run.name}-days"},
        {"demand, level, CPU and traffic over the day (medians)": run.name})
