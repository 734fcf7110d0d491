"""elasticd: what it publishes, how it lives and ends, and what it survives."""

import os
import pathlib
import shutil
import signal
import subprocess
import time

import pytest

from conftest import ELASTICD, PATIENCE, SOURCE, Position, until


def run(*arguments):
    return subprocess.run([ELASTICD, *map(str, arguments)], capture_output=True, text=True,
                          timeout=PATIENCE)


def show(path):
    return run("--show", "--file", path)


def test_help_and_version():
    done = run("--help")
    assert done.returncode == 0 and done.stdout.startswith("usage: elasticd")
    for option in ("--file", "--pid-file", "--foreground", "--interval", "--low", "--high",
                   "--bypass", "--control", "--top", "--start", "--load", "--proc-stat", "--root",
                   "--nice", "--show", "--version"):
        assert option in done.stdout
    done = run("--version")
    assert done.returncode == 0 and "mod_elastic" in done.stdout


@pytest.mark.parametrize("arguments,word", [
    (["--low", "x"], "--low"), (["--low", "-1"], "--low"), (["--high", "101"], "--high"),
    (["--low", "80", "--high", "80"], "--low 80"), (["--low", "90"], "--high 80"),
    (["--bypass", "nan"], "--bypass"), (["--interval", "99ms"], "--interval"),
    (["--interval", "61s"], "--interval"), (["--interval", "1m"], "--interval"),
    (["--interval", ""], "--interval"), (["--control", "predict"], "--control"),
    (["--top", "0"], "--top"), (["--top", "1001"], "--top"), (["--top", "8x"], "--top"),
    (["--top", "4", "--start", "5"], "--start 5"), (["--start", "-1"], "--start"),
    (["--load", "all"], "--load"), (["--nice", "20"], "--nice"), (["--nice", "1.5"], "--nice"),
    (["--file"], "file"), (["--wrong"], "wrong"), (["something"], "something"),
])
def test_a_wrong_command_line_is_refused(arguments, word, tmp_path):
    done = run("--file", tmp_path / "p", *arguments)
    assert done.returncode == 2
    assert word in done.stderr
    assert not (tmp_path / "p").exists()


def test_it_publishes(elasticd, machine):
    daemon = elasticd()
    first = daemon.published()
    assert (first.version, first.interval, first.top) == (1, 100, 8)
    assert not first.bypass and not first.stopped
    assert abs(first.updated / 1e6 - time.monotonic()) < PATIENCE
    second = daemon.published(lambda p: p.samples > first.samples + 2)
    assert second.updated > first.updated
    assert second.position == 5, "in the middle of the band nothing moves"
    assert daemon.path.stat().st_mode & 0o777 == 0o644 & ~umask()
    assert show(daemon.path).returncode == 0


def umask():
    mask = os.umask(0)
    os.umask(mask)
    return mask


@pytest.mark.parametrize("mode", ["step", "mix"])
def test_it_follows_the_load(elasticd, machine, mode):
    daemon = elasticd("--control", mode)
    machine.busy = 1.0
    daemon.published(lambda p: p.position == 0 and p.load > 950000)
    machine.busy = 0.0
    seen = set()
    daemon.published(lambda p: seen.add(p.position) or (p.position == 8 and p.load < 50000))
    fractions = [position for position in seen if position % 1]
    assert bool(fractions) == (mode == "mix")


def test_thresholds_and_ladder_are_those_of_the_command_line(elasticd, machine):
    machine.busy = 0.3
    daemon = elasticd("--low", "10", "--high", "20", "--top", "3", "--start", "3",
                      "--bypass", "25")
    position = daemon.published(lambda p: p.bypass, "the bypass")
    assert position.top == 3 and position.position == 0
    machine.busy = 0.05
    daemon.published(lambda p: not p.bypass and p.position > 0, "the end of the bypass")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_it_ends_when_told_to(elasticd, tmp_path, number):
    daemon = elasticd("--pid-file", str(tmp_path / "pid"))
    daemon.published()
    assert int((tmp_path / "pid").read_text()) == daemon.process.pid
    assert daemon.end(number) == 0
    assert daemon.read().stopped
    assert not (tmp_path / "pid").exists()
    shown = show(daemon.path)
    assert shown.returncode == 1 and "has ended" in shown.stdout


def test_a_pid_file_that_cannot_be_written_stops_it(elasticd, tmp_path):
    daemon = elasticd("--pid-file", str(tmp_path / "missing" / "pid"))
    assert daemon.process.wait(PATIENCE) == 1
    assert "missing/pid: No such file" in daemon.logged()
    elasticd().published()


def test_it_refuses_to_run_twice(elasticd, tmp_path):
    pid_file = tmp_path / "pid"
    daemon = elasticd("--pid-file", str(pid_file))
    daemon.published()
    second = elasticd("--pid-file", str(pid_file))
    assert second.process.wait(PATIENCE) == 1
    assert "another one writes" in second.logged()
    assert daemon.process.poll() is None
    assert int(pid_file.read_text()) == daemon.process.pid, "the first one's"
    daemon.end()
    third = elasticd()
    third.published()


def test_killed_it_becomes_stale_and_the_next_goes_on(elasticd, machine):
    daemon = elasticd()
    machine.busy = 0.0
    daemon.published(lambda p: p.position == 8)
    machine.busy = 0.65
    daemon.end(signal.SIGKILL)
    assert show(daemon.path).returncode in (0, 1)
    next_one = elasticd()
    assert next_one.published().position == 8
    next_one.end(signal.SIGKILL)
    until(lambda: "too long" in show(daemon.path).stdout, "that it is stale")
    assert show(daemon.path).returncode == 1


