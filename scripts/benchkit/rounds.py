"""Legs, checked once and then measured in interleaved rounds.

Every round visits every leg, so that a machine that slows down slows all of them; every other
round goes backwards, so that no leg always follows the same neighbour. A leg is measured only
after one response of it has been decoded and compared with the body that was meant.
"""

from __future__ import annotations

import dataclasses
import zlib

from benchkit import codecs, sample, stats, tools

DISTURBED = 0.05  # a share of the server's CPU in foreign hands that the paragraph mentions


@dataclasses.dataclass(frozen=True)
class Leg:
    """One thing to measure: a URL, what to ask for and what must come back."""

    labels: dict  # columns that name the leg in the table
    path: str
    body: bytes  # decoded
    coding: str | None = ""  # the Content-Encoding that must come; "" none; None whatever comes
    accept: str = "identity"  # the request's Accept-Encoding
    server: object = None  # which of several servers; None the one that measure() is given

    @property
    def headers(self):
        return {"Accept-Encoding": self.accept}

    @property
    def name(self):
        return " ".join(str(value) for value in self.labels.values())


def decode(body, coding):
    """The identity of an encoded body."""
    if coding == "gzip":
        decoder = zlib.decompressobj(31)
        plain = decoder.decompress(body)
        if not decoder.eof or decoder.unused_data:
            raise tools.BenchError("the gzip body is cut short or has a tail")
        return plain
    if coding == "br":
        try:
            import brotli
        except ImportError:
            raise tools.missing("brotli module") from None
        return brotli.decompress(body)
    if coding == "zstd":
        return codecs.zstd_decode(body)
    if coding:
        raise tools.BenchError(f"a body came in the unknown coding '{coding}'")
    return body


def check(server, leg):
    """One response of the leg: the size of its body, or BenchError where it is not as meant."""
    status, headers, body = (leg.server or server).get(leg.path, leg.headers)
    coding = headers.get("Content-Encoding", "")
    if status != 200 or leg.coding not in (None, coding):
        raise tools.BenchError(f"{leg.name}: {leg.path} gave {status} with Content-Encoding "
                               f"'{coding}' instead of '{leg.coding}'")
    if decode(body, coding) != leg.body:
        raise tools.BenchError(f"{leg.name}: {leg.path} does not decode to what was served")
    return len(body)


def measure(run, server, legs, generate):
    """The rows of the raw table: every leg in every round, under the load `generate(leg)`."""
    sizes = [check(server, leg) for leg in legs]
    rows = []
    for number, index in interleaved(run.scale.rounds, len(legs)):
        leg = legs[index]
        figures = sample.measure(leg.server or server, lambda leg=leg: generate(leg))
        rows.append({**leg.labels, "round": number, "body_bytes": len(leg.body),
                     "sent_bytes": sizes[index], **figures})
        run.done(len(rows) / run.scale.rounds / len(legs))
    return rows


def interleaved(rounds, count):
    """(round, index) of every leg in every round, every other round backwards."""
    for number in range(1, rounds + 1):
        for index in range(count) if number % 2 else reversed(range(count)):
            yield number, index


def remarks(rows):
    """What the reader must know of how the rows came about: failures and disturbance."""
    lines = []
    failed = sum(row["failed"] for row in rows)
    if failed:
        lines.append(f"Failed requests: {failed}.")
    foreign = stats.median(row["foreign_share"] for row in rows)
    worst = stats.percentile((row["foreign_share"] for row in rows), 90)
    if worst >= DISTURBED:
        lines.append(f"The machine was not quiet: other processes took {100 * foreign:.0f} % of "
                     f"the server's CPU in the median leg and {100 * worst:.0f} % or more in one "
                     "leg of ten. CPU per response suffers little from it, req/s much.")
    return lines
