"""Request bodies that come encoded: the input filter DEFLATE, and ElasticInflate."""

import hashlib
import json
import time
import zlib

import pytest
import zstandard

from kit import bodies, check, env, inflate
from kit.inflate import WAYS, encode, head, post
from kit.origin import framed

BODY = bodies.text(70000)

# Answers with the fields about the body that it got, and what it read of it.
ECHO = """\
import hashlib, json
size = 0
digest = hashlib.sha256()
while data := os.read(0, 65536):
    size += len(data)
    digest.update(data)
head('Content-Type: application/json')
out(json.dumps({'size': size, 'digest': digest.hexdigest(),
                'coding': os.environ.get('HTTP_CONTENT_ENCODING'),
                'length': os.environ.get('CONTENT_LENGTH'),
                'md5': os.environ.get('HTTP_CONTENT_MD5')}))
"""

# Of mod_proxy's URLs those that change how a body goes out.
SCHEMES = ("scgi", "uwsgi", "fcgi", "balancer")

PLACES = inflate.PLACES + """\
DavLockDB {root}/run/dav
<Location /twice>
    SetInputFilter DEFLATE;DEFLATE
</Location>
<Location /both>
    ElasticInflate On
    SetInputFilter DEFLATE
</Location>
"""


@pytest.fixture(scope="module")
def server(httpd_shared, origin):
    config = PLACES
    for name in ("deflate", "elastic", "twice", "both", "plain"):
        config += (f"Alias /{name}/dav {{root}}/dav\nAlias /{name} {{docs}}\n"
                   f"ProxyPass /{name}/origin/ {origin.url}/\n")
    # ProxyPass comes before Alias, and the longer path before the shorter one.
    config += "<Location ~ \"^/[a-z]+/dav\">\nDav On\n</Location>\n"
    server = httpd_shared(config, modules=["dav", "dav_fs", "proxy", "proxy_http", "actions"],
                          records=("elastic", "deflate"), tls=True, h2=True,
                          cgi={"echo.cgi": ECHO}, files={"a.txt": BODY})
    dav = server.root / "dav"
    dav.mkdir()
    dav.chmod(0o777)
    (server.root / "run").chmod(0o777)
    for path in ("/echo", *(f"/app/{scheme}:x" for scheme in SCHEMES)):
        origin.route(path, lambda e: e.respond(200, {}, json.dumps({
            "size": len(e.body), "digest": _digest(e.body),
            "length": e.headers.get("content-length"),
            "coding": e.headers.get("content-encoding"), "md5": e.headers.get("content-md5"),
        }).encode()))
    return server


def _digest(data):
    return hashlib.sha256(data).hexdigest()


def read(answer):
    """What the reader says; the answer itself is not encoded."""
    assert (answer.status, answer.coding) == (200, None), answer
    return json.loads(answer.body)


def is_body(found, body, coding=None):
    assert (found["size"], found["digest"]) == (len(body), _digest(body)), found
    assert found["coding"] == coding and found["md5"] is None, found


@pytest.mark.smoke
@pytest.mark.protocols()
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("coding", ["x-gzip", "GZIP", *inflate.CODINGS])
def test_a_script_reads_the_decoded_body(server, protocol, way, coding):
    sent = encode(BODY, coding.lower())
    found = read(post(server, f"/{way}/echo.cgi", sent, coding, {"Content-MD5": "x"},
                     protocol=protocol))
    is_body(found, BODY)
    assert found["length"] is None


SEVERAL = [("gzip", "br"), ("br", "gzip"), ("gzip", "gzip"), ("br", "br"),
           *[("gzip", "zstd"), ("zstd", "zstd"), ("zstd", "br")] * env.HAS_ZSTD]
THREE = ("gzip",) * 3


# (place, Content-Encoding, the codings that the client applied, and those that are left, the
# Content-Encoding that the origin gets)
@pytest.mark.parametrize("place,named,applied,left,passed", [
    *((place, coding, (coding,), (), None) for place in WAYS for coding in inflate.CODINGS),
    *((place, ", ".join(codings), codings, (), None)
      for place in (*WAYS, "both") for codings in SEVERAL),
    ("twice", "gzip", ("gzip",), (), None),
    ("twice", "gzip, br", ("gzip", "br"), (), None),
    # DEFLATE leaves unknown codings, and undoes no more than two.
    ("deflate", "compress, gzip, br", ("gzip", "br"), (), "compress"),
    ("deflate", "gzip, compress", (), (), "gzip, compress"),
    ("deflate", ", ".join(THREE), THREE, ("gzip",), "gzip"),
    # Where DEFLATE decodes, ElasticInflate does not: neither the rest, nor does it refuse that.
    ("both", "gzip, compress, gzip", ("gzip",), (), "gzip, compress"),
    *((place, named, (), (), named) for place in (*WAYS, "both", "plain")
      for named in ("identity", None)),
    ("plain", "gzip", ("gzip",), ("gzip",), "gzip")])
