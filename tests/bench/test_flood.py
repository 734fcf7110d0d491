"""The flood: what is lost, when latency is back, and verdicts on planted servers."""

import math
import os
import pathlib
import subprocess
import types

import pytest

from benchkit import clients, limit, run, stats
from benchkit.experiments import flood
from benchkit.frontier import legs, pages
from benchkit.tools import BenchError
from benchkit.verdict import FAILS, HOLDS, UNKNOWN

SCALE = flood.Scale(1, 3, before=4, after=6)
RATE = 20


def results(after=(1, 1, 1, 1, 1, 1), lost=range(0), scale=SCALE):
    """Visits to a server whose latency is 10 ms a page of 12 KB and 40 ms one of 120 KB, ten times
    that in the flood, and so many times that in each second after it; those in the seconds `lost`
    have no answer.
    """
    slow = [1] * int(scale.before) + [10] * int(scale.seconds) + list(after)
    found = []
    for second, factor in enumerate(slow):
        for number in range(RATE):
            size = (12, 120)[number % 2]
            gone = second in lost and number % 4 == 0
            found.append(clients.Result(
                clients.Visit(second + number / RATE, pages.path_of("php", size, number),
                              (1, 3)[number % 2]),
                math.inf if gone else factor * (0.04 if size == 120 else 0.01),
                0 if gone else 1000 * size, 1 + 2 * gone, 0.0))
    return found


def test_each_second_is_seen_beside_pages_of_the_same_size_before():
    seconds = flood.each_second(results(lost=[5]), SCALE)
    assert [row["second"] for row in seconds] == list(range(-4, 9))
    assert [row["slowness"] for row in seconds] == [1] * 4 + [10] * 3 + [1] * 6
    assert [row["lost"] for row in seconds] == [0] * 5 + [5] + [0] * 7
    assert seconds[0]["visits"] == RATE and seconds[5]["requests"] == RATE + 10


@pytest.mark.parametrize("after, expected", [
    ((1, 1, 1, 1, 1, 1), 0), ((5, 1.3, 1.1, 1.2, 1, 9), 2), ((5, 1, 1, 5, 1, 1), math.inf),
    ((2, 1, 1, 5, 1.1, 1), math.inf), ((9, 9, 9, 1, 1, 1), 3), ((9,) * 6, math.inf)])
def test_latency_is_back_where_three_seconds_running_are(after, expected):
    seconds = flood.each_second(results(after), SCALE)
    assert flood.back_after(seconds, SCALE.seconds) == expected


@pytest.mark.parametrize("compression, expected", [(0, 2), (0.25, 3)])
def test_queue_alone_takes_its_time(compression, expected):
    """One CPU that does nothing but work: half a second more for each of the flood's remains."""
    cost = {12: 0.45, 40: 0.9, 120: 2.05}  # to the mean page's, which takes 2 ms
    scale, backs = flood.SCALES["quick"], []
    for seed in range(1, 6):
        free, found = 0.0, []
        for visit in flood.visits(flood.BASE / 0.002, scale, seed):
            free = max(free, visit.at) + 0.002 * (1 + compression) * cost[
                pages.size_of(visit.path)] / sum(cost[size] * share for size, share in pages.SIZES)
            found.append(clients.Result(visit, free - visit.at, 1, 1, 0.0))
        backs.append(flood.back_after(flood.each_second(found, scale), scale.seconds))
    assert stats.median(backs) == expected


def test_what_is_lost_is_not_back():
    """Where half of the visits are lost, the median is not that of the lucky ones."""
    some = [one if number % 3 == 0 or one.at < 7 else
            clients.Result(one.visit, math.inf, 0, 1, 0.0)
            for number, one in enumerate(results())]
    assert flood.back_after(flood.each_second(some, SCALE), SCALE.seconds) == math.inf


def test_totals_of_a_pass():
    some = results(lost=[5, 6])
    found = flood.totals(some, flood.each_second(some, SCALE), SCALE)
    assert (found["visits"], found["lost"], found["requests"]) == (260, 10, 280)
    assert found["lost_of_those_that_retry"] == 0 and found["back_s"] == 0
    assert found["before_p50_ms"] == 10 and found["worst_second_p50_ms"] > 100


