"""Regimes: pages at a load, a share of the CPU that making them takes, which is measured again for
each round. A leg can serve a load if the ratio of two capacities, measured one after the other,
allows it: a machine's speed drifts."""

import contextlib
import dataclasses
import itertools
import math
import sys

from benchkit import arrivals, build, codecs, rounds, sample, site, stats, tools
from benchkit.legs import IDENTITY, RATES
from benchkit.run import end_process
from codeckit import decoders

LARGE = ((120, 1.0),)
LIGHT, HEAVY = 0, 14  # fpm.SCRIPT's work: pages of SIZES take about 0.3 and 4 ms on average
DAY = ((0, 0.0625), (0.5, 1), (1, 0.0625))  # of its peak; with one of 0.8, from 0.05 and back
FULL = 0.95  # the share of a leg's capacity from which on it is overloaded
WARM = 0.5  # seconds until a fixed setup's queue is steady
STEP = 512  # bytes that a decoder gets at once, to find its first text
# Another process, which takes half of the server's CPU in turns.
TURNS = """
import time
while True:
    until = time.monotonic() + 0.05
    while time.monotonic() < until:
        pass
    time.sleep(0.05)
"""


@dataclasses.dataclass(frozen=True)
class Family:
    name: str
    loads: tuple
    legs: tuple
    sizes: tuple = site.SIZES
    work: int = site.WORK
    beside: bool = False  # another process takes half of the CPU
    day: bool = False  # the load is the peak of a day

    @property
    def paths(self):
        return site.block(self.sizes, self.work)


@dataclasses.dataclass(frozen=True)
class Length:
    """The length of a pass: blocks of pages until it has this many seconds, after a lead for
    adaptive legs; a day; a measurement of capacity; and the number of rounds."""

    blocks: float  # the least, of site.BLOCK pages
    seconds: float
    lead: float
    day: float
    capacity: float
    rounds: int

    def of(self, run):
        """The same with the command line's number of rounds."""
        return dataclasses.replace(self, rounds=run.least or self.rounds)


def regime_of(family, load):
    return f"{family.name}: {load:g}"


def first_text(result):
    """The bytes of an answer that have arrived when a decoder has its first text."""
    body_bytes = 1
    if result.coding:
        parts = [result.body[at:at + STEP] for at in range(0, len(result.body), STEP)]
        texts = decoders.in_pieces(result.coding, parts)
        body_bytes = min(len(result.body), STEP * (1 + next(
            place for place, text in enumerate(texts) if text)))
    _, total, body = next(piece for piece in result.pieces if piece[2] >= body_bytes)
    return total - (body - body_bytes)


def on_wire(pieces, rate, least=math.inf):
    """Seconds until a wire of `rate` Mbit/s has carried an answer, or its first `least` bytes: each
    piece follows the previous one, and not before it has arrived."""
    done = before = 0.0
    for at, total, _ in pieces:
        count = min(total, least) - before
        done, before = max(done, at) + 8e-6 * count / rate, before + count
        if before >= least:
            break
    return done


