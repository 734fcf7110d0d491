"""A fleet: elastic servers beside static ones, and encodings that servers share.

After "Automatic and Dynamic Configuration of Data Compression for Web Servers", figure 7 and
section 5.2: a balancer gives some servers, which are elastic, more requests than others. Simulated
from costs that are measured here, for 2 to 100 servers. What the simulation says of stores is
compared with three real httpds and one redis.
"""

import dataclasses
import itertools

from benchkit import arrivals, codecs, machine, plot, rounds, stats, verdict
from benchkit import run as runs
from benchkit.fleet import real, simulate
from benchkit.fleet.simulate import ELASTIC, NONE, OWN, SHARED, STATIC
from benchkit.headline import Headline
from benchkit.once import churn
from benchkit.once.origin import KB, PAGE_BYTES, Origin
from benchkit.outcome import PAPER, Outcome
from codeckit import engines

SUMMARY = "a fleet, simulated and real: elastic beside static servers, one store for all"
SOURCE = f"{PAPER}, figure 7 and section 5.2"
THERE = {"": "figure 7b, a diagram of the balancer's weights: w_s for each standard server, w_e "
             "for each elastic one. No figures by weight or by servers"}
FIXED = "the trace of requests, the measured costs of a page, the balancer's rule"


@dataclasses.dataclass(frozen=True)
class Scale(runs.Scale):
    """`seconds` are those of the simulated attack."""

    bodies: int = 0
    requests: int = 0
    fleets: tuple = ()  # how many servers are simulated


SCALES = {
    "smoke": Scale(1, 10, bodies=40, requests=150, fleets=(2, 3)),
    "quick": Scale(4, 60, bodies=1000, requests=6000, fleets=(2, 3, 10, 30, 100)),
    "full": Scale(12, 120, bodies=2500, requests=15000, fleets=(2, 3, 10, 30, 100), least=4),
}
SECONDS = {"smoke": 6, "quick": 90, "normal": 230, "full": 260}
ALONE = ("quick",)

HEADLINE = Headline(
    "Does a store that servers share save encodings over one for each of them?",
    "Yes, three servers make fewer than 0.8 of them.", "No, 0.8 of them or more.",
    "httpds with one redis: encodings, to those with a store each")

MIXED = 10  # servers of figure 7's fleet, of which half are elastic
WEIGHTS = (1, 1.25, 1.5, 1.75, 2, 2.5)  # w_e to w_s
SPIKE_BEFORE, SPIKE_AFTER = 0.5, 0.5  # to the attack's length
NEAR = 0.85  # of what saturates a static server's level, the normal load for it
TIMEOUT = 5.0  # seconds: a user would have left
ENCODED_AGAIN = 20  # times that the body is encoded to find out what that takes
STORED = 0.5  # of the bodies are what each store has room for
AGREES = (0.9, 1.1)  # of the real fleet's encodings to the simulated one's
COLOURS = {NONE: plot.IDENTITY, OWN: plot.GZIP, SHARED: plot.KEPT, STATIC: plot.IDENTITY,
           ELASTIC: plot.KEPT}


def curves(body):
    """({level: CPU seconds}, {level: bytes}) of zlib, which mod_deflate has too."""
    engine = engines.installed()["zlib"]
    seconds, sizes = {}, {}
    for level in engine.levels:
        encoder = engine.make(level, len(body), True)
        encoder.encode(body)
        size, used = codecs.encode_all(encoder, [body] * ENCODED_AGAIN)
        seconds[level], sizes[level] = used / ENCODED_AGAIN, size // ENCODED_AGAIN
    return seconds, sizes


def costs_of(rows, body):
    """What the real fleet took for handling a page, and what zlib's levels take."""
    usec = {row["setup"]: row["cpu_usec_per_response"] for row in rows}
    seconds, sizes = curves(body)
    handling = 1e-6 * usec[real.IDENTITY]
    return simulate.Costs(handling, seconds, sizes)


def simulate_stores(run, costs, numbers):
    """A row for each number of servers and each store."""
    rows = []
    room = round(STORED * run.scale.bodies)
    for servers, store in itertools.product(run.scale.fleets, (NONE, OWN, SHARED)):
        fleet = simulate.Fleet(servers, store=store, room=room)
        served = simulate.run(fleet, costs, range(len(numbers)), numbers,
                              simulate.balance(fleet, len(numbers), seed=2))
        rows.append({"servers": servers, "store": store,
                     "encodings_per_1000": round(simulate.encodings(served), 1)})
        run.still_running()
    return rows


