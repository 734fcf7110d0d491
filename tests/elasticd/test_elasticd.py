"""elasticd: what it publishes, how it starts and ends, and what it survives."""

import os
import pathlib
import shutil
import signal
import subprocess
import time

import pytest

from conftest import PATIENCE, SOURCE, Position, until
from kit import env

V2 = "29 22 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n"


def run(*arguments):
    return subprocess.run([env.ELASTICD, *map(str, arguments)], capture_output=True, text=True,
                          timeout=PATIENCE)


def show(path):
    return run("--show", "--file", path)


def is_fresh(path):
    return show(path).returncode == 0


def is_stale(path):
    shown = show(path)
    return shown.returncode == 1 and "too long" in shown.stdout


def test_help_names_each_option_and_version_the_project():
    done = run("--help")
    assert done.returncode == 0 and done.stdout.startswith("usage: elasticd")
    for option in ("--file", "--pid-file", "--foreground", "--interval", "--low", "--high",
                   "--bypass", "--control", "--top", "--start", "--load", "--proc-stat", "--root",
                   "--nice", "--show", "--version"):
        assert option in done.stdout
    done = run("--version")
    assert done.returncode == 0 and "mod_elastic" in done.stdout


@pytest.mark.parametrize("arguments,named", [
    (["--low", "x"], "--low"), (["--low", "-1"], "--low"), (["--high", "101"], "--high"),
    (["--low", "80", "--high", "80"], "--low 80"), (["--low", "90"], "--high 80"),
    (["--bypass", "nan"], "--bypass"), (["--interval", "99ms"], "--interval"),
    (["--interval", "61s"], "--interval"), (["--interval", "1m"], "--interval"),
    (["--interval", ""], "--interval"), (["--control", "predict"], "--control"),
    (["--top", "0"], "--top"), (["--top", "1001"], "--top"), (["--top", "8x"], "--top"),
    (["--top", "4", "--start", "5"], "--start 5"), (["--start", "-1"], "--start"),
    (["--load", "all"], "--load"), (["--load", "psi"], "--load"),
    (["--nice", "20"], "--nice"), (["--nice", "1.5"], "--nice"),
    (["--file"], "file"), (["--wrong"], "wrong"), (["something"], "something"),
])
def test_a_wrong_command_line_is_refused(arguments, named, tmp_path):
    done = run("--file", tmp_path / "p", *arguments)
    assert done.returncode == 2
    assert named in done.stderr
    assert not (tmp_path / "p").exists()


def test_a_position_is_published_at_each_interval(elasticd):
    daemon = elasticd()
    first = daemon.published()
    assert (first.version, first.interval, first.top) == (1, 100, 8)
    assert not first.bypass and not first.stopped
    assert abs(first.updated / 1e6 - time.monotonic()) < PATIENCE
    second = daemon.published(lambda p: p.samples > first.samples + 2)
    assert second.updated > first.updated
    assert second.position == 5, "in the middle of the band nothing moves"
    mask = os.umask(0)
    os.umask(mask)
    assert daemon.path.stat().st_mode & 0o777 == 0o644 & ~mask
    assert is_fresh(daemon.path)


@pytest.mark.parametrize("mode", ["step", "mix"])
def test_the_position_follows_the_load(elasticd, machine, mode):
    daemon = elasticd("--control", mode)
    machine.busy = 100
    daemon.published(lambda p: p.position == 0 and p.load > 950000)
    machine.busy = 0
    seen = set()
    daemon.published(lambda p: seen.add(p.position) or (p.position == 8 and p.load < 50000))
    fractions = [position for position in seen if position % 1]
    assert bool(fractions) == (mode == "mix")


def test_thresholds_and_ladder_are_those_of_the_command_line(elasticd, machine):
    machine.busy = 30
    daemon = elasticd("--low", 10, "--high", 20, "--top", 3, "--start", 3, "--bypass", 25)
    position = daemon.published(lambda p: p.bypass, "the bypass")
    assert position.top == 3 and position.position == 0
    machine.busy = 5
    daemon.published(lambda p: not p.bypass and p.position > 0, "the end of the bypass")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_it_and_the_file_says_so(elasticd, tmp_path, number):
    pid_file = tmp_path / "pid"
    daemon = elasticd("--pid-file", pid_file)
    daemon.published()
    assert int(pid_file.read_text()) == daemon.pid
    assert daemon.end(number) == 0
    assert daemon.read().stopped
    assert not pid_file.exists()
    shown = show(daemon.path)
    assert shown.returncode == 1 and "has ended" in shown.stdout


