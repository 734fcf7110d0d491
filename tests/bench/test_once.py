"""The cache of encodings: the best that could be done, and verdicts on planted servers."""

import itertools
import random

import pytest

from benchkit import overhead
from benchkit.experiments import once
from benchkit.once import churn, cost, crowd, improve
from benchkit.once.origin import IDENTITY, STOCK
from benchkit.verdict import FAILS, HOLDS, UNKNOWN

ROUNDS = 8


@pytest.mark.parametrize("numbers, room, hits", [
    ([], 2, 0), ([1, 1, 1], 1, 2), ([1, 2, 1, 2], 1, 1), ([1, 2, 1, 2], 2, 2), ([1, 2, 3], 5, 0),
    ([1, 2, 3, 1, 2, 3], 2, 2), ([1, 2, 3, 4, 1, 2, 5, 1, 2, 3, 4, 5], 3, 5), ([1, 1], 0, 0)])
def test_belady(numbers, room, hits):
    assert churn.belady(numbers, room) == hits


def best_of_all(numbers, room):
    """The most that any choice of what is kept finds, by trying them all."""
    reached = {frozenset(): 0}
    for number in numbers:
        following = {}
        for kept, hits in reached.items():
            found = hits + (number in kept)
            with_it = kept | {number}
            for count in range(min(room, len(with_it)) + 1):
                for chosen in map(frozenset, itertools.combinations(with_it, count)):
                    following[chosen] = max(following.get(chosen, 0), found)
        reached = following
    return max(reached.values())


def test_belady_is_the_best_of_all_choices():
    source = random.Random(5)
    for _ in range(40):
        numbers = [source.randrange(5) for _ in range(9)]
        room = source.randrange(1, 4)
        assert churn.belady(numbers, room) == best_of_all(numbers, room), (numbers, room)


def test_requests_come_by_zipfs_law():
    numbers = churn.trace(1000, 50000)
    assert numbers == churn.trace(1000, 50000)
    assert min(numbers) == 1 and max(numbers) <= 1000
    assert 1.6 < numbers.count(1) / numbers.count(2) < 2.2


def cost_rows(net=0.02, rate=1.0, unique=1.01, first=1.05, noise=0.0):
    """Servers of which the cached take `net` of mod_deflate's CPU beyond identity's 200 µs."""
    source = random.Random(2)
    servers = {IDENTITY: (200, 1), STOCK: (200 + 3700, 0.1), "gzip": (200 + 1700, 0.2),
               "gzip, cache": (200 + 3700 * net, rate),
               "all codings, cache": (200 + 3700 * net, rate)}
    rows = []
    for number in range(1, ROUNDS + 1):
        for name, (usec, of_rate) in servers.items():
            figures = {cost.ONE: usec, cost.HUNDRED: usec}
            if name == cost.WITHOUT:
                figures |= {cost.UNIQUE: usec, cost.NEW_PATH: usec}
            if name == cost.WITH:
                figures |= {cost.UNIQUE: 1900 * unique, cost.NEW_PATH: 1900 * first}
            for pages, figure in figures.items():
                shaken = 1 + noise * (2 * source.random() - 1)
                rows.append({"server": name, "pages": pages, "round": number, "sent_bytes": 30000,
                             "rate": 1000 * of_rate * shaken, "memory_peak_kb": 1,
                             "cpu_usec_per_response": figure * shaken})
    return overhead.steady(rows, ("server", "pages"))


@pytest.mark.parametrize("rows, expected", [
    (cost_rows(), [HOLDS] * 10),
    (cost_rows(net=0.035), [FAILS, HOLDS] * 2 + [HOLDS] * 6),
    (cost_rows(net=0.2, rate=0.5, unique=1.2, first=1.3), [FAILS] * 10),
    (cost_rows(unique=1.05), [HOLDS] * 8 + [FAILS, HOLDS]),
    (cost_rows(noise=0.9), [UNKNOWN] * 10)])
def test_verdicts_on_what_a_response_costs(rows, expected):
    assert [one.outcome for one in cost.judge(rows)] == expected


def test_headline_is_that_of_one_page():
    one = once.HEADLINE.verdict(cost.judge(cost_rows()))
    assert cost.ONE in one.finding and "0.03" in one.reported


def test_the_summary_has_what_is_beyond_identity():
    found = {(row["server"], row["pages"]): row["net_usec"] for row in cost.summarize(cost_rows())}
    assert found[STOCK, cost.ONE] == pytest.approx(3700, abs=40)
    assert found[IDENTITY, cost.HUNDRED] == 0 and found[cost.WITH, cost.UNIQUE] == ""


def crowd_rows(encoded, p95):
    return [{"server": name, "round": number, "encoded": count, "p95_ms": wait}
            for number in range(1, 6)
            for name, count, wait in ((crowd.WITH, encoded, p95), (crowd.WITHOUT, 256, 400))]


@pytest.mark.parametrize("rows, expected", [
    (crowd_rows(4, 30), [HOLDS, HOLDS]), (crowd_rows(5, 30), [FAILS, HOLDS]),
    (crowd_rows(1, 500), [HOLDS, FAILS])])
def test_verdicts_on_a_crowd(rows, expected):
    assert [one.outcome for one in crowd.judge(rows)] == expected


def churn_row(failed=0, peak=20000):
    return {"requests": 1000, "bodies": 100, "failed": failed, "memory_peak_kb": peak,
            "base_kb": 10000, "store_bytes": 16 << 20}


@pytest.mark.parametrize("row, expected", [
    (churn_row(), [HOLDS, HOLDS]), (churn_row(failed=1), [FAILS, HOLDS]),
    (churn_row(peak=50000), [HOLDS, FAILS])])
def test_verdicts_on_more_bodies_than_fit(row, expected):
    assert [one.outcome for one in churn.judge(row)] == expected


@pytest.mark.parametrize("share, expected", [(1.0, HOLDS), (1.5, FAILS)])
def test_the_latency_while_pages_are_improved(share, expected):
    rows = [{"idle": name, "round": number, "p95_ms": 2.0 * (share if name == improve.WITH else 1)}
            for number in range(ROUNDS) for name in (improve.WITH, improve.WITHOUT)]
    assert [one.outcome for one in improve.judge_beside(rows)] == [expected]


def improve_rows(gzip, others):
    return [{"clients": "gzip", "to_stock": gzip}, {"clients": "all codings", "to_stock": others}]


@pytest.mark.parametrize("rows, expected", [
    (improve_rows(0.965, 0.86), [HOLDS, HOLDS]), (improve_rows(0.97, 0.85), [FAILS, HOLDS]),
    (improve_rows(0.96, 0.9), [HOLDS, FAILS])])
def test_verdicts_on_idle_time(rows, expected):
    assert [one.outcome for one in improve.judge(rows)] == expected
