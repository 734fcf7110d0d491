"""ElasticIdle: popular cached encodings are made smaller while CPU time is spare. tests/unit proves
which are popular and how they are recoded."""

import contextlib
import functools
import os
import re
import signal
import socket
import time

import pytest

from kit import aborts, bodies, check, env, faults, keep
from kit.driven import start_driven
from kit.process import accepts
from kit.server import Server, leaves_late
from kit.stores import OWN, PROVIDERS, Between, Redis

# Longer than any page takes, even on a busy machine.
PATIENCE = 600

# Popularity halves each minute: this many requests count for three minutes.
HITS = 30

GZIP_TOP = "12" if env.HAS_LIBDEFLATE else "9"


class Site:
    """A server with a cache; its load is scripted, and high at first."""

    def __init__(self, httpd, config, modules=keep.SHMCB, **kw):
        self.d = start_driven(httpd, keep.KEEP + "ElasticMinSize 0\nAlias /pinned {docs}\n"
                              f"<Location /pinned>\nElasticLevel gzip 4\n</Location>\n{config}\n",
                              modules=modules, **kw)
        self.server = self.d.server
        self.seen = {}  # {idle thread: its process}

    def page(self, size=30000):
        """(path, body) of a page with bytes of its own."""
        return keep.page(self.server, bodies.html(size) + b"%d" % time.monotonic_ns())

    def counts(self):
        """The status page's figures about ElasticIdle: (encodings, µs, bytes)."""
        status = self.d.status()
        return tuple(int(status[f"ElasticImproved{what}"]) for what in ("", "Usec", "Bytes"))

    def ask(self, path, body, ae="gzip"):
        """Returns an answer and its notes."""
        answer = self.server.get(path, ae=ae)
        check.encoded(answer, answer.coding, body)
        return answer, self.server.notes(answer)

    def ask_often(self, path, body, ae="gzip", hits=HITS):
        """Returns the last answer, which came from the cache."""
        for _ in range(hits + 1):
            self.ask(path, body, ae)
        # A sample in between may have raised the level, for which the page is encoded anew.
        return check.once(lambda: self.ask(path, body, ae),
                          lambda found: found[1]["elastic-engine"] == "cache")

    def ask_for_hits(self, path, body):
        """Makes requests until HITS of them were hits, ten times as many at most."""
        hits = 0
        for _ in range(10 * HITS):
            hits += self.ask(path, body)[1]["elastic-engine"] == "cache"
            if hits == HITS:
                break

    def ask_until_at(self, level, path, body, ae="gzip"):
        """Returns the first cached answer at that level."""
        found = []

        def is_there():
            self.hurry()
            found[:] = self.ask(path, body, ae)
            return found[1]["elastic-level"] == level

        self.server.wait_for(is_there, PATIENCE, f"level {level}")
        assert found[1]["elastic-engine"] == "cache"
        return found

    def idle_threads(self):
        """The threads of the server's processes that run at SCHED_IDLE."""
        found = {}
        for child in self.server.children():
            with contextlib.suppress(OSError):
                found |= {int(task): child for task in os.listdir(f"/proc/{child}/task")
                          if os.sched_getscheduler(int(task)) == os.SCHED_IDLE}
        self.seen |= found
        return found

    def hurry(self):
        """Raises their priority: on a busy machine such a thread would need minutes for a page."""
        for task in self.idle_threads():
            with contextlib.suppress(OSError):
                os.sched_setscheduler(task, os.SCHED_OTHER, os.sched_param(0))

    def wait_until_improved(self, least=1):
        self.server.wait_for(lambda: self.hurry() or self.counts()[0] >= least, PATIENCE,
                             "an improved encoding")


@pytest.fixture
def site(httpd):
    return functools.partial(Site, httpd)


@pytest.mark.smoke
def test_what_is_asked_for_often_becomes_smaller_at_the_top(site):
    """Only while the CPU is not busy, and only adaptive levels."""
    s = site("ElasticIdle 100 top")
    page = s.page()
    pinned = "/pinned" + page[0], page[1]
    s.ask_often(*pinned, hits=2 * HITS)  # its turn would come first
    before, notes = s.ask_often(*page)
    assert int(notes["elastic-level"]) < int(GZIP_TOP)
    s.d.load(*(66, 67) * 5)
    assert s.counts() == (0, 0, 0)
    s.d.load(10)
    s.wait_until_improved()
    answer, notes = s.ask_until_at(GZIP_TOP, *page)
    assert len(answer.raw) < len(before.raw) and answer.headers["ETag"] == before.headers["ETag"]
    assert int(notes["elastic-out"]) == len(answer.raw)
    count, usec, saved = s.counts()
    assert (count, saved) == (1, len(before.raw) - len(answer.raw)) and usec > 0
    assert s.ask(*pinned)[1]["elastic-level"] == "4"


