"""The plugins for PHP and Python, each under a server that people run: one behaviour for all."""

import itertools
import json
import signal

import pytest

from conftest import SOURCE, FastCgi, HttpServer, free_port, python_with, until
from elastic_compress.codings import CODINGS
from kit import check
from kit.elasticd import Elasticd
from kit.position import HARMS
from pages import TEXT

PHP_PAGES = {
    "/": "header('ETag: \"abc\"'); echo $text;",
    "/pieces": "foreach (str_split($text, 1000) as $piece) { echo $piece; ob_flush(); flush(); }",
    "/write": "echo substr($text, 0, 500); ob_flush(); echo substr($text, 500);",
    "/small": "echo 'small';",
    "/empty": "",
    "/image": "header('Content-Type: image/png'); echo $text;",
    "/json": "header('Content-Type: application/ld+json'); echo $text;",
    "/coded": "header('Content-Encoding: br'); echo $text;",
    "/fixed": "header('Cache-Control: public, no-transform'); echo $text;",
    "/vary": "header('Vary: Cookie'); echo $text;",
    "/missing": "http_response_code(404); echo $text;",
    "/part": "http_response_code(206); header('Content-Range: bytes 0-9/100'); echo $text;",
    "/cleaned": "echo 'thrown away'; ob_clean(); echo $text;",
}

# Other arguments of elastic_start(), behind the path.
PHP_RANGES = {"/range": (1, 6), "/low": (0, 6), "/high": (1, 10), "/reversed": (7, 6)}

# {coding: (floor, ceiling)}, the server's favourite first.
ALL_LEVELS = {"zstd": (1, 9), "br": (0, 5), "gzip": (1, 6)}


def start_php(folder, path):
    (folder / "text").write_bytes(TEXT)
    for name, code in {**PHP_PAGES, **dict.fromkeys(PHP_RANGES, "echo $text;")}.items():
        levels = "".join(f", {level}" for level in PHP_RANGES.get(name, ()))
        (folder / f"{name[1:] or 'index'}.php").write_text(
            f"<?php require '{SOURCE}/plugins/php/elastic.php';\n"
            f"$text = file_get_contents('{folder}/text');\n"
            f"elastic_start('{path}'{levels});\n{code}\n")
    return FastCgi(folder)


def start_python(module, options, folder, path, levels):
    """`{port}` in the options is where the server is to listen."""
    port = free_port()
    python = python_with(module, f"python3-{module}")
    return HttpServer([python, "-m", module, *options.format(port=port).split()], port,
                      folder / "log", POSITION=str(path), LEVELS=json.dumps(levels),
                      PYTHONDONTWRITEBYTECODE="1",
                      PYTHONPATH=f"{SOURCE}/plugins/python:{SOURCE}/tests/plugins")


def start_gunicorn(folder, path, levels=None):
    return start_python("gunicorn", "--bind 127.0.0.1:{port} --workers 1 wsgi_app:application",
                        folder, path, levels)


def start_uvicorn(folder, path, levels=None):
    return start_python("uvicorn", "--port {port} --lifespan off --log-level warning "
                        "asgi_app:application", folder, path, levels)


STARTS = {"php-fpm": start_php, "gunicorn": start_gunicorn, "uvicorn": start_uvicorn}


@pytest.fixture(scope="module", params=STARTS)
def server(request, tmp_path_factory, followed):
    started = STARTS[request.param](tmp_path_factory.mktemp("server"), followed.path)
    yield started
    started.close()


@pytest.fixture(scope="module", params=[start_gunicorn, start_uvicorn],
                ids=["gunicorn", "uvicorn"])
def all_codings(request, tmp_path_factory, followed):
    """A server of several codings."""
    started = request.param(tmp_path_factory.mktemp("server"), followed.path, ALL_LEVELS)
    yield started
    started.close()


def effort(answer):
    """What zlib notes in gzip's header: "least" for level 1, "most" for 9, or "between"."""
    check.encoded(answer, "gzip", TEXT)
    return {4: "least", 2: "most", 0: "between"}[answer.raw[8]]


def test_a_whole_page_has_its_length_and_a_weak_tag(server):
    answer = server.get("/")
    check.encoded(answer, "gzip", TEXT)
    assert answer.headers["Content-Length"] == str(len(answer.raw))
    assert answer.headers["Vary"] == "Accept-Encoding"
    assert answer.headers["ETag"] == 'W/"abc-gzip"'
    assert len(answer.raw) < len(TEXT) / 3


@pytest.mark.parametrize("path", ["/pieces", "/write"])
def test_a_page_in_pieces_is_streamed(server, path):
    answer = server.get(path)
    check.encoded(answer, "gzip", TEXT)
    assert "Content-Length" not in answer.headers
    assert answer.headers["Vary"] == "Accept-Encoding"


@pytest.mark.parametrize("accept,gzip", [
    ("gzip", True), ("br, gzip;q=0.5", True), ("*", True), ("GZIP", True), ("x-gzip", True),
    ("gzip;q=0", False), ("*, gzip;q=0", False), ("*;q=0", False), ("br", False),
    ("identity", False), ("", False), (None, False), ("gzip;q=x", False),
])
def test_the_coding_is_one_that_the_client_accepts(server, accept, gzip):
    answer = server.get("/", ae=accept)
    check.negotiated(answer, "gzip" if gzip else None, TEXT)
    assert answer.headers["Vary"] == "Accept-Encoding"
    assert answer.headers["ETag"] == ('W/"abc-gzip"' if gzip else '"abc"')


