"""What idle CPU time makes smaller: bytes of pages that are asked for often, before and after; and
how long responses take meanwhile.
"""

import time

from benchkit import load, rounds, stats, tools, verdict
from benchkit.once.origin import ALL_CODINGS, SETUPS, STOCK, Leg, cached
from benchkit.setups import Setup

TIMES = 12  # that each page is asked for, by each kind of client
QUIET = 6.0  # seconds in which nothing more is improved, once something was: then all is

IDLE = "ElasticIdle 10 top\n"
CLIENTS = {"gzip": "gzip", "all codings": ALL_CODINGS}

WITH, WITHOUT = "on", "off"
SHARE = 0.25  # of the CPU that the load takes: what is left is spare
CLIENTS_BESIDE = 8
SECONDS_OF_ROUND = 6  # of the scale's: as long as it takes to improve some
NEW = 2000  # the number from which on each round has pages of its own
ALIKE = 1.1  # of two latencies

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
    while (time.monotonic() - began < seconds
           and not (last.get("ElasticImproved") and time.monotonic() - changed >= QUIET)):
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


def beside(run, origin, pages):
    """A row for each server and round: the latency while its pages are improved, or are not.

    Each server runs alone: what one improves must not be in the other's way.
    """
    rows = []
    rate = 0
    for number, (name, more) in rounds.interleaved(run, {WITH: IDLE, WITHOUT: ""}.items()):
        httpd = origin.front("beside", cached(Setup(f"Elastic On\n{more}")))
        leg = Leg({"idle": name}, httpd, "/page/1", origin.body("/page/1"), None, ALL_CODINGS,
                  private=False)
        for _ in range(3):
            rounds.check(leg)
        rate = rate or round(SHARE * load.count_requests(leg, 1, 1))
        first = NEW + number * pages
        seen = load.h2load(run, leg.url, leg.headers, CLIENTS_BESIDE, rate=rate,
                           seconds=SECONDS_OF_ROUND * run.scale.seconds,
                           urls=[httpd.url(f"/page/{page}")
                                 for page in range(first, first + pages)])
        counters = httpd.counters()
        httpd.stop()
        rows.append({"idle": name, "round": number, "requests": seen.requests,
                     "failed": seen.failed, "rate": rate, "p50_ms": seen.p50_ms,
                     "p95_ms": seen.p95_ms, "improved": counters.get("ElasticImproved", 0)})
    return rows


def judge_beside(rows):
    return [verdict.compare("p95 of responses while pages are improved, to that without", rows,
                            ({"idle": WITH}, {"idle": WITHOUT}), "p95_ms", "as long",
                            below=ALIKE, origin=verdict.AIM)]


def sentence_beside(rows):
    middle = stats.medians(rows, ("idle",), ("p95_ms", "improved"))
    return (f"At {rows[0]['rate']} requests a second, {SHARE:.0%} of the CPU, p95 is "
            f"{middle[WITH,]['p95_ms']:.2f} ms with ElasticIdle, which improves "
            f"{middle[WITH,]['improved']:g} encodings in a round, and "
            f"{middle[WITHOUT,]['p95_ms']:.2f} ms without.")


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
