"""Statistics of few, noisy figures: medians, ratios and how far a ratio can be trusted."""

import functools
import math
import random
import statistics


def median(values):
    """The median; NaN of nothing."""
    values = list(values)
    return statistics.median(values) if values else math.nan


def mean(values, digits):
    """The arithmetic mean, rounded; NaN of nothing."""
    return round(ratio(sum(values), len(values)), digits)


def percentile(values, percent):
    """The smallest value that `percent` of the values do not exceed (nearest rank); NaN of none."""
    ordered = sorted(values)
    if not ordered:
        return math.nan
    rank = max(1, math.ceil(percent / 100 * len(ordered)))
    return ordered[rank - 1]


def ratio(numerator, denominator):
    """The quotient; NaN where there is none."""
    return numerator / denominator if denominator else math.nan


def group(rows, *keys):
    """Rows by the tuple of their values at `keys`, in order of first appearance."""
    groups = {}
    for row in rows:
        groups.setdefault(tuple(row[key] for key in keys), []).append(row)
    return groups


def medians(rows, keys, figures):
    """For every group of `keys`, the median of each figure: {key tuple: {figure: median}}."""
    return {key: {figure: median(row[figure] for row in members) for figure in figures}
            for key, members in group(rows, *keys).items()}


def geometric_mean(values):
    """The geometric mean of positive values, the mean that fits ratios; NaN of none."""
    values = list(values)
    if not values or any(not value > 0 for value in values):
        return math.nan
    return math.exp(sum(map(math.log, values)) / len(values))


# Student's t, two-sided 95 %, for 1, 2, 3 … degrees of freedom.
STUDENT_95 = (12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179,
              2.160, 2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064,
              2.060, 2.056, 2.052, 2.048, 2.045, 2.042)
NORMAL_95 = 1.960


def student(freedom):
    return STUDENT_95[freedom - 1] if freedom <= len(STUDENT_95) else NORMAL_95


# The least count of rounds whose ranks alone can give a 95 % interval.
LEAST_RANKED = 6


def interval(ratios):
    """(middle, low, high) of ratios, one a round: their middle and its 95 % interval.

    Ratios are spread evenly about their middle on a logarithmic scale: half and twice are as far.
    With few rounds, the middle is the geometric mean and the interval Student's. With six or more
    they are by rank (Hodges and Lehmann; Wilcoxon): a round in which the machine was busy with
    something else then counts as one round, however far off it is. One round shows nothing of the
    spread, and its interval is everything; so is that of ratios of which one is none.
    """
    ratios = list(ratios)
    middle = geometric_mean(ratios)
    if len(ratios) < 2 or math.isnan(middle):
        return middle, 0.0, math.inf
    logs = [math.log(ratio) for ratio in ratios]
    if len(logs) >= LEAST_RANKED:
        return tuple(map(math.exp, ranked(logs)))
    half = student(len(logs) - 1) * statistics.stdev(logs) / math.sqrt(len(logs))
    return middle, middle / math.exp(half), middle * math.exp(half)


def ranked(values):
    """(middle, low, high) of values, at least six, by the means of all pairs of them."""
    means = sorted((one + other) / 2 for place, one in enumerate(values)
                   for other in values[place:])
    outside = pairs_outside(len(values))
    return statistics.median(means), means[outside], means[-1 - outside]


@functools.lru_cache(maxsize=None)
def pairs_outside(count):
    """How many of the least means of pairs are below a 95 % interval, and as many above it.

    It is the largest rank sum of Wilcoxon's signed ranks that no more than 2.5 % of all signs
    stay at or below.
    """
    ways = [1]  # in how many ways some of the ranks so far have the sum that is the place
    for rank in range(1, count + 1):
        longer = ways + [0] * rank
        for place, number in enumerate(ways):
            longer[place + rank] += number
        ways = longer
    below, total = ways[0], 0
    while below + ways[total + 1] <= 0.025 * 2 ** count:
        total += 1
        below += ways[total]
    return total


DRAWS = 400


def drawn_anew(rounds, statistic):
    """(middle, low, high) of `statistic(rounds)`, a positive figure that all rounds give together.

    How far it can be trusted is seen from drawing as many rounds out of them, some more than once,
    again and again (the bootstrap).
    """
    rounds = list(rounds)
    if not rounds:
        return math.nan, 0.0, math.inf
    middle = statistic(rounds)
    source = random.Random(1)
    drawn = [statistic(source.choices(rounds, k=len(rounds))) for _ in range(DRAWS)]
    if len(rounds) < 2 or any(not value > 0 for value in (middle, *drawn)):
        return middle, 0.0, math.inf
    # What is drawn from a few rounds is spread less than they are.
    spread = statistics.stdev(map(math.log, drawn)) * math.sqrt(len(rounds) / (len(rounds) - 1))
    reach = math.exp(student(len(rounds) - 1) * spread)
    return middle, middle / reach, middle * reach


def correlation(left, right):
    """Spearman's rank correlation; NaN of fewer than three pairs, or where one side is constant."""
    if len(left) < 3 or len(set(left)) == 1 or len(set(right)) == 1:
        return math.nan
    return statistics.correlation(ranks(left), ranks(right))


def ranks(values):
    """The place of each value among all, equal ones sharing theirs."""
    ordered = sorted(values)
    return [ordered.index(value) + (ordered.count(value) - 1) / 2 for value in values]
