"""Every experiment at its smallest; and what the bench says where something is missing."""

import errno
import json
import os
import pathlib
import re
import signal
import socket
import subprocess
import sys
import time
import types

import pytest

from benchkit import cli, machine_speed, outcome, progress, run, server, tools, verdict
from benchkit.headline import Headline
from benchkit.tools import BenchError

HEADLINE = Headline("Is it good?", "Yes.", "No.", "")
PATIENCE = 300  # seconds; the slowest takes under ten where nothing else runs

NEEDED = {"static-vs-dynamic": ["wrk"], "lan-packets": ["ethtool", "tc"], "peers": ["nginx"],
          "servers": ["openssl", "nginx", "lighttpd", "h2o", "caddy", "haproxy", "varnishd"],
          "dictionary": ["chromium"],
          "p95": ["php-fpm"], "spike": ["php-fpm"], "day": ["php-fpm"],
          "frontier": ["php-fpm"], "flood": ["php-fpm"],
          "modes": ["php-fpm"]}


def environment(folder):
    return {**os.environ, "TMPDIR": str(folder), "ELASTIC_BENCH_CACHE": str(folder / "no-cache")}


def bench(folder, *arguments):
    return subprocess.run(["bash", tools.ROOT / "scripts" / "bench", *map(str, arguments)],
                          env=environment(folder), capture_output=True, text=True,
                          timeout=PATIENCE, check=False)


def need(*programs):
    for program in programs:
        try:
            tools.find(program)
        except BenchError as error:
            pytest.skip(str(error))


def running(folder):
    """The command lines of processes that have to do with a folder."""
    found = []
    for path in pathlib.Path("/proc").glob("[0-9]*/cmdline"):
        try:
            line = path.read_bytes().replace(b"\0", b" ").decode(errors="replace")
        except OSError:
            continue
        if str(folder) in line:
            found.append(line)
    return found


@pytest.mark.parametrize("name", cli.experiment_names())
def test_experiment_at_its_smallest(module, open_folder, lacking, name):
    need("h2load", *(program for program in NEEDED.get(name, ()) if program not in lacking))
    if name == "lan-packets" and os.geteuid() != 0:
        seen = bench(open_folder, name, "--smoke", "--out", open_folder / "out")
        assert seen.returncode == 1 and "run it as root" in seen.stderr
        return
    seen = bench(open_folder, name, "--smoke", "--out", open_folder / "out")
    assert seen.returncode == 0, seen.stderr
    assert "did not start" not in seen.stdout
    assert set(re.findall(r"(\S+) is missing", seen.stdout)) <= lacking
    saved = outcome.load(open_folder / "out", name)
    assert saved.verdicts and all(one.sentence in seen.stdout for one in saved.verdicts)
    assert all(table["rows"] for table in saved.tables().values())
    assert saved.facts["fixed"] and saved.facts["machine"] and saved.facts["versions"]
    for plot in saved.facts["plots"]:
        assert (open_folder / "out" / f"{plot['name']}.svg").stat().st_size > 1000
        assert " over " in plot["description"] or "." in plot["description"]
    assert name in (open_folder / "out" / "report.html").read_text(encoding="utf-8")
    assert [path.name for path in open_folder.iterdir()] == ["out"]
    assert not running(open_folder)


@pytest.fixture
def fake(monkeypatch, tmp_path):
    """The command line with experiments of the tests': {name: function}."""
    def use(**experiments):
        found = {name: types.SimpleNamespace(
            SUMMARY=name, SOURCE="", SCALES={"quick": run.Scale(2, 1)}, SECONDS={"quick": 1},
            run=function) for name, function in experiments.items()}
        monkeypatch.setattr(cli, "load_experiment", found.get)
        monkeypatch.setattr(cli, "experiment_names", lambda: list(found))
        monkeypatch.setattr(cli.build, "ensure", lambda say: None)
        # The signal's handler is the process's, and pytest has its own.
        monkeypatch.setattr(cli.signal, "signal", lambda *_: None)
        return lambda *arguments: cli.main([*arguments, "--quick", "--out", str(tmp_path / "out")])
    return use


def good(one):
    one.save_table("", [{"a": 1}], "a")
    return outcome.Outcome("good. machine; Apache/2", [], HEADLINE)


def lacking(one):
    raise tools.missing("wrk")


def full(one):
    raise OSError(errno.ENOSPC, "No space left on device", "/tmp/x")


def broken(one):
    raise KeyError("x")


