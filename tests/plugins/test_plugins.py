"""The plugins for PHP and Python, each under a server that people run: one behaviour for all."""

import itertools

import pytest

from conftest import (HARMS, SOURCE, TEXT, Elasticd, FastCgi, HttpServer, free_port, need,
                      python_with)

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


class Php:
    """Pages by the paths of the other servers."""

    def __init__(self, folder, path):
        (folder / "text").write_bytes(TEXT)
        for name, code in PHP_PAGES.items():
            (folder / ((name[1:] or "index") + ".php")).write_text(
                f"<?php require '{SOURCE}/plugins/php/elastic.php';\n"
                f"$text = file_get_contents('{folder}/text');\n"
                f"elastic_start('{path}');\n{code}\n")
        self.server = FastCgi(folder, {})

    def get(self, path, **arguments):
        return self.server.get(f"{path[1:] or 'index'}.php", **arguments)

    def close(self):
        self.server.close()


def start_gunicorn(folder, path):
    python = python_with("gunicorn")
    need(python, "gunicorn")
    port = free_port()
    return HttpServer([python, "-m", "gunicorn", "--bind", f"127.0.0.1:{port}", "--workers", "1",
                       "wsgi_app:application"], port, folder / "log", environment(path))


def start_uvicorn(folder, path):
    python = python_with("uvicorn")
    need(python, "uvicorn (Debian: python3-uvicorn)")
    port = free_port()
    return HttpServer([python, "-m", "uvicorn", "--port", str(port), "--lifespan", "off",
                       "--log-level", "warning", "asgi_app:application"], port, folder / "log",
                      environment(path))


def environment(path):
    return {"POSITION": str(path), "PYTHONDONTWRITEBYTECODE": "1",
            "PYTHONPATH": f"{SOURCE}/plugins/python:{SOURCE}/tests/plugins"}


STARTS = {"php-fpm": Php, "gunicorn": start_gunicorn, "uvicorn": start_uvicorn}


@pytest.fixture(scope="module", params=STARTS)
def server(request, tmp_path_factory, position):
    started = STARTS[request.param](tmp_path_factory.mktemp("server"), position.path)
    yield started
    started.close()


def assert_text(answer, coding="gzip"):
    assert answer.get("content-encoding") == coding
    assert answer.body == TEXT


def test_a_whole_page(server):
    answer = server.get("/")
    assert_text(answer)
    assert answer.status == 200
    assert answer.get("content-length") == str(len(answer.raw))
    assert answer.get("vary") == "Accept-Encoding"
    assert answer.get("etag") == 'W/"abc-gzip"'
    assert len(answer.raw) < len(TEXT) / 3


@pytest.mark.parametrize("path", ["/pieces", "/write"])
def test_a_page_in_pieces(server, path):
    answer = server.get(path)
    assert_text(answer)
    assert answer.get("content-length") is None
    assert answer.get("vary") == "Accept-Encoding"


@pytest.mark.parametrize("accept,gzip", [
    ("gzip", True), ("br, gzip;q=0.5", True), ("*", True), ("GZIP", True), ("x-gzip", True),
    ("gzip;q=0", False), ("*, gzip;q=0", False), ("*;q=0", False), ("br", False),
    ("identity", False), ("", False), ("gzip;q=x", False),
])
def test_what_clients_accept(server, accept, gzip):
    answer = server.get("/", accept=accept)
    assert_text(answer, "gzip" if gzip else None)
    assert answer.get("vary") == "Accept-Encoding"
    if not gzip:
        assert answer.get("etag") == '"abc"'


@pytest.mark.parametrize("path,vary", [
    ("/small", "Accept-Encoding"), ("/empty", "Accept-Encoding"), ("/image", None),
    ("/coded", None), ("/fixed", None), ("/part", None),
])
def test_what_stays_as_it_is(server, path, vary):
    answer = server.get(path)
    assert answer.get("content-encoding") == ("br" if path == "/coded" else None)
    assert answer.raw == {"/small": b"small", "/empty": b""}.get(path, TEXT)
    assert answer.get("vary") == vary


@pytest.mark.parametrize("path", ["/json", "/missing"])
def test_what_else_is_compressed(server, path):
    assert_text(server.get(path))


def test_vary_is_added_to(server):
    answer = server.get("/vary")
    assert_text(answer)
    values = [value.strip() for key, value in answer.headers if key.lower() == "vary"]
    assert ", ".join(values) == "Cookie, Accept-Encoding"


def test_head(server):
    answer = server.get("/", method="HEAD")
    assert answer.get("content-encoding") is None
    assert answer.get("vary") == "Accept-Encoding"


def test_output_that_was_cleaned(server):
    if isinstance(server, Php):
        assert_text(server.get("/cleaned"))


@pytest.mark.parametrize("at,effort", [(0, "least"), (1, "between"), (7, "between"), (8, "most")])
def test_a_position_is_a_level(server, position, at, effort):
    position.write(at)
    for _ in range(5):
        answer = server.get("/")
        assert_text(answer)
        assert answer.effort == effort


def test_a_ladder_of_another_height(server, position):
    position.write(3, top=3)
    assert server.get("/").effort == "most"
    position.write(1, top=6)
    assert server.get("/").effort == "between"


def test_more_effort_makes_less(server, position):
    sizes = []
    for at in (0, 4, 8):
        position.write(at)
        sizes.append(len(server.get("/").raw))
    assert sizes[0] > sizes[1] >= sizes[2]


@pytest.mark.parametrize("fraction", [0.25, 0.5, 0.9])
def test_a_fraction_is_a_share_of_requests(server, position, fraction):
    position.write(fraction)
    efforts = [server.get("/").effort for _ in range(60)]
    assert set(efforts) == {"least", "between"}
    for n, upper in enumerate(itertools.accumulate(e == "between" for e in efforts), 1):
        assert abs(upper - fraction * n) < 3, (n, upper)


def test_bypass_compresses_nothing(server, position):
    position.write(0, bypass=True)
    answer = server.get("/")
    assert_text(answer, None)
    assert answer.get("vary") == "Accept-Encoding"


@pytest.mark.parametrize("harm", HARMS)
def test_without_a_position_the_level_is_the_usual_one(server, position, harm):
    assert server.get("/").effort == "least"
    HARMS[harm](position)
    position.settle()
    answer = server.get("/")
    assert_text(answer)
    assert answer.effort == "between"


@pytest.fixture
def elasticd(position, tmp_path):
    """A real one that publishes where the servers look, and the /proc/stat that it reads."""
    with Elasticd(position.path, tmp_path / "stat") as running:
        yield running


def test_a_real_elasticd_is_followed(server, position, elasticd):
    elasticd.wait_for(server, busy=1, effort="least")
    elasticd.wait_for(server, busy=0, effort="most")
    elasticd.kill()
    elasticd.wait_for(server, busy=0, effort="between")  # the usual level: it is stale
