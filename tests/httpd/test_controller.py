"""The controller in a real httpd, driven by a scripted /proc/stat."""

import concurrent.futures
import contextlib
import os
import pathlib
import re
import signal
import threading
import time

import pytest

from kit import at, env
from kit.driven import CONFIG, FILES, SHORT_INTERVAL, START, TOP, start_driven
from kit.process import descriptors
from kit.procstat import ProcStat

def br_level(position, top=TOP):
    """`br 0 6` at a position: halves go up."""
    return int(position / top * 6 + 0.5)


@pytest.fixture(scope="module")
def shared(httpd_shared):
    return start_driven(httpd_shared, at("bounds", "ElasticLevel gzip 3 5"))


@pytest.fixture
def d(shared):
    """A server at the position that one has after its start."""
    shared.walk_to(START)
    return shared


@pytest.mark.smoke
def test_the_level_walks_from_ceiling_to_floor_and_back(d):
    assert d.level() == 6
    d.walk_to(TOP)
    for position in [*range(TOP - 1, -1, -1), *range(1, TOP + 1)]:
        falling = position < d.position()
        status = d.nudge(100 if falling else 0)
        assert d.position(status) == position
        assert int(status["ElasticLevelGzip"]) == d.level("gzip") == position + 1
        assert int(status["ElasticLevelBr"]) == d.level("br") == br_level(position)


@pytest.mark.parametrize("position,loads,level", [
    (0, (98, 97, 99), 1), (TOP, (1, 2, 3), 9), (START, (51, 79, 60, 52, 65, 78), 6)],
    ids=["floor", "ceiling", "dead band"])
@pytest.mark.smoke
def test_the_ends_and_the_dead_band_hold(d, position, loads, level):
    d.walk_to(position)
    before = d.server.status()
    for percent in loads:
        status = d.load(percent)
        assert float(status["ElasticCPU"]) == pytest.approx(percent / 100, abs=0.005)
        assert d.position(status) == position and status["ElasticSteps"] == before["ElasticSteps"]
    assert d.level() == level


def test_a_step_begins_right_beyond_the_dead_band(d):
    assert d.position(d.load(49)) == START + 1
    assert d.position(d.load(81)) == START


def test_a_trace_has_each_load_and_position(driven):
    d = driven("LogLevel elastic:trace1\n")
    d.load(90)
    assert d.server.log.lines(r"elastic: load 0\.90\d, position 4\.000 of 8$")
    assert not d.server.log.lines("elastic: load (?!0)")


def test_places_with_bounds_of_their_own_follow_the_same_position(d):
    for position, level in ((TOP, 5), (0, 3), (4, 4)):
        d.walk_to(position)
        assert d.level(path="/bounds/a.txt") == level


def test_a_text_that_does_not_move_moves_nothing(d):
    status = d.load(10)
    time.sleep(0.5)
    assert d.server.status()["ElasticSteps"] == status["ElasticSteps"]
    assert not d.server.log.lines(":warn.*ElasticProcStat|does not tell")


def test_the_thresholds_themselves_belong_to_the_dead_band(driven):
    d = driven("ElasticCPU 25 75")  # shares that a double holds exactly
    for percent in (25, 75):
        assert d.position(d.load(percent)) == START


def test_one_setup_per_interval(httpd):
    """Under a load that never ends, the steps are an interval apart."""
    interval = 0.3
    server = httpd(CONFIG.replace("100ms", "300ms"), start=False, files=FILES,
                   allow_log=[SHORT_INTERVAL])
    d_stat = ProcStat(server.root / "stat")
    server.start()
    done = threading.Event()

    def burn():
        while not done.wait(0.02):
            d_stat.busy(100, ticks=2)

    thread = threading.Thread(target=burn)
    thread.start()
    try:
        changes = []
        seen = server.status()["ElasticLevelGzip"]
        deadline = time.monotonic() + 15
        while seen != "1" and time.monotonic() < deadline:
            now = server.status()["ElasticLevelGzip"]
            if now != seen:
                changes.append((time.monotonic(), int(seen) - int(now)))
                seen = now
            time.sleep(0.01)
    finally:
        done.set()
        thread.join()
    assert seen == "1" and all(step == 1 for _, step in changes)
    # From the first change seen to the last: reading late can only lengthen or shorten the ends.
    lasted = changes[-1][0] - changes[0][0]
    assert lasted >= (len(changes) - 1) * interval - 0.15
    assert lasted <= (len(changes) - 1) * (interval + 0.2) + 1


def test_what_counts_as_busy(driven):
    d = driven("ElasticCPU 1 99")
    d.stat.add(user=200, system=100, idle=400, iowait=100, irq=50, softirq=50, steal=100, guest=200)
    d.wait(lambda s: float(s["ElasticCPU"]) == pytest.approx(0.5, abs=0.001), "half busy")


def test_only_the_cpus_that_httpd_may_use_count(driven):
    first = min(os.sched_getaffinity(0))
    second = first + 1  # the script's; the machine may have it or not
    d = driven("ElasticCPU 1 99", cpus=(first, second), wrapper=["taskset", "-c", str(first)])
    d.stat.busy(30, cpu=first)
    d.wait(lambda s: float(s["ElasticCPU"]) == pytest.approx(0.3, abs=0.001), "its load")
    d.stat.busy(100, cpu=second)
    time.sleep(0.5)
    assert float(d.server.status()["ElasticCPU"]) == pytest.approx(0.3, abs=0.001)


def test_off_stays_at_the_ceiling(driven):
    d = driven("ElasticControl off\nElasticLevel gzip 2 7")
    assert d.level() == 7 and d.level("br") == 6
    d.stat.busy(100)
    time.sleep(0.5)
    status = d.server.status()
    assert status["ElasticSteps"] == "0" and d.level() == 7


