"""ElasticIdle: what is kept and asked for often is made smaller while CPU time is spare."""

import contextlib
import os
import time

import pytest

from kit import bodies, check, env
from kit.driven import start_driven
from kit.origin import raw

MODULES = ("socache_shmcb", "proxy", "proxy_http")
CACHE = "ElasticCache On\nElasticMinSize 0\n"

# More than any page takes, however busy the machine is.
PATIENCE = 600

# What was asked for counts half after each minute: so many count for three of them.
HITS = 30

GZIP_TOP = "12" if env.HAS_LIBDEFLATE else "9"


@pytest.fixture
def pages(origin):
    """Pages of an origin, each of bytes of its own: (path, body)."""
    numbers = iter(range(1000000))

    def make(size=30000):
        path = f"/idle{next(numbers)}"
        body = bodies.html(size) + path.encode()
        origin.route(path, raw({"Content-Type": "text/html", "ETag": '"tag"',
                                "Content-Length": len(body)}, body))
        return "/p" + path, body

    return make


@pytest.fixture
def site(httpd, origin):
    """A server whose load is scripted, in front of that origin. At first it is no spare load."""
    def start(config):
        proxy = (f"ProxyPass /p {origin.url}\n<Location /pinned>\nProxyPass {origin.url}\n"
                 "ElasticLevel gzip 4\n</Location>\n")
        return start_driven(httpd, CACHE + proxy + config, modules=MODULES)
    return start


def counts(d):
    """What the status page shows of it: (encodings, µs, bytes)."""
    status = d.status()
    return tuple(int(status[f"ElasticImproved{what}"]) for what in ("", "Usec", "Bytes"))


def ask(d, path, body, ae="gzip"):
    """An answer, and its notes."""
    answer = d.server.get(path, ae=ae)
    check.encoded(answer, answer.coding, body)
    return answer, d.server.notes(answer)


def ask_often(d, path, body, ae="gzip", hits=HITS):
    """The last of so many answers that were kept.

    On a busy machine a body may come in pieces, and is streamed then: it takes more requests.
    """
    kept = []

    def is_enough():
        answer, notes = ask(d, path, body, ae)
        if notes["elastic-engine"] == "cache":
            kept.append((answer, notes))
        return len(kept) >= hits

    d.server.wait_for(is_enough, PATIENCE, f"{hits} answers of {path} that were kept")
    return kept[-1]


def ask_until_at(d, level, path, body, ae="gzip"):
    """The first answer at a level, which was kept."""
    found = []

    def is_there():
        hurry(d)
        found[:] = ask(d, path, body, ae)
        return found[1]["elastic-level"] == level

    d.server.wait_for(is_there, PATIENCE, f"level {level}")
    assert found[1]["elastic-engine"] == "cache"
    return found


def idle_threads(d):
    """The threads of the server's processes that have the CPU last."""
    found = []
    for child in d.server.children():
        with contextlib.suppress(OSError):
            found += [int(task) for task in os.listdir(f"/proc/{child}/task")
                      if os.sched_getscheduler(int(task)) == os.SCHED_IDLE]
    return found


def hurry(d):
    """Where other work leaves no CPU time to such a thread, its page would take minutes."""
    for task in idle_threads(d):
        with contextlib.suppress(OSError):
            os.sched_setscheduler(task, os.SCHED_OTHER, os.sched_param(0))


def wait_hurrying(d, condition, what):
    """Waits for the condition of the status page."""
    def is_so(status):
        hurry(d)
        return condition(status)

    d.wait(is_so, what, PATIENCE)


def wait_until_improved(d, least=1):
    wait_hurrying(d, lambda status: int(status["ElasticImproved"]) >= least, "an improved encoding")


@pytest.mark.smoke
def test_what_is_asked_for_often_becomes_smaller_at_the_top(site, pages):
    d = site("ElasticIdle 100 top\n")
    path, body = pages()
    before, notes = ask_often(d, path, body)
    assert int(notes["elastic-level"]) < int(GZIP_TOP)
    d.load(10)
    wait_until_improved(d)
    answer, notes = ask_until_at(d, GZIP_TOP, path, body)
    assert len(answer.raw) < len(before.raw) and answer.headers["ETag"] == before.headers["ETag"]
    assert int(notes["elastic-out"]) == len(answer.raw)
    count, usec, saved = counts(d)
    assert (count, saved) == (1, len(before.raw) - len(answer.raw)) and usec > 0


