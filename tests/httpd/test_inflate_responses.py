"""The output filter INFLATE."""

import gzip
import hashlib
import time
import zlib

import brotli
import pytest

from kit import bodies, check, decode, env, inflate
from kit.client import Incomplete
from kit.origin import raw

BODY = bodies.text(90000)
GZIP = gzip.compress(BODY, mtime=0)
BR = brotli.compress(BODY, quality=3)

SLOW = """\
import zlib
z = zlib.compressobj(wbits=31)
head('Content-Type: text/plain', 'Content-Encoding: gzip')
for piece in (b'one', b'two', b'three'):
    out(z.compress(piece) + z.flush(zlib.Z_SYNC_FLUSH))
    time.sleep(0.4)
out(z.flush())
"""

SCRIPT = """\
import gzip
head('Content-Type: text/plain', 'Content-Encoding: gzip', 'ETag: "cgi"')
out(gzip.compress(bodies.text(90000)))
"""

CHAINS = {
    "inflate": "SetOutputFilter INFLATE",
    "again": "SetOutputFilter INFLATE;DEFLATE",
    "edit": 'SetOutputFilter INFLATE;SUBSTITUTE;DEFLATE\nSubstitute "s/server/SERVER/n"',
    "elastic": "SetOutputFilter INFLATE\nElastic On",
    "dense": "SetOutputFilter INFLATE\nDeflateInflateRatioLimit 20\nDeflateInflateRatioBurst 2",
    "small": "SetOutputFilter INFLATE\nDeflateInflateLimitRequestBody 100\nLimitRequestBody 100",
}


def _slowly():
    z = zlib.compressobj(wbits=31)
    for piece in (b"one", b"two", b"three"):
        yield z.compress(piece) + z.flush(zlib.Z_SYNC_FLUSH)
        yield 0.4
    yield z.flush()


@pytest.fixture(scope="module")
def server(httpd_shared, origin):
    config = ""
    for name, lines in CHAINS.items():
        config += (f"ProxyPass /{name}/origin/ {origin.url}/\nAlias /{name}/ {{docs}}/\n"
                   f"<Location /{name}/>\n{lines}\n</Location>\n")
    server = httpd_shared(
        config + "AddEncoding x-gzip gz\nAddEncoding br br\nSubstituteMaxLineLength 1M\n",
        modules=["proxy", "proxy_http", "substitute", "filter"], records=("elastic", "deflate"),
        tls=True, h2=True,
        cgi={"slow.cgi": SLOW, "script.cgi": SCRIPT}, files={"a.txt": BODY})
    for name, data in (("f.txt.gz", GZIP), ("f.txt.br", BR), ("empty.txt.gz", b"")):
        server.write(name, data, mtime=1_500_000_000)

    def give(coding, data, **headers):
        fields = {"Content-Encoding": coding, "ETag": '"o"', "Content-MD5": "x",
                  "Accept-Ranges": "bytes", **headers}

        def handler(exchange):
            asked = exchange.headers.get("if-none-match", "")
            status = 304 if '"o"' in asked else 200
            exchange.respond(status, fields if status == 200 else {"ETag": '"o"'}, data)
        return handler

    for path, handler in {
        "gzip": give("gzip", GZIP), "x-gzip": give("x-gzip", GZIP), "br": give("br", BR),
        "two": give("br, gzip", gzip.compress(BR)), "identity": give("identity", BODY),
        "weak": give("gzip", GZIP, ETag='W/"o"'), "unknown": give("dcz", GZIP),
        "chunked": lambda e: e.chunked(200, {"Content-Encoding": "gzip"}, bodies.pieces(GZIP)),
        "slow": lambda e: e.chunked(200, {"Content-Encoding": "gzip"}, _slowly()),
        "more": give("gzip", GZIP + b"xyz"),
        "members": give("gzip", b"".join(
            gzip.compress(piece, mtime=0) for piece in bodies.pieces(BODY, (7, 9000)))),
        "no-member": lambda e: e.chunked(200, {"Content-Encoding": "gzip"}, [GZIP + b"x", GZIP]),
        **({"zstd": give("zstd", inflate.encode(BODY, "zstd"))} if env.HAS_ZSTD else {}),
        "empty": give("gzip", b""),
        "zeros": give("gzip", gzip.compress(bytes(5_000_000))),
        "partial": lambda e: e.respond(206, {
            "Content-Encoding": "gzip", "Content-Range": f"bytes 0-99/{len(GZIP)}"}, GZIP[:100]),
        "parts": lambda e: e.respond(206, {
            "Content-Encoding": "gzip", "Content-Type": "multipart/byteranges; boundary=x"}, GZIP),
        "none": lambda e: e.respond(204, {"Content-Encoding": "gzip"}),
    }.items():
        origin.route(f"/{path}", handler)
    return server


