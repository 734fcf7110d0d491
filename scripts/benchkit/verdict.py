"""Verdicts: whether a source's finding holds here, does not, or cannot be decided.

A finding is put as a bound on a ratio: "compressed each time serves fewer requests than plain" is
a ratio below 1. The ratio is taken within each round, so that a slow minute touches both of its
sides; the rounds give a 95 % interval, which is widened by what runs at other times differ by.
Where the whole interval is within the bounds the finding holds, where it is all outside it does
not, and otherwise the verdict names the missing precision.
"""

import dataclasses
import math

from benchkit import stats

HOLDS, FAILS, UNKNOWN = "holds", "does not hold", "cannot be decided"

# Two rounds of a machine that drifts may agree by chance, and far from the truth.
LEAST_ROUNDS = 3

# Two legs that do the same agree within this on a machine that has nothing else to do.
MARGIN = 0.05

# Rounds show how far a ratio is spread while a run lasts. An hour later a host's caches and memory
# are shared with others, and what uses them most loses most: between eleven runs over two days
# the CPU and the rates of two programs came to ratios that were 8 to 20 % further apart than their
# intervals. More rounds cannot reduce that.
DRIFT = 1.10
# Of what does not depend on the machine's speed, or on both sides alike: packets, bytes, memory, a
# visit over a link, and a share of the CPU at the time itself.
NO_DRIFT = 1.0
# Of two files that are sent as they are. In ten runs within an hour, while others took nothing to
# 63 % of the server's CPU, the ratios of their CPU had a standard deviation of 1.2 % beyond that of
# their intervals, those of their rates none: 95 % are within 2.4 %.
FILES_DRIFT = 1.03


# Where a bound comes from: the report says so beside each.
SOURCE, AIM, OWN = "the source's", "this project's aim", "the harness's own"


def loosened(whose, figure, why):
    """The origin of a bound that is wider than the one that its source or aim has."""
    return f"loosened from {whose} {figure}: {why}"


@dataclasses.dataclass(frozen=True)
class Bound:
    """What a figure is to lie between, and where that comes from."""

    above: float = -math.inf
    below: float = math.inf
    origin: str = OWN  # or SOURCE, AIM, loosened()
    drift: float = DRIFT  # the factor by which runs at other times differ, or NO_DRIFT
    there: tuple = ()  # of a ratio: the least and the most that the source gives, in figures

    def __str__(self):
        if self.above > -math.inf and self.below < math.inf:
            return f"{number(self.above)} to {number(self.below)}"
        if self.below < math.inf:
            return f"below {number(self.below)}"
        return f"above {number(self.above)}" if self.above > -math.inf else ""

    def verdict(self, finding, outcome, interval, reported, remark=""):
        """The Verdict on a figure's (middle, low, high)."""
        return Verdict(finding, outcome, *interval, reported, remark, str(self), self.origin,
                       *(self.there or (0.0, math.inf)))


@dataclasses.dataclass(frozen=True)
class Verdict:
    """What became of one finding. Its fields are the columns of the table of verdicts."""

    finding: str  # a sentence of the source's, or of the project's aims
    outcome: str  # HOLDS, FAILS or UNKNOWN
    measured: float  # the ratio here; NaN where there is none
    low: float  # its 95 % interval, with the drift in it
    high: float
    reported: str  # what the source says
    remark: str = ""  # the missing precision, or why there is nothing to judge
    bound: str = ""  # in words
    origin: str = ""  # of the bound
    there_low: float = 0.0  # what the source says, where that is a ratio
    there_high: float = math.inf
    limit: str = ""  # "<" or ">": the figure is the least or the most that the harness can tell

    @property
    def here(self):
        """What was measured, and how sure that is."""
        if self.limit:
            end = (f"at most {number(self.high)}" if self.limit == "<" else
                   f"at least {number(self.low)}")
            return f"{self.limit} {number(self.measured)} ({end})"
        return describe(self.measured, self.low, self.high)

    @property
    def figures(self):
        wanted = f" Bound: {self.bound} ({self.origin})." if self.bound else ""
        return f"Here {self.here}; there {self.reported}.{wanted}"

    @property
    def sentence(self):
        remark = f" ({self.remark})" if self.remark else ""
        return f"{self.finding}: {self.outcome}{remark}. {self.figures}"


def number(value):
    """Three digits, without an exponent where that can be."""
    if math.isnan(value) or math.isinf(value):
        return "–" if math.isnan(value) else "∞"
    digits = max(0, 2 - math.floor(math.log10(abs(value)))) if value else 0
    return f"{value:.{min(digits, 4)}f}"


def describe(measured, low, high):
    if math.isnan(measured):
        return "nothing was measured"
    if math.isinf(measured):
        return "not while it was watched"
    if low == high or math.isinf(high):  # sure, or of an interval that says nothing
        return number(measured)
    return f"{number(measured)} ({number(low)} to {number(high)})"


NOTHING = (math.nan, 0.0, math.inf)


def judge(finding, ratios, reported, **bounds):
    """The verdict on a ratio that is to lie within a Bound, whose fields are `bounds`.

    `ratios` has one for each round. Equal ones, as sizes in bytes are, are sure after two.
    """
    ratios = list(ratios)
    return judge_interval(finding, stats.interval(ratios), len(ratios), reported, **bounds)


