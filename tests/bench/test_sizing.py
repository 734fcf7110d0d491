"""scripts/sizing: which pages it finds, what it takes for today's configuration, what it says."""

import functools
import html.parser
import http.server
import pathlib
import re
import subprocess
import sys
import threading
import zlib

import pytest

from benchkit import others, run, server
from sizingkit import now, pages, plans, report, sent, setups

ROOT = pathlib.Path(__file__).resolve().parents[2]
TEXT = b"".join(b"<p>Paragraph %d of some text that repeats itself.</p>\n" % i for i in range(400))
SITE = {"index.html": b'<a href="b/c.html#top">c</a><script src=a.js></script>'
                      b'<a href="http://elsewhere.invalid/">x</a><a href="gone.html">y</a>' + TEXT,
        "a.js": TEXT, "b/c.html": TEXT, "photo.png": bytes(range(256)) * 40, "small.txt": b"small",
        "a.js.gz": b"precompressed", ".git/config": TEXT}


@pytest.fixture
def folder(tmp_path):
    root = tmp_path / "site"
    for name, data in SITE.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    return root


@pytest.fixture
def url(folder):
    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *_):
            pass

    server = http.server.ThreadingHTTPServer(
        ("127.0.0.1", 0), functools.partial(Quiet, directory=str(folder)))
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}/"
    server.shutdown()
    thread.join()
    server.server_close()


def sizing(*arguments):
    return subprocess.run([sys.executable, ROOT / "scripts/sizing", *map(str, arguments)],
                          capture_output=True, text=True, timeout=300)


def test_pages_of_a_folder(folder):
    found = pages.collect(str(folder), 100, print)
    assert [(page.name, page.is_compressible()) for page in found] == [
        ("a.js", True), ("b/c.html", True), ("index.html", True), ("photo.png", False),
        ("small.txt", True)]
    assert len(pages.collect(str(folder), 2, print)) <= 2


def test_pages_of_a_site(url):
    said = []
    found = pages.collect(url, 100, said.append)
    assert [page.name for page in found] == ["/", "/b/c.html", "/a.js"]
    assert len(said) == 1 and "gone.html" in said[0]
    assert len(pages.collect(url, 2, said.append)) == 2


@pytest.mark.parametrize("given", ["/nowhere/at/all", "ftp://127.0.0.1/", "http://127.0.0.1:1/"])
def test_pages_that_cannot_be_had(given, tmp_path):
    done = sizing(given, "--out", tmp_path / "page.html")
    assert done.returncode == 1 and given.split("//")[-1].rstrip("/") in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("text,gzip,br", [
    ("AddOutputFilterByType DEFLATE text/html", 6, 0),
    ("SetOutputFilter DEFLATE\nDeflateCompressionLevel 9", 9, 0),
    ("DeflateCompressionLevel 9", 0, 0),
    ("AddOutputFilterByType BROTLI_COMPRESS;DEFLATE text/html\nBrotliCompressionQuality 4", 6, 4),
    ("AddOutputFilterByType BROTLI_COMPRESS text/html", 0, 5)])
def test_the_configuration_of_today(tmp_path, text, gzip, br):
    (tmp_path / "mods-enabled").mkdir()
    (tmp_path / "mods-enabled" / "deflate.conf").write_text(text)
    config = tmp_path / "apache2.conf"
    config.write_text("# SetOutputFilter DEFLATE\nIncludeOptional mods-enabled/*.conf\n"
                      "Include apache2.conf\n")
    assert now.find(str(config)) == (gzip, br, str(config))


# Text that no two levels make the same bytes of.
WORDS = "".join(f"<p>{n * n % 9973} {'abcdefgh'[n % 7:]} of {n % 613} and {n ^ 1093}</p>\n"
                for n in range(1500)).encode()
LINKS = b"".join(b'<a href="%d.html">page</a>' % n for n in range(4))

DEFLATE = "AddOutputFilterByType DEFLATE text/html\nDeflateCompressionLevel {}\n"
BROTLI = "AddOutputFilterByType BROTLI_COMPRESS text/html\nBrotliCompressionQuality {}\n"


def serve(made):
    """Starts the server with four pages, a stylesheet and a small page."""
    for n in range(4):
        (made.site / f"{n}.html").write_bytes(WORDS[n * 100:])
    (made.site / "plain.css").write_bytes(WORDS)
    (made.site / "index.html").write_bytes(LINKS + b'<link href="plain.css">' + WORDS)
    return made.start()


@pytest.mark.parametrize("make,coding,library,level", [
    (lambda one: server.Httpd(one, "s", DEFLATE.format(4), modules=("filter", "deflate"),
                              elastic=False), "gzip", "zlib", 4),
    (lambda one: server.Httpd(one, "s", DEFLATE.format(6), modules=("filter", "deflate"),
                              elastic=False), "gzip", "zlib", 6),
    (lambda one: server.Httpd(one, "s", BROTLI.format(3), modules=("filter", "brotli"),
                              elastic=False), "br", "brotli", 3),
    (lambda one: others.Nginx(one, "s", "gzip on; gzip_comp_level 2;"), "gzip", "zlib", 2),
    (lambda one: others.Nginx(one, "s", "gzip off;"), "", "", 0)],
    ids=["mod_deflate 4", "mod_deflate 6", "mod_brotli 3", "nginx 2", "nginx, nothing"])
