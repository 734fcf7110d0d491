"""Each experiment's verdicts on figures that hold, that fail, and that are noise."""

import math
import random

import pytest

from benchkit import arrivals, days, download, overhead, stats, streaming
from benchkit.experiments import (content, context_reuse, control, day, lan_packets, levels, p95,
                                  peers, small_files, spike, static_vs_dynamic)
from benchkit.verdict import FAILS, HOLDS, UNKNOWN

ROUNDS = 5


def shaken(rows, figures=(), noise=0, seed=3):
    """The rows once for each round, their figures off by up to `noise` (a share)."""
    source = random.Random(seed)
    return [{**row, "round": number,
             **{figure: row[figure] * (1 + noise * (2 * source.random() - 1))
                for figure in figures if figure in row}}
            for number in range(1, ROUNDS + 1) for row in rows]


def outcomes(verdicts):
    return [one.outcome for one in verdicts]


def over_identity(judge, *keys):
    """The judge of rows that have CPU per response, as the experiments call it."""
    return lambda rows: judge(overhead.steady(rows, keys))


def control_rows(factor):
    return [{"leg": "A", "rate": 100, "cpu_usec_per_response": 50},
            {"leg": "B", "rate": 100 * factor, "cpu_usec_per_response": 50 * factor}]


def static_rows(each, kept, cached=1):
    return [{"variant": "plain", "rate": 1381}, {"variant": "each time", "rate": each},
            {"variant": "kept", "rate": kept}, {"variant": "cached", "rate": kept * cached}]


def judge_static(rows, kept=True, each=False):
    return static_vs_dynamic.judge(rows, {"kept": kept, "each time": each})


def small_rows(kept_small, kept_large, cpu, sent, threshold, cached=1):
    rows = []
    for size, rate in ((1024, kept_small), (65536, kept_large)):
        for variant, of_rate, of_cpu, of_bytes in (
                ("identity", 100, 50, size), ("kept", 100 * rate, 50 * cpu, size * sent),
                ("cached", 100 * rate * cached, 50 * cpu, size * sent),
                ("gzip", 50, 100, size * sent), ("threshold", 90, 100 * threshold, size)):
            rows.append({"file": str(size), "variant": variant, "rate": of_rate,
                         "cpu_usec_per_response": of_cpu, "sent_bytes": of_bytes})
    return rows


def judge_small(rows):
    return small_files.judge([(str(size), b"x" * size) for size in (1024, 65536)], rows)


def level_rows(time, sent):
    """mod_deflate takes twice the time, for as many bytes."""
    return [{"coding": coding, "level": level, "cpu_usec_per_response": cpu, "sent_bytes": size}
            for coding, level, cpu, size in (
                ("identity", 0, 50, 1000), ("gzip", 1, 550, 300),
                ("gzip", 9, 50 + 500 * time, 300 * sent), ("mod_deflate", 1, 1050, 300),
                ("mod_deflate", 9, 50 + 1000 * time, 300 * sent))]


def visit_rows(packets, seconds, text):
    return [{"rate": "10mbit", "start": start, "variant": variant, "packets": 160 * of_packets,
             "to_wire": 1.05,
             "seconds": 0.6 * of_seconds, "first_text": 1000 * of_text}
            for start in lan_packets.STARTS for variant, of_packets, of_seconds, of_text in
            (("plain", 1, 1, 1), ("kept", packets, seconds, text))]


def threshold_rows(segments, cpu, sent=500):
    return [{"body_bytes": 500, "variant": variant, "sent_bytes": of_sent,
             "segments_down": of_segments, "cpu_usec_per_response": of_cpu}
            for variant, of_sent, of_segments, of_cpu in
            (("plain", 500, 1, 50), ("always", 300, 1, 100),
             ("above one segment", sent, segments, 100 * cpu))]


def codec_rows(fresh, level9, sent9):
    return [{"engine": "zlib", "level": level, "context": context, "bytes_out": sent,
             "files_per_second": speed * (fresh if context == "fresh" else 1)}
            for level, speed, sent in ((5, 1000, 100), (9, 1000 * level9, 100 * sent9))
            for context in ("fresh", "kept")]


