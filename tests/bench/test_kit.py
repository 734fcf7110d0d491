"""Statistics, corpus, rounds and the way a run ends."""

import math
import os
import signal
import subprocess
import sys
import types
import zlib

import pytest

from benchkit import corpus, rounds, run, stats, tools
from benchkit.experiments import levels, small_files

NAN = pytest.approx(math.nan, nan_ok=True)


@pytest.mark.parametrize("percent, value", [(1, 15), (30, 20), (40, 20), (50, 35), (95, 50),
                                            (100, 50)])
def test_percentile_is_the_nearest_rank(percent, value):
    assert stats.percentile([15, 20, 35, 40, 50], percent) == value


@pytest.mark.parametrize("figure, expected", [
    (stats.percentile([], 50), NAN), (stats.median([3, 1, 2]), 2), (stats.median([]), NAN),
    (stats.mean([1, 2, 2], 2), 1.67), (stats.mean([], 2), NAN), (stats.ratio(1, 0), NAN)])
def test_figures_of_few_values_and_of_none(figure, expected):
    assert figure == expected


def test_medians_by_group():
    rows = [{"leg": leg, "round": number, "rate": rate} for leg, number, rate in
            (("a", 1, 10), ("b", 1, 1), ("b", 2, 3), ("a", 2, 30), ("a", 3, 11))]
    assert stats.medians(rows, ("leg",), ("rate",)) == {("a",): {"rate": 11}, ("b",): {"rate": 2}}


@pytest.fixture(params=["documents", "invented"])
def source(request, monkeypatch, tmp_path):
    """Both sources of text: a machine has one of them."""
    if request.param == "invented":
        monkeypatch.setattr(corpus, "DOCUMENTS", tmp_path)


def test_corpus_has_its_sizes_and_ratios(source):
    files = corpus.small_files()
    assert [len(body) for _, body in files] == [size for size, _ in corpus.SMALL_FILES]
    for (name, body), (size, wanted) in zip(files, corpus.SMALL_FILES):
        ratio = size / corpus.gzip_size(body)
        assert 0.75 * wanted < ratio < 1.35 * wanted, name
        if size <= small_files.SMALL:
            assert corpus.gzip_size(body) < 1400, f"{name}: the source's fitted one segment"


def test_corpus_is_the_same_each_time(source):
    assert corpus.page(levels.PAGE_BYTES) == corpus.page(levels.PAGE_BYTES)
    assert corpus.invented_html(5000) == corpus.invented_html(50000)[:5000]
    assert corpus.digest(corpus.invented_html(5000)) == "5c1b957ff6d4"


def test_pages_of_the_user(tmp_path):
    for size in (10, 200, 3000):
        (tmp_path / f"{size}.html").write_bytes(b"x" * size)
    (tmp_path / "10.html.gz").write_bytes(b"x")
    assert [len(body) for _, body in corpus.small_files(tmp_path)] == [10, 200, 3000]
    assert len(corpus.page(180, tmp_path)) == 200


def test_pages_below_folders_count_and_other_files_do_not(tmp_path):
    (tmp_path / "a" / "b").mkdir(parents=True)
    (tmp_path / ".git").mkdir()
    for name in ("a/b/1.css", "2.HTML", "3.png", ".git/4.html", "5.html.br"):
        (tmp_path / name).write_bytes(b"x" * 9)
    assert {path.name for path in corpus.files_of(tmp_path)} == {"1.css", "2.HTML"}


@pytest.mark.parametrize("paths, spread", [([1, 2, 3], [1, 2, 3]),
                                           (list(range(101)), [0, 25, 50, 75, 100])])
def test_pages_are_spread_over_their_sizes(paths, spread):
    assert corpus.spread(paths, 5) == spread


def leg_of(status, headers, body):
    """A leg whose server answers every path with one response."""
    server = types.SimpleNamespace(get=lambda path, accepted: (status, headers, body))
    return rounds.Leg({"file": "a"}, server, "/a", b"text", "gzip", "gzip")


GZIP = {"Content-Encoding": "gzip"}


def gzipped(body):
    encoder = zlib.compressobj(6, zlib.DEFLATED, 31)
    return encoder.compress(body) + encoder.flush()


def test_leg_that_is_as_meant():
    body = gzipped(b"text")
    assert rounds.check(leg_of(200, GZIP, body)) == len(body)


@pytest.mark.parametrize("status, headers, body, says", [
    (404, {}, b"", "gave 404"),
    (200, {}, b"text", "Content-Encoding ''"),
    (200, GZIP, gzipped(b"other"), "does not decode"),
    (200, GZIP, gzipped(b"text")[:-1], "cut short"),
    (200, GZIP, gzipped(b"text") + b"tail", "cut short or has a tail"),
])
def test_leg_that_is_not_as_meant(status, headers, body, says):
    with pytest.raises(tools.BenchError, match=says):
        rounds.check(leg_of(status, headers, body))


