"""When an encoder or a file fails: a correct response, or one that is visibly broken."""

import pytest

from kit import CGID_RELOADED, aborts, bodies, check, decode, env, faults
from kit.client import Incomplete

TEXT = bodies.text(40000)
LARGE = bodies.text(20 << 20)
STREAMED = bodies.text(3 << 20)  # more than is encoded in one call

CODINGS = ["gzip", "br", "zstd"] if env.HAS_ZSTD else ["gzip", "br"]


@pytest.fixture
def broken(httpd, tmp_path):
    """A server in which one function of a compression library fails."""
    def make(fault, config="", **kw):
        return httpd("Elastic On\n" + config, allow_log=[r"\[elastic:"],
                     wrapper=faults.wrapper(faults.library(tmp_path, fault)), **kw)

    return make


@pytest.mark.parametrize("config, encodes", [
    ("", False), ("ElasticLevel gzip 6", True), ("ElasticControl off", True)])
def test_head_encodes_nothing_where_the_level_may_be_another_for_get(broken, config, encodes):
    """An encoder that fails shows whether it was asked."""
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


FAILING = [(f"{coding}-{when}", coding, "") for coding in CODINGS for when in ("open", "first")]
FAILING.append(("isal-first" if env.HAS_ISAL else "gzip-first", "gzip", "ElasticLevel gzip 1"))


@pytest.mark.parametrize("fault,coding,config", FAILING)
def test_an_encoder_that_fails_at_once_leaves_the_body_as_it_is(broken, fault, coding, config):
    """Whole bodies, and streams of which nothing was sent yet."""
    server = broken(fault, config, files={"a.txt": TEXT, "large.txt": STREAMED})
    other = "br" if coding == "gzip" else "gzip"
    for name, body in (("a.txt", TEXT), ("large.txt", STREAMED)):
        answer = server.get(f"/{name}", ae=coding)
        check.plain(answer, body)
        assert server.reason(answer) == "error"
        check.encoded(server.get(f"/{name}", ae=other), other, body)
    assert int(server.status()["ElasticSkipped-error"]) >= 2


# Of these an encoder puts out nothing for long. The script hands its pieces over in memory that it
# uses again, and httpd passes them on one by one; what it writes at once is encoded at once.
EVEN = b"all the same " * 100000
PIECES = [b"piece %02d is even " % number * 700 for number in range(20)]
NUMBERS = b"".join(b"%d " % (number * 7919 % 1000003) for number in range(100000))
LUA = """
function pieces(r)
    r.content_type = "text/plain"
    r.headers_out["ETag"] = '"o"'
    if r.args then
        r.headers_out["Content-Length"] = r.args
    end
    for number = 0, r.args and 4 or 19 do
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
STREAMS = """
ElasticWholeBody 0
ElasticLevel gzip 6
ElasticLevel br 5
ElasticLevel zstd 5
LuaMapHandler /(pieces|numbers) {docs}/x.lua $1
"""


@pytest.fixture
def streams(broken):
    """A server that streams all bodies, at levels whose engines the faults are of."""
    return lambda fault: broken(fault, STREAMS, modules=["lua"],
                                files={"even.txt": EVEN, "few.txt": EVEN[:150000], "x.lua": LUA})


@pytest.mark.parametrize("coding", CODINGS)
def test_an_encoder_that_fails_before_anything_was_sent_leaves_the_body_as_it_is(streams, coding):
    """The first calls work. What they took is kept, over calls of the filter too."""
    server = streams(f"{coding}-soon")
    for path, body in (("/few.txt", EVEN[:150000]), ("/pieces", b"".join(PIECES)),
                       ("/numbers", NUMBERS)):
        answer = server.get(path, ae=coding)
        check.plain(answer, body)
        assert server.reason(answer) == "error"
        check.same_header(answer, server.get(path), "ETag", "Content-Length", "Accept-Ranges")


def test_what_a_stream_keeps_of_a_body_is_bounded(streams):
    """Beyond that the response is an error, which looks like no body. What lies in a file needs no
    keeping."""
    server = streams("gzip-later")
    answer = server.get("/pieces", ae="gzip")
    assert answer.status == 500 and answer.coding is None
    assert PIECES[0] not in answer.raw
    check.plain(server.get("/even.txt", ae="gzip"), EVEN)


def test_a_stream_that_comes_short_does_not_begin_anew(streams):
    """It is not the encoder that failed."""
    server = streams("gzip-later")
    answer = server.get("/pieces?1000000", ae="br")
    assert answer.status == 500 and answer.coding is None
    assert PIECES[0] not in answer.raw


@pytest.mark.parametrize("fault", [f"{coding}-later" for coding in CODINGS])
@pytest.mark.protocols("http/1.1", "http/1.0", "h2c")
def test_an_encoder_that_fails_midway_never_leaves_a_whole_body(broken, fault, protocol):
    server = broken(fault, files={"large.txt": LARGE}, h2=True)
    coding = fault.split("-")[0]
    answer = server.get("/large.txt", ae=coding, protocol=protocol)
    if protocol != "http/1.0":
        assert not answer.complete
    assert answer.coding == coding
    with pytest.raises((Incomplete, decode.DecodeError)):
        answer.body  # noqa: B018
    assert server.is_running()


ENGINES = [("gzip", 1), ("gzip", 6), ("br", 1), ("br", 5)] + (
    [("gzip", 12)] if env.HAS_LIBDEFLATE else []) + [("zstd", 5)] * env.HAS_ZSTD


@pytest.mark.slow
@pytest.mark.parametrize("whole", ["1M", "0"], ids=["whole", "stream"])
@pytest.mark.parametrize("coding,level", ENGINES)
def test_memory_that_runs_out_at_each_call(httpd, tmp_path, coding, level, whole):
    """The client gets the body, encoded or as it is, or sees that it is broken."""
    if env.PRELOAD:
        return  # a sanitizer has its own malloc()
    memory = faults.Memory(tmp_path)
    body = bodies.text(200000)
    server = httpd(f"Elastic On\nElasticLevel {coding} {level}\nElasticWholeBody {whole}\n",
                   files={"a.txt": body}, allow_log=[r"\[elastic:", aborts.LOG, CGID_RELOADED],
                   wrapper=faults.wrapper(faults.library(tmp_path, "memory")),
                   **aborts.ONE_CHILD | {"environ": {"FAULT_MEMORY": str(memory.path)}})
    failures = 1
    at = 0
    while failures:
        at += 1
        server.graceful()  # with a pool that has kept nothing
        memory.fail(at)
        answer = server.get("/a.txt", ae=coding)
        failures = memory.failures()
        memory.fail(0)
        assert answer.status == 200
        try:
            assert answer.body == body, at
        except (Incomplete, decode.DecodeError):
            assert failures and answer.coding == coding
        assert failures or answer.coding == coding
        again = server.get("/a.txt", ae=coding)
        assert again.coding == coding and again.body == body
        assert at < 100
    assert at > 2


# Writes pieces with pauses that make httpd flush each.
PAUSES = f"""
head('Content-Type: text/plain')
for piece in {PIECES[:5]!r}:
    out(piece)
    time.sleep(0.02)
