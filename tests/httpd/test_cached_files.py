"""Files that are not read again: their encodings are kept, and found by the files' numbers."""

import contextlib
import os
import time

import pytest

from kit import at, bodies, check, env

BODY = bodies.html(40000)
OTHER = bodies.text(len(BODY))  # as long
LARGE = bodies.text(300_000)

CONFIG = """
Elastic On
ElasticCache On
ElasticControl off
ElasticLevel gzip 6
AddOutputFilter INCLUDES .shtml
AddType text/html .shtml
<Location /closed>
    <RequireAll>
        Require all granted
        Require expr "%{HTTP:X-Key} == 'open'"
    </RequireAll>
</Location>
<Directory {docs}/included>
    Options +Includes
</Directory>
""" + at("kept", "ElasticPrecompressed On") + at("large", "ElasticWholeBody 100K") \
    + at("off", "ElasticCache Off")

INCLUDED = b"<!--#echo var='QUERY_STRING' -->" + BODY

FILES = {"page.html": BODY, "closed/page.html": BODY, "included/page.shtml": INCLUDED,
         "large.txt": LARGE}


@pytest.fixture(scope="module")
def server(httpd_shared):
    return httpd_shared(CONFIG, modules=("socache_shmcb", "include"), files=FILES)


def engine(server, path, body, **kw):
    """Which engine a response names; the response is whole."""
    answer = server.get(path, ae="gzip", **kw)
    check.encoded(answer, "gzip", body)
    return server.notes(answer)["elastic-engine"]


def wait_kept(server, path, body, **kw):
    """Until the file's encoding is kept: not before the file is two seconds old."""
    server.wait_for(lambda: engine(server, path, body, **kw) == "cache", 60, f"{path} to be kept")


def test_a_kept_file_has_the_same_header_as_one_that_is_encoded(server):
    wait_kept(server, "/page.html", BODY)
    encoded = server.get("/off/page.html", ae="gzip")
    hits = int(server.status()["ElasticCacheHits"])
    kept = server.get("/page.html", ae="gzip")
    assert kept.raw == encoded.raw
    for name in ("Content-Length", "Content-Type", "Content-Encoding", "ETag", "Vary",
                 "Last-Modified"):
        assert kept.headers.get(name) == encoded.headers.get(name), name
    assert "Accept-Ranges" not in kept.headers
    notes, like = server.notes(kept), server.notes(encoded)
    assert notes["elastic-engine"] == "cache" and like["elastic-engine"] != "cache"
    for name in ("elastic-coding", "elastic-level", "elastic-in", "elastic-out", "elastic-ratio"):
        assert notes[name] == like[name], name
    assert int(server.status()["ElasticCacheHits"]) == hits + 1
    head = server.head("/page.html", ae="gzip")
    assert head.headers["Content-Length"] == kept.headers["Content-Length"]
    again = server.get("/page.html", ae="gzip", headers={"If-None-Match": kept.headers["ETag"]})
    assert again.status == 304 and again.headers["ETag"] == kept.headers["ETag"]
    part = server.get("/page.html", ae="gzip", headers={"Range": "bytes=5-9"})
    assert (part.status, part.body) == (206, BODY[5:10])
    check.plain(server.get("/page.html"), BODY)


def test_a_file_is_kept_at_its_first_request(server):
    changed = os.stat(server.write("first.html", BODY)).st_ctime
    server.wait_for(lambda: time.time() > changed + 2.1, 60, "the file to be two seconds old")
    assert engine(server, "/first.html", BODY) != "cache"
    assert engine(server, "/first.html", BODY) == "cache"


def test_a_kept_file_is_not_read(server):
    """By the bytes that the children have read by system calls; nothing maps the file."""

    def read():
        total = 0
        for pid in server.children():
            with contextlib.suppress(FileNotFoundError), open(f"/proc/{pid}/io") as file:
                total += int(file.readline().split()[1])
        return total

    wait_kept(server, "/large.txt", LARGE)
    before = read()
    for _ in range(20):
        assert engine(server, "/large.txt", LARGE) == "cache"
    # The requests themselves, and whatever children read while they start.
    assert read() - before < 10 * len(LARGE)


def rewritten(path, body):
    """In place, at the same time of modification."""
    info = os.stat(path)
    path.write_bytes(body)
    os.utime(path, ns=(info.st_atime_ns, info.st_mtime_ns))


