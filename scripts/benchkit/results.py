"""The results of an experiment: NAME.json beside its tables (CSV) and plots (SVG)."""

from __future__ import annotations

import dataclasses
import json
import math
import time

from benchkit import machine

# The source of several experiments.
PAPER = "“Automatic and Dynamic Configuration of Data Compression for Web Servers”"
DIGITS = 4  # of a figure in the JSON's tables


@dataclasses.dataclass
class Outcome:
    findings: list
    headline: str  # the key of the main finding
    means: str  # a sentence about it, in which {here} is its figure
    text: str = ""  # how it was measured, beyond the experiment's SETUP
    conditions: list = dataclasses.field(default_factory=list)  # failures, disturbance
    tools: tuple = ()  # with relevant versions


def save(run, outcome, experiment, command):
    headline = {one.key: one for one in outcome.findings}[outcome.headline]
    facts = {
        "name": run.name, "title": experiment.TITLE, "source": experiment.SOURCE,
        "setup": experiment.SETUP, "there": experiment.THERE, "command": command,
        "scale": run.scale, "seconds": round(time.monotonic() - run.started),
        "when": time.strftime("%Y-%m-%d %H:%M %Z"), "rounds": run.rounds,
        **machine.facts(run, outcome.tools),
        "text": outcome.text, "conditions": outcome.conditions,
        "headline": headline.key, "means": outcome.means.format(here=headline.here),
        "findings": [one.facts() for one in outcome.findings],
        "corpora": run.corpora, "plots": run.plots,
        "tables": {name: {"caption": caption, **compact(rows)}
                   for name, (caption, rows) in run.tables.items()}}
    (run.results / f"{run.name}.json").write_text(
        json.dumps(finite(facts), ensure_ascii=False, allow_nan=False) + "\n", encoding="utf-8")


def compact(rows):
    """The columns and rows of a table, with numbers to DIGITS digits."""

    def short(value):
        if isinstance(value, float) and math.isfinite(value):
            value = float(f"{value:.{DIGITS}g}")
            return int(value) if value.is_integer() else value
        return value

    columns = list(dict.fromkeys(column for row in rows for column in row))
    return {"columns": columns, "rows": [[short(row.get(column)) for column in columns]
                                         for row in rows]}


def finite(value):
    """The value with null for each number that JSON cannot express."""
    if isinstance(value, dict):
        return {key: finite(one) for key, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [finite(one) for one in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def load(folder, name):
    path = folder / f"{name}.json"
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() else None


def headline(facts):
    return next(one for one in facts["findings"] if one["key"] == facts["headline"])
