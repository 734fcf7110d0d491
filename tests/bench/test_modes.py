"""The experiment `modes`: its traces and figures; verdicts on what holds, fails, or is noise."""

import dataclasses
import math
import types

import pytest

from benchkit import controller, days, handler
from benchkit.modes import controller_overhead, day, spikes, steady_state
from benchkit.verdict import FAILS, HOLDS, UNKNOWN, every_round

LEVELS = 9


def outcomes(verdicts):
    return [one.outcome for one in verdicts]


TRACE = """2026-11-21 16:29:07.121201 elastic: load 0.283, position 8.000 of 8
2026-11-21 16:29:07.221939 elastic: load 0.986, position 0.000 of 8
2026-11-21 16:29:07.322 AH00094: Command line: 'apache2'
2026-11-21 16:29:07.422309 elastic: load 1.000, position 2.085 of 8
"""


def test_trace_has_load_position_and_time():
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


@pytest.mark.parametrize("seconds, interval", [(0.3, 0.1), (12, 0.1), (96, 0.2), (240, 0.5),
                                               (1440, 0.5)])
def test_interval_of_a_day(seconds, interval):
    assert days.interval_of(seconds, day.PER_HOUR) == interval


def test_reaction_to_a_spike():
    seen = updates(0.2, 0.3, 0.9, 1.0, 0.7, 0.2, 0.2, positions=(8, 8, 4, 0, 0, 3, 7.5))
    seen += [controller.Update(0.7 + number / 10, 0.3, 8, 8) for number in range(31)]
    found = spikes.reaction(seen, 0.15, 0.45)
    assert found == {"former": 1.0, "floor_intervals": 1.5, "relief_intervals": 1.5, "back_s": 0.15}
    # Where the load asks for less than the floor, it ends where it is met.
    met = spikes.reaction(updates(0.2, 0.9, 0.7, 0.7, 0.8, positions=(8, 7, 7, 7, 7)), 0.05, 0.45)
    assert met["floor_intervals"] == math.inf and met["relief_intervals"] == 1.5
    assert met["back_s"] == math.inf
    assert spikes.reaction([], 0, 1)["former"] == ""


def test_mode_that_took_no_sample_decides_nothing_of_where_it_was():
    rows = [{**row, **(spikes.reaction([], 0, 1) if row["server"] == "mix" else {})}
            for row in spike_rows()]
    assert outcomes(spikes.judge(rows, LEVELS)) == [UNKNOWN, HOLDS, HOLDS, UNKNOWN]


ONSET, END = 1.0, 3.0


def row_of_a_mode(*positions, load=0.9):
    """The row of a mode whose samples of a tenth of a second, from the attack on, are such."""
    before = [controller.Update(number / 10, 0.2, 8, 8) for number in range(10)]
    seen = before + [controller.Update(ONSET + number / 10, load(number) if callable(load) else
                                       load, position, 8)
                     for number, position in enumerate(positions)]
    return {"load": "x", "server": "step", "round": 1, "sent_share": 1, "failed": 0,
            "watched_s": 20,
            **spikes.reaction(seen, ONSET, END)}


DOWN = (7, 6, 5, 4, 3, 2, 1, *[0] * 13)  # two seconds of the attack


@pytest.mark.parametrize("after, outcome", [
    ((2, 4, 6, *[8] * 40), HOLDS),
    # One that comes back for a moment again and again, and one that never stays.
    ((8, 8, 0, 0) * 40, FAILS), ((*[8] * 29, *[0] * 200), FAILS),
    ((*[0] * 150, *[8] * 40), FAILS),  # one that comes back too late
])
def test_a_mode_is_back_where_it_stays(after, outcome):
    seen = spikes.judge([row_of_a_mode(*DOWN, *after)], LEVELS)
    assert seen[-1].outcome == outcome, seen[-1].sentence


@pytest.mark.parametrize("load, outcome", [
    (lambda number: 1.0 if number < 4 else 0.7, HOLDS),
    # One that stays above the threshold, but for a sample now and then.
    (lambda number: 0.7 if number % 4 == 3 else 1.0, FAILS),
])
def test_step_has_met_the_load_where_it_stays_below_the_threshold(load, outcome):
    seen = spikes.judge([row_of_a_mode(*[6] * 20, load=load)], LEVELS)
    assert seen[1].outcome == outcome, seen[1].sentence


