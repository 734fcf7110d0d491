"""Pages that were seen before are not encoded again: what the cache of encodings gives and costs.

Proxied pages of 120 KB, a visitor's own: one again and again, a hundred in turn, no two alike; many
clients at once on a new one; more bodies than the cache holds; what idle CPU time makes smaller.
"""

import dataclasses

from benchkit import machine, overhead, plot, rounds, stats
from benchkit import run as runs
from benchkit.headline import Headline
from benchkit.once import churn, cost, crowd, improve
from benchkit.once.origin import IDENTITY, PAGE_BYTES, SETUPS, STOCK, Origin
from benchkit.outcome import Outcome

SUMMARY = "encodings that are used again: CPU, requests a second, hits, bytes after idle time"
SOURCE = ""
FIXED = "pages of 120 KB, their origin, the clients; gzip at level 6 on both sides"


@dataclasses.dataclass(frozen=True)
class Scale(runs.Scale):
    """And how much each of the other parts does."""

    bodies: int = 0
    requests: int = 0
    store_bytes: int = 0
    hot_pages: int = 0
    idle_seconds: float = 0


KB = 1024
SCALES = {
    "smoke": Scale(1, 0.02, bodies=200, requests=600, store_bytes=512 * KB, hot_pages=1,
                   idle_seconds=1),
    "quick": Scale(6, 0.12, bodies=3000, requests=12000, store_bytes=1024 * KB, hot_pages=5,
                   idle_seconds=12),
    "full": Scale(20, 0.3, bodies=8000, requests=40000, store_bytes=2048 * KB, hot_pages=10,
                  idle_seconds=30, least=5),
}
SECONDS = {"smoke": 10, "quick": 75, "normal": 250, "full": 400}
ALONE = ("quick",)

HEADLINE = Headline(
    "Does a page that was seen before cost a thirtieth of mod_deflate's CPU?",
    "Yes, 0.03 of it or less.", "No, more than 0.03 of it.",
    "one page, gzip, cache: CPU beyond identity's")

COLOURS = {IDENTITY: plot.IDENTITY, STOCK: plot.BR, "gzip": plot.GZIP, "gzip, cache": plot.KEPT,
           "all codings, cache": plot.THRESHOLD}


def draw(run, costed, churned, improved):
    spread = stats.intervals(costed, ("server", "pages"), (overhead.STEADY,))
    with plot.figure(run, "", "what a response costs, what is found again, what idle time makes "
                     "smaller", 3, 12, 3.8) as (costs, found, smaller):
        groups = (cost.ONE, cost.HUNDRED)
        plot.grouped_bars(costs, groups, {
            name: (COLOURS[name], [spread[name, pages][overhead.STEADY] for pages in groups])
            for name in SETUPS})
        costs.set(yscale="log", ylabel="CPU µs per response, the proxy's")
        costs.legend(fontsize=6)
        found.bar(["here", "Belady's"],
                  [100 * churned["hit_share"], 100 * churned["best_share"]],
                  color=(plot.KEPT, plot.IDENTITY))
        found.set_ylabel("% of requests found again")
        plot.grouped_bars(smaller, [row["clients"] for row in improved], {
            label: (colour, [(stats.ratio(row[key], row["stock_bytes"]),) * 3 for row in improved])
            for label, colour, key in (("at first", plot.GZIP, "first_bytes"),
                                       ("after idle time", plot.KEPT, "bytes"))})
        smaller.axhline(1, color=plot.BR, lw=1)
        smaller.set_ylabel("bytes, to mod_deflate 6's")
        smaller.legend(fontsize=6)


def run(run):
    scale = run.scale
    origin = Origin(run)
    fronts = {name: origin.front(name, setup) for name, setup in SETUPS.items()}
    run.begin_part(0.5)
    costs = cost.measure(run, origin, fronts)
    for httpd in fronts.values():
        httpd.stop()
    run.begin_part(0.1)
    crowds = crowd.measure(run, origin)
    run.begin_part(0.2)
    churned = churn.measure(run, origin, scale.bodies, scale.requests, scale.store_bytes)
    run.done(1)
    run.begin_part(0.1)
    improved = improve.measure(run, origin, scale.hot_pages, scale.idle_seconds)
    run.done(1)
    run.begin_part(0.1)
    beside = improve.beside(run, origin, scale.hot_pages)
    run.save_table("", costs)
    summary = cost.summarize(costs)
    run.save_table("summary", summary, "medians")
    run.save_table("crowd", crowds, f"{crowd.CLIENTS} clients on a new page")
    run.save_table("churn", [churned], "more bodies than the cache holds")
    run.save_table("improve", improved, "after idle time")
    run.save_table("beside", beside, "while pages are improved")
    draw(run, costs, churned, improved)
    text = "\n".join([
        machine.heading(run, "h2load"),
        f"Pages of {PAGE_BYTES // KB} KB from an origin on the load's CPU, through a proxy; the "
        "figures are the proxy's, and the requests have a cookie: what was encoded for one visitor "
        f"is for nobody else. {cost.CLIENTS} clients over HTTP/1.1. The gzip of this module is "
        "pinned to level 6; with all codings it has its defaults.",
        crowd.sentence(crowds), churn.sentence(churned), improve.sentence(improved),
        improve.sentence_beside(beside)])
    return Outcome(text, cost.judge(costs) + crowd.judge(crowds) + churn.judge(churned)
                   + improve.judge(improved) + improve.judge_beside(beside), HEADLINE,
                   [*rounds.failures([*crowds, *beside]), *rounds.remarks([*costs, churned])])