def test_what_fails_is_named_and_the_rest_runs(fake, capsys, tmp_path):
    assert fake(lacking=lacking, full=full, broken=broken, good=good)("all") == 1
    page = (tmp_path / "out" / "report.html").read_text(encoding="utf-8")
    assert "not run: wrk is missing: install wrk (Debian)" in page
    assert "not run: no space is left on the device (/tmp/x)" in page
    assert "not run: a fault of the bench itself: KeyError" in page
    assert 'id="good"' in page
    said = capsys.readouterr()
    assert "lacking: not run: wrk is missing" in said.out and "KeyError" in said.err


@pytest.mark.parametrize("experiments, status", [
    ([good], 0), ([good, lacking], 0), ([lacking], 1), ([good, broken], 1), ([good, full], 1)])
def test_a_crash_and_nothing_that_runs_are_failures(fake, experiments, status):
    assert fake(**{one.__name__: one for one in experiments})("all") == status


def without_packages(*arguments):
    """The command line under a Python that has none of the system's packages."""
    return subprocess.run([sys.executable, "-S", "-m", "benchkit", *arguments],
                          env={**os.environ, "PYTHONPATH": str(tools.ROOT / "scripts")},
                          capture_output=True, text=True, timeout=PATIENCE, check=False)


@pytest.mark.parametrize("arguments", [(), ("--help",), ("--install",)])
def test_experiments_are_listed_without_any_package(arguments):
    seen = without_packages(*arguments)
    assert (seen.returncode, seen.stderr) == (0, "")
    assert all(f"  {name} " in seen.stdout for name in cli.experiment_names())


def test_packages_that_are_missing_are_named():
    seen = without_packages("levels")
    assert seen.returncode == 1
    assert "install python3-matplotlib, python3-scipy, python3-jinja2" in seen.stderr


def test_all_of_them_take_no_longer_than_promised():
    """20 minutes, building the module and fetching the packages included; or a few."""
    assert sum(cli.planned("quick").values()) <= 19 * 60
    assert sum(cli.planned("smoke").values()) <= 180
    assert sum(cli.planned("full").values()) <= 3 * 3600
    assert sum(cli.planned("normal").values()) <= 1.9 * 3600


@pytest.mark.parametrize("name", cli.experiment_names())
def test_budgets_end_the_rounds(name):
    """With --full there is a least number of rounds, and more of them than without."""
    one = cli.load_experiment(name)
    assert 0 < one.SCALES["full"].least < one.SCALES["full"].rounds
    assert one.SECONDS["smoke"] < one.SECONDS["quick"]
    assert one.SECONDS["normal"] < one.SECONDS["full"]


def test_quick_run_of_all_says_what_it_leaves_out(fake, capsys, tmp_path):
    def long(one):
        raise AssertionError("it is left out")

    main = fake(good=good, long=long)
    cli.load_experiment("long").ALONE = ("quick",)
    assert main("all") == 0
    said = "a quick run of all leaves it out; scripts/bench long runs it by itself"
    assert f"long: not run: {said}" in capsys.readouterr().out
    assert said in (tmp_path / "out" / "report.html").read_text(encoding="utf-8")


def test_interrupted_run_keeps_what_was_measured_and_goes_on(fake, monkeypatch, tmp_path):
    asked, plans = [], []
    monkeypatch.setattr(cli, "Progress", lambda plan: plans.append(plan) or progress.Progress(plan))

    def second(one):
        asked.append("second")
        if asked.count("second") == 1:
            raise KeyboardInterrupt
        return good(one)

    def first(one):
        asked.append("first")
        return good(one)

    main = fake(first=first, second=second, lacking=lacking)
    cli.load_experiment("first").SECONDS = {"quick": 3600}
    with pytest.raises(KeyboardInterrupt):
        cli.run_all(cli.parse_arguments(["all", "--quick", "--out", str(tmp_path / "out")]))
    assert outcome.load(tmp_path / "out", "first") and asked == ["first", "second"]
    assert main("all", "--resume") == 0
    assert asked == ["first", "second", "second"]
    # The time left is that of the others.
    assert plans[1:] == [{"second": 1, "lacking": 1}]
    page = (tmp_path / "out" / "report.html").read_text(encoding="utf-8")
    assert 'id="first"' in page and 'id="second"' in page and "not run: wrk is missing" in page
    saved = outcome.load(tmp_path / "out", "second")
    assert saved.facts["command"] == "scripts/bench second --quick"
    # A run that is not resumed measures everything anew.
    assert main("all") == 0 and asked[3:] == ["first", "second"]


def test_run_with_other_options_is_not_gone_on_with(fake, capsys, tmp_path):
    main = fake(good=good)
    assert main("all") == 0
    assert main("all", "--resume", "--no-download") == 1
    assert "has a run of: scripts/bench all --quick" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        main("good", "--resume")


