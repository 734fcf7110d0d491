"""What a reader is told: findings, headlines, the terminal's table, the page, and README; and what
compression costs, pooled over rounds on a machine whose speed drifts.

One test goes through all experiments, of this folder's runs and of the kept results.
"""

import json
import math
import pathlib
import random

import markupsafe
import pytest

from benchkit import cli, overhead, readme, report, results, run
from benchkit.findings import (LARGER, MET, MISSED, OPEN, OTHER, SAME, SMALLER, Finding, number,
                               paired)
from benchkit.tools import ROOT, BenchError

KEPT = ROOT / "docs" / "results" / "results.json"
EXPERIMENTS = json.loads(KEPT.read_text(encoding="utf-8"))["experiments"]


@pytest.mark.parametrize("figure, more, here, outcome", [
    ((0.5, 0.4, 0.6), {"source": (0.7, 0.9)}, "0.500 (0.400 to 0.600)", SAME),
    ((1.5, 1.2, 1.8), {"source": (0.7, 0.9)}, "1.50 (1.20 to 1.80)", OTHER),
    # An effect beyond three times the source's, or below a third of it, is another one.
    ((0.0117, 0.01, 0.013), {"source": (0.4, 0.5)}, "0.0117 (0.0100 to 0.0130)", LARGER),
    ((0.95, 0.94, 0.96), {"source": (0.4, 0.5)}, "0.950 (0.940 to 0.960)", SMALLER),
    ((0.05, 0.04, 0.06), {"source": (0, 1)}, "0.0500 (0.0400 to 0.0600)", SAME),
    # So are figures that are more than three times apart, with the reason if it is known.
    ((121, 114, 124), {"source": (9.25, 9.25), "because": "plain is faster"},
     "121 (114 to 124)", f"{LARGER}, because plain is faster"),
    ((0.2, 0.19, 0.21), {"source": (0.05, 0.06)}, "0.200 (0.190 to 0.210)", SMALLER),
    # Words, where a ratio of nothing would be a number.
    ((0.0, 0.0, 0.0), {"said": "0 of 9,750"}, "0 of 9,750", OPEN),
    ((math.nan, 0, math.inf), {"said": "1.2 ms, where static timed out"},
     "1.2 ms, where static timed out", OPEN),
    # An interval that reaches over 1 says neither.
    ((0.9, 0.7, 1.2), {"source": (0.7, 0.9)}, "0.900 (0.700 to 1.20)", OPEN),
    ((0.5, 0.4, 0.6), {}, "0.500 (0.400 to 0.600)", OPEN),
    ((0.5, 0.4, 0.6), {"aim": (0, 0.6)}, "0.500 (0.400 to 0.600)", MET),
    ((0.5, 0.4, 0.6), {"aim": (0, 0.3)}, "0.500 (0.400 to 0.600)", MISSED),
    ((0.5, 0.4, 0.6), {"aim": (0, 0.5)}, "0.500 (0.400 to 0.600)", OPEN),
    # One round has no interval, and meets nothing.
    ((0.5, 0.0, math.inf), {"aim": (0, 0.9)}, "0.500", OPEN),
    ((3.0, 3.0, 3.0), {"aim": (1, 9)}, "3", MET),
    # At a floor or a limit of the harness.
    ((0.0012, 0.0004, 0.0035), {"limit": "<", "aim": (0, 0.03)}, "< 0.0035", MET),
    ((2.0, 1.5, 2.5), {"limit": ">", "source": (1, math.inf)}, "> 1.50", SAME),
    ((2.0, 1.5, 2.5), {"limit": ">", "aim": (0, 3)}, "> 1.50", OPEN),
    ((math.nan, 0, math.inf), {"aim": (0, 1), "note": "no nginx"}, "not measured: no nginx", OPEN),
])
def test_a_figure_is_judged_only_where_its_interval_allows_it(figure, more, here, outcome):
    one = Finding("key", "text", figure, **more)
    assert (one.here, one.outcome) == (here, outcome)


def test_ratios_are_taken_within_each_round():
    rows = [{"leg": leg, "round": at, "rate": figure * pace} for at, pace in enumerate((1, 3, 9, 2, 5))
            for leg, figure in (("a", 2), ("b", 4))] + [{"leg": "a", "round": 9, "rate": 1}]
    assert paired(rows, {"leg": "a"}, {"leg": "b"}, "rate") == pytest.approx((0.5, 0.5, 0.5))
    assert [number(value) for value in (
        0.33333, 12.345, 1234.5, 0.00012345, 2e-5, 7.0, math.inf, math.nan)] == [
        "0.333", "12.3", "1234", "0.0001", "below 0.0001", "7", "∞", "–"]