def reuse_rows(cpu):
    return [{"module": module, "level": level, "cpu_usec_per_response": of_cpu}
            for level in context_reuse.SERVED_LEVELS for module, of_cpu in
            (("identity", 30), ("mod_deflate", 330), ("mod_elastic", 30 + 30),
             (context_reuse.ZLIB, 30 + 300 * cpu))]


def peer_rows(cpu, rate, sent=1.0):
    """Every server at one size: ours take `cpu` of the peer's compression, and `rate` times it."""
    servers = {"httpd identity": (30, 0, 9), "nginx identity": (10, 0, 9),
               "nginx gzip 6": (10 + 1000, 1.0, 100)}
    for leg, peer, limit, _ in peers.TARGETS:
        servers[peer] = (30 + 1000, 1.0, 100)
        servers[leg] = (30 + 1000 * cpu * limit, sent, 100 * rate)
    return [{"server": name, "size": size, "cpu_usec_per_response": used,
             "sent_bytes": 1000 * of_sent, "rate": of_rate}
            for name, (used, of_sent, of_rate) in servers.items() for size in peers.TARGET_SIZES]


judge_peers = over_identity(peers.judge, "server", "size")


def p95_rows(growth, time, sent):
    rows = []
    for share in p95.SHARES:
        apart = 1 + share + (growth * (share - 0.6) if share > 0.6 else 0)
        for level in (2, 4, 8):
            # The difference of 8 and 2 is `apart`; at the top, 2 takes `time` of 8's.
            base = time * apart / (1 - time)
            rows.append({"module": p95.OURS, "level": level, "share": share,
                         "compression_p95_ms": base + (apart if level == 8 else 0),
                         "bytes": 100 * (sent if level == 2 else 1)})
            rows.append({**rows[-1], "module": p95.STOCK, "bytes": 1,
                         "compression_p95_ms": math.nan})
    return rows


def spike_rows(static_limit, elastic_limit, recovery, latency, level):
    return [{"variant": variant, "phase": phase, "seconds": 5 if phase == "attack" else 25,
             "limit": limit, "end": "", "p50_ms": 1000 * of_latency, "recovery_s": recovery,
             "level_least": level if variant == "elastic" else 6}
            for variant, limit, of_latency in
            (("static", static_limit, 1), ("elastic", elastic_limit, latency))
            for phase in ("before", "attack", "after")]


def judge_spike(rows):
    return spike.judge(rows, [row for row in rows if row["phase"] == "attack"], 4)


def day_rows(sent, cpu, peak, level):
    return [{"variant": variant, "hour": hour, "requests": arrivals.DAY_HOURS[hour],
             "responses": 100, "bytes": 100 * size, "level": of_level, "cpu_share": share,
             "failed_share": 0}
            for variant, size, of_level, of_cpu, of_peak in
            (("static", 1000, 1, 0.4, 0.4), ("elastic", 1000 * sent, level, 0.4 * cpu, peak),
             (day.STOCK(1), 1000, 1, 0.6, 0.6))
            for hour in range(days.HOURS) for share in (of_peak if 19 <= hour < 22 else of_cpu,)]


def totals(rows):
    return [{"round": number, "variant": name, **days.total(members)} for (number, name), members
            in stats.group(rows, "round", "variant").items()]


def judge_day(rows):
    return day.judge(totals(rows), rows)


def download_rows(first, whole):
    return [{"rate": rate, "coding": coding, "level": level, "to_wire": 1.05,
             "first_byte_ms": 10 * (first if coding == "gzip" else 1),
             "download_ms": 100 * (whole if coding == "gzip" else 1)}
            for rate in download.RATES
            for coding, level in (("identity", 0), ("gzip", 6), ("gzip", 9))]


