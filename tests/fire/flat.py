"""Whether what was read each minute grows: the slope over the second half, with the interval in
which it is in 95 of 100 cases (Theil and Sen; minutes of the same configuration are compared with
each other, so that what the configurations differ by does not count)."""

import csv
from typing import NamedTuple

from .soak import MODES

HOUR = 60  # restarts
FEWEST = 4 * len(MODES)  # minutes that tell anything


class Slope(NamedTuple):
    """For each hour of a restart a minute; what is more than `low` and less than `high`."""

    middle: float
    low: float
    high: float

    def __str__(self):
        return f"{self.middle:+.1f} [{self.low:+.1f}, {self.high:+.1f}]"


class Bound(NamedTuple):
    column: str
    plain: float
    asan: float  # whose allocator gives less back, and which notes where each block came from
    exact: bool  # only growth moves it: an interval that reaches beyond the bound is a failure
    why: str


# An hour has 60 restarts.
BOUNDS = (
    Bound("parent", 120, 1200, True, "2 KB for each restart: a page of 4 KB that is lost at every "
          "second one reaches it"),
    Bound("parent_mapped", 1024, 8192, True, "a segment or a library that is mapped once more"),
    Bound("parent_mappings", 6, 60, True, "the same, one in ten restarts"),
    Bound("parent_descriptors", 0.5, 0.5, True, "none"),
    Bound("child_descriptors", 6, 6, False, "none but for connections that are about to end"),
    Bound("shared", 64, 64, True, "none"),
    Bound("processes", 4, 4, False, "children of before that have not ended do not pile up"),
    Bound("child", 4096, 8192, False, "the largest child; children are new each minute, and what "
          "each finds at its start must not grow"),
    Bound("all_pss", 8192, 32768, False, "the sum; it differs by how many children there are"),
)


def read(path):
    """[{column: number}] of a stage's minutes; none where it read too few to tell anything."""
    if not path.exists():
        return []
    with open(path, newline="") as file:
        rows = [{name: float(value) for name, value in row.items()}
                for row in csv.DictReader(file)]
    return rows if len(rows) >= FEWEST else []


def slope(values, seasons=len(MODES)):
    pairs, variance = [], 0.0
    for season in range(seasons):
        line = list(enumerate(values))[season::seasons]
        pairs += [(b - a) / (j - i) for n, (i, a) in enumerate(line) for j, b in line[n + 1:]]
        count = len(line)
        variance += count * (count - 1) * (2 * count + 5) / 18
    pairs.sort()
    if not pairs:
        return Slope(0, float("-inf"), float("inf"))
    away = 1.96 * variance ** 0.5
    first = max(0, round((len(pairs) - away) / 2))
    last = min(len(pairs) - 1, round((len(pairs) + away) / 2))
    middle = (pairs[(len(pairs) - 1) // 2] + pairs[len(pairs) // 2]) / 2
    return Slope(*(HOUR * found for found in (middle, pairs[first], pairs[last])))


class Judged(NamedTuple):
    column: str
    first: float  # at the middle of the time
    last: float
    slope: Slope
    bound: float
    verdict: str  # flat, grows, unclear: the interval reaches beyond the bound


def judge(rows, asan, httpd=()):
    """[Judged] of a server's minutes. What `httpd`, the minutes of one without the module, grows by
    is not the module's."""
    rows, httpd = rows[len(rows) // 2:], httpd[len(httpd) // 2:]
    found = []
    for bound in BOUNDS:
        values = [row[bound.column] for row in rows]
        allowed = bound.asan if asan else bound.plain
        if httpd:
            allowed += max(0, slope([row[bound.column] for row in httpd]).middle)
        made = slope(values)
        verdict = "flat" if made.high <= allowed else "grows" if made.low > allowed else "unclear"
        found.append(Judged(bound.column, values[0], values[-1], made, allowed, verdict))
    return found


def judge_all(minutes):
    """{server: [Judged]} of {server: its minutes}, but for those without any; servers are called
    as Run.name says."""
    return {name: judge(rows, "asan" in name, () if "stock" in name else
                        minutes.get(f"soak-{name.split('-')[1]}-stock", ()))
            for name, rows in minutes.items() if rows}


def failures(judged):
    """What grows, and what is exact and not shown to be flat. What httpd alone does is no
    failure."""
    exact = {bound.column for bound in BOUNDS if bound.exact}
    return [f"{name}: {row.column} is not shown to be flat ({row.verdict}): {row.slope} an hour, "
            f"where {row.bound:.0f} may be"
            for name, rows in judged.items() if "stock" not in name for row in rows
            if row.verdict == "grows" or row.verdict == "unclear" and row.column in exact]


def table(judged):
    lines = ["| server | what | second half | an hour | bound | |", "|---|---|---|---|---|---|"]
    for name, rows in judged.items():
        alone = "stock" in name
        lines += [f"| {name.removeprefix('soak-')} | {row.column.replace('_', ' ')} "
                  f"| {row.first:.0f} … {row.last:.0f} | {row.slope} "
                  f"| {'' if alone else f'{row.bound:.0f}'} | {'' if alone else row.verdict} |"
                  for row in rows]
    return "\n".join(lines)


def bounds():
    return "\n".join(["| bound of | plain | ASan | why |", "|---|---|---|---|"] + [
        f"| {bound.column.replace('_', ' ')} | {bound.plain:g} | {bound.asan:g} "
        f"| {bound.why}{'' if bound.exact else '; unclear is no failure'} |" for bound in BOUNDS])
