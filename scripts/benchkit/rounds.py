"""Legs, checked once and then measured in interleaved rounds: a slower machine slows all legs, and
no leg always follows the same neighbour. A leg is measured only after one of its responses was
decoded and compared with the expected body."""

from __future__ import annotations

import dataclasses
import time

from benchkit import clients, codecs, sample, stats

LEAST = {"smoke": 1, "quick": 2, "normal": stats.LEAST}  # rounds, however long they take
MOST = 60  # rounds: more would add little
SATURATED = 0.97  # of the server's CPU, all processes: the queue keeps growing
DISTURBED = 0.05  # a share of the server's CPU used by others that the report mentions


@dataclasses.dataclass(frozen=True)
class Leg:
    """One thing to measure: a server, a URL, the request and the expected response."""

    labels: dict  # columns that name the leg in the table
    server: object
    path: str
    body: bytes  # decoded
    coding: str | None = ""  # the expected Content-Encoding; "" none; None any
    accept: str = "identity"  # the request's Accept-Encoding
    http2: bool = False  # load.fixed_counts() uses HTTP/2

    @property
    def url(self):
        return self.server.url(self.path)

    @property
    def headers(self):
        return {"Accept-Encoding": self.accept}

    @property
    def name(self):
        return " ".join(str(value) for value in self.labels.values())


def check(leg):
    """The body's size of one response; raises codecs.WrongBody if it is wrong."""
    status, headers, body = leg.server.get(leg.path, leg.headers)
    coding = headers.get("Content-Encoding", "")
    if status != 200 or leg.coding not in (None, coding):
        raise codecs.WrongBody(f"{leg.name}: {leg.path} gave {status} with Content-Encoding "
                               f"'{coding}' instead of '{leg.coding}'")
    if codecs.decode(body, coding) != leg.body:
        raise codecs.WrongBody(f"{leg.name}: {leg.path} does not decode to what was served")
    return len(body)


def measure(run, legs, generate):
    """The rows of the raw table: every leg in every round, under the load `generate(leg)`."""
    sizes = {leg.name: check(leg) for leg in legs}
    return [{**leg.labels, "round": number, "body_bytes": len(leg.body),
             "sent_bytes": sizes[leg.name], **sample.measure(leg.server, generate, leg)}
            for number, leg in interleaved(run, legs)]


def interleaved(run, legs, count=0):
    """(round, leg) of every leg in every round, every other round backwards, until the budget has
    no time for another round; or `count` rounds."""
    legs, began = list(legs), time.monotonic()
    for number in range(1, (count or MOST) + 1):
        for leg in legs if number % 2 else reversed(legs):
            run.progress(f"(round {number})")
            yield number, leg
        run.rounds = max(run.rounds, number)
        now = time.monotonic()
        least = max(LEAST[run.scale], run.least)
        if not count and number >= least and now + (now - began) / number > run.started + run.seconds:
            return


def sent(rows):
    """(the valid rows of open loops, sentences on the others). One shows the load, not the server,
    if too little was sent in time, or if its clients took too much of their CPU."""
    return left(rows, lambda row: row["sent_share"] >= clients.SENT
                and row["load_cpu_share"] <= clients.BUSY,
                f"legs are no result: less than {100 * clients.SENT:.0f} % of their requests were "
                f"sent in time, or the load took more than {100 * clients.BUSY:.0f} % of its CPU.")


def left(rows, is_good, why, of=0):
    good = [row for row in rows if is_good(row)]
    bad = len(rows) - len(good)
    return good, [f"{bad} of {of or len(rows)} {why}"] if bad else []


def is_steady(run, row):
    """True if a pass has times, because its queue ends; at the scale smoke if nothing was lost."""
    return not row["failed"] and (
        run.scale == "smoke" or row["cpu_share"] + row["foreign_share"] <= SATURATED)


def steady(rows, of=0):
    """(the rows with a steady state, sentences on the others, which are `of` in all)."""
    return left(rows, lambda row: row["steady"], "rows are no steady state, and have no time: "
                f"requests failed, or processes took more than {100 * SATURATED:.0f} % of the "
                "server's CPU.", of)


def remarks(rows, by=""):
    """How the rows were measured: failures, named by the column `by`, and disturbance."""
    found = []
    for (name,), members in (stats.group(rows, by) if by else {("",): rows}).items():
        failed = sum(row["failed"] for row in members)
        if failed:
            asked = sum(row.get("arrivals", row.get("requests", 0) + row["failed"])
                        for row in members)
            found.append(f"{name}{': ' * bool(by)}{failed} of {asked}")
    said = [f"Failed requests: {'; '.join(found)}."] if found else []
    foreign = [row["foreign_share"] for row in rows if "foreign_share" in row]
    if foreign and stats.percentile(foreign, 90) >= DISTURBED:
        said.append("The machine was not quiet: other processes took "
                    f"{100 * stats.median(foreign):.0f} % of the server's CPU in the median leg "
                    f"and {100 * stats.percentile(foreign, 90):.0f} % or more in one of ten.")
    return said
