"""Statistics of few, noisy figures. Packages are imported late: `bench --help` needs none."""

import functools
import math
import statistics


def median(values):
    """The median of the values that are not NaN; NaN of none."""
    values = [value for value in values if not math.isnan(value)]
    return statistics.median(values) if values else math.nan


def mean(values, digits):
    """The arithmetic mean, rounded; NaN of none."""
    return round(ratio(sum(values), len(values)), digits)


def percentile(values, percent):
    """The smallest value that `percent` of the values do not exceed (nearest rank); NaN of none."""
    import numpy

    values = list(values)
    return float(numpy.percentile(values, percent, method="inverted_cdf")) if values else math.nan


BEYOND = 20  # values that must be beyond a percentile


def tail(values, percent):
    """percentile(); NaN where fewer than BEYOND values are beyond one that is no median."""
    if percent > 50 and len(values) * (100 - percent) < 100 * BEYOND:
        return math.nan
    return percentile(values, percent)


def ratio(numerator, denominator):
    """The quotient; NaN if the denominator is 0."""
    return numerator / denominator if denominator else math.nan


def group(rows, *keys):
    groups = {}
    for row in rows:
        groups.setdefault(tuple(row[key] for key in keys), []).append(row)
    return groups


def medians(rows, keys, figures):
    """For every group of `keys`, the median of each figure: {key tuple: {figure: median}}."""
    return {key: {figure: median(row[figure] for row in members) for figure in figures}
            for key, members in group(rows, *keys).items()}


def median_rows(rows, keys, figures):
    """The same as the rows of a table."""
    return [{**dict(zip(keys, key)), **middle}
            for key, middle in medians(rows, keys, figures).items()]


def intervals(rows, keys, figures):
    """The same as (median, low, high), with the 95 % interval over the rows."""
    return {key: {figure: (median(row[figure] for row in members),
                           *interval(row[figure] for row in members)[1:]) for figure in figures}
            for key, members in group(rows, *keys).items()}


def geometric_mean(values):
    """The geometric mean of positive values, which suits ratios; NaN of none."""
    values = list(values)
    if not values or any(not value > 0 for value in values):
        return math.nan
    return statistics.geometric_mean(values)


def student(count):
    """Half of a 95 % interval of the mean of `count` values, in standard errors."""
    import scipy.stats

    return float(scipy.stats.t.ppf(0.975, count - 1))


LEAST = 5  # rounds of an interval; ranks alone give one of 95 % for one more


def interval(ratios):
    """(middle, low, high) of ratios, one for each round: their middle and its 95 % interval.

    Ratios spread evenly on a logarithmic scale: half and twice are equally far. With five rounds,
    the middle is the geometric mean and the interval Student's. With more, ranks are used (Hodges
    and Lehmann; Wilcoxon), so that a round on a busy machine counts as one round, however far off
    it is. Fewer show no spread, so their interval is unbounded; so is that of ratios with a NaN.
    """
    ratios = list(ratios)
    middle = geometric_mean(ratios)
    if len(ratios) < LEAST or math.isnan(middle):
        return middle, 0.0, math.inf
    logs = [math.log(ratio) for ratio in ratios]
    if len(logs) == LEAST:
        half = student(len(logs)) * statistics.stdev(logs) / math.sqrt(len(logs))
        return middle, middle / math.exp(half), middle * math.exp(half)
    means = sorted((one + other) / 2 for place, one in enumerate(logs) for other in logs[place:])
    outside = pairs_outside(len(logs))
    return tuple(map(math.exp, (statistics.median(means), means[outside], means[-1 - outside])))


@functools.lru_cache(maxsize=None)
def pairs_outside(count):
    """How many means of pairs lie below a 95 % interval, and above: the largest sum of Wilcoxon's
    signed ranks that at most 2.5 % of all signs do not exceed."""
    import numpy

    ways = [1.0]  # how many ways some of the ranks so far have this index as their sum
    for rank in range(1, count + 1):
        ways = numpy.convolve(ways, [1.0, *[0.0] * (rank - 1), 1.0])
    return int(numpy.searchsorted(numpy.cumsum(ways), 0.025 * 2.0 ** count, side="right")) - 1


DRAWS = 400


def drawn_anew(rounds, statistic):
    """(middle, low, high) of `statistic(rounds)`, a positive figure of all rounds together; the
    interval by drawing as many out of them repeatedly, with repetition (the bootstrap)."""
    import numpy

    rounds = list(rounds)
    if not rounds:
        return math.nan, 0.0, math.inf
    middle = statistic(rounds)
    source = numpy.random.default_rng(1)
    drawn = [statistic([rounds[place] for place in source.integers(len(rounds), size=len(rounds))])
             for _ in range(DRAWS)]
    if len(rounds) < LEAST or any(not value > 0 for value in (middle, *drawn)):
        return middle, 0.0, math.inf
    # Samples of a few rounds spread less than the rounds do.
    spread = numpy.std(numpy.log(drawn), ddof=1) * math.sqrt(len(rounds) / (len(rounds) - 1))
    reach = math.exp(student(len(rounds)) * spread)
    return middle, middle / reach, middle * reach


def correlation(left, right):
    """Spearman's rank correlation; NaN of fewer than three pairs, or if one side is constant."""
    import scipy.stats

    if len(left) < 3 or len(set(left)) == 1 or len(set(right)) == 1:
        return math.nan
    return float(scipy.stats.spearmanr(left, right).correlation)
