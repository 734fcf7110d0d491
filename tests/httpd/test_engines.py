"""Every body comes back byte for byte, at every level, of all sizes, by all ways into the filter;
the engine of whole bodies and streams; the pool of contexts."""

import pytest

from kit import aborts, at, bodies, check, env
from kit.process import anonymous_kb

LARGE = bodies.text(200000)
# This server's threshold; `auto` has its own tests.
MIN_SIZE = 1024
SIZES = (0, 1, 68, MIN_SIZE - 1, MIN_SIZE, MIN_SIZE + 1, 1448, 8191, 8192, 8193, 65535, 65536,
         1 << 20)
# A page, and a body whose repetitions are far apart.
LEVEL_FILES = {"levels.html": bodies.html(200000), "levels.txt": bodies.noise(5000) * 3}
FILES = {**LEVEL_FILES, "a.txt": bodies.text(40000), "small.txt": bodies.text(1500),
         "large.txt": LARGE, "larger.txt": LARGE + b"x", "noise.txt": bodies.noise(50000),
         "large-noise.txt": bodies.noise(300000),
         **{f"{size}.txt": bodies.text(size) for size in (*SIZES, (1 << 20) + 1, 20 << 20)}}
WAYS = {"static": "/{}.txt", "cgi": "/body.cgi?cgi-{}", "odd": "/body.cgi?odd-{}",
        "proxy": "/origin/fixed?{}", "proxy-chunked": "/origin/chunked?{}",
        "proxy-close": "/origin/close?{}"}
EACH_WAY = pytest.mark.parametrize("way", WAYS)
CGI = {"body.cgi": """\
name, size = os.environ['QUERY_STRING'].split('-')
data = bodies.text(int(size))
head('Content-Type: text/plain')
for piece in [data] if name == 'cgi' else bodies.pieces(data, (1, 7, 1000, 65537)):
    out(piece)
""", "stream.cgi": """\
head('Content-Type: text/plain')
for i in range(4):
    out('x' * 3000 + str(i))
    time.sleep(.02)
"""}
LEVELS = {"gzip": (*range(1, 10), *(10, 12) * env.HAS_LIBDEFLATE), "br": range(12),
          **({"zstd": (1, 9, 19)} if env.HAS_ZSTD else {})}


def engine(coding, level, name):
    """The engine for a whole body, a small one or a stream in this build."""
    if coding != "gzip":
        return {"br": "brotli"}.get(coding, coding)
    if level <= 3 and env.HAS_ISAL:
        return "isal"
    if env.HAS_LIBDEFLATE and name != "stream.cgi" and (name != "small.txt" or level > 9):
        return "libdeflate"
    return "zlib"


@pytest.fixture(scope="module")
def server(httpd_shared, origin):
    """One place for each level, pinned there."""
    server = httpd_shared(
        f"Elastic On\nElasticMinSize {MIN_SIZE}\nElasticControl off\nElasticLevel gzip 1 4\n"
        f"ElasticLevel br 0 3\nProxyPass /origin/ {origin.url}/\n" + "".join(
            at(f"{coding}-{level}", "ElasticMinSize 0", f"ElasticLevel {coding} {level}")
            for coding, levels in LEVELS.items() for level in levels)
        # At a low level, which the load may choose, one brigade may hold the whole stream.
        + at("some", f"ElasticWholeBody {len(LARGE)}", "ElasticLevel gzip 6")
        + at("none", "ElasticWholeBody 0", "ElasticLevel gzip 6"),
        modules=["proxy", "proxy_http"], tls=True, h2=True, cgi=CGI, files=FILES)

    def text(exchange):
        return bodies.text(int(exchange.path.partition("?")[2]))

    origin.route("/fixed", lambda e: e.respond(200, {}, text(e)))
    origin.route("/chunked", lambda e: e.chunked(200, {}, bodies.pieces(text(e), (65537, 1, 8191))))
    origin.route("/close", lambda e: e.until_close(200, {}, [text(e)]))
    return server


@pytest.mark.parametrize("coding", LEVELS)
def test_a_level_has_its_engine(server, coding):
    """The notes name the configured level and the library. Each level reaches the encoder: the
    lowest level's body is clearly larger than the highest's."""
    sizes = []
    for level in LEVELS[coding]:
        for name in (*LEVEL_FILES, "a.txt", "small.txt", "stream.cgi"):
            answer = server.get(f"/{coding}-{level}/{name}", ae=coding)
            notes = server.notes(answer)
            if name in FILES:
                check.encoded(answer, coding, FILES[name])
                assert answer.headers["Content-Length"] == str(len(answer.raw))
                assert len(answer.raw) < len(FILES[name])
            else:
                assert answer.coding == coding and len(answer.body) == 4 * 3001
            assert (notes["elastic-level"], notes["elastic-coding"], notes["elastic-engine"]) == \
                (str(level), coding, engine(coding, level, name))
            if name == "levels.html":
                sizes.append(len(answer.raw))
    assert sizes[-1] < sizes[0] * 0.97, sizes


