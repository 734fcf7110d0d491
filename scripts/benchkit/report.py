"""The report: one HTML page that needs nothing else, and a JSON of every figure beside it.

The page is the template report.html with that JSON's content; plots are inline SVG, and there is no
script.
"""

import json
import math
import pathlib

from benchkit import outcome, verdict
from benchkit.headline import likeness
from benchkit.svg import Drawings
from benchkit.tools import BenchError

MARKS = {verdict.HOLDS: "holds", verdict.FAILS: "fails", verdict.UNKNOWN: "unknown"}
MOST = 400_000  # bytes of the page
COLUMNS = 9  # of the widest table that the page shows
# Rows of its longest table, and how many plots of an experiment it shows: the first that make it
# small enough. The JSON has all tables, and the results' folder all plots.
LIMITS = ((12, 99), (6, 99), (6, 4), (6, 2), (0, 2), (0, 1))
ALWAYS = "servers-summary"  # a table that is shown, however large: it has the operators' numbers


def gather(out, names, problems):
    """What the JSON holds: docs/internals/bench.md lists its keys."""
    out = pathlib.Path(out)
    found = {name: saved for name in names if (saved := outcome.load(out, name)) is not None}
    return {"experiments": {name: experiment(saved) for name, saved in found.items()},
            "not_run": {name: why for name, why in problems.items() if name not in found}}


def experiment(saved):
    """One experiment's part of the JSON: its facts, its answer, its verdicts in words, its tables.
    """
    facts = {key: value for key, value in saved.facts.items()
             if key not in ("name", "headline", "begun")}
    told = {"question": saved.headline.question, "answer": "nothing was judged"}
    if saved.verdicts:
        one = saved.headline.verdict(saved.verdicts)
        told |= {"answer": saved.headline.answer(saved.verdicts), "here": one.here,
                 "there": one.reported, "agreement": likeness(one)}
    verdicts = [{**row, "here": one.here, "agreement": likeness(one)}
                for row, one in zip(facts["verdicts"], saved.verdicts)]
    return {**told, **facts, "verdicts": verdicts, "tables": saved.tables()}


def finite(value):
    """The value with null for each number that JSON does not know."""
    if isinstance(value, dict):
        return {key: finite(one) for key, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [finite(one) for one in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def figure(value):
    """A figure of a table as the page shows it."""
    if isinstance(value, float) and not value.is_integer():
        return verdict.number(value) if abs(value) < 1e5 else f"{value:.0f}"
    return "" if value is None else str(value)


def numeric(table):
    """For each column, whether it has numbers alone."""
    return [all(isinstance(row[place], (int, float, type(None))) for row in table["rows"])
            for place in range(len(table["columns"]))]


def page(data, out, beside, most_rows, most_plots):
    """The page of gather()'s result; `beside` is the JSON's name, `out` has the plots."""
    import jinja2  # late: `bench --help` needs no package

    drawings = Drawings()
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(pathlib.Path(__file__).parent), autoescape=True,
        trim_blocks=True, lstrip_blocks=True, undefined=jinja2.StrictUndefined)
    environment.filters |= {"figure": figure}
    environment.tests |= {"small": lambda table: len(table["rows"]) <= most_rows
                          and len(table["columns"]) <= COLUMNS}
    # The styles of the plots are known when all of them are drawn, and come before them.
    drawn = {name: [drawings.inline(out / f"{plot['name']}.svg", plot["caption"],
                                    plot["description"]) for plot in one["plots"][:most_plots]]
             for name, one in data["experiments"].items()}
    return environment.get_template("report.html").render(
        data, drawn=drawn, styles=drawings.css, beside=beside, marks=MARKS, numeric=numeric,
        always=ALWAYS, common=common(data["experiments"].values()))


def common(experiments):
    """{key: what all experiments say alike}: the page says it once."""
    told = {}
    for key in ("machine", "when"):
        values = sorted({one.get(key, "")[:None if key == "machine" else 10]
                         for one in experiments} - {""})
        told[key] = " to ".join(dict.fromkeys((values[0], values[-1]))) if values else ""
    return told


def write(out, names, problems, path=None):
    """Makes page and JSON of what is in `out`: report.html there, or `path`; the page's path."""
    path = pathlib.Path(path or pathlib.Path(out) / "report.html")
    data = gather(out, names, problems)
    beside = path.with_suffix(".json")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        beside.write_text(json.dumps(finite(data), ensure_ascii=False, allow_nan=False,
                                     separators=(",", ":")) + "\n", encoding="utf-8")
        for limits in LIMITS:
            text = page(data, pathlib.Path(out), beside.name, *limits).encode()
            if len(text) <= MOST:
                break
        path.write_bytes(text)
    except OSError as problem:
        raise BenchError(f"the report cannot be written to {path}: {problem.strerror}") from None
    return path


def summary(out, names, problems):
    """A line for each question, each verdict and each problem."""
    for name in names:
        if name in problems:
            yield f"{name}: not run: {problems[name]}"
        elif (saved := outcome.load(out, name)) and saved.verdicts:
            one = saved.headline.verdict(saved.verdicts)
            yield (f"{name}: {saved.headline.question} {saved.headline.answer(saved.verdicts)} "
                   f"Here {one.here}; there {one.reported}; {likeness(one)}.")
            yield from (f"{name}: {one.sentence}" for one in saved.verdicts)
