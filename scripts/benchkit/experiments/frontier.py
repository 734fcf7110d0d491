"""Bytes and total time of every way to compress, under loads of a CPU that makes the pages.

The question is whether an operator who pins a setup, or takes another module, does better than the
default; and at which loads, and on which wires of the clients.
"""

from __future__ import annotations

import dataclasses

from benchkit import machine, rounds, run, stats, verdict
from benchkit.frontier import cells, draw, hours, legs, pages, passes
from benchkit.headline import Headline
from benchkit.outcome import Outcome

SUMMARY = ("bytes and total time at 5, 20 and 100 Mbit/s: the default beside pinned setups, "
           "modes and other modules, at loads of 0.1 to 0.9")
SOURCE = ""
FIXED = "the same pages and arrivals for every setup; a load is a share of the CPU that makes them"


@dataclasses.dataclass(frozen=True)
class Scale(run.Scale):
    """Seconds are those of a leg at a load."""

    php: tuple = ()  # loads, from low to high
    in_process: tuple = ()
    legs: tuple = ()  # names
    warm: float = 5  # seconds that an adaptive leg gets to settle
    calibration: float = 1.5  # seconds


FEW = ("default", legs.IDENTITY.name, "gzip 1", "zstd 1", "zstd 4", "br 5", "mod_deflate 1",
       "mod_deflate 6")
SOME = (*FEW, "default, gzip", "step", "step, gzip", "mix", "gzip 3", "gzip 4", "gzip 6",
        "br 0", "br 4", "zstd 3", "zstd 6", "mod_brotli 1", "mod_brotli 5", "nginx 1", "nginx 6")
SCALES = {
    "smoke": Scale(2, 0.3, php=(0.3,), in_process=(0.3,), warm=0.1, calibration=0.1,
                   legs=("default", legs.IDENTITY.name, "gzip 1", "mod_deflate 1")),
    "quick": Scale(4, 0.6, php=(0.2, 0.5, 0.8), legs=FEW, warm=3.5, calibration=0.6),
    "full": Scale(12, 0.8, php=(0.1, 0.3, 0.5, 0.7, 0.9), in_process=(0.4,), legs=SOME,
                  warm=3, least=4)}
SECONDS = {"smoke": 6, "quick": 145, "normal": 1100, "full": 1500}

# What a row of the summary is of, and which legs that are.
FAMILIES = {legs.PINNED: "the best pinned setup", legs.OTHERS: "the best of mod_deflate, "
            "mod_brotli and nginx", legs.MODES: "the best other mode or goal"}
MBIT = 20  # of the verdicts on figures
NO_MORE = 1 + verdict.MARGIN
ORIGIN = verdict.loosened(verdict.AIM, "1", "by what two legs that do the same differ by")
HEADLINE = Headline(
    "Does the default take no longer than the setup that an operator would pin, mean at 20 Mbit/s?",
    "No longer, over all loads.", "Longer: a pinned setup is better, over all loads.",
    "clients of all codings: mean of the default's total time")
# Of the cells that may be beaten by chance: intervals of 95 % show one in forty, and cells of one
# load, which share their rounds, do so together.
CHANCE = 0.1
TRIAL = {"mean": (1.2, 1.65), "p95": (1.5, 3.3)}  # of modes, one of which is gone
WHOM = {"all": "clients of all codings", "gzip": "clients of gzip alone"}


def judge(rows, compared):
    """Verdicts on the default, beside pinned setups and beside other modules."""
    found = []
    for clients in cells.kinds_of_clients(rows):
        for family in (legs.PINNED, legs.OTHERS):
            some = [one for one in compared
                    if (one.clients, one.family) == (clients, family) and one.load != "day"]
            found.append(judge_cells(f"{WHOM[clients]}: cells of {len(some)} in which the default "
                                     f"is beaten by {FAMILIES[family]}", some))
        for figure, there in TRIAL.items():
            found.append(verdict.judge(
                f"{WHOM[clients]}: {figure} of the default's total time at {MBIT} Mbit/s, to that "
                "of the best pinned setup, over all loads",
                cells.per_round(rows, clients, legs.PINNED, MBIT, figure),
                f"{there[0]} to {there[1]} in a trial of other modes", below=NO_MORE,
                drift=verdict.NO_DRIFT, origin=ORIGIN, there=there))
    return found


