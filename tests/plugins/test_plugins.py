"""The plugins for PHP and Python, each under a server that people run: one behaviour for all."""

import itertools
import signal
import time

import pytest
import zstandard

from conftest import READERS_CACHE, PhpServer, PythonServer
from elastic_compress import ElasticWSGI, Follower
from elastic_compress.codings import CODINGS
from kit import check
from kit.elasticd import Elasticd
from kit.position import HARMS
from kit.process import until
from pages import PAGES, TEXT

# {path: further arguments of elastic_start()}
PHP_RANGES = {"/range": ", 1, 6", "/low": ", 0, 6", "/high": ", 1, 10", "/reversed": ", 7, 6"}

# {coding: (floor, ceiling)}, the server's favourite first.
ALL_LEVELS = {"zstd": (1, 9), "br": (0, 5), "gzip": (1, 6)}


@pytest.fixture(scope="module")
def php(followed):
    def script(page, first="", arguments=""):
        fields = "".join(f"header('{name}: {value}');\n" for name, value in (
            ("Content-Type", page.type), *page.headers))
        pieces = "ob_flush(); flush();\n".join(f"echo '{piece.decode()}';" for piece in page.pieces)
        return f"<?php require 'elastic.php';\nelastic_start('{followed.path}'{arguments});\n" \
               f"http_response_code({page.status});\n{fields}{first}{pieces}\n"

    server = PhpServer({
        **{path: script(page) for path, page in PAGES.items()},
        "/cleaned": script(PAGES["/"], "echo 'thrown away'; ob_clean();\n"),
        **{path: script(PAGES["/"], "", arguments) for path, arguments in PHP_RANGES.items()}})
    yield server
    server.stop()


@pytest.fixture(scope="module", params=["php-fpm", "gunicorn", "uvicorn"])
def server(request, followed):
    if request.param == "php-fpm":
        yield request.getfixturevalue("php")
        return
    started = PythonServer(request.param, followed.path)
    yield started
    started.stop()


@pytest.fixture(scope="module", params=["gunicorn", "uvicorn"])
def all_codings(request, followed):
    started = PythonServer(request.param, followed.path, ALL_LEVELS)
    yield started
    started.stop()


def effort(answer):
    """What zlib notes in gzip's header: "least" for level 1, "most" for 9, or "between"."""
    check.encoded(answer, "gzip", TEXT)
    return {4: "least", 2: "most", 0: "between"}[answer.raw[8]]


# --- what is compressed


@pytest.mark.parametrize("path,status,vary,is_whole", [
    ("/", 200, "Accept-Encoding", True), ("/pieces", 200, "Accept-Encoding", False),
    ("/write", 200, "Accept-Encoding", False), ("/json", 200, "Accept-Encoding", True),
    ("/missing", 404, "Accept-Encoding", True), ("/vary", 200, "Cookie,Accept-Encoding", True)])
def test_what_is_compressed(server, position, path, status, vary, is_whole):
    """A page in one piece has its length, one in pieces is streamed; tags are weak."""
    answer = server.get(path)
    check.encoded(answer, "gzip", TEXT, status)
    assert answer.headers["Vary"].replace(" ", "") == vary and len(answer.raw) < len(TEXT) / 3
    assert answer.headers.get("Content-Length") == (str(len(answer.raw)) if is_whole else None)
    assert answer.headers.get("ETag") == ('W/"abc-gzip"' if path == "/" else None)


@pytest.mark.parametrize("path,coding,body,vary", [
    ("/small", None, b"small", "Accept-Encoding"), ("/empty", None, b"", "Accept-Encoding"),
    ("/image", None, TEXT, None), ("/coded", "br", TEXT, None), ("/fixed", None, TEXT, None),
    ("/part", None, TEXT, None)])
def test_what_must_or_should_not_be_compressed_stays_as_it_is(server, position, path, coding, body,
                                                              vary):
    answer = server.get(path)
    assert (answer.coding, answer.raw, answer.headers.get("Vary")) == (coding, body, vary)


@pytest.mark.parametrize("accept,gzip", [
    ("gzip", True), ("br, gzip;q=0.5", True), ("*", True), ("GZIP", True), ("x-gzip", True),
    ("gzip;q=0", False), ("*, gzip;q=0", False), ("*;q=0", False), ("br", False),
    ("identity", False), ("", False), (None, False), ("gzip;q=x", False)])
def test_the_coding_is_one_that_the_client_accepts(server, position, accept, gzip):
    answer = server.get("/", ae=accept)
    check.negotiated(answer, "gzip" if gzip else None, TEXT)
    assert answer.headers["ETag"] == ('W/"abc-gzip"' if gzip else '"abc"')


def test_head_is_not_compressed_and_varies(server, position):
    answer = server.get("/", method="HEAD")
    assert answer.coding is None and answer.headers["Vary"] == "Accept-Encoding"


def test_output_that_php_cleaned_is_not_sent(php, position):
    check.encoded(php.get("/cleaned"), "gzip", TEXT)


@pytest.mark.parametrize("accept,coding", [
    ("gzip, br, zstd", "zstd"), ("gzip, br", "br"), ("*", "zstd"), ("*, zstd;q=0", "br"),
    ("zstd;q=0.4, br;q=0.5, gzip;q=0.4", "br"), ("br;q=0", None), ("x-gzip, br;q=0.9", "gzip"),
    ("deflate", None)])
