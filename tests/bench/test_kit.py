"""Statistics, legs, rounds, and the way a run ends."""

import math
import os
import signal
import subprocess
import sys
import types
import zlib

import pytest

from benchkit import cli, machine, rounds, run, stats, tools

NAN = pytest.approx(math.nan, nan_ok=True)


@pytest.mark.parametrize("figure, expected", [
    # The nearest rank.
    *((stats.percentile([15, 20, 35, 40, 50], percent), value) for percent, value in (
        (1, 15), (30, 20), (40, 20), (50, 35), (95, 50), (100, 50))),
    (stats.percentile([], 50), NAN), (stats.median([3, 1, 2]), 2), (stats.median([]), NAN),
    (stats.mean([1, 2, 2], 2), 1.67), (stats.mean([], 2), NAN), (stats.ratio(1, 0), NAN),
    (stats.medians([{"leg": leg, "rate": rate} for leg, rate in (
        ("a", 10), ("b", 1), ("b", 3), ("a", 30), ("a", 11))], ("leg",), ("rate",)),
     {("a",): {"rate": 11}, ("b",): {"rate": 2}})])
def test_figures_of_few_values_and_of_none(figure, expected):
    assert figure == expected


@pytest.mark.parametrize("ratios, low, high", [
    ([0.5] * 4, 0, math.inf),  # few rounds say nothing of the spread
    ([0.5] * 5, 0.5, 0.5),
    ([0.4, 0.5, 0.5, 0.5, 0.625], 0.41, 0.61),  # Student's, of logarithms
    # By rank: one round of a machine that was busy does not count for more than one.
    ([0.49, 0.5, 0.5, 0.51, 0.5, 0.49, 0.51, 9], 0.49, 2.15)])
def test_interval_of_few_rounds_and_of_many(ratios, low, high):
    assert stats.interval(ratios)[1:] == pytest.approx((low, high), rel=0.03)


def gzipped(body):
    encoder = zlib.compressobj(6, zlib.DEFLATED, 31)
    return encoder.compress(body) + encoder.flush()


GZIP = {"Content-Encoding": "gzip"}


@pytest.mark.parametrize("status, headers, body, says", [
    (200, GZIP, gzipped(b"text"), None), (404, {}, b"", "gave 404"),
    (200, {}, b"text", "Content-Encoding ''"), (200, GZIP, gzipped(b"other"), "does not decode"),
    (200, GZIP, gzipped(b"text")[:-1], "cut short"),
    (200, GZIP, gzipped(b"text") + b"tail", "cut short or has a tail")])
def test_a_leg_is_as_meant_or_named(status, headers, body, says):
    server = types.SimpleNamespace(get=lambda path, accepted: (status, headers, body))
    leg = rounds.Leg({"file": "a"}, server, "/a", b"text", "gzip", "gzip")
    if says is None:
        assert rounds.check(leg) == len(body)
    else:
        with pytest.raises(tools.BenchError, match=says):
            rounds.check(leg)


def test_a_second_run_does_not_measure_beside_the_first(monkeypatch, capsys):
    monkeypatch.setattr(os, "getuid", lambda: f"test-{os.getpid()}")
    monkeypatch.setattr(cli.build, "ensure", lambda say: None)
    monkeypatch.setattr(cli, "run_experiments", lambda options: print("measured"))
    for options, says in ((["--quick"], "another run"), (["--smoke"], "measured")):
        with machine.held_alone():
            assert cli.main(["levels", *options]) == ("another" in says)
        assert says in "".join(capsys.readouterr())
    assert cli.main(["levels"]) == 0


@pytest.mark.parametrize("scale, seconds, expected", [
    ("smoke", 1, 1), ("quick", 1, 2), ("normal", 1, 5), ("normal", 13, 6), ("normal", 1e6, 60)])
def test_rounds_there_and_back_until_the_budget_has_no_time_for_another(
        monkeypatch, tmp_path, scale, seconds, expected):
    """A round takes two seconds."""
    now, seen = [0.0], []
    monkeypatch.setattr(rounds.time, "monotonic", lambda: now[0])
    one = run.Run("x", scale, tmp_path, seconds)
    for number, leg in rounds.interleaved(one, "ab"):
        seen.append((number, leg))
        now[0] += 1
    assert seen[-1][0] == one.rounds == expected and len(seen) == 2 * expected
    assert seen[:4] == [(1, "a"), (1, "b"), (2, "b"), (2, "a")][:len(seen)]


def test_what_disturbed_a_run_is_named():
    good = {"leg": "a", "requests": 10, "failed": 0, "foreign_share": 0.0}
    assert rounds.remarks([good] * 10, "leg") == []
    said = rounds.remarks([good, {**good, "leg": "b", "failed": 5, "foreign_share": 0.4}], "leg")
    assert said[0] == "Failed requests: b: 5 of 15." and "not quiet" in said[1]


def test_run_ends_its_processes_and_removes_its_directory(monkeypatch, tmp_path):
    monkeypatch.setattr(run, "PATIENCE", 0.3)
    with pytest.raises(RuntimeError), run.Run("x", out=tmp_path / "out") as one:
        work = one.work
        # A shell with a child of its own, both deaf to SIGTERM.
        server = one.start(["sh", "-c", "trap '' TERM; sleep 60 & echo ready; wait; sleep 60"],
                           work / "log")
        assert tools.wait_for(lambda: "ready" in (work / "log").read_text(), 60)
        one.save_table("", [{"a": 1}])
        raise RuntimeError
    assert not run.group_runs(server.pid)
    assert not work.exists() and not (tmp_path / "out").exists()


def test_run_publishes_tables_with_the_columns_of_all_rows(tmp_path):
    with run.Run("x", out=tmp_path / "out") as one:
        one.save_table("", [{"a": 1}, {"a": 2, "b": "é"}])
        one.write_table("y", stats.median_rows([{"a": 1, "b": 2}, {"a": 1, "b": 4}], "a", "b"),
                        "medians")
        one.publish()
        assert list(one.raw) == [""] and list(one.tables) == ["x-y"]
    assert [(tmp_path / "out" / name).read_text(encoding="utf-8") for name in ("x.csv", "x-y.csv")
            ] == ["a,b\n1,\n2,é\n", "a,b\n1,3.0\n"]


# An experiment whose run never ends by itself.
ENDLESS = """
import sys, time, types
from benchkit import build, cli

def endless(one):
    one.save_table("", [{"a": 1}])
    one.start(["sleep", "300"], one.work / "log")
    print("ready", flush=True)
    time.sleep(300)

build.ensure = lambda say: None
cli.load_experiment = lambda name: types.SimpleNamespace(TITLE="", SECONDS=(1, 1, 1), run=endless)
sys.exit(cli.main(["levels", "--quick", "--out", sys.argv[1]]))
"""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_interrupt_keeps_nothing_of_an_unfinished_experiment(tmp_path, number):
    environment = {**os.environ, "TMPDIR": str(tmp_path),
                   "PYTHONPATH": str(tools.ROOT / "scripts")}
    with subprocess.Popen([sys.executable, "-c", ENDLESS, tmp_path / "out"], env=environment,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout.readline() == b"ready\n"
        process.send_signal(number)
        errors = process.communicate(timeout=30)[1]
    assert process.returncode == 130 and b"interrupted" in errors, errors
    assert not list(tmp_path.iterdir())
