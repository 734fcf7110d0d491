"""The controller in a real httpd: the load that it reads, the levels of responses, and the life of
its position. tests/unit and tests/sim prove how it reacts to loads."""

import datetime
import itertools
import os
import pathlib
import re
import signal
import subprocess
import time

import pytest

from kit import aborts, at, check, env, faults
from kit.config import vhost
from kit.driven import CONFIG, FILES, SHORT_INTERVAL, START, TOP, start_driven
from kit.process import descriptors, until
from kit.procstat import ProcStat

# With the real load; the log has each sample.
SAMPLING = "Elastic On\nElasticInterval 100ms\nLogLevel elastic:trace1\n"
CHILDREN = None if env.MPM == "prefork" else (
    "StartServers 3\nServerLimit 4\nThreadsPerChild 8\nMaxRequestWorkers 32\n"
    "MinSpareThreads 16\nMaxSpareThreads 32\n")
KILLED = r"exit signal Killed \(9\)|children are killed successively"


@pytest.fixture(scope="module")
def shared(httpd_shared):
    return start_driven(httpd_shared, at("bounds", "ElasticLevel gzip 3 5"))


@pytest.fixture
def d(shared):
    shared.walk_to(START)
    return shared


# --- the level


@pytest.mark.smoke
def test_the_level_walks_from_ceiling_to_floor_and_back(d):
    assert d.level() == 6
    d.walk_to(TOP)
    for position in [*range(TOP - 1, -1, -1), *range(1, TOP + 1)]:
        falling = position < d.position()
        status = d.nudge(100 if falling else 0)
        assert d.position(status) == position
        assert int(status["ElasticLevelGzip"]) == d.level("gzip") == position + 1
        # Halves of `br 0 6` are rounded up.
        assert int(status["ElasticLevelBr"]) == d.level("br") == int(position / TOP * 6 + 0.5)
        # A place with bounds of its own follows the same position.
        assert d.level(path="/bounds/a.txt") == 3 + int(position / TOP * 2 + 0.5)


def test_a_step_begins_right_beyond_the_dead_band(driven):
    """A trace has each load and position."""
    d = driven("ElasticCPU 25 75\nLogLevel elastic:trace1\n")  # shares that a double holds exactly
    for percent, position in ((75, START), (25, START), (24, START + 1), (76, START)):
        assert d.position(d.load(percent)) == position
        d.server.wait_log(rf"elastic: load 0\.{percent}\d, levels at {position}\.000 of 8$")
    assert not d.server.log.lines("elastic: load (?!0)")


def test_off_stays_at_the_ceiling(driven):
    d = driven("ElasticControl off\nElasticGoal time\nElasticLevel gzip 2 7")
    assert d.level() == 7 and d.level("br") == 6
    assert d.load(100)["ElasticSteps"] == "0" and d.level() == 7
    assert "ElasticPrice" not in d.status()


def assert_mixed(found, position):
    """The position's fraction of all responses took the upper level, and so did every first few."""
    lower = int(position) + 1
    assert set(found) == {lower, lower + 1}
    uppers = itertools.accumulate(level == lower + 1 for level in found)
    for count, upper in enumerate(uppers, 1):
        assert abs(upper - position % 1 * count) < 3, (position, found)


@pytest.mark.smoke
@pytest.mark.protocols("http/1.1", "h2c")
def test_mix_serves_its_fraction_evenly(driven, protocol):
    """Also after a graceful restart; `step` then takes the position below."""
    one_child = None if env.MPM == "prefork" else aborts.ONE_CHILD["mpm_config"]
    d = driven("ElasticControl mix", h2=True, mpm_config=one_child)
    assert set(d.levels(5, protocol)) == {START + 1}
    for percent in (90, 40, 86):
        d.nudge(percent)
        assert d.raw_position() % 1, "a whole position would show nothing"
        assert_mixed(d.levels(60 if protocol == "http/1.1" else 30, protocol), d.raw_position())
    position = d.raw_position()
    d.server.expect_log("AH00288")  # from worker, while the old child has the only slot
    d.server.graceful()
    assert d.raw_position() == position
    assert_mixed(d.levels(30, protocol), position)
    d.server.configure(CONFIG + "ElasticControl step")
    d.server.graceful()
    d.wait(lambda s: s["ElasticControl"] == "step", "the new configuration")
    assert d.raw_position() == int(position)


# --- bypass


