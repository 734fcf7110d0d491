"""scripts/dictionary: what a hostile or broken site sends costs a bounded time and memory."""

import contextlib
import gzip
import os
import pathlib
import pwd
import re
import resource
import socket
import subprocess
import sys
import threading
import time

import brotli
import pytest
import zstandard

from codeckit import decoders
from dictionarykit import check, cli, exchange, sources, unprivileged, visit

SCRIPT = pathlib.Path(__file__).resolve().parents[2] / "scripts" / "dictionary"

OK = b"HTTP/1.1 200 OK\r\n"
LIMIT = 0.4  # seconds of an exchange
SOON = 20  # seconds


@contextlib.contextmanager
def raw(*pieces, forever=b"", times=1):
    """The URL of a server that sends these bytes, and then the last piece again and again."""
    listener = socket.create_server(("127.0.0.1", 0))

    def serve():
        with contextlib.suppress(OSError):
            for _ in range(times):
                sock, _ = listener.accept()
                with sock:
                    sock.recv(65536)
                    sock.sendall(b"".join(pieces))
                    while forever:
                        sock.sendall(forever)
                        time.sleep(0.01)

    thread = threading.Thread(target=serve)
    thread.start()
    try:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}/"
    finally:
        listener.shutdown(socket.SHUT_RDWR)
        thread.join()
        listener.close()


def get(url, most=1 << 20):
    return exchange.get(url, exchange.Reach(), {}, most)


@pytest.mark.parametrize("pieces, forever", [
    (OK, b"X: y"), (OK + b"X: ", b"a"), (b"", b"HTTP/1.1 103 Early Hints\r\n\r\n"),
    (b"", b"HTTP/1.1 100 Continue\r\n\r\n"),
    (OK + b"Transfer-Encoding: chunked\r\n\r\n0\r\n", b"A: b\r\n"),
    (OK + b"Transfer-Encoding: chunked\r\n\r\n", b"1\r\na\r\n"),
    (OK + b"Content-Length: 1000000\r\n\r\n", b"a")],
    ids=["header", "line", "103", "100", "trailers", "chunks", "body"])
def test_an_exchange_has_one_deadline(monkeypatch, pieces, forever):
    monkeypatch.setattr(exchange, "EXCHANGE", LIMIT)
    begin = time.monotonic()
    with raw(pieces, forever=forever) as url, pytest.raises(exchange.Refused):
        get(url)
    assert time.monotonic() - begin < SOON


def test_an_exchange_has_a_bounded_size():
    with raw(b"HTTP/1.1 100 Continue\r\n\r\n" * 100_000) as url, pytest.raises(exchange.Refused):
        get(url, 10)
    with raw(OK + b"\r\n" + b"a" * 100) as url, \
            pytest.raises(exchange.Refused, match="more than 10 bytes"):
        get(url, 10)


def test_interim_responses_are_passed_over():
    early = b"HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n"
    with raw(early * 2 + OK + b"A: b\r\n\r\nbody") as url:
        answer = get(url, 10)
    assert (answer.status, answer.fields, answer.body) == (200, (("a", "b"),), b"body")


@pytest.mark.parametrize("place, said", [
    ("//[bad", "no URL"), ("https://[bad/", "no URL"), ("http://169.254.169.254/", "another site"),
    ("ftp://h/", "no URL"), ("//h:1/", "another site"), ("https://u:p@h/", "no URL")])
def test_no_redirect_leads_to_another_host(place, said):
    answer = exchange.Response(302, (("location", place),), b"")
    with pytest.raises(exchange.Refused, match=said):
        exchange.redirect_of("http://h/", answer)
    answer = exchange.Response(301, (("location", "https://h/x#y"),), b"")
    assert exchange.redirect_of("http://h/", answer) == "https://h/x"
    assert exchange.redirect_of("https://h/", answer._replace(status=200)) is None


def checked(url):
    """(exit status, what `check` says)."""
    done = subprocess.run([sys.executable, SCRIPT, "check", url], capture_output=True, text=True,
                          timeout=120, check=False)
    return done.returncode, done.stdout + done.stderr


def test_check_follows_no_redirect_to_another_host():
    with raw(b"HTTP/1.1 302 Found\r\nLocation: http://169.254.169.254/\r\n\r\n") as url:
        status, said = checked(url)
    assert status == 1 and "leads to another site, http://169.254.169.254/" in said


