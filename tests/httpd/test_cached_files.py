"""Cached encodings of files, which are found by the files' numbers without reading them."""

import contextlib
import mmap
import os
import random
import tempfile
from concurrent.futures import ThreadPoolExecutor

import pytest

from kit import at, bodies, check, faults
from kit.config import vhost
from kit.keep import PINNED, cache, kept

BODY = bodies.html(40000)
OTHER = bodies.text(len(BODY))  # of the same length
LARGE = bodies.text(300_000)

CONFIG = """
Elastic On
ElasticCache On
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
""" + PINNED + at("precompressed", "ElasticPrecompressed On") + at("off", "ElasticCache Off")

MODULES = ("socache_shmcb", "include")
HOSTED = [f"/hosted/{number}.html" for number in range(3)]
# After this many seconds, a file's numbers stand for its content.
OLD = 40


def age(httpd, directory, *config, **options):
    """(clock, server); the server's files are old from the beginning, and on a disk."""
    clock = faults.Clock(directory, "disk")
    clock.skip(calendar=10 * OLD)
    return clock, httpd(*config, **clock.options, **options)


@pytest.fixture(scope="module")
def aged(httpd_shared, tmp_path_factory):
    return age(httpd_shared, tmp_path_factory.mktemp("aged"),
               CONFIG + vhost("localhost") + vhost("other"), modules=MODULES, files={
                   "page.html": BODY, "closed/page.html": BODY, "large.txt": LARGE,
                   **{path[1:]: BODY for path in HOSTED},
                   "included/page.shtml": b"<!--#echo var='QUERY_STRING' -->" + BODY})


@pytest.fixture
def server(aged):
    return aged[1]


@contextlib.contextmanager
def young(clock):
    """Makes files that are written now count as new."""
    clock.skip(calendar=-10 * OLD)
    yield
    clock.skip(calendar=10 * OLD)


def wait_kept(server, path, body=BODY, ae="gzip", headers=None):
    """Waits until every child has the file's encoding."""
    server.wait_for(lambda: kept(server, path, body, ae, headers), 60, f"{path} to be kept")


def test_a_cached_file_has_the_same_header_as_one_that_is_encoded(server):
    wait_kept(server, "/page.html")
    encoded = server.get("/off/page.html", ae="gzip")
    hits = int(server.status()["ElasticCacheHits"])
    answer = server.get("/page.html", ae="gzip")
    check.encoded(answer, "gzip", BODY)
    assert answer.raw == encoded.raw
    check.same_header(answer, encoded, "Content-Length", "Content-Type", "ETag", "Vary",
                      "Last-Modified")
    notes, like = server.notes(answer), server.notes(encoded)
    assert notes["elastic-engine"] == "cache" and like["elastic-engine"] != "cache"
    for name in ("elastic-coding", "elastic-level", "elastic-in", "elastic-out", "elastic-ratio"):
        assert notes[name] == like[name], name
    assert int(server.status()["ElasticCacheHits"]) == hits + 1
    check.head_of(answer, server.head("/page.html", ae="gzip"), "Content-Length")
    assert int(server.status()["ElasticCacheHits"]) == hits + 2
    tag = answer.headers["ETag"]
    check.not_modified(server.get("/page.html", ae="gzip", headers={"If-None-Match": tag}), tag)
    check.plain(server.get("/page.html", "gzip", {"Range": "bytes=5-9"}), BODY[5:10], 206)
    check.plain(server.get("/page.html"), BODY)


@pytest.mark.smoke
def test_files_that_are_asked_for_at_once_have_bodies_of_their_own(server):
    """Uses more files than a process remembers, and more clients than there are CPUs."""
    files = {f"/many{n}.txt": bodies.text(2000 + n) for n in range(90)}
    for path, body in files.items():
        server.write(path[1:], body)

    def ask(number):
        paths = random.Random(number).sample(sorted(files), len(files))
        with server.connect() as connection:
            for path in paths:
                connection.send_request(path, ae="gzip")
            for path in paths:
                check.encoded(connection.read_response(), "gzip", files[path])

    with ThreadPoolExecutor(16) as pool:
        list(pool.map(ask, range(64)))


