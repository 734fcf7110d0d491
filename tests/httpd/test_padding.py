"""ElasticPadding: each response has a new field of random length, whatever its body is."""

import contextlib
import gzip
import socket
import threading

import pytest

from kit import Connection, at, bodies, cache, check, client, env
from kit.process import Listener

BODY = bodies.text(3000)
PRECOMPRESSED = gzip.compress(BODY, 9, mtime=0)
OLD = 1_500_000_000
FIELD = "Elastic-Padding"
CODINGS = ["gzip", "br"] + ["zstd"] * env.HAS_ZSTD
RUN = 100  # responses; 32 bytes of padding give about 24 lengths


@pytest.fixture(scope="module")
def server(httpd_shared, origin):
    h2 = env.possible("h2")
    made = httpd_shared(
        "Elastic On\nElasticControl off\nElasticPadding 32\nErrorDocument 404 /plain.txt\n"
        f"{cache.ROOT}CacheEnable disk /stored\nCacheHeader On\nCacheDefaultExpire 3600\n"
        f"ProxyPass /origin/ {origin.url}/\nProxyPass /stored/origin/ {origin.url}/\n"
        + at("stored") + at("off", "ElasticPadding Off") + at("wide", "ElasticPadding 400")
        + at("types", "ElasticTypes text/css") + at("stock", "Elastic Off")
        + at("precompressed", "ElasticPrecompressed On")
        + "<Directory {docs}/htaccess>\nAllowOverride FileInfo\n</Directory>\n",
        modules=[*cache.MODULES, "proxy", "proxy_http"], tls=True, h2=h2,
        start=False, files={
            "htaccess/plain.txt": BODY, "htaccess/.htaccess": "ElasticPadding 3\n",
            "short.txt": BODY[:950],
        }, cgi={"none.cgi": "head('Status: 204')\n"})
    origin.route("/encoded", lambda exchange: exchange.respond(
        200, {"Content-Encoding": "gzip", FIELD: "of the origin"}, PRECOMPRESSED))
    # Old, so that stored responses do not expire during the test.
    for name, data in (("plain.txt", BODY), ("both.txt", BODY), ("both.txt.gz", PRECOMPRESSED)):
        made.write(name, data, OLD)
    cache.make_directory(made)
    made.start()
    return made


def padding(answer, most=32):
    """The field's value; the field must occur once."""
    [value] = answer.headers.all(FIELD)
    assert len(value) <= most and set(value) <= set("XZ&*"), answer
    return value


def assert_fresh(values):
    """The values are independent: lengths vary, and no longer value occurs twice."""
    assert len(set(map(len, values))) > 9, values
    long = [value for value in values if len(value) > 10]
    assert len(set(long)) == len(long) > 0


@pytest.mark.smoke
@pytest.mark.parametrize("path,ae,most", [
    *(("/plain.txt", ae, 32) for ae in (None, *CODINGS)),
    ("/wide/plain.txt", "gzip", 400), ("/precompressed/both.txt", "gzip", 32)])
def test_each_response_has_its_own(server, path, ae, most):
    values = []
    for _ in range(RUN):
        answer = server.get(path, ae=ae)
        check.whole(answer, ae, BODY)
        values.append(padding(answer, most))
    assert_fresh(values)
    assert most == 32 or max(map(len, values)) > 200, "half of them are"
    if path.startswith("/precompressed"):
        assert answer.raw == PRECOMPRESSED
        assert server.notes(answer)["elastic-engine"] == "precompressed"


def test_what_is_stored_has_none_and_each_hit_its_own(server):
    with server.connect() as connection:
        answers = [connection.request("/stored/plain.txt", ae="gzip") for _ in range(RUN + 1)]
    for answer in answers:
        check.whole(answer, "gzip", BODY)
    assert all(cache.state(answer) == "HIT" for answer in answers[1:])
    assert_fresh([padding(answer) for answer in answers[1:]])
    stored = [path.read_bytes() for path in (server.root / "cache").rglob("*") if path.is_file()]
    assert any(b"text/plain" in data for data in stored)
    assert not any(FIELD.lower().encode() in data.lower() for data in stored)


@pytest.mark.parametrize("path,coding,most", [
    # Bodies that other modules compress, before or after this one.
    ("/types/plain.txt", None, 32), ("/stock/plain.txt", None, 32), ("/origin/encoded", "gzip", 32),
    ("/missing", "gzip", 32), ("/htaccess/plain.txt", "gzip", 3)])
def test_what_this_module_does_not_compress_has_one(server, path, coding, most):
    for ask in (server.get, server.head):
        answer = ask(path, ae="gzip")
        assert (answer.status, answer.coding) == (404 if path == "/missing" else 200, coding)
        padding(answer, most)


def test_what_has_no_body_has_none(server):
    tag = server.get("/plain.txt", ae="gzip").headers["ETag"]
    answer = server.get("/plain.txt", ae="gzip", headers={"If-None-Match": tag})
    check.empty(answer, 304)
    for other in (answer, server.get("/none.cgi"), server.get("/off/plain.txt", ae="gzip")):
        assert FIELD not in other.headers
    # 950 bytes fit a segment with the header alone, but not with 400 bytes of padding.
    assert server.get("/off/short.txt", ae="gzip").coding is None
    assert server.get("/wide/short.txt", ae="gzip").coding == "gzip"


class Wire(Listener):
    """A proxy for the server's TLS port that counts the bytes of each connection."""

    def __init__(self, server):
        self.lengths, self._server = [], ("127.0.0.1", server.tls_port)
        super().__init__(self._pass_on)

    def _pass_on(self, sock):
        with socket.create_connection(self._server) as server:
            threading.Thread(target=self._ask, args=(sock, server), daemon=True).start()
            self.lengths.append(0)
            while data := server.recv(65536):
                self.lengths[-1] += len(data)
                sock.sendall(data)

    @staticmethod
    def _ask(sock, server):
        with contextlib.suppress(OSError):
            while data := sock.recv(65536):
                server.sendall(data)
            server.shutdown(socket.SHUT_WR)


@pytest.mark.protocols("tls", "h2")
def test_the_length_on_the_wire_varies(server, protocol):
    """By more than signatures, tickets, and HPACK's coding of the date vary."""
    wire, lengths = Wire(server), []
    for _ in range(RUN):
        if protocol == "tls":
            with Connection(("127.0.0.1", wire.port), tls=True) as connection:
                answer = connection.request("/plain.txt", ae="gzip")
        else:
            answer = client.fetch_http2(f"https://127.0.0.1:{wire.port}/plain.txt", "GET",
                                        "127.0.0.1", "gzip", None, b"", 60)
        lengths.append(wire.lengths[-1])
        check.whole(answer, "gzip", BODY)
    wire.stop()
    assert len(set(lengths)) > 16, lengths  # 7 to 9 without padding, 30 and more with it
