"""Request bodies that come encoded: the input filter DEFLATE, and ElasticInflate."""

import gzip
import hashlib
import json
import time
import zlib

import brotli
import pytest

from kit import bodies

BODY = bodies.text(70000)

# Answers what it was told of the body, and what it read of it.
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

# The same body by each way of asking for it.
WAYS = {"elastic": "ElasticInflate On", "deflate": "SetInputFilter DEFLATE"}

PLACES = """\
DavLockDB {root}/run/dav
<Location /deflate>
    SetInputFilter DEFLATE
</Location>
<Location /elastic>
    ElasticInflate On
</Location>
<Location /twice>
    SetInputFilter DEFLATE;DEFLATE
</Location>
<Location /both>
    ElasticInflate On
    SetInputFilter DEFLATE
</Location>
"""


def encode(data, *codings):
    for coding in codings:
        data = brotli.compress(data, quality=3) if coding == "br" else gzip.compress(data, mtime=0)
    return data


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
    origin.route("/echo", lambda e: e.respond(200, {}, json.dumps({
        "size": len(e.body), "digest": _digest(e.body), "length": e.headers.get("content-length"),
        "coding": e.headers.get("content-encoding"), "md5": e.headers.get("content-md5"),
    }).encode()))
    return server


def _digest(data):
    return hashlib.sha256(data).hexdigest()


def post(server, path, body, coding="gzip", headers=None, **kw):
    fields = dict(headers or {})
    if coding is not None:
        fields["Content-Encoding"] = coding
    return server.get(path, headers=fields, method=kw.pop("method", "POST"), body=body, **kw)


def read(answer):
    """What the reader says; the answer itself is not encoded."""
    assert (answer.status, answer.coding) == (200, None), answer
    return json.loads(answer.body)


def is_body(told, body, coding=None):
    assert (told["size"], told["digest"]) == (len(body), _digest(body)), told
    assert told["coding"] == coding and told["md5"] is None, told


@pytest.mark.smoke
@pytest.mark.protocols()
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("coding", ["gzip", "x-gzip", "GZIP", "br"])
def test_a_script_reads_the_decoded_body(server, protocol, way, coding):
    sent = encode(BODY, coding.lower())
    told = read(post(server, f"/{way}/echo.cgi", sent, coding, {"Content-MD5": "x"},
                     protocol=protocol))
    # It is told before it reads, and nothing of the encoded body.
    is_body(told, BODY)
    assert told["length"] is None


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("coding", ["gzip", "br"])
def test_an_origin_gets_the_decoded_body(server, way, coding):
    told = read(post(server, f"/{way}/origin/echo", encode(BODY, coding), coding))
    is_body(told, BODY)
    assert told["length"] == str(len(BODY))


@pytest.mark.parametrize("way", WAYS)
def test_a_file_is_put_decoded(server, way):
    answer = post(server, f"/{way}/dav/{way}.txt", encode(BODY, "gzip"), method="PUT")
    assert answer.status == 201, answer
    assert (server.root / "dav" / f"{way}.txt").read_bytes() == BODY


@pytest.mark.parametrize("way", [*WAYS, "both"])
@pytest.mark.parametrize("codings", [("gzip", "br"), ("br", "gzip"), ("gzip", "gzip"),
                                     ("br", "gzip", "br", "gzip")])
def test_several_codings_are_undone_from_the_outermost(server, way, codings):
    sent = encode(BODY, *codings)
    is_body(read(post(server, f"/{way}/origin/echo", sent, ", ".join(codings))), BODY)
    # As several fields.
    fields = [("Content-Encoding", coding) for coding in codings]
    told = read(server.get(f"/{way}/origin/echo", headers=fields, method="POST", body=sent))
    is_body(told, BODY)


def test_deflate_leaves_what_it_does_not_know(server):
    sent = encode(BODY, "gzip", "br")
    told = read(post(server, "/deflate/origin/echo", sent, "compress, gzip, br"))
    is_body(told, BODY, "compress")
    told = read(post(server, "/deflate/origin/echo", BODY, "gzip, compress"))
    is_body(told, BODY, "gzip, compress")
    # No more than four of them.
    sent = encode(BODY, *["gzip"] * 5)
    told = read(post(server, "/deflate/origin/echo", sent, "gzip, gzip, gzip, gzip, gzip"))
    is_body(told, encode(BODY, "gzip"), "gzip")


@pytest.mark.parametrize("codings", [("gzip",), ("gzip", "br")], ids="-".join)
def test_deflate_may_be_named_twice(server, codings):
    told = read(post(server, "/twice/echo.cgi", encode(BODY, *codings), ", ".join(codings)))
    is_body(told, BODY)


