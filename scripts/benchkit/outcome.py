"""What an experiment leaves: a paragraph, verdicts, and which of its tables and plots to show.

It is all in files of the results' folder, so that a report can be made of them at any time:
NAME.txt, NAME-verdicts.csv, NAME-corpus.csv, the tables, the plots, and NAME.json, which says which
of them belong to the report and how the run went.
"""

from __future__ import annotations

import csv
import dataclasses
import json
import math
import time

from benchkit import machine_speed
from benchkit.headline import Headline
from benchkit.verdict import UNKNOWN, Verdict


# The source of several experiments.
PAPER = "“Automatic and Dynamic Configuration of Data Compression for Web Servers”"


@dataclasses.dataclass
class Outcome:
    paragraph: str
    verdicts: list
    headline: Headline
    conditions: list = dataclasses.field(default_factory=list)  # sentences: failures, disturbance


def save(run, outcome, title, source, command, seconds):
    """Writes what the report needs beside the experiment's own files."""
    run.machine_speed.measure()
    figures = run.machine_speed.figures()
    paragraph = "\n".join([outcome.paragraph, *outcome.conditions,
                           machine_speed.sentence(figures)])
    texts = [paragraph, *(verdict.sentence for verdict in outcome.verdicts)]
    run.save_text(run.name, "\n".join(texts))
    run.save_table("verdicts", [dataclasses.asdict(one) for one in outcome.verdicts])
    if run.corpora:
        run.save_table("corpus", run.corpora)
    (run.results / f"{run.name}.json").write_text(json.dumps({
        "name": run.name, "title": title, "source": source, "command": command,
        "seconds": round(seconds), "when": time.strftime("%Y-%m-%d %H:%M %Z"),
        "paragraph": paragraph, "tables": run.tables, "plots": run.plots,
        "rounds": run.scale.rounds, "machine_speed": figures,
        "headline": dataclasses.asdict(outcome.headline),
        "conditions": [*outcome.conditions, *machine_speed.unsteady(figures)],
    }, indent=1, ensure_ascii=False), encoding="utf-8")


@dataclasses.dataclass(frozen=True)
class Saved:
    """The outcome of a run, read again."""

    folder: object
    facts: dict
    verdicts: list

    def table(self, name):
        return read_table(self.folder / f"{name}.csv")

    @property
    def headline(self):
        """None in the results of an earlier version."""
        return Headline(**self.facts["headline"]) if "headline" in self.facts else None

    @property
    def corpora(self):
        path = self.folder / f"{self.facts['name']}-corpus.csv"
        return read_table(path) if path.exists() else []


def read_table(path):
    with open(path, newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def load(folder, name):
    """The outcome of NAME in `folder`, or None where there is none."""
    path = folder / f"{name}.json"
    if not path.exists():
        return None
    rows = read_table(folder / f"{name}-verdicts.csv")
    return Saved(folder, json.loads(path.read_text(encoding="utf-8")), list(map(verdict_of, rows)))


def verdict_of(row):
    numbers = {key: float(row[key] or math.nan) for key in
               ("measured", "low", "high", "there_low", "there_high") if key in row}
    # The results of an earlier version have another word.
    outcome = row["outcome"].replace("cannot be told", UNKNOWN)
    return Verdict(**{**row, **numbers, "outcome": outcome})
