"""Ten times as many visits for some seconds, and clients that leave or ask again.

Settings are the defaults. Every other client gives up after a while; the others then ask again,
which is one more request for a server that has too many. What gave up is not taken back: httpd and
php-fpm finish what they have begun, and what waits is begun although nobody waits for it.
"""

from __future__ import annotations

import collections
import contextlib
import dataclasses
import math
import os
import random
import re

from benchkit import (arrivals, clients, controller, limit, machine, plot, rounds, run, sample,
                      stats, tools, verdict)
from benchkit.frontier import legs, pages
from benchkit.headline import Headline
from benchkit.outcome import Outcome

SUMMARY = ("a flood of ten times the load, default settings, also within a limit of the CPU: lost "
           "requests, latency, setups")
SOURCE = ""
FIXED = "the same visits for every server, pages of php-fpm, clients of all codings"


@dataclasses.dataclass(frozen=True)
class Scale(run.Scale):
    """Seconds are those of the flood."""

    before: float = 5  # seconds; the first half lets the controller settle
    after: float = 12
    legs: tuple = ()
    limited: tuple = ("default", "mod_deflate 6")  # legs that are measured within LIMIT too


LIMIT = 0.5  # CPUs that a control group may use
WITHIN_LIMIT = f" in {LIMIT:g} CPUs"
CHEAPEST, STOCK = "gzip 1", "mod_deflate 6"
LEGS = ("default", CHEAPEST, "mod_deflate 1", STOCK)
SCALES = {"smoke": Scale(1, 0.2, before=0.3, after=0.4, legs=("default", CHEAPEST, STOCK)),
          "quick": Scale(1, 3, after=8, legs=LEGS),
          "full": Scale(8, 3, legs=LEGS, limited=("default", "mod_deflate 1", STOCK), least=2)}
SECONDS = {"smoke": 5, "quick": 108, "normal": 360, "full": 670}

KIND = "php"
BASE, HEIGHT = 0.15, 10  # of the CPU that makes the pages; and times that
PATIENCE = 2.0  # seconds after which a client gives up, or asks again
TRIES = 3  # of every other client
WITHIN, FOR = 1.2, 3  # times the latency before; and so many seconds running
CALIBRATION = 1.5  # seconds
BACK = 2  # seconds within which all were back in the trial
NO_MORE = 1 + verdict.MARGIN
SMALL = 10  # lost requests of STOCK, below which it was no flood
HEADLINE = Headline("Does the default lose no more of a flood's requests than the cheapest setup, "
                    "pinned?", "No more.", "More are lost.",
                    "requests that the default loses, to those of gzip 1")
COLOURS = {"default": "#c2261f", CHEAPEST: plot.GZIP,
           "mod_deflate 1": plot.IDENTITY, STOCK: "#7a4a10"}

LOG = """
BufferedLogs On
LogFormat "%{{msec}}t %{{elastic-level}}n %{{Content-Encoding}}o" setups
CustomLog {folder}/setups.log setups
"""


def visits(rate, scale, seed):
    """The visits of one pass; every other client asks again."""
    total = scale.before + scale.seconds + scale.after
    start, end = (at / total for at in (scale.before, scale.before + scale.seconds))
    curve = ((0, 1), (start, 1), (start, HEIGHT), (end, HEIGHT), (end, 1), (1, 1))
    source = random.Random(seed)
    sizes, shares = zip(*pages.SIZES)
    return [clients.Visit(at, pages.path_of(KIND, source.choices(sizes, shares)[0],
                                            source.randrange(pages.SEEDS)), (1, TRIES)[place % 2])
            for place, at in enumerate(arrivals.poisson(curve, rate, total, seed) or [0.0])]


def slowness(results, scale):
    """{visit: its time, to the median of pages of its size before the flood}: pages of several
    sizes take several times as long.
    """
    usual = {size: stats.median(
        one.seconds for one in results if pages.size_of(one.visit.path) == size
        and scale.before / 2 <= one.at < scale.before and not one.lost)
        for size, _ in pages.SIZES}
    return {one.visit: stats.ratio(one.seconds, usual[pages.size_of(one.visit.path)])
            for one in results}


def each_second(results, scale):
    """Rows of the seconds from the flood's beginning, at 0, on; and of those before."""
    slow = slowness(results, scale)
    total = scale.before + scale.seconds + scale.after
    found = []
    for start, end in arrivals.bins(total, max(1, round(total))):
        here = [one for one in results if start <= one.at < end]
        answered = [one.seconds for one in here if not one.lost]
        found.append({
            "second": round(start - scale.before, 2), "visits": len(here),
            "lost": sum(one.lost for one in here), "requests": sum(one.requests for one in here),
            "p50_ms": round(1e3 * stats.percentile(answered, 50), 2),
            "p95_ms": round(1e3 * stats.percentile(answered, 95), 2),
            "slowness": round(stats.median(slow[one.visit] for one in here), 3),
            "bytes": stats.mean([one.bytes for one in here if not one.lost], 0)})
    return found