def test_a_cached_file_is_not_read(server):
    """Counts the bytes that children read by system calls; they map no file."""

    def read():
        total = 0
        for pid in server.children():
            with contextlib.suppress(FileNotFoundError), open(f"/proc/{pid}/io") as file:
                total += int(file.readline().split()[1])
        return total

    wait_kept(server, "/large.txt", LARGE)
    before = read()
    assert all(kept(server, "/large.txt", LARGE) for _ in range(20))
    # The requests, and reads of children that are starting.
    assert read() - before < 10 * len(LARGE)


@pytest.mark.parametrize("replaced", [False, True])
def test_a_file_that_changes_is_another_one(aged, replaced):
    """The file is written in place, or replaced by one with the same modification time."""
    clock, server = aged
    name = f"changing-{replaced}.html"
    path = server.write(name, BODY)

    def change(body):
        info = os.stat(path)
        new = path.with_suffix(".new") if replaced else path
        new.write_bytes(body)
        new.chmod(0o644)
        os.utime(new, ns=(info.st_atime_ns, info.st_mtime_ns))
        new.rename(path)

    wait_kept(server, f"/{name}")
    with young(clock):
        for body in (OTHER, BODY, OTHER):  # of the same length
            change(body)
            for _ in range(3):
                check.encoded(server.get(f"/{name}", ae="gzip"), "gzip", body)
    wait_kept(server, f"/{name}", OTHER)
    change(OTHER[:30000])
    check.encoded(server.get(f"/{name}", ae="gzip"), "gzip", OTHER[:30000])


@pytest.mark.parametrize("medium,seconds,settled", [
    ("disk", 10, False), ("disk", OLD + 5, True),
    ("memory", 3600, False)])  # files in memory are never written back
def test_what_is_written_through_a_mapping_is_seen(httpd, tmp_path, medium, seconds, settled):
    """The kernel changes a file's times at the first write to a page, and again only after it has
    written the page back. Until then only the content identifies the file."""
    clock = faults.Clock(tmp_path, *["disk"] * (medium == "disk"))
    server = httpd(CONFIG, modules=MODULES, **clock.options)
    with tempfile.TemporaryDirectory(dir="/dev/shm") as folder:
        os.chmod(folder, 0o755)
        (server.docs / "memory").symlink_to(folder)
        name = {"disk": "mapped.html", "memory": "memory/mapped.html"}[medium]
        with open(server.write(name, BODY), "r+b") as file, \
                mmap.mmap(file.fileno(), 0) as content:
            content[:1] = BODY[:1]
            clock.skip(calendar=seconds)
            assert not kept(server, f"/{name}", BODY)
            # A file that is recognized without being read: only files are stored at first sight.
            assert kept(server, f"/{name}", BODY) == settled
            for body in () if settled else (OTHER, BODY, OTHER):
                content[:] = body
                for _ in range(3):
                    check.encoded(server.get(f"/{name}", ae="gzip"), "gzip", body)


def test_a_files_name_is_of_one_virtual_host(server):
    """A child remembers the name; no other host may find the entry by it."""
    for path in HOSTED:
        wait_kept(server, path)
        for _ in range(20):  # for every child
            kept(server, path, BODY)
    for path in HOSTED:
        assert not kept(server, path, BODY, headers={"Host": "other"})
        wait_kept(server, path, headers={"Host": "other"})


