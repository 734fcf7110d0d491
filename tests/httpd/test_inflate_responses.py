"""The output filter INFLATE."""

import gzip
import hashlib
import re
import socket
import zlib
from pathlib import Path

import brotli
import pytest

from kit import bodies, check, decode, env, inflate
from kit.client import Incomplete
from kit.origin import raw
from kit.proxied import WAIT, Steps

pytestmark = pytest.mark.rules

BODY = bodies.text(90000)
GZIP = gzip.compress(BODY, mtime=0)
BR = brotli.compress(BODY, quality=3)
MEMBERS = b"".join(gzip.compress(piece, mtime=0) for piece in bodies.pieces(BODY, (7, 9000)))

_stream = zlib.compressobj(wbits=31)
PARTS = [_stream.compress(b"one") + _stream.flush(zlib.Z_SYNC_FLUSH),
         _stream.compress(b"two") + _stream.flush()]
HELD = WAIT + f"""
head('Content-Type: text/plain', 'Content-Encoding: gzip')
for n, part in enumerate({PARTS!r}):
    wait(n)
    out(part)
"""
SCRIPT = """\
import gzip
head('Content-Type: text/plain', 'Content-Encoding: gzip', 'ETag: "cgi"')
out(gzip.compress(bodies.text(90000)))
"""

CHAINS = {
    "inflate": "SetOutputFilter INFLATE\nErrorDocument 404 /inflate/f.txt.gz",
    "again": "SetOutputFilter INFLATE;DEFLATE",
    "edit": 'SetOutputFilter INFLATE;SUBSTITUTE;DEFLATE\nSubstitute "s/server/SERVER/n"',
    "elastic": "SetOutputFilter INFLATE\nElastic On",
    "dense": "SetOutputFilter INFLATE\nDeflateInflateRatioLimit 20\nDeflateInflateRatioBurst 2",
    "small": "SetOutputFilter INFLATE\nDeflateInflateLimitRequestBody 100\nLimitRequestBody 100",
}
GZIPPED = {"Content-Encoding": "gzip"}


def give(coding, data, tag='"o"'):
    fields = {"Content-Encoding": coding, "ETag": tag, "Content-MD5": "x",
              "Accept-Ranges": "bytes"}

    def handler(exchange):
        if '"o"' in exchange.headers.get("if-none-match", ""):
            exchange.respond(304, {"ETag": '"o"'})
        else:
            exchange.respond(200, fields, data)
    return handler


ORIGIN = {
    "gzip": give("gzip", GZIP), "x-gzip": give("x-gzip", GZIP), "br": give("br", BR),
    "zstd": give("zstd", inflate.encode(BODY, "zstd")), "members": give("gzip", MEMBERS),
    "weak": give("gzip", GZIP, 'W/"o"'), "two": give("br, gzip", gzip.compress(BR)),
    "identity": give("identity", BODY), "unknown": give("dcz", GZIP), "empty": give("gzip", b""),
    "zeros": give("gzip", gzip.compress(bytes(5_000_000))), "more": give("gzip", GZIP + b"xyz"),
    # In one piece: if the body came later, mod_proxy would flush the header.
    "bad": raw({**GZIPPED, "ETag": '"o"', "Content-Length": 14}, b"no gzip at all"),
    "chunked": lambda e: e.chunked(200, GZIPPED, bodies.pieces(GZIP)),
    "no-member": lambda e: e.chunked(200, GZIPPED, [GZIP + b"x", GZIP]),
    "none": lambda e: e.respond(204, GZIPPED),
    "part": lambda e: e.respond(
        206, {**GZIPPED, "Content-Range": f"bytes 0-99/{len(GZIP)}"}, GZIP[:100]),
    # Each part has its Content-Range.
    "parts": lambda e: e.respond(
        206, {**GZIPPED, "Content-Type": "multipart/byteranges; boundary=x"}, GZIP),
}


@pytest.fixture(scope="module")
def server(httpd_shared, origin):
    config = "".join(f"ProxyPass /{name}/origin/ {origin.url}/\nAlias /{name}/ {{docs}}/\n"
                     f"<Location /{name}/>\n{lines}\n</Location>\n"
                     for name, lines in CHAINS.items())
    server = httpd_shared(
        config + "AddEncoding x-gzip gz\nAddEncoding br br\nSubstituteMaxLineLength 1M\n",
        modules=["proxy", "proxy_http", "substitute", "filter"], records=("elastic", "deflate"),
        tls=True, h2=True,
        cgi={"held.cgi": HELD, "script.cgi": SCRIPT}, files={"a.txt": BODY})
    for name, data in (("f.txt.gz", GZIP), ("bad.txt.gz", b"no gzip at all")):
        server.write(name, data, mtime=1_500_000_000)
    for path, handler in ORIGIN.items():
        origin.route(f"/{path}", handler)
    return server


@pytest.fixture(scope="module")
def steps(server, origin):
    steps = Steps(server)
    origin.route("/held", lambda e: e.chunked(200, GZIPPED, steps.parts(PARTS)))
    return steps


