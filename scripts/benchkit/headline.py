"""What an experiment comes to: its question, the answer, and how like the source's it is.

The answer is that of the verdicts on one finding, which the headline names by its words: of several,
the worst. How like the source's a ratio is, is said of its direction, more
or less than 1, and of its size: how far it is from 1.
"""

import dataclasses
import math

from benchkit.verdict import FAILS, HOLDS, NOTHING, UNKNOWN, Verdict

# Sizes are the same where the logarithm of the one is up to half as much again as the other's: a
# quarter less is like a fifth to a third less, three times is like twice to five times.
ALIKE = 1.5

# How far an interval reaches that is narrow: of ratios that drift by a tenth, by 6 % of its own.
NARROW = 1.12

WORST = (FAILS, UNKNOWN, HOLDS)

NO_SOURCE = "no source"
NO_DIRECTION = "direction cannot be told"


@dataclasses.dataclass(frozen=True)
class Headline:
    question: str
    yes: str  # the answer where the verdict holds
    no: str  # and where it does not
    finding: str  # words that the findings have which it is about, and no others

    def verdict(self, verdicts):
        """Its verdict: of several, the first of the worst. Where its finding was not judged, the
        first that could not be decided says why.
        """
        own = [one for one in verdicts if self.finding in one.finding]
        if own:
            return min(own, key=lambda one: WORST.index(one.outcome))
        return next((one for one in verdicts if one.outcome == UNKNOWN),
                    Verdict(self.finding, UNKNOWN, *NOTHING, "", "it was not judged"))

    def is_narrow(self, verdicts):
        """Whether more rounds would say little more of its figure. On which side of its bound that
        is does not count: to stop where it is as hoped would find what chance shows.
        """
        one = self.verdict(verdicts)
        return one.high <= one.low * NARROW ** 2

    def answer(self, verdicts):
        one = self.verdict(verdicts)
        return {HOLDS: self.yes, FAILS: self.no,
                UNKNOWN: f"Cannot be told: {one.remark}."}[one.outcome]


def side(low, high):
    """On which side of 1 an interval is: -1, 1, or 0 where it reaches over it."""
    return (low >= 1 and high > 1) - (high <= 1 and low < 1)


def likeness(one):
    """How a verdict's figure and its source's agree, in words."""
    there = side(one.there_low, one.there_high)
    if there == 0:
        return NO_SOURCE
    if math.isnan(one.measured) or side(one.low, one.high) == 0:
        return NO_DIRECTION
    if side(one.low, one.high) != there:
        return "the other direction"
    return f"same direction, {size(one, there)}"


def size(one, direction):
    def effects(*ratios):
        return sorted(direction * math.log(ratio) if ratio > 0 else math.inf for ratio in ratios)

    least, most = effects(one.there_low, one.there_high)
    if least == 0 or math.isinf(most):
        return "and the source gives no size"
    small, large = effects(one.low, one.high)
    if small >= least / ALIKE and large <= most * ALIKE:
        return "same size"
    if large < least / ALIKE:
        return "smaller"
    return "larger" if small > most * ALIKE else "size cannot be told"