def test_a_pinned_level_does_not_move(driven):
    d = driven("ElasticLevel gzip 4")
    d.walk_to(TOP - 3)  # of br's ladder, 0 … 6, as eighths
    assert d.level() == 4


@pytest.mark.parametrize("bounds,level", [("1 4", 4), ("7 9", 7)])
def test_the_start_is_the_bound_that_is_nearest_to_the_stock_level(driven, bounds, level):
    assert driven(f"ElasticLevel gzip {bounds}").level() == level


# --- the position's life

def test_the_position_survives_a_graceful_restart(d):
    d.walk_to(3)
    d.server.graceful()
    assert d.position() == 3 and d.level() == 4
    d.walk_to(2)  # by the new generation


@pytest.mark.smoke
def test_new_bounds_clamp_the_position(driven):
    d = driven()
    d.walk_to(7)
    narrow = "ElasticLevel gzip 1 3\nElasticLevel br 0 2\nElasticLevel zstd 1 3"
    d.server.configure(CONFIG + narrow)
    d.server.graceful()
    status = d.server.status()
    assert float(status["ElasticPosition"]) == 1 and d.level() == 3 and d.level("br") == 2
    d.stat.busy(100)
    d.wait(lambda s: s["ElasticLevelGzip"] == "2", "a step between the new bounds")


def test_new_thresholds_are_in_force_after_a_graceful_restart(driven):
    d = driven()
    d.server.configure(CONFIG.replace("50 80", "10 20"))
    d.server.graceful()
    status = d.server.status()
    assert float(status["ElasticCPULow"]) == pytest.approx(0.1)
    assert float(status["ElasticCPUHigh"]) == pytest.approx(0.2)
    assert d.position(d.load(30)) == START - 1


def test_a_restart_begins_anew(d):
    d.walk_to(2)
    d.server.get("/a.txt", ae="gzip")
    d.server.restart()
    status = d.server.status()
    assert d.position(status) == START and status["ElasticSteps"] == "0"
    assert status["ElasticCompressed"] == "0"


CHILDREN = None if env.MPM == "prefork" else (
    "StartServers 3\nServerLimit 4\nThreadsPerChild 8\nMaxRequestWorkers 32\n"
    "MinSpareThreads 16\nMaxSpareThreads 32\n")


def test_dead_children_do_not_stop_the_sampling(driven):
    d = driven(mpm_config=CHILDREN)
    d.server.expect_log(r"exit signal Killed \(9\)|children are killed successively")
    d.walk_to(TOP)
    for _ in range(4):
        children = d.server.children()
        assert children
        for victim in children[:max(1, len(children) - 1)]:
            os.kill(victim, signal.SIGKILL)
        begin = time.monotonic()
        d.nudge(100)
        # A singleton of mod_watchdog would not run for ten seconds.
        assert time.monotonic() - begin < 6
    assert d.position() == TOP - 4


def _switches(child):
    """How often each thread of a process has gone to sleep."""
    counts = {}
    for status in pathlib.Path(f"/proc/{child}/task").glob("*/status"):
        with contextlib.suppress(OSError):
            found = re.search(r"^voluntary_ctxt_switches:\s+(\d+)", status.read_text(),
                              re.MULTILINE)
            counts[status.parent.name] = int(found[1])
    return counts


def _wakeups(child, seconds):
    """Of the thread that woke up the most."""
    before = _switches(child)
    time.sleep(seconds)
    after = _switches(child)
    return max(after[thread] - before.get(thread, 0) for thread in after)


def _by_wakeups(server):
    """(wakeups in three seconds, child), the fewest first."""
    children = server.children()
    with concurrent.futures.ThreadPoolExecutor(len(children)) as pool:
        return sorted(zip(pool.map(lambda child: _wakeups(child, 3), children), children))


@pytest.fixture
def sampling(httpd):
    """An httpd of several children that samples the real load."""
    server = httpd("Elastic On\nElasticInterval 100ms\n", mpm_config=CHILDREN,
                   allow_log=[SHORT_INTERVAL])
    time.sleep(2)
    return server


def test_one_child_samples_and_the_others_mostly_sleep(sampling):
    # It wakes up ten times a second, they twice in 1.1 seconds. Now and then one takes over from
    # another.
    for _ in range(3):
        found = [wakeups for wakeups, _ in _by_wakeups(sampling)]
        if found[-1] >= 15 and found[-2] <= 12:
            break
    assert len(found) >= 3 and found[-1] >= 15 and found[-2] <= 12, found


def test_another_child_takes_over_from_one_that_stopped(sampling):
    child = _by_wakeups(sampling)[-1][1]
    before = int(sampling.status()["ElasticSamples"])
    os.kill(child, signal.SIGSTOP)
    time.sleep(4)
    os.kill(child, signal.SIGCONT)
    assert int(sampling.status()["ElasticSamples"]) - before >= 10


def test_all_children_dead_at_once(d):
    d.server.expect_log(r"exit signal Killed \(9\)|children are killed successively")
    d.walk_to(3)
    for child in d.server.children():
        os.kill(child, signal.SIGKILL)
    assert d.position() == 3
    d.walk_to(2)


def test_sampling_leaves_no_descriptors_open(httpd):
    server = httpd("Elastic On\nElasticInterval 100ms", allow_log=[SHORT_INTERVAL])

    def samples():
        return int(server.status()["ElasticSamples"])

    server.wait_for(lambda: samples() >= 2, 10, "samples")
    before, seen = {pid: descriptors(pid) for pid in server.children()}, samples()
    server.wait_for(lambda: samples() >= seen + 15, 20, "samples")
    after = {pid: descriptors(pid) for pid in server.children()}
    assert sum(after[pid] - before[pid] for pid in {*before} & {*after}) < 10
