"""Statistics of few, noisy figures: medians and ratios, never means."""

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


def spread(values):
    """(largest − smallest) / median: how far the rounds disagree."""
    values = list(values)
    middle = median(values)
    return (max(values) - min(values)) / middle if values and middle else math.nan


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
