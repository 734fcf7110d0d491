"""If an encoder, memory or a file fails, the response is correct or visibly broken."""

import gzip

import pytest

from kit import (CGID_RELOADED, aborts, bodies, check, decode, dictionary, env, faults, inflate,
                 keep, precompressed)
from kit.client import Incomplete
from kit.server import StartFailed
from kit.stores import PROVIDERS, Redis

TEXT = bodies.text(40000)
LARGE = bodies.text(20 << 20)
STREAMED = bodies.text(3 << 20)  # more than is encoded in one call

CODINGS = ["gzip", "br", *["zstd"] * env.HAS_ZSTD]
BROKEN = (Incomplete, decode.DecodeError)


@pytest.fixture
def broken(httpd, tmp_path):
    """A server in which one function of a compression library fails."""
    return lambda fault, config="", **kw: httpd(
        "Elastic On\n" + config, allow_log=[r"\[elastic:"],
        wrapper=faults.wrapper(faults.library(tmp_path, fault)), **kw)


@pytest.mark.parametrize("config, encodes", [
    ("", False), ("ElasticLevel gzip 6", True), ("ElasticControl off", True)])
def test_head_encodes_nothing_where_the_level_may_be_another_for_get(broken, config, encodes):
    """The failing encoder shows if it was called."""
    server = broken("gzip-first", config, files={"a.txt": TEXT, "large.txt": STREAMED})
    answer = server.head("/a.txt", ae="gzip")
    if encodes:
        assert server.reason(answer) == "error" and answer.coding is None
    else:
        assert server.reason(answer) == "head" and answer.coding == "gzip"
        assert "Content-Length" not in answer.headers and answer.varies
        assert answer.headers["ETag"].startswith('W/"') and "-gzip" in answer.headers["ETag"]
    streamed = server.head("/large.txt", ae="gzip")
    assert streamed.coding == "gzip" and "Content-Length" not in streamed.headers


@pytest.mark.parametrize("fault,coding,config", [
    *((f"{coding}-first", coding, "") for coding in CODINGS),
    ("isal-first" if env.HAS_ISAL else "gzip-first", "gzip", "ElasticLevel gzip 1")])
def test_an_encoder_that_fails_at_once_leaves_the_body_as_it_is(broken, fault, coding, config):
    """Whole bodies, and streams that have sent nothing so far."""
    server = broken(fault, config, files={"a.txt": TEXT, "large.txt": STREAMED})
    other = "br" if coding == "gzip" else "gzip"
    for name, body in (("a.txt", TEXT), ("large.txt", STREAMED)):
        answer = server.get(f"/{name}", ae=coding)
        check.plain(answer, body)
        assert server.reason(answer) == "error"
        check.encoded(server.get(f"/{name}", ae=other), other, body)
    assert int(server.status()["ElasticSkipped-error"]) >= 2


# An encoder outputs nothing of this for a long time. The script's pieces are in memory that it
# reuses, and httpd passes them on one by one; output that is written at once is encoded at once.
EVEN = b"all the same " * 100000
PIECES = [b"piece %02d is even " % number * 700 for number in range(20)]
NUMBERS = b"".join(b"%d " % (number * 7919 % 1000003) for number in range(100000))
LUA = """
function pieces(r)
    r.content_type = "text/plain"
    r.headers_out["ETag"] = '"o"'
    for number = 0, 19 do
        r:write(string.rep(string.format("piece %02d is even ", number), 700))
        collectgarbage()
    end
    return apache2.OK
end
function numbers(r)
    local list = {}
    r.content_type = "text/plain"
    for number = 0, 99999 do
        list[number + 1] = string.format("%d ", number * 7919 % 1000003)
    end
    r:write(table.concat(list))
    return apache2.OK
end
"""
SCRIPT = "LuaMapHandler /(pieces|numbers) {docs}/x.lua $1\n"


@pytest.fixture
def streams(broken):
    """A server that streams all bodies, at levels whose engines can fail."""
    levels = "".join(f"ElasticLevel {coding} {level}\n" for coding, level in
                     (("gzip", 6), ("br", 5), ("zstd", 5)))
    return lambda fault: broken(fault, "ElasticWholeBody 0\n" + levels + SCRIPT, modules=["lua"],
                                files={"even.txt": EVEN, "few.txt": EVEN[:150000], "x.lua": LUA})


