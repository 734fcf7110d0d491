"""Statistics of few, noisy figures: medians, ratios and how far a ratio can be trusted.

numpy and scipy are imported late, so that `bench --help` needs no package.
"""

import functools
import math
import statistics


def median(values):
    """The median of those that are figures; NaN of none."""
    values = [value for value in values if not math.isnan(value)]
    return statistics.median(values) if values else math.nan


def mean(values, digits):
    """The arithmetic mean, rounded; NaN of nothing."""
    return round(ratio(sum(values), len(values)), digits)


def percentile(values, percent):
    """The smallest value that `percent` of the values do not exceed (nearest rank); NaN of none."""
    import numpy

    values = list(values)
    return float(numpy.percentile(values, percent, method="inverted_cdf")) if values else math.nan


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


def intervals(rows, keys, figures):
    """The same with the median's 95 % interval over the rows, as interval() has it:
    {key tuple: {figure: (median, low, high)}}.
    """
    return {key: {figure: (median(row[figure] for row in members),
                           *interval(row[figure] for row in members)[1:]) for figure in figures}
            for key, members in group(rows, *keys).items()}


def scaled(figure, factor, shift=0.0):
    """A (middle, low, high) times a factor, and so much more."""
    return tuple(one * factor + shift for one in figure)


def geometric_mean(values):
    """The geometric mean of positive values, the mean that fits ratios; NaN of none."""
    values = list(values)
    if not values or any(not value > 0 for value in values):
        return math.nan
    return statistics.geometric_mean(values)


def student(count):
    """Half of a 95 % interval of so many values' mean, to its standard error."""
    import scipy.stats

    return float(scipy.stats.t.ppf(0.975, count - 1))


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
    half = student(len(logs)) * statistics.stdev(logs) / math.sqrt(len(logs))
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
    import numpy

    ways = [1.0]  # in how many ways some of the ranks so far have the sum that is the place
    for rank in range(1, count + 1):
        ways = numpy.convolve(ways, [1.0, *[0.0] * (rank - 1), 1.0])
    return int(numpy.searchsorted(numpy.cumsum(ways), 0.025 * 2.0 ** count, side="right")) - 1


DRAWS = 400


def drawn_anew(rounds, statistic):
    """(middle, low, high) of `statistic(rounds)`, a positive figure that all rounds give together.

    How far it can be trusted is seen from drawing as many rounds out of them, some more than once,
    again and again (the bootstrap).
    """
    import numpy

    rounds = list(rounds)
    if not rounds:
        return math.nan, 0.0, math.inf
    middle = statistic(rounds)
    source = numpy.random.default_rng(1)
    drawn = [statistic([rounds[place] for place in source.integers(len(rounds), size=len(rounds))])
             for _ in range(DRAWS)]
    if len(rounds) < 2 or any(not value > 0 for value in (middle, *drawn)):
        return middle, 0.0, math.inf
    # What is drawn from a few rounds is spread less than they are.
    spread = numpy.std(numpy.log(drawn), ddof=1) * math.sqrt(len(rounds) / (len(rounds) - 1))
    reach = math.exp(student(len(rounds)) * spread)
    return middle, middle / reach, middle * reach


def correlation(left, right):
    """Spearman's rank correlation; NaN of fewer than three pairs, or where one side is constant."""
    import scipy.stats

    if len(left) < 3 or len(set(left)) == 1 or len(set(right)) == 1:
        return math.nan
    return float(scipy.stats.spearmanr(left, right).correlation)