def back_after(seconds, end):
    """Seconds from the flood's end until the first of FOR seconds running in which the median is
    within WITHIN of that before; infinite where there are none.
    """
    after = [row for row in seconds if row["second"] >= end - 0.01]
    for place in range(len(after) - FOR + 1):
        if all(row["slowness"] <= WITHIN for row in after[place:place + FOR]):
            return round(after[place]["second"] - end, 2)
    return math.inf


def setups_in(text, began, seconds, length):
    """{second: the setups of its responses, the most frequent first} of a log."""
    found = collections.defaultdict(collections.Counter)
    for at, level, coding in re.findall(r"^(\d+) (\d+|-) (\S+)$", text, re.MULTILINE):
        name = "not compressed" if coding == "-" else f"{coding} {level}".removesuffix(" -")
        found[math.floor((int(at) / 1e3 - began) / length)][name] += 1
    return [", ".join(f"{name} ({count})" for name, count in found[place].most_common(4))
            for place in range(len(seconds))]


def one_pass(run, leg, site, sent, group):
    """(a row, rows of each second); in a group with a limit, where that is not None."""
    def holding(pids):
        return group.holding(pids) if group else contextlib.nullcontext()

    with holding(sample.family(site.helpers, sample.read_parents())):
        with holding([os.getpid()]):
            server = leg.serve(run, dataclasses.replace(site, snippet=site.snippet + LOG + (
                controller.TRACED if leg.setup.is_ours else "")))
        pages.check(leg, server)
        if group and leg.adaptive and f"limit of {LIMIT:.2f} CPUs" not in server.get(
                "/elastic-status?auto")[2].decode():
            raise tools.BenchError(f"{leg.name}: the module does not see the limit")
        seen = clients.replay(server, sent, {"Accept-Encoding": leg.accept}, PATIENCE)
        server.stop()
    scale = run.scale
    seconds = each_second(seen.results, scale)
    length = (scale.before + scale.seconds + scale.after) / len(seconds)
    used = setups_in((server.folder / "setups.log").read_text(encoding="utf-8"), seen.began,
                     seconds, length)
    updates = controller.updates_of(server, seen.began) if leg.adaptive else []
    for place, row in enumerate(seconds):
        row["setups"] = used[place]
        row["position"] = stats.mean([one.position / one.top for one in controller.during(
            updates, place * length, (place + 1) * length)], 3)
    return {**totals(seen.results, seconds, scale), **seen.conditions()}, seconds


def totals(results, seconds, scale):
    """What became of a whole pass."""
    again = [one for one in results if one.visit.tries > 1]
    return {"visits": len(results), "lost": sum(one.lost for one in results),
            "lost_of_those_that_retry": sum(one.lost for one in again),
            "requests": sum(one.requests for one in results),
            "before_p50_ms": stats.median(row["p50_ms"] for row in seconds
                                          if -scale.before / 2 <= row["second"] < 0),
            "worst_second_p50_ms": max((row["p50_ms"] for row in seconds
                                        if not math.isnan(row["p50_ms"])), default=math.nan),
            "back_s": back_after(seconds, scale.seconds), "watched_s": scale.after}


def judge(rows, unlimited=""):
    """`unlimited`: why nothing was measured within a limit."""
    by_leg = {leg: members for (leg,), members in stats.group(rows, "leg").items()}

    def lost(leg, other):
        """How many times as many it loses, in each round; none counts as one."""
        return [max(one["lost"], 1) / max(two["lost"], 1)
                for one, two in zip(by_leg[leg], by_leg[other])]

    def compare(other, reported, where="", **bounds):
        finding = f"requests that the default loses{where}, to those of {other}"
        if not {"default" + where, other + where} <= by_leg.keys():
            return verdict.impossible(finding, reported, where and unlimited
                                      or "it was not measured", **bounds)
        if stats.median(row["lost"] for row in by_leg.get(STOCK + where, ())) < SMALL:
            return verdict.impossible(finding, reported, f"{STOCK} lost fewer than {SMALL}: that "
                                      "was no flood", **bounds)
        return verdict.every_round(finding, lost("default" + where, other + where), reported,
                                   **bounds)

    return [
        compare(STOCK, "0.26 and 0.49 in a trial of other modes", below=1, origin=verdict.AIM,
                there=(0.26, 0.49)),
        compare("mod_deflate 1", "not measured", below=1, origin=verdict.AIM),
        compare(CHEAPEST, "1.9 and 3.7 in that trial", below=NO_MORE,
                origin=verdict.loosened(verdict.AIM, "1", "by what two legs that do the same "
                                        "differ by"), there=(1.9, 3.7)),
        judge_back(by_leg["default"]), judge_later(by_leg),
        compare(STOCK, "not measured", WITHIN_LIMIT, below=1, origin=verdict.AIM)]