def test_check_reads_a_bomb_in_bounded_memory():
    """2 MB of gzip took 4.2 GB."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
    head = OK + b"Content-Type: text/html\r\nContent-Encoding: gzip\r\n\r\n"
    with raw(head, gzip.compress(bytes(300 << 20), 1), times=3) as url:
        status, said = checked(url)
    assert status == 1 and "more than" in said
    after = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
    assert after <= max(before, 400 << 10)  # KB


def test_check_reads_the_network_without_privileges(monkeypatch, capsys):
    monkeypatch.setattr(check, "examine",
                        lambda *_: [check.Finding("ok", "user", str(os.getuid()))])
    args = cli.make_parser().parse_args(["check", "https://h/"])
    assert check.run(args) == 0
    uid = pwd.getpwnam("nobody").pw_uid if os.geteuid() == 0 else os.geteuid()
    assert re.search(f"ok +user +{uid}\n", capsys.readouterr().out)


# --- what grows as it is decoded


@pytest.mark.parametrize("coding, compress", [
    ("gzip", gzip.compress), ("br", brotli.compress), ("zstd", zstandard.compress)])
def test_what_is_decoded_has_a_bounded_size(coding, compress):
    body = compress(bytes(1 << 24))
    with pytest.raises(ValueError, match="more than 1000 bytes"):
        decoders.decode(coding, body, most=1000)
    assert decoders.decode(coding, body, most=1 << 24) == bytes(1 << 24)


def test_a_sitemap_that_grows_or_nests_is_read_as_far_as_it_may():
    assert sources.Sitemap(b"<a>" * 1_000_000).pages == []
    bomb = gzip.compress(b"<urlset><url><loc>https://h/</loc></url>" + b" " * (100 << 20))
    assert sources.Sitemap(bomb).pages == ["https://h/"]
    entities = b'<!DOCTYPE a [<!ENTITY b "c">]><urlset><url><loc>&b;</loc></url></urlset>'
    assert sources.Sitemap(entities).pages == []


# --- what takes long to read

LARGE = 1 << 20
MARKUP = [
    b"<a " * (LARGE // 3), b"<!--" * (LARGE // 4), b"</" * (LARGE // 2),
    b"<a href='" * (LARGE // 9), b"<script></" * (LARGE // 10) + b">", b"<![foo[" * (LARGE // 7),
    b"&#" + b"9" * LARGE, b"<a b=" * (LARGE // 5), b"<link rel" + b"=" * LARGE,
    b"<?" * (LARGE // 2)]
PAIRS = [
    (b"<td>" * 200_000, b"<td>" * 200_000 + b"<b>"),
    (b"<td>1<td>2" * 90_000, b"<td>2<td>1" * 90_000),
    (b"<a>" + b"<td>" * 200_000, b"<b>" + b"<td>" * 150_000 + b"<c>"),
    (b"".join(b"<%d>" % n for n in range(100_000)),
     b"".join(b"<%d>" % n for n in reversed(range(100_000))))]
FIELDS = ["</a>;" + ' x="' * 50_000, "<" * 100_000, "</d>; a=" * 50_000]


def read_fields(value):
    answer = exchange.Response(200, tuple(
        (name, value) for name in ("link", "cache-control", "expires")), b"")
    return answer.links(), answer.lifetime()


def read_robots():
    text = "User-agent: *\nDisallow: /" + "a*" * 2000 + "b\n"
    return sources.parse_robots(text, visit.AGENT).allow("https://h/" + "a" * 100_000)


@pytest.mark.parametrize("read, values, expected", [
    *((lambda body: sources.Markup("https://h/", body).links, [body], []) for body in MARKUP),
    *((lambda *pair: type(visit.common(*pair)), pair, bytes) for pair in PAIRS),
    *((read_fields, [value], ([], 0)) for value in FIELDS), (read_robots, [], True)])
def test_what_is_sent_is_read_in_a_time_that_grows_with_its_length(read, values, expected):
    begin = time.process_time()
    assert read(*values) == expected
    assert time.process_time() - begin < SOON


def test_the_child_has_a_limit_of_time_and_of_memory(monkeypatch):
    with pytest.raises(exchange.Failed, match="more than 0 seconds"):
        unprivileged.call(time.sleep, 600, seconds=0)
    monkeypatch.setattr(unprivileged, "MEMORY", 1 << 30)
    with pytest.raises(exchange.Failed, match="of memory"):
        unprivileged.call(lambda: bytes(2 << 30) and None)
    # A refused page "base64" of a list of pages ended the run.
    assert unprivileged.call(lambda: [["base64", "is no URL"]]) == [["base64", "is no URL"]]


# --- robots.txt


@pytest.mark.parametrize("lines, allowed, forbidden", [
    ("Allow: /\nDisallow: /secret/", "/a", "/secret/x"),  # the longest match, not the first
    ("Disallow: /\nAllow: /a", "/a/b", "/b"),
    ("Disallow: /*secret/", "/a", "/x/secret/y"), ("Disallow: /*.php$", "/a.php?b", "/a.php"),
    ("Disallow: /a$", "/ab", "/a"), ("Allow: /a\nDisallow: /a", "/a", None),
    ("Disallow: /%69nternal/", "/x", "/internal/x"),
    ("Disallow: /internal/", "/x", "/%69nternal/x"),
    ("Disallow: /caf\u00e9", "/caf", "/caf%c3%a9"), ("Disallow: /a%2fb", "/a/b", "/a%2Fb"),
    ("Disallow:", "/a", None), ("Disallow: /a # b", "/b", "/a"), ("Disallow: /?q=", "/", "/?q=1")])
def test_robots_txt(lines, allowed, forbidden):
    found = sources.parse_robots("User-Agent: *\n" + lines, visit.AGENT)
    assert found.allow("https://h" + allowed)
    assert not forbidden or not found.allow("https://h" + forbidden)


def test_groups_of_robots_txt():
    text = ("Sitemap: https://h/map\nUser-agent: other\nUser-agent: ELASTIC-dictionary\n"
            "Crawl-delay: 2.5\nDisallow: /a\n\nUser-agent: *\nDisallow: /b\n"
            "User-agent: elastic-dictionary\nDisallow: /c\nnonsense\n")
    found = sources.parse_robots(text, visit.AGENT)
    assert [found.allow(f"https://h/{path}") for path in "abc"] == [False, True, False]
    assert (found.delay, found.sitemaps) == (2.5, ["https://h/map"])
    assert sources.parse_robots("User-agent: *\nCrawl-delay: \u00b2\n", visit.AGENT).delay == 0
    assert sources.parse_robots("User-agent: *\nCrawl-delay: 99999\n", visit.AGENT).delay == 60