def test_a_file_that_changes_while_it_is_encoded_is_not_cached(httpd, tmp_path):
    clock = faults.Clock(tmp_path, "disk", "gzip-overwrite")
    clock.skip(calendar=10 * OLD)
    server = httpd(CONFIG, modules=MODULES, files={"page.html": BODY},
                   start=False, **clock.options)
    page, other = server.docs / "page.html", server.docs / "other"
    page.chmod(0o666)
    server.environ.update(OVERWRITE_FROM=str(other), OVERWRITE_TO=str(page))
    server.start()
    server.write("other", OTHER)
    check.encoded(server.get("/page.html", ae="gzip"), "gzip", BODY)
    assert page.read_bytes() == OTHER  # overwritten meanwhile
    assert cache(server)["stored"] == 0
    check.encoded(server.get("/page.html", ae="gzip"), "gzip", OTHER)
    other.unlink()
    wait_kept(server, "/page.html", OTHER)
    assert cache(server)["stored"] == 1


# Runs after httpd has taken the file's length, and before it opens the file.
GROW = """
function grow(r)
    if r.headers_in["X-More"] then
        local file = io.open(r.filename, "a")
        file:write(r.headers_in["X-More"])
        file:close()
    end
    return apache2.DECLINED
end
"""


def test_a_file_that_grows_before_it_is_sent_is_not_the_file(httpd, tmp_path):
    _, server = age(httpd, tmp_path, CONFIG + "LuaHookFixups {docs}/grow.lua grow\n",
                    modules=(*MODULES, "lua"), files={"page.html": BODY, "grow.lua": GROW})
    (server.docs / "page.html").chmod(0o666)
    check.encoded(server.get("/page.html", "gzip", {"X-More": "more"}), "gzip", BODY)
    wait_kept(server, "/page.html", BODY + b"more")


def test_a_precompressed_file_wins(server):
    """A file is cached at its first request."""
    server.write("both.html", BODY)
    assert [kept(server, "/precompressed/both.html", BODY) for _ in range(2)] == [False, True]
    server.write("both.html.gz", server.get("/off/both.html", ae="gzip").raw)
    answer = server.get("/precompressed/both.html", ae="gzip")
    check.whole(answer, "gzip", BODY)
    assert server.notes(answer)["elastic-engine"] == "precompressed"


def test_a_full_store_takes_only_files_that_are_asked_for_again(httpd, tmp_path):
    _, server = age(httpd, tmp_path, CONFIG + "ElasticCacheStore shmcb:(32768)\n", modules=MODULES)
    for number in range(30):
        path, body = f"/{number}.txt", bodies.text(3000 + number)
        server.write(path[1:], body)
        found = [kept(server, path, body) for _ in range(3)]
    assert found == [False, False, True]


def test_who_may_not_have_the_file_gets_no_encoding_of_it(server):
    key = {"X-Key": "open"}
    wait_kept(server, "/closed/page.html", headers=key)
    server.expect_log("AH01630")  # access is denied
    assert server.get("/closed/page.html", ae="gzip").status == 403
    assert kept(server, "/closed/page.html", BODY, headers=key)


def test_what_a_filter_makes_of_a_file_is_not_the_file(server):
    for turn in range(3):
        answer = server.get(f"/included/page.shtml?{turn}", ae="gzip")
        check.encoded(answer, "gzip", b"%d" % turn + BODY)


def test_nobody_waits_for_an_encoding_that_memory_did_not_allow(httpd, tmp_path):
    """A sparse file: its encoding would take longer than a client waits."""
    _, server = age(httpd, tmp_path, "Elastic On\nElasticCache On\nElasticControl off\n"
                    "ElasticLevel br 11\nElasticWholeBody 1G\nElasticPoolMemory 1000G\n"
                    "ElasticMaxMemory 1M\n", modules=("socache_shmcb",))
    path = server.write("large.txt", b"")
    os.truncate(path, 1 << 29)
    misses = int(server.status()["ElasticCacheMisses"])
    with server.connect() as connection:  # to a single process
        for _ in range(2):
            connection.send(b"HEAD /large.txt HTTP/1.1\r\nHost: localhost\r\n"
                            b"Accept-Encoding: br\r\n\r\n")
            got = connection.read_head()
            assert got.status == 200 and "Content-Encoding" not in got.headers
    assert int(server.status()["ElasticCacheMisses"]) == misses + 2