def decoded(answer, tag=None):
    """It is BODY, whole, in no coding, and without what was said of the encoded bytes."""
    check.whole(answer, None, BODY)
    assert answer.headers.get("ETag") == tag, answer
    for name in ("Content-MD5", "Accept-Ranges"):
        assert name not in answer.headers, answer
    length = answer.headers.get("Content-Length")
    assert length is None or int(length) == len(BODY)


@pytest.mark.smoke
@pytest.mark.protocols()
@pytest.mark.parametrize("path,tag", [
    ("gzip", '"o-gunzip"'), ("x-gzip", '"o-gunzip"'), ("br", '"o-gunzip"'),
    ("members", '"o-gunzip"'), *[("zstd", '"o-gunzip"')] * env.HAS_ZSTD,
    ("weak", 'W/"o-gunzip"'), ("chunked", None)])
def test_an_origins_body(server, protocol, path, tag):
    decoded(server.get(f"/inflate/origin/{path}", protocol=protocol), tag)
    # Whatever the client takes.
    decoded(server.get(f"/inflate/origin/{path}", ae="gzip, br", protocol=protocol), tag)


def test_a_file_and_a_script(server):
    for name in ("f.txt.gz", "f.txt.br"):
        tag = server.get(f"/{name}").headers["ETag"]
        decoded(server.get(f"/inflate/{name}"), tag[:-1] + '-gunzip"')
    decoded(server.get("/inflate/script.cgi"), '"cgi-gunzip"')


def test_only_the_outermost_coding_is_undone(server):
    check.whole(server.get("/inflate/origin/two"), "br", BODY)


@pytest.mark.parametrize("path,body", [("identity", BODY), ("dcz", GZIP)],
                         ids=["identity", "unknown"])
def test_what_it_cannot_decode_stays(server, path, body):
    name = path if path == "identity" else "unknown"
    answer = server.get(f"/inflate/origin/{name}")
    assert (answer.status, answer.coding, answer.raw) == (200, path, body)
    assert answer.headers["ETag"] == '"o"' and int(answer.headers["Content-Length"]) == len(body)


def test_parts_stay(server):
    # Of several parts, each has its Content-Range.
    for path, part in (("partial", GZIP[:100]), ("parts", GZIP)):
        answer = server.get(f"/inflate/origin/{path}")
        assert (answer.status, answer.coding, answer.raw) == (206, "gzip", part)
    answer = server.get("/inflate/origin/none")
    assert (answer.status, answer.raw) == (204, b"")
    # httpd slices what it has whole at once, which a decoded body seldom is.
    check.whole(server.get("/inflate/f.txt.gz", headers={"Range": "bytes=10-19"}), None, BODY)


@pytest.mark.protocols("http/1.1", "h2c")
@pytest.mark.parametrize("path", ["origin/gzip", "f.txt.gz", "script.cgi"])
def test_head_says_what_get_says(server, protocol, path):
    get = server.get(f"/inflate/{path}", protocol=protocol)
    answer = server.head(f"/inflate/{path}", protocol=protocol)
    assert (answer.status, answer.raw, answer.coding) == (200, b"", None), answer
    check.same_header(get, answer, "ETag", "Content-Encoding", "Content-MD5", "Accept-Ranges")
    assert "Content-Length" not in answer.headers or \
        int(answer.headers["Content-Length"]) == len(BODY)


