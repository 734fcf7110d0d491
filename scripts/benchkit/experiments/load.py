"""Bytes and total time of ways to compress, at loads of a CPU that makes the pages, and in a flood.

The question is whether an operator who pins a level, or takes another module or server, does better
than the default settings; at which loads, and on which wires of the clients.
"""

import dataclasses
import math

from benchkit import arrivals, clients, plot, rounds, sample, site, stats
from benchkit.findings import Finding, exact, paired
from benchkit.legs import BY_RATE, DEFAULT, DEFAULT_GZIP, IDENTITY, LEGS
from benchkit.results import Outcome

TITLE = "total time and bytes at loads of 0.1 to 0.7, and a flood: defaults beside others"
SOURCE = THERE = ""
SETUP = ("Pages of 12 KB (40 %), 40 KB (35 %) and 120 KB (25 %) from php-fpm; a load is the share "
         "of one CPU that making them uncompressed takes, measured before each round. Arrivals are "
         "random and open, the same for all; total time is latency and 8 × bytes / R of one replay "
         "for all R; who has no answer after 5 s counts as 5 s. The loads come one after the other, "
         "and adaptive settings have seen each for some seconds before they count: what they "
         "remember of others is little. The best pinned level is chosen in half of the rounds and "
         "compared in the other half. In the flood, a load of 0.15 becomes ten times as much for "
         "3 s: more than any setting can serve.")
SECONDS = 12, 110, 900

RATES = (5, 20, 100)  # Mbit/s of the client's wire
MBIT = 20  # of the findings and the plot
WARM = 0.4  # seconds until what a fixed setup has in its queue is as at any time
LEAD_SEED = 50  # beyond the seeds of all that counts
FLOOD_SHARE = 0.25  # of the time

# The flood: load, height, and seconds before, within and after it.
BASE, HEIGHT = 0.15, 10
PATIENCE, TRIES = 2.0, (1, 3)  # seconds after which a client gives up, or every other asks again


QUICK = (IDENTITY, "gzip 1", "mod_deflate 6", "zstd 1", DEFAULT, DEFAULT_GZIP, "gzip 3", "nginx 1")
FLOODED = (DEFAULT, "gzip 1", "mod_deflate 6", "nginx 1")


def figures_of(results, patience):
    """Bytes, lost requests, and total times at each rate."""
    sizes = [one.bytes for one in results if not one.lost]
    mean_bytes = stats.mean(sizes, 1)
    found = {"arrivals": len(results), "failed": sum(one.lost for one in results),
             "bytes": mean_bytes}
    for rate in RATES:
        totals = [1e3 * (min(one.seconds, patience)
                         + 8e-6 * (mean_bytes if one.lost else one.bytes) / rate)
                  for one in results]
        found |= {f"mean_ms_at_{rate}": stats.mean(totals, 3),
                  f"p95_ms_at_{rate}": round(stats.percentile(totals, 95), 3)}
    return found


def serve(dynamic, name):
    """A leg's server, of which one page of each size was checked."""
    leg = LEGS[name]
    httpd = dynamic.serve(leg.setup)
    dynamic.check(httpd, leg.accept)
    return httpd


def visits_of(rate, lead, seconds, seed):
    """Visits for the `lead` that an adaptive setup has, and those of WARM and `seconds`, which are
    the same for each leg.
    """
    before = site.steady(rate, lead, seed + LEAD_SEED) if lead else []
    return before + [dataclasses.replace(visit, at=visit.at + lead)
                     for visit in site.steady(rate, WARM + seconds, seed)]


def one_pass(httpd, leg, rate, lead, seconds, seed):
    """The row of a leg under a load, of which the first part does not count."""
    lead = lead if leg.adaptive else 0
    seen = site.replay(httpd, visits_of(rate, lead, seconds, seed), accept=leg.accept)
    counted = lead + WARM, lead + WARM + seconds
    return {**figures_of(seen.between(*counted), clients.PATIENCE), **seen.conditions(),
            "cpu_share": seen.cpu_share(*counted)}


