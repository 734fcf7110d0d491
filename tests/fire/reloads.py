"""Graceful restarts during requests, with other levels, modes and codings each time."""

import contextlib
import random
import signal
import threading
import time

from . import cases, outcome
from .site import Site, kinds, make_origin
from .target import Target, said

# Requests between two restarts, in the long form: 200 restarts to a million.
BETWEEN = 5000

# And seconds at the most.
PAUSE = 1.0


def variation(kind, pick):
    """Directives for the next generation."""
    if kind.elastic:
        low = pick.randrange(1, 9)
        return "\n".join((
            f"ElasticLevel gzip {low} {pick.randrange(low, 10)}",
            f"ElasticLevel br {pick.randrange(0, 4)} {pick.randrange(4, 7)}",
            f"ElasticControl {pick.choice(('step', 'mix', 'off', 'external'))}",
            f"ElasticCodings {' '.join(pick.sample(('gzip', 'br', 'zstd'), pick.randrange(1, 4)))}",
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


class Reloader(threading.Thread):
    """Restarts a site gracefully again and again, until it is told to stop."""

    def __init__(self, site, seed):
        super().__init__(daemon=True)
        self._site = site
        self._pick = random.Random(f"{seed}/{site.name}")
        self._over = threading.Event()
        self.asked = 0  # requests since the last one, of whoever asks
        self.count = 0
        self.failure = None

    def run(self):
        server = self._site.server
        ready = "configured -- resuming normal operations"
        while not self._over.is_set():
            before, self.asked = len(server.log.lines(ready)), 0
            self._site.configure(variation(self._site.kind, self._pick))
            server.process.send_signal(signal.SIGUSR1)
            try:
                server.wait_for(lambda: len(server.log.lines(ready)) > before, 60, "the reload")
            except TimeoutError as error:
                self.failure = f"{self._site.name}: {error}"
                return
            self.count += 1
            until = time.monotonic() + PAUSE
            while self.asked < BETWEEN and time.monotonic() < until and not self._over.is_set():
                time.sleep(0.01)

    def stop(self):
        self._over.set()
        self.join(90)


def is_refused(answer, case):
    """Whether it is what httpd itself answers during a restart, with the stock modules as well:
    mod_cgid's daemon is gone for a moment, also for an error document, a proxied connection ends,
    and where ElasticMaxMemory is 0 nothing is decoded."""
    if not answer.whole:
        return False
    if answer.status == 403 and "/forbidden" in case.request.path:
        return True
    away = (".cgi", "/proxy/", "/through/", "/origin/", "/forbidden", ".php")
    encoded = any(name == "Content-Encoding" for name, _ in case.request.headers)
    return answer.status >= 500 and (encoded or any(part in case.request.path for part in away))


def run(plan):
    made = outcome.Outcome()
    began = time.monotonic()
    with contextlib.ExitStack() as stack:
        origin = make_origin()
        stack.callback(origin.stop)
        shares = {"elastic": 0.4, "drop-in": 0.3, "stock": 0.3}
        for kind in kinds():
            site = Site(kind, origin)
            stack.callback(site.close)
            share = outcome.Plan(int(plan.count * shares[kind.name]),
                                 plan.seconds * shares[kind.name], plan.seed)
            _reload(share, made, site)
    made.seconds = time.monotonic() - began
    return made


def _reload(plan, made, site):
    target, reloader = Target(site), Reloader(site, plan.seed)
    began, count, refused, number = time.monotonic(), 0, 0, plan.first
    reloader.start()
    while plan.goes_on(count, began) and not reloader.failure:
        protocol, batch = cases.batch(plan.seed, number, target.judge.seen)
        # What mod_dav says of a file depends on whether its database of locks is open.
        batch = [case for case in batch if case.request.method != "PROPFIND"]
        for complaint in target.ask(protocol, batch):
            if is_refused(complaint[1], complaint[0]):
                refused += 1
            elif site.name == "stock":
                made.figures["other complaints about stock"] += 1
            else:
                made.failures.append(said(number, target, protocol, complaint))
        count += len(batch)
        reloader.asked += len(batch)
        number += 1
    reloader.stop()
    target.close()
    made.failures += site.troubles() + ([reloader.failure] if reloader.failure else [])
    made.count += 0 if site.name == "stock" else count
    made.figures[f"restarts of {site.name}"] += reloader.count
    made.figures[f"refused by {site.name}"] += refused
