"""Handlers that work with the stock filters: a wrong Content-Length, files that are closed before
the filter has seen the end, buckets that never have data for non-blocking reads."""

import time

import pytest

from kit import at, bodies, check, handlers, keep

SIZES = (12, 700, 30_000, 300_000, 1_500_000)
FILES = {f"{size}.txt": bodies.text(size) for size in SIZES}
WAYS = {"elastic": ("Elastic On", "br"), "cached": ("Elastic On\nElasticCache On", "br"),
        "zstd": ("Elastic On\nElasticLevel zstd 3", "zstd"),
        "stream": ("Elastic On\nElasticWholeBody 0", "zstd"),
        "dropin": ("SetOutputFilter BROTLI_COMPRESS;DEFLATE", "gzip")}
SMALL = 700  # below the minimum size

LUA = """
function sent(r)
    r.content_type = "text/plain"
    r:sendfile(r.document_root .. "/" .. r.args)
    return apache2.OK
end
function announced(r)
    local file = io.open(r.document_root .. "/" .. r.args, "rb")
    local text = file:read("*a")
    file:close()
    r.content_type = "text/plain"
    r.headers_out["Content-Length"] = tostring(#text + 5000)
    for i = 1, #text, 20000 do
        r:write(string.sub(text, i, i + 19999))
    end
    return apache2.OK
end
"""


@pytest.fixture(scope="module")
def server(httpd_shared, tmp_path_factory):
    server = httpd_shared(
        handlers.load(tmp_path_factory.mktemp("handlers"))
        + "ElasticControl off\nSetHandler pieces\n"
        + "LuaMapHandler /(?:\\w+)/lua/(sent|announced) {docs}/x.lua $1\n"
        + at("left", "Elastic On\nElasticTypes a/b") + at("made", "Elastic On\nSetHandler None")
        + "".join(at(name, lines) for name, (lines, _) in WAYS.items()),
        files=FILES, modules=["lua", *keep.SHMCB], records=("elastic", "deflate", "brotli"))
    server.write("x.lua", LUA)
    return server


def asked(server, way, size, query, **kw):
    """Returns the answer, after checking the whole body in the way's coding, or without if it is
    small."""
    coding = WAYS[way][1]
    answer = server.get(f"/{way}/{size}.txt?{query}", ae=coding, **kw)
    if answer.coding or size > SMALL:
        check.encoded(answer, coding, FILES[f"{size}.txt"])
    else:
        check.whole(answer, None, FILES[f"{size}.txt"])
        assert server.reason(answer) == "small"
    assert answer.complete
    return answer


EACH_WAY = pytest.mark.parametrize("way", WAYS)


@pytest.mark.smoke
@EACH_WAY
@pytest.mark.parametrize("how", ["pieces=1", "pieces=3", "pieces=3,flush"])
def test_a_length_that_is_not_the_bodys_is_dropped(server, way, how):
    """The length is that of a page before an output callback changed it."""
    for size, length in ((30_000, 29_999), *((size, size + more) for size in SIZES
                                             for more in (1, 50_000))):
        get = asked(server, way, size, f"{how},length={length}")
        # The body is known to be small only if the announced bytes are all there.
        assert size != SMALL or "Content-Length" not in get.headers or "flush" not in how
        head = server.head(f"/{way}/{size}.txt?{how},length={length}", ae=WAYS[way][1])
        assert head.complete and head.raw == b"" and head.status == get.status
        if size > SMALL:
            assert head.coding == get.coding and check.same_length((get, head))
    right = asked(server, way, SMALL, f"{how},length={SMALL}")
    assert right.coding or right.headers["Content-Length"] == str(SMALL)


@pytest.mark.smoke
@EACH_WAY
@pytest.mark.parametrize("what", ["shut", "pool", "memory"])
@pytest.mark.parametrize("how", ["pieces=1", "pieces=4", "pieces=4,flush"])
def test_what_is_gone_when_the_filter_returns_is_sent(server, way, what, how):
    for size in SIZES:
        asked(server, way, size, f"{what},{how}")