def measured(size, interval=(0.5, 0.4, 0.6), page="page"):
    """An experiment of recheck.SAMPLE, whose page has so many bytes."""
    def one(run_):
        run_.corpora.append({"corpus": page, "sha256": "f" * 12})
        run_.save_table("summary", [{"variant": "plain", "sent_bytes": 5000},
                                    {"variant": "kept", "sent_bytes": size}], "medians")
        return outcome.Outcome("good.", [verdict.judge_interval("x", interval, 9, "", below=1),
                                         verdict.impossible("y", "", "nobody came")], HEADLINE)
    return one


@pytest.fixture
def recheck(fake, monkeypatch, tmp_path):
    """check's exit status for a new run beside the results of measured(1000)."""
    monkeypatch.setattr(cli.recheck, "SAMPLE", {"small": (
        "small-summary", ("variant",), "sent_bytes")})

    def run_(again, *names):
        assert fake(small=measured(1000))("all") == 0
        fake(small=again)
        cli.load_experiment("small").SCALES["smoke"] = run.Scale(1, 1)
        cli.load_experiment("small").SECONDS["smoke"] = 1
        monkeypatch.setattr(cli.Progress, "say", lambda *_: None)
        return cli.main(["check", *names, "--quick", "--kept",
                         str(tmp_path / "out" / "report.json")])
    return run_


@pytest.mark.parametrize("size, status", [(1000, 0), (1019, 0), (981, 0),
                                          (1030, cli.MOVED), (970, cli.MOVED)])
def test_bytes_come_out_again_or_have_moved(recheck, capsys, size, status):
    assert recheck(measured(size)) == status
    said = capsys.readouterr().out
    assert ("MOVED: small, kept: sent_bytes: was 980.392 to 1020; now" in said) is (status != 0)
    assert f"Of 2 figures, moved: {int(status != 0)}." in said


@pytest.mark.parametrize("interval, status", [
    ((0.5, 0.45, 0.55), 0), ((0.7, 0.55, 0.9), 0), ((0.9, 0.85, 0.95), cli.MOVED),
    ((0.2, 0.1, 0.3), cli.MOVED)])
def test_ratios_come_out_again_where_intervals_meet(recheck, capsys, interval, status):
    assert recheck(measured(1000, interval), "small") == status
    assert f"Of 1 figures, moved: {int(status != 0)}." in capsys.readouterr().out


def test_results_that_are_there_are_compared_without_a_run(fake, recheck, capsys, monkeypatch,
                                                          tmp_path):
    assert recheck(measured(1000)) == 0
    (tmp_path / "out" / "report.json").rename(tmp_path / "kept.json")
    main = fake(small=measured(1000, (0.9, 0.85, 0.95)))
    assert main("all") == 0
    monkeypatch.setattr(cli, "run_experiment", lambda *_: pytest.fail("nothing is run"))
    monkeypatch.setattr(cli.build, "ensure", lambda say: pytest.fail("nothing is built"))
    capsys.readouterr()
    assert cli.main(["check", "--out", str(tmp_path / "out"),
                     "--kept", str(tmp_path / "kept.json")]) == cli.MOVED
    assert "MOVED: small: x: was 0.39" in capsys.readouterr().out


def test_other_pages_cannot_be_compared(recheck, capsys):
    assert recheck(measured(1000, page="another")) == cli.OTHER_PAGES
    assert "no figure of small can be compared" in capsys.readouterr().err


def test_without_kept_results_nothing_is_checked(fake, capsys, tmp_path):
    fake(good=good)
    assert cli.main(["check", "--kept", str(tmp_path / "none.json")]) == 1
    assert "there are no kept results" in capsys.readouterr().err


def test_report_is_made_again(fake, tmp_path):
    main = fake(good=good)
    assert main("all") == 0
    (tmp_path / "out" / "report.html").unlink()
    assert main("report") == 0
    assert (tmp_path / "out" / "report.html").exists()


def test_report_goes_where_it_is_kept(fake, tmp_path):
    main = fake(good=good)
    assert main("good") == 0
    assert main("report", "--page", str(tmp_path / "docs" / "page.html")) == 0
    assert 'id="good"' in (tmp_path / "docs" / "page.html").read_text(encoding="utf-8")


def test_what_cannot_be_written_or_is_not_there_is_named(fake, capsys, tmp_path):
    main = fake(good=good)
    assert main("report") == 1
    assert "has no results" in capsys.readouterr().err
    assert main("good") == 0
    assert main("report", "--page", str(tmp_path)) == 1
    assert "the report cannot be written" in capsys.readouterr().err
    (tmp_path / "out").rename(tmp_path / "other")
    (tmp_path / "out").write_text("a file")
    assert main("good") == 1
    assert "the results cannot be written" in capsys.readouterr().err