def test_what_an_origin_gets(server, place, named, applied, left, passed):
    path, sent = f"/{place}/origin/echo", encode(BODY, *applied)
    expected = encode(BODY, *left)
    found = read(post(server, path, sent, named))
    is_body(found, expected, passed)
    assert found["length"] == str(len(expected))
    if named and not passed:
        fields = [("Content-Encoding", coding) for coding in named.split(", ")]
        found = read(server.get(path, headers=fields, method="POST", body=sent))
        is_body(found, expected)


@pytest.mark.smoke
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("scheme", SCHEMES)
def test_a_scheme_within_the_clients_url_changes_nothing(server, way, scheme):
    """Neither whether a body is decoded, nor whether the origin is told its length."""
    sent = encode(BODY, "gzip")
    for path in (f"app/{scheme}:x", f"echo?{scheme}:y", f"echo?proxy:{scheme}://y",
                 f"echo?unix:/x|{scheme}://y"):
        with server.connect() as connection:
            connection.send(head(f"/{way}/origin/{path}", Transfer_Encoding="chunked",
                                 Content_Encoding="gzip") + framed([sent]))
            found = read(connection.read_response())
        is_body(found, BODY)
        assert found["length"] is None, (path, found)


@pytest.mark.parametrize("way", WAYS)
def test_a_file_is_put_decoded(server, way):
    answer = post(server, f"/{way}/dav/{way}.txt", encode(BODY, "gzip"), method="PUT")
    assert answer.status == 201, answer
    assert (server.root / "dav" / f"{way}.txt").read_bytes() == BODY


# Not over HTTP/2: mod_http2 resets the stream of any response that comes before the request was
# read, and curl loses the answer with it.
UNREAD = pytest.mark.protocols("http/1.1", "http/1.0", "tls")


@pytest.mark.smoke
@UNREAD
@pytest.mark.parametrize("coding", ["compress", "gzip, compress", "compress, gzip", "dcz",
                                    "deflate", "gzip, gzip, gzip", "br, identity, br, br"])
def test_an_unknown_coding_is_refused_with_the_known_ones(server, protocol, coding):
    answer = post(server, "/elastic/echo.cgi", BODY, coding, protocol=protocol)
    assert answer.status == 415, answer
    assert answer.headers.get("Accept-Encoding") == inflate.KNOWN and answer.coding is None


def test_it_is_refused_before_the_client_sends(server):
    with server.connect() as connection:
        connection.send(head("/elastic/echo.cgi", Expect="100-continue", Content_Length=100000,
                             Content_Encoding="compress"))
        data = connection.receive()
    assert data.startswith(b"HTTP/1.1 415 ")
    assert f"Accept-Encoding: {inflate.KNOWN}\r\n".encode() in data


@pytest.mark.parametrize("way", WAYS)
def test_a_client_that_waits_gets_100_continue(server, way):
    sent = encode(BODY, "gzip")
    with server.connect() as connection:
        connection.send(head(f"/{way}/echo.cgi", Expect="100-continue", Content_Length=len(sent),
                             Content_Encoding="gzip"))
        assert connection.receive(25) == b"HTTP/1.1 100 Continue\r\n\r\n"
        connection.send(sent)
        is_body(read(connection.read_response()), BODY)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("coding", inflate.CODINGS)
@pytest.mark.parametrize("sizes", [(1,), (7, 1000), (8000,), (70000,)])
def test_chunks_of_any_size(server, way, coding, sizes):
    chunks = framed(bodies.pieces(encode(BODY[:20000], coding), sizes))
    with server.connect() as connection:
        connection.send(head(f"/{way}/echo.cgi", Transfer_Encoding="chunked",
                             Content_Encoding=coding) + chunks)
        is_body(read(connection.read_response()), BODY[:20000])
        # The connection goes on where the body ended.
        check.whole(connection.request("/a.txt"), None, BODY)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("coding", [*inflate.CODINGS, "gzip, br"])
def test_what_was_sent_is_read_before_the_rest_comes(server, way, coding):
    """A pause in the body: nothing that the handler has not asked for is waited for."""
    sent = encode(BODY, *coding.split(", "))
    with server.connect() as connection:
        connection.send(head(f"/{way}/echo.cgi", Content_Length=len(sent),
                             Content_Encoding=coding) + sent[:3])
        for at in range(3, len(sent), 5000):
            time.sleep(0.02)
            connection.send(sent[at:at + 5000])
        is_body(read(connection.read_response()), BODY)