def test_rounds_visit_every_leg_there_and_back_and_report_progress():
    done = []
    one = types.SimpleNamespace(scale=run.Scale(3, 0), done=done.append, rounds=0)
    assert list(rounds.interleaved(one, "ab")) == [
        (1, "a"), (1, "b"), (2, "b"), (2, "a"), (3, "a"), (3, "b")]
    assert done == pytest.approx([1 / 6, 2 / 6, 3 / 6, 4 / 6, 5 / 6, 1])


@pytest.mark.parametrize("budget, narrow_from, expected", [
    (100, 9, 5), (100, 3, 3), (100, 1, 2), (7.9, 9, 3), (8.1, 9, 4), (1, 9, 2)])
def test_rounds_go_on_while_figures_vary_and_the_budget_lasts(
        monkeypatch, tmp_path, budget, narrow_from, expected):
    """A round takes two seconds: at least two of them are measured, at most five."""
    now, steps, seen = [0.0], [], []
    monkeypatch.setattr(rounds.time, "monotonic", lambda: now[0])
    one = run.Run("x", run.Scale(5, 0, least=2), tmp_path, budget=budget,
                  progress=types.SimpleNamespace(step=steps.append))
    for number, _ in rounds.interleaved(one, "ab", is_enough=lambda: seen[-1] >= narrow_from):
        seen.append(number)
        now[0] += 1
    assert seen[-1] == one.rounds == expected and len(seen) == 2 * expected
    assert steps == sorted(steps) and steps[-1] <= 1
    # Of the rounds, or of the budget, whichever is further.
    assert steps[0] == pytest.approx(min(1, max(0.1, 1 / budget)))


def test_each_part_has_its_share_of_the_budget(monkeypatch, tmp_path):
    now = [0.0]
    monkeypatch.setattr(rounds.time, "monotonic", lambda: now[0])
    one = run.Run("x", run.Scale(1, 1), tmp_path, budget=100)
    assert one.time_left() == 100
    one.begin_part(0.25)
    now[0] = 20
    assert one.time_left() == 5
    one.begin_part(0.5)
    assert one.time_left() == 55


def test_run_ends_its_processes_and_removes_its_directory(monkeypatch, tmp_path):
    monkeypatch.setattr(run, "PATIENCE", 0.3)
    with pytest.raises(RuntimeError):
        with run.Run("x", run.Scale(1, 1), tmp_path / "out") as one:
            work = one.work
            # A shell with a child of its own, both deaf to SIGTERM.
            server = one.start(["sh", "-c", "trap '' TERM; sleep 60 & echo ready; wait; sleep 60"],
                               work / "log")
            assert tools.wait_for(lambda: "ready" in (work / "log").read_text(), 60)
            one.save_text("x", "partial")
            raise RuntimeError
    assert not run.group_runs(server.pid)
    assert not work.exists()
    assert not (tmp_path / "out").exists()


def test_run_publishes_tables_with_the_columns_of_all_rows(tmp_path):
    with run.Run("x", run.Scale(1, 1), tmp_path / "out") as one:
        one.save_table("", [{"a": 1}, {"a": 2, "b": "é"}])
        one.save_medians("y", [{"a": 1, "b": 2}, {"a": 1, "b": 4}], ("a",), ("b",))
        one.publish()
    assert [(tmp_path / "out" / name).read_text(encoding="utf-8") for name in ("x.csv", "x-y.csv")
            ] == ["a,b\n1,\n2,é\n", "a,b\n1,3.0\n"]


# An experiment whose run never ends by itself.
ENDLESS = """
import sys, time, types
from benchkit import cli, run

def endless(one):
    one.save_text("partial", "result")
    one.start(["sleep", "300"], one.work / "log")
    print("ready", flush=True)
    time.sleep(300)

cli.build.ensure = lambda say: None
cli.load_experiment = lambda name: types.SimpleNamespace(
    SUMMARY="endless", SOURCE="none", SCALES={"quick": run.Scale(1, 1)}, SECONDS={"quick": 1},
    run=endless)
sys.exit(cli.main(["levels", "--quick", "--out", sys.argv[1]]))
"""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_interrupt_keeps_nothing(tmp_path, number):
    environment = {**os.environ, "TMPDIR": str(tmp_path),
                   "PYTHONPATH": str(tools.ROOT / "scripts")}
    with subprocess.Popen([sys.executable, "-c", ENDLESS, tmp_path / "out"], env=environment,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout.readline() == b"ready\n"
        process.send_signal(number)
        errors = process.communicate(timeout=30)[1]
    assert process.returncode == 130, errors
    assert b"nothing was kept" in errors
    assert not list(tmp_path.iterdir())