def test_of_several_codings_the_client_gets_the_one_that_it_likes_best(all_codings, position,
                                                                       accept, coding):
    answer = all_codings.get("/", ae=accept)
    check.negotiated(answer, coding, TEXT)
    assert answer.headers["ETag"] == (f'W/"abc-{coding}"' if coding else '"abc"')
    for path in ("/pieces", "/write"):
        answer = all_codings.get(path, ae=accept)
        check.negotiated(answer, coding, TEXT)
        assert "Content-Length" not in answer.headers


@pytest.mark.parametrize("first", [1 << 20, 30_000, 4000])
def test_zstd_gives_its_first_text_with_two_segments(first):
    """Of a body in one piece, in few, in many; without a flush where it is in one."""
    encoder, decoder = CODINGS["zstd"].encoder(3), zstandard.ZstdDecompressor().decompressobj()
    text = " ".join(str(number * number) for number in range(20_000)).encode()
    encoded = encoder.add(text[:first])
    if first < len(text):
        encoded += encoder.flush() + encoder.add(text[first:])
    assert decoder.decompress(encoded[:2 * 1448])
    assert decoder.decompress(encoded[2 * 1448:] + encoder.finish())
    assert decoder.eof


# --- levels


@pytest.mark.parametrize("at,top,expected", [
    (0, 8, "least"), (1, 8, "between"), (7, 8, "between"), (8, 8, "most"),
    (3, 3, "most"), (1, 6, "between")])
def test_a_position_between_floor_and_top_is_a_level(server, position, at, top, expected):
    position.publish(at, top=top)
    assert {effort(server.get("/")) for _ in range(5)} == {expected}


@pytest.mark.parametrize("fraction", [0.25, 0.5, 0.9])
def test_a_fraction_is_a_share_of_requests(server, position, fraction):
    position.publish(fraction)
    efforts = [effort(server.get("/")) for _ in range(60)]
    assert set(efforts) == {"least", "between"}
    for n, upper in enumerate(itertools.accumulate(e == "between" for e in efforts), 1):
        assert abs(upper - fraction * n) < 3, (n, upper)


def test_bypass_compresses_nothing(server, position):
    position.publish(0, bypass=True)
    check.plain(server.get("/"), TEXT)


@pytest.mark.parametrize("harm", HARMS)
def test_without_a_position_the_level_is_the_usual_one(server, position, harm):
    assert effort(server.get("/")) == "least"
    HARMS[harm](position)
    time.sleep(READERS_CACHE)
    assert effort(server.get("/")) == "between"


def test_a_real_elasticd_is_followed_until_it_is_gone(server, position, tmp_path):
    def becomes(expected):
        until(lambda: effort(server.get("/")) == expected, 60, expected)

    position.remove()  # one of the test's is stale only after minutes
    running = Elasticd(tmp_path, position.path)
    try:
        running.start()
        running.machine.busy = 100
        becomes("least")
        running.machine.busy = 0
        becomes("most")
        running.end(signal.SIGKILL)
        becomes("between")  # the usual level: the position is stale
    finally:
        running.close()


def test_php_has_the_range_of_levels_that_it_is_given(php, position):
    assert effort(php.get("/range")) == "least"
    position.publish(8)
    assert (effort(php.get("/range")), effort(php.get("/"))) == ("between", "most")
    for path in ("/low", "/high", "/reversed"):
        answer = php.httpd.get(f"{path}.php", ae="gzip")
        assert answer.status == 500 and "gzip has 1 to 9" in php.errors.read_text()
        php.errors.write_text("")


@pytest.mark.parametrize("coding,default", [("zstd", 3), ("br", 5), ("gzip", 6)])
def test_each_coding_has_its_own_range_of_levels(all_codings, position, coding, default):
    def matches(level):
        encoder = CODINGS[coding].encoder(level)
        answer = all_codings.get("/", ae=coding)
        check.encoded(answer, coding, TEXT)
        return len(answer.raw) == len(encoder.add(TEXT) + encoder.finish())

    floor, ceiling = ALL_LEVELS[coding]
    assert matches(floor) and not matches(ceiling)
    position.publish(8)
    assert matches(ceiling) and not matches(floor)
    HARMS["stale"](position)
    time.sleep(READERS_CACHE)
    assert matches(default)


@pytest.mark.parametrize("levels,text", [
    ({"deflate": (1, 9)}, "deflate: the codings are gzip, br, zstd"),
    ({"gzip": (0, 9)}, "gzip 0 9: the levels are 1 to 9"),
    ({"br": (0, 12)}, "br 0 12: the levels are 0 to 11"),
    ({"zstd": (5, 4)}, "zstd 5 4: the levels are 1 to 19")])
def test_levels_that_do_not_exist_are_refused_at_the_start(levels, text):
    with pytest.raises(ValueError, match=text):
        ElasticWSGI(None, levels=levels)


# --- how often the Python plugin reads


class CountingFollower(Follower):
    """Looks at a clock that stands still unless the test moves it, and counts what it reads."""

    def __init__(self, path):
        self.now = time.monotonic()
        self.reads = 0
        super().__init__(path, lambda: self.now)

    def read(self):
        self.reads += 1
        return super().read()


def test_a_position_is_kept_for_100_ms(position):
    follower = CountingFollower(position.path)
    assert follower.setup(range(1, 10), 6) == 1
    position.write(8)
    follower.now += 0.09
    assert follower.setup(range(1, 10), 6) == 1 and follower.reads == 1
    follower.now += 0.02
    assert follower.setup(range(1, 10), 6) == 9 and follower.reads == 2


def test_an_absent_file_is_not_looked_for_at_each_request(tmp_path):
    follower = CountingFollower(tmp_path / "none")
    assert [follower.setup("abc", "b") for _ in range(50)] == ["b"] * 50
    assert follower.reads == 1
