"""Whether published figures come out again: some of a report's JSON beside those of a new run.

Bytes depend on the page and on the libraries, not on the machine's speed, and are compared one by
one. Ratios of times are compared by the intervals of both runs' verdicts.
"""

import dataclasses

from benchkit.tools import BenchError

# {experiment: (table, the columns that name a row, the column of bytes)}: what is done in seconds.
SAMPLE = {"levels": ("levels-summary", ("coding", "level"), "sent_bytes"),
          "static-vs-dynamic": ("static-vs-dynamic-summary", ("variant",), "sent_bytes")}

# By what other versions of the libraries change the bytes of a page.
SPREAD = 1.02


class OtherPages(BenchError):
    """This machine's packages have other pages than those that the kept results were measured with.
    """


@dataclasses.dataclass(frozen=True)
class Pair:
    """A figure's name, what was published, with the least and the most it may be, and what is now.
    """

    name: str
    was: tuple  # (low, high)
    now: tuple

    @property
    def moved(self):
        return self.now[0] > self.was[1] or self.now[1] < self.was[0]

    @property
    def sentence(self):
        was, now = (f"{low:.6g} to {high:.6g}" if low < high else f"{low:.6g}"
                    for low, high in (self.was, self.now))
        return f"{'MOVED: ' if self.moved else ''}{self.name}: was {was}; now {now}"


def digests(experiment):
    return {(row["corpus"], row["sha256"]) for row in experiment["corpora"]}


def rows_of(experiment, table):
    one = experiment["tables"][table]
    return [dict(zip(one["columns"], row)) for row in one["rows"]]


def sizes(name, kept, fresh):
    """The Pairs of the bytes of an experiment of SAMPLE, none where other pages were served."""
    table, keys, figure = SAMPLE[name]
    if digests(kept) != digests(fresh):
        return []
    before, after = ({tuple(row[key] for key in keys): row[figure] for row in rows_of(one, table)}
                     for one in (kept, fresh))
    return [Pair(f"{name}, {' '.join(map(str, key))}: {figure}",
                 (before[key] / SPREAD, before[key] * SPREAD), (now, now))
            for key, now in after.items() if key in before]


def verdicts(name, kept, fresh):
    """The Pairs of the verdicts that both runs have an interval for."""
    before = {row["finding"]: row for row in kept["verdicts"]}
    return [Pair(f"{name}: {row['finding']}", (was["low"], was["high"]), (row["low"], row["high"]))
            for row in fresh["verdicts"] if (was := before.get(row["finding"]))
            and None not in (was["high"], was["measured"], row["high"], row["measured"])]


def compare(kept, fresh, of):
    """The Pairs of two reports, by sizes() or verdicts()."""
    found = [pair for name in fresh if name in kept for pair in of(name, kept[name], fresh[name])]
    if not found:
        raise OtherPages(f"no figure of {', '.join(fresh)} can be compared: the kept results lack "
                         "them, or other pages were served")
    return found