def figures_of(results):
    found = {"arrivals": len(results), "failed": sum(one.lost for one in results),
             "bytes": stats.mean([one.bytes for one in results], 1)}
    if found["failed"] or not results:
        return found  # when clients have left, times mean nothing
    ends = {"last": [math.inf] * len(results), "first": [first_text(one) for one in results]}
    for rate, (name, least) in itertools.product(RATES, ends.items()):
        times = [1e3 * on_wire(one.pieces, rate, count) for one, count in zip(results, least)]
        found[f"{name}_{rate}"] = stats.mean(times, 3)
        found[f"{name}_p95_{rate}"] = round(stats.tail(times, 95), 3)
    return {**found, "beyond_p95": len(results) // 20}


class Passes:
    """The running servers of legs, and their results; `notes` names those that did not start."""

    def __init__(self, run, dynamic, legs, length):
        self.run, self.dynamic, self.legs, self.length = run, dynamic, legs, length
        self.rows, self.capacities, self.servers, self.notes = [], [], {}, []
        for name, leg in legs.items():
            try:
                self.servers[name] = self.serve(leg)
            except codecs.WrongBody:
                raise
            except tools.BenchError as problem:
                self.notes.append(f"Not measured: {name}: {problem}.")

    def serve(self, leg):
        path = build.zlib_alone(self.run) if leg.build == "zlib" else leg.build
        httpd = self.dynamic.serve(leg.setup, **({"elastic": path} if path else {}))
        self.dynamic.check(httpd, leg.accept)
        return httpd

    def measure(self, family):
        """Adds the rows of a family: each leg's capacity, and each leg, load and round."""
        names = [name for name in family.legs if name in self.servers]
        with self.other(family):
            capacity = {name: self.dynamic.capacity(
                self.servers[name], family.paths, self.length.capacity, self.legs[name].accept,
                self.length.lead if self.legs[name].adaptive else 0.0) for name in names}
        reference = self.reference(family)
        self.capacities += [{"pages": family.name, "leg": name, "pages_per_second": round(one, 1),
                             "loads_1": round(reference, 1)} for name, one in capacity.items()]
        with self.other(family):
            for at in family.loads:
                shares = {name: round(stats.ratio(at * reference, capacity[name]), 3)
                          for name in names}
                self.rows += [{"regime": regime_of(family, at), "leg": name, "round": 0,
                               "overload": share} for name, share in shares.items() if share > FULL]
                self.load(family, at, {name: share for name, share in shares.items()
                                       if not share > FULL})

    @contextlib.contextmanager
    def other(self, family):
        """For a block: another process, if the family has one."""
        process = family.beside and self.run.start([sys.executable, "-c", TURNS],
                                                   self.run.work / "other.log")
        yield
        if process:
            end_process(process)

    def restart(self, httpd):
        """Drops requests of clients that are gone."""
        httpd.stop()
        httpd.start()
        sample.wait_until_idle(httpd.pids)

    def reference(self, family):
        """Visits a second at which making the pages takes a whole CPU."""
        return self.dynamic.working_capacity(self.servers[IDENTITY], family.paths,
                                             self.length.capacity)

    def load(self, family, at, able):
        """Adds the rows of a load; `able` has legs and the shares that they can serve."""
        rate, last = 0.0, 0
        for number, name in rounds.interleaved(self.run, able, count=self.length.rounds):
            if number != last:
                rate, last = self.reference(family), number
            visits, counted = self.visits(family, at, rate, number, self.legs[name].adaptive)
            row = self.one_pass(name, visits, counted)
            self.rows.append({"regime": regime_of(family, at), "leg": name, "round": number, **row,
                              "of_capacity": able[name]})
            self.run.progress(f"({regime_of(family, at)}, round {number})")

    def visits(self, family, at, rate, number, adaptive):
        """(visits, (begin, end) of those that count), with the same counted visits for each leg."""
        if family.day:
            times = arrivals.poisson(DAY, at * rate, self.length.day, number) or [0.0]
            return site.visits(times, number, family.paths), (0.0, self.length.day)
        count = round(site.BLOCK * self.length.blocks)
        count *= max(1, math.ceil(self.length.seconds * at * rate / count))
        seconds, lead = count / (at * rate), WARM + (self.length.lead if adaptive else 0)
        seed = 100 * number + round(10 * at)
        before = site.visits(arrivals.steady(at * rate, lead, -seed), -seed, family.paths)
        times = [lead + one for one in arrivals.exactly(count, seconds, seed)]
        return before + site.visits(times, seed, family.paths), (lead, lead + seconds)

    def one_pass(self, name, visits, counted):
        """The row of a leg; it has times only if its queue ends."""
        httpd, leg = self.servers[name], self.legs[name]
        seen = site.replay(httpd, visits, accept=leg.accept, keep=True)
        row = figures_of(seen.between(*counted))
        share, (start, end) = seen.cpu_share(*counted), counted
        if row["failed"]:
            self.restart(httpd)
        row |= {"rate": round(row["arrivals"] / (end - start), 1), "cpu_share": share,
                "cpu_usec": round(1e6 * stats.ratio(share * (end - start), row["arrivals"]), 1),
                **site.conditions(self.run, seen)}
        return {**row, "steady": rounds.is_steady(self.run, row)}


def measured(run, families, known, length):
    """(Passes with the rows of all families, the results among them, sentences on the others);
    `known` returns the Leg of a name."""
    passes = Passes(run, site.php(run), {name: known(name) for family in families
                                         for name in family.legs}, length.of(run))
    for family in families:
        passes.measure(family)
    run.save_table("", passes.rows)
    good, said = results(passes.rows)
    run.save_table("capacity", passes.capacities, "what each leg serves, in a closed loop")
    alone = [row for row in good
             if "overload" not in row and not row["regime"].startswith("beside")]
    return passes, good, [*passes.notes, *said, *rounds.remarks(alone, "leg")]


def results(rows):
    """(rows that are results, sentences on the others); raises BenchError if none has a time. What
    has no steady state in any round is overloaded, too: a page alone takes more CPU."""
    measured = [row for row in rows if "overload" not in row]
    good, said = rounds.sent(measured)
    steady, queued = rounds.steady(good, len(measured))
    said += queued
    if not steady:
        raise tools.BenchError("nothing was measured: " + " ".join(said or ["all is overloaded"]))
    cells = stats.group(good, "regime", "leg")
    drowned = [{"regime": regime, "leg": leg, "round": 0, "overload": of[0]["of_capacity"]}
               for (regime, leg), of in cells.items() if not any(row["steady"] for row in of)]
    return [row for row in rows if "overload" in row or row in steady] + drowned, said


def counts(rows):
    cells = stats.group([row for row in rows if "overload" not in row], "regime", "leg")
    sums = [sum(row["arrivals"] for row in of) for of in cells.values()]
    return (f"{len(sums)} cells have {min(sums):,} to {max(sums):,} arrivals each, in "
            f"{min(map(len, cells.values()))} to {max(map(len, cells.values()))} rounds; "
            f"{sum('overload' in row for row in rows)} are overloaded. A percentile stands "
            f"where at least {stats.BEYOND} responses of the round are beyond it.")
