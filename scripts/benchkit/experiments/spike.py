"""A load near capacity, then 69 % more of it for a while: a fixed level against an elastic one.

After "Automatic and Dynamic Configuration of Data Compression for Web Servers", section 5.2: level
6, and elastic with 6 as its ceiling. Pages come from php-fpm; arrivals are random and open.
"""

import math

from benchkit import arrivals, controller, machine, plot, rounds, stats, verdict
from benchkit.headline import Headline
from benchkit.outcome import PAPER, Outcome
from benchkit.run import Scale
from benchkit.site import HEADERS, php_site, several

SUMMARY = "a spike of 69 %: latency, failures and level, level 6 fixed against elastic up to 6"
SOURCE = f"{PAPER}, section 5.2 and figure 8"

# Seconds are those of the attack; the time before is as long, and that after half as long again.
SCALES = {"smoke": Scale(2, 0.2), "quick": Scale(4, 3.5), "normal": Scale(3, 30),
          "full": Scale(3, 300)}
SECONDS = {"smoke": 9, "quick": 118, "normal": 680, "full": 6500}

HEADLINE = Headline("Does a server that adapts its level answer in a spike that a fixed one cannot?",
                    "Yes, in a fraction of the time.", "No.", 3)

BEFORE, AFTER = 1.0, 1.5  # to the attack's length
NEAR = 0.85  # of what saturates level 6: the normal load

# A user leaves after a tenth of the attack's length: 30 s of the source's five minutes.
TIMEOUT = 0.1
CEILING, INTERVAL = 6, 1 / 600  # of the attack's length: 500 ms of five minutes

# The level to which it falls at least. The source's falls to 1; how far one must, depends on how
# much less than the ceiling the levels below it cost, and with this module's engines 2 or 3 may do.
LOW = 3

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
        return arrivals.spike(BEFORE, 1, AFTER)
    curve = arrivals.from_log(run.options.access_log, hours=1)
    return tuple((at, arrivals.ATTACK * demand) for at, demand in curve)  # its peak is at 1


def phases(seconds, curve):
    """{name: (start, end)} in seconds: the attack is where demand is above the normal load."""
    total = seconds * (BEFORE + 1 + AFTER)
    start, end = (total * share for share in arrivals.above(curve, 1))
    found = {"before": (0, start), "attack": (start, end), "after": (end, total)}
    return {name: span for name, span in found.items() if span[1] > span[0]}


def one_pass(site, name, times, seconds, spans):
    """(a row for each phase, points over time) of one replay."""
    httpd = serve(site, name, seconds)
    httpd.get(site.path, HEADERS)
    seen = site.replay(httpd, times, TIMEOUT * seconds)
    logged = site.logged(httpd)

    def levels_in(start, end):
        return [one.level for one in logged if start <= one.at - seen.began < end]

    rows = [{
        "variant": name, "phase": phase, "seconds": round(end - start, 2),
        "arrivals": sum(start <= at < end for at in times),
        "failed_share": round(seen.failed_share(start, end), 4),
        "failed": seen.failures(start, end),
        **{f"p{percent}_ms": seen.percentile_ms(percent, start, end) for percent in (50, 95, 99)},
        "level": stats.mean(levels_in(start, end), 2),
        "level_least": min(levels_in(start, end), default=math.nan),
        "cpu_share": seen.cpu_share(start, end), "foreign_share": seen.foreign_share,
        "recovery_s": round(recovery(seen, spans), 2) if phase == "after" else ""}
            for phase, (start, end) in spans.items()]
    points = [{
        "at_s": round(start, 3),
        "responses_per_s": round(sum(start <= one.at < end for one in seen.responses)
                                 / (end - start), 1),
        "p50_ms": seen.percentile_ms(50, start, end),
        "failed_share": round(seen.failed_share(start, end), 4),
        "level": stats.mean(levels_in(start, end), 2)}
              for start, end in arrivals.bins(max(end for _, end in spans.values()), BINS)]
    return rows, points


def recovery(seen, spans):
    """Seconds from the attack's end to the last request that still failed; 0 where none did."""
    start = spans["after"][0]
    late = [one.at for one in seen.responses if start <= one.at and seen.failed(one)]
    late += [at for at in seen.missing if at >= start]
    return max(late, default=start) - start


