"""A steady load: how often each mode moves, and how far.

Requests come at equal distances; pages are of all lengths, and a sample has fifty ticks: each
interval sees a load some points off. The load is once one where a level fits between the
thresholds, and once one between two levels that are so far apart that neither does.
"""

import statistics

from benchkit import controller, rounds, stats, verdict

LEVELS = range(1, 10)
MODES = ("step", "mix")
INTERVAL = controller.DEFAULT_INTERVAL  # what a minute of changes is meant of
MIDDLE = 0.63  # of the CPU: about the middle of the band
FITTING = 5  # the level that fits: far from either end
SETTLED = 0.25  # of the time, from which on it counts
NEAR, FAR = 1.1, 4.0  # times the CPU, that two levels are taken to be apart at least and at most
THRESHOLDS = "ElasticCPU {low:.0f} {high:.0f}\n"
FITS, BETWEEN = "a level fits", "no level fits"


def capacities(site, seconds):
    """{level: pages a second that a server at work has CPU for}."""
    found = {}
    for level in LEVELS:
        httpd = site.serve(controller.pinned("gzip", level))
        found[level] = site.working_capacity(httpd, seconds)
        httpd.stop()
    return found


def leap(found):
    """(how many times the next level's CPU, the level) where two levels are furthest apart."""
    return max((found[level] / found[level + 1], level) for level in found if level + 1 in found)


def loads(found):
    """{name: (pages a second, the thresholds in percent)}."""
    apart, level = leap(found)
    low, high = (100 * bound for bound in (controller.LOW, controller.HIGH))
    # Of two levels whose loads are about the middle, half as far on either side of it.
    near = min(max(apart, NEAR), FAR) ** 0.25
    return {FITS: (MIDDLE * found[FITTING], (low, high)),
            BETWEEN: (MIDDLE * (found[level] * found[level + 1]) ** 0.5,
                      (100 * MIDDLE / near, 100 * MIDDLE * near))}


def measure(run, site, seconds):
    """Rows: what each mode did with each load."""
    wanted = loads(capacities(site, min(1, seconds / 4)))
    rows = []
    legs = [(load, mode) for load in wanted for mode in MODES]
    for number, (load, mode) in rounds.interleaved(run, legs):
        rate, (low, high) = wanted[load]
        httpd = site.serve(
            controller.settings(mode, THRESHOLDS.format(low=low, high=high), INTERVAL))
        seen = site.replay(httpd, [count / rate for count in range(max(1, int(rate * seconds)))])
        httpd.stop()
        updates = controller.during(controller.updates_of(httpd, seen.began), SETTLED * seconds,
                                    seconds)
        rows.append({"load": load, "mode": mode, "round": number, "thresholds":
                     f"{low:.0f} to {high:.0f}", "pages_per_s": round(rate, 1),
                     **seen.conditions(), **figures(updates)})
    return rows


def figures(updates):
    """Of a steady load's updates: how much the load wavered, and what the mode made of it."""
    positions = [one.position for one in updates]
    seen = [one.load for one in updates]
    changes = sum(one != other for one, other in zip(positions, positions[1:]))
    return {"counted_s": round(len(updates) * INTERVAL, 1), "changes": changes,
            "load_mean": stats.mean(seen, 3),
            "load_deviation": round(statistics.pstdev(seen), 3) if seen else "",
            "position_mean": stats.mean(positions, 2),
            "position_variance": round(statistics.pvariance(positions), 4) if positions else ""}


def judge(rows):
    finding = "mix: variance of the position to step's, where no level fits"
    rows = [row for row in rows if row["load"] == BETWEEN and row["position_variance"] != ""]
    ratios = []
    for members in stats.group(rows, "round").values():
        of = {row["mode"]: row["position_variance"] for row in members}
        if {"mix", "step"} <= of.keys():
            if not of["step"] > 0:
                return [verdict.impossible(finding, "less", "step did not move")]
            ratios.append(stats.ratio(of["mix"], of["step"]))
    return [verdict.every_round(finding, ratios, "less", below=1, origin=verdict.SOURCE)]
