"""A load near capacity, then 69 % more of it for a while: a fixed level against an elastic one.

After "Automatic and Dynamic Configuration of Data Compression for Web Servers", section 5.2: level
6, and elastic with 6 as its ceiling. Pages come from php-fpm; arrivals are random and open.
"""

from benchkit import arrivals, machine, plot, stats, verdict
from benchkit.outcome import Outcome
from benchkit.run import Scale
from benchkit.site import Site, several

SUMMARY = "a spike of 69 %: latency, failures and level, level 6 fixed against elastic up to 6"
SOURCE = ("“Automatic and Dynamic Configuration of Data Compression for Web Servers”, section 5.2 "
          "and figure 8")

# Seconds are those of the attack; the time before is as long, and that after half as long again.
SCALES = {"smoke": Scale(2, 0.2), "quick": Scale(4, 3.5), "normal": Scale(3, 30),
          "full": Scale(3, 300)}
SECONDS = {"smoke": 9, "quick": 118, "normal": 680, "full": 6500}

BEFORE, AFTER = 1.0, 1.5  # to the attack's length

NEAR = 0.85  # of what saturates level 6: the normal load

# A user leaves after a tenth of the attack's length: 30 s of the source's five minutes.
TIMEOUT = 0.1

CEILING, INTERVAL = 6, 1 / 600  # of the attack's length: 500 ms of five minutes

# The level to which it falls at least. The source's falls to 1; how far one must, depends on how
# much less than the ceiling the levels below it cost, and with this module's engines 2 or 3 may do.
LOW = 3

VARIANTS = {
    "static": ("ElasticControl off\nElasticLevel gzip 6 6\n", plot.IDENTITY),
    "elastic": ("ElasticControl step\nElasticLevel gzip 1 6\nElasticInterval {interval}\n",
                plot.GZIP),
}

BINS = 40  # of the plot


def interval_of(seconds):
    """The controller's interval: scaled with the attack, and no shorter than it may be."""
    return f"{max(100, round(1000 * seconds * INTERVAL))}ms"


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


def one_pass(run, site, name, times, seconds, spans):
    """(a row for each phase, points over time) of one replay."""
    settings = VARIANTS[name][0].format(interval=interval_of(seconds))
    httpd = site.serve(settings)
    httpd.get("/page.php", {"Accept-Encoding": "gzip"})
    seen = site.replay(httpd, times, TIMEOUT * seconds)
    logged = site.logged(httpd)
    rows = []
    for phase, (start, end) in spans.items():
        levels = [one.level for one in logged if start <= one.at - seen.began < end]
        rows.append({
            "variant": name, "phase": phase, "seconds": round(end - start, 2),
            "arrivals": sum(start <= at < end for at in times),
            "failed_share": round(seen.failed_share(start, end), 4),
            **{f"p{percent}_ms": round(1e3 * seen.percentile(percent, start, end), 2)
               for percent in (50, 95, 99)},
            "level": round(sum(levels) / len(levels), 2) if levels else "",
            "level_least": min(levels, default=float("nan")),
            "cpu_share": round(seen.cpu_share(start, end), 3),
            "foreign_share": round(seen.foreign_share, 3),
            "recovery_s": round(recovery(seen, spans), 2) if phase == "after" else ""})
    return rows, points(seen, logged, spans)


def recovery(seen, spans):
    """Seconds from the attack's end to the last request that still failed; 0 where none did."""
    start, end = spans["after"]
    late = [one.at for one in seen.responses if start <= one.at and seen.failed(one)]
    late += [at for at in seen.missing if at >= start]
    return max(late, default=start) - start


def points(seen, logged, spans):
    """Rows for the plot: demand, latency, failures and level in each bin of time."""
    total = max(end for _, end in spans.values())
    width = total / BINS
    found = []
    for number in range(BINS):
        start, end = number * width, (number + 1) * width
        levels = [one.level for one in logged if start <= one.at - seen.began < end]
        count = sum(start <= one.at < end for one in seen.responses)
        found.append({"at_s": round(start, 3), "responses_per_s": round(count / width, 1),
                      "p50_ms": round(1e3 * seen.percentile(50, start, end), 2),
                      "failed_share": round(seen.failed_share(start, end), 4),
                      "level": round(sum(levels) / len(levels), 2) if levels else ""})
    return found