def test_spike_at_another_interval():
    """Two intervals of half a second are not ten."""
    seen = [controller.Update(number / 2, 0.2 if number < 2 else 1, 8 if number < 4 else 0, 8)
            for number in range(8)]
    assert spikes.reaction(seen, 1.0, 4.0, 0.5)["floor_intervals"] == 2
    one = spikes.Workload("x", None, 1.69, {}, "", interval=0.5)
    served, checked = [], []
    one = dataclasses.replace(one, site=types.SimpleNamespace(
        serve=lambda settings, snippet, coding: served.append((settings, coding)) or "httpd",
        check=lambda *seen: checked.append(seen)))
    assert one.serve("mix") == "httpd"
    assert "ElasticInterval 500ms" in served[0][0] and served[0][1] == "gzip"
    assert checked == [("httpd", {})], "with the workload's own header fields"
    dataclasses.replace(one, bypass="ElasticBypass 95\n").serve("mix")
    assert served[1][1] is None, "what is bypassed is not encoded"


def spike_rows(former=1.0, relief=8.5, failed=0, back=0.7, sent=1.0, watched=13):
    """Rows that hold, but for what is given."""
    rows = [{"load": "x", "server": "mod_deflate", "round": 1, "sent_share": sent, "failed": 9,
             "bypassed_share": "", **dict.fromkeys(
                 ("former", "floor_intervals", "relief_intervals", "back_s"), ""),
             "watched_s": 12}]
    rows += [{"load": "x", "server": mode, "round": 1, "sent_share": sent, "failed": failed,
              "former": former, "relief_intervals": relief, "back_s": back, "watched_s": watched}
             for mode in spikes.MODES]
    return rows


BAD_SPIKE = spike_rows(0.5, math.inf, 1, math.inf)


@pytest.mark.parametrize("rows, expected, remarks", [
    (spike_rows(), [HOLDS] * 4, {}),
    (BAD_SPIKE, [FAILS] * 4, {}),
    (spike_rows() + BAD_SPIKE, [FAILS] * 4, {}),  # one bad round is enough
    (spike_rows(sent=0.98), [UNKNOWN] * 4, {}),  # it was not sent, and is void
    (spike_rows(back=math.inf, watched=3.6), [HOLDS] * 3 + [UNKNOWN], {3: "ended 3.6 s after"}),
], ids=["good", "bad", "both", "not sent", "watched too short"])
def test_spike(rows, expected, remarks):
    seen = spikes.judge(rows, LEVELS)
    assert outcomes(seen) == expected
    assert all(remark in seen[place].remark for place, remark in remarks.items())


def day_rows(sent=0.8, running=2, cpu=0.9, failed=0, rounds=(1, 1), **changes):
    rows = []
    for number, noise in enumerate(rounds):
        common = {"round": number, "sent_share": 1}
        rows.append({**common, "variant": day.STATIC, "bytes_per_response": 1000,
                     "above_running": "", "cpu_share_peak": 0.75, "failed": 0})
        rows += [{**common, "variant": name, "bytes_per_response": 1000 * sent * noise,
                  "above_running": running, "cpu_share_peak": 0.75 * cpu * noise, "failed": failed}
                 for name in day.WANTED]
    return [{**row, **changes} for row in rows]


@pytest.mark.parametrize("rows, seconds, expected, remark", [
    (day_rows(), 240, [HOLDS] * 4, ""),
    (day_rows(0.9, 3, 1.1, 2), 240, [FAILS] * 4, ""),
    (day_rows(cpu=0.95, rounds=(1, 1.3)), 240, [UNKNOWN, HOLDS, UNKNOWN, HOLDS], "in 1 of 2"),
    (day_rows(cpu_share_peak=0.45), 240, [HOLDS, HOLDS, UNKNOWN, HOLDS], "no peak"),
    (day_rows(sent_share=0.98), 240, [UNKNOWN] * 4, "in time"),
    (day_rows(), 48, [UNKNOWN, UNKNOWN, UNKNOWN, HOLDS], "a day of 48 s is too short"),
], ids=["good", "bad", "noisy", "without a peak", "not sent", "short"])
def test_day(rows, seconds, expected, remark):
    seen = day.judge(rows, seconds)
    assert outcomes(seen) == expected * len(day.WANTED)
    assert remark in next((one.remark for one in seen if one.outcome == UNKNOWN), "")
    assert seen[0].measured == pytest.approx(0.8, rel=0.2)


