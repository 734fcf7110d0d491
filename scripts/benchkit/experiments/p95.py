"""The 95th percentile of compression time at levels 2, 4 and 8 as the CPU is used more.

After "Automatic and Dynamic Configuration of Data Compression for Web Servers", section 5.4. Pages
come from php-fpm at rates that make up given shares of each level's capacity; the compression time
is what the module notes in the log: the time elapsed in the encoder, waits for the CPU included.
mod_deflate notes none: beside it stands the latency of whole responses.
"""

import math

from benchkit import arrivals, controller, machine, plot, rounds, stats, verdict
from benchkit.headline import Headline
from benchkit.outcome import PAPER, Outcome
from benchkit.run import Scale
from benchkit.site import php_site

SUMMARY = "compression time p95 at levels 2, 4 and 8 as CPU utilisation grows"
SOURCE = f"{PAPER}, section 5.4 and figure 9"
THERE = {"": "figure 9, normalised 95th percentile of compression time over CPU utilisation for "
             "levels 2, 4 and 8: the curves part faster than linearly, and level 2 takes half of "
             "level 8's time under heavy load"}
FIXED = "pages of php-fpm, random arrivals in an open loop, one level for each server"

SCALES = {"smoke": Scale(1, 0.15, only=3, stock=(6,)), "quick": Scale(4, 0.7, only=3, stock=(6,)),
          "full": Scale(20, 1.5, stock=(1, 6, 9), least=4)}
SECONDS = {"smoke": 10, "quick": 67, "normal": 290, "full": 540}

HEADLINE = Headline(
    "Does a low level halve the compression time of slow responses under heavy load?",
    "Yes, level 2 takes half of level 8's time or less.",
    "No, level 2 takes more than half of level 8's time.",
    "under heavy load, level 2 takes half of level 8's compression time")

OURS, STOCK = "elastic", "mod_deflate"
LEVELS = (2, 4, 8)
SHARES = (0.2, 0.4, 0.6, 0.8, 0.92)  # of capacity
LOW, MIDDLE, HIGH = SHARES[0], SHARES[2], SHARES[-1]
LEAST = 0.05  # of the straight line: a smaller difference cannot be distinguished from none
TIMEOUT = 10  # seconds; nothing is to be lost here


def measure(run, site):
    """A row for each module, level, share and round."""
    servers = {(OURS, level): site.serve(controller.pinned("gzip", level)) for level in LEVELS}
    servers |= {(STOCK, level): site.serve_stock(level) for level in run.scale.stock}
    capacity = {leg: site.working_capacity(httpd, min(2, 2 * run.scale.seconds))
                for leg, httpd in servers.items()}
    shares = (LOW, MIDDLE, HIGH) if run.scale.only else SHARES
    spans, rows = [], []
    for number, (leg, share) in rounds.interleaved(run, [(leg, share) for share in shares
                                                         for leg in servers]):
        times = arrivals.steady(share * capacity[leg], run.scale.seconds,
                                seed=1000 * number + len(rows))
        seen = site.replay(servers[leg], times, TIMEOUT)
        end = max(times)
        rows.append({"module": leg[0], "level": leg[1], "share": share, "round": number,
                     "arrivals": len(times), "cpu_share": seen.cpu_share(0, end),
                     **seen.conditions(), "failed": seen.failures(0, math.inf),
                     "latency_p95_ms": seen.percentile_ms(95, 0, end)})
        spans.append((seen.began, seen.began + end))
    logs = {leg: site.logged(httpd) for leg, httpd in servers.items()}
    return [{**row, **times_of([one for one in logs[row["module"], row["level"]]
                                if start <= one.at <= end])}
            for row, (start, end) in zip(rows, spans)], capacity


def times_of(logged):
    """The compression times and bytes of the log's responses."""
    elapsed = [one.usec / 1e3 for one in logged if one.elapsed]
    return {"compression_p50_ms": round(stats.percentile(elapsed, 50), 3),
            "compression_p95_ms": round(stats.percentile(elapsed, 95), 3),
            "bytes": stats.mean([one.bytes for one in logged], 1)}


