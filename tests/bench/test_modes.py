"""The experiment `modes`: its traces and figures, and verdicts on what holds, fails, or is noise."""

import math

import pytest

from benchkit import controller, days, handler, replay
from benchkit.modes import controller_overhead, day, goals, spikes, steady_state
from benchkit.site import Logged
from benchkit.verdict import FAILS, HOLDS, UNKNOWN, every_round

LEVELS = 9


def outcomes(verdicts):
    return [one.outcome for one in verdicts]


TRACE = """2026-11-21 16:29:07.121201 elastic: load 0.283, position 8.000 of 8
2026-11-21 16:29:07.221939 elastic: load 0.986, position 0.000 of 8
2026-11-21 16:29:07.322 AH00094: Command line: 'apache2'
2026-11-21 16:29:07.422309 elastic: load 1.000, position 2.085 of 8
"""


def test_trace():
    found = controller.parse_trace(TRACE)
    assert [(one.load, one.position, one.top) for one in found] == [
        (0.283, 8, 8), (0.986, 0, 8), (1.0, 2.085, 8)]
    assert found[1].at - found[0].at == pytest.approx(0.100738)


def updates(*loads, step=0.1, positions=None):
    return [controller.Update(number * step, load, position, 8) for number, (load, position) in
            enumerate(zip(loads, positions or [4] * len(loads)))]


def test_longest_time_above():
    assert controller.longest_above(updates(0.9, 0.5, 0.81, 0.85, 0.99, 0.8), 0.8) == 3
    assert controller.longest_above([], 0.8) == 0


def test_interval_of_a_day():
    assert [days.interval_of(seconds, day.PER_HOUR) for seconds in (0.3, 12, 96, 240, 1440)] == [
        0.1, 0.1, 0.2, 0.5, 0.5]


def test_reaction_to_a_spike():
    seen = updates(0.2, 0.3, 0.9, 1.0, 0.7, 0.2, 0.2, positions=(8, 8, 4, 0, 0, 3, 7.5))
    found = spikes.reaction(seen, 0.15, 0.45)
    assert found == {"former": 1.0, "floor_intervals": 1.5, "relief_intervals": 1.5, "back_s": 0.15}
    # Where the load asks for less than the floor, it ends where it is met.
    met = spikes.reaction(updates(0.2, 0.9, 0.7, 0.7, positions=(8, 7, 7, 7)), 0.05, 0.35)
    assert met["floor_intervals"] == math.inf and met["relief_intervals"] == 1.5
    assert met["back_s"] == math.inf
    assert spikes.reaction([], 0, 1)["former"] == ""


def spike_rows(former, floor, relief, failed, p99, stock_p99, back, sent=1.0, watched=12):
    rows = [{"load": "x", "server": "mod_deflate", "round": 1, "sent_share": sent, "failed": 9,
             "bypassed_share": "",
             "former": "", "floor_intervals": "", "relief_intervals": "", "back_s": "",
             "watched_s": 12, "p99_ms": stock_p99, "p99_settled_ms": stock_p99}]
    rows += [{"load": "x", "server": mode, "round": 1, "sent_share": sent, "failed": failed,
              "former": former, "floor_intervals": floor, "relief_intervals": relief,
              "back_s": back, "watched_s": watched, "p99_ms": p99, "p99_settled_ms": p99}
             for mode in spikes.MODES]
    return rows


GOOD_SPIKE = (1.0, 1.9, 8.5, 0, 40, 3000, 0.7)


def test_spike():
    assert outcomes(spikes.judge(spike_rows(*GOOD_SPIKE), LEVELS)) == [HOLDS] * 6
    bad = spike_rows(0.5, 2.5, math.inf, 1, 400, 3000, math.inf)
    assert outcomes(spikes.judge(bad, LEVELS)) == [FAILS] * 6
    # One bad round is enough.
    assert outcomes(spikes.judge(spike_rows(*GOOD_SPIKE) + bad, LEVELS)) == [FAILS] * 6


