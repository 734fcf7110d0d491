"""Verdicts: on findings that hold, on those that fail, on noise, and on one thing twice."""

import math
import random

import pytest

from benchkit import stats, verdict
from benchkit.experiments import control
from benchkit.verdict import FAILS, HOLDS, UNKNOWN


def ratios_about(middle, noise, rounds, seed=1):
    source = random.Random(seed)
    return [middle * math.exp(source.gauss(0, noise)) for _ in range(rounds)]


@pytest.mark.parametrize("middle, noise, bounds, outcome", [
    (0.7, 0.02, {"below": 0.95}, HOLDS), (1.4, 0.02, {"below": 0.95}, FAILS),
    (0.98, 0.5, {"below": 0.95}, UNKNOWN),
    (3, 0.05, {"above": 2, "below": 4.5}, HOLDS), (1.5, 0.05, {"above": 2, "below": 4.5}, FAILS),
    (6, 0.05, {"above": 2, "below": 4.5}, FAILS), (2.0, 0.05, {"above": 2, "below": 4.5}, UNKNOWN),
])
def test_ratio_within_or_beyond_its_bounds(middle, noise, bounds, outcome):
    seen = verdict.judge("x", ratios_about(middle, noise, 5), "0.65", **bounds)
    assert seen.outcome == outcome
    assert seen.low < seen.measured < seen.high


def rounds_needed(one):
    return int(one.remark.split("about ")[1].split()[0])


def test_unknown_names_the_precision_that_is_missing():
    seen = verdict.judge("x", [0.8, 1.1, 0.7, 1.0], "less", below=1)
    assert seen.outcome == UNKNOWN
    assert "reaches over 1.00" in seen.remark and "rounds" in seen.remark
    # So many rounds of the same spread do tell.
    assert verdict.judge("x", [0.8, 1.1, 0.7, 1.0] * math.ceil(
        rounds_needed(seen) / 4), "less", below=1).outcome == HOLDS


def test_what_rounds_at_other_times_may_differ_by_is_in_the_interval():
    near, far = [0.93, 0.94, 0.95, 0.94, 0.93], [0.83, 0.84, 0.85, 0.84, 0.83]
    assert verdict.judge("x", far, "", below=1).outcome == HOLDS
    seen = verdict.judge("x", near, "", below=1)
    assert seen.outcome == UNKNOWN and "too near" in seen.remark
    assert seen.high / seen.measured == pytest.approx(verdict.DRIFT, rel=0.01)
    assert verdict.judge("x", near, "", below=1, drift=verdict.NO_DRIFT).outcome == HOLDS


def test_rounds_that_are_missing_are_counted_beyond_the_drift():
    """Nearer to its bound than the drift, rounds decide nothing; a little further, by many."""
    spread = [0.6, 1.0, 0.7, 0.95, 0.8]
    seen = verdict.judge("x", spread, "", below=1)
    undrifted = verdict.judge("x", spread, "", below=1, drift=verdict.NO_DRIFT)
    assert rounds_needed(seen) > rounds_needed(undrifted)
    assert verdict.judge("x", spread * math.ceil(rounds_needed(seen) / 5), "",
                         below=1).outcome == HOLDS


def test_statistic_that_some_rounds_have_not():
    interval = stats.drawn_anew([1, -1, 2], sum)
    seen = verdict.judge_interval("x", interval, 3, "", above=1)
    assert seen.outcome == UNKNOWN and "differ by more" in seen.remark


def test_ratio_at_its_bound_is_never_told():
    assert "too near" in verdict.judge("x", [0.9, 1.11, 1.0], "", below=1).remark


@pytest.mark.parametrize("ratios, says", [
    ([], "nothing was measured"), ([0.5], "too few rounds"), ([0.5, 0.51], "too few rounds"),
    ([0.5, math.nan], "nothing was measured"),
])
def test_too_little_to_judge(ratios, says):
    seen = verdict.judge("x", ratios, "", below=1)
    assert seen.outcome == UNKNOWN and says in seen.remark


def test_equal_ratios_are_sure_after_two_rounds():
    assert verdict.judge("x", [0.5, 0.5], "", below=1).outcome == HOLDS


@pytest.mark.parametrize("middle, noise, outcome", [
    (1, 0.01, HOLDS), (1.3, 0.02, FAILS), (0.7, 0.02, FAILS), (1, 0.4, UNKNOWN),
    (1.06, 0.03, UNKNOWN),
])
def test_one_thing_twice_and_two_things(middle, noise, outcome):
    assert verdict.same("x", ratios_about(middle, noise, 5)).outcome == outcome


