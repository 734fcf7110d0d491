"""The controller's modes on a real httpd: spikes, a day, a steady load, and their overhead.

Step and mix are the two methods of "Automatic and Dynamic Configuration of Data Compression for Web
Servers"; beside them is mod_deflate at a fixed level.
"""

from __future__ import annotations

import dataclasses

from benchkit import clients, controller, corpus, days, fpm, machine, rounds, run, verdict
from benchkit.headline import Headline
from benchkit.modes import controller_overhead, day, spikes, steady_state
from benchkit.outcome import PAPER, Outcome
from benchkit.site import (ELASTIC, GZIP_ONLY, HEADERS, file_site, generator_site, php_site,
                           several)

SUMMARY = "the controller's modes: spikes, a day, a steady load, and the controller's overhead"
SOURCE = f"{PAPER}, sections 4.1, 4.2, 5.2 and 5.3"
FIXED = "pages, arrivals and thresholds; what differs is the mode"


@dataclasses.dataclass(frozen=True)
class Scale(run.Scale):
    """Seconds are those of the day; rounds are of everything else."""

    attack: float = 6  # seconds: mod_deflate's clients come to wait for more than two
    after: float = 0  # seconds that it is watched for after an attack, at least
    steady: float = 20  # seconds of each mode at each steady load
    idle: float = 20  # seconds
    children: int = 250  # of prefork


SCALES = {"smoke": Scale(1, 0.2, only=1, attack=0.1, steady=0.1, idle=0.05, children=4),
          "quick": Scale(1, 48, only=3, idle=10),
          "full": Scale(3, 96, only=3, after=spikes.WATCHED, least=1)}
SECONDS = {"smoke": 12, "quick": 580, "normal": 885, "full": 1260}
# Scales at which a run of all experiments leaves this one out: it would take up half of the time
# that is promised there, and shows little in less.
ALONE = ("quick",)
HEADLINE = Headline("Do all modes go back to their effort within seconds of a spike?",
                    "Yes, within 10 s.", "No, not within 10 s.",
                    "seconds until every mode is back within one setup")
LEVELS = 9  # of ElasticLevel's default for gzip, the widest range
ATTACK, FLOOD = 1.69, 10  # times what saturates mod_deflate: the source's spike, and a larger one

# Of the flood: large enough that it is the codec that the CPU is busy with. Ten times what
# saturates mod_deflate is about what the floor can serve, so what is more goes out as it is.
FILE_BYTES = 300 * corpus.KB
BYPASS = "ElasticBypass 95\n"
FLOOD_LENGTH = 0.5
PAGE_BYTES = 60 * corpus.KB  # of the steady loads, at most
LEAST_BYTES = 8000  # bytes of the shortest page: bodies of one length take one of nine times


def describe(workload, rates):
    fits = ("" if rates.peak > 0.999 * workload.height * rates.stock else
            f", where {workload.height:g} times would be more than the floor can serve")
    if workload.bypass:
        fits = f"; {workload.bypass.strip()} lets go as they are what the floor cannot serve"
    return (f"{workload.name}: mod_deflate {spikes.STOCK_LEVEL} is saturated by {rates.stock:.0f} "
            f"pages a second, the ceiling by {rates.ceiling:.0f}, the floor by {rates.floor:.0f}; "
            f"the load goes from {rates.base:.0f} to {rates.peak:.0f}, "
            f"{rates.peak / rates.stock:.2f} times what saturates mod_deflate{fits}.")


def measure_spikes(run, site):
    """(rows, points over time, a sentence on each load)."""
    page = corpus.document(FILE_BYTES, run)
    run.add_corpus("file", [page], corpus.document_origin(run))
    names = (spikes.STOCK, *spikes.MODES) if run.scale.only != 1 else (spikes.STOCK, "mix")
    rows, over_time, texts = [], [], []
    for workload in (
            spikes.Workload("php-fpm", site, ATTACK, HEADERS, GZIP_ONLY),
            spikes.Workload("php-fpm at the default interval", site, ATTACK, HEADERS, GZIP_ONLY,
                            interval=controller.DEFAULT_INTERVAL),
            spikes.Workload("files", file_site(run, page), FLOOD, day.ALL, ELASTIC, BYPASS,
                            FLOOD_LENGTH)):
        run.begin_part(0.16)
        found, points, rates = spikes.measure(run, workload, names)
        rows, over_time = rows + found, over_time + points
        texts.append(describe(workload, rates))
    return rows, over_time, " ".join(texts)


def run(run):
    scale = run.scale
    site = php_site(run)
    rows, over_time, loads = measure_spikes(run, site)
    spikes.draw(run, over_time)
    run.begin_part(0.22)
    variants = dict(list(day.VARIANTS.items())[:max(scale.only, 2) if scale.only else None])
    interval = days.interval_of(scale.seconds, day.PER_HOUR)
    hours, whole = days.measure(run, site, variants, interval, days=1)
    days.draw(run, "day", "a day: position, CPU and latency", hours, variants, day.FIGURES)
    generator = generator_site(run, corpus.document(PAGE_BYTES, run), LEAST_BYTES)
    run.begin_part(0.22)
    steady = steady_state.measure(run, generator, scale.steady)
    idle = controller_overhead.measure(run, scale.idle, scale.children, 0.08)
    for part, table, caption in (
            ("spikes", rows, "spikes"), ("spikes-time", over_time, ""), ("day", hours, ""),
            ("days", whole, "days"), ("steady-state", steady, "steady loads"),
            ("controller-overhead", idle, "idle servers")):
        run.save_table(part, table, caption)
    void = [row for row in rows + whole if row["sent_share"] < clients.SENT]
    return Outcome(
        f"{machine.heading(run, 'h2load', 'php-fpm')}\n"
        f"Pages of {fpm.PAGE_BYTES // corpus.KB} KB from php-fpm; a file of "
        f"{FILE_BYTES // corpus.KB} KB; the interval is "
        f"{1000 * controller.INTERVAL:.0f} ms where it is not named, in the day "
        f"{1000 * interval:.0f} ms. A spike lasts "
        f"{scale.attack:g} s, the flood {FLOOD_LENGTH * scale.attack:g}. {loads}\n"
        f"The day is 24 hours in {scale.seconds:g} s; its peak is {100 * days.PEAK:.0f} % of the "
        f"{several([row['capacity'] for row in whole])} pages a second that {day.STATIC} has CPU "
        "for, measured before each.\n"
        f"Passes of which less than {100 * clients.SENT:.0f} % of the schedule was sent in time, "
        f"and which are void: {len(void)}.\n" + controller_overhead.sentence(idle),
        [*verdict.unless_busy(spikes.judge(rows, LEVELS), rows),
         *verdict.unless_busy(day.judge(whole, scale.seconds), whole),
         *verdict.unless_busy(steady_state.judge(steady), steady),
         *controller_overhead.judge(idle)],
        HEADLINE,
        [*rounds.failures(rows, "server"), *rounds.failures(whole, "variant"),
         *rounds.disturbance(rows + whole + steady)])
