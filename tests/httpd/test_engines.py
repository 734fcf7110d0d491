"""Which engine serves what, whole bodies and streams, and what the pool keeps."""

import pytest

from kit import bodies, check, env
from kit.process import anonymous_kb

TEXT = bodies.text(40000)
SMALL = bodies.text(1500)


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


@pytest.mark.parametrize("coding,level", LEVELS)
def test_a_level_has_its_engine(httpd, coding, level):
    """The note names the user's level and the library that served it, whole and as a stream."""
    server = httpd(f"Elastic On\nElasticMinSize 0\nElasticLevel {coding} {level}",
                   files={"a.txt": TEXT, "small.txt": SMALL},
                   cgi={"stream.cgi": "head('Content-Type: text/plain')\n"
                                      f"for i in range(4):\n    out({'x' * 3000!r} + str(i))\n"
                                      "    import time; time.sleep(.02)\n"})
    for path, body in (("/a.txt", TEXT), ("/small.txt", SMALL)):
        answer = server.get(path, ae=coding)
        check.encoded(answer, coding, body)
        assert answer.headers["Content-Length"] == str(len(answer.raw))
        notes = server.notes(answer)
        assert notes["elastic-level"] == str(level)
        assert notes["elastic-engine"] == fast(coding, level, body is SMALL)
    answer = server.get("/stream.cgi", ae=coding)
    assert answer.coding == coding and len(answer.body) == 4 * 3001
    notes = server.notes(answer)
    assert notes["elastic-level"] == str(level)
    if coding == "gzip":
        assert notes["elastic-engine"] == ("isal" if level <= 3 and env.HAS_ISAL else "zlib")


def test_the_size_of_whole_bodies(httpd):
    """Up to ElasticWholeBody a body has its length; beyond, it is a stream and has none."""
    large = bodies.text(200000)
    server = httpd(f"Elastic On\nElasticWholeBody {len(large)}\n"
                   "<Location /none/>\nElasticWholeBody 0\n</Location>",
                   files={"a.txt": large, "larger.txt": large + b"x", "none/a.txt": large})
    for path, whole in (("/a.txt", True), ("/larger.txt", False), ("/none/a.txt", False)):
        answer = server.get(path, ae="gzip")
        check.encoded(answer, "gzip", large + b"x" if "larger" in path else large)
        assert ("Content-Length" in answer.headers) == whole, path


def test_a_small_share_of_memory_has_smaller_whole_bodies(httpd):
    """Of ElasticPoolMemory a process with many others has little: its buffers are small, too."""
    server = httpd("Elastic On\nElasticPoolMemory 1M",
                   files={"a.txt": bodies.text(32 << 10), "larger.txt": bodies.text(300000)})
    for path, whole in (("/a.txt", True), ("/larger.txt", False)):
        answer = server.get(path, ae="gzip")
        assert answer.coding == "gzip" and answer.complete and answer.body
        assert ("Content-Length" in answer.headers) == whole, path


def test_what_cannot_be_made_smaller_is_sent_by_the_file(httpd):
    """The identity is the file's own bucket: as long, as it was, and with ranges."""
    noise = bodies.noise(50000)
    server = httpd("Elastic On", files={"noise.txt": noise})
    for coding in ("gzip", "br", "zstd"):
        answer = server.get("/noise.txt", ae=coding)
        assert answer.coding is None and answer.body == noise and answer.varies
        assert server.reason(answer) == ("not-smaller" if coding != "zstd" or env.HAS_ZSTD
                                         else "not-acceptable")


def test_engines_are_named(httpd):
    server = httpd("Elastic On", files={"a.txt": TEXT})
    engines = server.status()["ElasticEngines"]
    assert "zlib " in engines and "brotli " in engines
    assert ("libdeflate " in engines) == env.HAS_LIBDEFLATE
    assert ("isal " in engines) == env.HAS_ISAL and ("zstd " in engines) == env.HAS_ZSTD


ONE_CHILD = {
    "mpm_config": "StartServers 1\nMinSpareServers 1\nMaxSpareServers 1\nMaxRequestWorkers 1\n"
    if env.MPM == "prefork" else
    "StartServers 1\nServerLimit 1\nThreadsPerChild 4\nMaxRequestWorkers 4\n"
    "MinSpareThreads 1\nMaxSpareThreads 4\n",
    "allow_log": ["AH00161"],  # that the one process is all there is
}


def minor_faults(pid):
    with open(f"/proc/{pid}/stat", encoding="ascii") as stat:
        return int(stat.read().rpartition(")")[2].split()[7])


@pytest.mark.parametrize("coding", ["gzip", "br", "zstd"][:3 if env.HAS_ZSTD else 2])
def test_a_warm_server_takes_no_fresh_memory(httpd, coding):
    """A fresh context of 400 KB would be a hundred page faults for each response."""
    server = httpd("Elastic On\nMaxKeepAliveRequests 0", files={"a.txt": TEXT}, **ONE_CHILD)
    server.get("/a.txt")
    (pid,) = server.children()
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
        server = httpd(f"Elastic On\nElasticPoolMemory {limit}", files=files,
                       environ={"MALLOC_ARENA_MAX": "1"}, **ONE_CHILD)
        server.get("/3000.txt")
        (pid,) = server.children()
        for _ in range(3):
            for path, body in files.items():
                for coding in ("gzip", "br"):
                    check.encoded(server.get(f"/{path}", ae=coding), coding, body)
        used[limit] = anonymous_kb(pid)
        print(limit, used[limit])
    # A context for each of four sizes of br alone is several megabytes.
    assert env.PRELOAD or used["0"] < used["1G"] - 3000
