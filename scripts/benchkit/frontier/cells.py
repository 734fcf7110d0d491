"""The default beside the best of others, cell by cell; and the frontier.

A cell is a kind of client and of pages, a load, a rate of the client's wire, and a figure of the
total time. The best of many, chosen by the figures that it is then judged by, would look better
than it is; so it is chosen in half of the rounds and compared in the other, and the other way
round.
"""

import collections
import dataclasses
import math

from benchkit import stats
from benchkit.frontier.legs import DEFAULT
from benchkit.frontier.passes import FIGURES, RATES, column
from benchkit.verdict import LEAST_ROUNDS

BEATEN, AHEAD, EVEN = "beaten", "ahead", "no difference is seen"


@dataclasses.dataclass(frozen=True)
class Compared:
    """What the default takes, to the best of a family in one cell. The columns of a table."""

    clients: str
    pages: str
    load: object  # a share, or the word "day"
    mbit: int
    figure: str
    family: str
    best: str  # chosen in the one half of the rounds, and in the other where that differs
    time: float  # the default's, to the best's, and its 95 % interval
    low: float
    high: float
    bytes: float  # likewise
    rounds: int
    outcome: str

    @property
    def place(self):
        where = "over the day" if self.load == "day" else f"load {self.load:g}"
        return f"{self.pages}, {where}, {self.mbit} Mbit/s, {self.figure}"


def outcome_of(low, high, rounds):
    if rounds < LEAST_ROUNDS:
        return EVEN
    return BEATEN if low > 1 else AHEAD if high < 1 else EVEN


def best_of(table, names, rounds):
    """The name with the least time over these rounds; none where no one has them all."""
    whole = {name: stats.geometric_mean(table[name][number] for number in rounds)
             for name in names if all(number in table[name] for number in rounds)}
    return min(whole, key=whole.get) if whole and rounds else None


def crossed(times, sizes, default, names):
    """(names chosen, {round: ratio of times}, {round: ratio of bytes}), each round's to what the
    other half of the rounds chose. `times` and `sizes` are {leg: {round: figure}}.
    """
    numbers = sorted(times[default])
    halves = numbers[::2], numbers[1::2]
    chosen, of_time, of_bytes = [], {}, {}
    for chooses, compares in (halves, halves[::-1]):
        name = best_of(times, names, chooses)
        if name is None:
            continue
        chosen.append(name)
        for number in compares:
            if number in times[name]:
                of_time[number] = stats.ratio(times[default][number], times[name][number])
                of_bytes[number] = stats.ratio(sizes[default][number], sizes[name][number])
    return list(dict.fromkeys(chosen)), of_time, of_bytes


def by_leg(rows, figure):
    """{leg: {round: figure}}."""
    found = collections.defaultdict(dict)
    for row in rows:
        found[row["leg"]][row["round"]] = row[figure]
    return found


def kinds_of_clients(rows):
    """{kind of client: the name of the default leg that it gets}."""
    return {row["clients"]: row["leg"] for row in rows if row["family"] == DEFAULT}


def contenders(rows, clients, family):
    """The legs of a family whose answers such clients get."""
    return list(dict.fromkeys(row["leg"] for row in rows
                              if row["family"] == family and clients in row["clients"].split()))


def compare(rows, families, figures=FIGURES):
    """A Compared for every cell of the rows and every family of contenders."""
    found = []
    for clients, default in kinds_of_clients(rows).items():
        for (kind, load), members in stats.group(rows, "pages", "load").items():
            sizes = by_leg(members, "bytes")
            for rate in RATES:
                for figure in figures:
                    times = by_leg(members, column(figure, rate))
                    for family in families:
                        place = clients, kind, load, rate, figure, family
                        found += compared(place, *crossed(
                            times, sizes, default, contenders(members, clients, family)))
    return found


def compared(place, chosen, of_time, of_bytes):
    """The Compared of one cell, in a list; an empty one where nothing can be compared."""
    if not of_time:
        return []
    middle, low, high = stats.interval(of_time.values())
    return [Compared(*place, " / ".join(chosen), middle, low, high,
                     stats.geometric_mean(of_bytes.values()), len(of_time),
                     outcome_of(low, high, len(of_time)))]


def frontier(points):
    """The names of those {name: (bytes, time)} that no other beats in one and equals in the other,
    from the least bytes on.
    """
    found, least = [], math.inf
    for name, (_, time) in sorted(points.items(), key=lambda one: one[1]):
        if time < least:
            found.append(name)
            least = time
    return found


def middles(rows, clients, figure):
    """{leg: (bytes, time)} of those that such clients get, medians over the rounds."""
    here = [row for row in rows if clients in row["clients"].split()]
    return {name: (one["bytes"], one[figure]) for (name,), one in
            stats.medians(here, ("leg",), ("bytes", figure)).items()}


def counts(some):
    return collections.Counter(one.outcome for one in some)


def sentence(some, whom):
    """In how many of these cells the default is beaten, by what, and by how much."""
    if not some:
        return f"Beside {whom}: nothing was measured."
    beaten = [one for one in some if one.outcome == BEATEN]
    ahead = counts(some)[AHEAD]
    text = (f"Beside {whom}: beaten in {len(beaten)} of {len(some)} cells, ahead in {ahead}, no "
            f"difference is seen in {len(some) - len(beaten) - ahead}.")
    if not beaten:
        return text
    by = collections.Counter(name for one in beaten for name in one.best.split(" / "))
    most = max(beaten, key=lambda one: one.time)
    return (f"{text} It is beaten by " + ", ".join(
        f"{name} ({count})" for name, count in by.most_common(4)) + f"; where it is, it takes "
            f"{stats.geometric_mean(one.time for one in beaten):.2f} times the other's time and "
            f"{stats.geometric_mean(one.bytes for one in beaten):.2f} times its bytes (geometric "
            f"means), at most {most.time:.2f} ({most.low:.2f} to {most.high:.2f}): {most.place}.")


def per_round(rows, clients, family, rate, figure):
    """The default's time to that of the best of the family, for each round: a geometric mean over
    pages and loads. Cells that lack a round are left out.
    """
    default = kinds_of_clients(rows)[clients]
    ratios = collections.defaultdict(list)
    cases = stats.group(rows, "pages", "load")
    for members in cases.values():
        times = by_leg(members, column(figure, rate))
        _, found, _ = crossed(times, by_leg(members, "bytes"), default,
                              contenders(members, clients, family))
        for number, ratio in found.items():
            ratios[number].append(ratio)
    return [stats.geometric_mean(some) for some in ratios.values() if len(some) == len(cases)]
