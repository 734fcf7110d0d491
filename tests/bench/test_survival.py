"""Spikes and what survives them: on servers of the tests' own, from arrivals to verdicts."""

import math

import pytest

import seen
from benchkit import arrivals, stats, survival
from benchkit.experiments import spike
from benchkit.verdict import FAILS, HOLDS, UNKNOWN

BASE, ATTACK, TIMEOUT, HALVINGS = 85, 10, 1.0, 4  # the base is 0.85 of 100 a second


def queue(capacity, timeout=TIMEOUT):
    """The replay of a server that serves one request after another, so many a second.

    `capacity` is a function of how many wait.
    """
    def serve(times):
        free, waits, ends = 0.0, [], []
        for at in times:
            waiting = sum(end > at for end in ends[-500:])
            free = max(free, at) + 1 / capacity(waiting)
            ends.append(free)
            waits.append((at, free - at))
        return seen.of(waits, timeout)
    return serve


def fixed(waiting):
    return 100


def elastic(waiting):
    """Serves twice as many once some wait."""
    return 200 if waiting > 5 else 100


def limits_of(**servers):
    rows = []
    for number in range(4):
        for variant, capacity in servers.items():
            _, limit, end = survival.search(HALVINGS, survival.failed_share_of(
                queue(capacity), BASE, ATTACK, number))
            rows.append({"round": number, "variant": variant, "limit": limit, "end": end})
    return rows


@pytest.mark.parametrize("servers, expected", [
    ({"elastic": elastic, "static": fixed}, [HOLDS, HOLDS, HOLDS]),
    # One that never leaves its ceiling survives no more than the fixed one.
    ({"elastic": fixed, "static": fixed}, [FAILS, HOLDS, FAILS]),
    # A fixed one with CPU to spare, and an elastic one that becomes slower.
    ({"elastic": fixed, "static": lambda _: 300}, [FAILS, FAILS, FAILS]),
])
def test_largest_spike_that_is_survived(servers, expected):
    limits = limits_of(**servers)
    seen = survival.judge(limits, HALVINGS, "elastic", "static", arrivals.ATTACK)
    assert [one.outcome for one in seen] == expected, [one.sentence for one in seen]


def test_limit_is_where_the_queue_becomes_too_long():
    """Ten seconds of more than it serves: the last waits as long as the timeout is."""
    limit = stats.median(row["limit"] for row in limits_of(static=fixed))
    assert limit == pytest.approx((100 + TIMEOUT * 100 / ATTACK) / BASE, rel=0.1)


@pytest.mark.parametrize("largest", [1.0, 1.5, 2.0, 3.5, 8.0])
def test_search_finds_the_limit(largest):
    rows, found, end = survival.search(HALVINGS, lambda height: float(height > largest))
    assert end == ("<" if largest == 1 else "")
    assert found == pytest.approx(largest, rel=survival.resolution(HALVINGS) - 1)
    assert rows[0]["height"] == pytest.approx(arrivals.ATTACK)  # the source's is tried first
    assert len(rows) <= survival.LARGEST + HALVINGS


def test_search_that_ends_at_its_own_limit_says_so():
    rows, found, end = survival.search(HALVINGS, lambda height: 0.0)
    assert len(rows) == survival.LARGEST and found == rows[-1]["height"] and end == ">"
    ratio, static, elastic = survival.judge(
        limits_of(elastic=lambda _: 10000, static=fixed), HALVINGS, "elastic", "static", 1.69)
    assert [one.limit for one in (ratio, static, elastic)] == [">", "", ">"]
    assert elastic.here.startswith("> 8.16 (at least ")
    ratio, static, _ = survival.judge(
        limits_of(elastic=fixed, static=lambda _: 10000), HALVINGS, "elastic", "static", 1.69)
    assert ratio.outcome == UNKNOWN and static.limit == ">"


# Phases of an attack of 3 s after 3 s, with 15 s watched; of the static server, whose capacity is
# of 100 while twice as many are asked for, or which drops what is late.
SPANS = {"before": (0, 3), "attack": (3, 6), "after": (6, 21)}


def rows_of(last_failure, number):
    """The rows of one round, whose static server fails each half second until then."""
    late = [(at / 2, 9.0) for at in range(6, int(2 * last_failure) + 1)]
    fine = [(at / 2 + 0.1, 0.1) for at in range(6, 41)]
    replayed = seen.of(late + fine, 0.3)
    return [{"round": number, "variant": "static", "phase": phase, "seconds": end - start,
             "recovery_s": spike.recovery(replayed, SPANS) if phase == "after" else ""}
            for phase, (start, end) in SPANS.items()]


@pytest.mark.parametrize("last, outcome, measured, remark", [
    (15, HOLDS, 3, ""),  # nine seconds after an attack of three
    (20.5, HOLDS, 5, "not within 15 s"),  # still failing when it was last seen
    (7, FAILS, 1 / 3, ""),  # one that soon serves again
    (6, FAILS, 0.01 / 3, ""),
])
def test_how_long_it_stays_out_of_order(last, outcome, measured, remark):
    seen = spike.judge_recovery([row for number in range(3) for row in rows_of(last, number)])
    assert seen.outcome == outcome and remark in seen.remark
    assert seen.measured == pytest.approx(measured)


def test_recovery_that_is_not_seen_is_without_end():
    assert rows_of(20.5, 1)[-1]["recovery_s"] == math.inf


def test_what_is_watched_ends_for_one_before_the_other():
    curve = arrivals.spike(1, 1, 5)
    assert spike.phases(21, curve) == pytest.approx(SPANS)
    assert spike.phases(21, curve, 10.5)["after"] == pytest.approx((6, 10.5))
