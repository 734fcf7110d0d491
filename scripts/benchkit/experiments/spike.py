"""A load near capacity, then 69 % more of it for a while: a fixed level against an elastic one.

After "Automatic and Dynamic Configuration of Data Compression for Web Servers", section 5.2: level
6, and elastic with 6 as its ceiling. Pages come from php-fpm; arrivals are random and open.
"""

from __future__ import annotations

import dataclasses
import math

from benchkit import arrivals, controller, machine, plot, rounds, run, stats, survival, verdict
from benchkit.headline import Headline
from benchkit.outcome import PAPER, Outcome
from benchkit.site import php_site, several

SUMMARY = "a spike of 69 %, and the largest that is survived: level 6 fixed, elastic up to 6"
SOURCE = f"{PAPER}, section 5.2 and figure 8"
THERE = {"": "figure 8, an hour with the attack in it: 69 % more requests for five minutes; the "
             "static server's latency rises at once and stays high for at least ten minutes after "
             "them; the elastic level falls to the lowest during the attack, and returns"}
FIXED = "the same arrivals and pages for both servers, gzip up to level 6, how long a client waits"


@dataclasses.dataclass(frozen=True)
class Scale(run.Scale):
    """Seconds are those of the attack; the time before is as long."""

    search: float = 3  # seconds of an attack in the search for the largest that is survived
    halvings: int = 3  # of the last step of that search


SCALES = {"smoke": Scale(1, 0.2, search=0.1, halvings=0),
          "quick": Scale(4, 2.5, search=2.5, halvings=2),
          "full": Scale(10, 6, search=3, least=3)}
SECONDS = {"smoke": 9, "quick": 258, "normal": 450, "full": 850}

HEADLINE = Headline(
    "Does a server that adapts its level survive larger spikes than one with a fixed level?",
    "Yes, a larger one.", "No.",
    "the largest spike that elastic survives, to static's")

BEFORE = 1.0  # to the attack's length
NEAR = 0.85  # of what saturates level 6: the normal load

# To the attack's length, how long a server is watched afterwards. What the static one was asked for
# beyond its capacity, it serves afterwards with the 15 % that the normal load leaves: of the
# source's spike, for three times the attack's length.
AFTER = {"static": 4.0, "elastic": 1.5}
AFTER_LOG = 1.5  # where the demand is a log's
CALM = 0.25  # to the attack's length: so long, at the end, no request of a recovered one fails

# A user leaves after a tenth of the attack's length: 30 s of the source's five minutes.
TIMEOUT = 0.1
CEILING, INTERVAL = 6, 1 / 600  # of the attack's length: 500 ms of five minutes

LOW = 3  # the level to which it falls at least

VARIANTS = {"static": plot.IDENTITY, "elastic": plot.GZIP}
BINS = 40  # of the plot


def interval_of(seconds):
    """The controller's interval, in seconds: scaled with the attack, and no shorter than it may be.
    """
    return max(controller.INTERVAL, seconds * INTERVAL)


def serve(site, name, seconds):
    if name == "static":
        return site.serve(controller.pinned("gzip", CEILING))
    return site.serve(controller.settings("step", f"ElasticLevel gzip 1 {CEILING}\n",
                                          interval_of(seconds)))


def curve_of(run):
    """The demand, to the normal load."""
    if run.options.access_log is None:
        return arrivals.spike(BEFORE, 1, max(AFTER.values()))
    curve = arrivals.from_log(run.options.access_log, hours=1)
    return tuple((at, arrivals.ATTACK * demand) for at, demand in curve)  # its peak is at 1


def watched(run, name):
    """For how many seconds a server is watched in all."""
    after = AFTER[name] if run.options.access_log is None else AFTER_LOG
    return run.scale.seconds * (BEFORE + 1 + after)


def phases(total, curve, end=math.inf):
    """{name: (start, end)} in seconds: the attack is where demand is above the normal load.

    The curve lasts `total` seconds, of which those until `end` count.
    """
    rises, falls = (total * share for share in arrivals.above(curve, 1))
    found = {"before": (0, rises), "attack": (rises, falls), "after": (falls, min(total, end))}
    return {name: span for name, span in found.items() if span[1] > span[0]}