@EACH_WAY
@pytest.mark.parametrize("function", ["sent", "announced"])
def test_mod_lua(server, way, function):
    coding = WAYS[way][1]
    for size in SIZES:
        answer = server.get(f"/{way}/lua/{function}?{size}.txt", ae=coding)
        assert answer.complete
        check.whole(answer, answer.coding, FILES[f"{size}.txt"])
        assert size <= SMALL or answer.coding == coding


def test_the_extension_of_what_is_no_file_does_not_tell_the_type(server):
    check.encoded(server.get("/made/chart.png?made=9000", ae="br"), "br", b"made " * 9000)


def test_the_length_of_a_type_that_is_not_listed_stays(server):
    answer = server.get("/left/30000.txt?pieces=3,flush,length=30000", ae="br")
    check.plain(answer, FILES["30000.txt"], varies=False)
    assert answer.headers["Content-Length"] == "30000"


@pytest.mark.smoke
@EACH_WAY
def test_a_bucket_that_has_nothing_without_waiting(server, way):
    """A blocking read returns all of it: a whole body has its length, a small one stays small."""
    def ask():
        began = time.monotonic()
        return asked(server, way, size, "late,pieces=4"), time.monotonic() - began

    for size in SIZES:
        answer, took = check.once(ask, lambda pair: pair[1] < .08 or size > 30_000)
        if size <= 30_000:
            assert took < .08
            assert way == "stream" or int(answer.headers["Content-Length"]) == len(answer.raw)


def test_what_comes_late_is_cached_like_any_other_body(server):
    for _ in range(3):
        before = server.status()["ElasticCacheHits"]
        asked(server, "cached", 30_000, "late,pieces=4")
    assert server.status()["ElasticCacheHits"] != before


@pytest.mark.parametrize("way", ["elastic", "dropin"])
def test_events_of_such_a_bucket_are_not_held(server, way):
    coding, body = WAYS[way][1], FILES["700.txt"]
    path = f"/{way}/700.txt?late,events,pieces=7,pause=400"
    began = time.monotonic()
    with server.stream(path, ae=coding) as got:
        got.wait_for(body[:100], 15)
        assert time.monotonic() - began < 1.5
        assert got.read_all() == body


def test_what_such_a_bucket_has_late_is_waited_for_until_it_is_enough(server):
    assert asked(server, "elastic", SMALL, "late,pieces=2,pause=400").coding is None


@EACH_WAY
def test_a_bucket_that_says_to_be_longer_shows_no_memory_of_others(server, way):
    server.expect_log("the body (cannot be read|is shorter than was announced)")
    for pieces in (1, 2):
        answer = server.get(f"/{way}/30000.txt?boast,pieces={pieces}", ae=WAYS[way][1])
        assert answer.status == 500 or answer.body == FILES["30000.txt"]


def test_a_doubted_length_is_not_sent_in_a_bypass(driven, tmp_path, origin):
    large = FILES["1500000.txt"]
    origin.route("/large", lambda e: e.respond(200, {"Content-Type": "text/plain"}, large))
    d = driven(handlers.load(tmp_path) + "ElasticBypass 95\nSetHandler pieces\n"
               + at("origin", "SetHandler None", f"ProxyPass {origin.url}"),
               modules=["proxy", "proxy_http"])
    d.server.write("30000.txt", FILES["30000.txt"])
    d.server.wait_for(lambda: d.load(98)["ElasticBypass"] == "1", 30, "the bypass")
    for length in (30_000, 50_000):
        answer = d.server.get(f"/30000.txt?pieces=3,flush,length={length}", ae="gzip")
        check.whole(answer, None, FILES["30000.txt"])
        assert answer.complete and d.server.reason(answer) == "bypass"
    head = d.server.head("/30000.txt?pieces=3,flush,length=30000", ae="gzip")
    assert head.headers["Content-Length"] == "30000"  # a handler may send HEAD no bytes
    answer = d.server.get("/origin/large", ae="gzip")  # nobody doubts a backend's
    check.plain(answer, large)
    assert answer.headers["Content-Length"] == "1500000"
