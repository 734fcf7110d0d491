"""What idle CPU time makes smaller: bytes of pages that are asked for often, before and after."""

import time

from benchkit import rounds, stats, tools, verdict
from benchkit.once.origin import ALL_CODINGS, SETUPS, STOCK, Leg, cached
from benchkit.setups import Setup

TIMES = 12  # that each page is asked for, by each kind of client
QUIET = 6.0  # seconds in which nothing more is improved: then all is

IDLE = "ElasticIdle 10 top\n"
CLIENTS = {"gzip": "gzip", "all codings": ALL_CODINGS}
# Of mod_deflate's bytes.
WANTED = {"gzip": 0.965, "all codings": 0.86}


def bytes_of(origin, httpd, accept, pages):
    """Of all pages together, each of which is as the origin wrote it."""
    return sum(rounds.check(Leg({"accept": accept}, httpd, f"/page/{number}",
                                origin.body(f"/page/{number}"), None, accept, private=False))
               for number in range(1, pages + 1))


def wait_until_improved(run, httpd, seconds):
    """Waits for `seconds` at the most; how many there are, and the CPU time of that."""
    began = changed = time.monotonic()
    last = {}
    while time.monotonic() - began < seconds and time.monotonic() - changed < QUIET:
        time.sleep(0.5)
        run.still_running()
        now = {key: value for key, value in httpd.counters().items()
               if key in ("ElasticImproved", "ElasticImprovedUsec")}
        if now != last:
            last, changed = now, time.monotonic()
    return last, time.monotonic() - began


def measure(run, origin, pages, seconds):
    """A row for each kind of client: bytes at first, after the idle time, and mod_deflate's."""
    httpd = origin.front("improve", cached(Setup(f"Elastic On\n{IDLE}")))
    stock = origin.front("improve-stock", SETUPS[STOCK])
    rows = []
    for name, accept in CLIENTS.items():
        first = [bytes_of(origin, httpd, accept, pages) for _ in range(TIMES)][0]
        rows.append({"clients": name, "pages": pages, "first_bytes": first,
                     "stock_bytes": bytes_of(origin, stock, "gzip", pages)})
    counters, waited = wait_until_improved(run, httpd, seconds)
    if "ElasticImproved" not in counters:
        raise tools.BenchError("the module does not improve what it keeps: it has no ElasticIdle")
    for row in rows:
        row["bytes"] = bytes_of(origin, httpd, CLIENTS[row["clients"]], pages)
        row["to_stock"] = round(stats.ratio(row["bytes"], row["stock_bytes"]), 4)
        row.update(waited_s=round(waited, 1), improved=counters["ElasticImproved"],
                   improving_usec=counters["ElasticImprovedUsec"])
    for one in (httpd, stock):
        one.stop()
    return rows


def judge(rows):
    return [verdict.exact(
        f"bytes after an idle minute, for clients of {row['clients']}, to {STOCK}'s",
        row["to_stock"], f"at most {WANTED[row['clients']]}", below=WANTED[row["clients"]] + 1e-4,
        origin=verdict.AIM) for row in rows]


def sentence(rows):
    parts = [f"{row['to_stock']:.3f} of {STOCK}'s for clients of {row['clients']} "
             f"({stats.ratio(row['first_bytes'], row['stock_bytes']):.3f} before)" for row in rows]
    one = rows[0]
    return (f"{one['pages']} pages after {one['waited_s']:.0f} s without requests, "
            f"{one['improving_usec'] / 1e6:.1f} s of CPU time and {one['improved']} encodings: "
            f"{'; '.join(parts)}.")