def test_a_against_a_is_never_a_difference():
    """Of 300 runs of five rounds of one leg as A and B, none finds a difference."""
    source = random.Random(5)
    seen = []
    for _ in range(300):
        rows = [{"round": number, "leg": leg, "rate": rate, "cpu_usec_per_response": rate}
                for number in range(5) for leg in "AB"
                for rate in [100 * math.exp(source.gauss(0, 0.01))]]
        seen += [one.outcome for one in control.judge(rows)]
    assert set(seen) <= {HOLDS, UNKNOWN}
    assert seen.count(HOLDS) > 0.97 * len(seen)


@pytest.mark.parametrize("rounds", [4, 6, 12])
def test_interval_covers_the_truth_19_times_in_20(rounds):
    inside = 0
    for seed in range(1000):
        _, low, high = stats.interval(ratios_about(1.3, 0.2, rounds, seed))
        inside += low < 1.3 < high
    assert 0.93 < inside / 1000 < 0.985


@pytest.mark.parametrize("rounds, outside", [(6, 0), (8, 3), (10, 8), (12, 13), (20, 52)])
def test_ranks_are_wilcoxons(rounds, outside):
    """His table's critical sums are 0, 3, 8, 13 and 52: so many means of pairs are left out."""
    assert stats.pairs_outside(rounds) == outside


def test_disturbed_round_counts_as_one():
    quiet = ratios_about(0.8, 0.02, 12)
    middle, low, high = stats.interval([*quiet[:11], 9.0])
    assert 0.75 < low < middle < high < 0.85


def test_busy_machine_decides_nothing_of_a_load_for_all_of_its_cpu():
    sure = [verdict.exact("x", 0.5, "", below=1)]
    assert verdict.unless_busy(sure, [{"foreign_share": 0.02}]) == sure
    (seen,) = verdict.unless_busy(sure, [{"foreign_share": share} for share in (0.1, 0.4, 0.6)])
    assert seen.outcome == UNKNOWN and "took 40 %" in seen.remark and seen.measured == 0.5


@pytest.mark.parametrize("measured, outcome", [(0.98, HOLDS), (0.96, FAILS), (math.nan, UNKNOWN)])
def test_figure_that_does_not_vary(measured, outcome):
    assert verdict.exact("x", measured, "", above=0.97).outcome == outcome


def test_per_round_pairs_within_rounds_and_sizes():
    rows = [{"round": number, "size": size, "leg": leg, "cpu": cpu * number}
            for number in (1, 2) for size, leg, cpu in
            ((1, "a", 10), (1, "b", 20), (2, "a", 10), (2, "b", 80))]
    assert verdict.per_round(rows, {"leg": "a"}, {"leg": "b"}, "cpu",
                             ("size",)) == pytest.approx([0.25, 0.25])
    assert verdict.per_round(rows, {"leg": "a"}, {"leg": "c"}, "cpu") == []


def test_sentence_has_finding_outcome_and_both_figures():
    said = verdict.exact("bytes fall", 0.5, "0.6", below=1, origin=verdict.SOURCE).sentence
    assert said == ("bytes fall: holds. Here 0.500; there 0.6. Bound: below 1.00 (the source's).")

@pytest.mark.parametrize("bounds, text", [
    ({"above": 0.5, "below": 2}, "0.500 to 2.00"), ({"above": 3}, "above 3.00"),
    ({"below": 0.9}, "below 0.900"), ({}, ""),
])
def test_bound_in_words(bounds, text):
    assert verdict.judge("x", [1, 1], "", **bounds).bound == text


def test_origin_of_a_bound():
    assert verdict.judge("x", [1, 1], "", below=2).origin == verdict.OWN
    assert verdict.loosened(verdict.SOURCE, "0.5", "pages differ") == (
        "loosened from the source's 0.5: pages differ")


@pytest.mark.parametrize("value, said", [
    (1234.5, "1234"), (12.34, "12.3"), (0.01234, "0.0123"), (math.nan, "–"), (math.inf, "∞"),
    (0.0, "0"),
])
def test_numbers_have_three_digits(value, said):
    assert verdict.number(value) == said


@pytest.mark.parametrize("found, expected", [
    (stats.geometric_mean([1, 4]), 2), (stats.geometric_mean([1, 0]), math.nan),
    (stats.correlation([1, 2, 3], [10, 20, 90]), 1),
    (stats.correlation([1, 2, 3, 4], [9, 8, 7, 1]), -1),
    (stats.correlation([1, 1, 1], [1, 2, 3]), math.nan)])
def test_statistics(found, expected):
    assert found == pytest.approx(expected, nan_ok=True)