@pytest.mark.parametrize("path", ["origin/empty", "empty.txt.gz"])
def test_a_body_without_a_byte_is_empty(server, path):
    check.empty(server.get(f"/inflate/{path}"), 200)


@pytest.mark.protocols("http/1.1", "h2c")
@pytest.mark.parametrize("chain", ["inflate", "again"])
@pytest.mark.parametrize("path", ["slow.cgi", "origin/slow"])
def test_what_is_flushed_comes_through(server, protocol, chain, path):
    """A script's pipe, which has nothing for a while, and mod_proxy's brigades, which come late."""
    with server.stream(f"/{chain}/{path}", ae="gzip", protocol=protocol) as stream:
        assert stream.coding == (None if chain == "inflate" else "gzip")
        stream.wait_for(b"one")
        assert b"three" not in stream.text
        stream.wait_for(b"two")
        assert stream.read_all() == b"onetwothree"


def test_bytes_behind_the_end_are_dropped(server):
    decoded(server.get("/inflate/origin/more"), '"o-gunzip"')
    # What comes later may look like another member.
    decoded(server.get("/inflate/origin/no-member"))
    assert server.log.lines("bytes behind the end of its encoded body")


# --- chains


@pytest.mark.smoke
@pytest.mark.protocols()
@pytest.mark.parametrize("path", ["origin/gzip", "origin/br", "f.txt.gz", "script.cgi",
                                  "origin/chunked", "a.txt"])
def test_a_chain_edits_what_was_encoded(server, protocol, path):
    edited = BODY.replace(b"server", b"SERVER")
    for ae in ("gzip", None):
        check.negotiated(server.get(f"/edit/{path}", ae=ae, protocol=protocol), ae, edited)


@pytest.mark.parametrize("chain,ae,tag", [
    ("again", "gzip", '"o-gunzip-gzip"'), ("elastic", "gzip", 'W/"o-gunzip-gzip"'),
    ("elastic", "br", 'W/"o-gunzip-br"')])
def test_tags_add_up(server, chain, ae, tag):
    answer = server.get(f"/{chain}/origin/gzip", ae=ae)
    check.encoded(answer, ae, BODY)
    assert answer.headers["ETag"] == tag


@pytest.mark.smoke
@pytest.mark.protocols("http/1.1", "h2c")
@pytest.mark.parametrize("chain,ae", [("inflate", None), ("inflate", "gzip"), ("again", "gzip"),
                                      ("again", None), ("elastic", "br"), ("elastic", "gzip")])
@pytest.mark.parametrize("path", ["origin/gzip", "f.txt.gz"])
def test_its_tags_are_recognized(server, protocol, chain, ae, path):
    tag = server.get(f"/{chain}/{path}", ae=ae, protocol=protocol).headers["ETag"]
    assert "-gunzip" in tag
    for list in (tag, f'"y", {tag}', f'W/"z",{tag}, "y"'):
        answer = server.get(f"/{chain}/{path}", ae=ae, headers={"If-None-Match": list},
                            protocol=protocol)
        check.empty(answer, 304)
        assert answer.headers["ETag"] == tag
        assert answer.varies == (chain != "inflate")
    answer = server.get(f"/{chain}/{path}", ae=ae, headers={"If-None-Match": '"y-gunzip"'},
                        protocol=protocol)
    check.whole(answer, None if chain == "inflate" else ae, BODY)


@pytest.mark.parametrize("chain,tag,asked", [
    ("inflate", '"{}-gunzip"', ', "{}"'), ("inflate", 'W/"{}-gunzip"', ""),
    ("again", '"{}-gunzip-gzip"', ', "{}"'), ("elastic", '"{}-gunzip-gzip"', "")])
def test_its_strong_tags_allow_to_write(server, origin, chain, tag, asked):
    made = "7530-55443b7e3c000"
    tag, asked = tag.format(made), asked.format(made)
    server.get(f"/{chain}/origin/gzip", method="PUT", body=b"x", headers={"If-Match": tag})
    assert origin.seen[-1].headers["if-match"] == tag + asked