def test_a_store_that_other_machines_reach_is_asked_for_each_of_many(site, tmp_path):
    """Each job waits for the store as long as a request may, whatever earlier jobs did."""
    (tmp_path / "key").write_bytes(bytes(range(32)))
    (tmp_path / "key").chmod(0o600)
    redis = Redis()
    between = Between(redis.port)
    try:
        s = site(f"ElasticIdle 100 top\nElasticCacheStore redis:127.0.0.1:{between.port}\n"
                 f"ElasticCacheKey {tmp_path}/key", ("socache_redis", "asis"))
        s.server.expect_log(f"{PROVIDERS}|{OWN}")
        between.change = lambda answer: time.sleep(0.001) or answer
        s.d.load(10)
        # Five jobs wait for five milliseconds.
        s.server.wait_for(lambda: s.hurry() or s.ask_for_hits(*s.page(3000))
                          or s.counts()[0] >= 7, PATIENCE, "seven improved encodings")
    finally:
        between.stop()
        redis.stop()


def test_without_top_the_maximum_holds(site):
    s = site("ElasticLevel gzip 1 8\nElasticIdle 100")
    page = s.page()
    s.ask_often(*page)
    s.d.load(10)
    s.wait_until_improved()
    s.ask_until_at("8", *page)


def test_clients_of_several_codings_get_the_smallest(site):
    s = site("ElasticCodings gzip br\nElasticIdle 100 top")
    page = s.page()
    before, _ = s.ask_often(*page, "gzip, br")
    s.d.load(10)
    s.wait_until_improved()
    answer, _ = s.ask_until_at("11", *page, "gzip, br")
    assert answer.coding == "br" and len(answer.raw) < len(before.raw)
    # Clients that only accept gzip have an encoding of their own.
    answer, notes = s.ask(*page)
    assert answer.coding == "gzip" and notes["elastic-level"] != GZIP_TOP
    # It is improved too, if they request it often.
    s.ask_until_at(GZIP_TOP, *page)
    s.hurry()
    assert len(set(s.seen.values())) == len(s.seen)  # the same thread has done both


def test_a_body_too_large_for_any_level_gets_the_minimum(site):
    s = site("ElasticCodings gzip br\nElasticLevel br 10 11\nElasticIdle 100 top")
    page = s.page(700_000)
    before, _ = s.ask_often(*page, "gzip, br")
    s.d.load(10)
    s.wait_until_improved()
    answer, _ = s.ask_until_at("10", *page, "gzip, br")
    assert (before.coding, answer.coding) == ("gzip", "br")


@pytest.mark.parametrize("fault,config,body", [
    (None, "ElasticCodings gzip\nElasticLevel gzip 8 9\nElasticIdle 100", b"0" * 30000),
    ("br-first", "ElasticCodings br gzip\nElasticLevel gzip 5\nElasticLevel br 5 6\n"
     "ElasticIdle 100 top", bodies.html(30000))], ids=["equal", "failed"])
def test_what_becomes_no_smaller_stays(site, tmp_path, fault, config, body):
    s = site(config, wrapper=faults.wrapper(*[faults.library(tmp_path, fault)] if fault else ()))
    s.d.walk_to(0)
    path, _ = keep.page(s.server, body)
    s.ask_often(path, body, "br, gzip")
    samples = []

    def is_over():
        s.d.stat.busy(10)
        s.hurry()
        if s.counts()[1] > 0:
            samples.append(s.d.status()["ElasticSamples"])
        return len(set(samples)) > 5

    s.server.wait_for(is_over, PATIENCE, "an encoding")
    assert s.counts()[0] == s.counts()[2] == 0


def test_a_system_without_idle_threads(site, tmp_path):
    """It is said once."""
    s = site("ElasticIdle 100 top", wrapper=faults.wrapper(faults.library(tmp_path, "no-idle")),
             mpm_config=aborts.ONE_CHILD["mpm_config"])
    s.server.expect_log("elastic: ElasticIdle has no effect")
    for _ in range(3):
        s.ask_often(*s.page())
        s.d.load(10, 11)
        s.server.wait_log("elastic: ElasticIdle has no effect")
    assert len(s.server.log.lines("ElasticIdle has no effect in this process")) == 1
    assert s.counts() == (0, 0, 0)


def test_what_had_a_pinned_level_is_found_in_the_other_coding(site):
    """The result is stored under the name of adaptive levels."""
    s = site("ElasticCodings br gzip\nElasticLevel gzip 5\nElasticLevel br 5 6\n"
             "ElasticIdle 100 top")
    s.d.walk_to(0)  # gzip 5 takes less CPU time than br 5
    page = s.page()
    s.ask_often(*page, "gzip", hits=1)
    before, notes = s.ask_often(*page, "br, gzip")
    assert (before.coding, notes["elastic-level"]) == ("gzip", "5")
    s.d.load(10)
    s.wait_until_improved()
    answer, _ = s.ask_until_at("11", *page, "br, gzip")
    assert answer.coding == "br" and len(answer.raw) < len(before.raw)
    assert s.ask(*page)[1]["elastic-level"] == "5"


