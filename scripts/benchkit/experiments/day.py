"""A day's demand in minutes: level 1 fixed, of this module or zlib, against an elastic 1 to 9."""

import math

from benchkit import arrivals, plot, rounds, setups, site, stats
from benchkit.findings import Finding, compare, exact
from benchkit.results import PAPER, Outcome

TITLE = "a day's demand: bytes and CPU, level 1 fixed against elastic 1 to 9"
SOURCE = f"{PAPER}, section 5.3 and figure 7a"
THERE = ("figure 7a, the demand of a day, lowest at 5:00 and highest at 20:00. Section 5.3, "
         "without a figure: at level 1 the CPU follows the demand; the elastic level uses what is "
         "left of it for most of the day, and saves 10.62 % of the traffic.")
SETUP = ("The same arrivals and pages of 120 KB for all servers, gzip alone; the demand "
         f"{arrivals.DAY_FROM}, at its peak 75 % of what level 1 has CPU for, measured before each "
         "round. Elastic is ElasticControl step, the source's way; its interval is a part of the "
         "day's hour.")
SECONDS = 12, 45, 260

PEAK = 0.75  # of the CPU of level 1: below the high threshold
HOURS = 24
BUSY, QUIET = 3, 5  # consecutive hours; one alone is short if the day is
VARIANTS = {"static": plot.IDENTITY, "elastic": plot.GZIP, "mod_deflate 1": plot.BR}


def one_pass(dynamic, name, times, seconds):
    """(rows of each hour, the day's row) of one replay."""
    step = min(0.5, max(0.1, round(seconds / HOURS, 1)))
    httpd = dynamic.serve(setups.step(9, step) if name == "elastic" else
                          setups.ours("gzip", 1) if name == "static" else setups.mod_deflate(1))
    seen = site.replay(httpd, site.pages(times))
    logged = dynamic.logged(httpd)
    rows = []
    for number, (start, end) in enumerate(arrivals.bins(seconds, HOURS)):
        # Late responses still belong to the day.
        first, last = (-math.inf if number == 0 else start,
                       math.inf if number == HOURS - 1 else end)
        rows.append({"hour": number, "requests": len(seen.between(start, end)),
                     "responses": len(seen.answered(start, end)),
                     "bytes": sum(one.bytes for one in seen.answered(start, end)),
                     "level": stats.mean([one.level for one in logged
                                          if first <= one.at - seen.began < last], 2),
                     "cpu_share": seen.cpu_share(start, end)})
    day = {
        "arrivals": len(times), "failed": seen.failures(0, seconds),
        "bytes_per_response": stats.ratio(sum(row["bytes"] for row in rows),
                                          sum(row["responses"] for row in rows)),
        "cpu_share": stats.median(row["cpu_share"] for row in rows),
        "cpu_share_peak": stats.median(row["cpu_share"] for row in running(rows, BUSY, max)),
        "level_quiet": stats.median(row["level"] for row in running(rows, QUIET, min)
                                    if row["responses"]),
        **site.conditions(dynamic.run, seen)}
    return rows, {**day, "steady": not day["failed"]}


def running(rows, count, of):
    """`count` consecutive hours of one day's rows: those with the `of` (max, min) demand."""
    return of((rows[start:start + count] for start in range(HOURS - count + 1)),
              key=lambda some: sum(row["requests"] for row in some))


def find(tables):
    days, _ = rounds.sent(tables["days"])
    steady = [day for day in days if day["steady"]]

    def to(other, rows, key, text, column, there, source):
        return compare(rows, key, f"{text}, elastic to {other or 'level 1'}",
                       {"variant": "elastic"}, {"variant": other or "static"}, column, there,
                       source=source, note="requests were lost")

    def of_elastic(key, text, column, there, **more):
        return Finding(key, text, exact(stats.median(
            day[column] for day in steady if day["variant"] == "elastic")), there,
            note="requests were lost", **more)

    # Bytes per page do not depend on lost pages; CPU does.
    size = "bytes_per_response", "0.894", (0.894, 0.894)
    return [
        to("", days, "bytes", "bytes of the day", *size),
        to("mod_deflate 1", days, "stock", "bytes of the day", *size),
        to("", steady, "cpu", "CPU of the median hour", "cpu_share",
           "what is left of it, most of the day", (1, math.inf)),
        of_elastic("peak", "elastic's share of the CPU when demand is high", "cpu_share_peak",
                   "below 0.8, ElasticCPU's threshold", aim=(0, 0.8)),
        of_elastic("quiet", "elastic's level when demand is low", "level_quiet", "up to 9")]


def run(run):
    seconds, dynamic = run.pick(.7, 5, 16), site.php(run)
    calibrated = dynamic.serve(setups.ours("gzip", 1))
    hours, days, times = [], [], {}
    for number, name in rounds.interleaved(run, VARIANTS):
        if number not in times:
            rate = PEAK * dynamic.working_capacity(calibrated, [dynamic.path], min(2, seconds))
            times[number] = arrivals.poisson(arrivals.DAY, rate, seconds, seed=number)
        rows, day = one_pass(dynamic, name, times[number], seconds)
        hours += [{"variant": name, "round": number, **row} for row in rows]
        days.append({"variant": name, "round": number, **day})
    calibrated.stop()
    run.save_table("", hours)
    run.save_table("days", days, "each day")
    middle = stats.medians(hours, ("variant", "hour"), ("requests", "level", "cpu_share", "bytes"))
    plot.panels(run, "", "demand, level, CPU and traffic over the day (medians)", "hour", [
        plot.Panel(label, plot.by_group(middle, VARIANTS, key, factor))
        for key, label, factor in (("requests", "requests an hour", 1),
                                   ("level", "gzip level", 1), ("cpu_share", "CPU, share", 1),
                                   ("bytes", "MB an hour", 1e-6))], width=13)
    _, unsent = rounds.sent(days)
    return Outcome("bytes", "Over a day, the elastic level sends {here} of the bytes "
                   "that level 1 sends.",
                   conditions=[*unsent, *rounds.remarks(days, "variant")],
                   tools=("h2load", "php-fpm"))
