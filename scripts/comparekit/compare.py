"""Sends each row's request to both sides, and compares the differences with the expected ones."""

import concurrent.futures
import sys
from dataclasses import dataclass

from . import facts
from .rows import ROWS
from .sites import Site

# The page is rewritten after this line.
_MARK = "<!-- scripts/compare writes what follows. -->\n"


@dataclass(frozen=True)
class Result:
    row: object
    stock: dict
    ours: dict

    @property
    def differing(self):
        """Names of facts that differ. Answers with different statuses also differ in length."""
        return [name for name in {**self.stock, **self.ours}
                if self.stock.get(name, facts.NONE) != self.ours.get(name, facts.NONE)
                and (name != "length" or self.stock.get("status") == self.ours.get("status"))]

    @property
    def surprise(self):
        """The fault of this row; empty if it differs as expected."""
        found, expected = sorted(self.differing), sorted(self.row.differs.split())
        return "" if found == expected else f"differs in {found}, not in {expected}"


def compare(rows):
    """Returns the results and the faults, which include log lines of ours that no row announces."""
    results, troubles = {}, []
    for site in dict.fromkeys((row.server, row.fault) for row in rows):
        here = [row for row in rows if (row.server, row.fault) == site]
        with Site(here, False) as stock, Site(here, True) as ours:
            # On a busy machine a script may end later than the filter waits for it.
            for _ in range(5):
                again = [row for row in here if row not in results or results[row].surprise]
                results.update((result.row, result) for result in _ask(stock, ours, again))
        troubles += ours.complaints
    troubles += [f"{r.row.chapter}: {r.row.text}: {r.surprise}\n  stock {r.stock}\n  ours  {r.ours}"
                 for r in results.values() if r.surprise]
    return [results[row] for row in rows], troubles


def _ask(stock, ours, rows):
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        answers = pool.map(lambda site: [facts.of(site, row) for row in rows], (stock, ours))
        return [Result(*three) for three in zip(rows, *answers)]


def table(results):
    """The differences as a Markdown table: a line for each reason, with its first row as an
    example."""
    groups = {}
    for result in results:
        if result.differing:
            why = result.surprise or result.row.why
            groups.setdefault((result.row.chapter, why), []).append(result)
    lines = ["| Of | Requests | For example | Stock | Here | Why |", "|---|---|---|---|---|---|"]
    for (chapter, why), (first, *rest) in groups.items():
        sides = (", ".join(f"{name} {side.get(name, facts.NONE)}" for name in first.differing)
                 for side in (first.stock, first.ours))
        cells = (cell.replace("*", r"\*").replace("<", r"\<") for cell in (first.row.text, *sides))
        lines.append(f"| {chapter} | {1 + len(rest)} | {' | '.join(cells)} | {why} |")
    return "\n".join(lines)


def main(page, rows=ROWS):
    """Prints the table, or writes it into `page`; returns the exit status."""
    results, troubles = compare(rows)
    if page:
        head = page.read_text(encoding="utf-8").partition(_MARK)[0]
        page.write_text(f"{head}{_MARK}\n{table(results)}\n", encoding="utf-8")
    else:
        print(table(results))
    print(*troubles, sep="\n", end="\n" * bool(troubles), file=sys.stderr)
    return 1 if troubles else 0
