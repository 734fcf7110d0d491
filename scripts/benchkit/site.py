"""A dynamic site: an httpd in front of a php-fpm, or of a handler, on one CPU; and its log."""

import dataclasses
import math
import re

from benchkit import (arrivals, clients, corpus, fpm, handler, load, rounds, sample, server, stats,
                      tools)

HEADERS = {"Accept-Encoding": "gzip"}
SAME = "?seed=1"  # which the log leaves out

LOG = """
BufferedLogs On
LogFormat "%{{msec}}t %{{elastic-level}}n %{{elastic-usec}}n %B %U" levels
CustomLog {folder}/levels.log levels "expr=%{{QUERY_STRING}} != 'seed=1'"
"""

# For clients of all codings; the status page stays as it is.
ELASTIC = LOG + """
<LocationMatch "^/page">
    Elastic On
</LocationMatch>
"""

GZIP_ONLY = ELASTIC + """
ElasticCodings gzip
"""

# mod_deflate notes no time.
STOCK = LOG.replace("%{{elastic-level}}n %{{elastic-usec}}n", "{level} 0") + """
<LocationMatch "^/page">
    SetOutputFilter DEFLATE
</LocationMatch>
DeflateCompressionLevel {level}
"""

CALIBRATION_CLIENTS = 8
WARM_UP = 32  # requests
TRIES = 4
WORKING = 0.6  # of capacity: a load under which a server works, and waits in between
TIMEOUT = 5.0  # seconds: a user would have left

# A child takes as many connections as there are: clients that wait have one each.
SNIPPET = "ListenBacklog 4096\nAsyncRequestWorkerFactor 1000\n"

# On one CPU more threads do nothing faster; each goes on with the body that it has begun, however
# many requests come meanwhile.
FEW_THREADS = 4


@dataclasses.dataclass(frozen=True)
class Logged:
    """A response in the server's own log."""

    at: float  # when its request came, in seconds since the epoch
    level: int
    usec: int  # in the encoder
    elapsed: bool  # whether that is time elapsed, rather than CPU time
    bytes: int
    path: str


def several(counts):
    """What each round has another count of, for a sentence."""
    low, high = f"{min(counts):.0f}", f"{max(counts):.0f}"
    return low if low == high else f"{low} to {high}"


def parse_log(text):
    rows = re.findall(r"^(\d+) (\d+) (~?)(\d+) (\d+) (\S+)$", text, re.MULTILINE)
    return [Logged(int(at) / 1e3, int(level), int(usec), mark == "~", int(size), path)
            for at, level, mark, usec, size, path in rows]


class Site:
    """A folder that an httpd serves, one for each way to compress it.

    With the query SAME, the page at `path` is the same each time. `options` are those of the httpd.
    """

    def __init__(self, run, folder, path, snippet="", modules=(), helpers=(), **options):
        self.run, self.folder, self.path = run, folder, path
        self.snippet, self.modules, self.helpers = snippet, modules, helpers
        self.options = options

    def serve(self, settings, snippet=GZIP_ONLY, **options):
        """A started httpd with this module; its log is whole after stop()."""
        return self.start(snippet + settings, self.modules, **options)

    def serve_stock(self, level):
        """A started httpd with mod_deflate in this module's place."""
        return self.start(STOCK.replace("{level}", str(level)),
                          (*self.modules, "filter", "deflate"), elastic=False)

    def start(self, snippet, modules, coding="gzip", **options):
        """A started httpd, of which one page was checked."""
        httpd = server.Httpd(self.run, self.run.new_name("httpd"),
                             SNIPPET + self.snippet + snippet, modules=modules, site=self.folder,
                             **self.options, **options)
        httpd.start()
        httpd.helpers = self.helpers
        self.check(httpd, HEADERS, coding)
        return httpd

    def check(self, httpd, headers, coding=None):
        """WrongBody where a page does not come in `coding` (None: in any), or does not decode to
        what the server sends without one.
        """
        path = self.path + SAME
        plain = httpd.get(path)[2]
        rounds.check(rounds.Leg({"server": httpd.folder.name}, httpd, path, plain, coding,
                                headers["Accept-Encoding"]))

    def capacity(self, httpd, seconds, headers=HEADERS):
        """Responses per second that saturate the server's CPU."""
        requests = WARM_UP
        url = httpd.url(self.path)
        # A first estimate, of what may be a cold server, shows how many it takes.
        for _ in range(2):
            before = sample.cpu_seconds(httpd.pids)
            load.h2load(self.run, url, headers, CALIBRATION_CLIENTS, requests=requests)
            used = sample.cpu_seconds(httpd.pids) - before
            rate = stats.ratio(requests, used)
            requests = max(WARM_UP, round(seconds * rate))
        return rate

    def working_capacity(self, httpd, seconds, headers=HEADERS):
        """Responses per second that would take all of its CPU as a server works that also waits.

        Where requests queue, each process stays at one thing and finds its caches warm: a page
        costs up to a third less than where it comes alone. So the rate at which half of the CPU is
        busy is not half of the one that saturates it.
        """
        for _ in range(TRIES):
            rate = WORKING * self.capacity(httpd, seconds / 2, headers)
            times = arrivals.steady(rate, seconds / 2, seed=1)
            seen = self.replay(httpd, times, TIMEOUT, headers)
            served = len(seen.answered(0, math.inf))
            used = seen.cpu[-1][1] - seen.cpu[0][1] if seen.cpu else 0
            if served and used > 0:
                return served / used
            # Where others keep the machine busy, so short a time may see none of it.
            seconds *= 2
        raise tools.BenchError(f"{httpd.url(self.path)} served nothing under a small load")

    def replay(self, httpd, times, timeout=TIMEOUT, headers=HEADERS):
        """What was clients.Seen of the arrivals at `times`."""
        seen = clients.replay(httpd, [clients.Visit(at, self.path) for at in times], headers,
                              timeout)
        sample.wait_until_idle(httpd.pids)
        return seen

    def logged(self, httpd):
        """Stops the server and reads its log."""
        httpd.stop()
        return parse_log((httpd.folder / "levels.log").read_text(encoding="utf-8"))


def php_site(run):
    """Pages that php-fpm writes; the table of corpora describes them by one of them."""
    folder = run.folder("php-site")
    snippet, pid = fpm.start(run, folder)
    site = Site(run, folder, "/page.php", snippet, fpm.MODULES, [pid])
    httpd = site.serve("")
    run.add_corpus("a dynamic page", [httpd.get(site.path)[2]], "php-fpm, no two are alike; its "
                   f"pieces: {corpus.document_origin(run)}")
    httpd.stop()
    return site


def file_site(run, page):
    """A file that httpd itself sends: what is left is the codec, and HTTP."""
    folder = run.folder(run.new_name("files"))
    (folder / "page.html").write_bytes(page)
    return Site(run, folder, "/page.html", threads=FEW_THREADS)


def generator_site(run, page, least):
    """Pages that a handler in httpd itself writes, at next to no cost.

    All are the beginning of `page`, of a random length of `least` bytes or more.
    """
    folder = run.folder(run.new_name("generator"))
    return Site(run, folder, "/page", handler.snippet("/page", handler.write(folder, page, least)),
                handler.MODULES)
