"""The controller's modes on a real httpd: spikes, a day, a steady load, goals, and their overhead.

Beside step, which is the method of "Automatic and Dynamic Configuration of Data Compression for Web
Servers", stand the modes that know what setups cost; and mod_deflate at a fixed level.
"""

from __future__ import annotations

import dataclasses

from benchkit import corpus, fpm, machine, plot, replay, run, verdict, web
from benchkit.modes import controller, controller_overhead, days, goals, spikes, steady_state
from benchkit.outcome import Outcome
from benchkit.site import ELASTIC, GZIP_ONLY, Files, Generator, Site, several

SUMMARY = "the controller's modes: spikes, a day, a steady load, goals, and the controller's overhead"
SOURCE = ("“Automatic and Dynamic Configuration of Data Compression for Web Servers”, sections 4.1, "
          "4.2, 5.2 and 5.3")


@dataclasses.dataclass(frozen=True)
class Scale(run.Scale):
    """Seconds are those of the day; rounds are of everything else."""

    days: int = 1
    attack: float = 6  # seconds: mod_deflate's clients come to wait for more than two
    after: float = 0  # seconds that it is watched for after an attack, at least
    steady_state: float = 40  # seconds of each mode at each steady load
    steady: float = 6  # seconds of each pinned level, and half of a goal's
    levels: int = 1  # the step between those that are pinned
    idle: float = 20  # seconds
    children: int = 250  # of prefork


SCALES = {"smoke": Scale(1, 0.2, only=1, attack=0.1, steady_state=0.1, steady=0.1, levels=8, idle=0.05,
                         children=4),
          "quick": Scale(1, 48, only=3, steady_state=20, steady=6, levels=2, idle=10),
          "normal": Scale(2, 240, only=3, after=spikes.BACK),
          "full": Scale(3, 240, days=3, attack=10, after=spikes.BACK, steady_state=120, steady=10)}
SECONDS = {"smoke": 9, "quick": 520, "normal": 1800, "full": 6500}
# Scales at which a run of all experiments leaves this one out: it would take up half of the time
# that is promised there, and can tell little in less.
ALONE = ("quick",)

LEVELS = 9  # of ElasticLevel's default for gzip, the widest range

ATTACK, FLOOD = 1.69, 10  # times what saturates mod_deflate: the source's spike, and a larger one

# Of the flood: large enough that it is the codec that the CPU is busy with. Ten times what
# saturates mod_deflate is about what the floor can serve, so what is beyond goes out as it is.
FILE_BYTES = 300 * corpus.KB
BYPASS = "ElasticBypass 95\n"
FLOOD_LENGTH = 0.5

PAGE_BYTES = 60 * corpus.KB  # of the goals, at most
GOAL_LEAST = 8000  # bytes of the shortest page: bodies of one length know only nine times

# Of the time that the run takes, about.
SHARES = {"spike": 0.15, "flood": 0.15, "day": 0.35, "steady state": 0.2, "goals": 0.1, "controller overhead": 0.05}


def steps(run):
    """For each part, a function that says how much of it is done."""
    found, before = {}, 0.0
    for name, share in SHARES.items():
        found[name] = lambda of_part, before=before, share=share: run.done(before + share * of_part)
        before += share
    return found


def spike_servers(run):
    return ("mod_deflate", *spikes.MODES) if run.scale.only != 1 else ("mod_deflate", "predict")


def day_servers(run):
    return list(days.VARIANTS)[:max(run.scale.only, 2) if run.scale.only else None]


def draw(run, over_time):
    loads = list(dict.fromkeys(row["load"] for row in over_time))
    with plot.figure(run, f"{run.name}-spikes", 2 * len(loads), width=14, height=3.4) as axes:
        for number, load in enumerate(loads):
            latency, position = axes[2 * number:2 * number + 2]
            for name, colour in spikes.COLOURS.items():
                rows = [row for row in over_time if (row["load"], row["server"]) == (load, name)]
                at = [row["at_s"] for row in rows]
                latency.plot(at, [row["p50_ms"] for row in rows], color=colour, label=name)
                position.step(at, [row["position"] for row in rows], where="post", color=colour)
            latency.set_ylabel("median latency, ms")
            latency.set_yscale("log")
            position.set_ylabel("position")
            for one in (latency, position):
                one.set_title(load)
                one.set_xlabel("seconds")
        axes[0].legend()