def judge_all_but_the_wire(judge):
    """Of visits that no link was too fast for."""
    def judged(rows):
        *found, wire = judge(rows)
        assert wire.outcome == HOLDS
        return found
    return judged


def stream_rows(first, memory, rate, sent):
    return [{"server": "elastic", "first_byte_ms": first, "memory_peak_kb": memory},
            {"server": "mod_deflate", "first_byte_ms": 1, "memory_peak_kb": 1},
            {"server": "sibling", "rate": rate, "sent_bytes": 1000 * sent},
            {"server": "identity", "rate": 1, "sent_bytes": 1000},
            {"server": "each time", "rate": 0.01, "sent_bytes": 1000}]


def judge_streams(rows):
    return streaming.judge([row for row in rows if "first_byte_ms" in row],
                           [row for row in rows if "rate" in row])


# What judges; rows on which all verdicts hold; on which all fail; the figures that vary; and which
# of the verdicts rest on figures that vary so much that noise decides nothing.
CASES = {
    "control": (control.judge, control_rows(1), control_rows(1.3),
                ("rate", "cpu_usec_per_response"), (0, 1)),
    "static-vs-dynamic": (lambda rows: judge_static(rows)[:4], static_rows(225, 2078, 1.05),
                          static_rows(2000, 1200, 0.8), ("rate",), (1, 3)),
    "small-files": (judge_small, small_rows(0.9, 2, 1.2, 0.02, 0.5, 1.05),
                    small_rows(1.2, 0.5, 0.8, 0.5, 1.5, 0.8), ("rate", "cpu_usec_per_response"),
                    (0,)),
    "levels": (over_identity(levels.judge, "coding", "level"), level_rows(3, 0.8),
               level_rows(1.2, 1.0), ("cpu_usec_per_response",), (0,)),
    "lan-packets": (judge_all_but_the_wire(lan_packets.judge_visits), visit_rows(0.85, 0.75, 3),
                    visit_rows(1.05, 1.1, 1),
                    ("packets", "seconds", "first_text"), (0, 1, 2)),
    "lan-packets, threshold": (lan_packets.judge_threshold, threshold_rows(1, 0.5),
                               threshold_rows(2, 1.5), ("cpu_usec_per_response",), ()),
    "context-reuse": (context_reuse.judge_codecs, codec_rows(0.65, 0.6, 0.99),
                      codec_rows(1.1, 1.0, 0.9), ("files_per_second",), (1,)),
    "context-reuse, httpd": (over_identity(context_reuse.judge_servers, "module", "level"),
                             reuse_rows(0.5), reuse_rows(1.3), ("cpu_usec_per_response",), ()),
    "peers": (judge_peers, peer_rows(0.8, 2.5), peer_rows(1.3, 0.9, sent=1.1),
              ("cpu_usec_per_response", "rate"), ()),
    "p95": (p95.judge, p95_rows(9, 0.5, 1.1), p95_rows(-3, 0.7, 1.01), ("compression_p95_ms",),
            (1,)),
    "spike": (judge_spike, spike_rows(1.2, 2.2, 15, 0.1, 1), spike_rows(2.2, 1.2, 5.0, 1.5, 4),
              ("p50_ms",), ()),
    "day": (judge_day, day_rows(0.9, 1.5, 0.75, 8), day_rows(1.0, 1.0, 0.9, 1), ("bytes",), ()),
    "downloads": (judge_all_but_the_wire(download.judge), download_rows(2, 0.2),
                  download_rows(0.8, 1.1),
                  ("first_byte_ms", "download_ms"), ()),
    "streams": (judge_streams, stream_rows(0.9, 0.9, 1.1, 1.0), stream_rows(1.2, 1.2, 0.8, 1.04),
                ("first_byte_ms", "memory_peak_kb", "rate"), (0,)),
}


@pytest.mark.parametrize("case", CASES)
def test_figures_that_hold_that_fail_and_that_are_noise(case):
    judge, holding, failing, figures, noisy = CASES[case]
    assert set(outcomes(judge(shaken(holding, figures, 0.01)))) == {HOLDS}
    assert set(outcomes(judge(shaken(failing, figures, 0.01)))) == {FAILS}
    seen = outcomes(judge(shaken(holding, figures, 0.99)))
    assert [seen[place] for place in noisy] == [UNKNOWN] * len(noisy)


