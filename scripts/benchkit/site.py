"""A dynamic site: an httpd with this module in front of a php-fpm, on one CPU, and its log."""

import dataclasses
import re

from benchkit import fpm, load, replay, sample, server, stats

PATH = "/page.php"

HEADERS = {"Accept-Encoding": "gzip"}

SNIPPET = """
BufferedLogs On
LogFormat "%{{msec}}t %{{elastic-level}}n %{{elastic-usec}}n %B %U" levels
CustomLog {folder}/levels.log levels
<LocationMatch "php$">
    Elastic On
    ElasticCodings gzip
</LocationMatch>
ElasticCodings gzip
"""

CALIBRATION_CLIENTS = 8


@dataclasses.dataclass(frozen=True)
class Logged:
    """A response in the server's own log."""

    at: float  # when its request came, in seconds since the epoch
    level: int
    usec: int  # in the encoder
    elapsed: bool  # whether that is time elapsed, rather than CPU time
    bytes: int
    path: str


def parse_log(text):
    rows = re.findall(r"^(\d+) (\d+) (~?)(\d+) (\d+) (\S+)$", text, re.MULTILINE)
    return [Logged(int(at) / 1e3, int(level), int(usec), mark == "~", int(size), path)
            for at, level, mark, usec, size, path in rows]


class Site:
    """php-fpm and its pages; an httpd for each way to compress them."""

    def __init__(self, run):
        self.run = run
        self.fpm = fpm.Fpm(run)
        self.folder = run.folder("php-site")
        self.fpm.fill(self.folder)
        self.fpm.start()
        self.count = 0

    def serve(self, settings):
        """A started httpd; its log is whole after stop()."""
        self.count += 1
        httpd = server.Httpd(self.run, f"httpd-{self.count}",
                             replay.SNIPPET + self.fpm.snippet + SNIPPET + settings,
                             modules=fpm.MODULES, site=self.folder)
        httpd.start()
        httpd.helpers = [self.fpm.process.pid]
        return httpd

    def capacity(self, httpd, seconds, path=PATH):
        """Responses per second that the server's CPU has time for."""
        requests = CALIBRATION_CLIENTS
        load.h2load(self.run, httpd.url(path), HEADERS, CALIBRATION_CLIENTS, requests=requests)
        # A first guess, from a cold server, says how many it takes.
        for _ in range(2):
            before = sample.cpu_seconds(httpd.pids)
            load.h2load(self.run, httpd.url(path), HEADERS, CALIBRATION_CLIENTS, requests=requests)
            used = sample.cpu_seconds(httpd.pids) - before
            rate = stats.ratio(requests, used)
            requests = max(CALIBRATION_CLIENTS, round(seconds * rate))
        return rate

    def replay(self, httpd, arrivals, timeout, path=PATH):
        """(what became of the arrivals, the server's log of them)."""
        seen = replay.replay(self.run, httpd, path, HEADERS, arrivals, timeout)
        sample.wait_until_idle(httpd.pids)
        return seen

    def logged(self, httpd):
        """Stops the server and reads its log."""
        httpd.stop()
        return parse_log((httpd.folder / "levels.log").read_text(encoding="utf-8"))