def truncate(path):
    os.truncate(path, 0)


def cut(path):
    os.truncate(path, 13)


def noise(path):
    path.write_bytes(os.urandom(64))


def lengthen(path):
    with open(path, "ab") as file:
        file.write(b"x" * 5000)


def remove(path):
    path.unlink()


def replace(path):
    other = path.with_name("other")
    other.write_bytes(b"")
    other.rename(path)


@pytest.mark.parametrize("harm", [truncate, cut, noise, lengthen, remove, replace])
def test_a_damaged_file_is_whole_again(elasticd, harm):
    daemon = elasticd()
    before = daemon.published()
    harm(daemon.path)
    daemon.published(lambda p: p.samples > before.samples, f"a file after {harm.__name__}")
    assert show(daemon.path).returncode == 0
    until(lambda: daemon.path.stat().st_size == 64, "its size")
    second = elasticd()
    assert second.process.wait(PATIENCE) == 1, "the file that came after is locked too"


@pytest.mark.parametrize("kind", ["large", "folder", "link", "missing folder", "fifo"])
def test_what_is_no_position_file_is_left_alone(elasticd, tmp_path, kind):
    path = tmp_path / "precious"
    if kind == "large":
        path.write_text("precious " * 20)
    elif kind == "folder":
        path.mkdir()
    elif kind == "link":
        (tmp_path / "target").write_text("")
        path.symlink_to(tmp_path / "target")
    elif kind == "fifo":
        os.mkfifo(path)
    else:
        path = tmp_path / "missing" / "precious"
    daemon = elasticd(path=path) if kind != "missing folder" else None
    if daemon:
        assert daemon.process.wait(PATIENCE) == 1
        assert "precious" in daemon.logged()
    else:
        assert run("--foreground", "--file", path).returncode == 1
    if kind == "large":
        assert path.read_text() == "precious " * 20


def test_without_the_load_nothing_is_published(elasticd, machine):
    daemon = elasticd()
    daemon.published()
    machine.written = False
    time.sleep(0.1)
    stat = machine.root / "proc" / "stat"
    stat.rename(stat.with_suffix(".away"))
    until(lambda: "does not tell the CPU load" in daemon.logged(), "the warning")
    until(lambda: "too long" in show(daemon.path).stdout, "that it is stale")
    stat.with_suffix(".away").rename(stat)
    machine.written = True
    until(lambda: show(daemon.path).returncode == 0, "that it is published again")
    log = daemon.logged()
    assert log.count("does not tell the CPU load") == 1
    assert log.count("tells the CPU load again") == 1


def test_a_limit_is_noticed_on_hup(elasticd, machine):
    machine.file("proc/self/cgroup", "0::/web\n")
    machine.file("proc/self/mountinfo", "29 22 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n")
    machine.file("sys/fs/cgroup/web/cpu.max", "max 100000\n")
    stat = machine.file("sys/fs/cgroup/web/cpu.stat", "usage_usec 0\n")
    daemon = elasticd()
    daemon.published()
    assert "stat (the control group has no limit)" in daemon.logged()
    machine.file("sys/fs/cgroup/web/cpu.max", "50000 100000\n")
    daemon.send(signal.SIGHUP)
    until(lambda: "cgroup (v2, limit of 0.50 CPUs)" in daemon.logged(), "the limit")
    # A group that uses a quarter of a CPU: half of what it may.
    began, usec = time.monotonic(), 0
    while time.monotonic() < began + 1.5:
        usec = int((time.monotonic() - began) * 250000)
        new = stat.with_suffix(".new")
        new.write_text(f"usage_usec {usec}\n")
        new.rename(stat)
        time.sleep(0.005)
    position = daemon.read()
    assert 400000 < position.load < 600000, position.load


def test_load_signals_can_be_chosen(elasticd, machine):
    machine.file("proc/pressure/cpu", "some avg10=97.00 avg60=0.00 avg300=0.00 total=0\n")
    daemon = elasticd("--load", "psi")
    position = daemon.published(lambda p: p.position == 0)
    assert position.load == 970000
    daemon.end()
    other = machine.file("other", "cpu  100 0 0 100 0 0 0 0\n")
    daemon = elasticd("--proc-stat", str(other))
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
    until(lambda: Position(path.read_bytes()).stopped, "the last word")


def test_its_priority(elasticd):
    daemon = elasticd("--nice", "7")
    daemon.published()
    assert os.getpriority(os.PRIO_PROCESS, daemon.process.pid) == 7


def test_the_first_look_of_show(tmp_path):
    shown = show(tmp_path / "none")
    assert shown.returncode == 1 and "No such file" in shown.stderr
    (tmp_path / "noise").write_bytes(b"x" * 64)
    shown = show(tmp_path / "noise")
    assert shown.returncode == 1 and "is not a position file" in shown.stdout


@pytest.fixture
def unit(tmp_path):
    """The unit as make install would put it down."""
    text = (SOURCE / "conf" / "elasticd.service.in").read_text()
    text = text.replace("@sbindir@", str(pathlib.Path(ELASTICD).parent))
    text = text.replace("@docdir@", "/usr/share/doc/mod_elastic")
    unit = tmp_path / "elasticd.service"
    unit.write_text(text)
    return unit


def analyze(*arguments):
    """What systemd says; None where it is not there."""
    tool = shutil.which("systemd-analyze")
    return tool and subprocess.run([tool, *arguments], capture_output=True, text=True,
                                   timeout=PATIENCE)


def test_the_unit_is_one(unit):
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