def test_a_pid_file_that_cannot_be_written_stops_it(elasticd, tmp_path):
    daemon = elasticd("--pid-file", tmp_path / "missing" / "pid")
    assert "missing/pid: No such file" in daemon.refused()
    elasticd().published()


def test_two_do_not_write_the_same_file(elasticd, tmp_path):
    pid_file = tmp_path / "pid"
    daemon = elasticd("--pid-file", pid_file)
    daemon.published()
    assert "another one writes" in elasticd("--pid-file", pid_file).refused()
    assert daemon.process.poll() is None
    assert int(pid_file.read_text()) == daemon.pid, "the first one's"
    daemon.end()
    elasticd().published()


def test_the_file_of_a_killed_one_is_of_no_use_at_once(machine, tmp_path):
    """Not only when it is stale, which would take half a minute; a daemon's lock is its child's."""
    path, pid_file = tmp_path / "p", tmp_path / "pid"
    started = run("--file", path, "--pid-file", pid_file, "--root", machine.root,
                  "--interval", "3s")
    try:
        assert started.returncode == 0, started.stderr
        until(lambda: is_fresh(path), "a position")
    finally:
        os.kill(int(pid_file.read_text()), signal.SIGKILL)
    until(lambda: not is_fresh(path), "that it is of no use")
    assert "has ended" in show(path).stdout


def test_the_next_one_continues_where_a_killed_one_was(elasticd, machine):
    daemon = elasticd()
    machine.busy = 0
    daemon.published(lambda p: p.position == 8)
    machine.busy = 65
    daemon.end(signal.SIGKILL)
    assert show(daemon.path).returncode in (0, 1)
    next_one = elasticd()
    assert next_one.published().position == 8
    next_one.end(signal.SIGKILL)
    until(lambda: is_stale(daemon.path), "that it is stale")


def lengthen(path):
    with open(path, "ab") as file:
        file.write(b"x" * 5000)


def replace(path):
    other = path.with_name("other")
    other.write_bytes(b"")
    other.rename(path)


HARMS = {
    "truncated": lambda path: os.truncate(path, 0),
    "cut": lambda path: os.truncate(path, 13),
    "noise": lambda path: path.write_bytes(os.urandom(64)),
    "lengthened": lengthen,
    "removed": pathlib.Path.unlink,
    "replaced by an empty file": replace,
}


@pytest.mark.parametrize("harm", HARMS)
def test_a_damaged_file_is_whole_again(elasticd, harm):
    daemon = elasticd()
    before = daemon.published()
    HARMS[harm](daemon.path)
    daemon.published(lambda p: p.samples > before.samples, "a file after the harm")
    assert is_fresh(daemon.path)
    until(lambda: daemon.path.stat().st_size == 64, "its size")
    elasticd().refused()  # the file that came after is locked too


def make_link(path):
    target = path.with_name("target")
    target.write_text("")
    path.symlink_to(target)


NO_POSITION_FILES = {
    "large file": lambda path: path.write_text("precious " * 20),
    "folder": pathlib.Path.mkdir,
    "link": make_link,
    "fifo": os.mkfifo,
    "missing folder": lambda path: path.parent.rmdir(),
}


@pytest.mark.parametrize("kind", NO_POSITION_FILES)
def test_what_is_no_position_file_is_left_alone(machine, tmp_path, kind):
    path = tmp_path / "folder" / "precious"
    path.parent.mkdir()
    NO_POSITION_FILES[kind](path)
    done = run("--foreground", "--file", path, "--root", machine.root)
    assert done.returncode == 1
    assert "precious" in done.stderr
    if kind == "large file":
        assert path.read_text() == "precious " * 20


def test_without_the_load_nothing_is_published(elasticd, machine):
    daemon = elasticd()
    daemon.published()
    machine.without_stat()
    until(lambda: "the CPU load cannot be read from" in daemon.logged(), "the warning")
    until(lambda: is_stale(daemon.path), "that it is stale")
    machine.stat.write()
    until(lambda: is_fresh(daemon.path), "that it is published again")
    log = daemon.logged()
    assert log.count("the CPU load cannot be read from") == 1
    assert log.count("sampling resumes") == 1