def one_pass(site, name, times, seconds, spans):
    """(a row for each phase, points over time) of one replay."""
    httpd = serve(site, name, seconds)
    seen = site.replay(httpd, times, TIMEOUT * seconds)
    levels = [(one.at, one.level) for one in site.logged(httpd)]
    rows = [{"variant": name, **row,
             "recovery_s": round(recovery(seen, spans), 2) if row["phase"] == "after" else ""}
            for row in rows_of(seen, levels, spans, times)]
    return rows, points_of(seen, levels, max(end for _, end in spans.values()))


def in_span(levels, began, start, end):
    return [level for at, level in levels if start <= at - began < end]


def rows_of(seen, levels, spans, times):
    """A row for each phase of a replay; `levels` are (seconds since the epoch, level)."""
    return [{
        "phase": phase, "seconds": round(end - start, 2),
        "arrivals": sum(start <= at < end for at in times),
        "failed_share": round(seen.failed_share(start, end), 4),
        "failed": seen.failures(start, end),
        **{f"p{percent}_ms": seen.percentile_ms(percent, start, end) for percent in (50, 95, 99)},
        "level": stats.mean(in_span(levels, seen.began, start, end), 2),
        "level_least": min(in_span(levels, seen.began, start, end), default=math.nan),
        "cpu_share": seen.cpu_share(start, end), **seen.conditions()}
            for phase, (start, end) in spans.items()]


def points_of(seen, levels, total):
    """The same over time, for the plot."""
    return [{
        "at_s": round(start, 3),
        "responses_per_s": round(len(seen.answered(start, end)) / (end - start), 1),
        "p50_ms": seen.percentile_ms(50, start, end),
        "failed_share": round(seen.failed_share(start, end), 4),
        "level": stats.mean(in_span(levels, seen.began, start, end), 2)}
            for start, end in arrivals.bins(total, BINS)]


def recovery(seen, spans):
    """Seconds from the attack's end to the last request that still failed; 0 where none did.

    Without end where they fail as long as it is watched.
    """
    (began, ended), (start, end) = spans["attack"], spans["after"]
    last = max((one.at for one in seen.between(start, end) if one.lost), default=start)
    return math.inf if last > end - CALM * (ended - began) else last - start


def judge(rows, limits, halvings):
    attack = [row for row in rows if row["phase"] == "attack"]
    return [
        *survival.judge(limits, halvings, "elastic", "static", arrivals.ATTACK),
        judge_recovery(rows),
        verdict.compare("elastic: median latency in the attack, to static's", attack,
                        ({"variant": "elastic"}, {"variant": "static"}), "p50_ms", "a fraction",
                        below=0.5),
        verdict.every_round(
            f"elastic falls to level {LOW} or below", [
                row["level_least"] for row in attack if row["variant"] == "elastic"], "level 1",
            below=LOW + 0.5, origin=verdict.loosened(
                verdict.SOURCE, "1", "how far it must fall depends on what this module's levels "
                "cost, and 2 or 3 may do"))]


def judge_recovery(rows):
    """Of the static server, once the attack is over."""
    finding, reported = ("static: it stays out of order after the attack, to the attack's length",
                         "at least 2: 10 minutes after 5")
    static = [row for row in rows if row["variant"] == "static"]
    lengths = {row["round"]: row["seconds"] for row in static if row["phase"] == "attack"}
    after = [row for row in static if row["phase"] == "after"]
    if static and not after:
        return verdict.impossible(finding, reported, "the log's curve ends with the attack")
    # One that has not recovered was out of order for as long as it was watched, at the least.
    late = [max(min(row["recovery_s"], row["seconds"]), 0.01) / lengths[row["round"]]
            for row in after]
    one = verdict.judge(finding, late, reported, above=2, origin=verdict.SOURCE)
    for row in after:
        if math.isinf(row["recovery_s"]):
            return verdict.remarked(one, f"at least: not within {row['seconds']:g} s")
    return one


def draw(run, over_time, colours):
    """`over_time` is {server: points_of()}."""
    def curves(key, step=False):
        return [plot.Curve([row["at_s"] for row in over_time[name]],
                           [row[key] for row in over_time[name]], name, colour, step=step)
                for name, colour in colours.items()]

    plot.panels(run, "", "demand met, latency and level over time (last round)", "seconds", [
        plot.Panel("arrivals answered, per second", curves("responses_per_s")),
        plot.Panel("median latency, ms", curves("p50_ms"), log=True),
        plot.Panel("gzip level", curves("level", step=True),
                   limits={"bottom": 0, "top": CEILING + 0.5})])


