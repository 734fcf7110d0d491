"""The controller when /proc/stat lies, when the floor is not low enough, and under real load."""

import multiprocessing
import os
import time
from pathlib import Path

import pytest

from kit import check, env
from kit.driven import CONFIG, FILES, SHORT_INTERVAL, START, Driven, start_driven
from kit.procstat import ProcStat

WARNING = r"\[elastic:warn\].*the CPU load cannot be read"
RESUMED = r"\[elastic:notice\].*sampling resumes"

NONSENSE = {
    "empty": "",
    "garbage": "garbage\n",
    "binary": "\0\1\2cpu\0" * 50,
    "no numbers": "cpu  a b c d\ncpu0 e f g h\n",
    "too few columns": "cpu  1 2\n",
    "cut within the first row": "cpu  100 200 30",
    "another file": "MemTotal: 1 kB\nMemFree: 1 kB\n",
    "negative": "cpu  -1 -2 -3 -4 -5 -6 -7 -8\n",
}


def put_a_folder(stat):
    stat.path.unlink()
    stat.path.mkdir()


# name: (what happens to /proc/stat, what undoes it where a new file does not)
HARMS = {
    **{name: (lambda stat, text=text: stat.write(text), None) for name, text in NONSENSE.items()},
    "missing": (lambda stat: stat.path.unlink(), None),
    "unreadable": (lambda stat: os.chmod(stat.path, 0), None),
    "a folder": (put_a_folder, lambda stat: stat.path.rmdir()),
}


@pytest.fixture(scope="module")
def shared(httpd_shared):
    return start_driven(httpd_shared)


@pytest.mark.smoke
@pytest.mark.parametrize("harm", HARMS)
def test_nonsense_warns_once_and_the_level_stays(shared, harm):
    """With one line in the log for each change."""
    d = shared
    harm, undo = HARMS[harm]
    d.walk_to(START)

    def lines(pattern):
        return len(d.server.log.lines(pattern))

    steps, warnings, notices = d.server.status()["ElasticSteps"], lines(WARNING), lines(RESUMED)
    d.server.expect_log(WARNING)
    harm(d.stat)
    d.server.wait_for(lambda: lines(WARNING) == warnings + 1, 5, "a warning")
    time.sleep(0.3)
    assert lines(WARNING) == warnings + 1
    status = d.server.status()
    assert status["ElasticSteps"] == steps and d.position(status) == START and d.level() == 6
    if undo:
        undo(d.stat)
    d.stat.busy(65)
    d.server.wait_for(lambda: lines(RESUMED) == notices + 1, 5, "the notice")
    d.nudge(100)
    assert (lines(WARNING), lines(RESUMED)) == (warnings + 1, notices + 1)


def test_a_file_that_comes_after_the_start(httpd):
    server = httpd(CONFIG, files=FILES, allow_log=[SHORT_INTERVAL, WARNING])
    server.wait_log(WARNING)
    answer = server.get("/a.txt", ae="gzip")
    assert answer.coding == "gzip" and server.notes(answer)["elastic-level"] == "6"
    Driven(server, ProcStat(server.root / "stat")).nudge(100)


def test_counters_that_run_backward_move_nothing(shared):
    d = shared
    d.walk_to(START)
    d.stat.add(iowait=-500)
    time.sleep(0.5)
    assert d.position() == START
    d.nudge(100)


@pytest.mark.parametrize("lines", ["", "ChrootDir /"] if env.IS_ROOT else [""])
def test_a_fifo_in_its_place_holds_nothing_up(httpd, lines):
    server = httpd(f"Elastic On\nElasticProcStat {{root}}/fifo\nElasticInterval 100ms\n{lines}",
                   start=False, files=FILES, allow_log=[SHORT_INTERVAL])
    os.mkfifo(server.root / "fifo")
    (server.root / "fifo").chmod(0o666)
    server.start(timeout=10)
    server.expect_log("elastic: .*fifo")
    server.wait_log("elastic: .*fifo")
    time.sleep(1)
    check.encoded(server.get("/a.txt", ae="gzip"), "gzip", FILES["a.txt"])
    assert server.status()["ElasticSamples"] == "0"
    assert len(server.log.lines("warn.*elastic: .*fifo")) == 1
    start = time.monotonic()
    server.stop()
    assert time.monotonic() - start < 4
    assert not server.log.lines("did not exit")


