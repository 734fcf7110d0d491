"""The frontier: what is chosen in one half of the rounds and compared in the other, on planted
rows; and what a pass, a day and a summary are made of.
"""

import random
import types

import pytest

from benchkit import clients
from benchkit.experiments import frontier
from benchkit.frontier import cells, hours, legs, pages, passes
from benchkit.verdict import FAILS, HOLDS, UNKNOWN

LOADS = (0.2, 0.5, 0.8)


def planted(default, others, rounds=6, noise=0.02, each=0.1, loads=LOADS, seed=5):
    """Rows of a default that takes so many ms, and of others, {name: (family, ms)}. A round's
    noise is common to all of its legs, and `noise` is each leg's own.
    """
    source = random.Random(seed)
    legs_of = {"default": (legs.DEFAULT, default), **others}
    rows = []
    for number in range(1, rounds + 1):
        for load in loads:
            common = 1 + each * (2 * source.random() - 1)
            for name, (family, took) in legs_of.items():
                times = {passes.column(figure, rate): took * common * (1 + load) * (
                    1 + noise * (2 * source.random() - 1)) for figure in passes.FIGURES
                         for rate in passes.RATES}
                rows.append({"round": number, "pages": "php", "load": load, "leg": name,
                             "family": family, "clients": "all", "bytes": 1000 * took, **times})
    return rows


def pinned(**times):
    return {name: (legs.PINNED, took) for name, took in times.items()}


OTHERS = {"mod_deflate 6": (legs.OTHERS, 30.0)}


def judged(rows):
    compared = cells.compare(rows, (legs.PINNED, legs.OTHERS))
    return compared, frontier.judge(rows, compared)


def test_default_that_is_beaten_is_reported_as_beaten():
    rows = planted(13, {**pinned(a=12, b=10, c=15), **OTHERS})
    compared, verdicts = judged(rows)
    assert len(compared) == 2 * len(LOADS) * len(passes.RATES) * len(passes.FIGURES)
    by_pinned = [one for one in compared if one.family == legs.PINNED]
    assert {one.outcome for one in by_pinned} == {cells.BEATEN}
    assert {one.best for one in by_pinned} == {"b"}
    assert all(one.time == pytest.approx(1.3, rel=0.05) and one.low < one.time < one.high
               for one in by_pinned)
    assert {round(one.bytes, 2) for one in by_pinned} == {1.3}
    # mod_deflate, which it beats, does not hide that pinned setups beat it.
    assert [one.outcome for one in verdicts] == [FAILS, HOLDS, FAILS, FAILS]
    text = cells.sentence(by_pinned, "the best pinned setup")
    assert "beaten in 27 of 27 cells" in text and "by b (27)" in text and "1.3" in text


def test_default_that_is_best_is_not():
    compared, verdicts = judged(planted(9.5, {**pinned(a=12, b=10, c=15), **OTHERS}))
    assert {one.outcome for one in compared} == {cells.AHEAD}
    assert [one.outcome for one in verdicts] == [HOLDS] * 4
    assert "beaten in 0 of 27" in cells.sentence(compared[:27], "x")


@pytest.mark.parametrize("seed", range(4))
def test_the_best_of_many_equals_is_no_better(seed):
    """Of twenty setups that all take as long, one is always the best by chance."""
    rows = planted(10, pinned(**{f"p{number}": 10 for number in range(20)}), noise=0.15, seed=seed)
    compared, verdicts = judged(rows)
    naive = [min(row["mean_ms_at_20"] for row in rows if row["round"] == 1 and row["load"] == load
                 and row["family"] == legs.PINNED) for load in LOADS]
    default = [row["mean_ms_at_20"] for row in rows
               if (row["round"], row["leg"]) == (1, "default")]
    assert sum(default) / sum(naive) > 1.08  # what choosing and judging by the same shows
    ratios = [one.time for one in compared]
    assert sum(ratios) / len(ratios) == pytest.approx(1, abs=0.05)
    assert sum(one.outcome == cells.BEATEN for one in compared) <= frontier.CHANCE * len(compared)
    assert FAILS not in [one.outcome for one in verdicts]


def test_what_is_chosen_in_a_half_is_compared_in_the_other():
    times = {"default": dict.fromkeys((1, 2, 3, 4), 10), "a": {1: 5, 2: 20, 3: 5, 4: 20},
             "b": {1: 8, 2: 8, 3: 8, 4: 8}, "c": {1: 1, 2: 1}}  # c lacks rounds
    chosen, ratios, sizes = cells.crossed(times, times, "default", ["a", "b", "c"])
    assert chosen == ["a", "b"]
    assert ratios == {2: 0.5, 4: 0.5, 1: 1.25, 3: 1.25} and sizes == ratios
    assert cells.crossed(times, times, "default", []) == ([], {}, {})


def test_too_few_rounds_decide_nothing():
    compared, verdicts = judged(planted(20, {**pinned(a=10), **OTHERS}, rounds=2))
    assert {one.outcome for one in compared} == {cells.EVEN}
    assert [one.outcome for one in verdicts] == [UNKNOWN] * 4


def test_clients_of_gzip_have_a_default_and_contenders_of_their_own():
    rows = planted(10, pinned(a=8))
    rows += [{**row, "leg": "default, gzip", "clients": "gzip"} for row in rows
             if row["leg"] == "default"]
    rows += [{**row, "leg": "gzip 1", "clients": "all gzip", "family": legs.PINNED}
             for row in rows if row["leg"] == "default"]
    compared = cells.compare(rows, (legs.PINNED,))
    assert {(one.clients, one.best, one.outcome) for one in compared} == {
        ("all", "a", cells.BEATEN), ("gzip", "gzip 1", cells.EVEN)}


