"""When an encoder or a file fails: a correct response, or one that is visibly broken."""

import os
import socket
import time

import pytest

from kit import aborts, bodies, decode, env, faults
from kit.client import Incomplete

TEXT = bodies.text(40000)
LARGE = bodies.text(20 << 20)

CODINGS = ["gzip", "br", "zstd"] if env.HAS_ZSTD else ["gzip", "br"]


@pytest.fixture
def broken(httpd, tmp_path):
    """A server in which one function of a compression library fails."""
    def make(fault, config="", **kw):
        return httpd("Elastic On\n" + config, allow_log=[r"\[elastic:"],
                     wrapper=faults.wrapper(faults.library(tmp_path, fault)), **kw)

    os.chmod(tmp_path, 0o755)
    for parent in tmp_path.parents[:2]:
        os.chmod(parent, 0o755)
    return make


@pytest.mark.parametrize("name", ["a.txt", "large.txt"])
@pytest.mark.parametrize("fault", [f"{c}-{when}" for c in CODINGS for when in ("open", "first")])
def test_an_encoder_that_fails_at_once_leaves_the_body_as_it_is(broken, fault, name):
    server = broken(fault, files={"a.txt": TEXT, "large.txt": LARGE})
    coding = fault.split("-")[0]
    answer = server.get(f"/{name}", ae=coding)
    assert answer.status == 200 and answer.coding is None and answer.varies
    assert answer.body == (TEXT if name == "a.txt" else LARGE)
    assert server.reason(answer) == "error"
    assert int(server.status()["ElasticSkipped-error"]) >= 1
    # The other coding works.
    other = "br" if coding == "gzip" else "gzip"
    answer = server.get("/a.txt", ae=other)
    assert answer.coding == other and answer.body == TEXT


@pytest.mark.parametrize("fault", [f"{coding}-first" for coding in CODINGS])
def test_an_encoder_that_fails_at_the_first_call_of_a_stream_says_so(broken, fault):
    """Nothing was sent yet: the body goes out as it is."""
    server = broken(fault, files={"large.txt": LARGE})
    answer = server.get("/large.txt", ae=fault.split("-")[0])
    assert answer.status == 200 and answer.coding is None and answer.raw == LARGE
    assert server.reason(answer) == "error"
    assert server.reason(answer) == "error"


@pytest.mark.parametrize("name", ["a.txt", "large.txt"])
def test_the_low_levels_engine_that_fails_leaves_the_body_as_it_is(broken, name):
    server = broken("isal-first" if env.HAS_ISAL else "gzip-first", config="ElasticLevel gzip 1",
                    files={"a.txt": TEXT, "large.txt": LARGE})
    answer = server.get(f"/{name}", ae="gzip")
    assert answer.status == 200 and answer.coding is None and answer.varies
    assert answer.raw == (TEXT if name == "a.txt" else LARGE)
    assert server.reason(answer) == "error"
    assert server.get(f"/{name}", ae="br").coding == "br"


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
    for folder in (tmp_path, *list(tmp_path.parents)[:2]):
        os.chmod(folder, 0o755)
    memory = faults.Memory(tmp_path)
    body = bodies.text(200000)
    server = httpd(f"Elastic On\nElasticLevel {coding} {level}\nElasticWholeBody {whole}\n",
                   files={"a.txt": body}, allow_log=[r"\[elastic:", aborts.LOG],
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
        if not failures or answer.status != 500:  # which comes where nothing was sent yet
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


@pytest.mark.parametrize("coding,level", ENGINES)
def test_a_client_that_goes_away_midway(httpd, coding, level):
    """Whatever the engine, whole or streamed: the next client gets its body from what was left."""
    files = {"large.txt": bodies.text(4 << 20), "small.txt": TEXT}
    server = httpd(f"Elastic On\nElasticLevel {coding} {level}\n", files=files, cgi=aborts.CGI,
                   allow_log=[aborts.LOG], **aborts.ONE_CHILD)
    for index in range(12):
        aborts.midway(server, index, coding)
    for name, body in files.items():
        answer = server.get(f"/{name}", ae=coding)
        assert answer.coding == coding and answer.body == body
    assert len(server.children()) == 1


def read_slowly(connection, response, sink):
    """Reads what comes into `sink`, as its pieces; returns whether the message was whole."""
    try:
        for piece in connection.body_pieces(response):
            sink.append(piece)
    except (Incomplete, ConnectionError):
        return False
    return response.complete


@pytest.fixture
def site(httpd):
    return httpd("Elastic On\nEnableSendfile Off", allow_log=[r"AH00574|elastic:|\[core:error\]"])


@pytest.mark.smoke
@pytest.mark.parametrize("coding", ["gzip", "br"])
@pytest.mark.protocols("http/1.1", "http/1.0")
def test_a_file_cut_short_while_it_is_sent_never_looks_whole(site, coding, protocol):
    data = bodies.noise(1 << 20) * 40  # what cannot be sent before the client reads
    path = site.write("a.txt", data)
    children = site.children()
    with site.connect(protocol) as connection:
        connection.sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 65536)
        id = connection.send_request("/a.txt", ae=coding)
        response = connection.read_head(id)
        assert response.status == 200 and response.headers["Content-Encoding"] == coding
        time.sleep(0.5)
        os.truncate(path, 1 << 20)
        pieces = []
        whole = read_slowly(connection, response, pieces)
    raw = b"".join(pieces)
    assert len(raw) < len(data)
    if protocol == "http/1.1":
        assert not whole
    with pytest.raises(decode.DecodeError):
        decode.decode(coding, raw)
    assert site.children() == children  # nobody died of SIGBUS
    path.write_bytes(TEXT)
    assert site.get("/a.txt", ae=coding).body == TEXT


@pytest.mark.parametrize("coding", ["gzip", "br"])
def test_a_script_that_dies_midway_never_looks_whole(httpd, origin, coding):
    """A proxied body whose origin goes away before the last chunk."""
    def die(exchange):
        exchange.head(200, {"Content-Type": "text/plain", "Transfer-Encoding": "chunked"})
        for _ in range(5):
            exchange.send(b"%x\r\n%s\r\n" % (len(TEXT), TEXT))
        exchange.close = True

    origin.route("/die", die)
    server = httpd(f"Elastic On\nProxyPass /p/ {origin.url}/", modules=["proxy", "proxy_http"],
                   allow_log=["proxy"])
    answer = server.get("/p/die", ae=coding)
    assert answer.coding == coding and not answer.complete
    with pytest.raises(decode.DecodeError):
        decode.decode(coding, answer.raw)
