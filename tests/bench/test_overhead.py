"""What compression costs: pooled over rounds, on a machine whose speed drifts."""

import math
import random

import pytest

from benchkit import overhead

KEYS = ("leg", "size")
OURS, PEER, IDENTITY = ({"leg": name} for name in ("ours", "peer", "identity"))


def measured(ours, rounds=12, noise=0.03, drift=0.0, seed=1):
    """Rows of three legs: of 1 KB, where identity is most of the cost, and of 64 KB."""
    source = random.Random(seed)
    rows, pace = [], 1.0
    for number in range(rounds):
        for size, base, compression in ((1, 34, 50), (64, 40, 1700)):
            for leg, cost in (("identity", 0), ("peer", compression), ("ours", ours * compression)):
                pace = min(2, max(1, pace * math.exp(source.gauss(0, drift))))
                rows.append({"round": number, "size": size, "leg": leg, overhead.FIGURE:
                             (base + cost) * pace * math.exp(source.gauss(0, noise))})
    return overhead.steady(rows, KEYS)


def found(rows):
    return overhead.finding("key", "text", rows, OURS, PEER, IDENTITY, ("size",))


@pytest.mark.parametrize("ours", [0.2, 0.5, 1.0])
@pytest.mark.parametrize("drift", [0.0, 0.05])
def test_ratio_is_found_on_a_machine_that_drifts(ours, drift):
    for seed in range(5):
        middle, low, high = found(measured(ours, drift=drift, seed=seed)).figure
        assert low < ours < high or abs(middle / ours - 1) < 0.06
        assert high / low < 1.5


def test_interval_covers_the_truth():
    inside = 0
    for seed in range(100):
        _, low, high = found(measured(0.3, rounds=8, seed=seed)).figure
        inside += low < 0.3 < high
    assert inside >= 90


def test_one_round_decides_nothing_of_the_spread():
    assert found(measured(0.5, rounds=1)).figure[1:] == (0.0, math.inf)
    rows = [row for row in measured(0.5) if row["leg"] != "peer"]  # a side was not measured
    assert math.isnan(found(rows).figure[0]) and found(rows).here == "not measured"


def test_cost_that_cannot_be_told_from_none_is_a_limit():
    """Of equal figures the difference may be negative: the least that counts is taken."""
    one = found(measured(0.0))
    assert 0 < one.figure[0] < 0.05
    assert one.limit == "<" and one.here.startswith("< ")
    assert found(measured(0.5)).limit == ""


def test_two_servers_have_identities_of_their_own():
    rows = [{"leg": leg, "size": 1, "round": number, overhead.FIGURE: figure} for number in range(4)
            for leg, figure in (("ours", 60), ("a", 50), ("peer", 30), ("b", 10))]
    one = overhead.finding("key", "text", overhead.steady(rows, KEYS), OURS, PEER,
                           ({"leg": "a"}, {"leg": "b"}))
    assert one.figure == pytest.approx([0.5] * 3)


def test_steady_takes_the_drift_away_and_leaves_the_legs():
    rows = [{"leg": leg, "size": 1, "round": number, overhead.FIGURE: figure * (1 + number % 2)}
            for number in range(10) for leg, figure in
            (("a", 10), ("b", 20), ("c", 30), ("d", 40), ("e", 50), ("f", 60))]
    steady = overhead.steady(rows, KEYS)
    for leg, figure in (("b", 20), ("e", 50)):
        seen = [row[overhead.STEADY] for row in steady if row["leg"] == leg]
        assert max(seen) / min(seen) < 1.01
