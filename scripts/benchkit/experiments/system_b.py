"""Compression in the application by a monitor's level, beside compression in the server.

After "Automatic and Dynamic Configuration of Data Compression for Web Servers", sections 4.1 and
4.2: System-A is a module of httpd, here this one; System-B a monitor process, here elasticd, and a
plugin of PHP's, which compresses before httpd sees the page. Both have gzip 1 to 6, a static server
has 6, and all get the spike of section 5.2.
"""

import time

from benchkit import arrivals, controller, machine, plot, rounds, system_b, verdict
from benchkit.experiments import spike
from benchkit.headline import Headline
from benchkit.outcome import PAPER, Outcome
from benchkit.run import Scale, end_process
from benchkit.site import php_site, several

SUMMARY = "a spike of 69 %: this module, and elasticd with PHP's plugin in its place"
SOURCE = f"{PAPER}, sections 4.1, 4.2 and 5.2"
THERE = {"": "figure 8, of System-A alone: the static server's latency rises in the attack and "
             "stays high; the elastic level falls to the lowest. System-B has a diagram of its "
             "parts (figure 6b) and no figures"}
FIXED = "the same pages, arrivals and PHP for all three, gzip 1 to 6, how long a client waits"

SCALES = {"smoke": Scale(1, 0.3), "quick": Scale(4, 2.5), "full": Scale(10, 6, least=3)}
SECONDS = {"smoke": 8, "quick": 150, "normal": 280, "full": 560}
ALONE = ("quick",)

HEADLINE = Headline(
    "Does compression in PHP by elasticd's level come through a spike as the module does?",
    "Yes, its median latency is half of the static server's or less.",
    "No, it takes more than half of the static server's.",
    "elasticd and PHP: median latency in the attack")

STATIC, MODULE, PLUGIN = "static 6", "System-A: the module", "System-B: elasticd and PHP"
COLOURS = {STATIC: plot.IDENTITY, MODULE: plot.KEPT, PLUGIN: plot.GZIP}
FLOOR, CEILING = 1, spike.CEILING
BEFORE, AFTER = 1.0, 1.0  # to the attack's length


class Systems:
    """The three, which serve the same pages of one php-fpm."""

    def __init__(self, run):
        self.run = run
        self.dynamic = php_site(run)
        self.interval = spike.interval_of(run.scale.seconds)

    def replay(self, name, times):
        """(what became of the arrivals, [(seconds since the epoch, level)])."""
        timeout = spike.TIMEOUT * self.run.scale.seconds
        if name == PLUGIN:
            return self._replay_plugin(times, timeout)
        levels = (f"ElasticLevel gzip {FLOOR} {CEILING}\n" if name == MODULE else
                  f"ElasticLevel gzip {CEILING} {CEILING}\n")
        httpd = self.dynamic.serve(controller.settings("mix" if name == MODULE else "off", levels,
                                                       self.interval))
        seen = self.dynamic.replay(httpd, times, timeout)
        return seen, [(one.at, one.level) for one in self.dynamic.logged(httpd)]

    def _replay_plugin(self, times, timeout):
        daemon = system_b.Elasticd(self.run, self.interval)
        site = system_b.plugin_site(self.run, self.dynamic, daemon, FLOOR, CEILING)
        httpd = site.start("", site.modules, elastic=False)  # it compresses nothing itself
        with system_b.Trace(daemon, FLOOR, CEILING, time.time) as trace:
            seen = site.replay(httpd, times, timeout)
        httpd.stop()
        end_process(daemon.process)
        return seen, trace.levels


def measure(run, systems):
    """(rows of each system, phase and round, points over time of the last round)."""
    seconds = run.scale.seconds
    total = seconds * (BEFORE + 1 + AFTER)
    curve = arrivals.spike(BEFORE, 1, AFTER)
    spans = spike.phases(total, curve)
    calibrated = systems.dynamic.serve(controller.pinned("gzip", CEILING))
    rows, over_time, capacity = [], {}, {}
    for number, name in rounds.interleaved(run, COLOURS, is_enough=lambda: HEADLINE.is_narrow(
            judge(rows))):
        if number not in capacity:
            capacity[number] = systems.dynamic.capacity(calibrated, min(2, seconds))
        times = arrivals.poisson(curve, spike.NEAR * capacity[number], total, seed=number)
        seen, levels = systems.replay(name, times)
        rows += [{"round": number, "system": name, "capacity": round(capacity[number], 1), **row}
                 for row in spike.rows_of(seen, levels, spans, times)]
        over_time[name] = spike.points_of(seen, levels, total)
    calibrated.stop()
    return rows, over_time


def judge(rows):
    attack = [row for row in rows if row["phase"] == "attack"]
    found = []
    for name in (PLUGIN, MODULE):
        found += [
            verdict.compare(f"{name}: median latency in the attack, to the static server's", attack,
                            ({"system": name}, {"system": STATIC}), "p50_ms",
                            "it serves on, where the static one is saturated", below=0.5),
            verdict.every_round(f"{name}: the level in the attack falls to {spike.LOW} or below",
                                [row["level_least"] for row in attack if row["system"] == name],
                                "level 1", below=spike.LOW + 0.5, origin=verdict.loosened(
                                    verdict.SOURCE, "1", "how far it must fall depends on what "
                                    "the levels cost"))]
    before = [row for row in rows if row["phase"] == "before"]
    return found + [verdict.compare(
        f"{PLUGIN}: CPU before the attack, to that of {MODULE}", before,
        ({"system": PLUGIN}, {"system": MODULE}), "cpu_share", "more flexible, and more complex",
        below=1.25)]


def run(run):
    systems = Systems(run)
    rows, over_time = measure(run, systems)
    run.save_table("", rows)
    run.save_medians("summary", rows, ("system", "phase"),
                     ("failed_share", "p50_ms", "p95_ms", "level", "cpu_share"))
    run.save_table("time", [{"system": name, **row} for name, points in over_time.items()
                            for row in points])
    spike.draw(run, over_time, COLOURS)
    text = (f"{machine.heading(run, 'h2load', 'php-fpm')}\n"
            f"Level {CEILING} in the module is saturated by "
            f"{several({row['capacity'] for row in rows})} pages of 120 KB a second; the load is "
            f"{100 * spike.NEAR:.0f} % of that, and {arrivals.ATTACK} times as much in the attack, "
            f"which lasts {run.scale.seconds:g} s. The CPU of php-fpm, httpd and elasticd is "
            f"counted. Both controllers are in mode mix, their interval is "
            f"{1000 * systems.interval:.0f} ms; System-B's httpd has no compression of its own.")
    return Outcome(text, verdict.unless_busy(judge(rows), rows), HEADLINE,
                   [*rounds.failures(rows, "system"), *rounds.disturbance(rows)])