@pytest.mark.parametrize("way", WAYS)
def test_a_body_without_a_byte_is_empty(server, way):
    with server.connect() as connection:
        connection.send(head(f"/{way}/echo.cgi", Transfer_Encoding="chunked",
                             Content_Encoding="gzip") + framed([]))
        is_body(read(connection.read_response()), b"")
    for coding in ("gzip", "compress"):
        answer = server.get(f"/{way}/a.txt", headers={"Content-Encoding": coding})
        check.whole(answer, None, BODY)


def _fields_of_gzip(data):
    """A member with FEXTRA, FNAME, FCOMMENT and FHCRC."""
    head = b"\x1f\x8b\x08\x1e" + bytes(6) + b"\x04\x00extr" + b"name\0" + b"comment\0"
    head += (zlib.crc32(head) & 0xffff).to_bytes(2, "little")
    raw = zlib.compressobj(wbits=-15)
    body = raw.compress(data) + raw.flush()
    return head + body + zlib.crc32(data).to_bytes(4, "little") + len(data).to_bytes(4, "little")


@pytest.mark.parametrize("way", WAYS)
def test_a_gzip_header_with_every_field(server, way):
    is_body(read(post(server, f"/{way}/echo.cgi", _fields_of_gzip(BODY))), BODY)


# A frame of zstd that is no part of the body.
SKIPPED = b"\x51\x2a\x4d\x18" + (100).to_bytes(4, "little") + bytes(100)


def _parts(coding, pieces):
    """Each piece encoded by itself, with an empty one behind it; in zstd one to skip, too."""
    between = encode(b"", coding) + (SKIPPED if coding == "zstd" else b"")
    return b"".join(encode(piece, coding) + between for piece in pieces)


@pytest.mark.smoke
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("coding", [name for name in inflate.CODINGS if name != "br"])
def test_members_and_frames_are_one_body(server, way, coding):
    sent = _parts(coding, bodies.pieces(BODY, (1, 5000, 7, 20000)))
    for path in (f"/{way}/echo.cgi", f"/{way}/origin/echo"):
        is_body(read(post(server, path, sent, coding)), BODY)
    is_body(read(post(server, f"/{way}/echo.cgi", encode(sent, "br"), f"{coding}, br")), BODY)
    is_body(read(post(server, f"/{way}/echo.cgi", _parts("gzip", [sent]), f"{coding}, gzip")), BODY)
    for sizes in ((1,), (7, 1000)):
        chunks = framed(bodies.pieces(_parts(coding, [BODY[:9000], b"", BODY[9000:9001]]), sizes))
        with server.connect() as connection:
            connection.send(head(f"/{way}/echo.cgi", Transfer_Encoding="chunked",
                                 Content_Encoding=coding) + chunks)
            is_body(read(connection.read_response()), BODY[:9001])


def _flipped(data, at):
    """With the byte at `at` changed, from the end where that is negative."""
    at %= len(data)
    return data[:at] + bytes([data[at] ^ 0xff]) + data[at + 1:]