@pytest.mark.parametrize("coding", CODINGS)
def test_an_encoder_that_fails_before_anything_was_sent_leaves_the_body_as_it_is(streams, coding):
    """The first calls work. Their input is kept, also between calls of the filter."""
    server = streams(f"{coding}-soon")
    for path, body in (("/few.txt", EVEN[:150000]), ("/pieces", b"".join(PIECES)),
                       ("/numbers", NUMBERS)):
        answer = server.get(path, ae=coding)
        check.plain(answer, body)
        assert server.reason(answer) == "error"
        check.same_header(answer, server.get(path), "ETag", "Content-Length", "Accept-Ranges")


def test_what_a_stream_keeps_of_a_body_is_bounded(streams):
    """Beyond the bound the response is an error that does not look complete. File data needs no
    copy."""
    server = streams("gzip-later")
    answer = server.get("/pieces", ae="gzip")
    assert answer.status == 500 and answer.coding is None
    assert PIECES[0] not in answer.raw
    check.plain(server.get("/even.txt", ae="gzip"), EVEN)


@pytest.mark.parametrize("coding", CODINGS)
@pytest.mark.protocols("http/1.1", "http/1.0", "h2c")
def test_an_encoder_that_fails_midway_never_leaves_a_whole_body(broken, coding, protocol):
    server = broken(f"{coding}-later", files={"large.txt": LARGE}, h2=True)
    answer = server.get("/large.txt", ae=coding, protocol=protocol)
    if protocol != "http/1.0":
        assert not answer.complete
    assert answer.coding == coding
    with pytest.raises(BROKEN):
        answer.body  # noqa: B018
    assert server.is_running()


# --- memory


@pytest.fixture
def failing(httpd, tmp_path):
    """A server of one process in which a chosen memory allocation fails."""
    def make(fault, config, **kw):
        memory = faults.Memory(tmp_path)
        server = httpd("Elastic On\n" + config,
                       allow_log=[r"\[elastic:", aborts.LOG, CGID_RELOADED],
                       wrapper=faults.wrapper(faults.library(tmp_path, fault)),
                       **aborts.ONE_CHILD | {"environ": {"FAULT_MEMORY": str(memory.path)}}, **kw)

        def ask(at, path, coding):
            """Returns an answer, and whether that allocation was attempted and failed."""
            memory.fail(at)
            answer = server.get(path, ae=coding)
            failures = memory.failures()
            memory.fail(0)
            return answer, failures > 0
        return server, ask
    return make


ENGINES = [("gzip", 1), ("gzip", 6), ("br", 1), ("br", 5), *[("gzip", 12)] * env.HAS_LIBDEFLATE,
           *[("zstd", 5)] * env.HAS_ZSTD]


@pytest.mark.slow
@pytest.mark.unsanitized
@pytest.mark.parametrize("whole", ["1M", "0"], ids=["whole", "stream"])
@pytest.mark.parametrize("coding,level", ENGINES)
def test_memory_that_runs_out_at_each_call(failing, coding, level, whole):
    """The client gets the body, encoded or not, or a visibly broken response."""
    body = bodies.text(200000)
    server, ask = failing("memory", f"ElasticLevel {coding} {level}\nElasticWholeBody {whole}\n",
                          files={"a.txt": body})
    failed, at = True, 0
    while failed:
        at += 1
        server.graceful()  # with an empty pool
        answer, failed = ask(at, "/a.txt", coding)
        assert answer.status == 200
        try:
            assert answer.body == body, at
        except BROKEN:
            assert failed and answer.coding == coding
        assert failed or answer.coding == coding
        check.encoded(server.get("/a.txt", ae=coding), coding, body)
        assert at < 100
    assert at > 2


# Writes pieces with pauses, at which httpd flushes.
PAUSES = f"""
head('Content-Type: text/plain')
for piece in {PIECES[:5]!r}:
    out(piece)
    time.sleep(0.02)
"""
BODIES = {"/small.txt": bodies.text(9000), "/large.txt": bodies.text(200000),
          "/pieces": b"".join(PIECES), "/pauses.cgi": b"".join(PIECES[:5])}


