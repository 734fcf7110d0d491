"""Arrivals, the curves they follow, and what becomes of them."""

import contextlib
import gzip
import math
import pathlib
import types

import pytest

import seen
from benchkit import arrivals, clients, days, site
from benchkit.codecs import WrongBody
from benchkit.experiments import day, spike
from benchkit.tools import BenchError


def test_curve_between_and_beyond_its_points():
    curve = ((0.25, 1), (0.75, 3))
    assert [arrivals.value(curve, share) for share in (0, 0.25, 0.5, 0.75, 1)] == [1, 1, 2, 3, 3]
    assert arrivals.mean(curve, 0, 1) == pytest.approx(2)
    assert arrivals.mean(curve, 0.5, 0.75) == pytest.approx(2.5)


@pytest.mark.parametrize("height, expected", [(0.5, (0, 0.6875)), (1, (0.25, 0.625)),
                                              (1.5, (0.375, 0.5625))])
def test_span_about_the_peak(height, expected):
    curve = ((0, 0.6), (0.25, 1), (0.5, 2), (0.75, 0), (0.8, 0), (0.9, 1.9), (1, 1.9))
    assert arrivals.above(curve, height) == pytest.approx(expected)
    mirrored = tuple((1 - at, demand) for at, demand in reversed(curve))
    assert arrivals.above(mirrored, height) == pytest.approx((1 - expected[1], 1 - expected[0]))


@pytest.mark.parametrize("share, demand", [(0.24, 1), (0.25, arrivals.ATTACK),
                                           (0.49, arrivals.ATTACK), (0.51, 1)])
def test_curve_with_a_step(share, demand):
    assert arrivals.value(arrivals.spike(1, 1, 2), share) == demand


def test_arrivals_follow_the_curve_and_are_the_same_each_time():
    times, again, others = (arrivals.poisson(arrivals.spike(1, 1, 1), 100, 30, seed=seed)
                            for seed in (1, 1, 2))
    assert times == sorted(times) == again != others
    for start, expected in ((0, 1000), (10, 1690), (20, 1000)):
        # Within five standard deviations of Poisson's counts.
        count = sum(start <= at < start + 10 for at in times)
        assert abs(count - expected) < 5 * math.sqrt(expected)


def test_day_is_least_at_five_and_most_at_twenty():
    assert [of(arrivals.DAY, key=lambda point: point[1])[0] * 24 for of in (min, max)] == [5, 20]


def line(hour, minute=0, day=21, zone="+0000"):
    return (f'1.2.3.4 - - [{day:02}/Nov/2026:{hour:02}:{minute:02}:00 {zone}] "GET / HTTP/1.1" 200 '
            '5\n')


def test_log_times_heed_the_zone():
    one, other = arrivals.log_seconds(line(10) + "no request\n" + line(12, zone="+0200"))
    assert one == other == 1795255200
    assert arrivals.log_seconds(line(9, 30, zone="-0030")) == [1795255200]


def test_curve_of_a_log(tmp_path):
    log = tmp_path / "access.log"
    log.write_text("".join(line(hour, minute) for hour in range(24) for half in (0, 30)
                           for minute in range(half, half + 1 + hour)))
    curve = arrivals.from_log(log)
    assert arrivals.value(curve, 0.98) > 0.9 and arrivals.value(curve, 0.02) < 0.2
    assert max(height for _, height in curve) == 1


def test_busiest_hour_of_a_log(tmp_path):
    log = tmp_path / "access.log"
    log.write_text("".join(line(hour) for hour in range(24)) + line(14, 30) * 50)
    curve = arrivals.from_log(log, hours=1)
    assert max(curve, key=lambda point: point[1])[0] == pytest.approx(0.5, abs=0.05)


@pytest.mark.parametrize("text", ["", "nothing\n", line(1)])
def test_log_without_a_curve(tmp_path, text):
    log = tmp_path / "access.log"
    log.write_text(text)
    with pytest.raises(BenchError, match="common log format"):
        arrivals.from_log(log)


@pytest.mark.parametrize("cpu, all_cpu, share", [
    ([(0.0, 1.0), (10.0, 5.0)], 7.0, 0.3), ([(0.0, 1.0), (10.0, 5.0)], 3.9, 0),
    ([(0.0, 1.0)], 7.0, 0)])
def test_foreign_share_of_the_servers_cpu(cpu, all_cpu, share):
    assert clients.foreign_share(cpu, all_cpu) == share


REPLAYED = seen.of([(1, 0.1), (2, 0.2), (3, 9.0), (4, math.inf), (5, math.inf)],
                   cpu=[(0.0, 0.0), (2.0, 1.0), (4.0, 3.0)])


SPANS = {"attack": (0.5, 2.5), "after": (2.5, 10)}