@pytest.mark.smoke
def test_bypass_begins_at_the_floor_only_and_ends_with_hysteresis(driven):
    d = driven("ElasticBypass 95")
    d.walk_to(1)
    assert d.load(99)["ElasticBypass"] == "0" and d.position() == 0
    assert d.load(90)["ElasticBypass"] == "0"
    assert d.load(96)["ElasticBypass"] == "1"
    d.server.graceful()
    answer = d.server.get("/a.txt", ae="gzip")
    check.plain(answer, FILES["a.txt"])
    assert d.server.reason(answer) == "bypass"
    # A client that refuses identity still gets a coding.
    check.encoded(d.server.get("/a.txt", ae="gzip, identity;q=0"), "gzip", FILES["a.txt"])
    assert int(d.status()["ElasticSkipped-bypass"]) >= 1
    assert d.load(66)["ElasticBypass"] == "1"  # above low + (high − low)/2
    assert d.load(64)["ElasticBypass"] == "0" and d.position() == 0 and d.level() == 1
    assert d.load(96)["ElasticBypass"] == "1"
    d.server.configure(CONFIG)
    d.server.graceful()
    assert d.status()["ElasticBypass"] == "0" and d.level() == 1


# --- the position's life


def test_the_position_survives_a_graceful_restart_and_no_other(d):
    d.walk_to(3)
    d.server.graceful()
    assert d.position() == 3 and d.level() == 4
    d.walk_to(2)  # set by the new generation
    d.server.restart()
    status = d.server.status()
    assert d.position(status) == START
    assert status["ElasticSteps"] == status["ElasticCompressed"] == "0"


@pytest.mark.smoke
def test_new_bounds_clamp_the_position(driven):
    d = driven()
    d.walk_to(7)
    narrow = "ElasticLevel gzip 1 3\nElasticLevel br 0 2\nElasticLevel zstd 1 3"
    d.server.configure(CONFIG.replace("50 80", "10 20") + narrow)
    d.server.graceful()
    status = d.status()
    assert float(status["ElasticPosition"]) == 1 and d.level() == 3 and d.level("br") == 2
    assert (status["ElasticCPULow"], status["ElasticCPUHigh"]) == ("0.100", "0.200")
    d.stat.busy(30)
    d.wait(lambda s: s["ElasticLevelGzip"] == "2", "a step between the new bounds")


def test_dead_children_do_not_stop_the_sampling(driven):
    d = driven(mpm_config=CHILDREN)
    d.server.expect_log(KILLED)
    d.walk_to(TOP)
    for left, position in ((1, TOP - 1), (1, TOP - 2), (1, TOP - 3), (0, TOP - 4)):
        children = d.server.children()
        for victim in children[:max(1, len(children) - left)]:
            os.kill(victim, signal.SIGKILL)
        begin = time.monotonic()
        assert d.position(d.nudge(100)) == position
        # A singleton of mod_watchdog would pause for ten seconds.
        assert time.monotonic() - begin < 6


@pytest.mark.smoke
def test_virtual_hosts_share_the_position_and_have_their_own_bounds(driven):
    hosts = {"first": "", "second": "ElasticLevel gzip 3 5", "third": "ElasticLevel gzip 4",
             "fourth": "Elastic Off"}
    d = driven("".join(vhost(*host) for host in hosts.items()))
    for position, expected in ((TOP, (TOP + 1, 5, 4)), (0, (1, 3, 4))):
        d.walk_to(position)
        for host, level in zip(hosts, expected):
            assert set(d.levels(3, headers={"Host": host})) == {level}
        plain = d.server.get("/a.txt", ae="gzip", headers={"Host": "fourth"})
        assert plain.coding is None and plain.body == FILES["a.txt"]


# --- who samples


def wait_samples(server, count):
    """Waits for this many more samples. Requests would wake the children."""
    def lines():
        return len(server.log.lines("elastic: load "))

    seen = lines()
    until(lambda: lines() >= seen + count, 60, f"{count} samples")


def by_wakeups(server):
    """[(wakeups of its busiest thread within 30 samples, child)], the fewest first."""
    def switches(child):
        """{thread: how often it has gone to sleep}"""
        return {path.parent.name: int(re.search(r"(?m)^voluntary_ctxt_switches:\s+(\d+)",
                                                path.read_text())[1])
                for path in pathlib.Path(f"/proc/{child}/task").glob("*/status")}

    before = {child: switches(child) for child in server.children()}
    wait_samples(server, 30)
    return sorted((max(count - before[child].get(thread, 0)
                       for thread, count in switches(child).items()), child) for child in before)


