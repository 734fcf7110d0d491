"""A leg under a load of visits: what went over the wire, and when it would have arrived.

A response's total time is its latency, which is measured, and the time that its bytes take on the
client's wire, 8 × bytes / R: one replay serves every R. What was not answered in time counts as the
time after which its client left, and as many bytes as the others' mean.
"""

import dataclasses

from benchkit import clients, rounds, sample, stats
from benchkit.frontier import legs, pages

RATES = (5, 20, 100)  # Mbit/s of the client's wire
FIGURES = ("mean", "p50", "p95")
WARM = 0.4  # seconds until what a fixed setup has in its queue is as at any time
OVERRUN = 0.1  # a share of the visits: a leg that has lost it is overrun by higher loads, too


def column(figure, rate):
    """The column of a figure of the total time at a rate, in ms."""
    return f"{figure}_ms_at_{rate}"


def figures_of(results, patience):
    """Bytes, latencies and total times of visits' results."""
    sizes = [one.bytes for one in results if not one.lost]
    mean_bytes = stats.mean(sizes, 1)
    latencies = [min(one.seconds, patience) for one in results]
    found = {"visits": len(results), "lost": sum(one.lost for one in results), "bytes": mean_bytes,
             **summary("latency_{}_ms", latencies)}
    for rate in RATES:
        totals = [latency + 8e-6 * (mean_bytes if one.lost else one.bytes) / rate
                  for one, latency in zip(results, latencies)]
        found |= summary(f"{{}}_ms_at_{rate}", totals)
    return found


def summary(form, seconds):
    return {form.format("mean"): stats.mean([1e3 * one for one in seconds], 3),
            **{form.format(f"p{percent}"): round(1e3 * stats.percentile(seconds, percent), 3)
               for percent in (50, 95)}}


@dataclasses.dataclass(frozen=True)
class Demand:
    """What is asked for: the same of all legs."""

    kind: str  # of pages
    rate: float  # visits a second
    warm: float  # seconds that an adaptive leg has of it before it counts
    seconds: float  # that count
    seed: int

    def visits(self, warm):
        """Those of the last `warm` seconds before it counts, at most, and those that count."""
        before = max(0.0, self.warm - warm)
        return [dataclasses.replace(one, at=one.at - before) for one in pages.visits(
            self.kind, self.rate, self.warm + self.seconds, self.seed) if one.at >= before]


def one_pass(leg, server, demand):
    """({column: figure} of one leg, the same for each size of page)."""
    warm = demand.warm if leg.adaptive else min(WARM, demand.warm)
    sent = demand.visits(warm)
    seen = clients.replay(server, sent, {"Accept-Encoding": leg.accept}, clients.PATIENCE)
    here = seen.between(warm, warm + demand.seconds)
    row = {**figures_of(here, clients.PATIENCE), **seen.conditions(),
           "cpu_share": seen.cpu_share(warm, warm + demand.seconds)}
    by_size = [{"size_kb": size, **figures_of([
        one for one in here if pages.size_of(one.visit.path) == size], clients.PATIENCE)}
        for size, _ in pages.SIZES]
    return row, by_size


def relieve(server):
    """A new start for a server with requests that nobody waits for."""
    server.stop()
    server.start()
    sample.wait_until_idle(server.pids)


def in_order(served):
    """Fixed legs on both sides of the adaptive ones, which thus see this load before they have it,
    whether the order is this or the reverse.
    """
    fixed = [one for one in served if not one[0].adaptive]
    half = len(fixed) // 2
    return [*fixed[:half], *(one for one in served if one[0].adaptive), *fixed[half:]]


def measure(run, servers, cases, is_enough=lambda rows: False):
    """(rows of each leg, load and round; the same by size of page; CPU ms a page of each kind).

    `servers` is {name: (leg, server)}; `cases` are (kind of page, load), loads from low to high.
    """
    rows, by_size, costs, overrun = [], [], {}, {}
    calibrated = servers[legs.IDENTITY.name][1]
    for number, (kind, load) in rounds.interleaved(
            run, cases, is_enough=lambda: is_enough(rows)):
        if (number, kind) not in costs:
            # Anew for each round: a load is a share of what the machine can do at that time.
            costs[number, kind] = pages.seconds_of_a_page(
                calibrated, kind, legs.IDENTITY.accept, run.scale.calibration, number)
        rate = load / costs[number, kind]
        demand = Demand(kind, rate, run.scale.warm, run.scale.seconds,
                        1000 * number + 10 * cases.index((kind, load)))
        ordered = in_order(servers.values())
        for leg, server in ordered if number % 2 else reversed(ordered):
            if load > overrun.get((leg.name, kind), 1):
                continue
            labels = {"round": number, "pages": kind, "load": load, "leg": leg.name,
                      "family": leg.family, "clients": " ".join(leg.clients),
                      "rate": round(rate, 1)}
            row, sizes = one_pass(leg, server, demand)
            rows.append({**labels, **row})
            by_size += [{**labels, **one} for one in sizes]
            if row["lost"]:
                relieve(server)
            if row["lost"] > OVERRUN * row["visits"] and leg.family != legs.DEFAULT:
                overrun[leg.name, kind] = min(load, overrun.get((leg.name, kind), 1))
    return rows, by_size, {kind: round(1e3 * stats.median(
        one for (_, of), one in costs.items() if of == kind), 3) for _, kind in costs}
