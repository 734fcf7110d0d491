"""Which engine serves what, whole bodies and streams, and what the pool keeps."""

import pytest

from kit import aborts, at, bodies, check, env
from kit.process import anonymous_kb

TEXT = bodies.text(40000)
SMALL = bodies.text(1500)
LARGE = bodies.text(200000)


def fast(coding, level, small=False):
    """The engine of a whole body in this build."""
    if coding != "gzip":
        return {"br": "brotli"}.get(coding, coding)
    if level <= 3 and env.HAS_ISAL:
        return "isal"
    if env.HAS_LIBDEFLATE and (not small or level > 9):
        return "libdeflate"
    return "zlib"


LEVELS = [("gzip", level) for level in (1, 2, 3, 4, 6, 9)] + [("br", 0), ("br", 5), ("br", 11)]
if env.HAS_LIBDEFLATE:
    LEVELS += [("gzip", 10), ("gzip", 12)]
if env.HAS_ZSTD:
    LEVELS += [("zstd", 1), ("zstd", 9), ("zstd", 19)]

STREAM = """\
head('Content-Type: text/plain')
for i in range(4):
    out('x' * 3000 + str(i))
    time.sleep(.02)
"""
NOISE = bodies.noise(50000)


@pytest.fixture(scope="module")
def server(httpd_shared):
    return httpd_shared(
        "Elastic On\n"
        + "".join(at(f"{coding}-{level}", "ElasticMinSize 0", f"ElasticLevel {coding} {level}")
                  for coding, level in LEVELS)
        # At a low level, where the load may lead, the whole stream can be one brigade.
        + at("some", f"ElasticWholeBody {len(LARGE)}", "ElasticLevel gzip 6")
        + at("none", "ElasticWholeBody 0", "ElasticLevel gzip 6"),
        files={"a.txt": TEXT, "small.txt": SMALL, "noise.txt": NOISE, "large.txt": LARGE,
               "larger.txt": LARGE + b"x"}, cgi={"stream.cgi": STREAM})


@pytest.mark.parametrize("coding,level", LEVELS)
def test_a_level_has_its_engine(server, coding, level):
    """The note names the user's level and the library that served it, whole and as a stream."""
    for name, body in (("a.txt", TEXT), ("small.txt", SMALL)):
        answer = server.get(f"/{coding}-{level}/{name}", ae=coding)
        check.encoded(answer, coding, body)
        assert answer.headers["Content-Length"] == str(len(answer.raw))
        notes = server.notes(answer)
        assert notes["elastic-level"] == str(level)
        assert notes["elastic-engine"] == fast(coding, level, body is SMALL)
    answer = server.get(f"/{coding}-{level}/stream.cgi", ae=coding)
    assert answer.coding == coding and len(answer.body) == 4 * 3001
    notes = server.notes(answer)
    assert notes["elastic-level"] == str(level)
    if coding == "gzip":
        assert notes["elastic-engine"] == ("isal" if level <= 3 and env.HAS_ISAL else "zlib")


def test_a_level_beyond_zlibs_is_libdeflates_or_clamped(httpd):
    server = httpd("Elastic On\nElasticControl off\nElasticLevel gzip 6 12",
                   files={"a.txt": TEXT}, allow_log=["ends at level 9"])
    answer = server.get("/a.txt", ae="gzip")
    check.encoded(answer, "gzip", TEXT)
    assert server.notes(answer)["elastic-level"] == ("12" if env.HAS_LIBDEFLATE else "9")
    told = b"ElasticLevel: gzip ends at level 9" in server.get("/elastic-status").body
    assert told != env.HAS_LIBDEFLATE


@pytest.mark.parametrize("path,whole", [
    ("/some/large.txt", True), ("/some/larger.txt", False), ("/none/large.txt", False)])
def test_the_size_of_whole_bodies(server, path, whole):
    """Up to ElasticWholeBody a body has its length; beyond, it is a stream and has none."""
    answer = server.get(path, ae="gzip")
    check.encoded(answer, "gzip", LARGE + b"x" * ("larger" in path))
    assert ("Content-Length" in answer.headers) == whole


def test_a_small_share_of_memory_has_smaller_whole_bodies(httpd):
    """Of ElasticPoolMemory a process with many others has little: its buffers are small, too."""
    server = httpd("Elastic On\nElasticPoolMemory 1M",
                   files={"a.txt": bodies.text(32 << 10), "larger.txt": bodies.text(300000)})
    for path, whole in (("/a.txt", True), ("/larger.txt", False)):
        answer = server.get(path, ae="gzip")
        assert answer.coding == "gzip" and answer.complete and answer.body
        assert ("Content-Length" in answer.headers) == whole, path


@pytest.mark.parametrize("coding", ["gzip", "br", "zstd"])
def test_what_cannot_be_made_smaller_is_sent_by_the_file(server, coding):
    """The identity is the file's own bucket: as long, as it was, and with ranges."""
    answer = server.get("/noise.txt", ae=coding)
    check.plain(answer, NOISE)
    assert server.reason(answer) == ("not-smaller" if coding != "zstd" or env.HAS_ZSTD
                                     else "not-acceptable")


def test_engines_are_named(server):
    engines = server.status()["ElasticEngines"]
    assert "zlib " in engines and "brotli " in engines
    assert ("libdeflate " in engines) == env.HAS_LIBDEFLATE
    assert ("isal " in engines) == env.HAS_ISAL and ("zstd " in engines) == env.HAS_ZSTD


def start_one_child(httpd, config, files):
    """A server that is one process, and that process."""
    server = httpd(config, files=files, allow_log=[aborts.LOG], **aborts.ONE_CHILD)
    server.get("/" + next(iter(files)))
    (pid,) = server.children()
    return server, pid


def minor_faults(pid):
    with open(f"/proc/{pid}/stat", encoding="ascii") as stat:
        return int(stat.read().rpartition(")")[2].split()[7])


@pytest.mark.parametrize("coding", ["gzip", "br", "zstd"][:3 if env.HAS_ZSTD else 2])
def test_a_warm_server_takes_no_fresh_memory(httpd, coding):
    """A fresh context of 400 KB would be a hundred page faults for each response."""
    server, pid = start_one_child(httpd, "Elastic On\nMaxKeepAliveRequests 0", {"a.txt": TEXT})
    with server.connect() as connection:
        for _ in range(30):
            assert connection.request("/a.txt", ae=coding).coding == coding
        before = minor_faults(pid)
        for _ in range(200):
            answer = connection.request("/a.txt", ae=coding)
        assert answer.coding == coding and answer.body == TEXT
        # A page now and then is the stack of a thread that had not served yet.
        # A sanitizer's allocator always gives fresh memory.
        assert env.PRELOAD or minor_faults(pid) - before < 1000


def test_the_pools_memory_is_bounded(httpd):
    """All codings and sizes, with a pool that keeps next to nothing, and one that keeps all."""
    files = {f"{size}.txt": bodies.text(size) for size in (3000, 20000, 90000, 900000)}
    used = {}
    for limit in ("0", "1G"):
        server, pid = start_one_child(httpd, f"Elastic On\nElasticPoolMemory {limit}", files)
        for _ in range(3):
            for path, body in files.items():
                for coding in ("gzip", "br"):
                    check.encoded(server.get(f"/{path}", ae=coding), coding, body)
        used[limit] = anonymous_kb(pid)
    # A context for each of four sizes of br alone is several megabytes.
    assert env.PRELOAD or used["0"] < used["1G"] - 3000