"""


SMALL_TEXT, LARGE_TEXT = bodies.text(9000), bodies.text(200000)
WHOLE = {"/small.txt": SMALL_TEXT, "/large.txt": LARGE_TEXT, "/pieces": b"".join(PIECES),
         "/pauses.cgi": b"".join(PIECES[:5])}


@pytest.mark.smoke
@pytest.mark.parametrize("path", WHOLE)
def test_buckets_without_memory(httpd, tmp_path, path):
    """Whichever call gets none, a body that looks whole is."""
    if env.PRELOAD:
        return  # a sanitizer has its own functions in between
    memory = faults.Memory(tmp_path)
    server = httpd("Elastic On\nElasticLevel gzip 6\nElasticWholeBody 100K\n"
                   "LuaMapHandler /(pieces) {docs}/x.lua $1\n", modules=["lua"],
                   files={"small.txt": SMALL_TEXT, "large.txt": LARGE_TEXT, "x.lua": LUA},
                   cgi={"pauses.cgi": PAUSES}, allow_log=[r"\[elastic:", aborts.LOG],
                   wrapper=faults.wrapper(faults.library(tmp_path, "buckets")),
                   **aborts.ONE_CHILD | {"environ": {"FAULT_MEMORY": str(memory.path)}})
    at = failures = 1
    while failures:
        memory.fail(at)
        answer = server.get(path, ae="gzip")
        failures = memory.failures()
        memory.fail(0)
        try:
            assert answer.status == 500 or answer.body == WHOLE[path], at
        except (Incomplete, decode.DecodeError):
            assert failures
        at += 1
        assert at < 200
    assert at > 2 and answer.coding == "gzip"


@pytest.mark.parametrize("coding,level", ENGINES)
def test_a_client_that_goes_away_midway(httpd, coding, level):
    """Whatever the engine, whole or streamed: the next client gets its body from what was left."""
    files = {"large.txt": bodies.text(4 << 20), "small.txt": TEXT}
    server = httpd(f"Elastic On\nElasticLevel {coding} {level}\n", files=files, cgi=aborts.CGI,
                   allow_log=[aborts.LOG], **aborts.ONE_CHILD)
    for index in range(12):
        aborts.midway(server, index, coding)
    for name, body in files.items():
        check.encoded(server.get(f"/{name}", ae=coding), coding, body)
    assert len(server.children()) == 1


@pytest.fixture
def site(httpd):
    return httpd("Elastic On\nEnableSendfile Off", allow_log=[r"AH00574|elastic:|\[core:error\]"])


@pytest.mark.smoke
@pytest.mark.parametrize("coding", ["gzip", "br"])
@pytest.mark.protocols("http/1.1", "http/1.0")
def test_a_file_cut_short_while_it_is_sent_never_looks_whole(site, coding, protocol):
    # What cannot be sent before the client reads; its beginning compresses, so that it is encoded.
    data = bodies.text(16 << 10) + bodies.noise(1 << 20) * 40
    path = site.write("a.txt", data)
    children = site.children()
    whole, raw = aborts.read_while_cut(site, "/a.txt", path, coding, protocol)
    assert len(raw) < len(data)
    if protocol == "http/1.1":
        assert not whole
    with pytest.raises(decode.DecodeError):
        decode.decode(coding, raw)
    assert site.children() == children  # nobody died of SIGBUS
    path.write_bytes(TEXT)
    check.encoded(site.get("/a.txt", ae=coding), coding, TEXT)
