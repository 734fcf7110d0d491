"""Compression in the application by a monitor's level (System-B: elasticd and a plugin), beside
compression in the server (System-A: this module)."""

import contextlib
import pathlib
import struct
import time

from benchkit import arrivals, fpm, plot, rounds, sample, setups, site, spikes, tools
from benchkit.findings import compare
from benchkit.results import PAPER, Outcome

TITLE = "a spike of 69 %: this module, and elasticd with a plugin in its place"
SOURCE = f"{PAPER}, sections 4.1, 4.2 and 5.2"
THERE = ("figure 8, of System-A alone: the static server's latency rises in the attack and stays "
         "high; the elastic level falls to the lowest. System-B has no figures.")
SETUP = ("The same arrivals of pages of php-fpm for all servers; the load is 85 % of what saturates "
         "level 6 in the module, and 1.69 times as much in the attack: level 6 is overrun by that. "
         "The CPU of the application, httpd and elasticd is counted.")
SECONDS = 12, 30, 250

AFTER = 1.0  # relative to the attack's length
LEVELS = 1, spikes.CEILING
STATIC, MODULE, PLUGIN = "static 6", "System-A: the module", "System-B: elasticd, plugin"
COLOURS = {STATIC: plot.IDENTITY, MODULE: plot.KEPT, PLUGIN: plot.GZIP}

POLL = 0.05  # seconds between two reads of the position
PATIENCE = 15  # seconds to wait for a process
FIELDS = struct.Struct("<8sIIQHHH")  # the file's beginning: docs/internals/control.md

PHP = """<?php
require '{plugin}';
elastic_start('{path}', {floor}, {ceiling});
require __DIR__ . '/page.php';
"""


class Elasticd:
    """An elasticd of the run on the server's CPU, whose load it watches."""

    def __init__(self, run, interval):
        folder = run.folder(run.new_name("elasticd"))
        folder.chmod(0o755)
        self.path = folder / "elastic.position"
        # Children of another user read the file.
        self.process = run.start_until(
            lambda _: self.share() is not None,
            [tools.elasticd(), "--foreground", "--file", str(self.path), "--control", "step",
             "--interval", f"{1000 * interval:.0f}ms", "--nice", "-5"], folder / "output.log",
            PATIENCE)

    def share(self):
        """Its place between floor and ceiling, 0 to 1; None if nothing is published."""
        with contextlib.suppress(OSError, struct.error):
            fraction, whole, top = FIELDS.unpack(self.path.read_bytes()[:FIELDS.size])[4:7]
            return (whole + fraction / 65536) / top if top else 1.0
        return None


def trace(daemon, floor, ceiling, levels):
    """For a block: adds (seconds since the epoch, level) to the levels."""

    def look():
        share = daemon.share()
        if share is not None:
            levels.append((time.time(), floor + share * (ceiling - floor)))

    return sample.watch(POLL, look)


def php_plugin(dynamic, daemon, floor, ceiling):
    """The pages of site.php(), compressed by the plugin."""
    plugin = pathlib.Path(dynamic.folder) / "elastic.php"  # readable by php-fpm's user
    plugin.write_bytes((tools.ROOT / "plugins" / "php" / "elastic.php").read_bytes())
    (dynamic.folder / "plugin.php").write_text(PHP.format(
        plugin=plugin, path=daemon.path, floor=floor, ceiling=ceiling), encoding="utf-8")
    return site.Site(dynamic.run, dynamic.folder, "/plugin.php",
                     fpm.SNIPPET.format(socket=fpm.socket_of(dynamic.run)),
                     [*dynamic.helpers, daemon.process.pid])


def measure(run):
    """(rows of each system, phase and round, points over time of the last round)."""
    length = run.pick(.3, 1.5, 4)
    spans = spikes.phases(length, AFTER)
    total = spans["after"][1]
    curve = arrivals.spike(1, 1, AFTER, spikes.ATTACK)
    php, daemon = site.php(run), Elasticd(run, spikes.INTERVAL)
    ways = {STATIC: (php, setups.ours("gzip", spikes.CEILING)),
            MODULE: (php, setups.step(spikes.CEILING, spikes.INTERVAL)),
            PLUGIN: (php_plugin(php, daemon, *LEVELS), setups.NOTHING)}

    def serve(name):
        of, setup = ways[name]
        httpd = of.serve(setup)
        of.check(httpd, "gzip", "gzip")
        return httpd

    rows, over_time, times = [], {}, {}
    for number, name in rounds.interleaved(run, COLOURS):
        if number not in times:
            httpd = serve(STATIC)
            rate = spikes.NEAR * php.capacity(httpd, [php.path], min(1, length))
            httpd.stop()
            times[number] = arrivals.poisson(curve, rate, total, seed=number)
        (of, _), httpd, levels = ways[name], serve(name), []
        with trace(daemon, *LEVELS, levels):
            seen = site.replay(httpd, site.pages(times[number], of.path),
                               spikes.TIMEOUT * length)
        logged = [(one.at, one.level) for one in of.logged(httpd)]
        levels = levels if name == PLUGIN else logged
        rows += [{"round": number, "variant": name, **row}
                 for row in spikes.rows_of(run, seen, levels, spans)]
        over_time[name] = spikes.points_of(seen, levels, total)
    return rows, over_time


def run(run):
    rows, over_time = measure(run)
    unsent = spikes.save(run, rows, over_time, COLOURS)
    return Outcome("php", "Requests of the attack that are lost with compression in PHP by "
                   "elasticd's level: {here}.", conditions=[
                       *unsent, *rounds.remarks(rows, "variant")], tools=("php-fpm",))


summaries = spikes.summaries


def find(tables):
    good, _ = rounds.sent(tables[""])
    attack = [row for row in good if row["phase"] == "attack"]
    there = "it serves on, where the static one is overrun"
    return [
        *spikes.beside("php", attack, PLUGIN, STATIC, there),
        *spikes.beside("module", attack, MODULE, STATIC, there),
        compare([row for row in good if row["phase"] == "before"], "cpu",
                f"CPU before the attack, {PLUGIN} to {MODULE}", {"variant": PLUGIN},
                {"variant": MODULE}, "cpu_share")]
