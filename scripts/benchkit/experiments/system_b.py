"""Compression in the application by a monitor's level, beside compression in the server.

After "Automatic and Dynamic Configuration of Data Compression for Web Servers", sections 4.1 and
4.2: System-A is a module of httpd, here this one; System-B a monitor process, here elasticd, and a
plugin, here PHP's and Python's, which compresses before httpd sees the page. All have gzip 1 to 6,
a static server has 6, and all get the spike of section 5.2.
"""

import time

from benchkit import arrivals, plot, rounds, setups, site, stats, system_b
from benchkit.findings import Finding, exact, number, paired
from benchkit.results import PAPER, Outcome

TITLE = "a spike of 69 %: this module, and elasticd with a plugin in its place"
SOURCE = f"{PAPER}, sections 4.1, 4.2 and 5.2"
THERE = ("figure 8, of System-A alone: the static server's latency rises in the attack and stays "
         "high; the elastic level falls to the lowest. System-B has no figures.")
SETUP = ("The same arrivals for all servers of PHP's pages, and of Python's; the load is 85 % of "
         "what saturates level 6 in the module, and 1.69 times as much in the attack: level 6 is "
         "overrun by that. The CPU of the application, httpd and elasticd is counted.")
SECONDS = 12, 45, 100

ATTACK = 1.69  # the source's spike, to its normal demand
NEAR = 0.85  # of what saturates level 6: the normal load
CEILING = 6
TIMEOUT = 0.1  # after which a client leaves: 30 s of the source's five minutes
INTERVAL = 0.1  # seconds: the shortest that the controller's may be
BINS = 40  # of the plot
LEVELS = 1, CEILING
STATIC, MODULE, PLUGIN = "static 6", "System-A: the module", "System-B: elasticd, plugin"
PYTHON = ", Python"
STEP = setups.Setup("Elastic On\nElasticCodings gzip\nElasticControl step\n"
                    f"ElasticLevel gzip 1 {CEILING}\n"
                    f"ElasticInterval {1000 * INTERVAL:.0f}ms\n")
COLOURS = {STATIC: plot.IDENTITY, MODULE: plot.KEPT, PLUGIN: plot.GZIP,
           STATIC + PYTHON: plot.BR, PLUGIN + PYTHON: plot.CACHED}


class Systems:
    """The sites of each application, with and without the plugin."""

    def __init__(self, run):
        php = site.php(run)
        self.daemon = system_b.Elasticd(run, INTERVAL)
        python, plugin = system_b.python_sites(run, self.daemon, *LEVELS)
        self.sites = {STATIC: php, MODULE: php,
                      PLUGIN: system_b.php_plugin(php, self.daemon, *LEVELS),
                      STATIC + PYTHON: python, PLUGIN + PYTHON: plugin}

    def serve(self, name):
        """A started server of the system, of which one page was checked."""
        setup = (setups.NOTHING if name.startswith(PLUGIN) else
                 STEP if name == MODULE else setups.ours("gzip", CEILING))
        httpd = self.sites[name].serve(setup)
        self.sites[name].check(httpd, "gzip", "gzip")
        return httpd

    def replay(self, name, times, patience):
        """(what became of the arrivals, [(seconds since the epoch, level)])."""
        of, httpd = self.sites[name], self.serve(name)
        with system_b.Trace(self.daemon, *LEVELS, time.time) as trace:
            seen = site.replay(httpd, site.pages(times, of.path), patience)
        logged = of.levels(httpd)
        return seen, trace.levels if name.startswith(PLUGIN) else logged


def rows_of(seen, levels, spans):
    """A row for each phase of a replay; `levels` are (seconds since the epoch, level)."""
    return [{
        "phase": phase, "seconds": round(end - start, 2),
        "arrivals": len(seen.between(start, end)), "failed": seen.failures(start, end),
        "failed_share": round(seen.failed_share(start, end), 4),
        **{f"p{percent}_ms": seen.percentile_ms(percent, start, end) for percent in (50, 95, 99)},
        "level": stats.mean([level for at, level in levels if start <= at - seen.began < end], 2),
        "cpu_share": seen.cpu_share(start, end), **seen.conditions()}
            for phase, (start, end) in spans.items()]