def test_one_child_samples_until_it_is_stopped(httpd):
    """It wakes up for each sample, the others every ten seconds. Now and then one takes over from
    another. Sampling leaves no descriptors open."""
    server = httpd(SAMPLING, mpm_config=CHILDREN, allow_log=[SHORT_INTERVAL])
    wait_samples(server, 20)
    before = {child: descriptors(child) for child in server.children()}
    for _ in range(5):
        began = time.monotonic()
        found = by_wakeups(server)
        assert time.monotonic() - began > 2.5, "30 samples are 3 s"
        if found[-1][0] >= 15 and found[-2][0] <= 12:
            break
    assert len(found) >= 3 and found[-1][0] >= 15 and found[-2][0] <= 12, found
    assert sum(descriptors(child) - before[child]
               for child in {*before} & {*server.children()}) < 10
    os.kill(found[-1][1], signal.SIGSTOP)
    try:
        wait_samples(server, 10)
    finally:
        os.kill(found[-1][1], signal.SIGCONT)


def test_a_surge_of_responses_brings_the_sample_forward(httpd):
    """Without a surge there is one sample every four seconds."""
    server = httpd(SAMPLING.replace("100ms", "4s"), files=FILES)

    def is_early():
        with server.connect() as client:
            for _ in range(60):
                client.request("/a.txt", ae="gzip")
        wait_samples(server, 1)
        at = [datetime.datetime.strptime(re.match(r"\[(.*?)\]", line)[1], "%a %b %d %H:%M:%S.%f %Y")
              for line in server.log.lines("elastic: load ")[-2:]]
        return (at[1] - at[0]).total_seconds() < 3.5

    wait_samples(server, 2)
    server.wait_for(is_early, 60, "an early sample")


# --- what the load is read from


def test_only_the_cpus_that_httpd_may_use_count(driven):
    first = min(os.sched_getaffinity(0))
    second = first + 1  # the script's CPU; the machine may not have it
    d = driven("ElasticCPU 1 99", cpus=(first, second), wrapper=["taskset", "-c", str(first)])
    for percent in (30, 40, 50):
        d.stat.busy(100, cpu=second, ticks=100000)
        d.stat.busy(percent, cpu=first)
        d.wait(lambda s: s["ElasticCPU"] == f"{percent / 100:.3f}", "its load")


# (damage to /proc/stat, its repair unless a new file is enough)
HARMS = [
    (lambda stat: stat.write(""), None),
    (lambda stat: stat.write("cpu  a b c d\ncpu0 e f g h\n"), None),
    (lambda stat: stat.path.unlink(), None),
    (lambda stat: (stat.path.unlink(), stat.path.mkdir()), lambda stat: stat.path.rmdir()),
]


@pytest.mark.smoke
def test_nonsense_warns_once_and_the_level_stays(driven):
    d = driven()
    warning = "elastic:warn.*the CPU load cannot be read"
    notice = "elastic:notice.*sampling resumes"

    def count(pattern):
        return len(d.server.log.lines(pattern))

    d.server.expect_log(warning)
    for number, (harm, undo) in enumerate(HARMS):
        harm(d.stat)
        d.server.wait_for(lambda: count(warning) > number, 10, "a warning")
        time.sleep(0.5)  # for warnings that must not come
        status = d.status()
        assert int(status["ElasticSteps"]) == number and d.position(status) == START - number
        assert d.level() == 6 - number
        if undo:
            undo(d.stat)
        d.stat.busy(65)
        d.server.wait_for(lambda: count(notice) > number, 10, "a notice")
        d.nudge(100)
        assert count(warning) == count(notice) == number + 1


@pytest.mark.parametrize("lines", ["", "ChrootDir /"] if env.IS_ROOT else [""])
def test_a_fifo_in_its_place_holds_nothing_up(httpd, lines):
    server = httpd(f"Elastic On\nElasticProcStat {{root}}/fifo\nElasticInterval 100ms\n{lines}",
                   start=False, files=FILES, allow_log=[SHORT_INTERVAL, "elastic: .*fifo"])
    os.mkfifo(server.root / "fifo")
    (server.root / "fifo").chmod(0o666)
    server.start(timeout=10)
    server.wait_log("elastic: .*fifo")
    check.encoded(server.get("/a.txt", ae="gzip"), "gzip", FILES["a.txt"])
    assert server.status()["ElasticSamples"] == "0"
    start = time.monotonic()
    server.stop()
    assert time.monotonic() - start < 4
    assert not server.log.lines("did not exit")
    assert len(server.log.lines("warn.*elastic: .*fifo")) == 1


