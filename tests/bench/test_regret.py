"""Regret: who is the best leg of a regime, what is a time on a wire, and who is overloaded."""

import argparse
import json
import math
import types
import zlib

import pytest

from benchkit import arrivals, cli, clients, legs, readme, regimes, regret, results, setups, site, stats
from benchkit.experiments import gain, load
from benchkit.tools import ROOT, BenchError


def row(leg, number, figure, regime="a: 0.1", **more):
    return {"regime": regime, "leg": leg, "round": number, "last_5": figure, **more}


def rows_of(**figures):
    return [row(leg, number, figure) for leg, of in figures.items()
            for number, figure in enumerate(of, 1)]


def test_regret_is_a_ratio_within_each_round():
    """Odd rounds choose a, which even rounds show to be twice as slow as b; and so on."""
    found = regret.Regrets(rows_of(a=(1, 2, 1, 2), b=(2, 1, 2, 1)), "ab", "last_5")
    assert found.ratios == {"a: 0.1": {"a": {1: 0.5, 2: 1, 3: 0.5, 4: 1},
                                       "b": {1: 1, 2: 0.5, 3: 1, 4: 0.5}}}
    found = regret.Regrets(rows_of(a=(1, 10, 100), b=(2, 20, 200)), "ab", "last_5")
    assert found.of("b") == found.between("b", "a") == {"a: 0.1": {1: 2, 2: 2, 3: 2}}
    assert regret.worst(found.of("b"))[0] == "a: 0.1"
    assert regret.mean(found.of("a"))[0] == pytest.approx(1)
    # One round chooses and judges.
    found = regret.Regrets(rows_of(a=(3,), b=(6,)), "ab", "last_5")
    assert found.cell("a: 0.1", "b")[0] == 2
    # The mean is of rounds that have all regimes.
    assert regret.mean({"a": {1: 1, 2: 4}, "b": {1: 4}})[0] == 2
    assert regret.mean({"a": {1: 1}, "b": {2: 4}})[0] == 2
    assert math.isnan(regret.mean({})[0])
    # An interval takes five rounds.
    assert stats.interval([1, 1, 1, 1])[1:] == (0, math.inf)
    assert stats.interval([1, 1, 1, 1, 1]) == pytest.approx((1, 1, 1))
    assert regret.text((1.234, 1.1, 1.3)) == "1.23 (1.10–1.30)"
    assert regret.text((1.234, 0, math.inf)) == "1.23" and regret.text((math.nan, 0, 1)) == "–"


def test_an_overloaded_cell_has_no_time_and_says_by_how_much():
    rows = rows_of(a=(1, 1), b=(2, 2)) + [
        row("a", 1, 1, "a: 0.7"), row("a", 2, 1, "a: 0.7"),
        {"regime": "a: 0.7", "leg": "b", "round": 0, "overload": 1.5}]
    found = regret.Regrets(rows, "ab", "last_5")
    assert regret.served(found, "b") == "1; 1 overloaded, up to 1.50 times"
    assert regret.served(found, "a") == "2"
    assert found.single("ab") == ("a", {"a: 0.1": {1: 1, 2: 1}, "a: 0.7": {1: 1, 2: 1}})
    assert found.single("b")[0] == "b"  # none of what one may pin can serve the other regime
    assert found.single("")[0] == ""


def test_the_table_has_every_leg_and_regime():
    rows = [row("default", 1, 1.0), row("zstd 1", 1, 1.2), row("time 20", 1, 1.0),
            row("default, gzip", 1, 1.0),
            {"regime": "b: 0.7", "leg": "zstd 1", "round": 0, "overload": 2},
            {"regime": "b: 0.7", "leg": "default", "round": 0, "overload": 0.9}]
    names, lines = regret.by_regime(rows, legs.BROWSERS, 5)
    assert names == ["a: 0.1", "b: 0.7"]
    assert lines == [["default", "1.00", "1.00", "1.00", "overloaded"],
                     ["zstd 1", "1.20", "1.20", "1.20", "overloaded, 2 ×"]]


@pytest.mark.parametrize("population, rate, has, has_not", [
    (legs.BROWSERS, 5, ("default", "gzip 1", "br 5", "mod_deflate 6", "not compressed"),
     ("default, gzip", "time 20")),
    (legs.BROWSERS, 20, ("default", "time 20"), ("time 100", "time 20, gzip")),
    (legs.GZIP_ALONE, 100, ("default, gzip", "time 100, gzip", "gzip 6", "nginx 1"),
     ("default", "zstd 1", "mod_brotli 1", "time 20, gzip"))])
