"""elasticd as it is built, on a machine that is made up: what it publishes, how it starts and ends,
and what it survives."""

import os
import pathlib
import re
import shutil
import signal
import subprocess

import pytest

from kit import env, messages, process
from kit.elasticd import PATIENCE, Elasticd, Machine

SOURCE = pathlib.Path(__file__).resolve().parents[2]


def until(question, what):
    return process.until(question, PATIENCE, what)


def run(*arguments):
    done = subprocess.run([env.ELASTICD, *map(str, arguments)], capture_output=True, text=True,
                          timeout=PATIENCE)
    messages.see(done.stdout + done.stderr)
    return done


class Shown:
    """What elasticd says of a file. `wrong`: why its position is of no use; empty where it is."""

    def __init__(self, path):
        said = run("--show", "--file", path)
        first, *lines = (said.stdout or said.stderr).splitlines()
        self.wrong = first if said.returncode else ""
        fields = dict(line.split(maxsplit=1) for line in lines)
        numbers = re.findall(r"[\d.]+", " ".join(fields.get(name, "") for name in (
            "position", "load", "samples", "pid")))
        if numbers:
            self.position, self.top, self.load, self.samples, self.interval, self.pid = map(
                float, numbers)
            self.bypass = fields["bypass"] == "yes"


class Daemon(Elasticd):
    def published(self, condition=lambda shown: True, what="a position"):
        """The first position that is this process's and as it should be."""
        def look():
            shown = Shown(self.path)
            return not shown.wrong and shown.pid == self.process.pid and condition(shown) and shown

        return until(look, what)

    def logs(self, words):
        until(lambda: words in self.log.read_text(), words)

    def is_refused(self, words):
        assert self.process.wait(PATIENCE) == 1
        assert words in self.log.read_text()


@pytest.fixture
def machine(tmp_path):
    made = Machine(tmp_path / "root")
    yield made
    made.close()


@pytest.fixture
def elasticd(machine, tmp_path):
    started = []

    def start(*options, wrapper=()):
        started.append(Daemon(tmp_path, tmp_path / "elastic.position", machine, options, wrapper))
        started[-1].run()
        return started[-1]

    yield start
    for daemon in started:
        daemon.end()


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
    ("--low x", "--low"), ("--low -1", "--low"), ("--high 101", "--high"),
    ("--low 80 --high 80", "--low 80"), ("--low 90", "--high 80"), ("--bypass nan", "--bypass"),
    ("--interval 99ms", "--interval"), ("--interval 61s", "--interval"),
    ("--interval 1m", "--interval"), ("--interval=", "--interval"),
    ("--control predict", "--control"), ("--top 0", "--top"), ("--top 1001", "--top"),
    ("--top 8x", "--top"), ("--top 4 --start 5", "--start 5"), ("--start -1", "--start"),
    ("--load all", "--load"), ("--load psi", "--load"), ("--nice 20", "--nice"),
    ("--nice 1.5", "--nice"), ("--file", "file"), ("--wrong", "wrong"), ("something", "something")])
def test_a_wrong_command_line_is_refused(arguments, named, tmp_path):
    done = run("--file", tmp_path / "p", *arguments.split())
    assert done.returncode == 2 and named in done.stderr
    assert not (tmp_path / "p").exists()


def test_a_position_is_published_at_each_interval(elasticd):
    daemon = elasticd("--nice", 7)
    first = daemon.published()
    assert (first.interval, first.top, first.bypass) == (100, 8, False)
    second = daemon.published(lambda p: p.samples > first.samples + 2)
    assert second.position == 5, "in the middle of the band nothing moves"
    mask = os.umask(0)
    os.umask(mask)
    assert daemon.path.stat().st_mode & 0o777 == 0o644 & ~mask
    assert os.getpriority(os.PRIO_PROCESS, daemon.process.pid) == 7


def test_a_priority_that_is_refused_is_a_warning(elasticd):
    daemon = elasticd("--nice", -5, wrapper=["setpriv", "--bounding-set=-sys_nice"] * env.IS_ROOT)
    daemon.published()
    daemon.logs("the priority cannot be set: ")