def test_where_the_kernel_tells_nothing_the_level_stays_where_it_starts(httpd, tmp_path):
    """As elsewhere than on Linux: there is neither /proc nor a control group. It says so once."""
    server = httpd("Elastic On\nElasticControl step\nElasticInterval 100ms\n", start=False,
                   files=FILES, allow_log=[SHORT_INTERVAL, "warn.*the CPU load cannot be read"],
                   environ={"KERNEL_ROOT": "{root}/none"},
                   wrapper=faults.wrapper(faults.library(tmp_path, "kernel-root")))
    server.start()
    server.wait_log("elastic: the CPU load cannot be read from /proc/stat; the levels stay")
    start = server.status()["ElasticPosition"]
    for _ in range(2):
        time.sleep(0.3)  # for samples that must not come
        check.encoded(server.get("/a.txt", ae="gzip"), "gzip", FILES["a.txt"])
        server.graceful()
    status = server.status()
    assert (status["ElasticSamples"], status["ElasticPosition"]) == ("0", start)
    assert len(server.log.lines("warn.*the CPU load cannot be read")) == 1


@pytest.mark.parametrize("config,text", [
    ("ElasticLoad auto", r"(stat|cgroup) \(.*\)"), ("ElasticLoad stat", r"stat \(as configured\)"),
    ("ElasticLoad cgroup", r"(stat|cgroup) \(.*\)"),
    ("ElasticProcStat /proc/stat", r"stat \(as configured\)")])
def test_a_file_in_place_of_proc_stat_implies_stat(httpd, config, text):
    server = httpd(SAMPLING + config, allow_log=[SHORT_INTERVAL])
    said = server.status()["ElasticLoad"]
    assert re.fullmatch(text, said)
    assert any(said in line for line in server.log.lines("elastic: the CPU load is read from"))
    wait_samples(server, 2)


def test_a_limit_that_comes_is_noticed(httpd, tmp_path):
    """Limits are read again every ten seconds. tests/unit/test_machine.c proves which control
    groups count."""
    server = httpd("Elastic On\nElasticControl step\nElasticInterval 200ms\n", start=False,
                   allow_log=[SHORT_INTERVAL], environ={"KERNEL_ROOT": "{root}/kernel"},
                   wrapper=faults.wrapper(faults.library(tmp_path, "kernel-root")))

    def write(name, text):
        path = server.root / "kernel" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.with_suffix(".part").write_text(text)
        path.with_suffix(".part").rename(path)

    def wait_at(position, move):
        """Makes time pass with `move` until the position is reached."""
        until(lambda: move() or float(server.status()["ElasticPosition"]) == position, 60,
              "a position")

    usec = itertools.count(10 ** 6, 10 ** 6)
    write("proc/self/cgroup", "0::/web\n")
    write("proc/self/mountinfo", "29 22 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n")
    write("sys/fs/cgroup/web/cpu.stat", "usage_usec 0\n")
    write("sys/fs/cgroup/web/cpu.max", "max 100000\n")
    write("proc/stat", "")
    stat = ProcStat(server.root / "kernel/proc/stat")
    server.start()
    assert server.status()["ElasticLoad"] == "stat (the control group has no limit)"
    wait_at(1, lambda: stat.busy(1))
    wait_at(0, lambda: stat.busy(99))
    write("sys/fs/cgroup/web/cpu.max", "20000 100000\n")
    server.wait_log(r"the CPU load is read from cgroup \(v2, limit of 0.20 CPUs\)", 30)
    wait_at(1, lambda: None)
    wait_at(0, lambda: write("sys/fs/cgroup/web/cpu.stat", f"usage_usec {next(usec)}\n"))


def busy(seconds):
    """The share of that time in which the CPUs were busy."""
    def look():
        ticks = [int(field) for field in pathlib.Path("/proc/stat").read_text().split()[1:9]]
        return sum(ticks), ticks[3] + ticks[4]

    (before, idle_before), _, (after, idle) = look(), time.sleep(seconds), look()
    return 1 - (idle - idle_before) / (after - before)


@pytest.mark.slow
@pytest.mark.alone
def test_real_load_moves_the_level_down_and_its_end_moves_it_up(httpd):
    """Only nearly saturated CPUs are above these high thresholds."""
    server = httpd("Elastic On\nElasticControl step\nElasticInterval 200ms\nElasticCPU 85 95",
                   files=FILES, allow_log=[SHORT_INTERVAL])

    def is_at(level):
        return server.status()["ElasticLevelGzip"] == level

    def serves(level):
        answer = server.get("/a.txt", ae="gzip")
        assert answer.body == FILES["a.txt"] and server.notes(answer)["elastic-level"] == level

    burners = [subprocess.Popen(["sh", "-c", "while :; do :; done"])
               for _ in range(2 * len(os.sched_getaffinity(0)))]
    try:
        until(lambda: is_at("1"), 90, "the floor")
        serves("1")
    finally:
        for process in burners:
            process.kill()
            process.wait()
    # The position must stay low while other processes keep the CPUs busy.
    until(lambda: is_at("9") or busy(5) > 0.85, 90, "the ceiling")
    if is_at("9"):
        serves("9")