def test_setups_over_time():
    log = "1000500 6 br\n1000600 6 br\n1000700 1 gzip\n1001200 0 -\n1002000 - gzip\nnonsense\n"
    assert flood.setups_in(log, 1000.0, [{}] * 3, 1.0) == [
        "br 6 (2), gzip 1 (1)", "not compressed (1)", "gzip (1)"]


def rows(default=100, back=1, cheapest=(100, 1), stock=900, rounds=3, watched=12):
    """Passes of planted servers: (lost requests, seconds until back) of each."""
    servers = {"default": (default, back), flood.CHEAPEST: cheapest, "mod_deflate 1": (300, 2),
               flood.STOCK: (stock, 4)}
    servers |= {leg + flood.WITHIN_LIMIT: servers[leg] for leg in ("default", flood.STOCK)}
    return [{"round": number, "leg": leg, "lost": lost, "back_s": late, "watched_s": watched}
            for number in range(rounds) for leg, (lost, late) in servers.items()]


@pytest.mark.parametrize("some, expected, remark", [
    (rows(), [HOLDS] * 6, ""),
    (rows(default=950, back=9), [FAILS] * 6, ""),
    (rows(default=200), [HOLDS, HOLDS, FAILS, HOLDS, HOLDS, HOLDS], ""),
    (rows(default=400, back=2, cheapest=(390, 0)), [HOLDS, FAILS, HOLDS, HOLDS, FAILS, HOLDS], ""),
    (rows(back=math.inf), [HOLDS] * 3 + [FAILS] * 2 + [HOLDS], ""),
    (rows(default=0, cheapest=(0, 1), rounds=1), [HOLDS] * 6, ""),
    (rows(stock=9), [UNKNOWN] * 3 + [HOLDS] * 2 + [UNKNOWN], "no flood"),
    (rows(cheapest=(100, math.inf)), [HOLDS] * 4 + [UNKNOWN, HOLDS], "not back either"),
    (rows(back=math.inf, watched=4), [HOLDS] * 3 + [UNKNOWN, FAILS, HOLDS], "too short a time"),
    (rows() + rows(default=950, back=9), [UNKNOWN] * 6, "in 3 of 6 rounds"),
    ([row for row in rows() if row["leg"] != "mod_deflate 1"],
     [HOLDS, UNKNOWN, HOLDS, HOLDS, HOLDS, HOLDS], "not measured"),
    ([row for row in rows() if not row["leg"].endswith(flood.WITHIN_LIMIT)],
     [HOLDS] * 5 + [UNKNOWN], "no group"),
    ([row for row in rows() if row["leg"] != "default" + flood.WITHIN_LIMIT],
     [HOLDS] * 5 + [UNKNOWN], "no group")])
def test_verdicts_on_planted_servers(some, expected, remark):
    seen = flood.judge(some, "no group")
    assert [one.outcome for one in seen] == expected
    assert remark in " ".join(one.remark for one in seen)


@pytest.mark.parametrize("refused, expected", [
    ("default" + flood.WITHIN_LIMIT, None), ("default", BenchError)])
def test_limit_that_is_not_seen_leaves_the_other_legs(monkeypatch, tmp_path, refused, expected):
    def one_pass(run, leg, *_):
        if leg.name == refused:
            raise BenchError(f"{leg.name}: refused")
        return {"lost": 0}, [{"second": 0}]

    monkeypatch.setattr(flood, "one_pass", one_pass)
    monkeypatch.setattr(limit, "Group", lambda *_: None)
    monkeypatch.setattr(pages, "seconds_of_a_page", lambda *_: 0.01)
    monkeypatch.setattr(legs.Leg, "serve", lambda *_: None)
    with run.Run("x", flood.Scale(2, 3, legs=flood.LEGS), tmp_path) as one:
        if expected:
            with pytest.raises(expected):
                flood.measure(one, None)
            return
        found, seconds, costs, unlimited = flood.measure(one, None)
    assert set(costs) == {1, 2} and unlimited == f"{refused}: refused"
    assert {row["leg"] for row in found} == {row["leg"] for row in seconds} >= set(flood.LEGS)
    assert refused not in {row["leg"] for row in found}


