"""What the kit reads: pipelined responses off the wire; h2load's reports, /proc and the module's
status."""

import dataclasses
import math
import types
import zlib

import pytest

from benchkit import codecs, corpus, http1, load, sample, server
from benchkit.experiments import first, lan_packets
from benchkit.tools import BenchError
from codeckit import dictionaries

LENGTH = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello"
CHUNKED = (b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\ncontent-encoding: gzip\r\n\r\n"
           b"5\r\nhello\r\n7;x=1\r\n, world\r\n0\r\n\r\n")
EMPTY = b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"


@pytest.mark.parametrize("step", [1, 2, 3, 7, 1000])
def test_pipelined_responses_in_pieces(step):
    stream = LENGTH + CHUNKED + EMPTY + CHUNKED + LENGTH
    parser = http1.Responses()
    bodies, body = [], b""
    for start in range(0, len(stream), step):
        for piece, complete in parser.feed(stream[start:start + step]):
            body += piece
            if complete:
                bodies.append((body, b"content-encoding" in parser.fields))
                body = b""
    assert bodies == [(b"hello", False), (b"hello, world", True), (b"", False),
                      (b"hello, world", True), (b"hello", False)]


def test_part_of_a_chunk_is_given_at_once():
    """The links in a first segment must be seen before the rest of its chunk is there."""
    parser = http1.Responses()
    assert list(parser.feed(CHUNKED[:CHUNKED.index(b"llo")])) == [(b"he", False)]


@pytest.mark.parametrize("text", [b"HTTP/1.1 200 OK\r\n\r\n", b"nonsense\r\n\r\n",
                                  b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nx\r\n"])
def test_what_is_no_response_or_has_no_end_is_an_error(text):
    with pytest.raises(ValueError):
        list(http1.Responses().feed(text))
    with pytest.raises(RuntimeError, match="404"):
        lan_packets.Visit(ORDERS).take(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n")


def response(coding, body):
    return (f"HTTP/1.1 200 OK\r\nContent-Encoding: {coding}\r\nContent-Length: {len(body)}\r\n"
            "\r\n").encode() + body


def cut(raw, size):
    return [raw[at:at + size] for at in range(0, len(raw), size)]


@pytest.mark.parametrize("coding", ["gzip", "br", "zstd"])
def test_what_a_decoder_has_after_each_piece(coding):
    text = corpus.invented_html(40_000)
    body = codecs.encode(text, coding, 18 if coding == "br" else 15)
    raw = response(coding, body)
    lengths, sent = first.decoded(cut(raw, 1000), coding, text)
    assert sent == len(body) and lengths == sorted(lengths) and lengths[-1] == len(text)
    assert len(lengths) == -(-len(raw) // 1000)
    assert first.reached(lengths, 1) < first.reached(lengths, len(text))
    assert first.decoded([raw], "gzip" if coding != "gzip" else "br", text) is None
    with pytest.raises(codecs.WrongBody):
        first.decoded([raw], coding, text[1:])


def test_the_head_of_a_difference_is_no_piece():
    text = corpus.invented_html(9000)
    with dictionaries.Dcz(text[:8000]) as prepared:
        body = prepared.encode(text)
    lengths, sent = first.decoded(cut(response("dcz", body), 50), "dcz", text, text[:8000])
    assert sent == len(body) and lengths[-1] == len(text)


@pytest.mark.parametrize("rate, holds", [("1mbit", 1514), ("10mbit", 1514), ("100mbit", 2500),
                                         ("1gbit", 25000)])
def test_bucket_is_one_frame_or_what_late_timers_need(rate, holds):
    assert lan_packets.bucket(rate) == holds
    assert lan_packets.lead(rate) == pytest.approx(holds / lan_packets.bytes_per_second(rate))


ORDERS = lan_packets.Orders("h", 1, "/d/page.html", "gzip", images=3)


@pytest.mark.parametrize("encoded", [False, True])
@pytest.mark.parametrize("size", [1, 10, 1000])
def test_links_are_found_once_however_the_page_is_cut(encoded, size):
    plain = b'<p>x<img src="a.gif" alt=""> <img src="b.gif">' + b"y" * 300 + b'<img src="c.gif">'
    page = plain
    if encoded:
        encoder = zlib.compressobj(6, zlib.DEFLATED, 31)
        page = encoder.compress(page) + encoder.flush()
    one = lan_packets.Visit(dataclasses.replace(ORDERS, coding="gzip" if encoded else ""))
    coding = b"Content-Encoding: gzip\r\n" if encoded else b""
    one.take(b"HTTP/1.1 200 OK\r\n%sContent-Length: %d\r\n\r\n" % (coding, len(page)))
    for start in range(0, len(page), size):
        one.take(page[start:start + size])
    assert one.pending.count(b"GET ") == one.asked == 3
    assert b"GET /d/c.gif HTTP/1.1" in one.pending
    one.check(plain)
    with pytest.raises(codecs.WrongBody, match="/d/page.html does not decode"):
        one.check(plain[:-1])
    one.orders.coding = "br"
    with pytest.raises(codecs.WrongBody, match="/d/page.html came with Content-Encoding"):
        one.check(plain)


def test_requests_wait_for_a_full_buffer_or_the_last_link():
    one, sent = lan_packets.Visit(ORDERS), []
    sink = types.SimpleNamespace(sendall=sent.append)
    one.take_page(b'<img src="a.gif">')
    one.send(sink)
    assert not sent
    one.take_page(b'<img src="b.gif"><img src="c.gif">')
    one.send(sink)
    assert len(sent) == 1 and not one.pending


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


def test_h2load_summary_and_log():
    log = "\n".join(f"1795216134012{n:03}\t200\t{n * 1000}" for n in range(1, 401))
    seen = load.parse_h2load(H2LOAD, log)
    assert (seen.requests, seen.failed, seen.bytes) == (5660, 9, 919716414)
    assert seen.seconds == pytest.approx(0.50123)
    assert (seen.p50_ms, seen.p95_ms) == (200, 380)
    # Latencies are of good responses alone; a percentile has 20 of them beyond it.
    seen = load.parse_h2load(H2LOAD, "1\t200\t1500\n2\t503\t20\n3\t-1\t30\n4\t204\t500\n5\t20")
    assert seen.p50_ms == 0.5 and math.isnan(seen.p95_ms)
    assert math.isnan(load.parse_h2load(H2LOAD, log.rpartition("\n")[0]).p95_ms)
    seen = load.parse_h2load(H2LOAD_REFUSED)
    assert (seen.requests, seen.failed, seen.rate) == (0, 2, 0) and math.isnan(seen.p50_ms)


@pytest.mark.parametrize("text, seconds", [
    ("241us", 0.000241), ("501.23ms", 0.50123), ("1.00s", 1), ("20.05s", 20.05),
    ("1m2s", 62), ("1h1m1s", 3661)])
def test_h2load_durations(text, seconds):
    assert load.parse_duration(text) == pytest.approx(seconds)


REFUSED = "unable to connect to 127.0.0.1:1 Connection refused\n"


@pytest.mark.parametrize("parse, text", [
    *((load.parse_h2load, text) for text in ("", REFUSED)),
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