def test_clients_of_several_codings_get_the_smallest(site, pages):
    d = site("ElasticCodings gzip br\nElasticIdle 100 top\n")
    path, body = pages()
    before, _ = ask_often(d, path, body, "gzip, br")
    d.load(10)
    wait_until_improved(d)
    answer, _ = ask_until_at(d, "11", path, body, "gzip, br")
    assert answer.coding == "br" and len(answer.raw) < len(before.raw)
    # Whoever takes gzip alone has an encoding of its own.
    answer, notes = ask(d, path, body)
    assert answer.coding == "gzip" and notes["elastic-level"] != GZIP_TOP
    # It is improved for these as well, if they ask often.
    ask_until_at(d, GZIP_TOP, path, body)


@pytest.mark.parametrize("top,level", [("", "8"), (" top", GZIP_TOP)])
def test_without_top_the_maximum_holds_and_a_pinned_level_anywhere(site, pages, top, level):
    d = site(f"ElasticLevel gzip 1 8\nElasticIdle 100{top}\n")
    path, body = pages()
    pinned = path.replace("/p/", "/pinned/")
    ask_often(d, pinned, body)
    ask_often(d, path, body)
    d.load(10)
    wait_until_improved(d)
    ask_until_at(d, level, path, body)
    assert ask(d, pinned, body)[1]["elastic-level"] == "4"
    assert counts(d)[0] == 1


def test_nothing_is_improved_while_the_cpu_is_busy(site, pages):
    d = site("ElasticIdle 100 top\n")
    path, body = pages()
    ask_often(d, path, body)
    d.load(66, settle=1)
    assert counts(d) == (0, 0, 0)
    d.load(10)
    wait_until_improved(d)


def test_the_next_one_waits_until_the_last_took_no_more_than_the_share(site, pages):
    d = site("ElasticCodings br\nElasticIdle 1 top\n")
    for path, body in (pages(60_000), pages(60_000)):
        ask_often(d, path, body, "br")
    began = time.monotonic()
    d.load(10)
    wait_until_improved(d)
    used = counts(d)[1] / 1e6
    wait_until_improved(d, 2)
    assert time.monotonic() - began >= used / (0.01 * len(os.sched_getaffinity(0)))


@pytest.mark.parametrize("config", ["ElasticIdle Off", "ElasticIdle 0 top",
                                    "ElasticIdle 100 top\nElasticControl off"])
def test_where_nothing_may_be_improved_nothing_is(site, pages, config):
    d = site(config + "\n")
    path, body = pages()
    ask_often(d, path, body)
    d.load(11, settle=1)
    assert counts(d) == (0, 0, 0)


def test_what_it_takes_is_no_load(site, pages):
    """All samples are of 40 %, but for what is subtracted."""
    d = site("LogLevel elastic:trace1\nElasticCodings br\nElasticIdle 100 top\n")
    d.load(40)

    def is_seen():
        path, body = pages(100_000)
        ask_often(d, path, body, "br", hits=6)  # no more: it may be done before the samples
        hurry(d)
        for _ in range(10):
            d.stat.busy(40)
            if d.server.log.lines(r"elastic: load 0\.[0-3]\d\d,"):
                return True
        return False

    d.server.wait_for(is_seen, PATIENCE, "a sample while something is improved")


@pytest.mark.smoke
def test_neither_a_graceful_restart_nor_an_end_waits_for_it(site, pages):
    d = site("ElasticCodings br\nElasticIdle 100 top\n")
    d.load(10)
    for _ in range(3):
        used = counts(d)[1]
        for _ in range(4):
            path, body = pages(100_000)
            ask_often(d, path, body, "br")
        d.server.wait_for(lambda: idle_threads(d), PATIENCE, "a thread that has the CPU last")
        wait_hurrying(d, lambda status: int(status["ElasticImprovedUsec"]) > used, "a call")
        d.server.graceful()
    # The new processes go on with what is hot.
    before = counts(d)[0]
    path, body = pages()
    ask_often(d, path, body, "br")
    wait_until_improved(d, before + 1)
    d.server.stop()
    assert not d.server.log.lines("exit signal|SIGKILL|still did not exit")