@pytest.mark.parametrize("judge, rows, expected", [
    (lambda rows: judge_static(rows, False, True)[4:], static_rows(1, 1), [FAILS, FAILS]),
    (lan_packets.judge_threshold, threshold_rows(1, 1, sent=1), [FAILS]),
    (download.judge, [], [UNKNOWN]),
])
def test_what_was_not_as_the_source_says_or_not_measured(judge, rows, expected):
    assert outcomes(judge(shaken(rows))) == expected


@pytest.mark.parametrize("rate, expected", [(0.9, HOLDS), (0.985, UNKNOWN), (1.1, FAILS)])
def test_small_files_are_not_exempt_from_the_drift(rate, expected):
    """What rounds agree on to a thousandth may be otherwise an hour later."""
    rows = shaken(small_rows(rate, 2, 1.2, 0.02, 0.5), ("rate",), 0.001)
    assert judge_small(rows)[0].outcome == expected


def test_files_that_the_threshold_does_not_leave_alone():
    rows = [{**row, "sent_bytes": 1} if row["variant"] == "threshold" else row
            for row in small_rows(0.9, 2, 1.2, 0.02, 0.5)]
    assert outcomes(judge_small(shaken(rows)))[-1] == FAILS


def test_peers_that_are_missing_are_named():
    rows = [row for row in peer_rows(0.9, 2) if not row["server"].startswith(("nginx", "mod_b"))]
    assert outcomes(judge_peers(shaken(rows))).count(UNKNOWN) == 1 + len(peers.RATE_TARGETS)


def test_levels_beside_those_of_mod_deflate():
    found = levels.beside_stock(overhead.steady(
        shaken(level_rows(3, 0.8), ("cpu_usec_per_response",), 0.01), ("coding", "level")))
    assert [row["level"] for row in found] == [1, 9]
    for row in found:
        assert row["low"] < row["cpu_to_mod_deflate"] < row["high"]
        assert (row["cpu_to_mod_deflate"], row["bytes_to_mod_deflate"]) == (
            pytest.approx(0.5, rel=0.05), 1)


def content_rows(effort, gain, least=0.15, slower=0.1):
    """Sites of differing compressibility, at zlib's levels; each takes so much more than the one
    before, to the first, as it compresses worse.
    """
    return [{"site": f"site {number}", "level": level, "bytes_in": 100000,
             "bytes_out": 100000 * (least + number / 150) * (1 - gain * share ** 0.3),
             "cpu_seconds": 0.001 * (1 + slower * number) * effort ** share}
            for number in range(content.ENOUGH) for level in content.LEVELS
            for share in ((level - 1) / 8,)]


def test_effort_of_each_engine():
    rows = shaken([{**row, "engine": "zlib", "ratio": 0.3} for row in content_rows(4, 0.14)])
    rows += [{**row, "engine": "ISA-L", "level": row["level"] - 1, "ratio": 0.4,
              "cpu_seconds": row["cpu_seconds"] / 4} for row in rows if row["level"] <= 4]
    found = content.efforts(rows)
    assert [row["level"] for row in found] == list(range(10))
    assert set(found[0]) == {"level", "ISA-L", "ISA-L_ratio"}
    assert (found[0]["ISA-L_ratio"], found[4]["zlib_ratio"]) == pytest.approx((0.4, 0.3))
    assert found[0]["ISA-L"] == pytest.approx(found[1]["zlib"] / 4)
    assert found[1]["least"] < found[1]["zlib"] < found[1]["most"]
    assert "ISA-L" not in found[4]


def judge_content(rows, prices=(0.044, 0.09), identified=("yes", "same bytes")):
    return content.judge(rows, content.summarize(rows, prices),
                         [{"right": right} for right in identified])


