"""When requests arrive: at random about a rate that changes, the same times for every server.

Demand is a curve: points of (share of the duration, share of the peak), joined by straight lines.
"""

import bisect
import math
import random

STEADY = ((0, 1), (1, 1))


def value(curve, share):
    """The curve's height at a share of the duration."""
    place = bisect.bisect_right(curve, (share, math.inf))
    if place == 0:
        return curve[0][1]
    if place == len(curve):
        return curve[-1][1]
    (left, low), (right, high) = curve[place - 1:place + 1]
    return low + (high - low) * (share - left) / (right - left) if right > left else high


def bins(total, count):
    """(start, end) of so many parts of a duration."""
    return [(number * total / count, (number + 1) * total / count) for number in range(count)]


def spike(before, attack, after, height):
    """A curve of 1, then `height`, then 1, for so many seconds each."""
    total = before + attack + after
    start, end = before / total, (before + attack) / total
    return ((0, 1), (start, 1), (start, height), (end, height), (end, 1), (1, 1))


def poisson(curve, peak, seconds, seed):
    """Times in seconds of independent arrivals, `peak` times the curve a second."""
    highest = max(demand for _, demand in curve)
    source = random.Random(seed)
    times, now = [], 0.0
    while True:
        now += source.expovariate(peak * highest)
        if now >= seconds:
            return times
        # Of arrivals at the highest rate, as many are kept as the present rate has.
        if source.random() * highest < value(curve, now / seconds):
            times.append(now)


def exactly(count, seconds, seed):
    """So many times, as independent arrivals have them that turn out to be so many."""
    source = random.Random(seed)
    return sorted(source.uniform(0, seconds) for _ in range(count))


def steady(rate, seconds, seed):
    """Times of arrivals at a rate that stays; one at least."""
    return poisson(STEADY, rate, seconds, seed) or [0.0]