def measure(run, dynamic, servers):
    """(rows of each leg, load and round, {round: visits a second that take all of the CPU})."""
    # Beyond them compression takes all that is left, and a queue is as long as it had time to grow.
    loads = run.pick((.3,), (.2, .5, .7), (.1, .3, .5, .7))
    seconds, lead = run.pick(.3, .5, .7), run.pick(.2, 2.5, 10)
    rows, capacity = [], {}
    for at, load in enumerate(loads):
        for number, name in rounds.interleaved(run, servers, (1 - FLOOD_SHARE) / len(loads)):
            if number not in capacity:
                capacity[number] = dynamic.working_capacity(
                    servers[IDENTITY], run.pick(.2, .6, 1.5), site.steady)
            row = one_pass(servers[name], LEGS[name], load * capacity[number], lead, seconds,
                           100 * number + at)
            rows.append({"round": number, "load": load, "leg": name, **row})
            run.progress(f"(load {load}, round {number})")
            if row["failed"]:  # a new start, without requests that nobody waits for
                servers[name].stop()
                servers[name].start()
                sample.wait_until_idle(servers[name].pids)
    return rows, capacity


def flood(run, dynamic, capacity):
    """(a row for each leg and round, rows of each second)."""
    before, during, after = run.pick((.3, .3, .4), (3, 3, 6), (4, 3, 8))
    total = before + during + after
    curve = arrivals.spike(before, during, after, HEIGHT)
    rate = BASE * stats.median(capacity.values())
    rows, seconds = [], []
    for number, name in rounds.interleaved(run, FLOODED, FLOOD_SHARE):
        httpd = serve(dynamic, name)
        visits = site.mixed(arrivals.poisson(curve, rate, total, number) or [0.0], number, TRIES)
        seen = site.replay(httpd, visits, PATIENCE, LEGS[name].accept)
        httpd.stop()
        each = [{"round": number, "leg": name, "second": round(start - before, 2),
                 "failed": seen.failures(start, end), "arrivals": len(seen.between(start, end)),
                 "p50_ms": seen.percentile_ms(50, start, end)}
                for start, end in arrivals.bins(total, max(1, round(total)))]
        seconds += each
        rows.append({"round": number, "leg": name, "arrivals": len(visits),
                     "failed": sum(row["failed"] for row in each),
                     "worst_second_p50_ms": max((row["p50_ms"] for row in each
                                                 if not math.isnan(row["p50_ms"])), default=0.0),
                     **seen.conditions()})
    return rows, seconds


def best_pinned(rows, name, kind, column):
    """[the leg's figure to that of the pinned level that the other half of the rounds chose], a
    mean over the loads for each round.
    """
    table = {}  # {load: {leg: {round: figure}}}
    for row in rows:
        table.setdefault(row["load"], {}).setdefault(row["leg"], {})[row["round"]] = row[column]
    found = {}
    for by_leg in table.values():
        numbers = sorted(by_leg.get(name, ()))
        for chooses, compares in ((numbers[::2], numbers[1::2]), (numbers[1::2], numbers[::2])):
            means = {leg: stats.geometric_mean(figures[number] for number in chooses)
                     for leg, figures in by_leg.items() if kind in LEGS[leg].pinned
                     and chooses and set(numbers) <= figures.keys()}
            for number in compares if means else ():
                best = by_leg[min(means, key=means.get)][number]
                found.setdefault(number, []).append(stats.ratio(by_leg[name][number], best))
    return [stats.geometric_mean(ratios) for ratios in found.values()]