# --- bypass

BYPASS = "ElasticBypass 95"


@pytest.mark.smoke
def test_bypass_begins_at_the_floor_only_and_ends_with_hysteresis(driven):
    d = driven(BYPASS)
    assert d.load(99)["ElasticBypass"] == "0" and d.position() == START - 1
    d.walk_to(1)
    d.nudge(97)
    assert d.position() == 0 and d.server.status()["ElasticBypass"] == "0"
    assert d.load(90)["ElasticBypass"] == "0"
    assert d.load(96)["ElasticBypass"] == "1"
    assert_bypassed(d)
    for percent in (85, 75, 66):  # below what began it, above low + (high − low)/2
        assert d.load(percent)["ElasticBypass"] == "1"
        assert d.position() == 0
    status = d.load(64)
    assert status["ElasticBypass"] == "0" and d.position(status) == 0
    assert d.level() == 1
    assert d.position(d.load(10)) == 1


def assert_bypassed(d):
    answer = d.server.get("/a.txt", ae="gzip")
    check.plain(answer, FILES["a.txt"])
    assert d.server.reason(answer) == "bypass"
    # A client that refuses the identity gets a coding all the same.
    check.encoded(d.server.get("/a.txt", ae="gzip, identity;q=0"), "gzip", FILES["a.txt"])
    assert int(d.server.status()["ElasticSkipped-bypass"]) >= 1


def test_without_the_directive_there_is_no_bypass(shared):
    d = shared
    d.walk_to(0)
    assert d.load(100)["ElasticBypass"] == "0" and d.level() == 1


def test_a_reload_without_the_directive_ends_the_bypass(driven):
    d = driven(BYPASS)
    d.walk_to(0)
    assert d.load(96)["ElasticBypass"] == "1"
    d.server.graceful()
    assert d.server.status()["ElasticBypass"] == "1"
    d.server.configure(CONFIG)
    d.server.graceful()
    assert d.server.status()["ElasticBypass"] == "0" and d.level() == 1


# --- the real /proc/stat

def burn(stop):
    while not stop.is_set():
        sum(range(10000))


def busy_share(seconds):
    """Of the machine's CPU time, as /proc/stat counts it."""
    def look():
        ticks = [int(word) for word in Path("/proc/stat").read_text().split("\n")[0].split()[1:9]]
        return ticks[3] + ticks[4], sum(ticks)

    idle, ticks = look()
    time.sleep(seconds)
    now_idle, now_ticks = look()
    return 1 - (now_idle - idle) / (now_ticks - ticks)


@pytest.mark.slow
@pytest.mark.alone
def test_real_load_moves_the_level_down_and_its_end_moves_it_up(httpd):
    """The thresholds are high: only CPUs that are all but saturated are above them. Where something
    else keeps them as busy as the burners did, their end cannot move the level."""
    server = httpd("Elastic On\nElasticControl step\nElasticInterval 200ms\nElasticCPU 85 95",
                   files=FILES, allow_log=[SHORT_INTERVAL])

    def level():
        return int(server.status()["ElasticLevelGzip"])

    stop = multiprocessing.Event()
    count = len(os.sched_getaffinity(0)) * 2
    burners = [multiprocessing.Process(target=burn, args=(stop,), daemon=True)
               for _ in range(count)]
    for process in burners:
        process.start()
    try:
        server.wait_for(lambda: level() == 1, 60, "the floor under load")
        answer = server.get("/a.txt", ae="gzip")
        assert answer.body == FILES["a.txt"] and server.notes(answer)["elastic-level"] == "1"
    finally:
        stop.set()
        for process in burners:
            process.join(10)
            if process.is_alive():
                process.kill()
    end = time.monotonic() + 90
    while level() != 9:
        if busy_share(5) > 0.75:
            return
        assert time.monotonic() < end, "the ceiling is not reached without load"
    answer = server.get("/a.txt", ae="gzip")
    assert answer.body == FILES["a.txt"] and server.notes(answer)["elastic-level"] == "9"
