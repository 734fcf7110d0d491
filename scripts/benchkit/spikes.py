"""The spike of the fourth source, section 5.2: a load near capacity, and 69 % more for a while.

Times are shares of the attack's length, which stands for the source's five minutes.
"""

import math

from benchkit import arrivals, plot, rounds, site, stats

ATTACK = 1.69  # the source's spike, relative to its normal demand
NEAR = 0.85  # of the load that saturates level 6: the normal load
CEILING = 6
BEFORE = 1.0  # relative to the attack's length
CALM = 0.25  # so long at the end, of the attack's length, a recovered server fails no request
TIMEOUT = 0.1  # after which a client leaves: 30 s of the source's five minutes
INTERVAL = 0.1  # seconds: the controller's shortest
PERCENTILES = 50, 95, 99
BINS = 40  # of the plot


def phases(length, after):
    """{name: (start, end)} in seconds."""
    rises, falls = BEFORE * length, (BEFORE + 1) * length
    return {"before": (0, rises), "attack": (rises, falls),
            "after": (falls, falls + after * length)}


def rows_of(run, seen, levels, spans):
    """A row for each phase of a replay; `levels` are (seconds since the epoch, level). A phase
    whose queue does not end has no time."""
    rows = []
    for phase, (start, end) in spans.items():
        of = [level for at, level in levels if start <= at - seen.began < end]
        row = {"phase": phase, "seconds": round(end - start, 2),
               "arrivals": len(seen.between(start, end)), "failed": seen.failures(start, end),
               "failed_share": round(seen.failed_share(start, end), 4),
               "level": stats.mean(of, 2), "level_least": min(of, default=math.nan),
               "cpu_share": seen.cpu_share(start, end), **site.conditions(run, seen)}
        row["steady"] = rounds.is_steady(run, row)
        rows.append(row | {f"p{percent}_ms": seen.percentile_ms(percent, start, end)
                           if row["steady"] else math.nan for percent in PERCENTILES})
    return rows


def lost(rows, name):
    """(the share of the requests of these rows that a server lost, the same in words)."""
    of = [row for row in rows if row["variant"] == name]
    failed, asked = (sum(row[key] for row in of) for key in ("failed", "arrivals"))
    return stats.ratio(failed, asked), f"{failed or 'none'} of {asked:,}"


def points_of(seen, levels, total):
    """The same over time, for the plot."""
    return [{"at_s": round(start, 3),
             "responses_per_s": round(len(seen.answered(start, end)) / (end - start), 1),
             "p50_ms": seen.percentile_ms(50, start, end),
             "level": stats.mean([level for at, level in levels
                                  if start <= at - seen.began < end], 2)}
            for start, end in arrivals.bins(total, BINS)]


def recovery(seen, spans):
    """Seconds from the attack's end to the last request that still failed; infinite if they fail
    until the end."""
    (began, ended), (start, end) = spans["attack"], spans["after"]
    last = max((one.at for one in seen.between(start, end) if one.lost), default=start)
    return math.inf if last > end - CALM * (ended - began) else last - start


def draw(run, over_time, colours):
    """`over_time` is {server: points_of()}."""
    def curves(key, step=False):
        return [plot.Curve([row["at_s"] for row in over_time[name]],
                           [row[key] for row in over_time[name]], name, colour, step=step)
                for name, colour in colours.items()]

    plot.panels(run, "", "demand met, latency and level over time (last round)", "seconds", [
        plot.Panel("arrivals answered, per second", curves("responses_per_s")),
        plot.Panel("median until the answer, or the client left, ms", curves("p50_ms"), log=True),
        plot.Panel("gzip level", curves("level", step=True),
                   limits={"bottom": 0, "top": CEILING + 0.5})])
