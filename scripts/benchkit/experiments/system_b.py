"""Compression in the application by a monitor's level, beside compression in the server.

After "Automatic and Dynamic Configuration of Data Compression for Web Servers", sections 4.1 and
4.2: System-A is a module of httpd, here this one; System-B is a monitor process, here elasticd, and
a plugin, here PHP's and Python's, which compresses before httpd sees the page. All have gzip 1 to
6, a static server has 6, and all get the spike of section 5.2.
"""

import time

from benchkit import arrivals, plot, rounds, setups, site, spikes, system_b
from benchkit.findings import Finding, exact, paired
from benchkit.results import PAPER, Outcome

TITLE = "a spike of 69 %: this module, and elasticd with a plugin in its place"
SOURCE = f"{PAPER}, sections 4.1, 4.2 and 5.2"
THERE = ("figure 8, of System-A alone: the static server's latency rises in the attack and stays "
         "high; the elastic level falls to the lowest. System-B has no figures.")
SETUP = ("The same arrivals for all servers of PHP's pages, and of Python's; the load is 85 % of "
         "what saturates level 6 in the module, and 1.69 times as much in the attack: level 6 is "
         "overrun by that. The CPU of the application, httpd and elasticd is counted.")
SECONDS = 12, 45, 100

AFTER = 1.0  # relative to the attack's length
LEVELS = 1, spikes.CEILING
STATIC, MODULE, PLUGIN = "static 6", "System-A: the module", "System-B: elasticd, plugin"
PYTHON = ", Python"
COLOURS = {STATIC: plot.IDENTITY, MODULE: plot.KEPT, PLUGIN: plot.GZIP,
           STATIC + PYTHON: plot.BR, PLUGIN + PYTHON: plot.CACHED}


class Systems:
    """The sites of each application, with and without the plugin."""

    def __init__(self, run):
        php = site.php(run)
        self.daemon = system_b.Elasticd(run, spikes.INTERVAL)
        python, plugin = system_b.python_sites(run, self.daemon, *LEVELS)
        self.sites = {STATIC: php, MODULE: php,
                      PLUGIN: system_b.php_plugin(php, self.daemon, *LEVELS),
                      STATIC + PYTHON: python, PLUGIN + PYTHON: plugin}

    def serve(self, name):
        """A started server of the system, after a check of one page."""
        setup = (setups.NOTHING if name.startswith(PLUGIN) else
                 setups.step(spikes.CEILING, spikes.INTERVAL) if name == MODULE else
                 setups.ours("gzip", spikes.CEILING))
        httpd = self.sites[name].serve(setup)
        self.sites[name].check(httpd, "gzip", "gzip")
        return httpd

    def replay(self, name, times, patience):
        """(the results of the arrivals, [(seconds since the epoch, level)])."""
        of, httpd = self.sites[name], self.serve(name)
        with system_b.Trace(self.daemon, *LEVELS, time.time) as trace:
            seen = site.replay(httpd, site.pages(times, of.path), patience)
        logged = of.logged(httpd)
        return seen, (trace.levels if name.startswith(PLUGIN)
                      else [(one.at, one.level) for one in logged])


def measure(run, systems):
    """(rows of each system, phase and round, points over time of the last round)."""
    length = run.pick(.3, 1.5, 4)
    spans = spikes.phases(length, AFTER)
    total = spans["after"][1]
    curve = arrivals.spike(spikes.BEFORE, 1, AFTER, spikes.ATTACK)
    rows, over_time, times = [], {}, {}
    for number, name in rounds.interleaved(run, COLOURS):
        suffix = PYTHON if name.endswith(PYTHON) else ""
        if (number, suffix) not in times:
            httpd = systems.serve(STATIC + suffix)
            rate = spikes.NEAR * systems.sites[STATIC + suffix].capacity(
                httpd, [systems.sites[STATIC + suffix].path], min(1, length))
            httpd.stop()
            times[number, suffix] = arrivals.poisson(curve, rate, total, seed=number)
        seen, levels = systems.replay(name, times[number, suffix], spikes.TIMEOUT * length)
        rows += [{"round": number, "variant": name, **row}
                 for row in spikes.rows_of(run, seen, levels, spans)]
        over_time[name] = spikes.points_of(seen, levels, total)
    return rows, over_time


def find(rows):
    attack = [row for row in rows if row["phase"] == "attack"]
    found = []
    for key, name, other in (("php", PLUGIN, STATIC), ("module", MODULE, STATIC),
                             ("python", PLUGIN + PYTHON, STATIC + PYTHON)):
        (share, words), (_, others) = spikes.lost(attack, name), spikes.lost(attack, other)
        found.append(Finding(key, f"share of the attack's requests that are lost, {name} ({words}; "
                             f"{other}: {others})", exact(share),
                             "it serves on, where the static one is overrun"))
    return found + [Finding("cpu", f"CPU before the attack, {PLUGIN} to {MODULE}", paired(
        [row for row in rows if row["phase"] == "before"], {"variant": PLUGIN}, {"variant": MODULE},
        "cpu_share"))]


def run(run):
    rows, over_time = measure(run, Systems(run))
    run.save_table("", rows)
    run.save_medians("summary", rows, ("variant", "phase"),
                     ("failed_share", "p50_ms", "p95_ms", "level", "cpu_share", "sent_share",
                      "load_cpu_share"))
    spikes.draw(run, over_time, COLOURS)
    good, unsent = rounds.sent(rows)
    return Outcome(find(good), "php", "Compression in PHP by elasticd's level loses {here} "
                   "of the attack's requests.",
                   conditions=[*unsent, *rounds.remarks(rows, "variant")], tools=("php-fpm",))