def judge(rows):
    attack = [row for row in rows if row["phase"] == "attack"]

    def shares(variant):
        # Shares may be 0, and ratios are of those that are not: 1 % counts as nothing.
        return [max(row["failed_share"], 0.01) for row in attack if row["variant"] == variant]

    return [
        verdict.judge("static: many requests time out during the attack", shares("static"),
                      "nearly half of them", above=0.2),
        judge_recovery(rows),
        verdict.judge("elastic: it stays up", shares("elastic"), "no failures are reported",
                      below=0.05),
        verdict.compare("elastic: median latency in the attack, to static's", attack,
                        ({"variant": "elastic"}, {"variant": "static"}), "p50_ms", "a fraction",
                        below=0.5),
        verdict.every_round(f"elastic falls to level {LOW} or below", [
            row["level_least"] for row in attack if row["variant"] == "elastic"], "level 1",
                            below=LOW + 0.5)]


def judge_recovery(rows):
    """Of the static server, once the attack is over."""
    finding, reported = ("static: it stays out of order after the attack",
                         "for twice the attack's length")
    static = [row for row in rows if row["variant"] == "static"]
    lengths = {row["round"]: row["seconds"] for row in static if row["phase"] == "attack"}
    late = [max(row["recovery_s"], 0.01) / lengths[row["round"]] for row in static
            if row["phase"] == "after"]
    if static and not late:
        return verdict.impossible(finding, reported, "the log's curve ends with the attack")
    return verdict.judge(finding, late, reported, above=0.1)


def draw(run, over_time):
    def curves(key, step=False):
        return [plot.Curve([row["at_s"] for row in over_time[name]],
                           [row[key] for row in over_time[name]], name, colour, step=step)
                for name, colour in VARIANTS.items()]

    plot.panels(run, "", "demand met, latency and level over time (last round)", "seconds", [
        plot.Panel("arrivals answered, per second", curves("responses_per_s")),
        plot.Panel("median latency, ms", curves("p50_ms"), log=True),
        plot.Panel("gzip level", curves("level", step=True),
                   limits={"bottom": 0, "top": CEILING + 0.5})])


def describe_load(run, spans):
    start, end = spans["attack"]
    lasts = f"lasts {end - start:.3g} s of {max(end for _, end in spans.values()):g} s"
    if run.options.access_log is None:
        return (f"{100 * NEAR:.0f} % of it, and {arrivals.ATTACK} times that in the attack, which "
                + lasts)
    return (f"the log's, {100 * NEAR * arrivals.ATTACK:.0f} % of it at the peak; the attack is "
            f"where it is above {100 * NEAR:.0f} %, and {lasts}")


def run(run):
    site = php_site(run)
    seconds = run.scale.seconds
    curve = curve_of(run)
    spans = phases(seconds, curve)
    calibrated = serve(site, "static", seconds)
    rows, over_time, capacity, times = [], {}, {}, {}
    for number, name in rounds.interleaved(run, VARIANTS):
        if number not in capacity:
            # Anew for each round: what was an attack a minute ago may be none for a faster machine.
            capacity[number] = site.capacity(calibrated, min(2, seconds))
            times[number] = arrivals.poisson(curve, NEAR * capacity[number],
                                             seconds * (BEFORE + 1 + AFTER), seed=number)
        found, over_time[name] = one_pass(site, name, times[number], seconds, spans)
        rows += [{"round": number, "capacity": round(capacity[number], 1), **row} for row in found]
    calibrated.stop()
    run.save_table("", rows)
    run.save_table("time", [{"variant": name, **row} for name, found in
                                        over_time.items() for row in found])
    run.save_medians("summary", rows, ("variant", "phase"),
                     ("failed_share", "p50_ms", "p95_ms", "p99_ms", "cpu_share"))
    draw(run, over_time)
    return Outcome(
        f"{machine.heading(run, 'h2load', 'php-fpm')}\n"
        f"Level 6 is saturated by {several(capacity.values())} pages of 120 KB a second, measured "
        f"before each round; the load is {describe_load(run, spans)}. A request has failed after "
        f"{TIMEOUT * seconds:g} s. The controller's interval is "
        f"{1000 * interval_of(seconds):.0f} ms.",
        verdict.unless_busy(judge(rows), rows), HEADLINE, rounds.remarks(rows, "variant"))