def judge_cells(finding, some):
    """None is to be, but for those that chance shows."""
    reported = "none"
    origin = verdict.loosened(verdict.AIM, "0", "by what 95 % intervals show by chance")
    if not some or some[0].rounds < verdict.LEAST_ROUNDS:
        return verdict.impossible(finding, reported, "too few rounds", origin=origin)
    return verdict.exact(finding, cells.counts(some)[cells.BEATEN], reported,
                         below=max(0.5, CHANCE * len(some)), origin=origin)


def summary(rows, compared):
    """The experiment's answer, in sentences."""
    texts = []
    for clients in cells.kinds_of_clients(rows):
        for family, whom in FAMILIES.items():
            some = [one for one in compared if (one.clients, one.family) == (clients, family)]
            if some:
                texts.append(f"{WHOM[clients].capitalize()}. " + cells.sentence(
                    [one for one in some if one.load != "day"], whom))
            texts += [f"Over the day ({one.pages}), at {one.mbit} Mbit/s, the default takes "
                      f"{one.time:.2f} ({one.low:.2f} to {one.high:.2f}) times the mean of {whom} "
                      f"({one.best}) and {one.bytes:.2f} times its bytes."
                      for one in some if one.load == "day" and one.mbit == MBIT]
    return "\n".join(texts)


def compare_all(rows):
    present = [family for family in FAMILIES if any(row["family"] == family for row in rows)]
    return (cells.compare(rows, present)
            + cells.compare(hours.whole_days(rows), present, figures=("mean",)))


def describe(run, costs, notes, names):
    sizes = ", ".join(f"{size} KB ({100 * share:.0f} %)" for size, share in pages.SIZES)
    made = " and ".join(f"{cost:.2f} ms ({kind})" for kind, cost in costs.items())
    texts = [f"Pages of {sizes}; uncompressed they take {made} of CPU in the mean, which a load is "
             "the share of; set anew in each round. Arrivals are random and open, on "
             "connections as many as it takes, and the same for all legs of a round. Total time is "
             "the latency and 8 × bytes / R, of one replay for all R; what was not answered within "
             "5 s counts as 5 s and the mean's bytes. An adaptive leg has run for "
             f"{run.scale.warm:g} s at each load before it counts.",
             "The best of a family is chosen in half of the rounds and compared in the other half, "
             "and the other way round; intervals are of 95 %, over the rounds."]
    texts.append(f"Legs of this scale ({len(names)}): {'; '.join(names)}.")
    return "\n".join(texts + [f"Not measured: {note}." for note in notes])


def run(run):
    scale = run.scale
    site = pages.make(run)
    servers, notes = legs.serve_all(run, site, legs.chosen(scale.legs))
    for leg, server in servers.values():
        pages.check(leg, server)
    cases = [(kind, load) for kind, loads in zip(pages.KINDS, (scale.php, scale.in_process))
             for load in loads]
    rows, by_size, costs = passes.measure(run, servers, cases, lambda rows:
                                         HEADLINE.is_narrow(judge(rows, compare_all(rows))))
    compared = compare_all(rows)
    run.save_table("", rows)
    run.save_table("sizes", by_size)
    run.save_table("cells", [dataclasses.asdict(one) for one in compared],
                   "the default, to the best of others, cell by cell")
    run.save_medians("summary", rows, ("pages", "load", "leg"), (
        "bytes", "lost", "latency_mean_ms", *(passes.column(figure, MBIT)
                                              for figure in passes.FIGURES)))
    draw.frontiers(run, rows)
    table = hours.table(rows, "all")
    run.save_table("day", table)
    for kind, loads in zip(pages.KINDS, (scale.php, scale.in_process)):
        if len(loads) > 1:
            draw.a_day(run, table, kind)
    nginx = ["nginx"] if any(leg.nginx_level for leg, _ in servers.values()) else []
    void = stats.median(row["sent_share"] for row in rows)
    return Outcome(
        f"{machine.heading(run, 'php-fpm', *nginx)}\n{describe(run, costs, notes, list(servers))}\n"
        f"Of the visits, {100 * void:.1f} % were sent in time in the median leg.\n"
        f"{summary(rows, compared)}",
        verdict.unless_busy(judge(rows, compared), rows), HEADLINE,
        [*rounds.failures([{**row, "failed": row["lost"], "arrivals": row["visits"]}
                           for row in rows], "leg"), *rounds.disturbance(rows)])
