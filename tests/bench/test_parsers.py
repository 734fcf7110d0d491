"""What the kit reads from wrk, h2load, /proc and the module's status."""

import math

import pytest

from benchkit import load, sample, server
from benchkit.tools import BenchError

WRK = """Running 1s test @ http://127.0.0.1:8799/page.html
  18926 requests in 1.10s, 2.86GB read
bench requests=18926 usec=1099661 bytes=3070925000 status=3 broken=2 p50=390 p95=800
"""
H2LOAD = """finished in 501.23ms, 11338.00 req/s, 1.71GB/s
requests: 5669 total, 5674 started, 5669 done, 5660 succeeded, 9 failed, 0 errored, 0 timeout
status codes: 5660 2xx, 0 3xx, 9 4xx, 0 5xx
traffic: 877.11MB (919716414) total, 171.96KB (176084) headers (space savings 82.35%), 876.41MB
                     min         max         mean         sd        +/- sd
time for request:      102us      1.87ms       392us       138us    72.80%
"""
H2LOAD_REFUSED = """finished in 241us, 0.00 req/s, 0B/s
requests: 2 total, 0 started, 0 done, 0 succeeded, 2 failed, 2 errored, 0 timeout
status codes: 0 2xx, 0 3xx, 0 4xx, 0 5xx
traffic: 0B (0) total, 0B (0) headers (space savings 0.00%), 0B (0) data
"""


def test_wrk_report():
    seen = load.parse_wrk(WRK)
    assert (seen.requests, seen.failed, seen.bytes) == (18926, 5, 3070925000)
    assert seen.seconds == pytest.approx(1.099661)
    assert seen.rate == pytest.approx(17210.7, abs=0.1)
    assert (seen.p50_ms, seen.p95_ms) == (0.39, 0.8)


def test_h2load_summary_and_log():
    log = "\n".join(f"17952161340128{n:02}\t200\t{n * 1000}" for n in range(1, 101))
    seen = load.parse_h2load(H2LOAD, log)
    assert (seen.requests, seen.failed, seen.bytes) == (5660, 9, 919716414)
    assert seen.seconds == pytest.approx(0.50123)
    assert (seen.p50_ms, seen.p95_ms) == (50, 95)
    # Latencies are of good responses alone.
    seen = load.parse_h2load(H2LOAD, "1\t200\t1500\n2\t503\t20\n3\t-1\t30\n4\t204\t500\n5\t20")
    assert (seen.p50_ms, seen.p95_ms) == (0.5, 1.5)
    seen = load.parse_h2load(H2LOAD_REFUSED)
    assert (seen.requests, seen.failed, seen.rate) == (0, 2, 0) and math.isnan(seen.p50_ms)

@pytest.mark.parametrize("text, seconds", [
    ("241us", 0.000241), ("501.23ms", 0.50123), ("1.00s", 1), ("20.05s", 20.05),
    ("1m2s", 62), ("1h1m1s", 3661)])
def test_h2load_durations(text, seconds):
    assert load.parse_duration(text) == pytest.approx(seconds)


REFUSED = "unable to connect to 127.0.0.1:1 Connection refused\n"


@pytest.mark.parametrize("parse, text", [
    *((parse, text) for parse in (load.parse_wrk, load.parse_h2load) for text in ("", REFUSED)),
    *((load.parse_duration, text) for text in ("", "12", "ms", "1.00s,", "5 s"))])
def test_output_that_is_none_is_an_error(parse, text):
    with pytest.raises(BenchError):
        parse(text)


ROLLUP = """55d-7ff ---p 00000000 00:00 0    [rollup]
Rss:                4156 kB
Pss:                 612 kB
Pss_Anon:              5 kB
Private_Clean:         8 kB
Private_Dirty:       204 kB
Anonymous:           500 kB
"""
CPUS = "cpu  9 9 9 9 9 9 9 0 0 0\ncpu0 1 2 3 100 7 8 9 0 0 0\ncpu10 5 5 5 5 5 5 5 0 0 0\n"


@pytest.mark.parametrize("found, expected", [
    # A process may have any name.
    (sample.parse_stat("42 (a) b (c) S 7 42 42 0 -1 4194560 1 2 3 4 100 20 3 1 20 0 1 0 5 6\n"), 7),
    (sample.parse_kb(ROLLUP, "Pss"), 612),
    (sample.parse_kb("", "Pss"), 0),
    (sample.parse_kb(ROLLUP, "Private_Clean", "Private_Dirty"), 212),
    (sample.parse_kb("Name:\ta b\n\nVmPeak:\t  99 kB\nVmHWM:\t    4156 kB\n", "VmHWM"), 4156),
    # Time of processes, not that of interrupts; and of one CPU.
    (sample.parse_cpu_row(CPUS, 0), 6),
    (sample.parse_cpu_row(CPUS, 1), 0),
    # Grandchildren are of the family, and nobody else.
    (sample.family([10], {1: 0, 10: 1, 11: 10, 12: 11, 20: 1}), {10, 11, 12}),
    # The whole numbers of the status page.
    (server.parse_counters("ElasticVersion: 0.1.0\nElasticCPU: 0.25\nElasticCompressed: 12\n"
                           "ElasticSkipped-small: 3\n"),
     {"ElasticCompressed": 12, "ElasticSkipped-small": 3}),
])
def test_what_is_read_from_files_and_programs(found, expected):
    assert found == expected
