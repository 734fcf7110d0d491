"""Precompressed files that browsers cannot decode or that belong to another file: the next best one
is sent, the log names each once, and the status page counts them."""

import gzip
import subprocess

import brotli
import pytest

from kit import check
from kit.precompressed import BODY, GZ, OLD, PRECOMPRESSED, ZST, add_set, check_made, check_sent, \
    passes_over


def piped(*command, body=BODY):
    """A tool's output for a pipe: it does not know the length, so zstd uses its whole window."""
    return subprocess.run(command, input=body, stdout=subprocess.PIPE, check=True).stdout


LONG = piped("zstd", "-q", "-9", "--long=27")
# {name: (the bad file beside a good gz, or beside a good br if it is gzip, the reason)}; what files
# look like: tests/unit/test_precompressed.c
REFUSED = {
    "empty-br": ("br", b"", "empty"), "empty-gz": ("gz", b"", "empty"),
    "window": ("zst", LONG, "window"),
    "large-window": ("br", piped("brotli", "-c", "--large_window=25"), "window"),
    "no-gzip": ("gz", BODY, "coding"), "cut-zst": ("zst", ZST[:-9], "coding"),
    "other-gz": ("gz", gzip.compress(BODY + b"more"), "size"),
    "nothing-br": ("br", brotli.compress(b""), "size")}
TAKEN = {"good": ("zst", ZST), "piped": ("zst", piped("zstd", "-q")),
         "large": ("gz", gzip.compress(BODY, 0)),
         "frames": ("zst", b"".join(piped("zstd", "-q", "-c", body=part)
                                    for part in (BODY[:20000], BODY[20000:])))}
CODINGS = {"gz": "gzip", "br": "br", "zst": "zstd"}
CONFIG = "Elastic On\nElasticPrecompressed On\n"


@pytest.fixture(scope="module")
def site(httpd_shared):
    server = httpd_shared(CONFIG)
    for name, (extension, data, *_) in {**REFUSED, **TAKEN}.items():
        add_set(server, f"{name}/page.html", "br" if extension == "gz" else "gz")
        for folder in (name, f"alone-{name}"):
            add_set(server, f"{folder}/page.html")
            server.write(f"{folder}/page.html.{extension}", data, OLD)
    return server


@pytest.mark.parametrize("name", REFUSED)
def test_what_browsers_cannot_use_is_not_sent_and_the_next_best_is(site, name):
    site.expect_log("page.html.* is not sent")
    extension, data, reason = REFUSED[name]
    coding, other = CODINGS[extension], "br" if extension == "gz" else "gzip"
    with passes_over(site, **{reason: 2}):
        for _ in range(2):
            check_sent(site.get(f"/{name}/page.html", ae=f"{coding}, {other};q=0.9"), other,
                       PRECOMPRESSED[other])
    answer = site.get(f"/alone-{name}/page.html", ae=coding)
    check_made(answer, coding)
    assert answer.raw != data
    for path in (f"{name}/page.html", f"alone-{name}/page.html"):
        site.wait_log(log := f"docs/{path}.{extension} is not sent: .*; remove it, or run", 30)
        site.get("/good/page.html")  # another request, after which a second line would exist
        assert len(site.log.lines(log)) == 1


@pytest.mark.parametrize("name", TAKEN)
def test_what_may_be_right_is_sent(site, name):
    extension, data = TAKEN[name]
    with passes_over(site):
        answer = site.get(f"/alone-{name}/page.html", ae=CODINGS[extension])
    check_sent(answer, CODINGS[extension], data)
    assert name == "frames" or answer.body == BODY  # browsers decode it, but the kit does not


def test_a_tag_or_a_range_of_what_is_refused_stands_for_nothing(site):
    """HEAD gets what GET does."""
    site.expect_log("page.html.* is not sent")
    tag = f'"{len(LONG):x}-{OLD * 1000000:x}.zst"'
    for fields in ({"If-None-Match": tag}, {"Range": "bytes=0-9", "If-Range": tag}):
        check_made(site.get("/alone-window/page.html", "zstd", fields), "zstd")
    assert site.get("/alone-window/page.html", "zstd", {"If-Match": tag}).status == 412
    for path in ("/window/page.html", "/good/page.html"):
        get, head = (site.get(path, ae="zstd, gzip;q=0.5", method=method)
                     for method in ("GET", "HEAD"))
        check.head_of(get, head, "Content-Length")


def test_a_file_is_looked_into_again_when_it_was_replaced(site):
    site.expect_log("page.html.* is not sent")
    path = add_set(site, "again/page.html")
    for data in (b"", GZ, gzip.compress(BODY[:-1]), GZ):
        site.write("again/part", data, OLD).rename(site.docs / "again/page.html.gz")
        answer = site.get(path, ae="gzip")
        if data == GZ:
            check_sent(answer, "gzip", GZ)
        else:
            check_made(answer, "gzip")