def test_content_of_sites():
    holding = judge_content(shaken(content_rows(4, 0.14), ("cpu_seconds",), 0.01))
    assert set(outcomes(holding)) == {HOLDS}, [one.sentence for one in holding]
    # Sites that compress badly, the worse the faster; by levels that hardly differ; of one price.
    failing = judge_content(shaken(content_rows(1.1, 0.005, 0.5, -0.015), ("cpu_seconds",), 0.01),
                            (9, 0.09), ("yes", "no"))
    assert set(outcomes(failing)) == {FAILS}, [one.sentence for one in failing]
    assert outcomes(judge_content(shaken(content_rows(4, 0.14)[:18]))) == [UNKNOWN]


def test_sites_that_differ_by_noise_alone_take_the_same_effort():
    seen = judge_content(shaken(content_rows(4, 0.14, slower=0), ("cpu_seconds",), 0.6))[3]
    assert seen.outcome != HOLDS, seen.sentence


@pytest.mark.parametrize("prices, level", [((0, 1), 9), ((1, 0), 1)])
def test_cheapest_level_follows_the_prices(prices, level):
    sites = content.summarize(shaken(content_rows(4, 0.14)), prices)
    assert {site["best_level"] for site in sites} == {level}


@pytest.mark.parametrize("sent, expected", (
    (((120, 110), (105, 95), (90, 90), (80, 80)), [105, 95]),
    (((110, 110), (110, 90), (110, 80), (110, 70)), [110, 90]),
    (((110, 110), (110, 110), (110, 110), (110, 105)), [110, 105]),  # and its bytes say so
))
def test_best_position_is_the_lowest_whose_bytes_are_mod_deflates(sent, expected):
    rows = [{"server": server, "size": size, "round": 1, "sent_bytes": nbytes}
            for server, pair in [("mod_deflate 6", (100, 100)),
                                 *zip(map(peers.leg_of, peers.POSITIONS), sent)]
            for size, nbytes in zip((4, 64), pair)]
    assert [row["sent_bytes"] for row in peers.add_best_position(rows)
            if row["server"] == peers.BEST_POSITION] == expected


def test_bytes_of_mixed_setups_are_what_went_out():
    rows = [{"server": peers.leg_of(4), "sent_bytes": 7, "ElasticBytesOut": 300,
             "ElasticCompressed": 2}, {"server": "mod_deflate 6", "sent_bytes": 7}]
    assert [row["sent_bytes"] for row in peers.with_bytes_sent(rows)] == [150, 7]


def test_spike_that_a_log_ends_with():
    rows = [row for row in spike_rows(1.2, 2.2, 15, 0.1, 1) if row["phase"] != "after"]
    seen = judge_spike(shaken(rows))
    assert outcomes(seen) == [HOLDS, HOLDS, HOLDS, UNKNOWN, HOLDS, HOLDS]
    assert "ends with the attack" in seen[3].remark


def test_day_of_a_log_is_quiet_and_busy_when_it_is():
    """From noon to noon; and with an hour in which nobody came."""
    rows = [{**row, "level": 9 if 3 <= row["hour"] < 8 else 1,
             "cpu_share": 0.5 + 0.2 * (19 <= row["hour"] < 22), "failed_share": 0.0}
            for row in day_rows(0.9, 1.5, 0.8, 8)]
    empty = {"requests": 0, "responses": 0, "bytes": 0, "level": math.nan,
             "failed_share": math.nan}
    rows = [{**row, **(empty if row["hour"] == 5 else {})} for row in rows]
    order = [*range(12, 24), *range(12)]
    rows.sort(key=lambda row: (row["variant"], order.index(row["hour"])))
    rows = shaken([{**row, "hour": order.index(row["hour"])} for row in rows])
    whole = totals(rows)
    assert {one["cpu_share_peak"] for one in whole} == {0.7}
    assert {one["failed_share"] for one in whole} == {0.0}
    assert day.judge(whole, rows)[-1].measured == pytest.approx(9)
