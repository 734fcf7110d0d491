"""A day, put together of steady loads.

Within an hour demand hardly changes, and the controller of a real server has settled some thousand
intervals ago. So an hour is the steady load that its demand makes, and what a leg takes then lies
between what it took at the measured loads on both sides. The day's peak is the highest of them.
"""

from benchkit import arrivals, stats
from benchkit.frontier import cells, legs
from benchkit.frontier.passes import column

HOURS = range(24)
MBIT = 20


def loads_of(peak):
    """The load of each hour."""
    return [peak * arrivals.DAY_HOURS[hour] for hour in HOURS]


def of_day(points, loads):
    """A figure in each hour, of {load: figure}: on a line between measured loads, and below the
    lowest as there.
    """
    curve = sorted(points.items())
    return [arrivals.value(curve, load) for load in loads]


def table(rows, clients):
    """Rows: mean total time and bytes of every leg in each hour, by medians over the rounds."""
    found = []
    for (kind, leg), members in stats.group(rows, "pages", "leg").items():
        if clients not in members[0]["clients"].split():
            continue
        loads = sorted({row["load"] for row in rows if row["pages"] == kind})
        if {row["load"] for row in members} != set(loads):
            continue  # it is overrun by some
        hours = loads_of(loads[-1])
        middle = stats.medians(members, ("load",), (column("mean", MBIT), "bytes"))
        figures = {name: of_day({load: one[name] for (load,), one in middle.items()}, hours)
                   for name in (column("mean", MBIT), "bytes")}
        found += [{"pages": kind, "leg": leg, "family": members[0]["family"], "hour": hour,
                   "load": round(hours[hour], 3),
                   **{name: round(figure[hour], 3) for name, figure in figures.items()}}
                  for hour in HOURS]
    return found


def whole_days(rows):
    """Rows as cells.compare() takes them, their load the word "day": the mean of all visits of a
    day, for each leg and round. A leg that was overrun by some load has none.
    """
    found = []
    for (kind, leg, number), members in stats.group(rows, "pages", "leg", "round").items():
        loads = sorted({row["load"] for row in rows if row["pages"] == kind})
        if len(members) < len(loads) or len(loads) < 2:
            continue
        hours = loads_of(loads[-1])
        figures = {name: weighted(of_day({row["load"]: row[name] for row in members}, hours), hours)
                   for name in ("bytes", *(column("mean", rate) for rate in cells.RATES))}
        found.append({"pages": kind, "leg": leg, "round": number, "load": "day",
                      "family": members[0]["family"], "clients": members[0]["clients"], **figures})
    return found


def weighted(figures, weights):
    """The mean of an hour's figures over visits, of which each hour has its demand."""
    return round(sum(figure * weight for figure, weight in zip(figures, weights))
                 / sum(weights), 3)


def best_pinned(hours):
    """(the pinned leg with the least mean time over the day, and {hour: the one with the least})
    of a table's rows of one kind of pages; for the plot, which compares nothing.
    """
    pinned = [row for row in hours if row["family"] == legs.PINNED]
    if not pinned:
        return None, {}
    name = column("mean", MBIT)
    days = {leg: weighted([row[name] for row in some], [row["load"] for row in some])
            for (leg,), some in stats.group(pinned, "leg").items()}
    return min(days, key=days.get), {
        hour: min(some, key=lambda row: row[name]) for (hour,), some in
        stats.group(pinned, "hour").items()}
