"""The engine of whole bodies and streams at each level, and the pool of contexts."""

import pytest

from kit import aborts, at, bodies, check, env
from kit.process import anonymous_kb

LARGE = bodies.text(200000)
FILES = {"a.txt": bodies.text(40000), "small.txt": bodies.text(1500), "large.txt": LARGE,
         "larger.txt": LARGE + b"x", "noise.txt": bodies.noise(50000)}
STREAM = "head('Content-Type: text/plain')\nfor i in range(4):\n    out('x' * 3000 + str(i))\n" \
         "    time.sleep(.02)\n"

CODINGS = ["gzip", "br", *["zstd"] * env.HAS_ZSTD]
LEVELS = [*(("gzip", level) for level in (1, 2, 3, 4, 6, 9)), ("br", 0), ("br", 5), ("br", 11),
          *[("gzip", 10), ("gzip", 12)] * env.HAS_LIBDEFLATE,
          *[("zstd", 1), ("zstd", 9), ("zstd", 19)] * env.HAS_ZSTD]


def engine(coding, level, kind):
    """The engine for a whole body, a small one or a stream in this build."""
    if coding != "gzip":
        return {"br": "brotli"}.get(coding, coding)
    if level <= 3 and env.HAS_ISAL:
        return "isal"
    if env.HAS_LIBDEFLATE and kind != "stream.cgi" and (kind != "small.txt" or level > 9):
        return "libdeflate"
    return "zlib"


@pytest.fixture(scope="module")
def server(httpd_shared):
    return httpd_shared(
        "Elastic On\n"
        + "".join(at(f"{coding}-{level}", "ElasticMinSize 0", f"ElasticLevel {coding} {level}")
                  for coding, level in LEVELS)
        # At a low level, which the load may choose, one brigade may hold the whole stream.
        + at("some", f"ElasticWholeBody {len(LARGE)}", "ElasticLevel gzip 6")
        + at("none", "ElasticWholeBody 0", "ElasticLevel gzip 6"),
        files=FILES, cgi={"stream.cgi": STREAM})


@pytest.mark.parametrize("coding,level", LEVELS)
def test_a_level_has_its_engine(server, coding, level):
    """The note names the configured level and the library, for whole bodies and streams."""
    for name in ("a.txt", "small.txt", "stream.cgi"):
        answer = server.get(f"/{coding}-{level}/{name}", ae=coding)
        notes = server.notes(answer)
        assert notes["elastic-level"] == str(level)
        if name in FILES:
            check.encoded(answer, coding, FILES[name])
            assert answer.headers["Content-Length"] == str(len(answer.raw))
        else:
            assert answer.coding == coding and len(answer.body) == 4 * 3001
        assert notes["elastic-engine"] == engine(coding, level, name)


def test_a_level_beyond_zlibs_is_libdeflates_or_clamped(httpd):
    server = httpd("Elastic On\nElasticControl off\nElasticLevel gzip 6 12", files=FILES,
                   allow_log=["ends at level 9"])
    answer = server.get("/a.txt", ae="gzip")
    check.encoded(answer, "gzip", FILES["a.txt"])
    assert server.notes(answer)["elastic-level"] == ("12" if env.HAS_LIBDEFLATE else "9")
    told = b"ElasticLevel: gzip ends at level 9" in server.get("/elastic-status").body
    assert told != env.HAS_LIBDEFLATE


@pytest.mark.parametrize("path,whole", [
    ("/some/large.txt", True), ("/some/larger.txt", False), ("/none/large.txt", False)])
def test_the_size_of_whole_bodies(server, path, whole):
    """Up to ElasticWholeBody a body has a length; a larger one is a stream without length."""
    answer = server.get(path, ae="gzip")
    check.encoded(answer, "gzip", FILES[path.rpartition("/")[2]])
    assert ("Content-Length" in answer.headers) == whole


def test_a_small_share_of_memory_has_smaller_whole_bodies(httpd):
    """With many processes, each has little of ElasticPoolMemory, so its buffers are small."""
    files = {"a.txt": bodies.text(32 << 10), "larger.txt": bodies.text(300000)}
    server = httpd("Elastic On\nElasticPoolMemory 1M", files=files)
    for (path, body), whole in zip(files.items(), (True, False)):
        answer = server.get("/" + path, ae="gzip")
        check.encoded(answer, "gzip", body)
        assert ("Content-Length" in answer.headers) == whole, path


@pytest.mark.parametrize("coding", ["gzip", "br", "zstd"])
def test_what_cannot_be_made_smaller_is_sent_by_the_file(server, coding):
    """The identity is sent from the file's own bucket: same length, same bytes, with ranges."""
    answer = server.get("/noise.txt", ae=coding)
    check.plain(answer, FILES["noise.txt"])
    assert server.reason(answer) == ("not-smaller" if coding in CODINGS else "not-acceptable")


def test_engines_are_named(server):
    named = {part.split()[0] for part in server.status()["ElasticEngines"].split(", ")}
    assert named == {"zlib", "brotli", *["libdeflate"] * env.HAS_LIBDEFLATE,
                     *["isal"] * env.HAS_ISAL, *["zstd"] * env.HAS_ZSTD}


# --- the pool


def start_one_child(httpd, config, files):
    """Returns a server with one process, and that process."""
    server = httpd("Elastic On\n" + config, files=files, allow_log=[aborts.LOG], **aborts.ONE_CHILD)
    server.get("/" + next(iter(files)))
    (pid,) = server.children()
    return server, pid


def minor_faults(pid):
    with open(f"/proc/{pid}/stat", encoding="ascii") as stat:
        return int(stat.read().rpartition(")")[2].split()[7])


@pytest.mark.unsanitized
@pytest.mark.parametrize("coding", CODINGS)
def test_a_warm_server_takes_no_fresh_memory(httpd, coding):
    """A fresh context of 400 KB would cause a hundred page faults for each response."""
    server, pid = start_one_child(httpd, "MaxKeepAliveRequests 0", FILES)
    with server.connect() as connection:
        for count in (30, 200):
            before = minor_faults(pid)
            for _ in range(count):
                answer = connection.request("/a.txt", ae=coding)
                check.encoded(answer, coding, FILES["a.txt"])
        # A few pages are the stacks of threads that serve for the first time.
        assert minor_faults(pid) - before < 1000


@pytest.mark.unsanitized
def test_the_pools_memory_is_bounded(httpd):
    """All codings and sizes, with a pool that keeps almost nothing, and one that keeps all."""
    files = {f"{size}.txt": bodies.text(size) for size in (3000, 20000, 90000, 900000)}
    used = {}
    for limit in ("0", "1G"):
        server, pid = start_one_child(httpd, f"ElasticPoolMemory {limit}", files)
        for _ in range(3):
            for path, body in files.items():
                for coding in ("gzip", "br"):
                    check.encoded(server.get(f"/{path}", ae=coding), coding, body)
        used[limit] = anonymous_kb(pid)
    # Contexts for four sizes of br alone take several megabytes.
    assert used["0"] < used["1G"] - 3000