def replaced(path, body):
    """By another file of the same time of modification."""
    info = os.stat(path)
    new = path.with_suffix(".new")
    new.write_bytes(body)
    new.chmod(0o644)
    os.utime(new, ns=(info.st_atime_ns, info.st_mtime_ns))
    new.rename(path)


@pytest.mark.parametrize("change", [rewritten, replaced])
def test_a_file_that_changes_is_another_one(server, change):
    name = f"{change.__name__}.html"
    path = server.write(name, BODY)
    wait_kept(server, f"/{name}", BODY)
    # As long, and as old by its modification time.
    for body in (OTHER, BODY, OTHER):
        change(path, body)
        for _ in range(3):
            check.encoded(server.get(f"/{name}", ae="gzip"), "gzip", body)
    wait_kept(server, f"/{name}", OTHER)
    change(path, OTHER[:30000])
    check.encoded(server.get(f"/{name}", ae="gzip"), "gzip", OTHER[:30000])


def test_a_sibling_wins(server):
    server.write("both.html", BODY)
    wait_kept(server, "/kept/both.html", BODY)
    gzip = server.get("/off/both.html", ae="gzip").raw
    server.write("both.html.gz", gzip)
    answer = server.get("/kept/both.html", ae="gzip")
    assert (answer.status, answer.coding, answer.body) == (200, "gzip", BODY)
    assert server.notes(answer)["elastic-engine"] == "precompressed"


def test_who_may_not_have_the_file_gets_no_encoding_of_it(server):
    key = {"X-Key": "open"}
    wait_kept(server, "/closed/page.html", BODY, headers=key)
    server.expect_log("AH01630")  # denied
    assert server.get("/closed/page.html", ae="gzip").status == 403
    assert engine(server, "/closed/page.html", BODY, headers=key) == "cache"


def test_what_a_filter_makes_of_a_file_is_not_the_file(server):
    for turn in range(3):
        answer = server.get(f"/included/page.shtml?{turn}", ae="gzip")
        check.encoded(answer, "gzip", b"%d" % turn + BODY)


def test_larger_files_are_streamed_as_before(server):
    for _ in range(3):
        assert engine(server, "/large/large.txt", LARGE) != "cache"


def test_every_setup_has_its_own(httpd):
    """What is pinned to another level, or accepted in another coding, is not the same."""
    codings = ["gzip", "br"] + (["zstd"] if env.HAS_ZSTD else [])
    server = httpd("Elastic On\nElasticCache On\nElasticControl off\n"
                   + at("low", *(f"ElasticLevel {coding} 1" for coding in codings)),
                   modules=("socache_shmcb",), files={"page.html": BODY})
    for coding in codings:
        def kept(path, coding=coding):
            answer = server.get(path, ae=coding)
            check.encoded(answer, coding, BODY)
            notes = server.notes(answer)
            return notes["elastic-engine"] == "cache" and notes["elastic-level"]

        for path in ("/page.html", "/low/page.html"):
            server.wait_for(lambda path=path: kept(path), 60, f"{path} in {coding}")
        assert kept("/low/page.html") == "1" != kept("/page.html")


def test_nobody_waits_for_an_encoding_that_memory_did_not_allow(httpd):
    """A sparse file, whose encoding would be waited for longer than a client waits."""
    server = httpd("Elastic On\nElasticCache On\nElasticControl off\nElasticLevel br 11\n"
                   "ElasticWholeBody 1G\nElasticPoolMemory 1000G\nElasticMaxMemory 1M\n",
                   modules=("socache_shmcb",))
    path = server.write("large.txt", b"")
    os.truncate(path, 1 << 29)
    changed = os.stat(path).st_ctime
    server.wait_for(lambda: time.time() > changed + 2.1, 60, "the file to be two seconds old")
    misses = int(server.status()["ElasticCacheMisses"])
    with server.connect() as connection:  # to one process
        for _ in range(2):
            connection.send(b"HEAD /large.txt HTTP/1.1\r\nHost: localhost\r\n"
                            b"Accept-Encoding: br\r\n\r\n")
            got = connection.read_head()
            assert got.status == 200 and "Content-Encoding" not in got.headers
    assert int(server.status()["ElasticCacheMisses"]) == misses + 2