def test_what_two_kinds_of_clients_share_is_made_once(site):
    s = site("ElasticCodings br gzip\nElasticLevel gzip 5\nElasticLevel br 5 6\n"
             "ElasticIdle 100 top")
    s.d.walk_to(0)
    page, last = s.page(), s.page()
    s.ask_often(*page, "br, gzip")
    s.ask_often(*page, "br", hits=3 * HITS)  # its turn comes first
    s.ask_often(*last, "br", hits=HITS // 3)
    s.d.load(10)
    s.wait_until_improved()
    s.ask_until_at("11", *last, "br")
    assert s.counts()[0] == 2


def test_the_next_one_waits_until_the_last_took_no_more_than_the_share(site):
    s = site("ElasticCodings br\nElasticIdle 1 top")
    for page in (s.page(60_000), s.page(60_000)):
        s.ask_often(*page, "br")
    began = time.monotonic()
    s.d.load(10)
    s.wait_until_improved()
    used = s.counts()[1] / 1e6
    s.wait_until_improved(2)
    assert time.monotonic() - began >= used / (0.01 * len(os.sched_getaffinity(0)))


@pytest.mark.parametrize("config", ["ElasticIdle Off", "ElasticIdle 0 top",
                                    "ElasticIdle 100 top\nElasticControl off"])
def test_where_nothing_may_be_improved_nothing_is(site, config):
    s = site(config)
    s.ask_often(*s.page())
    s.d.load(*(11, 10) * 5)
    assert s.counts() == (0, 0, 0)


def test_what_it_takes_is_no_load(site):
    """Every sample is 40 %, except for the subtracted part."""
    s = site("LogLevel elastic:trace1\nElasticCodings br\nElasticIdle 100 top")
    s.d.load(40)

    def is_seen():
        s.ask_often(*s.page(100_000), "br", hits=6)  # no more, or it may come before the samples
        s.hurry()
        for _ in range(10):
            s.d.stat.busy(40)
            if s.server.log.lines(r"elastic: load 0\.[0-3]\d\d,"):
                return True
        return False

    s.server.wait_for(is_seen, PATIENCE, "a sample while something is improved")


@pytest.mark.smoke
def test_neither_a_graceful_restart_nor_an_end_waits_for_it(site):
    s = site("ElasticCodings br\nElasticIdle 100 top")
    s.d.load(10)
    for _ in range(3):
        used = s.counts()[1]
        for _ in range(4):
            s.ask_often(*s.page(100_000), "br")
        s.server.wait_for(s.idle_threads, PATIENCE, "a thread that has the CPU last")
        s.server.wait_for(lambda: s.hurry() or s.counts()[1] > used, PATIENCE, "a call")
        s.server.graceful()
    # The new processes continue with the popular entries.
    before = s.counts()[0]
    s.ask_often(*s.page(), "br")
    s.wait_until_improved(before + 1)
    s.server.stop()
    assert not s.server.log.lines("exit signal|SIGKILL" + "|still did not exit" * (not leaves_late()))


@pytest.mark.unsanitized
def test_the_code_stays_while_the_thread_may_run(site, monkeypatch):
    """One process, as for a debugger: httpd unloads its modules before it ends."""
    monkeypatch.setattr(Server, "_accepts", lambda server: accepts(
        socket.AF_INET, ("127.0.0.1", server.port)))
    monkeypatch.setattr(Server, "children", lambda server: [server.process.pid])
    s = site("ElasticIdle 100 top", wrapper=["sh", "-c", 'exec "$@" -X', "sh"],
             environ={"LD_DEBUG": "files", "LD_DEBUG_OUTPUT": "{root}/loader"})
    s.ask_often(*s.page())
    s.d.load(10)
    s.wait_until_improved()
    s.server.expect_log("AH01240")  # mod_cgid's socket is of the other user
    s.server.process.send_signal(signal.SIGTERM)
    assert s.server.process.wait(60) == 0
    said = (s.server.root / f"loader.{s.server.process.pid}").read_text()
    at_last = said.rpartition(f"calling init: {env.MODULE}")[2]  # it reads its configuration twice
    gone = re.findall(r"file=(\S+) \[0\];\s+destroying link map", at_last)
    assert any("mod_mime" in path for path in gone) and env.MODULE not in gone


def test_the_end_of_a_child_waits_for_who_uses_the_store(site, tmp_path):
    """The timer's thread runs on while its process exits. If it died with the lock, all other
    processes would be stuck."""
    lock = faults.Folder(tmp_path, "store-lock")
    s = site("ElasticIdle 100 top", **lock.options)
    page = s.page()
    s.ask_often(*page)
    lock["keep"] = True
    s.d.load(10)
    s.server.wait_for(lambda: lock["held"], 60, "the lock in the timer's hands")
    keep.reload(s.server)
    assert s.ask(*page)[1]["elastic-engine"] == "cache"
    counts = keep.cache(s.server)
    assert (counts["faults"], counts["broken"]) == (0, 0)