def judge(rows):
    attack = [row for row in rows if row["phase"] == "attack"]
    static, elastic = {"variant": "static"}, {"variant": "elastic"}

    def shares(variant, members=attack):
        return [row["failed_share"] for row in members if row["variant"] == variant]

    # Shares may be 0, and ratios are of those that are not: 1 % counts as nothing.
    lost = [max(share, 0.01) for share in shares("static")]
    kept = [max(share, 0.01) for share in shares("elastic")]
    floor = [row["level_least"] for row in attack if row["variant"] == "elastic"]
    return [
        verdict.judge("static: many requests time out during the attack", lost,
                      "nearly half of them", above=0.2),
        judge_recovery(rows),
        verdict.judge("elastic: it stays up", kept, "no failures are reported", below=0.05),
        verdict.judge("elastic: median latency in the attack, to static's", verdict.per_round(
            attack, elastic, static, "p50_ms"), "a fraction", below=0.5),
        verdict.every_round(f"elastic falls to level {LOW} or below", floor, "level 1",
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
    with plot.figure(run, run.name, 3, width=11, height=3.4) as (demand, latency, level):
        for name, (_, colour) in VARIANTS.items():
            rows = over_time[name]
            at = [row["at_s"] for row in rows]
            demand.plot(at, [row["responses_per_s"] for row in rows], color=colour, label=name)
            latency.plot(at, [row["p50_ms"] for row in rows], color=colour, label=name)
            level.step(at, [row["level"] if row["level"] != "" else float("nan") for row in rows],
                       where="post", color=colour, label=name)
        for axes, label in ((demand, "arrivals answered, per second"),
                            (latency, "median latency, ms"), (level, "gzip level")):
            axes.set_xlabel("seconds")
            axes.set_ylabel(label)
        latency.set_yscale("log")
        level.set_ylim(0, CEILING + 0.5)
        demand.legend()


def describe_load(run, spans):
    start, end = spans["attack"]
    lasts = f"lasts {end - start:.3g} s of {max(end for _, end in spans.values()):g} s"
    if run.options.access_log is None:
        return (f"{100 * NEAR:.0f} % of it, and {arrivals.ATTACK} times that in the attack, which "
                + lasts)
    return (f"the log's, {100 * NEAR * arrivals.ATTACK:.0f} % of it at the peak; the attack is "
            f"where it is above {100 * NEAR:.0f} %, and {lasts}")


def run(run):
    site = Site(run)
    seconds = run.scale.seconds
    curve = curve_of(run)
    spans = phases(seconds, curve)
    run.corpora.append(site.composition())
    calibrated = site.serve(VARIANTS["static"][0])
    total = seconds * (BEFORE + 1 + AFTER)
    rows, over_time, capacities, done = [], {}, [], 0
    for number in range(1, run.scale.rounds + 1):
        # Anew for each round: what was an attack a minute ago may be none for a faster machine.
        capacities.append(site.capacity(calibrated, min(2, seconds)))
        times = arrivals.poisson(curve, NEAR * capacities[-1], total, seed=number)
        for name in VARIANTS if number % 2 else reversed(VARIANTS):
            found, over_time[name] = one_pass(run, site, name, times, seconds, spans)
            rows += [{"round": number, "capacity": round(capacities[-1], 1), **row}
                     for row in found]
            done += 1
            run.done(done / run.scale.rounds / len(VARIANTS))
    calibrated.stop()
    run.save_table(run.name, rows)
    run.save_table(f"{run.name}-time", [{"variant": name, **row} for name, found in
                                        over_time.items() for row in found])
    keys = ("variant", "phase")
    run.save_table(f"{run.name}-summary", [
        {**dict(zip(keys, key)), **figures} for key, figures in stats.medians(
            rows, keys, ("failed_share", "p50_ms", "p95_ms", "p99_ms", "cpu_share")).items()])
    draw(run, over_time)
    return Outcome(
        f"spike. {machine.describe(run, 'h2load', 'php-fpm')}\n"
        f"Level 6 is saturated by {several(capacities)} pages of 120 KB a second, measured "
        f"before each round; the load is {describe_load(run, spans)}. A request "
        "has failed after "
        f"{TIMEOUT * seconds:g} s. The controller's interval is {interval_of(seconds)}.",
        verdict.unless_busy(judge(rows), rows), {"medians": f"{run.name}-summary"},
        {"demand met, latency and level over time (last round)": run.name})