def describe_load(run, spans):
    start, end = spans["attack"]
    lasts = f"lasts {end - start:.3g} s of {max(end for _, end in spans.values()):g} s"
    if run.options.access_log is None:
        height = NEAR * arrivals.ATTACK
        return (f"{100 * NEAR:.0f} % of it, and {arrivals.ATTACK} times that in the attack, which "
                f"{lasts}. The attack asks level 6 for {height:.2f} times what it can serve, so "
                f"that {100 - 100 / height:.0f} % of the requests wait until after it: that the "
                "static server collapses follows from the rate that was chosen")
    return (f"the log's, {100 * NEAR * arrivals.ATTACK:.0f} % of it at the peak; the attack is "
            f"where it is above {100 * NEAR:.0f} %, and {lasts}")


def search(site, name, scale, base, seed):
    """(rows of the spikes that were tried, columns with the largest that the server survives)."""
    httpd = serve(site, name, scale.search)
    conditions = []

    def replay(times):
        seen = site.replay(httpd, times, TIMEOUT * scale.search)
        conditions.append(seen.conditions())
        return seen

    tried, limit, end = survival.search(scale.halvings, survival.failed_share_of(
        replay, base, scale.search, seed))
    httpd.stop()
    return ([{**row, **more} for row, more in zip(tried, conditions)],
            {"limit": limit, "end": end})


def measure(run, site, curve):
    """(rows of each phase, points over time of the last round, rows of the search, its limits)."""
    seconds = run.scale.seconds
    total = max(watched(run, name) for name in VARIANTS)
    calibrated = serve(site, "static", seconds)
    rows, over_time, tried, limits, capacity, times = [], {}, [], [], {}, {}
    for number, name in rounds.interleaved(run, VARIANTS, is_enough=lambda: HEADLINE.is_narrow(
            judge(rows, limits, run.scale.halvings))):
        if number not in capacity:
            # Anew for each round: what was an attack a minute ago may be none for a faster machine.
            capacity[number] = site.capacity(calibrated, min(2, seconds))
            times[number] = arrivals.poisson(curve, NEAR * capacity[number], total, seed=number)
        end = watched(run, name)
        labels = {"round": number, "capacity": round(capacity[number], 1)}
        found, over_time[name] = one_pass(site, name, [at for at in times[number] if at < end],
                                          seconds, phases(total, curve, end))
        rows += [{**labels, **row} for row in found]
        found, limit = search(site, name, run.scale, NEAR * capacity[number], number)
        tried += [{**labels, "variant": name, **row} for row in found]
        limits.append({**labels, "variant": name, **limit})
    calibrated.stop()
    return rows, over_time, tried, limits


def run(run):
    site = php_site(run)
    seconds, curve = run.scale.seconds, curve_of(run)
    rows, over_time, tried, limits = measure(run, site, curve)
    run.save_table("", rows)
    run.save_table("time", [{"variant": name, **row} for name, found in
                                        over_time.items() for row in found])
    run.save_table("search", tried, "spikes that were tried")
    run.save_table("limits", limits, "the largest spike that is survived")
    run.save_medians("summary", rows, ("variant", "phase"),
                     ("failed_share", "p50_ms", "p95_ms", "p99_ms", "cpu_share"))
    draw(run, over_time, VARIANTS)
    spans = phases(max(watched(run, name) for name in VARIANTS), curve)
    return Outcome(
        f"{machine.heading(run, 'h2load', 'php-fpm')}\n"
        f"Level 6 is saturated by {several({row['capacity'] for row in rows})} pages of 120 KB a "
        f"second, measured before each round; the load is {describe_load(run, spans)}. A request "
        f"has failed after {TIMEOUT * seconds:g} s. The controller's interval is "
        f"{1000 * interval_of(seconds):.0f} ms.\n{survival.sentence(limits, run.scale.halvings)}",
        verdict.unless_busy(judge(rows, limits, run.scale.halvings), rows + tried), HEADLINE,
        [*rounds.failures(rows, "variant"), *rounds.disturbance(rows + tried)])