def judge_back(rows):
    """One that was not back when nobody looked any more may still have been in time."""
    finding = (f"seconds after the flood until the default's median latency is within {WITHIN} "
               f"of that before, for {FOR} seconds")
    reported = "a second or two in that trial, in every mode"
    bounds = {"below": BACK + 0.5, "origin": verdict.loosened(
        verdict.SOURCE, str(BACK), "half a second, because seconds are counted")}
    if min(row["watched_s"] for row in rows) < BACK + FOR + 0.5:
        return verdict.impossible(finding, reported, "it was watched for too short a time",
                                  **bounds)
    return verdict.every_round(finding, [row["back_s"] for row in rows], reported, **bounds)


def judge_later(by_leg):
    """Whoever has lost more had less to do."""
    finding = f"seconds that the default is back later than {CHEAPEST}"
    bounds = {"below": 1.5, "origin": verdict.loosened(
        verdict.AIM, "0", "a second, in which latencies are counted")}
    pairs = [(one["back_s"], two["back_s"])
             for one, two in zip(by_leg["default"], by_leg[CHEAPEST])]
    if any(math.isinf(other) for _, other in pairs):
        return verdict.impossible(finding, "not measured", f"{CHEAPEST} was not back either",
                                  **bounds)
    return verdict.every_round(finding, [one - other for one, other in pairs], "not measured",
                               **bounds)


def draw(run, over_time):
    def curves(figure):
        return [plot.Curve([row["second"] for row in some], [row[figure] for row in some], leg,
                           COLOURS[leg.removesuffix(WITHIN_LIMIT)], "-" if leg in COLOURS else "--")
                for (leg,), some in stats.group(over_time, "leg").items()]

    plot.panels(run, "", "a flood of ten times the load, from second 0 on (last round)",
                "seconds", [
                    plot.Panel("median latency of what was answered, ms", curves("p50_ms"), True),
                    plot.Panel("lost visits, of each second's", curves("lost")),
                    plot.Panel("bytes a response", curves("bytes")),
                    plot.Panel("position", curves("position"))], width=15)


def measure(run, site):
    """(a row for each pass, rows of each second, {round: CPU seconds of a page}, why nothing was
    measured within a limit).
    """
    scale, made, group, unlimited = run.scale, legs.chosen(run.scale.legs), None, ""
    try:
        group = limit.Group(run, LIMIT)
        made += [dataclasses.replace(leg, name=leg.name + WITHIN_LIMIT)
                 for leg in legs.chosen(scale.limited)]
    except tools.BenchError as problem:
        unlimited = str(problem)
    calibrated = legs.IDENTITY.serve(run, site)
    rows, over_time, costs, sent = [], [], {}, {}
    for number, leg in rounds.interleaved(run, made):
        if number not in costs:
            # Anew for each round: what was a flood a minute ago may be none for a faster machine.
            costs[number] = pages.seconds_of_a_page(calibrated, KIND, legs.IDENTITY.accept,
                                                    min(CALIBRATION, scale.before), number)
            sent[number] = {cpus: visits(cpus * BASE / costs[number], scale, number)
                            for cpus in (1, LIMIT)}
        limited = leg.name.endswith(WITHIN_LIMIT)
        if limited and unlimited:
            continue
        try:
            row, seconds = one_pass(run, leg, site, sent[number][LIMIT if limited else 1],
                                    group if limited else None)
        except tools.BenchError as problem:
            if not limited:
                raise
            unlimited = str(problem)
            continue
        labels = {"round": number, "leg": leg.name}
        rows.append({**labels, **row})
        over_time += [{**labels, **one} for one in seconds]
    return rows, over_time, costs, unlimited


def run(run):
    scale = run.scale
    rows, over_time, costs, unlimited = measure(run, pages.make(run))
    run.save_table("", rows, "each pass")
    run.save_table("time", over_time)
    run.save_medians("summary", rows, ("leg",), ("lost", "lost_of_those_that_retry", "requests",
                                                 "worst_second_p50_ms", "back_s"))
    draw(run, [row for row in over_time if row["round"] == run.rounds])
    lost = stats.medians(rows, ("leg",), ("lost", "back_s"))
    return Outcome(
        f"{machine.heading(run, 'php-fpm')}\n"
        f"Pages that take {1e3 * stats.median(costs.values()):.2f} ms of CPU in the mean, "
        f"uncompressed. The load goes from {BASE} of that CPU to {BASE * HEIGHT:g} for "
        f"{scale.seconds:g} s: {max(row['visits'] for row in rows)} visits in all, by "
        f"clients of all codings; in a control group with {LIMIT:g} CPUs the load is a share of "
        f"those{unlimited and f' (left out: {unlimited})'}. Every other client gives up after "
        f"{PATIENCE:g} s; the others ask again then, {TRIES} times in all. A visit without an "
        "answer is lost.\n"
        "Lost in the median round: "
        + ", ".join(f"{one['lost']:g} {leg}" for (leg,), one in lost.items())
        + ". Seconds until back: "
        + ", ".join(f"{verdict.number(one['back_s'])} {leg}" for (leg,), one in lost.items()) + ".",
        verdict.unless_busy(judge(rows, unlimited), rows), HEADLINE,
        [*rounds.failures([{**row, "failed": row["lost"], "arrivals": row["visits"]}
                           for row in rows], "leg"), *rounds.disturbance(rows)])