def judge_interval(finding, interval, rounds, reported, **bounds):
    """The same of a ratio's (middle, low, high), which so many rounds have given."""
    bound = Bound(**bounds)
    if math.isnan(interval[0]):
        return bound.verdict(finding, UNKNOWN, NOTHING, reported, "nothing was measured")
    _, low, high = wide = widened(interval, bound.drift)
    if rounds < LEAST_ROUNDS and low < high:
        outcome, remark = UNKNOWN, f"too few rounds: at least {LEAST_ROUNDS} are needed"
    elif low > bound.above and high < bound.below:
        outcome, remark = HOLDS, ""
    elif high <= bound.above or low >= bound.below:
        outcome, remark = FAILS, ""
    else:
        outcome, remark = UNKNOWN, missing_precision(interval, bound, rounds)
    return bound.verdict(finding, outcome, wide, reported, remark)


def widened(interval, drift):
    """The interval with the drift in it; two independent errors add as their squares do."""
    middle, low, high = interval
    if low == high or low <= 0 or math.isinf(high):
        return interval
    reach = [math.exp(math.hypot(math.log(middle / low), math.log(drift))),
             math.exp(math.hypot(math.log(high / middle), math.log(drift)))]
    return middle, middle / reach[0], middle * reach[1]


def exact(finding, measured, reported, **bounds):
    """The verdict on a figure that does not vary between rounds, such as one of bytes."""
    bound = Bound(**bounds)
    if math.isnan(measured):
        return bound.verdict(finding, UNKNOWN, NOTHING, reported, "nothing was measured")
    outcome = HOLDS if bound.above < measured < bound.below else FAILS
    return bound.verdict(finding, outcome, (measured,) * 3, reported)


def every_round(finding, values, reported, **bounds):
    """The verdict on a figure that is meant of every round, also of the only one.

    It holds where all rounds are within the bounds, and fails where none is.
    """
    bound, values = Bound(**bounds), list(values)
    if not values or any(map(math.isnan, values)):
        return bound.verdict(finding, UNKNOWN, NOTHING, reported, "nothing was measured")
    good = sum(bound.above < value < bound.below for value in values)
    outcome = {len(values): HOLDS, 0: FAILS}.get(good, UNKNOWN)
    remark = f"it does in {good} of {len(values)} rounds" if outcome == UNKNOWN else ""
    return bound.verdict(finding, outcome, (stats.median(values), min(values), max(values)),
                         reported, remark)


def missing_precision(interval, bound, rounds):
    """What it would take to decide on which side of its nearest bound the ratio is."""
    measured, low, high = interval
    if low <= 0 or math.isinf(high):
        return "the rounds differ by more than any interval can show"
    nearest = min((one for one in (bound.above, bound.below) if 0 < one < math.inf),
                  key=lambda one: abs(math.log(measured / one)))
    distance, drift = abs(math.log(measured / nearest)), bound.drift
    half = max(math.log(high / measured), math.log(measured / low))
    text = f"the interval reaches over {number(nearest)}"
    if distance <= max(math.log(drift), 0.005):
        why = f": runs at other times differ by {percent(math.log(drift))}" if drift > 1 else ""
        return f"{text}, and the ratio is too near to that to be distinguished from it{why}"
    text += f"; of rounds alone it is ±{percent(half)}"
    least = math.sqrt(distance ** 2 - math.log(drift) ** 2)
    needed = math.ceil(rounds * (half / least) ** 2)
    return f"{text} where ±{percent(least)} would do: about {needed} rounds"


def percent(logarithm):
    """How far a factor reaches: as a percentage, or where that would be large, as the factor."""
    factor = math.exp(min(logarithm, 20))
    return f"{100 * (factor - 1):.1f} %" if factor < 2 else f"{factor:.3g} times"


def same(finding, ratios):
    """The verdict on: there is no difference, that is, none larger than MARGIN."""
    return judge(finding, ratios, "1", above=1 / (1 + MARGIN), below=1 + MARGIN, drift=NO_DRIFT)


# A share of the server's CPU in foreign hands beyond which a load that was made for the whole of it
# is another load.
BUSY = 0.15


def remarked(one, remark):
    """The verdict, with a remark beside what it says itself."""
    return dataclasses.replace(one, remark="; ".join(filter(None, (one.remark, remark))))


def inconclusive(one, why):
    """The verdict, which cannot be decided for a reason that its figures do not show."""
    if one.outcome == UNKNOWN:
        return one
    return dataclasses.replace(remarked(one, why), outcome=UNKNOWN)


def unless_busy(verdicts, rows):
    """The verdicts, none of which can be decided where others took much of the server's CPU."""
    share = stats.median(row["foreign_share"] for row in rows)
    if not share > BUSY:
        return verdicts
    why = (f"other processes took {100 * share:.0f} % of the server's CPU, and the load is made "
           "for all of it")
    return [inconclusive(one, why) for one in verdicts]


def impossible(finding, reported, why, **bounds):
    """The verdict on what could not be measured here, with the reason."""
    return Bound(**bounds).verdict(finding, UNKNOWN, NOTHING, reported, why)


def compare(finding, rows, sides, figure, reported, *, each=(), **bounds):
    """The verdict on the ratio of a figure between two sides, by per_round() and judge()."""
    return judge(finding, per_round(rows, *sides, figure, each), reported, **bounds)


def per_round(rows, over, under, figure, each=()):
    """One ratio a round: a figure of the rows that match `over` to that of those matching `under`.

    Both are {column: value}. With `each`, the names of columns such as "size", the ratio is the
    geometric mean over their values. Rounds in which a side is missing are left out.
    """
    ratios = []
    for members in stats.group(rows, "round").values():
        parts = []
        for group in stats.group(members, *each).values() if each else [members]:
            top = [row[figure] for row in group if matches(row, over)]
            bottom = [row[figure] for row in group if matches(row, under)]
            if top and bottom:
                parts.append(stats.ratio(stats.median(top), stats.median(bottom)))
        if parts:
            ratios.append(stats.geometric_mean(parts))
    return ratios


def matches(row, wanted):
    return all(row.get(column) == value for column, value in wanted.items())
