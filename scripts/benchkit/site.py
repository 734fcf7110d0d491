"""A dynamic site: servers in front of one php-fpm, all on one CPU, and an open loop of clients."""

import math
import random
import re
import typing

from benchkit import arrivals, clients, codecs, fpm, load, others, sample, tools

GZIP = {"Accept-Encoding": "gzip"}
CLIENTS = 8  # of the closed loop that measures capacity
WARM_UP = 32  # requests
TRIES = 4
WORKING = 0.5  # the share of capacity at which a server works, and waits in between

# Many clients wait with open connections; a child accepts all of them.
SNIPPET = """
ListenBacklog 4096
AsyncRequestWorkerFactor 1000
BufferedLogs On
LogFormat "%{{msec}}t %{{elastic-level}}n %{{elastic-usec}}n" levels
CustomLog {folder}/levels.log levels "expr=%{{REQUEST_URI}} != '/elastic-status'"
"""
# A response only waits for PHP's workers: with httpd's own few, those would determine the result of
# an overload.
THREADS = 64
NGINX = "        gzip on;\n        gzip_comp_level {level};\n"

LOGGED = re.compile(r"^(\d+) (\d+|-) (~?)(\d+|-)$", re.MULTILINE)


class Logged(typing.NamedTuple):
    """A response in the server's own log."""

    at: float  # the time of its request, in seconds since the epoch
    level: int
    usec: int  # in the encoder
    elapsed: bool  # elapsed rather than CPU time


class Site:
    """An application's page at `path`, and the pids whose CPU counts with each server's."""

    def __init__(self, run, folder, path, snippet, helpers):
        self.run, self.folder, self.path = run, folder, path
        self.snippet, self.helpers = snippet + SNIPPET, helpers

    def serve(self, setup, more="", modules=(), **options):
        """A started server: an httpd with a Setup, or for a number nginx with that level."""
        name = self.run.new_name("server")
        if isinstance(setup, int):
            lines = fpm.NGINX.format(socket=fpm.socket_of(self.run)) + (
                NGINX.format(level=setup) if setup else "")
            made = others.Nginx(self.run, name, lines, site=self.folder)
        else:
            made = setup.serve(self.run, name, self.snippet + more,
                               (*fpm.MODULES, *modules), site=self.folder, threads=THREADS,
                               **options)
        made.start()
        made.helpers = [*made.helpers, *self.helpers]
        return made

    def check(self, httpd, accept, coding=None):
        """Raises WrongBody if a page does not come in `coding` (None: any), or is another one."""
        path = f"{self.path}?seed=1"
        status, headers, body = httpd.get(path, {"Accept-Encoding": accept})
        plain = httpd.get(path)[2]
        came = headers.get("Content-Encoding", "")
        if status != 200 or coding not in (None, came) or codecs.decode(body, came) != plain:
            raise codecs.WrongBody(f"{httpd.folder.name}: {path} gave {status} with "
                                   f"Content-Encoding '{came}'")

    def capacity(self, httpd, paths, seconds, accept="gzip", lead=0.0):
        """Pages a second in a closed loop; after `lead` seconds, which an adaptive setup needs."""
        urls, headers, rate = [httpd.url(path) for path in paths], {"Accept-Encoding": accept}, 0.0
        for length in (0.0, lead, seconds):  # the first one finds the number of requests
            if length or not rate:
                rate = load.h2load(self.run, urls, headers, CLIENTS,
                                   max(WARM_UP, round(length * rate))).rate
        return rate

    def working_capacity(self, httpd, paths, seconds):
        """Visits per second that would take all of its CPU for a server that also waits in between:
        where requests queue, warm caches make a page cost up to a third less."""
        rate = WORKING * self.capacity(httpd, paths, seconds / 2)
        for _ in range(TRIES):
            times = arrivals.steady(rate, seconds, 1)
            seen = clients.replay(httpd, visits(times, 1, paths), GZIP, clients.PATIENCE)
            served = len(seen.answered(0, math.inf))
            used = seen.cpu[-1][1] - seen.cpu[0][1]
            if not served or used <= 0:
                seconds *= 2  # on a busy machine, so short a time may give no figure
            elif WORKING / 2 <= used / seconds <= 1.5 * WORKING:
                break
            else:
                rate = WORKING * served / used
        if not served or used <= 0:
            raise tools.BenchError(f"{httpd.url('/')} served nothing under a small load")
        return served / used

    def logged(self, httpd):
        """Stops the server; returns the log's entry of each response."""
        httpd.stop()
        text = (httpd.folder / "levels.log").read_text(encoding="utf-8")
        return [Logged(int(at) / 1e3, int(level.strip("-") or 0), int(usec.strip("-") or 0),
                       mark == "~") for at, level, mark, usec in LOGGED.findall(text)]


def replay(httpd, visits, patience=clients.PATIENCE, accept="gzip", keep=False):
    """Returns clients.Seen of the visits; the server is idle afterwards."""
    seen = clients.replay(httpd, visits, {"Accept-Encoding": accept}, patience, keep)
    sample.wait_until_idle(httpd.pids)
    return seen


def conditions(run, seen):
    """seen.conditions(); at the scale smoke, which gives no figures, no request is late."""
    return seen.conditions(clients.PATIENCE if run.scale == "smoke" else clients.LATE)


def php(run):
    """The Site of php-fpm's pages."""
    folder = run.folder("php-site")
    pid = fpm.start(run, folder)
    return Site(run, folder, "/page.php", fpm.SNIPPET.format(socket=fpm.socket_of(run)), [pid])


def pages(times, path="/page.php"):
    return [clients.Visit(at, path) for at in times]


# (KB, share of the visits): most pages are small, most bytes belong to large ones.
SIZES = ((12, 0.40), (40, 0.35), (120, 0.25))
WORK = 2  # see fpm.SCRIPT: a page of SIZES takes about 0.8 ms on average
SEEDS = 1000  # of different pages of each size
BLOCK = 400  # visits with the exact share of each size, and the same pages in each block


def block(sizes=SIZES, work=WORK, count=BLOCK):
    """The paths of a block's `count` pages. The sizes alternate: the clients of a closed loop ask
    for the first of them only, and those have each size in its share."""
    source, placed = random.Random(1), []
    for size, share in sizes:
        of = round(share * count)
        placed += [((place + 0.5) / of, f"/page.php?bytes={size * 1024}&work={work}"
                                      f"&seed={source.randrange(SEEDS)}")
                   for place in range(of)]
    return [path for _, path in sorted(placed)]


def visits(times, seed, paths, tries=(1,)):
    """Visits of these pages, block after block, each in its own order, with the next of `tries`."""
    source, order = random.Random(seed), []
    while len(order) < len(times):
        order += source.sample(paths, len(paths))
    return [clients.Visit(at, path, tries[place % len(tries)])
            for place, (at, path) in enumerate(zip(times, order))]
