"""Random arrival times. Demand is a curve of points: shares of the duration, and of the peak."""

import bisect
import math
import random

# The mean load of a mobile operator's cells over a day: M. Laner et al., "Users in Cells: A Data
# Traffic Analysis", WCNC 2012. As in the source's figure 7a, demand is least at 5:00 and most at
# 20:00. Relative to the peak at each full hour; the last value is the next midnight's.
DAY_HOURS = (0.54, 0.36, 0.22, 0.15, 0.11, 0.08, 0.13, 0.20, 0.33, 0.49, 0.62, 0.70,
             0.74, 0.76, 0.74, 0.74, 0.74, 0.84, 0.88, 0.91, 1.00, 0.93, 0.85, 0.79, 0.54)
DAY = tuple((hour / 24, demand) for hour, demand in enumerate(DAY_HOURS))
DAY_FROM = "of a mobile operator's cells (M. Laner et al., WCNC 2012)"
STEADY = ((0, 1), (1, 1))


def value(curve, share):
    place = bisect.bisect_right(curve, (share, math.inf))
    if place == 0:
        return curve[0][1]
    if place == len(curve):
        return curve[-1][1]
    (left, low), (right, high) = curve[place - 1:place + 1]
    return low + (high - low) * (share - left) / (right - left) if right > left else high


def bins(total, count):
    return [(number * total / count, (number + 1) * total / count) for number in range(count)]


def spike(before, attack, after, height):
    total = before + attack + after
    start, end = before / total, (before + attack) / total
    return ((0, 1), (start, 1), (start, height), (end, height), (end, 1), (1, 1))


def poisson(curve, peak, seconds, seed):
    """Times in seconds of independent arrivals, at `peak` times the curve a second."""
    highest = max(demand for _, demand in curve)
    source = random.Random(seed)
    times, now = [], 0.0
    while True:
        now += source.expovariate(peak * highest)
        if now >= seconds:
            return times
        # Keep each arrival of the highest rate with the probability of the present rate.
        if source.random() * highest < value(curve, now / seconds):
            times.append(now)


def exactly(count, seconds, seed):
    """`count` times, as of independent arrivals that happen to be that many."""
    source = random.Random(seed)
    return sorted(source.uniform(0, seconds) for _ in range(count))


def popular(count, things, seed):
    """`count` of the things, drawn by Zipf's law: the second is as likely as half of the first."""
    weights = [1 / rank for rank in range(1, len(things) + 1)]
    return random.Random(seed).choices(things, weights, k=count)


def steady(rate, seconds, seed):
    """Times of arrivals at a constant rate; at least one."""
    return poisson(STEADY, rate, seconds, seed) or [0.0]
