"""The findings of an experiment: figures with their intervals, beside the source's or an aim. A
ratio is taken within each round. A figure agrees with the source, or meets an aim, only if the
whole interval does; otherwise only the figure and its interval are stated."""

import dataclasses
import math

from benchkit import stats

SAME, OTHER, MET, MISSED, OPEN = "same direction", "other direction", "met", "missed", ""
LARGER, SMALLER = "larger effect here", "smaller effect here"
FACTOR = 3  # an effect within this factor, either way, is the source's
NOTHING = (math.nan, 0.0, math.inf)


@dataclasses.dataclass(frozen=True)
class Finding:
    key: str  # by which an experiment's headline names it
    text: str  # the comparison, such as "level 9's compression time, to level 1's"
    figure: tuple = NOTHING  # (middle, least, most); an exact one is all three
    there: str = ""  # the source's figure, or the aim, in words
    source: tuple = ()  # the least and the most of the source's ratio
    aim: tuple = ()  # the least and the most of this project's aim
    limit: str = ""  # "<" or ">": the figure is a bound
    note: str = ""  # the reason if there is no figure
    said: str = ""  # instead of the figure, where a number alone would mislead
    because: str = ""  # the reason for an effect that is not the source's

    @property
    def interval(self):
        _, low, high = self.figure
        return (0.0 if self.limit == "<" else low, math.inf if self.limit == ">" else high)

    @property
    def here(self):
        middle, low, high = self.figure
        if self.said:
            return self.said
        if math.isnan(middle):
            return "not measured" + (f": {self.note}" if self.note else "")
        known = 0 < low and high < math.inf
        if self.limit:
            end = (high if self.limit == "<" else low) if known else middle
            return f"{self.limit} {number(end)}"
        if low == high or not known:  # exact, or of one round, which has no interval
            return number(middle)
        return f"{number(middle)} ({number(low)} to {number(high)})"

    @property
    def outcome(self):
        """SAME, LARGER, SMALLER or OTHER beside a source's ratio; MET or MISSED beside an aim; OPEN
        if the interval allows either, or there is nothing to compare."""
        if math.isnan(self.figure[0]):
            return OPEN
        low, high = self.interval
        if self.aim:
            least, most = self.aim
            if high < least or low > most:
                return MISSED
            return MET if low >= least and high <= most else OPEN
        here, there = side(low, high), side(*self.source) if self.source else 0
        if 0 in (here, there):
            return OPEN
        if here != there:
            return OTHER
        # On a logarithmic scale, half is as far from 1 as twice. Neither the figures themselves nor
        # their distances from 1 may be further apart than FACTOR.
        effect, *known = (abs(math.log(one)) if one else math.inf
                          for one in (self.figure[0], *self.source))
        why = f", because {self.because}" * bool(self.because)
        if effect > min(FACTOR * max(known), max(known) + math.log(FACTOR)):
            return LARGER + why
        least = max(min(known) / FACTOR, min(known) - math.log(FACTOR))
        return SAME if self.limit or effect >= least else SMALLER + why

    def facts(self):
        middle, low, high = self.figure
        return {"key": self.key, "text": self.text, "here": self.here, "there": self.there,
                "outcome": self.outcome, "figure": middle, "low": low, "high": high,
                "limit": self.limit, "said": self.said}


def side(low, high):
    return (low >= 1 and high > 1) - (high <= 1 and low < 1)


def number(value):
    """Three digits, without an exponent if possible."""
    if math.isnan(value) or math.isinf(value):
        return "–" if math.isnan(value) else "∞"
    if 0 < abs(value) < 5e-5:
        return "below 0.0001"
    if value == int(value) and abs(value) < 1000:
        return f"{value:.0f}"
    digits = max(0, 2 - math.floor(math.log10(abs(value))))
    return f"{value:.{min(digits, 4)}f}"


def exact(value):
    return value, value, value


def matches(row, leg):
    return all(row[key] == value for key, value in leg.items())


def per_round(rows, over, under, column, each=()):
    """The ratio of two legs' figures for each round that has both. Legs are {column: value}; with
    `each`, columns such as "size", it is the geometric mean over their values."""
    found = []
    for members in stats.group(rows, "round").values():
        cells = stats.group(members, *each).values() if each else [members]
        sides = [[[row[column] for row in cell if matches(row, leg)] for leg in (over, under)]
                 for cell in cells]
        ratios = [stats.ratio(stats.median(one), stats.median(other))
                  for one, other in sides if one and other]
        if ratios:
            found.append(stats.geometric_mean(ratios))
    return found


def paired(rows, over, under, column, each=()):
    return stats.interval(per_round(rows, over, under, column, each))


def compare(rows, key, text, over, under, column, there="", each=(), **more):
    return Finding(key, text, paired(rows, over, under, column, each), there, **more)