def growth(rounds):
    """The difference of levels 8 and 2 at the top, to that on a straight line from the lower half.

    `rounds` are {(level, share): p95}; the differences are those of their medians, because within a
    round they are small differences of noisy figures.
    """
    apart = {share: stats.median(times[8, share] for times in rounds)
             - stats.median(times[2, share] for times in rounds) for share in (LOW, MIDDLE, HIGH)}
    slope = (apart[MIDDLE] - apart[LOW]) / (MIDDLE - LOW)
    # By noise the line may fall; then a level one is taken.
    line = apart[MIDDLE] + max(slope, 0) * (HIGH - MIDDLE)
    return stats.ratio(max(apart[HIGH], LEAST * line), line)


def judge(rows):
    rows = [row for row in rows if row["module"] == OURS]
    top = [row for row in rows if row["share"] == HIGH]
    by_round = [{(row["level"], row["share"]): row["compression_p95_ms"] for row in members}
                for members in stats.group(rows, "round").values()]
    sides = {"level": 2}, {"level": 8}
    return [
        verdict.judge_interval(
            f"the differences between levels grow faster than linearly with utilisation (at "
            f"{100 * HIGH:.0f} % of capacity, to a line through {100 * LOW:.0f} and "
            f"{100 * MIDDLE:.0f} %)",
            stats.drawn_anew(by_round, growth), len(by_round), "they do", above=1,
            origin=verdict.SOURCE),
        verdict.compare("under heavy load, level 2 takes half of level 8's compression time or "
                        "less", top, sides, "compression_p95_ms", "0.5", below=0.6,
                        there=(0.5, 0.5), origin=verdict.loosened(
                            verdict.SOURCE, "0.5", "its figure has no scale")),
        verdict.compare("for a tenth more bytes", top, sides, "bytes", "1.1", above=1.03,
                        below=1.3, drift=verdict.NO_DRIFT, there=(1.1, 1.1),
                        origin=verdict.loosened(verdict.SOURCE, "1.1", "other pages, and other "
                                                "levels by the same names"))]


def draw(run, rows):
    figures = {"latency_p95_ms": "latency, ms, p95", "compression_p95_ms":
               "compression time, ms, p95", "compression_p50_ms": "compression time, ms, p50"}
    middle = stats.intervals(rows, ("module", "level", "share"), ("cpu_share", *figures))
    panels = []
    for figure, label in figures.items():
        curves = []
        for module, level in dict.fromkeys(leg[:2] for leg in middle):
            of = [found for leg, found in middle.items() if leg[:2] == (module, level)]
            if not math.isnan(of[0][figure][0]):
                curves.append(plot.Curve([100 * found["cpu_share"][0] for found in of],
                                         [found[figure] for found in of], f"{module} {level}",
                                         f"C{level}", "o-" if module == OURS else "x--"))
        panels.append(plot.Panel(label, curves))
    plot.panels(run, "", "latency, compression time and CPU utilisation", "CPU utilisation, %",
                panels)


def run(run):
    site = php_site(run)
    rows, capacity = measure(run, site)
    run.save_table("", rows)
    run.save_medians("summary", rows, ("module", "level", "share"),
                     ("cpu_share", "compression_p50_ms", "compression_p95_ms", "latency_p95_ms",
                      "bytes"))
    draw(run, rows)
    capacities = ", ".join(f"{rate:.0f} ({module} {level})"
                           for (module, level), rate in capacity.items())
    return Outcome(
        f"{machine.heading(run, 'h2load', 'php-fpm')}\n"
        "Pages of 120 KB from php-fpm. Of such pages, a second, a server at work has CPU for "
        f"{capacities}; arrivals are random and open, at shares of that.",
        verdict.unless_busy(judge(rows), rows), HEADLINE, rounds.remarks(rows))
