"""Regret: a leg's figure relative to that of the best leg in the same regime. A row is a leg in a
regime and a round; `overload` is instead of figures. One half of the rounds chooses the best leg
and the other half is judged by it, so that noise flatters none."""

import math

from benchkit import legs, stats
from benchkit.findings import number

# The tables' name of a figure, and its column for a rate.
FIGURES = {"time": "last_{}", "time p95": "last_p95_{}", "first text": "first_{}",
           "first text p95": "first_p95_{}", "bytes": "bytes", "CPU": "cpu_usec"}


def halves(numbers):
    """[(rounds that are judged, rounds that choose)]; a single round does both."""
    some, others = numbers[::2], numbers[1::2]
    return [(some, others), (others, some)] if others else [(some, some)]


class Regrets:
    """The regret of the legs `names` by one figure: `ratios` is {regime: {leg: {round: ratio}}}."""

    def __init__(self, rows, names, figure):
        self.names, self.overloads, cells = names, {}, {}
        for row in rows:
            if row["leg"] not in names:
                continue
            if row.get("overload"):
                self.overloads.setdefault(row["leg"], {})[row["regime"]] = row["overload"]
            elif row.get(figure):
                cells.setdefault(row["regime"], {}).setdefault(row["leg"], {})[
                    row["round"]] = row[figure]
        self.ratios = {regime: judged(by_leg) for regime, by_leg in cells.items()}

    def of(self, leg):
        return {regime: by_leg[leg] for regime, by_leg in self.ratios.items() if leg in by_leg}

    def cell(self, regime, leg):
        return stats.interval(self.ratios.get(regime, {}).get(leg, {}).values())

    def between(self, over, under):
        """{regime: {round: ratio}} of one leg relative to another, if both have a figure."""
        return {regime: {one: by[over][one] / by[under][one]
                         for one in by[over] if one in by[under]}
                for regime, by in self.ratios.items() if over in by and under in by}

    def single(self, names):
        """(the leg of these that one would pin, by its worst regime in other rounds; {regime:
        {round: ratio}} of it). Excludes legs that are overloaded where others are not."""
        served = {regime for name in names for regime in self.of(name)}
        able = [name for name in names if served and self.of(name).keys() == served]
        numbers = sorted({one for name in able for of in self.of(name).values() for one in of})
        chosen, found = [], {}
        for judges, choose in halves(numbers) if able else ():
            best = min(able, key=lambda name: max(stats.geometric_mean(
                of[one] for one in choose if one in of) for of in self.of(name).values()))
            chosen.append(best)
            for regime, of in self.of(best).items():
                found.setdefault(regime, {}).update({one: of[one] for one in judges if one in of})
        return " or ".join(dict.fromkeys(chosen)), found


def judged(by_leg):
    """{leg: {round: its figure relative to the leg that the other rounds choose}}"""
    found = {}
    for judges, choose in halves(sorted({one for of in by_leg.values() for one in of})):
        means = {leg: stats.geometric_mean(of[one] for one in choose)
                 for leg, of in by_leg.items() if of.keys() >= set(choose)}
        best = by_leg[min(means, key=means.get)] if means else {}
        for leg, of in by_leg.items():
            found.setdefault(leg, {}).update(
                {one: of[one] / best[one] for one in judges if one in of and one in best})
    return {leg: of for leg, of in found.items() if of}


def mean(of):
    """The geometric mean over the regimes, from the rounds that have all of them."""
    each = [set(ratios) for ratios in of.values()] or [set()]
    rounds = sorted(set.intersection(*each) or set.union(*each))
    return stats.interval(stats.geometric_mean(
        ratios[one] for ratios in of.values() if one in ratios) for one in rounds)


def worst(of):
    """(the regime with the largest middle, (middle, low, high) there)."""
    figures = {regime: stats.interval(ratios.values()) for regime, ratios in of.items() if ratios}
    if not figures:
        return "", (math.nan, 0.0, math.inf)
    return max(figures.items(), key=lambda one: one[1][0])