def test_spike_that_was_not_sent_is_void():
    void = spikes.judge(spike_rows(*GOOD_SPIKE, sent=0.98), LEVELS)
    assert outcomes(void) == [UNKNOWN] * 6


def test_spike_that_mod_deflate_bears_tells_nothing():
    seen = spikes.judge(spike_rows(*GOOD_SPIKE[:5], 500, 0.7), LEVELS)
    assert outcomes(seen) == [HOLDS, UNKNOWN, HOLDS, HOLDS, UNKNOWN, HOLDS]
    assert "too small" in seen[1].remark and "too small" in seen[4].remark


def test_return_that_was_not_watched_for_long_enough():
    seen = spikes.judge(spike_rows(*GOOD_SPIKE[:6], math.inf, watched=3.6), LEVELS)
    assert outcomes(seen) == [HOLDS] * 5 + [UNKNOWN] and "ended 3.6 s after" in seen[5].remark


def day_rows(sent, running, cpu, failed, rounds=(1, 1)):
    rows = []
    for number, noise in enumerate(rounds):
        rows.append({"variant": day.STATIC, "round": number, "sent_share": 1,
                     "bytes_per_response": 1000,
                     "above_running": "", "cpu_share_peak": 0.75, "failed": 0})
        rows += [{"variant": name, "round": number, "sent_share": 1,
                  "bytes_per_response": 1000 * sent * noise,
                  "above_running": running, "cpu_share_peak": 0.75 * cpu * noise,
                  "failed": failed}
                 for name in day.WANTED]
    return rows


def test_day():
    assert outcomes(day.judge(day_rows(0.8, 2, 0.9, 0), 240)) == [HOLDS] * 8
    assert outcomes(day.judge(day_rows(0.9, 3, 1.1, 2), 240)) == [FAILS] * 8
    noisy = outcomes(day.judge(day_rows(0.8, 2, 0.95, 0, rounds=(1, 1.3)), 240))
    assert noisy[0] == noisy[2] == UNKNOWN


def test_day_without_a_peak_tells_nothing_of_it():
    idle = [{**row, "cpu_share_peak": 0.6 * row["cpu_share_peak"]}
            for row in day_rows(0.8, 2, 2, 0)]
    seen = day.judge(idle, 240)
    assert outcomes(seen) == [HOLDS, HOLDS, UNKNOWN, HOLDS] * 2 and "no peak" in seen[2].remark
    assert 0.64 < day.PEAK_SEEN < 0.66  # demand in those hours is 0.96 of that at their peak


def test_day_that_was_not_sent_is_void():
    void = [{**row, "sent_share": 0.98} for row in day_rows(0.8, 2, 0.9, 0)]
    assert outcomes(day.judge(void, 240)) == [UNKNOWN] * 8
    assert "in time" in day.judge(void, 240)[0].remark


def test_short_day_is_measured_and_not_judged():
    seen = day.judge(day_rows(0.8, 2, 0.9, 0), 48)
    assert outcomes(seen) == [UNKNOWN, UNKNOWN, UNKNOWN, HOLDS] * 2
    assert seen[0].measured == 0.8 and "a day of 48 s is too short" in seen[0].remark


def test_loads_at_which_a_mode_should_rest():
    found = {1: 1000, 2: 900, 3: 300, 4: 250, 5: 200}
    assert steady_state.leap(found) == (3, 2)
    wanted = steady_state.loads(found)
    assert wanted[steady_state.FITS] == (pytest.approx(126), (50, 80))
    rate, (low, high) = wanted[steady_state.BETWEEN]
    # Level 2 is below the band, level 3 above it.
    assert 100 * rate / 900 < low < 63 < high < 100 * rate / 300
    assert high / low == pytest.approx(3 ** 0.5)


def test_levels_too_near_and_too_far_apart_have_thresholds_that_httpd_takes():
    for found in ({4: 100, 5: 100}, {4: 1000, 5: 10}):
        _, (low, high) = steady_state.loads(found)[steady_state.BETWEEN]
        assert 0 < round(low) < round(high) < 100


