"""--report: writes docs/results/clients.md. A plugin of pytest.

A test's docstring is a row: the client, a colon, what it does. Of several clients, the one that the
test's parameter names.
"""

import collections
import platform
import subprocess
import textwrap
import time
from pathlib import Path

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


def row(test):
    clients, _, does = test.function.__doc__.partition(": ")
    [client] = [name for name in clients.split(", ")
                if name == clients or name.lower() in test.callspec.id]
    return f"{client}: {does}"


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


def _versions():
    """Of the packages that are installed, or named as unpacked."""
    for package in PACKAGES:
        said = subprocess.run(["dpkg-query", "-W", "-f", "${Version}", package],
                              capture_output=True, text=True).stdout \
            or subprocess.run(["apt-cache", "show", "--no-all-versions", package],
                              capture_output=True, text=True).stdout.partition("Version: ")[2]
        if said:
            version = said.split()[0].partition(":")[2] or said.split()[0]
            yield f"{package} {version.rpartition('-')[0] or version}"


def pytest_sessionfinish(session):
    if hasattr(session.config, "workerinput") or not session.config.getoption("report"):
        return
    kinds = [kind.name for kind in site_of.KINDS]
    machine = (f"{time.strftime('%F')}, {platform.freedesktop_os_release()['PRETTY_NAME']}; "
               f"{', '.join(_versions())}.")
    text = _TEXT.format(machine="\n".join(textwrap.wrap(machine, 98, break_on_hyphens=False)),
                        kinds=" | ".join(kinds), columns="---|" * len(kinds))
    for what, cells in sorted(_rows.items(), key=lambda row: row[0].lower()):
        client, _, does = what.partition(": ")
        text += f"| {client} | {does} | {' | '.join(_cell(cells.get(k)) for k in kinds)} |\n"
    FILE.write_text(text)