_GZIP, _BR = encode(BODY, "gzip"), encode(BODY, "br")
BROKEN = {
    "cut": ("gzip", _GZIP[:-1]), "cut in the trailer": ("gzip", _GZIP[:-8]),
    "cut in the header": ("gzip", _GZIP[:5]), "br cut": ("br", _BR[:-1]),
    "a wrong checksum": ("gzip", _flipped(_GZIP, -5)),
    "a wrong length": ("gzip", _flipped(_GZIP, -1)),
    "bytes behind the end": ("gzip", _GZIP + b"x"), "br and more": ("br", _BR + b"x"),
    "half of a second member": ("gzip", _GZIP + _GZIP[:len(_GZIP) // 2]),
    "the first byte of one": ("gzip", _GZIP + _GZIP[:1]),
    "a damaged second member": ("gzip", _GZIP + _flipped(_GZIP, -5)),
    "bytes behind two members": ("gzip", _GZIP + _GZIP + b"\0"), "no gzip at all": ("gzip", BODY),
    "damaged within": ("gzip", _flipped(_GZIP, len(_GZIP) // 2)),
    "no br at all": ("br", b"\xff" * 100), "the inner one is cut": ("gzip, br", encode(
        _GZIP[:-1], "br")), "the outer one is cut": ("gzip, br", encode(_GZIP, "br")[:-1]),
    "bytes behind the inner one": ("gzip, br", encode(_GZIP + b"x", "br")),
    "a checksum of the inner one": ("gzip, gzip", encode(_flipped(_GZIP, -5), "gzip")),
    "zlib's format": ("gzip", zlib.compress(BODY)),
}


@pytest.mark.smoke
@UNREAD
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("case", BROKEN)
def test_a_broken_body_is_a_bad_request(server, protocol, way, case):
    coding, sent = BROKEN[case]
    server.expect_log("AH01|cgid?:|proxy")
    for path in ("echo.cgi", "origin/echo"):
        answer = post(server, f"/{way}/{path}", sent, coding, protocol=protocol)
        assert answer.status == 400, (path, answer)
        assert answer.coding is None


def _of_a_window(bits):
    """A frame whose decoder needs 2^bits bytes."""
    encoder = zstandard.ZstdCompressor(compression_params=zstandard.ZstdCompressionParameters(
        window_log=bits, write_content_size=False)).compressobj()
    return encoder.compress(BODY) + encoder.flush()


@pytest.mark.skipif(not env.HAS_ZSTD, reason="no zstd in this build")
@pytest.mark.parametrize("way", WAYS)
def test_a_broken_body_of_zstd_is_a_bad_request(server, way):
    server.expect_log("AH01|cgid?:|proxy")
    whole, path = encode(BODY, "zstd"), f"/{way}/echo.cgi"
    for sent in (whole[:-1], whole[:5], whole + b"x", whole + whole[:1000], _flipped(whole, -1),
                 BODY, b"\x27" + whole[1:], SKIPPED[:-1]):
        answer = post(server, path, sent, "zstd")
        assert (answer.status, answer.coding) == (400, None), (sent[:20], answer)
    assert post(server, f"/{way}/origin/echo", whole[:-1], "zstd").status == 400


@pytest.mark.smoke
@pytest.mark.skipif(not env.HAS_ZSTD, reason="no zstd in this build")
@UNREAD
@pytest.mark.parametrize("way", WAYS)
def test_a_window_beyond_8_mb_is_unsupported(server, protocol, way):
    """RFC 9659 §3; whether the frame says its window or is one by itself (RFC 8878 §3.1.1.1.2)."""
    server.expect_log("AH01|cgid?:|proxy")
    single = b"\x28\xb5\x2f\xfd\xa0" + ((8 << 20) + 1).to_bytes(4, "little") + bytes(20)
    for path in (f"/{way}/echo.cgi", f"/{way}/origin/echo"):
        is_body(read(post(server, path, _of_a_window(23), "zstd", protocol=protocol)), BODY)
        for sent, coding in ((_of_a_window(24), "zstd"), (single, "zstd"),
                             (_of_a_window(23) + _of_a_window(24), "zstd"),
                             (encode(_of_a_window(24), "gzip"), "zstd, gzip")):
            answer = post(server, path, sent, coding, protocol=protocol)
            assert (answer.status, answer.coding) == (415, None), (path, coding, answer)
            assert answer.headers.get("Accept-Encoding") == inflate.KNOWN, answer


def test_the_connection_does_not_outlive_a_broken_body(server):
    """What is left of the body is not the next request."""
    sent = BODY[:100] + b"GET /a.txt HTTP/1.1\r\nHost: x\r\n\r\n"
    with server.connect() as connection:
        connection.send(head("/elastic/a.txt", Content_Encoding="gzip",
                             Content_Length=len(sent) + 100000) + sent)
        data = b""
        while piece := connection.receive():
            data += piece
    assert data.count(b"HTTP/1.1 ") == 1 and data.startswith(b"HTTP/1.1 4")


@pytest.mark.parametrize("way", WAYS)
def test_a_body_that_nobody_reads_leaves_the_connection_whole(server, way):
    with server.connect() as connection:
        answer = connection.request(f"/{way}/a.txt", method="GET", body=encode(BODY, "gzip"),
                                    headers={"Content-Encoding": "gzip"})
        check.whole(answer, None, BODY)
        check.whole(connection.request("/a.txt"), None, BODY)


def test_htaccess_alone_asks_for_it(httpd):
    """Where nothing else is configured, no request is looked at until a .htaccess file wants it."""
    server = httpd("<Directory {docs}>\nAllowOverride FileInfo\n</Directory>",
                   cgi={"echo.cgi": ECHO, "on/echo.cgi": ECHO})
    sent = encode(BODY, "gzip")
    assert read(post(server, "/echo.cgi", sent))["coding"] == "gzip"
    server.write("on/.htaccess", "ElasticInflate On\n")
    is_body(read(post(server, "/on/echo.cgi", sent)), BODY)
    found = read(post(server, "/echo.cgi", sent))
    assert (found["size"], found["coding"]) == (len(sent), "gzip")