def test_peak_that_mod_deflate_must_have_seen():
    assert 0.62 < day.PEAK_SEEN < 0.64  # demand in those hours is 0.94 of that at their peak


def test_loads_at_which_a_mode_should_rest():
    found = {1: 1000, 2: 900, 3: 300, 4: 250, 5: 200}
    assert steady_state.leap(found) == (3, 2)
    wanted = steady_state.loads(found)
    assert wanted[steady_state.FITS] == (pytest.approx(126), (50, 80))
    rate, (low, high) = wanted[steady_state.BETWEEN]
    # Level 2 is below the band, level 3 above it.
    assert 100 * rate / 900 < low < 63 < high < 100 * rate / 300
    assert high / low == pytest.approx(3 ** 0.5)


@pytest.mark.parametrize("found", [{4: 100, 5: 100}, {4: 1000, 5: 10}])
def test_levels_too_near_and_too_far_apart_have_thresholds_that_httpd_takes(found):
    _, (low, high) = steady_state.loads(found)[steady_state.BETWEEN]
    assert 0 < round(low) < round(high) < 100


def test_figures_of_a_steady_load():
    found = steady_state.figures(updates(0.6, 0.7, 0.6, 0.7, positions=(4, 5, 5, 4), step=0.5))
    assert found == {"counted_s": 2, "changes": 2, "load_mean": 0.65, "load_deviation": 0.05,
                     "position_mean": 4.5, "position_variance": 0.25}
    assert steady_state.figures([])["position_variance"] == ""


def steady_rows(mix, step=1.0, number=1):
    return [{"load": load, "mode": mode, "round": number, "position_variance": variance}
            for load in (steady_state.FITS, steady_state.BETWEEN)
            for mode, variance in (("mix", mix), ("step", step))]


@pytest.mark.parametrize("rows, expected, remark", [
    (steady_rows(0.1), HOLDS, ""),
    (steady_rows(1.5), FAILS, ""),
    # The variance of each round counts.
    (steady_rows(0.1) + steady_rows(2, number=2), UNKNOWN, "in 1 of 2 rounds"),
    ([], UNKNOWN, "nothing was measured"),
    (steady_rows(0.1, step=0), UNKNOWN, "did not move"),
])
def test_steady_state(rows, expected, remark):
    seen, = steady_state.judge(rows)
    assert seen.outcome == expected and remark in seen.remark


@pytest.mark.parametrize("on, off, outcome", [
    ((9e-4, 8e-4), (5e-4, 5e-4), HOLDS), ((5e-3, 4e-3), (5e-4, 5e-4), FAILS),
    ((5e-3, 5e-4), (0, 0), UNKNOWN)])
def test_controller_overhead(on, off, outcome):
    rows = [{"mpm": "event", "children": 4, "server": name, "round": number, "core_share": share}
            for number, shares in enumerate(zip(on, off, (0, 0)))
            for name, share in zip(("on", "off", "no module"), shares)]
    assert outcomes(controller_overhead.judge(rows)) == [outcome] * 2


@pytest.mark.parametrize("values, outcome", [
    ([0.8, 1.2, 0.9], UNKNOWN), ([0.9], HOLDS), ([1.0], FAILS), ([], UNKNOWN),
    ([0.5, math.nan], UNKNOWN)])
def test_verdict_of_every_round(values, outcome):
    seen = every_round("x", values, "", below=1)
    assert seen.outcome == outcome
    assert len(values) < 3 or "in 2 of 3 rounds" in seen.remark


@pytest.mark.parametrize("size, least, wanted", [
    (20000, 1, "r.args and #pieces or math.random(1, #pieces)"),
    (20000, 20000, "r.args and #pieces or math.random(3, #pieces)")])
def test_pages_of_a_handler(tmp_path, size, least, wanted):
    script = handler.write(tmp_path, b"x" * size, least)
    assert f"LuaMapHandler ^/page$ {script} handle" in handler.snippet("/page", script)
    assert wanted in script.read_text()
    assert [path.stat().st_size for path in tmp_path.glob("*.body")] == [size]
