"""The harness must notice the faults that the other tests rely on it to notice."""

import gzip
import itertools
import zlib

import brotli
import pytest
import zstandard

from kit import Connection, bodies, check, decode, sanitizer
from kit.client import Client, Request


@pytest.fixture(scope="module")
def stock(httpd_shared):
    """httpd without mod_elastic."""
    return httpd_shared(
        "SetOutputFilter DEFLATE", elastic=False, modules=["deflate", "filter"], tls=True, h2=True,
        files={"a.txt": bodies.text(50000)},
        cgi={"slow.cgi": "head('Content-Type: text/plain')\n"
                         "out('one')\ntime.sleep(0.3)\nout('two')\n",
             "short.cgi": "head('Content-Type: text/plain', 'Content-Length: 100')\nout('x')\n",
             "noisy.cgi": "head('Content-Type: text/plain')\nprint('oops', file=sys.stderr)\n"})


@pytest.mark.smoke
@pytest.mark.protocols()
def test_every_protocol_delivers_what_the_file_holds(stock, protocol):
    answer = stock.get("/a.txt", ae="gzip", protocol=protocol)
    assert answer.complete and answer.coding == "gzip" and answer.body == bodies.text(50000)
    assert stock.get("/a.txt", protocol=protocol).raw == bodies.text(50000)


@pytest.mark.protocols()
def test_streams_are_decoded_while_they_arrive(stock, protocol):
    with stock.stream("/slow.cgi", protocol=protocol) as stream:
        stream.wait_for(b"one")
        assert stream.read_all() == b"onetwo"


def test_unannounced_log_lines_are_complaints(stock):
    stock.get("/noisy.cgi")
    stock.wait_log("oops")
    assert any("oops" in line for line in stock.complaints())


def test_announced_log_lines_are_none(stock):
    stock.expect_log("oops")
    before = len(stock.log.lines("oops"))
    stock.get("/noisy.cgi")
    stock.wait_for(lambda: len(stock.log.lines("oops")) > before, 5, "the line")
    assert stock.complaints() == []


@pytest.mark.parametrize("coding,encode", [("gzip", gzip.compress), ("br", brotli.compress)])
def test_decoders_are_strict(coding, encode):
    whole = encode(bodies.text(3000))
    assert decode.decode(coding, whole) == bodies.text(3000)
    for wrong in (whole[:-1], whole + b"\0", whole + whole, b"", whole[:20] + b"\xff" + whole[21:]):
        with pytest.raises(decode.DecodeError):
            decode.decode(coding, wrong)


@pytest.mark.filterwarnings("ignore:asked again")
@pytest.mark.parametrize("each,wrong,fails", [(3, 1, True), (8, 2, True), (40, 2, False),
                                              (1, 0, False)])
def test_few_answers_may_be_asked_for_again(monkeypatch, each, wrong, fails):
    """Of `each` answers so many are wrong."""
    monkeypatch.setattr(check, "_answers", {True: 0, False: 0})
    answers = itertools.cycle([False] * wrong + [True] * (each - wrong))
    told = []
    for _ in range(100):
        try:
            assert check.once(lambda: next(answers), bool)
        except AssertionError as error:
            told.append(str(error))
    assert bool(told) == fails and all("asked for again" in text for text in told), told


def test_an_answer_that_stays_wrong_is_returned(monkeypatch):
    monkeypatch.setattr(check, "_answers", {True: 0, False: 0})
    asked = []
    with pytest.warns(UserWarning, match="asked again"):
        assert not check.once(lambda: asked.append(1), bool)
    assert len(asked) == 3


@pytest.mark.parametrize("nbytes", [100, 32768, 50000, 3_000_000])
def test_decoders_show_all_that_has_arrived(nbytes):
    """For a body that continues: a browser shows it up to the flush."""
    text = bodies.text(nbytes)
    gzipped, brotlied = zlib.compressobj(wbits=31), brotli.Compressor()
    zstandarded = zstandard.ZstdCompressor().compressobj()
    for coding, flushed in (
            ("gzip", gzipped.compress(text) + gzipped.flush(zlib.Z_SYNC_FLUSH)),
            ("br", brotlied.process(text) + brotlied.flush()),
            ("zstd", zstandarded.compress(text)
             + zstandarded.flush(zstandard.COMPRESSOBJ_FLUSH_BLOCK))):
        decoder = decode.decoder(coding)
        assert decoder.feed(flushed) == text, coding
        assert not decoder.finished()


def test_short_responses_are_incomplete(origin):
    origin.route("/short", lambda e: (e.until_close(200, {"Content-Length": 10}, [b"abc"])))
    with Connection(("127.0.0.1", origin.port)) as connection:
        answer = connection.request("/short")
    assert not answer.complete and answer.raw == b"abc"
    with pytest.raises(Exception, match="ended"):
        answer.body  # noqa: B018


@pytest.mark.parametrize("sent", [
    b"HTTP/1.1 2x0 OK\r\n\r\n", b"HTTP/1.1 200 OK\r\nno field\r\n\r\n",
    b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
    b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nab\r\n0\r\n\r\n",
    b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nab"])
def test_answers_against_the_rules_are_incomplete(origin, sent):
    origin.route("/wrong", lambda exchange: exchange.send(sent))
    [answer] = Client(("127.0.0.1", origin.port)).exchange([Request("GET", "/wrong")])
    assert not answer.complete and answer.why


def test_reports_of_threadsanitizer_count_where_memory_is_the_modules():
    edge = "=" * 18 + "\n"
    pooled = "WARNING: ThreadSanitizer: data race (pid=1)\n #0 f (mod_elastic.so+0x1)\n"
    threads = "\n  Thread T1 created at:\n #0 h (mod_elastic.so+0x3)\n\nSUMMARY: mod_elastic/x.c\n"
    other = f"{pooled}  Location is heap block of size 8:\n #0 g (libapr-1.so.0+0x1)\n{threads}"
    own = f"{pooled}  Location is global 'x' of size 8 at 0x1 (mod_elastic.so+0x2)\n{threads}"
    fatal = "FATAL: ThreadSanitizer: unexpected memory mapping\n"
    text = edge + pooled + edge + edge + other + edge + edge + own + edge + edge + fatal + edge
    assert sanitizer.of_module(text + "ThreadSanitizer: reported 3 warnings\n") == [own, fatal]
    assert sanitizer.of_module("ERROR: AddressSanitizer: x") == ["ERROR: AddressSanitizer: x"]


@pytest.mark.parametrize("frame,is_ours", [
    ("in brotli_run src/engines/brotli.c:179", True), ("in el_pool_take", True),
    ("(/tmp/elastic-x/mod_elastic.so+0x1a2b)", True), ("in pcre2_compile_8 src/pcre2.c:9", False)])
def test_leaks_are_the_modules_by_any_frame(frame, is_ours):
    leak = f"Direct leak of 9 byte(s) in 1 object(s) allocated from:\n    #0 in malloc\n    #1 {frame}"
    assert sanitizer.leaks(f"==1==ERROR: LeakSanitizer\n\n{leak}\n\nSUMMARY: 9") == [leak] * is_ours
