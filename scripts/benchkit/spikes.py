"""The spike of the fourth source, section 5.2. Times are shares of the attack's length."""

import math

from benchkit import arrivals, plot, rounds, site, stats
from benchkit.findings import Finding, exact, number
from benchkit.results import medians

ATTACK = 1.69  # the source's spike, relative to its normal demand
NEAR = 0.85  # of the load that saturates level 6: the normal load
CEILING = 6
TIMEOUT = 0.1  # after which a client leaves: 30 s of the source's five minutes
INTERVAL = 0.1  # seconds: the controller's shortest
PERCENTILES = 50, 95, 99
BINS = 40  # of the plot


def phases(length, after):
    return {"before": (0, length), "attack": (length, 2 * length),
            "after": (2 * length, (2 + after) * length)}


def rows_of(run, seen, levels, spans):
    """A row for each phase; `levels` are (seconds since the epoch, level). Without an end of the
    queue there is no time."""
    rows = []
    for phase, (start, end) in spans.items():
        of = [level for at, level in levels if start <= at - seen.began < end]
        failed, arrived = seen.failures(start, end), len(seen.between(start, end))
        row = {"phase": phase, "seconds": round(end - start, 2), "arrivals": arrived,
               "failed": failed, "failed_share": round(stats.ratio(failed, arrived), 4),
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
    return stats.ratio(failed, asked), f"{failed:,} of {asked:,}"


def wait(rows, name):
    """A server's median latency in words."""
    share, _ = lost(rows, name)
    if share >= 0.5:
        return f"{name} timed out"
    most = max((row["p50_ms"] for row in rows if row["variant"] == name), default=math.nan)
    return f"{name} has no steady state" if math.isnan(most) else f"at most {number(most)} ms"


def beside(key, rows, name, other, there):
    """The Findings of two servers in the attack, in words: a ratio of nothing, or of a latency to
    the clients' patience, would mean nothing."""
    (share, words), (_, others) = lost(rows, name), lost(rows, other)
    return [Finding(key, f"requests of the attack that are lost, {name} beside {other}",
                    exact(share), there, said=f"{words}; {other} {others}"),
            Finding(f"{key}-latency", f"median latency in the attack, {name} beside {other}",
                    said=f"{wait(rows, name)}, where {wait(rows, other)}")]


def points_of(seen, levels, total):
    return [{"at_s": round(start, 3),
             "responses_per_s": round(len(seen.answered(start, end)) / (end - start), 1),
             "p50_ms": seen.percentile_ms(50, start, end),
             "level": stats.mean([level for at, level in levels
                                  if start <= at - seen.began < end], 2)}
            for start, end in arrivals.bins(total, BINS)]


summaries = medians(("variant", "phase"), (
    "failed_share", "p50_ms", "p95_ms", "level", "cpu_share", "sent_share", "load_cpu_share"))


def save(run, rows, over_time, colours):
    """Saves the rows, and draws {server: points_of()}; returns the sentences of rounds.sent()."""
    run.save_table("", rows)

    def curves(key, step=False):
        return [plot.Curve([row["at_s"] for row in over_time[name]],
                           [row[key] for row in over_time[name]], name, colour, step=step)
                for name, colour in colours.items()]

    plot.panels(run, "", "demand met, latency and level over time (last round)", "seconds", [
        plot.Panel("arrivals answered, per second", curves("responses_per_s")),
        plot.Panel("median until the answer, or the client left, ms", curves("p50_ms"), log=True),
        plot.Panel("gzip level", curves("level", step=True),
                   limits={"bottom": 0, "top": CEILING + 0.5})])
    return rounds.sent(rows)[1]
