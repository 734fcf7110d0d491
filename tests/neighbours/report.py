"""--report: writes docs/results/neighbours.md. A plugin of pytest.

A test says in its properties which module it is about, and for each kind what differs.
"""

import os
from pathlib import Path

from kit import versions

import backends

FOLDER = Path(__file__).resolve().parents[2] / "docs" / "results"
KINDS = ("elastic", "drop-in")
PACKAGES = "apache2-bin libapr1 libaprutil1".split()

_TEXT = """\
# Beside other modules

Every module of httpd, and of the packages `libapache2-mod-*` that can be installed, is loaded with
its package's configuration and some lines that make it do something: see
`tests/neighbours/modules.py`. Three servers differ in what compresses: `Elastic On` with the shipped
`elastic.conf`, this module under the names of the stock modules (drop-in), and mod_deflate and
mod_brotli. They get the same requests (files, scripts, proxied, HEAD, ranges, 304, 404, POST, the
module's own), are reloaded gracefully twice, and are asked again. Compared are statuses, codings,
bodies, header fields, Vary, tags, children that die, lines of the error log, the order of all other
modules' hooks, and the time. What this module is meant to do otherwise is left out: see
[stock and ours](stock-and-ours.md).

    scripts/check neighbours --report

{machine}

{count} modules, {same} the same in both ways. The last column has the most by which an answer came
later than beside the stock modules, in ms, in the slower of both ways (the best of some tries). From
20 ms on, in three of four turns, that is a difference.

| Module | elastic | drop-in | later |
|---|---|---|---|
{rows}
{left}"""

_BACKENDS = """\
# Applications behind httpd

One small application in several places and languages (`tests/neighbours/apps`), asked with gzip
accepted by `scripts/check neighbours --report`: what a client sees beside the stock modules, with
`Elastic On` and the shipped `elastic.conf`, and with the drop-in. "Broken off": the client sees
that the answer is not whole. "As if whole": it does not.

{machine}

| Place | What | stock | elastic | drop-in |
|---|---|---|---|---|
{rows}
"""

_rows = {}
_places = {}


def pytest_runtest_logreport(report):
    said = dict(report.user_properties)
    if "place" in said:
        _places[said["place"]] = said["rows"]
    if "module" not in said:
        return
    row = _rows.setdefault(said["module"], {})
    row.update(said)
    if report.failed and "elastic" not in said:
        row["broken"] = str(report.longrepr).strip().splitlines()[-1].removeprefix("E").strip()


def _cell(texts):
    if not texts:
        return "same"
    # What comes again behind a reload is not said again.
    texts = [text for text in texts if text.removeprefix("reloaded, ") == text
             or text.removeprefix("reloaded, ") not in texts]
    return "**differs**: " + "; ".join(text.replace("|", "\\|").replace("\n", " ")
                                       for text in texts)


def _line(name, row):
    if "out" in row:
        return f"| {name} | not loaded: {row['out']} | | |"
    if "elastic" not in row:
        return f"| {name} | **not compared**: {row.get('broken', '')[:300]} | | |"
    known = f" ({'; '.join(row['known'])})" if row.get("known") else ""
    late = max(row[f"{kind} late"] for kind in KINDS) * 1000
    return f"| {name}{known} | {' | '.join(_cell(row[kind]) for kind in KINDS)} | {late:.1f} |"


def _seen(cells, kind):
    coding, text = cells[kind]
    differs = kind != "stock" and text != cells["stock"][1]
    text = f"{coding}, {text}" if coding else text
    return f"**{text}**" if differs else text


def _write_backends():
    lines = [f"| {place.replace('_', '-') if place == 'php_fpm' else place} | "
             f"{backends.BEHAVIOURS[name]} | "
             f"{' | '.join(_seen(cells, kind) for kind in ('stock', *KINDS))} |"
             for place, rows in sorted(_places.items()) for name, cells in rows]
    (FOLDER / "backends.md").write_text(
        _BACKENDS.format(machine=versions.machine(PACKAGES), rows="\n".join(lines)))


def _write():
    compared = [row for row in _rows.values() if "elastic" in row]
    left = os.environ.get("ELASTIC_NEIGHBOURS_LEFT", "").split()
    text = _TEXT.format(
        machine=versions.machine(PACKAGES),
        count=len(compared), same=sum(not row["elastic"] and not row["drop-in"]
                                      for row in compared),
        rows="\n".join(_line(name, row) for name, row in sorted(_rows.items())),
        left=f"\nNot installed, because apt cannot install them with the others: "
             f"{', '.join(left)}.\n" if left else "")
    (FOLDER / "neighbours.md").write_text(text)


def pytest_sessionfinish(session):
    if hasattr(session.config, "workerinput") or not session.config.getoption("report"):
        return
    if _rows:
        _write()
    if _places:
        _write_backends()
