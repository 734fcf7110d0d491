"""Sends the rows to both sides, and compares how the answers differ with what is expected."""

import concurrent.futures
import fnmatch
from dataclasses import dataclass

from kit import Origin, client
from kit.server import StartFailed

from . import facts
from .expected import EXPECTED
from .row import ROUTES


@dataclass(frozen=True)
class Result:
    row: object
    stock: dict
    ours: dict

    @property
    def differing(self):
        """The names of the facts in which the sides differ."""
        names = {**self.stock, **self.ours}
        return {name for name in names
                if self.stock.get(name, facts.ABSENT) != self.ours.get(name, facts.ABSENT)}

    @property
    def meant(self):
        """The differences of EXPECTED that name this row."""
        return [one for one in EXPECTED if one.names(self.row.name)]

    @property
    def why(self):
        """The verdict and its reasons; empty where no difference is expected."""
        verdicts = {one.verdict for one in self.meant}
        reasons = "; ".join(dict.fromkeys(one.why for one in self.meant))
        return f"{'better' if 'better' in verdicts else 'other'}: {reasons}" if reasons else ""

    @property
    def surprise(self):
        """What is wrong with this row, as a sentence; None where it is as expected."""
        listed = set().union(*(one.facts for one in self.meant))
        more, less = self.differing - listed, listed - self.differing
        said = []
        if more:
            said.append(f"differs in {', '.join(sorted(more))}, which no one expects")
        if less:
            said.append(f"does not differ in {', '.join(sorted(less))}, which is expected")
        return " and ".join(said) or None


def compare(make_stock, make_ours, rows):
    """Results, in the rows' order, and what went wrong with ours beside its answers. make_stock and
    make_ours: (origin) -> sites.Side."""
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        answers = [pool.submit(_ask, make, rows) for make in (make_stock, make_ours)]
        (stock, _), (ours, troubles) = (one.result() for one in answers)
    return [Result(*three) for three in zip(rows, stock, ours)], troubles


def _ask(make, rows):
    """One side, with an origin of its own: its answers and its troubles."""
    origin = Origin()
    for path, handler in ROUTES.items():
        origin.route(path, handler)
    side = make(origin)
    try:
        return [_ask_one(side, row) for row in rows], side.troubles()
    finally:
        side.close()
        origin.stop()


def _ask_one(side, row):
    try:
        return row.probe(side.server(row.site))
    except StartFailed as error:
        return {"status": "the server does not start", "log": str(error).splitlines()[-1]}
    except TimeoutError:
        return {"status": "no answer in time"}
    except (client.Incomplete, ConnectionError):
        return {"status": "no answer"}


def unmatched(rows):
    """Patterns of EXPECTED that name no row."""
    names = [row.name for row in rows]
    return [pattern for one in EXPECTED for pattern in one.rows
            if not fnmatch.filter(names, pattern)]
