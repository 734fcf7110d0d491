"""Compression in the application by a monitor's level, beside compression in the server.

After "Automatic and Dynamic Configuration of Data Compression for Web Servers", sections 4.1 and
4.2: System-A is a module of httpd, here this one; System-B a monitor process, here elasticd, and a
plugin, here PHP's and Python's, which compresses before httpd sees the page. All have gzip 1 to 6,
a static server has 6, and all get the spike of section 5.2.
"""

import time

from benchkit import arrivals, plot, rounds, setups, site, spikes, stats, system_b
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

LEVELS = 1, spikes.CEILING
AFTER = 1.0  # to the attack's length
STATIC, MODULE, PLUGIN = "static 6", "System-A: the module", "System-B: elasticd, plugin"
PYTHON = ", Python"
STEP = setups.Setup("Elastic On\nElasticCodings gzip\nElasticControl step\n"
                    f"ElasticLevel gzip 1 {spikes.CEILING}\n"
                    f"ElasticInterval {1000 * spikes.INTERVAL:.0f}ms\n")
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
        """A started server of the system, of which one page was checked."""
        setup = (setups.NOTHING if name.startswith(PLUGIN) else
                 STEP if name == MODULE else setups.ours("gzip", spikes.CEILING))
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
            rate = spikes.NEAR * systems.sites[STATIC + suffix].capacity(httpd, min(1, length))
            httpd.stop()
            times[number, suffix] = arrivals.poisson(curve, rate, total, seed=number)
        seen, levels = systems.replay(name, times[number, suffix], spikes.TIMEOUT * length)
        rows += [{"round": number, "system": name, **row}
                 for row in spikes.rows_of(seen, levels, spans)]
        over_time[name] = spikes.points_of(seen, levels, total)
    return rows, over_time


def find(rows):
    attack = [row for row in rows if row["phase"] == "attack"]
    found = []
    for key, name, other in (("php", PLUGIN, STATIC), ("module", MODULE, STATIC),
                             ("python", PLUGIN + PYTHON, STATIC + PYTHON)):
        found += [
            Finding(key, f"median latency in the attack, {name} to {other}", paired(
                attack, {"system": name}, {"system": other}, "p50_ms"),
                "it serves on, where the static one is overrun", (0, 1)),
            Finding(f"{key}-failed", f"share of the attack's requests that fail, {name}",
                    exact(stats.median(row["failed_share"] for row in attack
                                       if row["system"] == name)))]
    return found + [Finding("cpu", f"CPU before the attack, {PLUGIN} to {MODULE}", paired(
        [row for row in rows if row["phase"] == "before"], {"system": PLUGIN}, {"system": MODULE},
        "cpu_share"))]


def run(run):
    rows, over_time = measure(run, Systems(run))
    run.save_table("", rows)
    run.save_medians("summary", rows, ("system", "phase"),
                     ("failed_share", "p50_ms", "p95_ms", "level", "cpu_share", "sent_share",
                      "load_cpu_share"))
    spikes.draw(run, over_time, COLOURS)
    good, unsent = rounds.sent(rows)
    return Outcome(find(good), "php", "In the attack, compression in PHP by elasticd's level "
                   "answers in {here} of the static server's time; how many requests fail stands "
                   "below it.", "", [*unsent, *rounds.remarks(rows, "system")], ("php-fpm",))
