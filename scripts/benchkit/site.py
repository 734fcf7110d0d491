"""A dynamic site: servers in front of one php-fpm, all on one CPU, under an open loop of clients.

Every pass starts a server, or uses one that runs, replays visits to it and reads its log.
"""

import dataclasses
import math
import random
import re

from benchkit import (arrivals, clients, codecs, fpm, load, others, sample, setups, stats,
                      tools)

GZIP = {"Accept-Encoding": "gzip"}
CALIBRATION_CLIENTS = 8
WARM_UP = 32  # requests
TRIES = 4
WORKING = 0.5  # of capacity: a load under which a server works, and waits in between

# Connections of clients that wait are many; a child takes as many as there are.
SNIPPET = """
ListenBacklog 4096
AsyncRequestWorkerFactor 1000
BufferedLogs On
LogFormat "%{{msec}}t %{{elastic-level}}n %{{elastic-usec}}n %B %q %{{Content-Encoding}}o" levels
CustomLog {folder}/levels.log levels "expr=%{{REQUEST_URI}} != '/elastic-status'"
"""
# A response waits for no worker but those of PHP: with httpd's own few, it would be those that an
# overload is measured by.
THREADS = 64
NGINX = "        gzip on;\n        gzip_comp_level {level};\n"

LOGGED = re.compile(r"^(\d+) (\d+|-) (~?)(\d+|-) (\d+|-) (\S*) (\S+)$", re.MULTILINE)


@dataclasses.dataclass(frozen=True)
class Logged:
    """A response in the server's own log."""

    at: float  # when its request came, in seconds since the epoch
    level: int
    usec: int  # in the encoder
    elapsed: bool  # whether that is time elapsed, rather than CPU time
    bytes: int
    coding: str


def pinned(level):
    """gzip of one level, and no controller."""
    return setups.ours("gzip", level)


def elastic(least, most, interval, control="time"):
    """gzip between two levels; the controller's interval in seconds."""
    mode = f"ElasticControl {control}\n" if control != "time" else ""
    return setups.Setup(f"Elastic On\nElasticCodings gzip\nElasticLevel gzip {least} {most}\n"
                        f"ElasticInterval {1000 * interval:.0f}ms\n{mode}")


class Site:
    """A page that an application makes, at `path`; what an httpd in front of it needs, and the
    pids whose CPU counts with each server's.
    """

    def __init__(self, run, folder, path, snippet, helpers):
        self.run, self.folder, self.path = run, folder, path
        self.snippet, self.helpers = snippet + SNIPPET, helpers

    def serve(self, setup, more=""):
        """A started server: an httpd with a Setup, or for a number nginx with gzip of it."""
        name = self.run.new_name("server")
        if isinstance(setup, int):
            lines = fpm.NGINX.format(socket=fpm.socket_of(self.run)) + (
                NGINX.format(level=setup) if setup else "")
            made = others.Nginx(self.run, name, lines, site=self.folder)
        else:
            made = setup.serve(self.run, name, self.snippet + more, fpm.MODULES, site=self.folder,
                               threads=THREADS)
        made.start()
        made.helpers = [*made.helpers, *self.helpers]
        return made

    def check(self, httpd, accept, coding=None):
        """WrongBody where a page does not come in `coding` (None: in any), or does not decode to
        what the server sends without one.
        """
        path = f"{self.path}?seed=1"
        status, headers, body = httpd.get(path, {"Accept-Encoding": accept})
        plain = httpd.get(path)[2]
        came = headers.get("Content-Encoding", "")
        if status != 200 or coding not in (None, came) or codecs.decode(body, came) != plain:
            raise codecs.WrongBody(f"{httpd.folder.name}: {path} gave {status} with "
                                   f"Content-Encoding '{came}'")

    def capacity(self, httpd, seconds):
        """Pages per second that saturate the server's CPU, clients of gzip."""
        requests = WARM_UP
        # A first estimate, of what may be a cold server, shows how many it takes.
        for _ in range(2):
            before = sample.cpu_seconds(httpd.pids)
            load.h2load(self.run, httpd.url(self.path), GZIP, CALIBRATION_CLIENTS, requests)
            used = sample.cpu_seconds(httpd.pids) - before
            rate = stats.ratio(requests, used)
            requests = max(WARM_UP, round(seconds * rate))
        return rate

    def working_capacity(self, httpd, seconds, draw):
        """Visits per second that would take all of its CPU as a server works that also waits.

        Where requests queue, each process stays at one thing and finds its caches warm: a page
        costs up to a third less than where it comes alone. `draw(rate, seconds)` makes visits.
        """
        rate = WORKING * self.capacity(httpd, seconds / 2)
        for _ in range(TRIES):
            seen = clients.replay(httpd, draw(rate, seconds), GZIP, clients.PATIENCE)
            served = len(seen.answered(0, math.inf))
            used = seen.cpu[-1][1] - seen.cpu[0][1]
            if not served or used <= 0:
                seconds *= 2  # where others keep the machine busy, so short a time may see nothing
            elif WORKING / 2 <= used / seconds <= 1.5 * WORKING:
                break
            else:
                rate = WORKING * served / used
        if not served or used <= 0:
            raise tools.BenchError(f"{httpd.url('/')} served nothing under a small load")
        return served / used

    def logged(self, httpd):
        """Stops the server and reads its log."""
        httpd.stop()
        text = (httpd.folder / "levels.log").read_text(encoding="utf-8")
        return [Logged(int(at) / 1e3, 0 if level == "-" else int(level),
                       0 if usec == "-" else int(usec), mark == "~",
                       0 if size == "-" else int(size), "" if coding == "-" else coding)
                for at, level, mark, usec, size, _, coding in LOGGED.findall(text)]


def replay(httpd, visits, patience=clients.PATIENCE, accept="gzip"):
    """What was clients.Seen of the visits; the server has nothing to do any more then."""
    seen = clients.replay(httpd, visits, {"Accept-Encoding": accept}, patience)
    sample.wait_until_idle(httpd.pids)
    return seen


def php(run):
    """The Site of php-fpm's pages."""
    folder = run.folder("php-site")
    pid = fpm.start(run, folder)
    return Site(run, folder, "/page.php", fpm.SNIPPET.format(socket=fpm.socket_of(run)), [pid])


def pages(times, path="/page.php"):
    """Visits of pages of fpm.PAGE_BYTES, no two alike, at these times."""
    return [clients.Visit(at, path) for at in times]


# KB, and the share of the visits: most pages are small, and most bytes are of large ones.
SIZES = ((12, 0.40), (40, 0.35), (120, 0.25))
WORK = 2  # see fpm.SCRIPT: a page of 120 KB takes about 4 ms, one of 12 KB one
SEEDS = 1000  # of different pages of each size


def mixed(times, seed, tries=(1,)):
    """Visits of pages of SIZES that take CPU to make; each client asks so many times at most, as
    the next of `tries` says.
    """
    source = random.Random(seed)
    sizes, shares = zip(*SIZES)
    return [clients.Visit(at, f"/page.php?bytes={source.choices(sizes, shares)[0] * 1024}"
                              f"&work={WORK}&seed={source.randrange(SEEDS)}",
                          tries[place % len(tries)]) for place, at in enumerate(times)]


def steady(rate, seconds, seed=1):
    """The same at random about a rate."""
    return mixed(arrivals.steady(rate, seconds, seed), seed)