def describe(workload, rates):
    fits = ("" if rates.peak > 0.999 * workload.height * rates.stock else
            f", where {workload.height:g} times would be more than the floor can serve")
    if workload.bypass:
        fits = f"; {workload.bypass.strip()} lets go as they are what the floor cannot serve"
    return (f"{workload.name}: mod_deflate {spikes.STOCK_LEVEL} is saturated by {rates.stock:.0f} "
            f"pages a second, the ceiling by {rates.ceiling:.0f}, the floor by {rates.floor:.0f}; "
            f"the load goes from {rates.base:.0f} to {rates.peak:.0f}, "
            f"{rates.peak / rates.stock:.2f} times what saturates mod_deflate{fits}.")


def workloads(run):
    page = corpus.document(FILE_BYTES, run)
    run.corpora.append(web.composition("file", [page], corpus.document_origin(run)))
    site = Site(run)
    return site, (spikes.Workload("php-fpm", site, ATTACK, days.GZIP, GZIP_ONLY),
                  spikes.Workload("files", Files(run, page), FLOOD, days.ALL, ELASTIC, BYPASS,
                                  FLOOD_LENGTH))


def save_spikes(run, rows, over_time):
    run.save_table(f"{run.name}-spikes", rows)
    run.save_table(f"{run.name}-spikes-time", over_time)
    draw(run, over_time)


def run(run):
    site, loads = workloads(run)
    done = steps(run)
    rows, over_time, texts = [], [], []
    for part, workload in zip(("spike", "flood"), loads):
        found, points, rates = spikes.measure(run, workload, spike_servers(run), run.scale.attack,
                                              done[part])
        rows, over_time = rows + found, over_time + points
        texts.append(describe(workload, rates))
    save_spikes(run, rows, over_time)
    hours, whole, capacities = days.measure(run, site, day_servers(run), run.scale.seconds,
                                            run.scale.days, done["day"])
    run.save_table(f"{run.name}-day", hours)
    run.save_table(f"{run.name}-days", whole)
    days.draw(run, f"{run.name}-day", hours)
    generator = Generator(run, corpus.document(PAGE_BYTES, run), GOAL_LEAST)
    steady = steady_state.measure(run, generator, run.scale.steady_state, done["steady state"])
    run.save_table(f"{run.name}-steady-state", steady)
    reached = goals.measure(run, generator, run.scale.steady, goals.LEVELS[::run.scale.levels],
                            done["goals"])
    run.save_table(f"{run.name}-goals", reached)
    idle = controller_overhead.measure(run, run.scale.idle, run.scale.children, done["controller overhead"])
    run.save_table(f"{run.name}-controller-overhead", idle)
    void = [row for row in rows + whole if row["sent_share"] < replay.SENT]
    return Outcome(
        f"modes. {machine.describe(run, 'h2load', 'php-fpm')}\n"
        f"Pages of {fpm.PAGE_BYTES // corpus.KB} KB from php-fpm; a file of "
        f"{FILE_BYTES // corpus.KB} KB; the interval is "
        f"{1000 * controller.INTERVAL:.0f} ms, in the day "
        f"{1000 * days.interval_of(run.scale.seconds):.0f} ms. A spike lasts {run.scale.attack:g} s, "
        f"the flood {FLOOD_LENGTH * run.scale.attack:g}. "
        + "\n".join(texts) +
        f"\nThe day is 24 hours in {run.scale.seconds:g} s; its peak is {100 * days.PEAK:.0f} % of "
        f"the {several(capacities)} pages a second that {days.STATIC} has CPU for, "
        "measured before each.\n"
        f"Passes of which less than {100 * replay.SENT:.0f} % of the schedule was sent in time, "
        f"and which are void: {len(void)}.\n" + controller_overhead.sentence(idle),
        [*verdict.unless_busy(spikes.judge(rows, LEVELS), rows),
         *verdict.unless_busy(days.judge(whole, run.scale.seconds), whole),
         *verdict.unless_busy(steady_state.judge(steady), steady),
         *goals.judge(reached), *controller_overhead.judge(idle)],
        {"spikes": f"{run.name}-spikes", "days": f"{run.name}-days",
         "steady loads": f"{run.name}-steady-state", "goals and pinned levels": f"{run.name}-goals",
         "idle servers": f"{run.name}-controller-overhead"},
        {"spikes: latency and position": f"{run.name}-spikes",
         "a day: position, CPU and latency": f"{run.name}-day"})