def decoded(answer, tag=None):
    """The answer is BODY, whole, without coding and without fields about the encoded bytes."""
    check.whole(answer, None, BODY)
    assert answer.headers.get("ETag") == tag, answer
    assert not [name for name in ("Content-MD5", "Accept-Ranges") if name in answer.headers], answer
    assert answer.headers.get("Content-Length") in (None, str(len(BODY)))


@pytest.mark.smoke
@pytest.mark.protocols()
@pytest.mark.parametrize("path,tag", [
    *((name, '"o-gunzip"') for name in ("gzip", "x-gzip", "br", "members",
                                        *["zstd"] * env.HAS_ZSTD)),
    ("weak", 'W/"o-gunzip"'), ("chunked", None)])
def test_an_origins_body(server, protocol, path, tag):
    """Whatever the client accepts."""
    for ae in (None, "gzip, br"):
        decoded(server.get(f"/inflate/origin/{path}", ae=ae, protocol=protocol), tag)


@pytest.mark.parametrize("path,status,coding,body", [
    ("identity", 200, "identity", BODY), ("unknown", 200, "dcz", GZIP), ("two", 200, "br", BR),
    ("part", 206, "gzip", GZIP[:100]), ("parts", 206, "gzip", GZIP), ("none", 204, "gzip", b""),
    ("empty", 200, None, b"")], ids=lambda value: "body" if isinstance(value, bytes) else None)
def test_what_it_cannot_decode_stays(server, path, status, coding, body):
    answer = server.get(f"/inflate/origin/{path}")
    assert (answer.status, answer.coding, answer.raw) == (status, coding, body), answer
    if path in ("identity", "unknown"):
        assert answer.headers["ETag"] == '"o"'
        assert answer.headers["Content-Length"] == str(len(body))


@pytest.mark.protocols("http/1.1", "h2c")
@pytest.mark.parametrize("path", ["origin/gzip", "f.txt.gz", "script.cgi"])
def test_head_says_what_get_says(server, protocol, path):
    get, answer = (server.get(f"/inflate/{path}", method=method, protocol=protocol)
                   for method in ("GET", "HEAD"))
    assert (answer.status, answer.raw, answer.coding) == (200, b"", None), answer
    check.same_header(get, answer, "ETag", "Content-Encoding", "Content-MD5", "Accept-Ranges")
    assert answer.headers.get("Content-Length") in (None, str(len(BODY)))


@pytest.mark.protocols("http/1.1", "h2c")
@pytest.mark.parametrize("chain", ["inflate", "again"])
@pytest.mark.parametrize("path", ["held.cgi", "origin/held"])
def test_what_is_flushed_comes_through(server, steps, protocol, chain, path):
    """A script's pipe without data for a while, and mod_proxy's late brigades."""
    steps.check(server, f"/{chain}/{path}", None if chain == "inflate" else "gzip",
                [b"one", b"two"], protocol)


def test_a_page_by_an_internal_redirect_stays_encoded(server):
    """As with mod_deflate."""
    answer = server.get("/inflate/none")
    assert (answer.status, answer.coding, answer.raw) == (404, "x-gzip", GZIP), answer


def test_bytes_behind_the_end_are_dropped(server):
    decoded(server.get("/inflate/origin/more"), '"o-gunzip"')
    # Later bytes may look like another member.
    decoded(server.get("/inflate/origin/no-member"))
    assert server.log.lines("bytes behind the end of its encoded body")


@pytest.mark.smoke
@pytest.mark.protocols()
@pytest.mark.parametrize("path", ["origin/gzip", "origin/br", "f.txt.gz", "script.cgi",
                                  "origin/chunked", "a.txt"])
def test_a_chain_edits_what_was_encoded(server, protocol, path):
    edited = BODY.replace(b"server", b"SERVER")
    for ae in ("gzip", None):
        check.negotiated(server.get(f"/edit/{path}", ae=ae, protocol=protocol), ae, edited)


@pytest.mark.smoke
@pytest.mark.protocols("http/1.1", "h2c")
@pytest.mark.parametrize("chain,ae,tag", [
    ("inflate", None, '"o-gunzip"'), ("inflate", "gzip", '"o-gunzip"'),
    ("again", None, '"o-gunzip"'), ("again", "gzip", '"o-gunzip-gzip"'),
    ("elastic", "gzip", 'W/"o-gunzip-gzip"'), ("elastic", "br", 'W/"o-gunzip-br"')])
@pytest.mark.parametrize("path", ["origin/gzip", "f.txt.gz"])
def test_its_tags_are_recognized(server, protocol, chain, ae, tag, path):
    def get(headers=None):
        return server.get(f"/{chain}/{path}", ae=ae, headers=headers, protocol=protocol)

    if path == "f.txt.gz":
        tag = tag.replace('"o', server.get("/f.txt.gz").headers["ETag"][:-1])
    assert get().headers["ETag"] == tag
    for list in (tag, f'"y", {tag}', f'W/"z",{tag}, "y"'):
        answer = get({"If-None-Match": list})
        check.empty(answer, 304)
        assert (answer.headers["ETag"], answer.varies) == (tag, chain != "inflate")
    if path == "f.txt.gz":  # no tag is named
        for fields in ({"If-Modified-Since": get().headers["Last-Modified"]},
                       {"If-None-Match": "*"}):
            answer = get(fields)
            check.empty(answer, 304)
            assert answer.headers["ETag"] == tag
    check.whole(get({"If-None-Match": '"y-gunzip"'}), None if chain == "inflate" else ae, BODY)
    if chain == "inflate":
        # httpd slices complete bodies only, which decoded ones seldom are.
        check.whole(get({"Range": "bytes=10-19"}), None, BODY)