def simulate_spikes(run, costs):
    """A row for each weight, round and kind of server, in the attack."""
    seconds = run.scale.seconds
    total = seconds * (SPIKE_BEFORE + 1 + SPIKE_AFTER)
    curve = arrivals.spike(SPIKE_BEFORE, 1, SPIKE_AFTER)
    span = tuple(total * share for share in arrivals.above(curve, 1))
    capacity = 1 / (costs.handling + costs.encoding[6])
    rows = []
    for number, weight in rounds.interleaved(run, WEIGHTS):
        # At weight 1 each server has its normal load; a higher one takes it from the static ones.
        rate = NEAR * capacity * MIXED
        times = arrivals.poisson(curve, rate, total, seed=number)
        fleet = simulate.Fleet(MIXED, elastic=MIXED // 2, weight=weight)
        served = simulate.run(fleet, costs, times, itertools.repeat(0),
                              simulate.balance(fleet, len(times), seed=number))
        for kind in (STATIC, ELASTIC):
            members = [one for one in served if one.kind == kind
                       and span[0] <= one.at < span[1]]
            rows.append({
                "weight": weight, "kind": kind, "round": number, "requests": len(members),
                "failed_share": round(simulate.failed_share(served, kind, span, TIMEOUT), 4),
                "p95_ms": round(1e3 * stats.percentile([one.seconds for one in members], 95), 1),
                "level": stats.mean([one.level for one in members], 2),
                "bytes": stats.mean([costs.bytes[one.level] for one in members], 0)})
    return rows


def compare(rows, costs, numbers, chosen):
    """The real rows, each with what the simulation says of the same requests."""
    found = []
    for row in rows:
        if row["setup"] == real.IDENTITY:
            continue
        fleet = simulate.Fleet(real.SERVERS, store=row["setup"], room=len(numbers))
        served = simulate.run(fleet, costs, range(len(numbers)), numbers, chosen)
        found.append({**row, "simulated_per_1000": round(simulate.encodings(served), 1)})
    return found


def judge(compared, spiked):
    encoded = {row["setup"]: row for row in compared}
    found = [verdict.exact(
        f"{real.SERVERS} httpds with one redis: encodings, to those with a store each",
        stats.ratio(encoded[SHARED]["encodings_per_1000"], encoded[OWN]["encodings_per_1000"]),
        "fewer", below=0.8)]
    low, high = AGREES
    found += [verdict.exact(
        f"{setup}: encodings of {real.SERVERS} httpds, to those of the simulation",
        stats.ratio(encoded[setup]["encodings_per_1000"], encoded[setup]["simulated_per_1000"]),
        "the same", above=low, below=high) for setup in (OWN, SHARED)]
    even = [row for row in spiked if row["weight"] == 1]
    for kind, bounds, reported in ((STATIC, {"above": 0.1}, "nearly half time out"),
                                   (ELASTIC, {"below": 0.01}, "it stays up")):
        found.append(verdict.every_round(
            f"{kind} servers of a mixed fleet: share of the attack's requests that fail",
            [row["failed_share"] for row in even if row["kind"] == kind], reported,
            origin=verdict.SOURCE, **bounds))
    return found


def draw(run, stores, spiked):
    spread = stats.intervals(spiked, ("weight", "kind"), ("failed_share",))
    with plot.figure(run, "", "encodings by servers, and failures by the balancer's weight", 2, 10,
                     3.6) as (encoded, failed):
        for store in (NONE, OWN, SHARED):
            of = [row for row in stores if row["store"] == store]
            encoded.plot([row["servers"] for row in of], [row["encodings_per_1000"] for row in of],
                         "o-", ms=4, color=COLOURS[store], label=store)
        encoded.set(xscale="log", xlabel="servers", ylabel="encodings of 1000 requests")
        encoded.set_ylim(bottom=0)
        for kind in (STATIC, ELASTIC):
            plot.Curve(WEIGHTS, [stats.scaled(spread[weight, kind]["failed_share"], 100)
                                 for weight in WEIGHTS], f"{kind} servers", COLOURS[kind],
                       "o-").draw(failed)
        failed.set(xlabel="requests for an elastic server, to those for a static one (w_e / w_s)",
                   ylabel="% of the attack's requests that fail")
        for axes in (encoded, failed):
            axes.legend()


def run(run):
    scale = run.scale
    origin = Origin(run)
    numbers = churn.trace(scale.bodies, scale.requests)
    # Another seed than the trace's, or the page would decide on the server.
    chosen = simulate.balance(simulate.Fleet(real.SERVERS), len(numbers), seed=2)
    run.begin_part(0.7)
    rows = real.measure(run, origin, real.start_fleets(run, origin), numbers, chosen)
    run.done(1)
    run.begin_part(0.3)
    costs = costs_of(rows, origin.body(real.CHECKED))
    compared = compare(rows, costs, numbers, chosen)
    stores = simulate_stores(run, costs, numbers)
    spiked = simulate_spikes(run, costs)
    run.save_table("", rows, "three httpds")
    run.save_table("compared", compared, "the same requests, simulated")
    run.save_table("stores", stores, "encodings, simulated")
    run.save_table("weights", spiked)
    run.save_medians("summary", spiked, ("weight", "kind"),
                     ("failed_share", "p95_ms", "level", "bytes"))
    draw(run, stores, spiked)
    text = "\n".join([
        machine.heading(run, "h2load", "redis-server"),
        f"{scale.requests} requests by {churn.LAW} for {scale.bodies} pages of "
        f"{PAGE_BYTES // KB} KB, at random for {real.SERVERS} httpds on one CPU, each a proxy of "
        "the same origin; the redis is on the load's CPU. Simulated servers have a CPU each; "
        f"handling takes them what identity took here, {1e6 * costs.handling:.0f} µs, and encoding "
        f"what zlib takes, {1e6 * costs.encoding[1]:.0f} µs at level 1 to "
        f"{1e6 * costs.encoding[9]:.0f} µs at level 9. Simulated stores have room for "
        f"{100 * STORED:.0f} % of the pages. Of {MIXED} servers half are elastic; the normal load "
        f"is {100 * NEAR:.0f} % of what saturates level 6, the attack {arrivals.ATTACK} times "
        f"that; whoever waits for {TIMEOUT:g} s has left."])
    return Outcome(text, judge(compared, spiked), HEADLINE, rounds.failures(rows, "setup"))
