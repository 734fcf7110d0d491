"""A server under a mixed load for long, with a graceful restart each minute and another mode each
time. Each minute is a line of figures, which fire.flat judges; nothing that is asked may be
lost."""

import contextlib
import csv
import random
import shutil
import signal
import subprocess
import tempfile
import threading
import time
from pathlib import Path

from kit import aborts as clients
from kit import decode, dictionary, env, faults, sanitizer
from kit.client import Client, Incomplete, Request
from kit.config import at
from kit.process import Backend, descriptors, until
from kit.stores import Redis

from . import aborts, reloads, usage
from .cases import FILES
from .site import MOST, Site, make_origin

# Seconds of a minute, but for the reading and the restart. It is shorter where there would be less
# of them than these.
MINUTE, LEAST = 55, 48

# Seconds between two batches, and two clients that go away: some hundredths of a core.
PERIOD = 1.5
ABORTS = 2.0

# Seconds after a restart in which httpd may refuse what reloads.excuse() names.
CALM = 3.0

# A body of a dictionary, and a page that has most of it.
DICTIONARY, PAGE = "/dictionary/learned.html", "/pages/asked.html"

_COMMON = """
LogLevel notice
ElasticCache On
ElasticCacheKey {root}/cache.key
ElasticDictionaryStore {root}/dictionaries 1M
ElasticMaxMemory 256M
""" + at("dictionary", 'ElasticDictionary match="/pages/*"', dictionary.WEEK) + at("pages")

_SHMCB, _REDIS = "ElasticCacheStore shmcb:(8388608)\n", "ElasticCacheStore {redis}\n"
_RING = _SHMCB + "ElasticPoolMemory 64M\n"

# One after the other; levels, codings and more are at random, see reloads.variation().
MODES = (
    _RING + "ElasticGoal cpu\nElasticControl step\nElasticCPU 20 40\nElasticIdle Off\n",
    _REDIS + "ElasticGoal time 10Mbit/s\nElasticControl mix\nElasticIdle Off\n",
    _RING + "ElasticGoal cost 0.04/h 0.08/GB\nElasticControl step\nElasticIdle 1 top\n",
    _REDIS + "ElasticGoal cpu\nElasticControl external\nElasticIdle Off\n"
    "ElasticPosition {root}/elasticd.position\n",
    _RING + "ElasticGoal cpu\nElasticControl mix\nElasticCPU 60 90\nElasticIdle 1\n",
    _SHMCB + "ElasticGoal cpu\nElasticControl off\nElasticLevel gzip 6\nElasticLevel br 4\n"
    "ElasticLevel zstd 3\nElasticIdle Off\nElasticPoolMemory 0\n",
)

# What freed memory waits for is bounded; a report names where a block came from.
_ASAN = "detect_leaks=1:exitcode=0:abort_on_error=0:fast_unwind_on_malloc=0:" \
    "malloc_context_size=12:quarantine_size_mb=4:thread_local_quarantine_size_kb=64:" \
    "log_path={root}/sanitizer/report"
_COUNTERS = ("ElasticCacheStored", "ElasticCacheHits", "ElasticCacheFaults", "ElasticDictionaries",
             "ElasticDifferences", "ElasticImproved")