def test_figures_of_a_steady_load():
    found = steady_state.figures(updates(0.6, 0.7, 0.6, 0.7, positions=(4, 5, 5, 4), step=0.5))
    assert found == {"counted_s": 2, "changes": 2, "load_mean": 0.65, "load_deviation": 0.05,
                     "position_mean": 4.5, "position_variance": 0.25}
    assert steady_state.figures([])["position_variance"] == ""


def steady_rows(changes, mix, step=1.0, number=1, seconds=60, noise=0.02):
    return [{"load": load, "mode": mode, "round": number, "changes": changes,
             "counted_s": seconds, "load_deviation": noise,
             "position_variance": {"mix": mix, "step": step}.get(mode, 0)}
            for load in (steady_state.FITS, steady_state.BETWEEN) for mode in steady_state.MODES]


def test_steady_state():
    assert outcomes(steady_state.judge(steady_rows(2, 0.1))) == [HOLDS] * 2
    assert outcomes(steady_state.judge(steady_rows(3, 1.5))) == [FAILS] * 2
    # The changes of all rounds count, and the variance of each.
    mixed = steady_rows(1, 0.1) + steady_rows(3, 2, number=2)
    assert outcomes(steady_state.judge(mixed)) == [HOLDS, UNKNOWN]
    assert outcomes(steady_state.judge([])) == [UNKNOWN] * 2


def test_steady_load_that_was_none_tells_nothing():
    still, short, noisy = (steady_state.judge(steady_rows(1, 0.1, **more)) for more in (
        {"step": 0}, {"seconds": 49}, {"noise": 0.06}))
    assert outcomes(still) == [HOLDS, UNKNOWN] and "did not move" in still[1].remark
    assert outcomes(short) == [UNKNOWN, HOLDS] and "too short" in short[0].remark
    assert outcomes(noisy) == [UNKNOWN, HOLDS] and "of 6.0 points" in noisy[0].remark


def goal_rows(latency, cost, responses=500):
    return [{"setting": "gzip 1", "responses": 50}] + [
        {"setting": name, "responses": responses, "to_goal": value}
        for name, values in (("latency", latency), ("cost", cost)) for value in values]


def test_goals():
    assert outcomes(goals.judge(goal_rows((0.95, 1.05), (1.0, 1.05)))) == [HOLDS] * 2
    assert outcomes(goals.judge(goal_rows((0.8, 1.2), (1.2, 1.3)))) == [FAILS] * 2
    assert outcomes(goals.judge(goal_rows((0.8, 1.0), (1.0, 1.3)))) == [UNKNOWN] * 2
    few = goals.judge(goal_rows((1,), (1,), responses=499))
    assert outcomes(few) == [UNKNOWN, HOLDS] and "499 responses" in few[0].remark
    assert outcomes(goals.judge(goal_rows((), ()))) == [UNKNOWN] * 2


def figures(usec, ratio, p95=1.0):
    return goals.Figures(100, p95, usec, ratio, 5)


PINNED = {1: figures(5, 0.30, 1.0), 5: figures(20, 0.26, 4.0), 9: figures(80, 0.255, 16.0)}


def test_price_of_a_gigabyte():
    # 20 µs a KB are 19.5 s of CPU for 10^9 bytes.
    assert figures(20, 0.5).price(3600, 0) == pytest.approx(19.53, abs=0.01)
    assert figures(20, 0.5).price(0, 0.09) == pytest.approx(0.045)


def test_goals_that_are_tried_lie_between_the_levels():
    assert goals.time_wanted(PINNED) == pytest.approx(4.0)
    hour = goals.dear_hour(PINNED)
    assert goals.cheapest(PINNED, hour, goals.PRICE_GB) == 5
    assert goals.cheapest(PINNED, 0, goals.PRICE_GB) == 9
    assert goals.cheapest(PINNED, 1, 0) == 1


