"""What an experiment leaves: a paragraph, verdicts, and which of its tables and plots to show.

It is all in files of the results' folder, so that a report can be made of them at any time:
NAME.txt, the tables, the plots, and NAME.json, which has the rest.
"""

from __future__ import annotations

import csv
import dataclasses
import json
import math
import time

from benchkit import machine_speed
from benchkit.headline import Headline
from benchkit.verdict import Verdict


# The source of several experiments.
PAPER = "“Automatic and Dynamic Configuration of Data Compression for Web Servers”"

DIGITS = 6  # of a figure in a table of the report's JSON


@dataclasses.dataclass
class Outcome:
    paragraph: str
    verdicts: list
    headline: Headline
    conditions: list = dataclasses.field(default_factory=list)  # sentences: failures, disturbance


def save(run, outcome, experiment, command, seconds, begun=None):
    """Writes what the report needs beside the experiment's own files.

    `begun` is when the run of all began that the experiment is a part of.
    """
    run.machine_speed.measure()
    figures = run.machine_speed.figures()
    paragraph = "\n".join([outcome.paragraph, *outcome.conditions,
                           machine_speed.sentence(figures)])
    run.save_text(run.name, "\n".join([paragraph, *(one.sentence for one in outcome.verdicts)]))
    there = getattr(experiment, "THERE", {})
    facts = {
        "name": run.name, "title": experiment.SUMMARY, "source": experiment.SOURCE,
        "fixed": getattr(experiment, "FIXED", ""), "command": command, "seconds": round(seconds),
        "when": time.strftime("%Y-%m-%d %H:%M %Z"), "begun": begun,
        "rounds": run.rounds or run.scale.rounds,
        **run.machine,
        "machine_speed": figures, "paragraph": paragraph,
        "conditions": [*outcome.conditions, *machine_speed.unsteady(figures)],
        "headline": dataclasses.asdict(outcome.headline),
        "verdicts": [dataclasses.asdict(one) for one in outcome.verdicts],
        "corpora": run.corpora,
        "plots": [{**plot, "there": there.get(part, "")} for part, plot in run.plots.items()],
        "tables": run.tables}
    # Python's JSON, which has infinity.
    (run.results / f"{run.name}.json").write_text(
        json.dumps(facts, indent=1, ensure_ascii=False), encoding="utf-8")


@dataclasses.dataclass(frozen=True)
class Saved:
    """The outcome of a run, read again."""

    folder: object
    facts: dict

    @property
    def verdicts(self):
        return [Verdict(**row) for row in self.facts["verdicts"]]

    @property
    def headline(self):
        return Headline(**self.facts["headline"])

    def tables(self):
        """{name: {"caption", "columns", "rows"}} of all tables; those of the page have a caption.
        """
        return {name: {"caption": caption, **read_table(self.folder / f"{name}.csv")}
                for name, caption in self.facts["tables"].items()}


def read_table(path):
    """The columns and the rows of a CSV, numbers to six digits; a column that has anything else
    than numbers is text.
    """
    with open(path, newline="", encoding="utf-8") as file:
        columns, *rows = list(csv.reader(file)) or [[]]
    typed = [typed_column([row[place] for row in rows]) for place in range(len(columns))]
    return {"columns": columns, "rows": [list(row) for row in zip(*typed)]}


def typed_column(cells):
    try:
        return [number_of(cell) for cell in cells]
    except ValueError:
        return [cell or None for cell in cells]


def number_of(cell):
    """None of what is empty, or no number."""
    if cell.lstrip("-").isdecimal():
        return int(cell)
    number = float(cell) if cell else math.nan
    return None if math.isnan(number) else float(f"{number:.{DIGITS}g}")


def load(folder, name):
    """The outcome of NAME in `folder`, or None where there is none."""
    path = folder / f"{name}.json"
    return Saved(folder, json.loads(path.read_text(encoding="utf-8"))) if path.exists() else None