def test_frontier_is_what_no_other_beats():
    points = {"a": (10, 9), "b": (12, 5), "c": (13, 6), "d": (20, 4), "e": (21, 4), "f": (10, 9.5)}
    assert cells.frontier(points) == ["a", "b", "d"]


def visit(at, seconds, size, path=None):
    return clients.Result(clients.Visit(at, path or pages.path_of("php", 40, 1)), seconds, size, 1,
                          0.0)


def test_total_time_is_latency_and_wire_and_what_is_lost_counts():
    found = passes.figures_of([visit(0, 0.010, 10000), visit(1, 0.030, 20000),
                               visit(2, float("inf"), 0)], 5)
    assert (found["visits"], found["lost"], found["bytes"]) == (3, 1, 15000)
    assert found["latency_p50_ms"] == 30 and found["latency_p95_ms"] == 5000
    # 20000 bytes at 5 Mbit/s are 32 ms; of the lost one, 15000 bytes are 24.
    assert found["p50_ms_at_5"] == 62 and found["p95_ms_at_5"] == 5024
    assert found["mean_ms_at_100"] == pytest.approx((10.8 + 31.6 + 5001.2) / 3, abs=0.01)


def test_day_lies_between_the_loads_measured():
    assert hours.of_day({0.2: 10, 0.6: 30}, [0.1, 0.2, 0.3, 0.6]) == [10, 10, 15, 30]
    assert hours.weighted([10, 20], [1, 3]) == 17.5
    rows = planted(13, pinned(a=10, b=12), noise=0, each=0)
    rows = [row for row in rows if (row["leg"], row["load"]) != ("b", 0.8)]  # overrun there
    whole = hours.whole_days(rows)
    assert {row["leg"] for row in whole} == {"default", "a"}
    compared = cells.compare(whole, (legs.PINNED,), figures=("mean",))
    assert {(one.load, one.best, round(one.time, 2)) for one in compared} == {("day", "a", 1.3)}
    table = hours.table(rows, "all")
    assert len(table) == 2 * 24
    peak = max(table, key=lambda row: row["mean_ms_at_20"])
    assert (peak["hour"], peak["load"], peak["leg"]) == (20, 0.8, "default")
    assert hours.best_pinned(table)[0] == "a"
    assert hours.whole_days(planted(1, {}, loads=(0.5,))) == []  # one load makes no day


def test_leg_that_is_overrun_is_left_out_of_higher_loads(monkeypatch):
    made = {name: (legs.Leg(name, family), None) for name, family in
            (("default", legs.DEFAULT), (legs.IDENTITY.name, legs.NONE), ("slow", legs.PINNED))}
    run, relieved = [], []

    def one_pass(leg, server, demand):
        run.append((leg.name, round(demand.rate)))
        lost = 0 if leg.name == legs.IDENTITY.name or demand.rate < 50 else 20
        return {"visits": 100, "lost": lost, "foreign_share": 0}, []

    monkeypatch.setattr(passes, "one_pass", one_pass)
    monkeypatch.setattr(passes, "relieve", relieved.append)
    monkeypatch.setattr(passes.pages, "seconds_of_a_page", lambda *_: 0.01)
    rows, _, costs = passes.measure(
        types.SimpleNamespace(scale=types.SimpleNamespace(rounds=2, seconds=1, warm=1,
                                                                calibration=1, least=0),
                              done=lambda share: None, rounds=0),
        made, [("php", 0.3), ("php", 0.6), ("php", 0.9)])
    assert [rate for name, rate in run if name == "slow"] == [30, 60, 60, 30]
    assert sorted(rate for name, rate in run if name == "default") == [30, 30, 60, 60, 90, 90]
    assert len(relieved) == 6 and costs == {"php": 10}
    assert {(row["round"], row["load"]) for row in rows if row["leg"] == "slow"} == {
        (1, 0.3), (1, 0.6), (2, 0.6), (2, 0.3)}


def test_adaptive_legs_see_a_load_before_they_have_it():
    served = [(legs.mode("default"), 1), (legs.pinned("gzip", 1), 2), (legs.mode("mix"), 3),
              (legs.stock(1), 4), (legs.of_nginx(1), 5)]
    assert [server for _, server in passes.in_order(served)] == [2, 1, 3, 4, 5]


def test_every_scale_has_legs_that_exist_and_what_is_compared():
    names = [leg.name for leg in legs.all_legs()]
    assert len(names) == len(set(names))
    for scale in frontier.SCALES.values():
        found = {leg.name for leg in legs.chosen(scale.legs)}
        assert {"default", legs.IDENTITY.name} <= found
        assert list(scale.php) == sorted(scale.php)
    wanted = {f"mod_deflate {level}" for level in range(1, 10)}
    wanted |= {f"{coding} {level}" for coding, levels in legs.LEVELS.items() for level in levels}
    assert wanted <= set(names)


def test_default_is_plain():
    assert legs.mode("default").setup.snippet == "Elastic On\n"


def test_visits_are_the_same_for_all_and_of_all_sizes():
    demand = passes.Demand("php", 100, 3, 5, 7)
    long, short = demand.visits(3), demand.visits(0.5)
    assert max(visit.at for visit in long) > 7.9 and max(visit.at for visit in short) > 5.4
    tail = [(visit.path, visit.at - 2.5) for visit in long if visit.at >= 2.5]
    assert [visit.path for visit in short] == [path for path, _ in tail]
    assert [visit.at for visit in short] == pytest.approx([at for _, at in tail])
    one = pages.visits("php", 100, 5, 3)
    counted = [pages.size_of(visit.path) for visit in one]
    for size, share in pages.SIZES:
        assert counted.count(size) / len(one) == pytest.approx(share, abs=0.08)
    assert pages.size_of(pages.path_of("in process", 12, 1)) == 12