def points_of(seen, levels, total):
    """The same over time, for the plot."""
    return [{"at_s": round(start, 3),
             "responses_per_s": round(len(seen.answered(start, end)) / (end - start), 1),
             "p50_ms": seen.percentile_ms(50, start, end),
             "level": stats.mean([level for at, level in levels
                                  if start <= at - seen.began < end], 2)}
            for start, end in arrivals.bins(total, BINS)]


def measure(run, systems):
    """(rows of each system, phase and round, points over time of the last round)."""
    length = run.pick(.3, 1.5, 4)
    spans = {name: (place * length, (place + 1) * length)
             for place, name in enumerate(("before", "attack", "after"))}
    curve, total = arrivals.spike(1, 1, 1, ATTACK), 3 * length
    rows, over_time, times = [], {}, {}
    for number, name in rounds.interleaved(run, COLOURS):
        suffix = PYTHON if name.endswith(PYTHON) else ""
        if (number, suffix) not in times:
            httpd = systems.serve(STATIC + suffix)
            rate = NEAR * systems.sites[STATIC + suffix].capacity(
                httpd, [systems.sites[STATIC + suffix].path], min(1, length))
            httpd.stop()
            times[number, suffix] = arrivals.poisson(curve, rate, total, seed=number)
        seen, levels = systems.replay(name, times[number, suffix], TIMEOUT * length)
        rows += [{"round": number, "system": name, **row}
                 for row in rows_of(seen, levels, spans)]
        over_time[name] = points_of(seen, levels, total)
    return rows, over_time


def find(rows):
    attack = [row for row in rows if row["phase"] == "attack"]
    lost = {name: stats.median(row["failed_share"] for row in attack if row["system"] == name)
            for name in COLOURS}
    found = [Finding(key, f"share of the attack's requests that are lost, {name}; of {other}, "
                     f"{number(lost[other])}", exact(lost[name]),
                     "it serves on, where the static one is overrun")
             for key, name, other in (("php", PLUGIN, STATIC), ("module", MODULE, STATIC),
                                      ("python", PLUGIN + PYTHON, STATIC + PYTHON))]
    return found + [Finding("cpu", f"CPU before the attack, {PLUGIN} to {MODULE}", paired(
        [row for row in rows if row["phase"] == "before"], {"system": PLUGIN}, {"system": MODULE},
        "cpu_share"))]


def draw(run, over_time):
    def curves(key, step=False):
        return [plot.Curve([row["at_s"] for row in over_time[name]],
                           [row[key] for row in over_time[name]], name, colour, step=step)
                for name, colour in COLOURS.items()]

    plot.panels(run, "", "demand met, latency and level over time (last round)", "seconds", [
        plot.Panel("arrivals answered, per second", curves("responses_per_s")),
        plot.Panel("median latency, ms", curves("p50_ms"), log=True),
        plot.Panel("gzip level", curves("level", step=True),
                   limits={"bottom": 0, "top": CEILING + 0.5})])


def run(run):
    rows, over_time = measure(run, Systems(run))
    run.save_table("", rows)
    run.save_medians("summary", rows, ("system", "phase"),
                     ("failed_share", "p50_ms", "p95_ms", "level", "cpu_share", "sent_share",
                      "load_cpu_share"))
    draw(run, over_time)
    good, unsent = rounds.sent(rows)
    return Outcome(find(good), "php", "Compression in PHP by elasticd's level loses {here} "
                   "of the attack's requests.",
                   conditions=[*unsent, *rounds.remarks(rows, "system")], tools=("php-fpm",))