@pytest.mark.parametrize("arguments, says", [
    (["good", "--pages", "/nowhere"], "no such directory"),
    (["good", "--access-log", "/nowhere"], "no such file"),
    (["good", "--price-gb", "-1"], "not negative"),
    (["bad"], "invalid choice"), ([], "name an experiment"),
    (["good", "good"], "check takes names of experiments"),
    (["check", "/tmp"], "check takes names of experiments"),
])
def test_bad_arguments(fake, capsys, arguments, says):
    with pytest.raises(SystemExit):
        fake(good=good)(*arguments)
    assert says in capsys.readouterr().err


# As a user stops it: in the middle of an experiment, by Ctrl-C.
@pytest.mark.parametrize("name", ["peers", "spike", "lan-packets"])
def test_interrupt_leaves_nothing(module, open_folder, name):
    need("h2load", *NEEDED[name])
    if name == "lan-packets" and os.geteuid() != 0:
        pytest.skip("namespaces need root")
    command = ["bash", tools.ROOT / "scripts" / "bench", name, "--quick", "--no-download",
               "--out", open_folder / "out"]
    with subprocess.Popen(command, env=environment(open_folder), stdout=subprocess.DEVNULL,
                          stderr=subprocess.PIPE) as process:
        deadline = time.monotonic() + PATIENCE
        while len(running(open_folder)) < 4 and time.monotonic() < deadline:
            time.sleep(0.1)
        assert process.poll() is None
        process.send_signal(signal.SIGINT)
        errors = process.communicate(timeout=60)[1]
    assert process.returncode == 130 and b"nothing was kept" in errors, errors
    # A server that was being started right then ends by the end of its parent, a moment later.
    assert tools.wait_for(lambda: not running(open_folder), PATIENCE)
    assert not list(open_folder.iterdir())


def test_server_takes_another_port_where_one_was_taken(module, monkeypatch, tmp_path):
    with socket.socket() as taken, run.Run("x", run.Scale(1, 1), tmp_path / "out") as one:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        free = server.free_port()
        ports = iter((taken.getsockname()[1], free))
        monkeypatch.setattr(server, "free_port", lambda *_: next(ports))
        # Whoever listens there would be taken for the server, were its own end not looked at.
        monkeypatch.setattr(server.Server, "listens", lambda self: self.port == free)
        assert server.Httpd(one, "httpd", "").start().port == free


def test_server_has_started_when_its_children_run(module, tmp_path):
    with run.Run("x", run.Scale(1, 1), tmp_path / "out") as one:
        assert len(server.Httpd(one, "httpd", "", children=3).start().child_pids()) == 3


def test_outcome_has_the_command_and_the_machines_speed(fake, tmp_path):
    fake(good=good)("good")
    facts = outcome.load(tmp_path / "out", "good").facts
    assert facts["command"] == "scripts/bench good --quick"
    figures = facts["machine_speed"]
    assert [figures[name]["median_ms"] for name in ("server", "load")] == [3, 3]
    assert machine_speed.sentence(figures) in facts["paragraph"]


def test_sentence_on_the_machines_speed():
    one = machine_speed.MachineSpeed({"server": 0})
    one.times["server"] += [4, 2.5, 9, 3]
    assert machine_speed.sentence(one.figures()) == (
        "A fixed piece of work took 3.5 ms of the server's CPU (2.5 to 9; measured 4 times).")


def test_speed_is_measured_now_and_then(monkeypatch):
    now = [100.0]
    monkeypatch.setattr(machine_speed.time, "monotonic", lambda: now[0])
    home = os.sched_getaffinity(0)
    one = machine_speed.MachineSpeed({"load": max(run.CPUS)})
    for at in (100, 101, 100 + machine_speed.PAUSE):
        now[0] = at
        one.measure()
    assert len(one.times["load"]) == 2
    assert os.sched_getaffinity(0) == home


def test_a_run_after_another_has_all_cpus(tmp_path):
    alone = run.Run("x", run.Scale(1, 1), tmp_path / "out")
    with run.Run("x", run.Scale(1, 1), tmp_path / "out"):
        pass
    later = run.Run("x", run.Scale(1, 1), tmp_path / "out")
    assert (later.server_cpu, later.load_cpu) == (alone.server_cpu, alone.load_cpu)
    assert later.server_cpu == min(run.CPUS) and later.load_cpu == max(run.CPUS)
