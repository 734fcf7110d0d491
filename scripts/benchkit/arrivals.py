"""When requests arrive: at random about a rate that changes, the same times for every server.

Demand is a curve: points of (share of the duration, share of the peak), joined by straight lines.
"""

import bisect
import math
import random

# The mean load of a mobile operator's cells over a day: M. Laner et al., "Users in Cells: A Data
# Traffic Analysis", WCNC 2012. Of the source's figure 7a is known that demand is least at 5:00 and
# most at 20:00, which is so here. At each full hour, to the peak; the last is the next midnight.
DAY_HOURS = (0.54, 0.36, 0.22, 0.15, 0.11, 0.08, 0.13, 0.20, 0.33, 0.49, 0.62, 0.70,
             0.74, 0.76, 0.74, 0.74, 0.74, 0.84, 0.88, 0.91, 1.00, 0.93, 0.85, 0.79, 0.54)
DAY = tuple((hour / 24, demand) for hour, demand in enumerate(DAY_HOURS))
DAY_FROM = "of a mobile operator's cells (M. Laner et al., WCNC 2012)"
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
