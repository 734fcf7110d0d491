"""The 95th percentile of compression time at levels 2, 4 and 8 as CPU use grows: the module's note
in the log, elapsed time in the encoder, including waits for the CPU."""

import math

from benchkit import arrivals, plot, rounds, setups, site, stats
from benchkit.findings import Finding, compare
from benchkit.results import PAPER, Outcome, medians

TITLE = "compression time p95 at levels 2, 4 and 8 as CPU utilisation grows"
SOURCE = f"{PAPER}, section 5.4 and figure 9"
THERE = ("figure 9, normalised 95th percentile of compression time over CPU utilisation for levels "
         "2, 4 and 8: the curves part faster than linearly, and level 2 takes half of level 8's "
         "time under heavy load.")
SETUP = ("Pages of 120 KB from php-fpm, random arrivals in an open loop at shares of what each "
         "level has CPU for, one server for each level; 400 responses of each at least, so that "
         "20 are beyond the percentile. What has no steady state has no time.")
SECONDS = 12, 35, 100

LEVELS = (2, 4, 8)
SHARES = (0.2, 0.4, 0.6, 0.8, 0.92)  # of capacity
LOW, MIDDLE, HIGH = SHARES[0], SHARES[2], SHARES[-1]
LEAST_ARRIVALS = 450  # 15 of 16 have an elapsed time, 20 of these are beyond the percentile
LEAST = 0.05  # of the straight line: a smaller difference counts as none
TIMEOUT = 10  # seconds; nothing may be lost here


def measure(run, dynamic):
    seconds, least = run.pick((.15, 1), (.7, LEAST_ARRIVALS), (1.5, LEAST_ARRIVALS))
    servers = {level: dynamic.serve(setups.ours("gzip", level)) for level in LEVELS}
    capacity = {level: dynamic.working_capacity(httpd, [dynamic.path], min(2, 2 * seconds))
                for level, httpd in servers.items()}
    shares, rows, spans = run.pick((LOW, MIDDLE, HIGH), (LOW, MIDDLE, HIGH), SHARES), [], []
    for number, (level, share) in rounds.interleaved(run, [(level, share) for share in shares
                                                           for level in servers]):
        rate = share * capacity[level]
        count = max(least, round(seconds * rate))
        times = arrivals.exactly(count, count / rate, 1000 * number + len(rows))
        seen = site.replay(servers[level], site.pages(times), TIMEOUT)
        end = max(times)
        row = {"level": level, "share": share, "round": number, "arrivals": len(times),
               "cpu_share": seen.cpu_share(0, end), **site.conditions(run, seen),
               "failed": seen.failures(0, math.inf),
               "latency_p95_ms": seen.percentile_ms(95, 0, math.inf),
               "bytes": stats.mean([one.bytes for one in seen.answered(0, math.inf)], 1)}
        rows.append({**row, "steady": rounds.is_steady(run, row)})
        spans.append((seen.began, seen.began + end))
    logs, percentile = {level: dynamic.logged(httpd) for level, httpd in servers.items()}, (
        stats.percentile if run.scale == "smoke" else stats.tail)
    for row, (start, end) in zip(rows, spans):
        elapsed = [one.usec / 1e3 for one in logs[row["level"]]
                   if one.elapsed and start <= one.at <= end]
        row |= {f"compression_p{percent}_ms": round(percentile(elapsed, percent), 3)
                for percent in (50, 95)}
    return rows


def growth(by_round):
    """The difference of levels 8 and 2 at the top, relative to that on a straight line from the
    lower half. `by_round` are {(level, share): p95}; the differences are those of the medians,
    because within a round they are small differences of noisy figures."""
    apart = {share: stats.median(times[8, share] for times in by_round)
             - stats.median(times[2, share] for times in by_round) for share in (LOW, MIDDLE, HIGH)}
    slope = (apart[MIDDLE] - apart[LOW]) / (MIDDLE - LOW)
    # Noise may make the line fall; then a level one is used.
    line = apart[MIDDLE] + max(slope, 0) * (HIGH - MIDDLE)
    return stats.ratio(max(apart[HIGH], LEAST * line), line)


def results(tables):
    """(the rows that are results, sentences on the others)."""
    sent, unsent = rounds.sent(tables[""])
    good, queued = rounds.steady(sent)
    return good, [*unsent, *queued]


summaries = medians(("level", "share"), (
    "cpu_share", "compression_p50_ms", "compression_p95_ms", "latency_p95_ms", "bytes",
    "sent_share", "load_cpu_share"), lambda tables: results(tables)[0])


def find(tables):
    rows = results(tables)[0]
    top = [row for row in rows if row["share"] == HIGH]
    cells = [{(row["level"], row["share"]): row["compression_p95_ms"] for row in members}
             for members in stats.group(rows, "round").values()]
    wanted = {(level, share) for level in (2, 8) for share in (LOW, MIDDLE, HIGH)}
    sides, no = ({"level": 2}, {"level": 8}), {"note": "no steady state"}
    return [
        compare(top, "half", f"compression time p95 at {100 * HIGH:.0f} % of capacity, level 2's "
                "to 8's", *sides, "compression_p95_ms", "0.5", source=(0.5, 0.5), **no,
                because="levels 2 and 8 are of different libraries, far apart on an idle CPU, too"),
        compare(top, "bytes", "bytes, level 2's to level 8's", *sides, "bytes", "1.1",
                source=(1.1, 1.1), **no),
        Finding("growth", f"difference of levels 8 and 2 at {100 * HIGH:.0f} % of capacity, to "
                f"that on a line through {100 * LOW:.0f} and {100 * MIDDLE:.0f} %",
                stats.drawn_anew([one for one in cells if wanted <= one.keys()], growth),
                "faster than linearly", (1, math.inf), **no)]


def run(run):
    rows = measure(run, site.php(run))
    run.save_table("", rows)
    good, left_out = results(run.raw)
    figures = {"compression_p95_ms": "compression time, ms, p95",
               "latency_p95_ms": "latency, ms, p95"}
    middle = stats.intervals(good, ("level", "share"), ("cpu_share", *figures))
    plot.panels(run, "", "compression time, latency and CPU utilisation", "CPU utilisation, %", [
        plot.Panel(label, [plot.Curve(
            [100 * found["cpu_share"][0] for (of, _), found in middle.items() if of == level],
            [found[figure] for (of, _), found in middle.items() if of == level],
            f"level {level}", f"C{level}", "o-") for level in LEVELS])
        for figure, label in figures.items()], width=9)
    return Outcome("half", "Near saturation, slow responses take {here} of level 8's "
                   "compression time at level 2, for the bytes in the second row.",
                   conditions=[*left_out, *rounds.remarks(rows)],
                   tools=("h2load", "php-fpm"))