@pytest.mark.parametrize("figure, expected", [
    # Late and refused ones have failed.
    (REPLAYED.failed_share(0, 10), 3 / 5), (REPLAYED.failed_share(0, 2.5), 0),
    (REPLAYED.failed_share(20, 30), math.nan),
    # Who has no answer has waited, too.
    (REPLAYED.percentile_ms(40, 0, 10), 200), (REPLAYED.percentile_ms(50, 0, 10), 1000),
    (REPLAYED.cpu_share(0, 2), 0.5), (REPLAYED.cpu_share(1, 3), 0.75),
    # The last failure after the attack.
    (spike.recovery(REPLAYED, SPANS), 2.5),
    (spike.recovery(seen.of([(3, 0.1)]), SPANS), 0),
])
def test_figures_of_a_replay(figure, expected):
    assert figure == pytest.approx(expected, nan_ok=True)


def test_site_log_marks_elapsed_from_cpu_time():
    text = ("1700000000123 6 ~2500 30000 /page.php\n1700000000200 1 900 40000 /page.php\n"
            "1700000000300 - - 120 /page.php\n1700000000400 1 9")
    assert site.parse_log(text) == [
        site.Logged(1700000000.123, 6, 2500, True, 30000, "/page.php"),
        site.Logged(1700000000.2, 1, 900, False, 40000, "/page.php")]


def test_intervals_scale_down_to_the_least():
    assert [spike.interval_of(seconds) for seconds in (300, 5)] == [0.5, 0.1]
    assert [days.interval_of(seconds, day.INTERVALS) for seconds in (1440, 24)] == [0.5, 0.1]


def test_access_log_shapes_the_spike(tmp_path):
    log = tmp_path / "access.log"
    log.write_text("".join(line(hour) for hour in range(24)))
    options = types.SimpleNamespace(access_log=log)
    curve = spike.curve_of(types.SimpleNamespace(options=options))
    assert len(curve) == arrivals.BINS + 2
    assert max(demand for _, demand in curve) == arrivals.ATTACK


@pytest.mark.parametrize("counts, text", [([345.2], "345"), ([345.2, 267.4, 300], "267 to 345"),
                                          ([99.6, 100.4], "100")])
def test_counts_of_several_rounds(counts, text):
    assert site.several(counts) == text


def test_attack_is_where_demand_is_above_the_normal_load():
    assert spike.phases(14, arrivals.spike(1, 1, 1.5)) == pytest.approx(
        {"before": (0, 4), "attack": (4, 8), "after": (8, 14)})
    rising = ((0, 0.2), (0.5, 1.69), (0.5, 0.9), (0.9, 1.2), (1, 1.2))
    start, end = spike.phases(7, rising)["attack"]
    assert 0 < start < 3.5 and end == 3.5
    assert list(spike.phases(7, ((0, 1.2), (1, 1.69)))) == ["attack"]


class Measured(site.Site):
    """A site whose server is saturated by 200 pages a second, and takes 8 ms for one alone."""

    def __init__(self):
        self.asked = None

    def capacity(self, httpd, seconds, headers=site.HEADERS):
        return 200

    def replay(self, httpd, times, timeout, headers=site.HEADERS):
        self.asked = times
        return seen.of([(at, 0.01) for at in times], timeout,
                       cpu=[(0, 3.0), (9, 3.0 + 0.008 * len(times))])


class Answers:
    """A server whose responses are as given, by what is accepted."""

    folder = pathlib.Path("httpd-7")

    def __init__(self, status, coding, body):
        self.encoded = status, {"Content-Encoding": coding} if coding else {}, body

    def get(self, path, headers=None):
        assert path == "/page.php?seed=1"
        return self.encoded if headers == site.HEADERS else (200, {}, b"a page")


ENCODED = gzip.compress(b"a page", mtime=0)


@pytest.mark.parametrize("answer, coding, problem", [
    ((200, "gzip", ENCODED), "gzip", None),
    ((200, "gzip", gzip.compress(b"a pag", mtime=0)), "gzip", "httpd-7: .* does not decode"),
    ((200, "gzip", ENCODED[:-1]), "gzip", "cut short"),
    ((200, "gzip", b"a page"), "gzip", "the gzip body is damaged"),
    ((200, "", b"a page"), "gzip", "Content-Encoding '' instead of 'gzip'"),
    ((200, "", b"a page"), None, None),
    ((503, "gzip", ENCODED), None, "gave 503")],
    ids=["whole", "other", "cut", "damaged", "not encoded", "any coding", "failed"])
def test_a_page_in_gzip_is_the_one_without_a_coding(answer, coding, problem):
    one = site.Site(None, None, "/page.php")
    with pytest.raises(WrongBody, match=problem) if problem else contextlib.nullcontext():
        one.check(Answers(*answer), site.HEADERS, coding)


def test_a_server_at_work_has_cpu_for_less_than_saturates_it():
    one = Measured()
    assert one.working_capacity(None, 4) == pytest.approx(125)
    assert len(one.asked) == pytest.approx(site.WORKING * 200 * 2, rel=0.25)
