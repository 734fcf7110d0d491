"""Graceful restarts during requests, with other levels, modes and codings each time."""

import random
import threading
import time

from .site import KINDS, MOST, Site, make_origin

# Seconds between two restarts.
PAUSE = 0.5


def variation(kind, pick):
    if kind == "elastic":
        low = pick.randrange(1, 9)
        codings = pick.sample(("gzip", "br", "zstd"), pick.randrange(1, 4))
        return "\n".join((
            f"ElasticLevel gzip {low} {pick.randrange(low, 10)}",
            f"ElasticLevel br {pick.randrange(0, 4)} {pick.randrange(4, 7)}",
            f"ElasticControl {pick.choice(('step', 'mix', 'off', 'external'))}",
            f"ElasticCodings {' '.join(codings)}",
            f"ElasticWholeBody {pick.choice(('0', '16K', '1M'))}",
            f"ElasticETag {pick.choice(('weak', 'suffix', 'remove'))}",
            f"ElasticMaxMemory {pick.choice(('0', '1M', '64M', 'Off', 'Off'))}",
            f"ElasticIdle {pick.choice(('Off', '5', '50 top'))}",
            f"ElasticPoolMemory {pick.choice(('0', '8M', '64M'))}",
            f"ElasticMinSize {pick.choice(('auto', '0', '2000'))}",
            f"ElasticGoal {pick.choice(('cpu', 'time 10Mbit/s', 'cost 0.04/h 0.08/GB'))}", ""))
    return "\n".join((
        f"DeflateCompressionLevel {pick.randrange(1, 10)}",
        f"BrotliCompressionQuality {pick.randrange(0, 7)}",
        f"DeflateWindowSize {pick.randrange(9, 16)}", f"DeflateMemLevel {pick.randrange(1, 10)}",
        f"DeflateAlterETag {pick.choice(('AddSuffix', 'Remove'))}", ""))


class Repeated(threading.Thread):
    """Does something again and again, until it is told to stop; `failure` is what went wrong."""

    def __init__(self, action, pause):
        super().__init__(daemon=True)
        self._action, self._pause = action, pause
        self._over = threading.Event()
        self.count = 0
        self.failure = None

    def run(self):
        try:
            while not self._over.wait(self._pause):
                self._action()
                self.count += 1
        except (TimeoutError, OSError) as error:
            self.failure = str(error)

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *_):
        self._over.set()
        self.join(90)


def excuse(case, answer, wrong):
    """What httpd itself answers during a restart, with the stock modules as well: mod_cgid's daemon
    is gone for a moment, also for an error document, a proxied connection ends, and where
    ElasticMaxMemory is 0 nothing is decoded."""
    away = (".cgi", "/proxy/", "/through/", "/origin/", "/forbidden", ".php")
    path = case.request.path
    encoded = any(name == "Content-Encoding" for name, _ in case.request.headers)
    if answer.complete and (answer.status == 403 and "/forbidden" in path or answer.status >= 500
                         and (encoded or any(part in path for part in away))):
        return "refused"
    return None


def run(plan, made):
    with make_origin() as origin:
        for kind in KINDS:
            with Site(kind, origin) as site:
                _reload(plan, made, site)


def _reload(plan, made, site):
    number, began = plan.first, time.monotonic()
    pick = random.Random(f"{plan.seed}/{site.kind}")

    def reload():
        site.configure(variation(site.kind, pick))
        site.server.graceful(60)

    def judged(*complaint):
        return excuse(*complaint) or ("stock's complaints" if site.kind == "stock" else None)

    with Repeated(reload, PAUSE) as reloads:
        while time.monotonic() - began < plan.seconds / len(KINDS) and not reloads.failure \
                and len(made.failures) < MOST:
            site.ask(plan, made, number, judged)
            number += 1
    made.failures += [*site.troubles(), *filter(None, [reloads.failure])]
    made.figures[f"restarts of {site.kind}"] += reloads.count