def served(regrets, leg):
    """In words: in how many regimes the leg has figures, and in how many it is overloaded."""
    count, found = len(regrets.of(leg)), regrets.overloads.get(leg, {})
    most = max(found.values(), default=0)
    return (f"{count}" + f"; {len(found)} overloaded" * bool(found)
            + f", up to {number(most)} times" * (most > 1))


def summary(rows, population, rate):
    """A row for each leg: its regret over its regimes."""
    names = legs.serving(dict.fromkeys(row["leg"] for row in rows), population, rate)
    by_figure = {name: Regrets(rows, names, column.format(rate))
                 for name, column in FIGURES.items()}
    found = []
    for leg in names:
        of = {name: regrets.of(leg) for name, regrets in by_figure.items()}
        most = {name: worst(of[name]) for name in ("time", "time p95", "first text")}
        found.append({
            "leg": leg, "regimes": served(by_figure["time"], leg), "time": mean(of["time"])[0],
            "worst time": most["time"][1][0], "worst at": most["time"][0],
            "worst p95": most["time p95"][1][0], "worst first text": most["first text"][1][0],
            "bytes": mean(of["bytes"])[0], "CPU": mean(of["CPU"])[0]})
    return found


def by_regime(rows, population, rate, figure="time"):
    """(regimes, a row of words for each leg): the leg, its mean, its worst, each regime."""
    names = legs.serving(dict.fromkeys(row["leg"] for row in rows), population, rate)
    regrets = Regrets(rows, names, FIGURES[figure].format(rate))
    regimes = list(dict.fromkeys(row["regime"] for row in rows if row["leg"] in names))
    lines = []
    for leg in names:
        cells = []
        for regime in regimes:
            load = regrets.overloads.get(leg, {}).get(regime)
            middle = regrets.cell(regime, leg)[0]
            cells.append(two(middle) if load is None else
                         "overloaded" + f", {number(load)} ×" * (load > 1))
        of = regrets.of(leg)
        lines.append([leg, text(mean(of)), text(worst(of)[1]), *cells])
    return regimes, lines


def two(ratio):
    return "–" if math.isnan(ratio) else f"{ratio:.2f}"


def text(figure):
    middle, low, high = figure
    known = not math.isnan(middle) and 0 < low and high < math.inf
    return two(middle) + (f" ({two(low)}–{two(high)})" if known else "")


def markdown(heads, lines):
    rows = ["| " + " | ".join(cells) + " |" for cells in (heads, *lines)]
    return "\n".join([rows[0].replace("|  |", "| |"), "|" + "---|" * len(heads), *rows[1:]])


def page(experiment):
    rows = rows_of(experiment)
    parts = [f"# Regret\n\n{experiment['setup']} {experiment['text']}\n\n"
             f"`{experiment['command']}`, {experiment['when']}, {experiment['rounds']} rounds, "
             f"{experiment['machine']}; {'; '.join(experiment['versions'])}."]
    for population, whom in legs.POPULATIONS.items():
        each = [(figure, rate, f", {rate} Mbit/s") for rate in legs.RATES
                for figure in ("time", "time p95", "first text")]
        for figure, rate, over in (*each, *((name, legs.RATES[0], "") for name in ("bytes", "CPU"))):
            regimes, lines = by_regime(rows, population, rate, figure)
            parts.append(f"## {whom.capitalize()}{over}: {figure}\n\n"
                         + markdown(["", "mean", "worst", *regimes], lines))
    return "\n\n".join([*parts, *experiment["conditions"]]) + "\n"


def rows_of(experiment, part="rounds"):
    """A table's rows, as dicts, in an experiment's facts; empty if it is missing."""
    table = experiment["tables"].get(f"{experiment['name']}-{part}", {"columns": (), "rows": ()})
    return [dict(zip(table["columns"], row)) for row in table["rows"]]