@pytest.mark.smoke
@pytest.mark.buckets
@pytest.mark.unsanitized
@pytest.mark.parametrize("path", BODIES)
def test_buckets_without_memory(failing, path):
    """Whichever allocation fails, a body that looks complete is complete."""
    _, ask = failing("buckets", "ElasticLevel gzip 6\nElasticWholeBody 100K\n" + SCRIPT,
                     modules=["lua"], cgi={"pauses.cgi": PAUSES},
                     files={"x.lua": LUA, **{name[1:]: BODIES[name] for name in list(BODIES)[:2]}})
    failed, at = True, 0
    while failed:
        at += 1
        answer, failed = ask(at, path, "gzip")
        try:
            assert answer.status == 500 or answer.body == BODIES[path], at
        except BROKEN:
            assert failed
        assert at < 200
    assert at > 1 and answer.coding == "gzip"


# --- the system, APR and libcrypto

CALLED = f"""
{dictionary.STORE}{keep.PINNED}ElasticLevel zstd 3
<Location /kept>
ElasticCache On
</Location>
<Location /precompressed>
ElasticPrecompressed On
</Location>
<Location /copied>
SetOutputFilter copies
ElasticPrecompressed On
</Location>
ExtFilterDefine copies mode=output cmd="/bin/cat" PreservesContentLength
<Location /made>
ElasticDictionary match="/*"
{dictionary.WEEK}
</Location>
<Location /read>
ElasticInflate On
</Location>
"""


def _is_right(answer, body, coding):
    """False for an error that shows, as where the page's file cannot be read."""
    if answer.status == 200:
        check.whole(answer, coding, body)
    else:
        assert answer.status == 500 and answer.coding is None, answer
    return answer.status == 200


def _ask_new(server, turn, place, coding, **encoders):
    """A page that is new to the module, three times."""
    name, body = f"{place}/{turn}.html", precompressed.BODY + b"%d" % turn
    server.write(name, body, precompressed.OLD)
    for extension, encode in encoders.items():
        server.write(f"{name}.{extension}", encode(body), precompressed.OLD)
    return all([_is_right(server.get("/" + name, ae=coding), body, coding) for _ in range(3)])


def _ask_with_a_dictionary(server, turn):
    """Another page, which has just been stored."""
    made, body = _ask_new(server, turn, "made", "gzip"), precompressed.BODY + b"%d" % turn
    answer = dictionary.ask(server, "/page.html", dictionary=body)
    if answer.coding != "dcz":
        return _is_right(answer, dictionary.PAGE, "gzip") and made and turn > 0
    assert dictionary.decoded(answer, body, server.root) == dictionary.PAGE
    return made


def _send(server, turn):
    """More than is held in memory. Without its file it is sent on in chunks."""
    answer = inflate.post(server, "/read/echo.cgi", inflate.encode(LARGE[:300000], "gzip"))
    if answer.status == 200:
        inflate.is_body(inflate.read(answer), LARGE[:300000])
    else:
        assert answer.status in (400, 413, 503), answer
    return answer.status == 200


# {name: (what to ask, the least number of calls)}
CALLS = {
    "precompressed": (lambda *at: _ask_new(*at, "precompressed", "gzip", gz=gzip.compress), 20),
    "copied": (lambda *at: _ask_new(*at, "copied", "gzip", gz=gzip.compress), 20),
    "kept": (lambda *at: _ask_new(*at, "kept", "gzip"), 20), "request": (_send, 5),
    **({"dictionary": (_ask_with_a_dictionary, 20)} if env.HAS_ZSTD else {})}


@pytest.mark.unsanitized
@pytest.mark.parametrize("ask,least", CALLS.values(), ids=CALLS)
def test_each_call_of_the_system_fails_in_turn(httpd, tmp_path, ask, least):
    """The client gets the right body all the same, but where its page or what it sends cannot be
    read; and so does the next one."""
    memory = faults.Memory(tmp_path)
    server = dictionary.start(
        httpd, "Elastic On\n" + CALLED, modules=[*keep.SHMCB, "ext_filter"],
        cgi={"read/echo.cgi": inflate.ECHO}, allow_log=["elastic:", aborts.LOG, CGID_RELOADED],
        wrapper=faults.wrapper(faults.library(tmp_path, "system")),
        **aborts.ONE_CHILD | {"environ": {"FAULT_MEMORY": str(memory.path)}})
    server.folder("kept", "precompressed", "copied", "made", "read")
    failed, at, wrong = True, 0, 0
    while failed:
        at += 1
        memory.fail(at)
        wrong += not ask(server, at)
        failed = memory.failures() > 0
        memory.fail(0)
        assert at < 200
    print(f"{at} calls, {wrong} errors")
    assert at > least and wrong <= at / 4
    assert ask(server, 0)