def test_its_tags_are_nobody_elses(server):
    """Without the filter such a tag names nothing."""
    tag = server.get("/f.txt.gz").headers["ETag"]
    answer = server.get("/f.txt.gz", headers={"If-None-Match": tag[:-1] + '-gunzip"'})
    assert answer.status == 200 and answer.coding == "x-gzip" and answer.raw == GZIP


# --- limits and damage


def test_the_ratio_holds_and_the_size_does_not(server):
    decoded(server.get("/small/origin/gzip"), '"o-gunzip"')
    check.whole(server.get("/small/f.txt.gz"), None, BODY)
    server.expect_log("elastic: the body cannot be decoded, it is larger, for its encoded size")
    answer = server.get("/dense/origin/zeros")
    assert answer.status == 502 or not answer.complete
    assert answer.coding is None and len(answer.raw) < 40000
    decoded(server.get("/dense/origin/gzip"), '"o-gunzip"')


@pytest.mark.smoke
@pytest.mark.protocols("http/1.1", "http/1.0", "h2c")
@pytest.mark.parametrize("chain", ["inflate", "again"])
@pytest.mark.parametrize("how", ["cut", "wrong checksum", "damaged"])
def test_damage_is_visible(server, origin, protocol, chain, how):
    """Though the header was sent when it was found."""
    large = gzip.compress(bodies.text(2 << 20) + bodies.noise(1 << 20), mtime=0)
    sent = {"cut": large[:-3], "wrong checksum": large[:-8] + b"1234" + large[-4:],
            "damaged": large[:-300000] + b"\0" * 1000 + large[-299000:]}[how]
    origin.route("/damaged", lambda e: e.respond(200, {"Content-Encoding": "gzip"}, sent))
    server.expect_log("elastic: the body cannot be decoded, it is ")
    answer = server.get(f"/{chain}/origin/damaged", ae="gzip", protocol=protocol)
    assert answer.status == 200 and len(answer.raw) > 1000
    assert answer.coding == (None if chain == "inflate" else "gzip")
    if protocol != "http/1.0":
        assert not answer.complete
    elif chain == "again":
        with pytest.raises((Incomplete, decode.DecodeError)):
            answer.body  # noqa: B018


@pytest.mark.parametrize("path,status", [("origin/bad", 502), ("bad.txt.gz", 500)])
def test_damage_at_the_start_is_an_error(server, origin, path, status):
    server.write("bad.txt.gz", b"no gzip at all")
    # In one piece: where the body comes later, mod_proxy flushes the header out.
    fields = {"Content-Encoding": "gzip", "ETag": '"o"', "Content-Length": 14}
    origin.route("/bad", raw(fields, b"no gzip at all"))
    server.expect_log("elastic: the body cannot be decoded, it is damaged")
    answer = server.get(f"/inflate/{path}")
    assert answer.status == status and answer.complete and answer.coding is None
    assert b"no gzip" not in answer.raw and "ETag" not in answer.headers


def test_memory_does_not_grow_with_the_body(server):
    """A body of 100 MB goes through in small pieces, also while the client does not read."""
    z = zlib.compressobj(1, wbits=31)
    piece = bodies.text(1 << 20)
    server.write("huge.txt.gz", b"".join(z.compress(piece) for _ in range(100)) + z.flush())
    with server.connect() as connection:
        answer = connection.read_head(connection.send_request("/inflate/huge.txt.gz"))
        assert answer.status == 200 and answer.coding is None
        time.sleep(0.3)
        for child in server.children():
            with open(f"/proc/{child}/status") as file:
                rss = next(line for line in file if line.startswith("VmRSS"))
            assert env.PRELOAD or int(rss.split()[1]) < 80_000, rss
        digest = hashlib.sha256()
        for data in connection.body_pieces(answer):
            digest.update(data)
    assert answer.complete and digest.digest() == hashlib.sha256(piece * 100).digest()