def test_headline_is_that_on_the_cheapest_setup():
    assert flood.CHEAPEST in flood.HEADLINE.verdict(flood.judge(rows())).finding


def test_visits_of_a_flood():
    found = flood.visits(RATE, SCALE, 1)
    in_flood = [one for one in found if 4 <= one.at < 7]
    assert 8 * RATE * 3 < len(in_flood) < 12 * RATE * 3
    assert abs(len(found) - len(in_flood) - RATE * 10) < RATE * 4
    assert {one.tries for one in found} == {1, flood.TRIES}
    assert found == flood.visits(RATE, SCALE, 1)


def test_every_scale_has_what_is_compared():
    for scale in flood.SCALES.values():
        names = [leg.name for leg in legs.chosen(scale.legs)]
        assert {"default", flood.CHEAPEST, flood.STOCK} <= set(names)
        assert set(names) <= set(flood.COLOURS)


@pytest.mark.parametrize("hierarchy, expected", [
    ("cpu", "cpu/pod/web"), ("cpuacct", "cpuacct/pod/web"), ("", "system.slice/a")])
def test_group_of_a_process(monkeypatch, tmp_path, hierarchy, expected):
    monkeypatch.setattr(limit, "ROOT", tmp_path)
    (tmp_path / expected).mkdir(parents=True)
    (tmp_path / expected / "cgroup.procs").touch()
    text = "4:cpu,cpuacct:/pod/web\n3:memory:/other\n0::/system.slice/a\n"
    assert limit.folder_of_this_process(hierarchy, text) == limit.ROOT / expected


def test_processes_are_limited_while_they_are_held(tmp_path):
    """Where this is not allowed, it says so."""
    def groups():
        return subprocess.run(["cat", "/proc/self/cgroup"], capture_output=True, check=True).stdout

    before = groups()
    with run.Run("x", run.Scale(1, 1), tmp_path) as one:
        try:
            group = limit.Group(one, 0.3)
        except BenchError as problem:
            assert "no control group with a limit can be made: [Errno" in str(problem)
            return
        folder, *_ = group.folders
        with group.holding([os.getpid()]):
            assert folder.name.encode() in groups()
        assert "30000" in "".join(path.read_text() for path in folder.glob("cpu.[cm]*")
                                  if path.name in ("cpu.max", "cpu.cfs_quota_us"))
        assert groups() == before
    assert not any(map(pathlib.Path.exists, group.folders))


def test_limit_of_version_2(monkeypatch, tmp_path):
    def made_by_the_kernel(folder, **_):
        os.mkdir(folder)
        for name in ("cpu.max", "cgroup.procs"):
            (folder / name).touch()

    (tmp_path / "own").write_text("0::/\n")
    (tmp_path / "cgroup.procs").touch()
    monkeypatch.setattr(limit, "OWN", tmp_path / "own")
    monkeypatch.setattr(limit, "ROOT", tmp_path)
    monkeypatch.setattr(pathlib.Path, "mkdir", made_by_the_kernel)
    folder, = limit.Group(types.SimpleNamespace(at_end=lambda *_: None), 0.5).folders
    assert (folder / "cpu.max").read_text() == "50000 100000"


@pytest.mark.parametrize("own", [
    None, "", "2:cpuacct:/\n1:cpu:/\n0::/\n", "2:cpuacct:/a\n1:cpu:/a\n0::/a\n"])
def test_limit_that_cannot_be_made_is_named(monkeypatch, tmp_path, own):
    """There is no group, or none of this process that is in view."""
    if own is not None:
        (tmp_path / "own").write_text(own)
    monkeypatch.setattr(limit, "OWN", tmp_path / "own")
    monkeypatch.setattr(limit, "ROOT", tmp_path / "none")
    with run.Run("x", run.Scale(1, 1), tmp_path) as one, \
            pytest.raises(BenchError, match=r"\[Errno 2\]"):
        limit.Group(one, 0.3)
