"""When requests arrive: at random about a rate that changes, the same times for every server.

Demand is a curve: points of (share of the duration, share of the peak), joined by straight lines.
"""

import bisect
import calendar
import math
import random
import re
import statistics

from benchkit import tools

# The mean load of a mobile operator's cells over a day: M. Laner et al., "Users in Cells: A Data
# Traffic Analysis", WCNC 2012. Of the source's figure 7a is known that demand is least at 5:00 and
# most at 20:00, which is so here. At each full hour, to the peak; the last is the next midnight.
DAY_HOURS = (0.54, 0.36, 0.22, 0.15, 0.11, 0.08, 0.13, 0.20, 0.33, 0.49, 0.62, 0.70,
             0.74, 0.76, 0.74, 0.74, 0.74, 0.84, 0.88, 0.91, 1.00, 0.93, 0.85, 0.79, 0.54)
DAY = tuple((hour / 24, demand) for hour, demand in enumerate(DAY_HOURS))
DAY_FROM = "of a mobile operator's cells (M. Laner et al., WCNC 2012)"
STEADY = ((0, 1), (1, 1))
ATTACK = 1.69  # the source's spike, to its normal demand
MONTHS = "JanFebMarAprMayJunJulAugSepOctNovDec"
LOG_TIME = re.compile(r"\[(\d+)/(\w{3})/(\d{4}):(\d\d):(\d\d):(\d\d) ([+-]\d\d)(\d\d)\]")
BINS = 48  # of a curve that is taken from a log


def value(curve, share):
    """The curve's height at a share of the duration."""
    place = bisect.bisect_right(curve, (share, math.inf))
    if place == 0:
        return curve[0][1]
    if place == len(curve):
        return curve[-1][1]
    (left, low), (right, high) = curve[place - 1:place + 1]
    return low + (high - low) * (share - left) / (right - left) if right > left else high


def mean(curve, start, end, points=100):
    """The curve's mean height between two shares of the duration."""
    width = (end - start) / points
    return sum(value(curve, start + (place + 0.5) * width) for place in range(points)) / points


def above(curve, height):
    """(start, end): shares of the duration, between which the curve is above `height`.

    It is the span about the peak, which must be above it.
    """
    peak = max(range(len(curve)), key=lambda place: curve[place][1])
    return (crossing(curve[peak::-1], height, 0), crossing(curve[peak:], height, 1))


def crossing(points, height, end):
    """Where points that begin above a height come down to it; `end` where they never do."""
    for (before, high), (after, low) in zip(points, points[1:]):
        if low <= height:
            return after + (before - after) * (height - low) / (high - low)
    return end


def bins(total, count):
    """(start, end) of so many parts of a duration."""
    return [(number * total / count, (number + 1) * total / count) for number in range(count)]


def spike(before, attack, after, height=ATTACK):
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


def steady(rate, seconds, seed):
    """Times of arrivals at a rate that stays; one at least."""
    return poisson(STEADY, rate, seconds, seed) or [0.0]


def log_seconds(text):
    """The times of an access log's lines, in seconds; lines without one are left out."""
    found = []
    for day, month, year, hour, minute, second, hours, minutes in LOG_TIME.findall(text):
        offset = int(hours) * 3600 + int(hours[0] + minutes) * 60
        found.append(calendar.timegm((int(year), MONTHS.find(month) // 3 + 1, int(day), int(hour),
                                      int(minute), int(second))) - offset)
    return sorted(found)


def curve_of(times, start, end, bins=BINS):
    """The curve of the requests between two times, its peak 1."""
    counts = [0] * bins
    for moment in times:
        if start <= moment < end:
            counts[int((moment - start) * bins / (end - start))] += 1
    most = max(counts)
    if most == 0:
        raise tools.BenchError("the access log has no requests in its busiest hour")
    points = [((place + 0.5) / bins, count / most) for place, count in enumerate(counts)]
    return ((0, points[0][1]), *points, (1, points[-1][1]))


def from_log(path, hours=None):
    """The curve of an access log: of all of it, or of the `hours` about its busiest minute."""
    times = log_seconds(path.read_text(encoding="latin-1"))
    if len(times) < 2 or times[0] == times[-1]:
        raise tools.BenchError(f"--access-log {path}: no requests at different times are in it; "
                               "it must have the common log format")
    start, end = times[0], times[-1] + 1
    if hours is not None and end - start > 3600 * hours:
        middle = 60 * statistics.mode(moment // 60 for moment in times)
        start = min(max(start, middle - 1800 * hours), end - 3600 * hours)
        end = start + 3600 * hours
    return curve_of(times, start, end)