def test_both_leave_what_deflate_leaves(server):
    """Where DEFLATE decodes, ElasticInflate does not: neither the rest, nor a refusal of it."""
    told = read(post(server, "/both/origin/echo", encode(BODY, "gzip"), "gzip, compress, gzip"))
    is_body(told, BODY, "gzip, compress")


@pytest.mark.parametrize("way", [*WAYS, "both", "plain"])
def test_identity_is_no_coding(server, way):
    told = read(post(server, f"/{way}/origin/echo", BODY, "identity"))
    is_body(told, BODY, "identity")
    told = read(post(server, f"/{way}/origin/echo", BODY, None))
    is_body(told, BODY)


def test_nothing_is_decoded_elsewhere(server):
    sent = encode(BODY, "gzip")
    is_body(read(post(server, "/plain/origin/echo", sent)), sent, "gzip")


# Not over HTTP/2: mod_http2 resets the stream of any response that comes before the request was
# read, and curl loses the answer with it.
UNREAD = pytest.mark.protocols("http/1.1", "http/1.0", "tls")


@pytest.mark.smoke
@UNREAD
@pytest.mark.parametrize("coding", ["compress", "gzip, compress", "compress, gzip", "zstd",
                                    "deflate", "gzip, gzip, gzip, gzip, gzip"])
def test_an_unknown_coding_is_refused_with_the_known_ones(server, protocol, coding):
    answer = post(server, "/elastic/echo.cgi", BODY, coding, protocol=protocol)
    assert answer.status == 415, answer
    assert answer.headers.get("Accept-Encoding") == "gzip, br" and answer.coding is None


def test_it_is_refused_before_the_client_sends(server):
    with server.connect() as connection:
        connection.send(b"POST /elastic/echo.cgi HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\n"
                        b"Content-Length: 100000\r\nContent-Encoding: compress\r\n\r\n")
        data = connection.receive()
    assert data.startswith(b"HTTP/1.1 415 ") and b"Accept-Encoding: gzip, br\r\n" in data


@pytest.mark.parametrize("way", WAYS)
def test_a_client_that_waits_is_told_to_go_on(server, way):
    sent = encode(BODY, "gzip")
    with server.connect() as connection:
        connection.send(f"POST /{way}/echo.cgi HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\n"
                        f"Content-Length: {len(sent)}\r\nContent-Encoding: gzip\r\n\r\n".encode())
        assert connection.receive(25) == b"HTTP/1.1 100 Continue\r\n\r\n"
        connection.send(sent)
        answer = connection.read_response()
    assert read(answer)["digest"] == _digest(BODY)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("coding", ["gzip", "br"])
@pytest.mark.parametrize("sizes", [(1,), (7, 1000), (8000,), (70000,)])
def test_chunks_of_any_size(server, way, coding, sizes):
    sent = encode(BODY[:20000], coding)
    framed = b"".join(b"%x\r\n%s\r\n" % (len(p), p) for p in bodies.pieces(sent, sizes))
    with server.connect() as connection:
        connection.send(f"POST /{way}/echo.cgi HTTP/1.1\r\nHost: x\r\n"
                        f"Transfer-Encoding: chunked\r\nContent-Encoding: {coding}\r\n\r\n".encode()
                        + framed + b"0\r\n\r\n")
        answer = connection.read_response()
        assert read(answer)["digest"] == _digest(BODY[:20000])
        # The connection goes on where the body ended.
        again = connection.request("/a.txt")
    assert again.body == BODY and again.coding is None


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("coding", ["gzip", "br", "gzip, br"])
def test_what_was_sent_is_read_before_the_rest_comes(server, way, coding):
    """A pause in the body: nothing that the handler has not asked for is waited for."""
    sent = encode(BODY, *coding.split(", "))
    with server.connect() as connection:
        connection.send(f"POST /{way}/echo.cgi HTTP/1.1\r\nHost: x\r\n"
                        f"Content-Length: {len(sent)}\r\nContent-Encoding: {coding}\r\n\r\n"
                        .encode() + sent[:3])
        for at in range(3, len(sent), 5000):
            time.sleep(0.02)
            connection.send(sent[at:at + 5000])
        assert read(connection.read_response())["digest"] == _digest(BODY)