def test_legs_are_a_choice_for_the_clients_that_take_them(population, rate, has, has_not):
    found = legs.serving(legs.LEGS, population, rate)
    assert set(has) <= set(found) and not set(has_not) & set(found)
    assert legs.serving(["of an older list"], population, rate) == []
    assert legs.default(build="/x.so").build == "/x.so"  # a leg of its own
    assert legs.default(rate=20).setup.snippet.endswith("ElasticGoal time 20Mbit/s\n")
    assert legs.default().accept == setups.ALL_CODINGS


ONE, TWO, LATE = (1.0, 1000, 0), (1.0, 2000, 0), (3.0, 2000, 0)


@pytest.mark.parametrize("pieces, least, seconds", [
    ((ONE,), math.inf, 1.001),  # 8 Mbit/s carry 1000 bytes in a millisecond
    ((ONE, TWO), math.inf, 1.002), ((ONE, LATE), math.inf, 3.001),  # the first has gone meanwhile
    ((ONE, LATE), 500, 1.0005), ((ONE, LATE), 1500, 3.0005)])
def test_a_wire_carries_each_piece_when_it_has_come_and_it_is_free(pieces, least, seconds):
    assert regimes.on_wire(pieces, 8, least) == pytest.approx(seconds)


def test_first_text_is_when_a_decoder_has_some():
    """Of a plain answer it is its body's first byte."""
    plain = types.SimpleNamespace(coding="", body=b"", pieces=((0.1, 200, 0), (0.2, 1200, 1000)))
    assert regimes.first_text(plain) == 201
    encoder = zlib.compressobj(6, zlib.DEFLATED, 31)
    body = encoder.compress(b"text " * 10) + encoder.flush(zlib.Z_SYNC_FLUSH)
    body += encoder.compress(bytes(range(256)) * 40) + encoder.flush()
    coded = types.SimpleNamespace(coding="gzip", body=body, pieces=(
        (0.1, 100 + len(body) // 2, len(body) // 2), (0.2, 100 + len(body), len(body))))
    assert regimes.first_text(coded) <= 100 + regimes.STEP


def results_of(count, lost=0):
    visit = clients.Visit(0, "/")
    good = [clients.Result(visit, 0.1, 1100, 1, 0.0, ((0.1 * place, 1100, 1000),))
            for place in range(count)]
    return good + [clients.Result(visit, math.inf, 0, 1, 0.0)] * lost


def test_a_percentile_stands_where_enough_is_beyond_it():
    few, many = regimes.figures_of(results_of(399)), regimes.figures_of(results_of(400))
    assert math.isnan(few["last_p95_5"]) and few["beyond_p95"] == 19
    assert many["last_p95_5"] > many["last_5"] and many["beyond_p95"] == 20
    # Where requests are lost there is no time.
    found = regimes.figures_of(results_of(500, 1))
    assert found["failed"] == 1 and "last_5" not in found


def test_all_legs_and_loads_have_the_same_pages():
    paths = site.block()
    visits = [one.path for one in site.visits(range(2 * site.BLOCK), 7, paths)]
    assert sorted(visits) == sorted(paths * 2) and visits[:site.BLOCK] != paths
    assert sorted(visits[:site.BLOCK]) == sorted(paths) and len(paths) == site.BLOCK
    times = arrivals.exactly(400, 3, 1)
    assert len(times) == 400 and times == sorted(times) and 0 <= times[0] and times[-1] <= 3
    # And each of the clients that measure a capacity, who ask for the first of them only.
    for end in range(20, len(paths) + 1, 20):
        for size, share in site.SIZES:
            of = sum(f"bytes={size * 1024}&" in path for path in paths[:end])
            assert abs(of - share * end) <= 1


@pytest.mark.parametrize("adaptive", [True, False])
@pytest.mark.parametrize("load", [0.1, 0.7])
def test_what_counts_is_the_same_for_each_leg_and_comes_after_a_lead(adaptive, load):
    length = regimes.Length(1, 1.2, 4, 16, 1, 5)
    passes = regimes.Passes(None, None, {}, length)
    family = regimes.Family("a", (load,), ())
    visits, (start, end) = passes.visits(family, load, 1000, 3, adaptive)
    counted = [one for one in visits if start <= one.at < end]
    assert start == regimes.WARM + (4 if adaptive else 0)
    assert len(counted) % site.BLOCK == 0 and end - start >= 1.2
    assert len(counted) / (end - start) == pytest.approx(1000 * load)
    other, (first, _) = passes.visits(family, load, 1000, 3, not adaptive)
    assert [(round(one.at - first, 6), one.path) for one in other if one.at >= first] == [
        (round(one.at - start, 6), one.path) for one in counted]


def test_what_is_no_steady_state_is_no_result():
    good = {"regime": "a: 0.1", "leg": "a", "steady": True, "sent_share": 1.0,
            "load_cpu_share": 0.1, "of_capacity": 0.9}
    rows, said = regimes.results([good, {**good, "steady": False}, {"overload": 2},
                                  {**good, "sent_share": 0.5}])
    assert rows == [good, {"overload": 2}] and len(said) == 2
    assert said[1].startswith("1 of 3 rows are no steady state")
    drowned = {**good, "leg": "b", "steady": False}
    assert regimes.results([good, drowned])[0] == [
        good, {"regime": "a: 0.1", "leg": "b", "round": 0, "overload": 0.9}]
    for nothing in ([{"overload": 2}], [{**good, "steady": False}], []):
        with pytest.raises(BenchError, match="nothing was measured"):
            regimes.results(nothing)


def test_readme_its_chart_and_the_tables_are_made_of_the_rounds(tmp_path):
    kept = json.loads((ROOT / "docs" / "results" / "results.json").read_text(encoding="utf-8"))
    rows = [{"regime": f"12 to 120 KB: {load}", "leg": leg, "round": number, "bytes": 1000,
             "cpu_usec": 800, **{f"{name}_{rate}": 10.0 + 2 * (leg == "zstd 1")
                                 for name in ("last", "last_p95", "first", "first_p95")
                                 for rate in legs.RATES}}
            for load in (0.1, 0.7) for number in range(1, 6)
            for leg in ("default", "zstd 1", "zstd 9")]
    rows.append({"regime": "12 to 120 KB: 0.7", "leg": "mod_brotli 5", "round": 0, "overload": 1.5})
    load = kept["experiments"]["load"]
    load["tables"]["load-rounds"] = results.finite({"caption": "", **results.compact(rows)})
    text = readme.written("<!-- regret: scripts/bench readme -->\n<!-- end of regret -->\n",
                          kept["experiments"])
    assert "| mod_elastic, default settings | 1.00, 1.00 | 1.00, 1.00 | 1.00 | 2 of 2 |" in text
    assert "| mod_elastic, pinned zstd 1 | 1.20, 1.20 |" in text
    assert "mod_brotli 5 | –, – | –, – | – | 0 of 1 |" in text
    assert "[1 more rows," in text and "zstd 9" not in text
    readme.draw(kept["experiments"], tmp_path)
    assert "mod_elastic zstd 1" in (tmp_path / "chart-dark.svg").read_text(encoding="utf-8")
    assert "overloaded, 1.50 ×" in (tmp_path / "regret.md").read_text(encoding="utf-8")


def test_the_spread_of_levels_is_that_of_compression_alone():
    def cpu(leg, usec, regime="a: 0.1"):
        return {"regime": regime, "leg": leg, "cpu_usec": usec}

    rows = [cpu("zlib, 1", 1100), cpu("zlib, 9", 1400), cpu(legs.IDENTITY, 1000),
            cpu("zlib, 9", 9000, "a: 0.5")]
    assert gain.spread(rows, ["zlib, 1", "zlib, 5", "zlib, 9"]) == 4
    assert math.isnan(gain.spread([*rows, cpu("zlib, 2", 900)], ["zlib, 1", "zlib, 2"]))
    # The record has the command that was run.
    for scale, count, said in (("normal", 0, "scripts/bench gain"),
                               ("quick", 5, "scripts/bench gain --quick --rounds 5")):
        assert cli.command_of("gain", argparse.Namespace(scale=scale, rounds=count)) == said


def test_a_flood_that_clients_leave_has_no_ratio_of_latencies():
    def row(leg, number, failed, median):
        return {"leg": leg, "round": number, "failed": failed, "arrivals": 1000,
                "worst_second_p50_ms": median}

    def found(median):
        return {one.key: one for one in load.flood_findings([
            row(leg, number, 0 if leg == "default" else 500, 1.2 if leg == "default" else median)
            for number in range(5) for leg in ("default", "gzip 1")])}

    lost, median = (found(2000)[f"flood-{name} default"] for name in ("lost", "median"))
    assert "(default 0 of 5,000; gzip 1 2,500 of 5,000)" in lost.text
    assert median.here == ("not measured: default at most 1.20 ms, gzip 1 had half of its clients or "
                           "more give up")
    assert found(2.4)["flood-median default"].figure == pytest.approx((0.5, 0.5, 0.5))