def contradictions(facts):
    """What an experiment's facts say that is not so."""
    said = [] if facts["name"] in (*cli.ORDER, *cli.ALONE) else ["its name"]
    keys = [one["key"] for one in facts["findings"]]
    if len(set(keys)) < len(keys) or facts["headline"] not in keys:
        return [*said, "the headline's key"]
    head = results.headline(facts)
    if head["here"] not in facts["means"]:
        said.append("the headline's figure")
    for one in facts["findings"]:
        known = one["figure"] is not None
        middle, low, high = (one[name] if one[name] is not None else math.inf
                             for name in ("figure", "low", "high"))
        again = Finding(one["key"], one["text"], (middle, low, high) if known else (
            math.nan, 0, math.inf), limit=one["limit"], said=one.get("said", ""))
        if again.here != one["here"] and (known or not one["here"].startswith(again.here)):
            said.append(f"{one['key']}: its figure")
        if one["outcome"] == SAME and not (low >= 1 or high <= 1 or one["limit"]):
            said.append(f"{one['key']}: its direction")
        if (low == 0 and math.isinf(high) and not one["limit"]) and one["outcome"]:
            said.append(f"{one['key']}: an outcome without an interval")
    return said


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_what_is_published_agrees_with_its_own_figures(name):
    """And the terminal's table has eighty columns and one sentence."""
    assert contradictions(EXPERIMENTS[name]) == []
    lines = cli.table(EXPERIMENTS[name]).splitlines()
    assert max(len(line) for line in lines) <= 80
    assert EXPERIMENTS[name]["means"].split()[0] in " ".join(lines)


def test_the_kept_page_has_each_headline_and_is_small():
    page = KEPT.with_suffix(".html").read_text(encoding="utf-8")
    assert len(page.encode()) <= report.MOST and KEPT.stat().st_size <= 1_000_000
    assert set(EXPERIMENTS) - set(cli.ALONE) == set(cli.ORDER), "the kept run has all experiments"
    for facts in EXPERIMENTS.values():
        assert markupsafe.escape(facts["means"]) in page
    assert "nan" not in page.replace("nance", "") and "Infinity" not in page
    # The README's figures are those of the results.
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert all(mark.format(part) in text for mark in (readme.MARK, readme.END)
               for part in ("figures", "regret"))
    experiments, again = cli.kept_again(KEPT)
    assert readme.written(text, experiments | again) == text


def test_kept_figures_are_those_of_the_kept_rows():
    """Runs from before rows were kept have none; the next test has rows of its own."""
    experiments, again = cli.kept_again(KEPT)
    for name, figures in again.items():
        assert results.differences(experiments[name], figures)[1] == [], name


def test_every_table_and_interval_is_made_again_of_the_rows(tmp_path, capsys, monkeypatch):
    """Of rows with all that JSON lacks; a figure that is not theirs is named."""
    rows = [{"leg": leg, "round": number, "cpu_usec_per_response": 3.25 + number / 3 + (leg == "B"),
             "rate": math.nan if number == 2 else 10.0 * number, "p50_ms": math.inf,
             **({"sent_bytes": 7} if number else {})} for number in range(6) for leg in "AB"]
    assert repr(results.unpacked(json.loads(json.dumps(results.packed(rows))))) == repr(rows)
    with run.Run("control", out=tmp_path) as one:
        one.save_table("", rows)
        results.save(one, results.Outcome("rate", "{here}"), cli.load_experiment("control"), "")
        one.publish()
    report.write(tmp_path, ["control", "levels"], {})
    made = tmp_path / "report.json"
    assert cli.recompute(made) == 0
    assert capsys.readouterr().out == "control: 2 findings and rows of tables; all equal\n"
    text = made.read_text(encoding="utf-8")
    data = json.loads(text)
    assert set(data["experiments"]["control"]["provenance"]) == {
        "commit", "dirty", "module_sha256", "cpu", "kernel", "mpm"}
    first = data["experiments"]["control"]["findings"][0]
    first["low"] *= 1.001
    made.write_text(json.dumps(data), encoding="utf-8")
    assert cli.recompute(made) == 1
    assert f"{first['key']}: {first['low']} is kept" in capsys.readouterr().out
    results.rows_beside(made).unlink()
    assert cli.recompute(made) == 0
    assert capsys.readouterr().out == "control: rows not kept\n"
    monkeypatch.setattr(report, "MOST_ROWS", 10)
    with pytest.raises(BenchError, match="more than 10"):
        report.write(tmp_path, ["control"], {})


def test_what_was_not_run_is_named(monkeypatch, tmp_path):
    page = report.write(tmp_path, ["levels"], {"levels": "no <httpd>"})
    assert "levels: no &lt;httpd&gt;" in page.read_text(encoding="utf-8")
    data = json.loads(pathlib.Path(page).with_suffix(".json").read_text(encoding="utf-8"))
    assert data == {"experiments": {}, "not_run": {"levels": "no <httpd>"}}
    monkeypatch.setattr(report, "MOST", 1000)
    with pytest.raises(BenchError, match="more than 1000"):
        report.write(tmp_path, [], {"levels": "no httpd"})


KEYS = ("leg", "size")
OURS, PEER, IDENTITY = ({"leg": name} for name in ("ours", "peer", "identity"))


def measured(ours, rounds=12, noise=0.03, drift=0.0, seed=1):
    """Rows of three legs: of 1 KB, where identity is most of the cost, and of 64 KB."""
    source = random.Random(seed)
    rows, pace = [], 1.0
    for turn in range(rounds):
        for size, base, compression in ((1, 34, 50), (64, 40, 1700)):
            for leg, cost in (("identity", 0), ("peer", compression), ("ours", ours * compression)):
                pace = min(2, max(1, pace * math.exp(source.gauss(0, drift))))
                rows.append({"round": turn, "size": size, "leg": leg, overhead.FIGURE:
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
    rows = [{"leg": leg, "size": 1, "round": number, overhead.FIGURE: figure} for number in range(5)
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