class Soak:
    def __init__(self, plan, made, site, redis=None):
        self.plan, self.made, self.site, self.redis = plan, made, site, redis
        self.pick = random.Random(f"{plan.seed}/{site.kind}")
        self.still = threading.Lock()  # held by who asks: a minute is read while nobody does
        self.calm_from = 0.0
        self.restarts = 0
        self.over = False
        self.began = time.monotonic()
        self._address = ("127.0.0.1", site.server.port)
        self._client = Client(self._address)
        self._pages = ()
        self._file = open(plan.minutes, "w", newline="")
        self._rows = None

    # --- each minute

    def config(self):
        variation = reloads.variation(self.site.kind, self.pick)
        if self.site.kind == "stock":
            return "LogLevel notice\n" + variation
        mode = MODES[self.restarts % len(MODES)]
        return variation + _COMMON + mode.replace("{redis}", f"redis:127.0.0.1:{self.redis.port}")

    def renew(self):
        text = b"<p>restart %d</p>" % self.restarts
        self._pages = dictionary.DICT + text, dictionary.PAGE + text
        for path, body in zip((DICTIONARY, PAGE), self._pages, strict=True):
            self.site.server.write(path.rpartition("/")[2], body)

    def minute(self):
        """Reads, and restarts the server while clients ask again."""
        with self.still:
            self._read()
            self.restarts += 1
            self.renew()
        count = self.made.count
        until(lambda: self.made.count > count + 12 or self.over, 300, "clients that ask again")
        self.calm_from = float("inf")
        self.site.configure(self.config())
        try:
            self.site.server.graceful(60)
        except TimeoutError as error:
            self.made.failures += [str(error), *self._stuck()]
        # A 304 would give what mod_cache has the tag of another ElasticETag or coding.
        for folder in (self.site.server.root / "cache").iterdir():
            shutil.rmtree(folder, ignore_errors=True)
        self.calm_from = time.monotonic() + CALM

    def _read(self):
        server, status, open_ = self.site.server, {}, []

        def idle():
            if server.elastic:
                status.update(server.status())
            open_.append(max(map(descriptors, server.children())))
            return status.get("ElasticInFlight", "0") == "0" and len(open_) > 40 \
                and len(set(open_[-10:])) == 1

        self.site.close()
        self._client.close()
        with contextlib.suppress(TimeoutError):
            until(idle, 10, "an end of what clients have left")
        row = {"minute": self.restarts, "seconds": round(time.monotonic() - self.began),
               "answers": self.made.count, **usage.of(server),
               **{name: status.get(name, 0) for name in _COUNTERS},
               "redis": self.redis.ask("DBSIZE") if self.redis else 0}
        if not self._rows:
            self._rows = csv.DictWriter(self._file, row)
            self._rows.writeheader()
        self._rows.writerow(row)
        self._file.flush()
        self._leaks()

    def _leaks(self):
        """What children that have ended found lost: none may be the module's."""
        for report in (self.site.server.root / "sanitizer").iterdir():
            text = report.read_text(errors="replace")
            if "LeakSanitizer" in text:
                self.made.failures += sanitizer.leaks(text)
                self.made.figures["reports of leaks elsewhere"] += 1
                report.unlink()

    # --- the clients

    def ask(self, number):
        with self.still:
            asked = time.monotonic()

            def excuse(case, answer, wrong):
                if not answer.complete:
                    self.made.figures["lost"] += 1
                if self.site.kind == "stock":
                    return "stock's complaints"
                return reloads.excuse(case, answer, wrong) if asked < self.calm_from else None

            count = self.site.ask(self.plan, self.made, number, excuse)
            self.made.count += count if self.site.kind == "stock" else 0

    def learn(self):
        """A browser's visit: it takes the dictionary, and asks for a page with it."""
        with self.still:
            body, page = self._pages
            fields = ("Accept-Encoding", "gzip, dcz"), \
                ("Available-Dictionary", dictionary.field(body))
            answers = self._client.exchange([
                Request("GET", DICTIONARY, fields[:1]), Request("GET", PAGE, fields)])
        self.made.count += 2
        for answer, expected in zip(answers, (body, page), strict=True):
            self.made.figures["lost"] += not answer.complete
            try:
                right = answer.complete and answer.status == 200 \
                    and dictionary.body_of(answer, body) == expected
            except decode.DecodeError as error:
                right, answer.why = False, str(error)
            if not right:
                self.made.failures.append(
                    f"{expected[-20:]}: {answer.status} {answer.coding} {answer.why}")
        self.made.figures["with a dictionary"] += answers[1].coding == "dcz"

    def leave(self):
        with self.still, contextlib.suppress(OSError, Incomplete):
            self.pick.choice(aborts.KINDS)(self.pick, self._address)

    def run(self):
        end = time.monotonic() + self.plan.seconds
        pause = min(MINUTE, self.plan.seconds / LEAST)
        number = self.plan.first
        with reloads.Repeated(self.minute, pause) as minutes, \
                reloads.Repeated(self.leave, ABORTS) as leaving:
            while time.monotonic() < end and minutes.is_alive() and leaving.is_alive() \
                    and len(self.made.failures) < MOST:
                began = time.monotonic()
                self.ask(number)
                if self.site.kind == "elastic" and number % 4 == 0:
                    self.learn()
                number += 1
                time.sleep(max(0.05, PERIOD - (time.monotonic() - began)))
            self.over = True
        if time.monotonic() < end:
            self.made.failures.append(f"it ended after {minutes.count} restarts")
        if minutes.failure:
            self.made.failures += [minutes.failure, *self._stuck()]
        self.made.failures += filter(None, [leaving.failure])
        self.made.figures.update({"restarts": minutes.count, "clients gone": leaving.count,
                                  **self.site.unanswered()})

    def _stuck(self):
        """Where its processes wait."""
        for pid in usage.processes(self.site.server.parent()):
            with contextlib.suppress(OSError):
                yield " ".join(f"{name}: {Path(f'/proc/{pid}/{name}').read_text().strip()}"
                               for name in ("comm", "wchan", "syscall", "stat"))
        yield from self.site.server.log.lines()[-10:]

    def end(self):
        """The server ends as at a graceful stop."""
        process = self.site.server.process
        process.send_signal(signal.SIGWINCH)
        try:
            process.wait(60)
        except subprocess.TimeoutExpired:
            self.made.failures += ["it did not end", *self._stuck()]
        self._leaks()
        self.made.failures += self.site.troubles()
        self._client.close()
        self._file.close()


@contextlib.contextmanager
def _started(plan, made):
    [kind] = plan.kinds
    with contextlib.ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="elastic-fire-")))
        options = {"environ": {"MALLOC_ARENA_MAX": "2"}}
        if env.PRELOAD:
            library = faults.library(folder, "keep-libraries")
            options = {"wrapper": faults.wrapper(library), "environ": {"ASAN_OPTIONS": _ASAN}}
        origin = stack.enter_context(make_origin())
        site = stack.enter_context(Site(kind, origin, start=False, **options))
        redis = None
        if kind == "elastic":
            redis = Redis()
            stack.callback(redis.stop)
            for words in (("maxmemory", "16mb"), ("maxmemory-policy", "allkeys-lru")):
                redis.ask("CONFIG", "SET", *words)
            _prepare(site.server, stack)
        soak = Soak(plan, made, site, redis)
        soak.renew()
        site.configure(soak.config())
        site.server.start()
        yield soak


def _prepare(server, stack):
    """What the configuration names, and elasticd."""
    server.modules.append("socache_redis")
    dictionary.make_store(server)
    key = server.root / "cache.key"
    key.write_bytes(bytes(range(32)))
    key.chmod(0o600)
    position = server.root / "elasticd.position"
    stack.callback(Backend([env.ELASTICD, "--foreground", "--file", str(position), "--interval",
                            "500ms"], position.is_file).stop)


def run(plan, made):
    made.figures["lost"] = 0
    with _started(plan, made) as soak:
        for path, body in clients.FILES.items():
            if path not in FILES:
                soak.site.server.write(path, body)
        for path, source in clients.CGI.items():
            soak.site.server.cgi(path, source)
        soak.run()
        soak.end()
