"""The results of an experiment: NAME.json beside its tables (CSV) and plots (SVG), and the rows of
which they are made, from which anybody can make them again."""

from __future__ import annotations

import dataclasses
import json
import lzma
import math
import time

from benchkit import machine, stats

# The source of several experiments.
PAPER = "“Automatic and Dynamic Configuration of Data Compression for Web Servers”"
DIGITS = 4  # of a figure in the JSON's tables


@dataclasses.dataclass
class Outcome:
    headline: str  # the key of the main finding
    means: str  # a sentence about it, in which {here} is its figure
    text: str = ""  # how it was measured, beyond the experiment's SETUP
    conditions: list = dataclasses.field(default_factory=list)  # failures, disturbance
    tools: tuple = ()  # with relevant versions


def save(run, outcome, experiment, command):
    findings, tables = concluded(experiment, run.raw)
    for part, (rows, caption) in tables.items():
        run.write_table(part, rows, caption)
    headline = {one.key: one for one in findings}[outcome.headline]
    facts = {
        "name": run.name, "title": experiment.TITLE, "source": experiment.SOURCE,
        "setup": experiment.SETUP, "there": experiment.THERE, "command": command,
        "scale": run.scale, "seconds": round(time.monotonic() - run.started),
        "when": time.strftime("%Y-%m-%d %H:%M %Z"), "rounds": run.rounds,
        **machine.facts(run, outcome.tools),
        "text": outcome.text, "conditions": outcome.conditions,
        "headline": headline.key, "means": outcome.means.format(here=headline.here),
        "findings": [one.facts() for one in findings],
        "corpora": run.corpora, "plots": run.plots,
        "tables": {name: {"caption": caption, **compact(rows)}
                   for name, (caption, rows) in run.tables.items()}}
    for name, text in ((run.name, finite(facts)), (
            f"{run.name}-rows", {part: packed(rows) for part, rows in run.raw.items()})):
        (run.results / f"{name}.json").write_text(
            json.dumps(text, ensure_ascii=False, allow_nan=False) + "\n", encoding="utf-8")


def concluded(experiment, raw):
    """(the findings, {part: (rows, caption)}) of an experiment's rows, and of nothing else."""
    return (experiment.find(raw),
            experiment.summaries(raw) if hasattr(experiment, "summaries") else {})


def medians(keys, figures, rows=lambda tables: tables[""]):
    """The summaries() of an experiment with one table: the median of each figure of these rows."""
    return lambda tables: {"summary": (stats.median_rows(rows(tables), keys, figures), "medians")}


def packed(rows):
    """The columns and rows of a table in full precision. What a row lacks is null."""
    columns = list(dict.fromkeys(column for row in rows for column in row))
    return {"columns": columns, "rows": [
        [str(one) if isinstance(one, float) and not math.isfinite(one) else one
         for one in map(row.get, columns)] for row in rows]}


def unpacked(table):
    return [{column: float(one) if one in ("nan", "inf", "-inf") else one
             for column, one in zip(table["columns"], row) if one is not None}
            for row in table["rows"]]


def rows_beside(page):
    """The path of the rows of a page's or a JSON's experiments."""
    return page.with_name(f"{page.stem}-rows.json.xz")


def kept_rows(path):
    """{experiment: {part: rows}} of a JSON's experiments; those without rows are missing."""
    beside = rows_beside(path)
    if not beside.exists():
        return {}
    return {name: {part: unpacked(table) for part, table in tables.items()}
            for name, tables in json.loads(lzma.decompress(beside.read_bytes())).items()}


def recomputed(facts, experiment, raw):
    """The facts, with findings and tables that are made of the rows."""
    findings, tables = concluded(experiment, raw)
    made = finite({f"{facts['name']}-{part}": {"caption": caption, **compact(rows)}
                   for part, (rows, caption) in tables.items() if caption})
    return facts | {"findings": finite([one.facts() for one in findings]),
                    "tables": facts["tables"] | made}


def differences(facts, again):
    """(how many figures of the facts were made again, sentences on those that differ)."""
    kept, made = ({one["key"]: one for one in of["findings"]} for of in (facts, again))
    said = [f"{key}: in one of them only" for key in sorted(kept.keys() ^ made.keys())]
    said += [f"{key}: {one[name]} is kept, {made[key][name]} recomputed"
             for key, one in kept.items() if key in made
             for name in one if not same(one[name], made[key][name])]
    said += [f"the table {name}" for name, table in facts["tables"].items()
             if again["tables"][name] != table]
    return len(facts["findings"]) + sum(len(table["rows"]) for table in
                                        facts["tables"].values()), said


def same(one, other):
    """True if they are equal, but for the last digits that other versions of libraries make."""
    if isinstance(one, float) and isinstance(other, float):
        return math.isclose(one, other, rel_tol=1e-6)
    return one == other


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
