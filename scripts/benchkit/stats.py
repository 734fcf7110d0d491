"""Statistics of few, noisy figures: medians, ratios and how far a ratio can be trusted."""

import math
import statistics


def median(values):
    """The median; NaN of nothing."""
    values = list(values)
    return statistics.median(values) if values else math.nan


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


def interval(ratios):
    """(middle, low, high): the geometric mean of ratios, one a round, and its 95 % interval.

    Ratios are spread evenly about their middle on a logarithmic scale: half and twice are as far.
    One round tells nothing of the spread, and its interval is everything; so is that of ratios
    of which one is none.
    """
    ratios = list(ratios)
    middle = geometric_mean(ratios)
    if len(ratios) < 2 or math.isnan(middle):
        return middle, 0.0, math.inf
    logs = [math.log(ratio) for ratio in ratios]
    half = student(len(logs) - 1) * statistics.stdev(logs) / math.sqrt(len(logs))
    return middle, middle / math.exp(half), middle * math.exp(half)


def correlation(left, right):
    """Spearman's rank correlation; NaN of fewer than three pairs, or where one side is constant."""
    if len(left) < 3 or len(set(left)) == 1 or len(set(right)) == 1:
        return math.nan
    return statistics.correlation(ranks(left), ranks(right))


def ranks(values):
    """The place of each value among all, equal ones sharing theirs."""
    ordered = sorted(values)
    return [ordered.index(value) + (ordered.count(value) - 1) / 2 for value in values]
