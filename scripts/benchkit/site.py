"""A dynamic site: an httpd in front of a php-fpm, or of a handler, on one CPU; and its log."""

import dataclasses
import re

from benchkit import arrivals, corpus, fpm, handler, load, replay, sample, server, stats, tools, web

PATH = "/page.php"

HEADERS = {"Accept-Encoding": "gzip"}

LOG = """
BufferedLogs On
LogFormat "%{{msec}}t %{{elastic-level}}n %{{elastic-usec}}n %B %U" levels
CustomLog {folder}/levels.log levels
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

# What stock modules do not note is logged as nothing.
STOCK = LOG.replace("%{{elastic-level}}n %{{elastic-usec}}n", "0 0") + """
<LocationMatch "^/page">
    SetOutputFilter DEFLATE
</LocationMatch>
DeflateCompressionLevel {level}
"""

CALIBRATION_CLIENTS = 8
WARM_UP = 32  # requests

WORKING = 0.6  # of capacity: a load under which a server works, and waits in between
WORKING_TIMEOUT = 5  # seconds; nothing is to be lost there


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
    """php-fpm and its pages; an httpd for each way to compress them."""

    def __init__(self, run):
        self.run = run
        self.fpm = fpm.Fpm(run)
        self.folder = run.folder("php-site")
        self.fpm.fill(self.folder)
        self.fpm.start()
        self.modules, self.snippet = fpm.MODULES, self.fpm.snippet
        self.helpers = [self.fpm.process.pid]
        self.path = PATH

    def serve(self, settings, snippet=GZIP_ONLY):
        """A started httpd with this module; its log is whole after stop()."""
        return self.start(snippet + settings, self.modules)

    def serve_stock(self, level):
        """A started httpd with mod_deflate in this module's place."""
        return self.start(STOCK.replace("{level}", str(level)),
                          (*self.modules, "filter", "deflate"), elastic=False)

    def start(self, snippet, modules, **options):
        httpd = server.Httpd(self.run, self.run.new_name("httpd"),
                             replay.SNIPPET + self.snippet + snippet, modules=modules,
                             site=self.folder, **options)
        httpd.start()
        httpd.helpers = self.helpers
        return httpd

    def composition(self):
        """The row of the table of corpora that tells of php-fpm's pages, by one of them."""
        httpd = self.serve("")
        page = httpd.get(self.path)[2]
        httpd.stop()
        return web.composition("a dynamic page", [page], "php-fpm, no two are alike; its pieces: "
                               f"{corpus.document_origin(self.run)}")

    def capacity(self, httpd, seconds, headers=HEADERS):
        """Responses per second that saturate the server's CPU."""
        requests = WARM_UP
        url = httpd.url(self.path)
        # A first guess, from what may be a cold server, says how many it takes.
        for _ in range(2):
            before = sample.cpu_seconds(httpd.pids)
            load.h2load(self.run, url, headers, CALIBRATION_CLIENTS, requests=requests)
            used = sample.cpu_seconds(httpd.pids) - before
            rate = stats.ratio(requests, used)
            requests = max(WARM_UP, round(seconds * rate))
        return rate

    def working_capacity(self, httpd, seconds, headers=HEADERS):
        """Responses per second that would take all of its CPU at the pace of a server that waits.

        Where requests queue, each process stays at one thing and finds its caches warm: a page
        costs up to a third less than where it comes alone. So the rate at which half of the CPU is
        busy is not half of the one that saturates it.
        """
        rate = WORKING * self.capacity(httpd, seconds / 2, headers)
        times = arrivals.poisson(arrivals.STEADY, rate, seconds / 2, seed=1) or [0.0]
        seen = self.replay(httpd, times, WORKING_TIMEOUT, headers)
        served = sum(not seen.failed(one) for one in seen.responses)
        used = seen.cpu[-1][1] - seen.cpu[0][1] if seen.cpu else 0
        if not (served and used > 0):
            raise tools.BenchError(f"{httpd.url(self.path)} served nothing under a small load")
        return served / used

    def replay(self, httpd, times, timeout, headers=HEADERS, late=replay.LATE):
        """What became of the arrivals at `times`; see replay.replay()."""
        seen = replay.replay(self.run, httpd, self.path, headers, times, timeout, late)
        sample.wait_until_idle(httpd.pids)
        return seen

    def logged(self, httpd):
        """Stops the server and reads its log."""
        httpd.stop()
        return parse_log((httpd.folder / "levels.log").read_text(encoding="utf-8"))


# On one CPU more workers do nothing faster; each goes on with the body that it has begun, however
# many requests come meanwhile.
FEW_WORKERS = "H2MinWorkers 2\nH2MaxWorkers 4\n"


class Files(Site):
    """The same with a file that httpd itself sends: what is left is the codec, and HTTP."""

    def __init__(self, run, page):
        self.run = run
        self.folder = run.folder(run.new_name("files"))
        self.path = "/page.html"
        self.modules, self.snippet, self.helpers = (), FEW_WORKERS, []
        (self.folder / "page.html").write_bytes(page)


class Generator(Site):
    """The same with pages that a handler in httpd itself writes, at next to no cost.

    All are the beginning of `page`, of `least` bytes at least: how long each is, is drawn.
    """

    def __init__(self, run, page, least):
        self.run = run
        self.folder = run.folder(run.new_name("generator"))
        self.path = "/page"
        self.modules = handler.MODULES
        self.snippet = handler.write(self.folder, self.path, page, least)
        self.helpers = []