@pytest.mark.parametrize("way", WAYS)
def test_a_body_without_a_byte_is_empty(server, way):
    with server.connect() as connection:
        connection.send(f"POST /{way}/echo.cgi HTTP/1.1\r\nHost: x\r\n"
                        "Transfer-Encoding: chunked\r\nContent-Encoding: gzip\r\n\r\n"
                        "0\r\n\r\n".encode())
        assert read(connection.read_response())["size"] == 0
    answer = server.get(f"/{way}/a.txt", headers={"Content-Encoding": "gzip"})
    assert answer.status == 200 and answer.body == BODY and answer.coding is None
    answer = server.get(f"/{way}/a.txt", headers={"Content-Encoding": "compress"})
    assert answer.status == 200 and answer.body == BODY and answer.coding is None


def _fields_of_gzip(data):
    """A member with FEXTRA, FNAME, FCOMMENT and FHCRC."""
    head = b"\x1f\x8b\x08\x1e" + bytes(6) + b"\x04\x00extr" + b"name\0" + b"comment\0"
    head += (zlib.crc32(head) & 0xffff).to_bytes(2, "little")
    raw = zlib.compressobj(wbits=-15)
    body = raw.compress(data) + raw.flush()
    return head + body + zlib.crc32(data).to_bytes(4, "little") + len(data).to_bytes(4, "little")


@pytest.mark.parametrize("way", WAYS)
def test_a_gzip_header_with_every_field(server, way):
    told = read(post(server, f"/{way}/echo.cgi", _fields_of_gzip(BODY)))
    assert told["digest"] == _digest(BODY)


def _flipped(data, at):
    return data[:at] + bytes([data[at] ^ 0xff]) + data[at + 1:] if at + 1 else \
        data[:-1] + bytes([data[-1] ^ 0xff])


_GZIP, _BR = encode(BODY, "gzip"), encode(BODY, "br")
BROKEN = {
    "cut": ("gzip", _GZIP[:-1]), "cut in the trailer": ("gzip", _GZIP[:-8]),
    "cut in the header": ("gzip", _GZIP[:5]), "br cut": ("br", _BR[:-1]),
    "a wrong checksum": ("gzip", _flipped(_GZIP, len(_GZIP) - 5)),
    "a wrong length": ("gzip", _flipped(_GZIP, len(_GZIP) - 1)),
    "bytes behind the end": ("gzip", _GZIP + b"x"), "br and more": ("br", _BR + b"x"),
    "two members": ("gzip", _GZIP + _GZIP), "no gzip at all": ("gzip", BODY),
    "damaged within": ("gzip", _flipped(_GZIP, len(_GZIP) // 2)),
    "no br at all": ("br", b"\xff" * 100), "the inner one is cut": ("gzip, br", encode(
        _GZIP[:-1], "br")), "the outer one is cut": ("gzip, br", encode(_GZIP, "br")[:-1]),
    "bytes behind the inner one": ("gzip, br", encode(_GZIP + b"x", "br")),
    "a checksum of the inner one": ("gzip, gzip", encode(_flipped(_GZIP, len(_GZIP) - 5), "gzip")),
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


def test_the_connection_does_not_outlive_a_broken_body(server):
    """What is left of the body is not the next request."""
    inner = b"GET /a.txt HTTP/1.1\r\nHost: x\r\n\r\n"
    sent = BODY[:100] + inner
    with server.connect() as connection:
        connection.send(b"POST /elastic/a.txt HTTP/1.1\r\nHost: x\r\nContent-Encoding: gzip\r\n"
                        b"Content-Length: %d\r\n\r\n" % (len(sent) + 100000) + sent)
        data = b""
        while piece := connection.receive():
            data += piece
    assert data.count(b"HTTP/1.1 ") == 1 and data.startswith(b"HTTP/1.1 4")


@pytest.mark.parametrize("way", WAYS)
def test_a_body_that_nobody_reads_leaves_the_connection_whole(server, way):
    with server.connect() as connection:
        answer = connection.request(f"/{way}/a.txt", method="GET", body=encode(BODY, "gzip"),
                                    headers={"Content-Encoding": "gzip"})
        assert answer.status == 200 and answer.body == BODY and answer.coding is None
        again = connection.request("/a.txt")
    assert again.status == 200 and again.body == BODY and again.coding is None


def test_htaccess_alone_asks_for_it(httpd):
    """Where nothing else is configured, no request is looked at until a .htaccess file wants it."""
    server = httpd("<Directory {docs}>\nAllowOverride FileInfo\n</Directory>",
                   cgi={"echo.cgi": ECHO, "on/echo.cgi": ECHO})
    sent = encode(BODY, "gzip")
    assert read(post(server, "/echo.cgi", sent))["coding"] == "gzip"
    server.write("on/.htaccess", "ElasticInflate On\n")
    is_body(read(post(server, "/on/echo.cgi", sent)), BODY)
    told = read(post(server, "/echo.cgi", sent))
    assert (told["size"], told["coding"]) == (len(sent), "gzip")