@pytest.mark.parametrize("mode", ["step", "mix"])
def test_the_position_follows_the_load(elasticd, machine, mode):
    daemon = elasticd("--control", mode)
    machine.busy = 100
    daemon.published(lambda p: p.position == 0 and p.load > 0.95)
    machine.busy = 0
    seen = set()
    daemon.published(lambda p: seen.add(p.position) or (p.position == 8 and p.load < 0.05))
    assert any(position % 1 for position in seen) == (mode == "mix")


def test_thresholds_and_steps_are_those_of_the_command_line(elasticd, machine):
    machine.busy = 30
    daemon = elasticd("--low", 10, "--high", 20, "--top", 3, "--start", 3, "--bypass", 25)
    position = daemon.published(lambda p: p.bypass, "the bypass")
    assert position.top == 3 and position.position == 0
    machine.busy = 5
    daemon.published(lambda p: not p.bypass and p.position > 0, "the end of the bypass")


# --- how it starts and ends


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_it_and_the_file_says_so(elasticd, tmp_path, number):
    pid_file = tmp_path / "pid"
    daemon = elasticd("--pid-file", pid_file)
    daemon.published()
    assert int(pid_file.read_text()) == daemon.process.pid
    assert daemon.end(number) == 0
    assert "has ended" in Shown(daemon.path).wrong and not pid_file.exists()


def test_a_pid_file_that_cannot_be_written_stops_it(elasticd, tmp_path):
    daemon = elasticd("--pid-file", tmp_path / "missing" / "pid")
    daemon.is_refused("missing/pid cannot be written: No such file")
    elasticd().published()


def test_two_do_not_write_the_same_file(elasticd, tmp_path):
    pid_file = tmp_path / "pid"
    daemon = elasticd("--pid-file", pid_file)
    daemon.published()
    elasticd("--pid-file", pid_file).is_refused("another elasticd writes")
    assert daemon.process.poll() is None
    assert int(pid_file.read_text()) == daemon.process.pid, "the first one's"
    daemon.end()
    elasticd().published()


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_it_goes_to_the_background(machine, tmp_path, number):
    """The file of a killed one is of no use at once, not only when it is stale, which would take
    half a minute; a daemon's lock is its child's."""
    path, pid_file = tmp_path / "p", tmp_path / "pid"
    done = run("--file", path, "--pid-file", pid_file, "--root", machine.root, "--interval", "3s")
    assert done.returncode == 0, done.stderr
    pid = int(until(lambda: pid_file.exists() and pid_file.read_text(), "the pid file"))
    try:
        until(lambda: not Shown(path).wrong, "a position")
        assert Shown(path).pid == pid
        assert run("--foreground", "--file", path).returncode == 1
    finally:
        os.kill(pid, number)
    until(lambda: "has ended" in Shown(path).wrong, "that it is of no use")
    assert pid_file.exists() == (number == signal.SIGKILL)


def test_the_next_one_continues_where_a_killed_one_was(elasticd, machine):
    daemon = elasticd()
    machine.busy = 0
    daemon.published(lambda p: p.position == 8)
    machine.busy = 65
    daemon.end(signal.SIGKILL)
    next_one = elasticd()
    assert next_one.published().position == 8
    next_one.end(signal.SIGKILL)
    until(lambda: "too long" in Shown(daemon.path).wrong, "that it is stale")


# --- files


def lengthen(path):
    with open(path, "ab") as file:
        file.write(b"x" * 5000)


def replace(path):
    path.with_name("other").write_bytes(b"")
    path.with_name("other").rename(path)


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
    until(lambda: daemon.path.stat().st_size == 64, "its size")
    elasticd().is_refused("")  # the file that came after is locked too


def test_a_file_that_cannot_be_written_is_a_warning_until_it_can(elasticd):
    daemon = elasticd()
    daemon.published()
    other = daemon.path.with_name("fifo")
    os.mkfifo(other)
    other.rename(daemon.path)
    daemon.logs("cannot be written")
    daemon.path.unlink()
    daemon.logs("is written again")
    daemon.published()


NO_POSITION_FILES = {
    "large file": lambda path: path.write_text("precious " * 20),
    "folder": pathlib.Path.mkdir,
    "link": lambda path: (path.with_name("to").touch(), path.symlink_to(path.with_name("to"))),
    "fifo": os.mkfifo,
    "missing folder": lambda path: path.parent.rmdir(),
}


