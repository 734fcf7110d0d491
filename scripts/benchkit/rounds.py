"""Legs, checked once and then measured in interleaved rounds.

Every round visits every leg, so that a machine that slows down slows all of them; every other
round goes backwards, so that no leg always follows the same neighbour. A leg is measured only
after one response of it has been decoded and compared with the body that was meant.
"""

from __future__ import annotations

import dataclasses
import time

from benchkit import clients, codecs, sample, stats

DISTURBED = 0.05  # a share of the server's CPU in foreign hands that the paragraph mentions


@dataclasses.dataclass(frozen=True)
class Leg:
    """One thing to measure: a server, a URL, what to ask for and what must come back."""

    labels: dict  # columns that name the leg in the table
    server: object
    path: str
    body: bytes  # decoded
    coding: str | None = ""  # the Content-Encoding that must come; "" none; None whatever comes
    accept: str = "identity"  # the request's Accept-Encoding
    http2: bool = False  # whether load.fixed_counts() comes over HTTP/2

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
    """One response of the leg: the size of its body; codecs.WrongBody where it is another."""
    status, headers, body = leg.server.get(leg.path, leg.headers)
    coding = headers.get("Content-Encoding", "")
    if status != 200 or leg.coding not in (None, coding):
        raise codecs.WrongBody(f"{leg.name}: {leg.path} gave {status} with Content-Encoding "
                               f"'{coding}' instead of '{leg.coding}'")
    if codecs.decode(body, coding) != leg.body:
        raise codecs.WrongBody(f"{leg.name}: {leg.path} does not decode to what was served")
    return len(body)


def measure(run, legs, generate, is_enough=lambda rows: False):
    """The rows of the raw table: every leg in every round, under the load `generate(leg)`."""
    sizes = {leg.name: check(leg) for leg in legs}
    rows = []
    for number, leg in interleaved(run, legs, is_enough=lambda: is_enough(rows)):
        rows.append({**leg.labels, "round": number, "body_bytes": len(leg.body),
                     "sent_bytes": sizes[leg.name], **sample.measure(leg.server, generate, leg)})
    return rows


def interleaved(run, legs, rounds=None, is_enough=lambda: False):
    """(round, leg) of every leg in every round, every other round backwards.

    Where the scale has a least number of rounds, that is the last which is enough, or after which
    the budget has no time for another. What is done between two legs is reported as the run's
    progress.
    """
    legs, least, began = list(legs), run.scale.least, time.monotonic()
    rounds, time_left = rounds or run.scale.rounds, run.time_left() if least else 0
    for number in range(1, rounds + 1):
        for place, leg in enumerate(legs if number % 2 else reversed(legs), 1):
            yield number, leg
            share = (number - 1 + place / len(legs)) / rounds
            spent = (time.monotonic() - began) / time_left if time_left > 0 else 0
            run.done(min(1, max(share, spent)))
        run.rounds = max(run.rounds, number)
        one = (time.monotonic() - began) / number
        if least and number >= least and (one > run.time_left() or is_enough()):
            return


def remarks(rows, by=""):
    """What a reader needs of how the rows came about: failures and disturbance.

    Where some servers are meant to be overloaded, failures are named by the column `by`.
    """
    return [*failures(rows, by), *disturbance(rows)]


def failures(rows, by=""):
    found = []
    for (name,), members in (stats.group(rows, by) if by else {("",): rows}).items():
        failed = sum(row["failed"] for row in members)
        if failed:
            asked = sum(row.get("arrivals", row.get("requests", 0) + row["failed"])
                        for row in members)
            found.append(f"{name}{': ' * bool(by)}{failed} of {asked}")
    return [f"Failed requests: {'; '.join(found)}."] if found else []


def unsent(rows):
    """Of open loops: whether the clients could not do what was meant of them."""
    bad = sum(row["sent_share"] < clients.SENT or row["load_cpu_share"] > clients.BUSY
              for row in rows)
    return [f"In {bad} of {len(rows)} rows less than {100 * clients.SENT:.0f} % of the requests "
            f"were sent in time, or the load took more than {100 * clients.BUSY:.0f} % of its CPU: "
            "they show the load, and not the server."] if bad else []


def disturbance(rows):
    foreign = [row["foreign_share"] for row in rows]
    worst = stats.percentile(foreign, 90)
    found = unsent([row for row in rows if "sent_share" in row])
    if not worst >= DISTURBED:
        return found
    return [*found, "The machine was not quiet: other processes took "
            f"{100 * stats.median(foreign):.0f} % of the server's CPU in the median leg and "
            f"{100 * worst:.0f} % or more in one leg of ten. CPU per response suffers little from "
            "it, req/s much."]
