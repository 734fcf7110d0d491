"""The simulated fleet: what queues, controllers and stores do."""

import itertools

import pytest

from benchkit.experiments import fleet as experiment
from benchkit.fleet import real, simulate
from benchkit.fleet.simulate import ELASTIC, NONE, OWN, SHARED, STATIC, Fleet

COSTS = simulate.Costs(0.001, {level: 0.001 * level for level in range(1, 10)},
                       {level: 100 - level for level in range(1, 10)})


def serve(fleet, times, bodies=itertools.repeat(0), chosen=itertools.repeat(0)):
    return simulate.run(fleet, COSTS, times, bodies, chosen)


def test_requests_wait_for_those_before_them():
    first, second, third = serve(Fleet(1), [0.0, 0.001, 1.0])
    assert first.seconds == pytest.approx(0.007)  # handling, and level 6
    assert second.seconds == pytest.approx(0.013)
    assert third.seconds == pytest.approx(0.007)
    assert {first.kind, first.level} == {STATIC, 6}


def test_an_elastic_server_goes_up_where_it_is_idle_and_down_where_it_is_busy():
    idle = serve(Fleet(1, elastic=1), [0.0, 0.6, 1.1, 60.0])
    assert [one.level for one in idle] == [6, 7, 8, 9]
    busy = serve(Fleet(1, elastic=1), [place / 1000 for place in range(5000)])
    assert busy[0].level == 6 and busy[-1].level == 1
    assert all(one.level == 6 for one in serve(Fleet(1), [0.0, 60.0]))


@pytest.mark.parametrize("store,expected", [
    (NONE, [False] * 6), (OWN, [False, False, True, False, False, True]),
    (SHARED, [False, False, True, True, True, True])])
def test_a_body_is_kept_when_one_server_sees_it_again(store, expected):
    served = serve(Fleet(2, store=store, room=5), range(6), [7] * 6, [0, 0, 0, 1, 1, 1])
    assert [one.found for one in served] == expected
    assert simulate.encodings(served) == pytest.approx(1000 * expected.count(False) / 6)
    if store != NONE:
        assert served[2].seconds == pytest.approx(COSTS.handling)


def test_what_was_used_longest_ago_goes_first():
    bodies = [1, 1, 2, 2, 1, 3, 3, 1, 2]
    found = [one.found for one in serve(Fleet(1, store=OWN, room=2), range(9), bodies)]
    assert found == [False, False, False, False, True, False, False, True, False]


def test_the_balancer_gives_elastic_servers_their_weight():
    chosen = simulate.balance(Fleet(4, elastic=1, weight=3.0), 60000, seed=1)
    assert chosen.count(0) / len(chosen) == pytest.approx(0.5, abs=0.01)
    assert chosen == simulate.balance(Fleet(4, elastic=1, weight=3.0), 60000, seed=1)


def test_failures_are_those_of_a_kind_and_a_time():
    served = [simulate.Served(at, seconds, kind, 6, False) for at, seconds, kind in
              ((0, 9, STATIC), (1, 9, STATIC), (1, 1, STATIC), (1, 9, ELASTIC), (2, 9, STATIC))]
    assert simulate.failed_share(served, STATIC, (1, 2), 5) == 0.5


@pytest.mark.parametrize("shared,static,outcomes", [
    (300, 0.4, ["holds"] * 5),
    (580, 0.0, ["does not hold", "holds", "does not hold", "does not hold", "holds"])])
def test_verdicts_can_go_either_way(shared, static, outcomes):
    compared = [{"setup": OWN, "encodings_per_1000": 600, "simulated_per_1000": 605},
                {"setup": SHARED, "encodings_per_1000": shared, "simulated_per_1000": 310}]
    spiked = [{"weight": 1, "kind": kind, "failed_share": share} for kind, share in
              ((STATIC, static), (ELASTIC, 0.0)) for _ in range(3)]
    assert [one.outcome for one in experiment.judge(compared, spiked)] == outcomes


def test_each_setup_of_the_real_fleet_is_one_that_is_simulated():
    assert set(real.SETUPS) == {real.IDENTITY, NONE, OWN, SHARED}