@pytest.mark.parametrize("kind", NO_POSITION_FILES)
def test_what_is_no_position_file_is_left_alone(machine, tmp_path, kind):
    path = tmp_path / "folder" / "precious"
    path.parent.mkdir()
    NO_POSITION_FILES[kind](path)
    done = run("--foreground", "--file", path, "--root", machine.root)
    assert done.returncode == 1 and "precious" in done.stderr
    if kind == "large file":
        assert path.read_text() == "precious " * 20


def test_show_says_what_is_wrong_with_a_file(tmp_path):
    assert "No such file" in Shown(tmp_path / "none").wrong
    (tmp_path / "noise").write_bytes(b"x" * 64)
    assert "is not a position file" in Shown(tmp_path / "noise").wrong


# --- the load


def test_without_the_load_nothing_is_published(elasticd, machine):
    daemon = elasticd()
    daemon.published()
    with machine.lock:
        machine.stat.path.unlink()
    daemon.logs("the CPU load cannot be read from")
    until(lambda: "too long" in Shown(daemon.path).wrong, "that it is stale")
    machine.stat.write()
    daemon.published(what="that it is published again")
    log = daemon.log.read_text()
    assert log.count("the CPU load cannot be read from") == log.count("sampling resumes") == 1


def test_a_new_limit_of_the_control_group_counts_after_hup(elasticd, machine):
    machine.file("proc/self/cgroup", "0::/web\n")
    machine.file("proc/self/mountinfo", "29 22 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n")
    machine.file("sys/fs/cgroup/web/cpu.max", "max 100000\n")
    machine.group_uses = 0.25  # of a CPU, and so half of the limit that comes
    until((machine.root / "sys/fs/cgroup/web/cpu.stat").exists, "the group's time")
    daemon = elasticd()
    daemon.published()
    daemon.logs("stat (the control group has no limit)")
    machine.file("sys/fs/cgroup/web/cpu.max", "50000 100000\n")
    daemon.process.send_signal(signal.SIGHUP)
    daemon.logs("cgroup (v2, limit of 0.50 CPUs)")
    # One sample may be off where this machine is busy, or be on its way from another load.
    loads = {}
    daemon.published(lambda p: loads.update({p.samples: p.load}) or all(
        0.4 < loads.get(p.samples - n, 0) < 0.6 for n in range(3)), "half of the limit")


def test_the_load_is_read_from_the_chosen_file(elasticd, machine):
    elasticd("--proc-stat", machine.file("other", "cpu  100 0 0 100 0 0 0 0\n")).logs(
        "stat (as configured)")


# --- systemd


@pytest.fixture
def analyze(tmp_path):
    """analyze(word, ...): what systemd-analyze says of the unit as make install writes it."""
    if not shutil.which("systemd-analyze"):
        pytest.skip("systemd-analyze is not there (package systemd)")
    unit = tmp_path / "elasticd.service"
    text = (SOURCE / "conf" / "elasticd.service.in").read_text()
    unit.write_text(text.replace("@sbindir@", str(pathlib.Path(env.ELASTICD).parent)).replace(
        "@docdir@", "/usr/share/doc/mod_elastic"))
    return lambda *words: subprocess.run(["systemd-analyze", *words, str(unit)],
                                         capture_output=True, text=True, timeout=PATIENCE)


def test_the_unit_is_one_that_systemd_accepts(analyze):
    said = analyze("verify").stderr
    assert "elasticd.service" not in said, said


def test_the_unit_has_options_that_elasticd_knows():
    unit = (SOURCE / "conf" / "elasticd.service.in").read_text()
    [command] = [line for line in unit.splitlines() if line.startswith("ExecStart=")]
    options = [word for word in command.split() if word.startswith("--")]
    known = run("--help").stdout
    assert options and all(option in known for option in options)


def test_the_unit_is_hardened(analyze):
    """Below 2.0 of 10 on systemd's scale, which it calls safe; a bare service has 9.6."""
    done = analyze("security", "--offline=true", "--threshold=20")
    assert done.returncode == 0, done.stdout[-200:] + done.stderr
