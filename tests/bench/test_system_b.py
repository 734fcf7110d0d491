"""System-B: elasticd's position as the harness reads it, and the experiment's rows and verdicts."""

import types

import pytest

import seen
from benchkit import position, system_b
from benchkit.experiments import spike
from benchkit.experiments import system_b as experiment


def daemon_of(path):
    found = system_b.Elasticd.__new__(system_b.Elasticd)
    found.path = path
    return found


@pytest.mark.parametrize("at,top,share", [(0, 8, 0.0), (8, 8, 1.0), (2.5, 8, 0.3125), (0, 0, 1.0)])
def test_a_position_is_a_share_of_the_way_from_floor_to_ceiling(tmp_path, at, top, share):
    path = tmp_path / "position"
    path.write_bytes(position.encode(at, top))
    assert daemon_of(path).share() == pytest.approx(share, abs=1e-4)


def test_no_file_and_half_a_file_are_no_position(tmp_path):
    assert daemon_of(tmp_path / "none").share() is None
    (tmp_path / "half").write_bytes(position.encode(1, 8)[:20])
    assert daemon_of(tmp_path / "half").share() is None


def test_a_trace_has_levels_of_the_range():
    shares = iter([0.0, None, 1.0])
    seen = []

    def share():
        value = next(shares, 0.5)
        seen.append(value)
        return value

    with system_b.Trace(types.SimpleNamespace(share=share), 1, 6, lambda: 7.0) as trace:
        assert system_b.tools.wait_for(lambda: len(seen) >= 4, 60)
    assert trace.levels[:3] == [(7.0, 1.0), (7.0, 6.0), (7.0, 3.5)]


def test_a_phase_counts_its_own_arrivals_and_levels():
    replayed = seen.of([(0.5, 0.01), (1.5, 0.02), (1.6, 9.0), (1.7, 9.0)], 1.0, 100.0,
                       [(0, 0.0), (2, 1.0)])
    before, attack = spike.rows_of(replayed, [(100.4, 6), (101.5, 2), (101.9, 4)],
                                   {"before": (0, 1), "attack": (1, 2)}, [0.5, 1.5, 1.6, 1.7])
    assert (before["arrivals"], before["failed"], before["level"]) == (1, 0, 6)
    assert (attack["arrivals"], attack["failed"], attack["level_least"]) == (3, 2, 2)
    assert attack["level"] == 3


def rows(latencies, least):
    """Attacks and times before, of four rounds."""
    return [{"round": number, "system": name, "phase": phase, "p50_ms": latency,
             "level_least": least, "cpu_share": 0.5, "foreign_share": 0.0}
            for number in range(4) for phase in ("before", "attack")
            for name, latency in latencies.items()]


@pytest.mark.parametrize("latency,least,outcome", [(10, 1, "holds"), (90, 6, "does not hold")])
def test_a_system_that_stays_slow_or_high_does_not_come_through(latency, least, outcome):
    found = experiment.judge(rows({experiment.STATIC: 100, experiment.MODULE: latency,
                                   experiment.PLUGIN: latency}, least))
    assert [one.outcome for one in found[:4]] == [outcome] * 4
    assert found[4].outcome == "holds" and found[4].measured == 1