def test_a_new_limit_of_the_control_group_counts_after_hup(elasticd, machine):
    machine.file("proc/self/cgroup", "0::/web\n")
    machine.file("proc/self/mountinfo", V2)
    machine.file("sys/fs/cgroup/web/cpu.max", "max 100000\n")
    machine.file("sys/fs/cgroup/web/cpu.stat", "usage_usec 0\n")
    daemon = elasticd()
    daemon.published()
    assert "stat (the control group has no limit)" in daemon.logged()
    machine.file("sys/fs/cgroup/web/cpu.max", "50000 100000\n")
    machine.group_uses = 0.25  # of a CPU, and so half of the limit
    daemon.process.send_signal(signal.SIGHUP)
    until(lambda: "cgroup (v2, limit of 0.50 CPUs)" in daemon.logged(), "the limit")
    # One sample may be off where this machine is busy, or be on its way from another load.
    loads = {}
    daemon.published(lambda p: loads.update({p.samples: p.load}) or all(
        400000 < loads.get(p.samples - n, 0) < 600000 for n in range(3)), "half of the limit")


def test_the_load_is_that_of_the_chosen_signal(elasticd, machine):
    """A group without a limit, which uses next to nothing of CPUs that others keep busy."""
    machine.busy = 97
    machine.group_uses = 0.02  # of a CPU
    machine.file("proc/self/cgroup", "0::/web\n")
    machine.file("proc/self/mountinfo", V2)
    machine.file("sys/fs/cgroup/web/cpu.max", "max 100000\n")
    until((machine.root / "sys/fs/cgroup/web/cpu.stat").exists, "the group's time")
    daemon = elasticd("--load", "cgroup")
    daemon.published(lambda p: p.position > 7 and p.load < 500000)


def test_the_load_is_read_from_the_chosen_file(elasticd, machine):
    daemon = elasticd("--proc-stat", machine.file("other", "cpu  100 0 0 100 0 0 0 0\n"))
    until(lambda: "stat (as configured)" in daemon.logged(), "the plan")


def test_it_goes_to_the_background(machine, tmp_path):
    path, pid_file = tmp_path / "p", tmp_path / "pid"
    done = run("--file", path, "--pid-file", pid_file, "--root", machine.root, "--interval",
               "100ms")
    assert done.returncode == 0, done.stderr
    pid = int(until(lambda: pid_file.exists() and pid_file.read_text(), "the pid file"))
    try:
        until(lambda: path.stat().st_size == 64 and Position(path.read_bytes()).pid == pid,
              "a position")
        assert run("--foreground", "--file", path).returncode == 1
    finally:
        os.kill(pid, signal.SIGTERM)
    until(lambda: not pid_file.exists(), "the end")
    until(lambda: Position(path.read_bytes()).stopped, "the last position")


def test_its_priority_is_the_one_that_was_asked_for(elasticd):
    daemon = elasticd("--nice", 7)
    daemon.published()
    assert os.getpriority(os.PRIO_PROCESS, daemon.pid) == 7


def test_show_says_what_is_wrong_with_a_file(tmp_path):
    shown = show(tmp_path / "none")
    assert shown.returncode == 1 and "No such file" in shown.stderr
    (tmp_path / "noise").write_bytes(b"x" * 64)
    shown = show(tmp_path / "noise")
    assert shown.returncode == 1 and "is not a position file" in shown.stdout


@pytest.fixture
def unit(tmp_path):
    """The unit as make install writes it."""
    text = (SOURCE / "conf" / "elasticd.service.in").read_text()
    text = text.replace("@sbindir@", str(pathlib.Path(env.ELASTICD).parent))
    text = text.replace("@docdir@", "/usr/share/doc/mod_elastic")
    unit = tmp_path / "elasticd.service"
    unit.write_text(text)
    return unit


def analyze(*arguments):
    """What systemd-analyze answers; None where it is not installed."""
    tool = shutil.which("systemd-analyze")
    return tool and subprocess.run([tool, *arguments], capture_output=True, text=True,
                                   timeout=PATIENCE)


def test_the_unit_is_one_that_systemd_accepts(unit):
    done = analyze("verify", str(unit))
    mine = [line for line in done.stderr.splitlines() if "elasticd.service" in line] if done else []
    assert not mine, mine
    command = next(line for line in unit.read_text().splitlines()
                   if line.startswith("ExecStart="))
    options = [word for word in command.split() if word.startswith("--")]
    known = run("--help").stdout
    assert options and all(option in known for option in options)


def test_the_unit_is_hardened(unit):
    """Below 2.0 of 10 on systemd's scale, which it calls safe; a bare service has 9.6."""
    done = analyze("security", "--offline=true", "--threshold=20", str(unit))
    if done and "unrecognized option" not in done.stderr:
        assert done.returncode == 0, done.stdout[-200:] + done.stderr