def test_figures_of_a_log():
    logged = [Logged(1.0, 9, 9000, True, 100, "/"), Logged(2.0, 4, 1000, True, 100, "/"),
              Logged(2.5, 6, 700, False, 100, "/"), Logged(3.0, 0, 0, False, 100, "/")]
    before = {"ElasticCpuUsec": 100, "ElasticBytesIn": 0, "ElasticBytesOut": 0}
    after = {"ElasticCpuUsec": 300, "ElasticBytesIn": 10240, "ElasticBytesOut": 2560}
    found = goals.figures_of(logged, before, after, 1.5)
    assert found == goals.Figures(1, 1.0, 20, 0.25, 5)


def judged_idle(predict, off, nothing):
    rows = [{"mpm": "event", "children": 4, "server": name, "round": number, "core_share": share}
            for number, shares in enumerate(zip(predict, off, nothing))
            for name, share in zip(("predict", "off", "no module"), shares)]
    return outcomes(controller_overhead.judge(rows))


def test_controller_overhead():
    assert judged_idle((9e-4, 8e-4), (5e-4, 5e-4), (0, 0)) == [HOLDS] * 2
    assert judged_idle((5e-3, 4e-3), (5e-4, 5e-4), (0, 0)) == [FAILS] * 2
    assert judged_idle((5e-3, 5e-4), (0, 0), (0, 0)) == [UNKNOWN] * 2


def test_verdict_of_every_round():
    seen = every_round("x", [0.8, 1.2, 0.9], "", below=1)
    assert seen.outcome == UNKNOWN and "in 2 of 3 rounds" in seen.remark
    assert every_round("x", [0.9], "", below=1).outcome == HOLDS
    assert every_round("x", [1.0], "", below=1).outcome == FAILS
    assert every_round("x", [], "").outcome == UNKNOWN
    assert every_round("x", [0.5, math.nan], "").outcome == UNKNOWN


def test_h2load_is_told_to_be_early():
    told = replay.timers([0.0, 1.0, 1.0001, 2.0], 0.5, 0.001)
    assert told[0] == 0.5 and told[3] == pytest.approx(2.5 - 3 * 0.001)
    assert told == sorted(told)
    assert replay.timers([0.0], -0.5, 0.001) == [0.0]


def test_timers_lag_is_learned():
    times = [number / 10 for number in range(100)]
    # Each request goes out 0.1 ms later than the one before.
    seen = [replay.Response(0.03 + at + 0.001 * at, 0.1, 200) for at in times]
    drift = replay.drift_of(times, seen, [])
    assert drift == pytest.approx(1e-4)
    assert replay.drift_of(times[:49], seen[:49], []) is None
    assert replay.lag_of(6e-4, [drift, drift, 1.0]) == pytest.approx(7e-4)
    assert replay.lag_of(6e-4, []) == 6e-4
    assert replay.lag_of(6e-4, [9]) == replay.LAG_MOST


def test_late_requests_are_known():
    def responses(*starts):
        return [replay.Response(at, 0.1, 200) for at in starts]

    assert replay.sent_late([1, 2, 3], responses(1.01, 2.2, 3.0), [], 0.1) == [2]
    assert replay.sent_late([1, 2, 3], responses(1.01, 2.2, 3.0), [], 0.3) == []
    # What has no response tells nothing.
    assert replay.sent_late([1, 2, 3], responses(1.01, 3.01), [2], 0.1) == []
    seen = replay.Replayed(0.0, responses(1, 2), [3.0], [], 1.0, [2])
    assert seen.sent_share([1, 2, 3, 4]) == 0.75
    assert seen.failures(0, 9) == 1 and seen.failures(0, 2.5) == 0


@pytest.mark.parametrize("size, least, wanted", [(20000, 1, "(1, #pieces)"),
                                                 (20000, 20000, "(3, #pieces)")])
def test_pages_of_a_handler(tmp_path, size, least, wanted):
    script = handler.write(tmp_path, b"x" * size, least)
    assert f"LuaMapHandler ^/page$ {script} handle" in handler.snippet("/page", script)
    assert wanted in script.read_text()
    assert [path.stat().st_size for path in tmp_path.glob("*.body")] == [size]