@pytest.mark.parametrize("chain,tag,asked", [
    ("inflate", '"{}-gunzip"', ', "{}"'), ("inflate", 'W/"{}-gunzip"', ""),
    ("again", '"{}-gunzip-gzip"', ', "{}"'), ("elastic", '"{}-gunzip-gzip"', "")])
def test_its_strong_tags_allow_to_write(server, origin, chain, tag, asked):
    tag, asked = (text.format("7530-55443b7e3c000") for text in (tag, asked))
    server.get(f"/{chain}/origin/gzip", method="PUT", body=b"x", headers={"If-Match": tag})
    assert origin.seen[-1].headers["if-match"] == tag + asked


@pytest.mark.parametrize("chain,match,status", [
    ("inflate", '"{}-gunzip"', 200), ("again", '"{}-gunzip-gzip"', 200), ("inflate", '"{}"', 200),
    ("inflate", '"other-gunzip"', 412), ("inflate", 'W/"{}-gunzip"', 412),
    ("small", '"x", "{}-gunzip"', 200)])
def test_its_strong_tags_of_a_file(server, chain, match, status):
    match = match.format(server.get("/f.txt.gz").headers["ETag"].strip('"'))
    answer = server.get(f"/{chain}/f.txt.gz", ae="gzip", headers={"If-Match": match})
    assert answer.status == status and (status != 200 or answer.body == BODY), answer


def test_the_ratio_holds_and_the_size_does_not(server):
    decoded(server.get("/small/origin/gzip"), '"o-gunzip"')
    check.whole(server.get("/small/f.txt.gz"), None, BODY)
    server.expect_log("elastic: the response to .* the body cannot be decoded: it grows more than")
    answer = server.get("/dense/origin/zeros")
    assert answer.status == 502 or not answer.complete
    assert answer.coding is None and len(answer.raw) < 40000
    decoded(server.get("/dense/origin/gzip"), '"o-gunzip"')


@pytest.mark.smoke
@pytest.mark.protocols("http/1.1", "http/1.0", "h2c")
@pytest.mark.parametrize("chain", ["inflate", "again"])
@pytest.mark.parametrize("how", ["cut", "wrong checksum", "damaged"])
def test_damage_is_visible(server, origin, protocol, chain, how):
    """The damage is found after the header was sent."""
    large = gzip.compress(bodies.text(2 << 20) + bodies.noise(1 << 20), 1, mtime=0)
    sent = {"cut": large[:-3], "wrong checksum": large[:-8] + b"1234" + large[-4:],
            "damaged": large[:-300000] + b"\0" * 1000 + large[-299000:]}[how]
    origin.route("/damaged", lambda e: e.respond(200, {"Content-Encoding": "gzip"}, sent))
    server.expect_log("elastic: .* the body cannot be decoded: it is ")
    answer = server.get(f"/{chain}/origin/damaged", ae="gzip", protocol=protocol)
    assert answer.status == 200 and len(answer.raw) > 1000
    assert answer.coding == (None if chain == "inflate" else "gzip")
    if protocol != "http/1.0":
        assert not answer.complete
    elif chain == "again":
        with pytest.raises((Incomplete, decode.DecodeError)):
            answer.body  # noqa: B018


@pytest.mark.parametrize("path,status", [("origin/bad", 502), ("bad.txt.gz", 500)])
def test_damage_at_the_start_is_an_error(server, path, status):
    server.expect_log("elastic: .* the body cannot be decoded: it is damaged")
    answer = server.get(f"/inflate/{path}")
    assert answer.status == status and answer.complete and answer.coding is None
    assert b"no gzip" not in answer.raw and "ETag" not in answer.headers


def test_memory_does_not_grow_with_the_body(server):
    """A body of 100 MB passes in small pieces, even if the client is slow."""
    piece = bodies.text(1 << 20)
    server.write("huge.txt.gz", gzip.compress(piece, 1) * 100)
    digest = hashlib.sha256()
    with server.connect() as connection:
        connection.sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 65536)
        answer = connection.read_head(connection.send_request("/inflate/huge.txt.gz"))
        assert answer.status == 200 and answer.coding is None
        for data in connection.body_pieces(answer):
            digest.update(data)
    assert answer.complete and digest.digest() == hashlib.sha256(piece * 100).digest()
    for child in server.children():
        peak = re.search(r"VmHWM:\s+(\d+)", Path(f"/proc/{child}/status").read_text())
        assert env.PRELOAD or int(peak[1]) < 80_000, peak