@pytest.mark.parametrize("path,coding,body,vary", [
    ("/small", None, b"small", "Accept-Encoding"), ("/empty", None, b"", "Accept-Encoding"),
    ("/image", None, TEXT, None), ("/coded", "br", TEXT, None), ("/fixed", None, TEXT, None),
    ("/part", None, TEXT, None),
])
def test_what_must_or_should_not_be_compressed_stays_as_it_is(server, path, coding, body, vary):
    answer = server.get(path)
    assert (answer.coding, answer.raw, answer.headers.get("Vary")) == (coding, body, vary)


@pytest.mark.parametrize("path,status,vary", [
    ("/json", 200, "Accept-Encoding"), ("/missing", 404, "Accept-Encoding"),
    ("/vary", 200, "Cookie, Accept-Encoding"),
])
def test_json_and_error_pages_are_compressed_and_vary_is_added_to(server, path, status, vary):
    answer = server.get(path)
    check.encoded(answer, "gzip", TEXT, status)
    assert answer.headers["Vary"] == vary


def test_head_is_not_compressed_and_varies(server):
    answer = server.get("/", method="HEAD")
    assert answer.coding is None
    assert answer.headers["Vary"] == "Accept-Encoding"


def test_output_that_php_cleaned_is_not_sent(server):
    if isinstance(server, FastCgi):
        check.encoded(server.get("/cleaned"), "gzip", TEXT)


@pytest.mark.parametrize("at,top,expected", [
    (0, 8, "least"), (1, 8, "between"), (7, 8, "between"), (8, 8, "most"),
    (3, 3, "most"), (1, 6, "between"),
])
def test_a_position_between_floor_and_top_is_a_level(server, position, at, top, expected):
    position.publish(at, top=top)
    assert {effort(server.get("/")) for _ in range(5)} == {expected}


def test_a_higher_position_makes_smaller_bodies(server, position):
    sizes = []
    for at in (0, 4, 8):
        position.publish(at)
        sizes.append(len(server.get("/").raw))
    assert sizes[0] > sizes[1] >= sizes[2]


@pytest.mark.parametrize("fraction", [0.25, 0.5, 0.9])
def test_a_fraction_is_a_share_of_requests(server, position, fraction):
    position.publish(fraction)
    efforts = [effort(server.get("/")) for _ in range(60)]
    assert set(efforts) == {"least", "between"}
    for n, upper in enumerate(itertools.accumulate(e == "between" for e in efforts), 1):
        assert abs(upper - fraction * n) < 3, (n, upper)


def test_bypass_compresses_nothing(server, position):
    position.publish(0, bypass=True)
    answer = server.get("/")
    check.plain(answer, TEXT)
    assert answer.headers["Vary"] == "Accept-Encoding"


@pytest.mark.parametrize("harm", HARMS)
def test_without_a_position_the_level_is_the_usual_one(server, position, harm):
    assert effort(server.get("/")) == "least"
    position.harm(harm)
    assert effort(server.get("/")) == "between"


@pytest.fixture
def elasticd(position, tmp_path):
    """A real one that publishes where the servers look, and the /proc/stat that it reads."""
    position.remove()  # one of the test's is stale only after minutes
    running = Elasticd(tmp_path, position.path)
    running.start()
    yield running
    running.close()


def test_a_real_elasticd_is_followed_until_it_is_gone(server, elasticd):
    def has_effort(expected):
        until(lambda: effort(server.get("/")) == expected, expected)

    elasticd.machine.busy = 100
    has_effort("least")
    elasticd.machine.busy = 0
    has_effort("most")
    elasticd.end(signal.SIGKILL)
    has_effort("between")  # the usual level: the position is stale


def test_php_has_the_range_of_levels_that_it_is_given(tmp_path, position, followed):
    php = start_php(tmp_path, followed.path)
    try:
        assert effort(php.get("/range")) == "least"
        position.publish(8)
        assert (effort(php.get("/range")), effort(php.get("/"))) == ("between", "most")
        for page in ("/low", "/high", "/reversed"):
            answer = php.get(page)
            assert answer.coding is None and b"gzip has 1 to 9" in answer.raw
    finally:
        php.close()


@pytest.mark.parametrize("accept,coding", [
    ("gzip, br, zstd", "zstd"), ("gzip, br", "br"), ("*", "zstd"), ("*, zstd;q=0", "br"),
    ("zstd;q=0.4, br;q=0.5, gzip;q=0.4", "br"), ("br;q=0", None), ("x-gzip, br;q=0.9", "gzip"),
    ("deflate", None),
])
def test_of_several_codings_the_client_gets_the_one_that_it_likes_best(all_codings, accept,
                                                                       coding):
    answer = all_codings.get("/", ae=accept)
    check.negotiated(answer, coding, TEXT)
    assert answer.headers["Vary"] == "Accept-Encoding"
    assert answer.headers["ETag"] == (f'W/"abc-{coding}"' if coding else '"abc"')


@pytest.mark.parametrize("coding", ALL_LEVELS)
@pytest.mark.parametrize("path", ["/pieces", "/write"])
def test_a_page_in_pieces_is_streamed_in_each_coding(all_codings, path, coding):
    answer = all_codings.get(path, ae=coding)
    check.encoded(answer, coding, TEXT)
    assert "Content-Length" not in answer.headers


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
    position.harm("stale")
    assert matches(default)
