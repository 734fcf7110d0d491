"""--report: writes docs/results/clients.md. A plugin of pytest.

A test's docstring is a row: the client, a colon, what it does. Of several clients, the one that the
test's parameter names.
"""

import collections
from pathlib import Path

from kit import versions

import site_of

FILE = Path(__file__).resolve().parents[2] / "docs" / "results" / "clients.md"
PACKAGES = """apache2-bin git curl wget aria2 apt cadaver davfs2 chromium-headless-shell
    firefox-esr php-fpm dokuwiki mediawiki wordpress""".split()

_TEXT = """\
# Real clients

What `scripts/check clients` asks of clients and applications from the packages of a distribution,
started by the tests in `tests/clients`: with `Elastic On`, with this module under the names of the
stock modules (drop-in), and with mod_deflate and mod_brotli (stock). What clients got is compared
with the files beside the server, and pages in a coding with the same pages without one. Error logs
are read.

    scripts/check clients --report

{machine}

A cell has how many answers had a coding, of all. A row without, or with fewer answers of stock has
cases that the stock modules cannot pass: [ranges](stock-and-ours.md) of encoded bytes, and scripts
that are told a coding that was decoded.

| Client | What | {kinds} |
|---|---|{columns}
"""

# {row: {kind: [outcome, answers, encoded]}}
_rows = collections.defaultdict(dict)


def pytest_runtest_logreport(report):
    said = dict(report.user_properties)
    if "what" not in said:
        return
    kind = next(kind.name for kind in site_of.KINDS
                if any(part in report.nodeid for part in (f"[{kind.name}-", f"[{kind.name}]",
                                                           f"-{kind.name}]", f"-{kind.name}-")))
    cell = _rows[said["what"]].setdefault(kind, [True, 0, 0])
    cell[0] = cell[0] and not report.failed
    if report.when == "teardown":
        cell[1] += said.get("answers", 0)
        cell[2] += said.get("encoded", 0)


def _cell(cell):
    if cell is None:
        return "–"
    return f"{cell[2]} of {cell[1]}" if cell[0] else "**failed**"


def pytest_sessionfinish(session):
    if hasattr(session.config, "workerinput") or not session.config.getoption("report"):
        return
    kinds = [kind.name for kind in site_of.KINDS]
    text = _TEXT.format(machine=versions.machine(PACKAGES), kinds=" | ".join(kinds), columns="---|" * len(kinds))
    for what, cells in sorted(_rows.items(), key=lambda row: row[0].lower()):
        client, _, does = what.partition(": ")
        text += f"| {client} | {does} | {' | '.join(_cell(cells.get(k)) for k in kinds)} |\n"
    FILE.write_text(text)