def test_a_level_beyond_zlibs_is_libdeflates_or_clamped(httpd):
    server = httpd("Elastic On\nElasticControl off\nElasticLevel gzip 6 12",
                   files={"a.txt": FILES["a.txt"]}, allow_log=["ends at level 9"])
    answer = server.get("/a.txt", ae="gzip")
    check.encoded(answer, "gzip", FILES["a.txt"])
    assert server.notes(answer)["elastic-level"] == ("12" if env.HAS_LIBDEFLATE else "9")
    told = b"ElasticLevel: gzip ends at level 9" in server.get("/elastic-status").body
    assert told != env.HAS_LIBDEFLATE


def test_engines_are_named(server):
    named = {part.split()[0] for part in server.status()["ElasticEngines"].split(", ")}
    assert named == {"zlib", "brotli", *["libdeflate"] * env.HAS_LIBDEFLATE,
                     *["isal"] * env.HAS_ISAL, *["zstd"] * env.HAS_ZSTD}


# --- sizes


def check_size(server, way, size, ae, coding, protocol="http/1.1"):
    """A script's small body may have ended when its size is read. mod_proxy flushes if its backend
    pauses, and a flushed body is not held until its size is known."""
    flushed = way in ("proxy-chunked", "proxy-close")
    answer = check.once(lambda: server.get(WAYS[way].format(size), ae=ae, protocol=protocol),
                        lambda answer: size >= MIN_SIZE or flushed or not answer.coding)
    if size >= MIN_SIZE or (flushed and answer.coding):
        check.encoded(answer, coding, bodies.text(size))
        # The whole body was available.
        assert way != "static" or answer.headers["Content-Length"] == str(len(answer.raw))
    else:
        check.plain(answer, bodies.text(size))
        assert server.reason(answer) == "small", size


@pytest.mark.smoke
@pytest.mark.parametrize("coding", ["gzip", "br"])
@EACH_WAY
def test_sizes(server, way, coding):
    for size in SIZES:
        check_size(server, way, size, coding, coding)


@pytest.mark.protocols("h2c", "tls", "http/1.0", "h2")
@EACH_WAY
def test_sizes_over_every_protocol(server, way, protocol):
    for size in (0, 1, MIN_SIZE - 1, MIN_SIZE, 8191, 8192, 8193, 65536, 1 << 20):
        check_size(server, way, size, "gzip, br", "br", protocol)


@pytest.mark.protocols()
@pytest.mark.parametrize("way,coding", [
    ("static", "gzip"), ("static", "br"), ("cgi", "gzip"), ("odd", "br"), ("proxy", "gzip"),
    ("proxy-chunked", "br"), ("proxy-close", "gzip")])
def test_what_is_streamed_has_no_length(server, way, coding, protocol):
    every = protocol == "http/1.1" or (way, coding) == ("static", "gzip")
    for size in ((1 << 20) + 1, 20 << 20) if every else ():
        answer = server.get(WAYS[way].format(size), ae=coding, protocol=protocol)
        check.encoded(answer, coding, bodies.text(size))
        notes = server.notes(answer)
        assert (notes["elastic-in"], notes["elastic-out"]) == (str(size), str(len(answer.raw)))
        assert "Content-Length" not in answer.headers
        assert protocol != "http/1.1" or answer.headers["Transfer-Encoding"] == "chunked"


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
    assert server.reason(answer) == ("not-smaller" if coding in LEVELS else "not-acceptable")
    # A longer one: or with only the format's few bytes for each block.
    answer = server.get("/large-noise.txt", ae=coding)
    assert answer.body == FILES["large-noise.txt"] and answer.varies
    assert len(answer.raw) <= 300000 + 100


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
@pytest.mark.parametrize("coding", LEVELS)
def test_a_warm_server_takes_no_fresh_memory(httpd, coding):
    """A fresh context of 400 KB would cause a hundred page faults for each response."""
    server, pid = start_one_child(httpd, "MaxKeepAliveRequests 0", {"a.txt": FILES["a.txt"]})
    with server.connect() as connection:
        for count in (30, 200):
            before = minor_faults(pid)
            for _ in range(count):
                check.encoded(connection.request("/a.txt", ae=coding), coding, FILES["a.txt"])
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
