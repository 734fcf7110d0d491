"""--report: writes docs/results/neighbours.md. A plugin of pytest.

A test says in its properties which module it is about, and for each kind what differs.
"""

import os
import platform
import subprocess
import textwrap
import time
from pathlib import Path

FOLDER = Path(__file__).resolve().parents[2] / "docs" / "results"
KINDS = ("elastic", "drop-in")
PACKAGES = "apache2-bin libapr1 libaprutil1".split()

_TEXT = """\
# Beside other modules

Every module of httpd, and of the packages `libapache2-mod-*` that can be installed, is loaded with
its package's configuration and some lines that make it do something (`tests/neighbours/modules.py`):
beside `Elastic On` with the shipped `elastic.conf`, beside this module under the names of the stock
modules (drop-in), and beside mod_deflate and mod_brotli. The three servers get the same requests
(files, scripts, proxied, HEAD, ranges, 304, 404, POST, the module's own), are reloaded gracefully
twice, and are asked again. Compared are: statuses, codings, bodies, header fields, Vary, tags,
children that die, lines of the error log, the order of all other modules' hooks, and the time.
What the modules are meant to do otherwise is left out: see [stock and ours](stock-and-ours.md).

    scripts/check neighbours --report

{machine}

{count} modules, {same} the same in both ways. The last column has the most by which an answer came
later than beside the stock modules, in ms, in the slower of both ways (the best of some tries).

| Module | elastic | drop-in | later |
|---|---|---|---|
{rows}
{left}"""

_rows = {}


def pytest_runtest_logreport(report):
    said = dict(report.user_properties)
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
    late = max(row[f"{kind} late"] for kind in KINDS) * 1000
    return f"| {name} | {' | '.join(_cell(row[kind]) for kind in KINDS)} | {late:.1f} |"


def _versions():
    for package in PACKAGES:
        said = subprocess.run(["dpkg-query", "-W", "-f", "${Version}", package],
                              capture_output=True, text=True).stdout
        if said:
            yield f"{package} {said.rpartition('-')[0] or said}"


def _write():
    machine = (f"{time.strftime('%F')}, {platform.freedesktop_os_release()['PRETTY_NAME']}; "
               f"{', '.join(_versions())}.")
    compared = [row for row in _rows.values() if "elastic" in row]
    left = os.environ.get("ELASTIC_NEIGHBOURS_LEFT", "").split()
    text = _TEXT.format(
        machine="\n".join(textwrap.wrap(machine, 98, break_on_hyphens=False)),
        count=len(compared), same=sum(not row["elastic"] and not row["drop-in"]
                                      for row in compared),
        rows="\n".join(_line(name, row) for name, row in sorted(_rows.items())),
        left=f"\nNot installed, because apt cannot install them with the others: "
             f"{', '.join(left)}.\n" if left else "")
    (FOLDER / "neighbours.md").write_text(text)


def pytest_sessionfinish(session):
    if not hasattr(session.config, "workerinput") and session.config.getoption("report") and _rows:
        _write()