def test_today_is_what_a_server_sends(tmp_path, open_folder, make, coding, library, level):
    """The level that the sizes are of, and the bytes of the body, to the byte."""
    with run.Run("sizing", out=tmp_path / "out") as one:
        started = serve(make(one))
        found = pages.collect(started.url("/index.html"), 100, print)
        by_name = {page.name: page for page in found}
        today = sent.Today(found)
        encoders = setups.Encoders(max(len(page.body) for page in found))
        result = today.of(by_name["/0.html"], encoders)
        _, headers, body = started.get("/0.html", {"Accept-Encoding": pages.ACCEPTED})
    assert by_name["/0.html"].body == WORDS
    assert (headers.get("Content-Encoding") or "") == coding
    assert today.of(by_name["/plain.css"], encoders) is None
    if not coding:
        assert result is None and today.name == "no compression"
        return
    assert (result.coding, result.level, result.nbytes) == (coding, level, len(body))
    assert today.name == f"{coding}, {library} {level}" and result.seconds > 0


def test_sizes_of_no_level_are_said_to_be_near_one():
    page = pages.Page("/", "text/html", WORDS, pages.Sent("gzip", len(WORDS) // 2))
    today = sent.Today([page])
    assert today.name.startswith("gzip, nearest to ")
    odd = pages.Page("/", "text/html", WORDS, pages.Sent("deflate", 5000))
    assert sent.Today([odd]).of(odd, None) == setups.Result("deflate", 0, 5000, 0.0)


def test_the_summary_of_a_site_is_against_what_it_sends(tmp_path, open_folder):
    with run.Run("sizing", out=tmp_path / "out") as one:
        started = serve(others.Nginx(one, "s", "gzip on; gzip_comp_level 2;"))
        done = sizing(started.url("/index.html"), "--out", tmp_path / "page.html")
        config = tmp_path / "httpd.conf"
        config.write_text("AddOutputFilterByType DEFLATE text/html\n")
        other = sizing(started.url("/index.html"), "--out", tmp_path / "other.html",
                       "--config", config)
    assert done.returncode == 0, done.stderr
    assert any(line.startswith("today: gzip, zlib 2 ") for line in done.stdout.splitlines())
    assert pages.ACCEPTED in (tmp_path / "page.html").read_text()
    assert any(line.startswith("today: mod_deflate 6 ") for line in other.stdout.splitlines())


def test_a_server_that_compresses_though_nothing_is_accepted():
    encoder = zlib.compressobj(wbits=31)
    body = encoder.compress(WORDS) + encoder.flush()
    assert pages.plain(pages.Answer("/", "text/html", "gzip", body)) == WORDS
    with pytest.raises(ValueError, match="br"):
        pages.plain(pages.Answer("/", "text/html", "br", body))


def test_what_is_chosen_follows_the_load():
    fast, small = setups.Result("gzip", 1, 12000, 0.0001), setups.Result("br", 6, 10000, 0.002)
    assert plans.choose([fast, small], 5e6, 0) is small
    assert plans.choose([fast, small], 5e6, 0.8) is fast
    assert plans.choose([fast, small], 5e6, 0.8, most=11000) is small
    assert plans.choose([fast, small], 5e6, 0.8, most=9000) is fast


class Texts(html.parser.HTMLParser):
    def __init__(self, text):
        super().__init__()
        self.tags, self.data = [], []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)

    def handle_data(self, data):
        self.data.append(data)


def test_the_summary_comes_first(folder, tmp_path):
    out, config = tmp_path / "page.html", tmp_path / "httpd.conf"
    config.write_text("AddOutputFilterByType DEFLATE text/html text/plain\n")
    done = sizing(folder, "--out", out, "--config", config)
    assert done.returncode == 0, done.stderr
    first, *lines = done.stdout.splitlines()
    assert re.match(r"With mod_elastic these pages would be sent in \d+ % (fewer|more) bytes",
                    first)
    assert any(line.startswith("today: mod_deflate 6 ") for line in lines)
    page = Texts(out.read_text())
    assert page.tags.index("p") < page.tags.index("table") and first in page.data
    assert "script" not in page.tags and "http" not in out.read_text().replace("httpd", "")


def test_no_page_has_more_bytes_than_today_where_that_is_asked_for(folder):
    found = pages.collect(str(folder), 100, print)
    today = now.Now(6, 0, "")
    encoders = setups.Encoders(max(len(page.body) for page in found))
    sizes = plans.measure(found, today, encoders, print)
    made = {plan.name: plan for plan in plans.make(sizes, 5e6, today)}
    bounded = made["mod_elastic, busy, never more bytes than today"]
    plain, stock = made["not compressed"], made["today: mod_deflate 6"]
    assert bounded.nbytes <= stock.nbytes < plain.nbytes and plain.cpu == 0 < stock.cpu
    assert report.cost(plain, (1, 1)) > report.cost(stock, (0, 1)) > 0


@pytest.mark.parametrize("arguments", [(), ("a", "--pages", "b"), ("a", "--rate", "fast"),
                                       ("a", "--price-gb", "-1"), ("a", "--most", "0")])
def test_wrong_calls(arguments):
    assert sizing(*arguments).returncode == 2


def test_nothing_to_compress(tmp_path):
    (tmp_path / "a.png").write_bytes(b"x")
    done = sizing(tmp_path, "--out", tmp_path / "page.html")
    assert done.returncode == 1 and "no pages that would be compressed" in done.stderr