def find(rows, flooded):
    found = []
    for name, kind, whom in ((DEFAULT, "all", "all codings"), (DEFAULT_GZIP, "gzip", "gzip")):
        for figure in ("mean", "p95"):
            found.append(Finding(
                f"best-{kind}-{figure}", f"{figure} of total time at {MBIT} Mbit/s, default to the "
                f"best pinned level of each load, clients of {whom}",
                stats.interval(best_pinned(rows, name, kind, f"{figure}_ms_at_{MBIT}")),
                "at most 1.05", aim=(0, 1.05)))
    for rate, name in BY_RATE.items():
        ratios = best_pinned(rows, name, "gzip", f"mean_ms_at_{rate}")
        if ratios:
            found.append(Finding(f"rate-{rate}", f"mean of total time at {rate} Mbit/s, ElasticGoal "
                                 f"time {rate}Mbit/s to the best pinned level of each load, "
                                 "clients of gzip", stats.interval(ratios), "at most 1.03",
                                 aim=(0, 1.03)))
    for other in ("mod_deflate 6", "mod_deflate 1", "nginx 1", "mod_brotli 5"):
        for key, column in (("time", f"mean_ms_at_{MBIT}"), ("bytes", "bytes")):
            what = f"mean total time at {MBIT} Mbit/s" if key == "time" else "bytes"
            found.append(Finding(f"{key} {other}", f"{what}, default to {other}, all loads", paired(
                rows, {"leg": DEFAULT}, {"leg": other}, column, ("load",))))
    at_least_one = [{**row, "failed": max(row["failed"], 1)} for row in flooded]
    for other in ("mod_deflate 6", "gzip 1"):
        found.append(Finding(f"flood {other}", f"requests that the flood loses, default to {other}",
                             paired(at_least_one, {"leg": DEFAULT}, {"leg": other}, "failed"),
                             "at most 1", aim=(0, 1)))
    return found + [Finding("flood-lost", "requests that the flood loses of the default, of all",
                            exact(stats.median(stats.ratio(row["failed"], row["arrivals"])
                                               for row in flooded if row["leg"] == DEFAULT)))]


def draw(run, rows, seconds):
    column = f"mean_ms_at_{MBIT}"
    spread = stats.intervals(rows, ("leg", "load"), (column,))
    drawn = {name: leg.colour for name, leg in LEGS.items() if leg.colour}
    with plot.figure(run, "", f"mean time until a page has arrived at {MBIT} Mbit/s, by load",
                     width=6.4, height=4.4) as (axes,):
        for name, colour in drawn.items():
            points = [(load, one[column]) for (leg, load), one in spread.items() if leg == name]
            if points:
                plot.Curve([load for load, _ in points], [one for _, one in points], name, colour,
                           "o-" if name == DEFAULT else "x--").draw(axes)
        axes.set(yscale="log", xlabel="load of making the pages", ylabel="ms")
        axes.legend(fontsize=7)
    last = [row for row in seconds if row["round"] == max(one["round"] for one in seconds)]
    plot.panels(run, "flood", "a flood of ten times the load, from second 0 on (last round)",
                "seconds", [plot.Panel(label, [plot.Curve(
                    [row["second"] for row in of], [row[key] for row in of], name, drawn[name])
                    for (name,), of in stats.group(last, "leg").items()], log)
                    for key, label, log in (("p50_ms", "median latency, ms", True),
                                            ("failed", "lost requests of a second's", False))],
                width=9)


def run(run):
    dynamic = site.php(run)
    servers = {name: serve(dynamic, name) for name in run.pick(QUICK[:5], QUICK, tuple(LEGS))}
    rows, capacity = measure(run, dynamic, servers)
    for httpd in servers.values():
        httpd.stop()
    flooded, seconds = flood(run, dynamic, capacity)
    run.save_table("", rows)
    run.save_medians("summary", rows, ("leg", "load"), (
        "bytes", *(f"{figure}_ms_at_{MBIT}" for figure in ("mean", "p95")), "failed", "sent_share",
        "load_cpu_share"))
    run.save_medians("flood", flooded, ("leg",), ("arrivals", "failed", "worst_second_p50_ms",
                                                  "sent_share", "load_cpu_share"), "the flood")
    run.save_table("flood-seconds", seconds)
    draw(run, rows, seconds)
    good, unsent = rounds.sent(rows)
    some, drowned = rounds.sent(flooded)
    return Outcome(find(good, some), "best-all-mean", "With default settings a page takes {here} "
                   "times as long to arrive as with the level that would have been best at each "
                   "load, known beforehand.",
                   f"A page takes {1e3 / stats.median(capacity.values()):.2f} ms of CPU in the "
                   "mean.",
                   [*unsent, *drowned, *rounds.remarks(rows, "leg")], ("nginx", "php-fpm"))
