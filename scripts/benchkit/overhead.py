"""The cost of compression: CPU per response beyond that without it. For a small body this is a
small difference, and a machine's speed may drift by more within a second; so figures are first
corrected for the speed that neighbours in time show, then the rounds are pooled, and then
subtracted."""

import statistics

from benchkit import stats
from benchkit.findings import Finding, matches, number

FIGURE = "cpu_usec_per_response"
STEADY = "steady_usec"  # the column of FIGURE at the machine's median speed
NEIGHBOURS = 4  # measurements before and after: about a second's

# Relative to the response without compression: a smaller difference cannot be told from none, and
# counts as this.
LEAST = 0.02


def steady(rows, keys):
    """The rows, in the order of their measurement, each with STEADY: a leg's figure relative to its
    median over the rounds shows the machine's speed, and the median of that over the neighbouring
    measurements divides it. `keys` are the columns that name a leg."""
    usual = {key: figures[FIGURE] for key, figures in stats.medians(rows, keys, [FIGURE]).items()}
    slowness = [stats.ratio(row[FIGURE], usual[tuple(row[key] for key in keys)]) for row in rows]
    found = []
    for place, row in enumerate(rows):
        near = (slowness[max(0, place - NEIGHBOURS):place]
                + slowness[place + 1:place + 1 + NEIGHBOURS])
        found.append({**row, STEADY: round(row[FIGURE] / (stats.median(near) if near else 1), 2)})
    return found


def finding(key, text, rows, over, under, base, each=(), **more):
    """The Finding of two legs' cost beyond `base`, one relative to the other; `base` is one, or a
    pair with one for each side. With `each`, as per_round(). If `over` costs no more than LEAST,
    the figure is a limit."""
    legs = (over, under, *(base if isinstance(base, tuple) else (base, base)))
    cells = [table for members in (stats.group(rows, *each).values() if each else [rows])
             if (table := by_round(members, legs))]
    rounds = sorted(set.intersection(*map(set, cells))) if cells else []
    figure = stats.drawn_anew(rounds, lambda drawn: pooled(cells, drawn))
    costs = [middles(cell, rounds) for cell in cells]
    at_least = bool(cells) and all(over - first <= LEAST * first for over, _, first, _ in costs)
    if at_least and len(costs) == 1:  # a ratio of nothing would only show LEAST
        _, other, first, base = costs[0]
        more["said"] = (f"none seen: below {number(LEAST * first)} µs, where the other takes "
                        f"{number(other - base)} µs")
    return Finding(key, text, figure, limit="<" if at_least else "", **more)


def by_round(rows, legs):
    """{round: the figures of the legs} of the rounds that have all of them."""
    figures = {}
    for place, leg in enumerate(legs):
        for row in rows:
            if matches(row, leg):
                figures.setdefault(row["round"], {})[place] = row[STEADY]
    return {number: found for number, found in figures.items() if len(found) == len(legs)}


def middles(cell, rounds):
    return [statistics.median(cell[number][place] for number in rounds) for place in range(4)]


def pooled(cells, rounds):
    """The geometric mean over the cells of the ratio of their pooled differences."""
    ratios = []
    for cell in cells:
        over, under, base, other = middles(cell, rounds)
        ratios.append(max(over - base, LEAST * base) / max(under - other, LEAST * other))
    return stats.geometric_mean(ratios)