@pytest.fixture
def redis():
    store = Redis()
    yield f"ElasticCacheStore redis:127.0.0.1:{store.port}\nElasticCacheKey {{root}}/key\n"
    store.stop()


@pytest.mark.unsanitized
@pytest.mark.parametrize("store", ["shmcb", pytest.param("redis", marks=pytest.mark.slow)])
def test_memory_that_runs_out_at_each_call_for_the_cache(httpd, tmp_path, store, request):
    """Each child begins without memory of its own."""
    memory = faults.Memory(tmp_path)
    stores = request.getfixturevalue(store) if store == "redis" else ""
    server = httpd(keep.KEEP + keep.PINNED + stores, start=False,
                   modules=[*keep.SHMCB, "socache_redis"],
                   allow_log=["elastic:", CGID_RELOADED, PROVIDERS],
                   wrapper=faults.wrapper(faults.library(tmp_path, "memory")),
                   **aborts.ONE_CHILD | {"environ": {"FAULT_MEMORY": str(memory.path)}})
    (server.root / "key").write_bytes(b"a key of thirty-two bytes or more")
    (server.root / "key").chmod(0o600)
    server.start()
    old = keep.page(server)
    keep.twice(server, old[0])
    failed, at = True, 0
    while failed:
        at += 1
        keep.reload(server)
        memory.fail(at)
        new = keep.page(server)
        for path, body in (old, old, new, new, new):
            answer = server.get(path, ae="gzip")
            assert (answer.status, answer.body) == (200, body), at
        failed = memory.failures() > 0
        memory.fail(0)
        assert at < 100
    assert at > 5 and not server.log.lines("exit signal")


@pytest.mark.long
@pytest.mark.unsanitized
@pytest.mark.parametrize("store", ["shmcb", pytest.param("redis", marks=pytest.mark.slow)])
def test_each_call_of_the_system_fails_in_turn_from_the_start(httpd, tmp_path, store, request):
    """httpd starts, with less; or says why it does not."""
    memory, body = faults.Memory(tmp_path), dictionary.PAGE
    wrapper = faults.wrapper(faults.library(tmp_path, "system"))
    stores = request.getfixturevalue(store) if store == "redis" else ""
    failed, at = True, 0
    while failed:
        at += 1
        server = httpd("Elastic On\nElasticCache On\n" + dictionary.STORE + keep.PINNED + stores,
                       modules=[*keep.SHMCB, "socache_redis"], files={"page.html": body},
                       allow_log=["elastic:|AH000(14|18|20)|" + PROVIDERS], start=False,
                       wrapper=wrapper, environ={"FAULT_MEMORY": str(memory.path)})
        dictionary.make_store(server)
        (server.root / "key").write_bytes(b"a key of thirty-two bytes or more")
        (server.root / "key").chmod(0o600)
        memory.fail(at)
        try:
            server.start()
            for _ in range(3):
                _is_right(server.get("/page.html", ae="gzip"), body, "gzip")
        except StartFailed as error:
            assert "elastic:" in str(error), (at, error)
        failed = memory.failures() > 0
        memory.fail(0)
        server.stop()
        assert at < 150
    assert at > 10


# --- files


@pytest.mark.smoke
@pytest.mark.parametrize("coding", ["gzip", "br"])
@pytest.mark.protocols("http/1.1", "http/1.0")
def test_a_file_cut_short_while_it_is_sent_never_looks_whole(httpd, coding, protocol):
    # Larger than buffers, so that the client must read; its beginning compresses, so it is encoded.
    data = bodies.text(16 << 10) + bodies.noise(1 << 20) * 40
    server = httpd("Elastic On\nEnableSendfile Off", files={"a.txt": data},
                   allow_log=[r"AH00574|elastic:|\[core:error\]"])
    path = server.docs / "a.txt"
    server.wait_for(server.children, 30, "children")
    children = server.children()
    whole, raw = aborts.read_while_cut(server, "/a.txt", path, coding, protocol)
    assert len(raw) < len(data)
    if protocol == "http/1.1":
        assert not whole
    with pytest.raises(decode.DecodeError):
        decode.decode(coding, raw)
    # No child died of SIGBUS. On a slow machine httpd may have started another one meanwhile.
    assert set(children) <= set(server.children())
    path.write_bytes(TEXT)
    check.encoded(server.get("/a.txt", ae=coding), coding, TEXT)
