"""What compression costs: a server's CPU per response beyond that of the same without it.

For a small body it is the small difference of two figures, and a machine's speed may drift by more
than that within a second. So each figure is first set to the speed that its neighbours in time
show, then the rounds are pooled, and only then is subtracted.
"""

import statistics

from benchkit import stats, verdict

FIGURE = "cpu_usec_per_response"
STEADY = "steady_usec"  # the column of FIGURE at the machine's median speed
NEIGHBOURS = 4  # before a measurement, and after: about a second's

# Of what the response costs without compression: a smaller difference cannot be distinguished from
# none, and counts as this.
LEAST = 0.02


def steady(rows, keys):
    """The rows, which are in the order of their measurement, each with STEADY.

    `keys` are the columns that name a leg. A leg's figure to its own median over the rounds shows
    how slow the machine was; by the median of that over a measurement's neighbours it is divided.
    """
    usual = {key: figures[FIGURE] for key, figures in stats.medians(rows, keys, [FIGURE]).items()}
    slowness = [stats.ratio(row[FIGURE], usual[tuple(row[key] for key in keys)]) for row in rows]
    found = []
    for place, row in enumerate(rows):
        near = (slowness[max(0, place - NEIGHBOURS):place]
                + slowness[place + 1:place + 1 + NEIGHBOURS])
        found.append({**row, STEADY: round(row[FIGURE] / (stats.median(near) if near else 1), 2)})
    return found


def excess(cost, base):
    """What is beyond `base`, or the least that counts."""
    return max(cost - base, LEAST * base)


def is_least(rows, over, base):
    """Whether what `over` costs beyond `base` cannot be told from nothing."""
    middle = [statistics.median(row[STEADY] for row in rows if verdict.matches(row, leg))
              for leg in (over, base)]
    return middle[0] - middle[1] <= LEAST * middle[1]


def ratio(rows, over, under, base, each=()):
    """((middle, low, high), rounds): of two legs' cost beyond `base`, the one to the other's.

    Legs are {column: value}. `base` is what both are beyond, or a pair: of the one, of the other.
    With `each`, the names of columns such as "size", the ratio is the geometric mean over their
    values. Rounds that lack a side are left out. Without any, the middle is NaN.
    """
    bases = base if isinstance(base, tuple) else (base, base)
    cells = [table for members in (stats.group(rows, *each).values() if each else [rows])
             if (table := by_round(members, (over, under, *bases)))]
    rounds = sorted(set.intersection(*map(set, cells))) if cells else []
    return stats.drawn_anew(rounds, lambda drawn: pooled(cells, drawn)), len(rounds)


def by_round(rows, legs):
    """{round: the figures of the legs} of those rounds that have all of them."""
    figures = {}
    for place, leg in enumerate(legs):
        for row in rows:
            if verdict.matches(row, leg):
                figures.setdefault(row["round"], {})[place] = row[STEADY]
    return {number: found for number, found in figures.items() if len(found) == len(legs)}


def pooled(cells, rounds):
    """The geometric mean over the cells of the ratio of their pooled differences."""
    ratios = []
    for cell in cells:
        over, under, *bases = (statistics.median(cell[number][place] for number in rounds)
                               for place in range(4))
        ratios.append(excess(over, bases[0]) / excess(under, bases[1]))
    return stats.geometric_mean(ratios)
