"""Encoded request bodies: the input filter DEFLATE, and ElasticInflate. Tests which bytes each
reader gets, which bodies are refused, and how. Limits: test_inflate_limits.py."""


import pytest
import zstandard

from kit import aborts, bodies, check, env, faults, handlers, inflate
from kit.inflate import CODINGS, WAYS, encode, head, is_body, post, post_chunks, read, refused
from kit.origin import framed

pytestmark = pytest.mark.rules

BODY = bodies.text(70000)
EACH_WAY = pytest.mark.parametrize("way", WAYS)
EACH_CODING = pytest.mark.parametrize("coding", CODINGS)

# Schemes of mod_proxy that change how a body is sent.
SCHEMES = ("scgi", "uwsgi", "fcgi", "balancer")

PAGES = "".join(f"ErrorDocument {status} /echo.cgi\n" for status in (400, 403, 413)) \
    + "ErrorDocument 415 /elastic/echo.cgi\nDeflateInflateLimitRequestBody 1000"


@pytest.fixture(scope="module")
def server(httpd_shared, origin, tmp_path_factory):
    site = inflate.site(httpd_shared, origin, tmp_path_factory.mktemp("reader"), {
        "page": PAGES, "little": "DeflateInflateLimitRequestBody 1500000"})
    for scheme in SCHEMES:
        origin.route(f"/app/{scheme}:x", inflate.echo)
    return site


# --- decoded bodies


@pytest.mark.smoke
@pytest.mark.protocols()
@EACH_WAY
@pytest.mark.parametrize("coding", ["x-gzip", "GZIP", *CODINGS])
def test_a_script_reads_the_decoded_body(server, protocol, way, coding):
    sent = encode(BODY, coding.lower())
    found = read(post(server, f"/{way}/echo.cgi", sent, coding, {"Content-MD5": "x"},
                      protocol=protocol))
    is_body(found, BODY)
    assert found["length"] == str(len(BODY))
    found = read(post_chunks(server, f"/{way}/echo.cgi", [sent], coding))
    is_body(found, BODY)
    assert found["length"] is None


@EACH_WAY
@EACH_CODING
def test_the_length_is_known_up_to_8_mb(server, way, coding):
    """A larger body is decoded while the handler reads."""
    most = 8 << 20
    for size in (0, 1, 65535, 65536, 65537, most, most + 100_000):
        body = bodies.text(size)
        found = read(post(server, f"/{way}/echo.cgi", encode(body, coding), coding))
        is_body(found, body)
        assert found["length"] == (str(size) if size <= most else None), (size, found)


SEVERAL = [("gzip", "br"), ("br", "gzip"), ("gzip", "gzip"), ("br", "br"),
           *[("gzip", "zstd"), ("zstd", "zstd"), ("zstd", "br")] * env.HAS_ZSTD]
THREE = ("gzip",) * 3


# (place, Content-Encoding, codings that the client applied, codings that remain, Content-Encoding
# that the origin gets)
@pytest.mark.parametrize("place,named,applied,left,passed", [
    *((place, coding, (coding,), (), None) for place in WAYS for coding in CODINGS),
    *((place, ", ".join(codings), codings, (), None)
      for place in (*WAYS, "both") for codings in SEVERAL),
    ("twice", "gzip", ("gzip",), (), None),
    ("twice", "gzip, br", ("gzip", "br"), (), None),
    # DEFLATE keeps unknown codings, and decodes at most two.
    ("deflate", "compress, gzip, br", ("gzip", "br"), (), "compress"),
    ("deflate", "gzip, compress", (), (), "gzip, compress"),
    ("deflate", ", ".join(THREE), THREE, ("gzip",), "gzip"),
    # If DEFLATE decodes, ElasticInflate neither decodes the rest nor refuses it.
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
        is_body(read(server.get(path, headers=fields, method="POST", body=sent)), expected)


@pytest.mark.smoke
@EACH_WAY
@pytest.mark.parametrize("scheme", SCHEMES)
def test_a_scheme_within_the_clients_url_changes_nothing(server, way, scheme):
    """The scheme in a client's URL affects neither decoding nor the length that the origin gets."""
    for path in (f"app/{scheme}:x", f"echo?{scheme}:y", f"echo?proxy:{scheme}://y",
                 f"echo?unix:/x|{scheme}://y"):
        found = read(post_chunks(server, f"/{way}/origin/{path}", [encode(BODY, "gzip")]))
        is_body(found, BODY)
        assert found["length"] is None, (path, found)


@pytest.mark.smoke
@EACH_WAY
@pytest.mark.parametrize("coding", [name for name in CODINGS if name != "br"])
def test_members_and_frames_are_one_body(server, way, coding):
    sent = b"".join(encode(piece, coding) + encode(b"", coding)
                    for piece in bodies.pieces(BODY, (1, 5000, 7, 20000)))
    for path in (f"/{way}/echo.cgi", f"/{way}/origin/echo"):
        is_body(read(post(server, path, sent, coding)), BODY)
        is_body(read(post(server, path, encode(sent, "br"), f"{coding}, br")), BODY)
        is_body(read(post_chunks(server, path, bodies.pieces(sent, (7, 1000)), coding)), BODY)
        layers = encode(sent[:1000], "gzip") + encode(sent[1000:], "gzip")
        is_body(read(post(server, path, layers, f"{coding}, gzip")), BODY)


@EACH_WAY
def test_a_body_without_a_byte_or_that_nobody_reads_leaves_the_connection_whole(server, way):
    is_body(read(post_chunks(server, f"/{way}/echo.cgi", [])), b"")
    with server.connect() as connection:
        for coding, sent in (("gzip", b""), ("compress", b""), ("gzip", encode(BODY, "gzip"))):
            check.whole(connection.request(f"/{way}/a.txt", body=sent,
                                           headers={"Content-Encoding": coding}), None, BODY)
        check.whole(connection.request("/a.txt"), None, BODY)


@EACH_WAY
def test_a_client_that_waits_gets_100_continue_or_is_refused(server, way):
    def wait(path, sent, coding):
        connection.send(head(path, Expect="100-continue", Content_Length=len(sent),
                             Content_Encoding=coding))
        return connection.receive()

    sent = encode(BODY, "gzip")
    with server.connect() as connection:
        assert wait(f"/{way}/echo.cgi", sent, "gzip") == b"HTTP/1.1 100 Continue\r\n\r\n"
        connection.send(sent)
        is_body(read(connection.read_response()), BODY)
    with server.connect() as connection:
        data = wait("/elastic/echo.cgi", sent, "compress")
    assert data.startswith(b"HTTP/1.1 415 ")
    assert f"Accept-Encoding: {inflate.KNOWN}\r\n".encode() in data


# --- readers that are not scripts or origins


@pytest.mark.protocols("http/1.1", "tls")
@EACH_WAY
@EACH_CODING
def test_a_look_ahead_takes_nothing(server, protocol, way, coding):
    """A handler that checks for a body can read it."""
    for mode, text in (("peek", b"|".join([BODY[:5], BODY[:3], BODY[:7], b"70000"])),
                       ("old", b"70000")):
        answer = post(server, f"/{way}/reader?{mode}", encode(BODY, coding), coding,
                      protocol=protocol)
        check.whole(answer, None, text)


@EACH_WAY
@pytest.mark.parametrize("coding", ["gzip", "br", "gzip, br"])
@pytest.mark.parametrize("mode", ["block", "nonblock"])
def test_what_was_sent_is_read_before_the_rest_comes(server, way, coding, mode):
    """The handler may wait or not; after the end nothing comes. In chunks: of a body with a length,
    the handler gets the decoded length first."""
    sent = encode(BODY, *coding.split(", "))
    with server.connect() as connection:
        connection.send(head(f"/{way}/reader?{mode}", Content_Encoding=coding,
                             Transfer_Encoding="chunked") + framed([sent[:9000]])[:-5])
        pieces = connection.body_pieces(connection.read_head())
        first = next(pieces)
        assert first.endswith(b"|") and 0 < int(first[:-1]) < len(BODY), first
        connection.send(framed([sent[9000:]]))
        assert b"".join(pieces) == b"70000 1"


@pytest.mark.parametrize("way", [*WAYS, "twice", "both"])
@pytest.mark.parametrize("coding", ["gzip", None])
def test_scgi_gets_the_body_as_it_was_sent(server, way, coding):
    sent = encode(BODY, *[coding] if coding else [])
    for path in (f"/{way}/scgi/a", f"/{way}/handler"):
        is_body(read(post(server, path, sent, coding)), sent, coding)


# --- refused bodies

# Not over HTTP/2: mod_http2 resets the stream if a response comes before the request was read, and
# curl then loses the answer.
UNREAD = pytest.mark.protocols("http/1.1", "http/1.0", "tls")


@pytest.mark.smoke
@UNREAD
@pytest.mark.parametrize("coding", ["compress", "gzip, compress", "compress, gzip", "dcz",
                                    "deflate", "gzip, gzip, gzip", "br, identity, br, br"])
def test_an_unknown_coding_is_refused_with_the_known_ones(server, protocol, coding):
    answer = post(server, "/elastic/echo.cgi", BODY, coding, protocol=protocol)
    refused(answer, 415)
    assert answer.headers.get("Accept-Encoding") == inflate.KNOWN


def _flipped(data, at):
    """`data` with the byte at `at` changed; negative numbers count from the end."""
    at %= len(data)
    return data[:at] + bytes([data[at] ^ 0xff]) + data[at + 1:]


_GZIP = encode(BODY, "gzip")
# tests/unit/test_decoder.c has the decoders' own cases.
BROKEN = {
    **{f"{coding} is cut": (coding, encode(BODY, coding)[:-1]) for coding in CODINGS},
    **{f"{coding} and more": (coding, encode(BODY, coding) + b"x") for coding in CODINGS},
    **{f"no {coding}": (coding, b"\xff" * 100) for coding in CODINGS},
    "cut in the header": ("gzip", _GZIP[:5]), "a wrong checksum": ("gzip", _flipped(_GZIP, -5)),
    "damaged within": ("gzip", _flipped(_GZIP, len(_GZIP) // 2)),
    "the first byte of a member": ("gzip", _GZIP + _GZIP[:1]),
    "a damaged second member": ("gzip", _GZIP + _flipped(_GZIP, -5)),
    "bytes behind two members": ("gzip", _GZIP + _GZIP + b"\0"),
    "the inner one is cut": ("gzip, br", encode(_GZIP[:-1], "br")),
    "the outer one is cut": ("gzip, br", encode(_GZIP, "br")[:-1]),
    "bytes behind the inner one": ("gzip, br", encode(_GZIP + b"x", "br")),
    "a checksum of the inner one": ("gzip, gzip", encode(_flipped(_GZIP, -5), "gzip")),
}


@pytest.mark.smoke
@UNREAD
@EACH_WAY
@pytest.mark.parametrize("case", BROKEN)
def test_a_broken_body_is_a_bad_request(server, protocol, way, case):
    coding, sent = BROKEN[case]
    for path in ("echo.cgi", "origin/echo"):
        refused(post(server, f"/{way}/{path}", sent, coding, protocol=protocol), 400)


def _of_a_window(bits):
    """A frame whose decoder needs 2^bits bytes."""
    encoder = zstandard.ZstdCompressor(compression_params=zstandard.ZstdCompressionParameters(
        window_log=bits, write_content_size=False)).compressobj()
    return encoder.compress(BODY) + encoder.flush()


@pytest.mark.smoke
@pytest.mark.skipif(not env.HAS_ZSTD, reason="no zstd in this build")
@UNREAD
@EACH_WAY
def test_a_window_beyond_8_mb_is_unsupported(server, protocol, way):
    """RFC 9659 §3; the frame may state its window or be a single segment (RFC 8878 §3.1.1.1.2)."""
    single = b"\x28\xb5\x2f\xfd\xa0" + ((8 << 20) + 1).to_bytes(4, "little") + bytes(20)
    too_large = [(_of_a_window(24), "zstd"), (single, "zstd"),
                 (_of_a_window(23) + _of_a_window(24), "zstd"),
                 (encode(_of_a_window(24), "gzip"), "zstd, gzip")]
    for path in (f"/{way}/echo.cgi", f"/{way}/origin/echo"):
        is_body(read(post(server, path, _of_a_window(23), "zstd", protocol=protocol)), BODY)
        for sent, coding in too_large:
            answer = post(server, path, sent, coding, protocol=protocol)
            refused(answer, 415)
            assert answer.headers.get("Accept-Encoding") == inflate.KNOWN, answer
    # The answer is sent while the body is read; its error page finds no body.
    answer = post(server, f"/page/{way}/echo.cgi", single, "zstd", protocol=protocol)
    is_page(answer, 415)
    assert answer.headers["Accept-Encoding"] == inflate.KNOWN


@EACH_WAY
def test_a_refused_body_ends_the_connection(server, way):
    """Although the reader ignored the error, the rest of the body is not taken for a request."""
    sent = b"no gzip" + b"GET /a.txt HTTP/1.1\r\nHost: x\r\n\r\n" * 1000
    with server.connect() as connection:
        connection.send(head(f"/{way}/reader?careless", Content_Encoding="gzip",
                             Transfer_Encoding="chunked") + framed([sent]))
        answer = connection.read_response()
        check.whole(answer, None, b"3")
        assert answer.has_token("Connection", "close")
        try:
            assert connection.receive() == b""
        except ConnectionResetError:
            pass


def test_an_answer_that_has_begun_does_not_look_whole(server):
    """A handler writes while it reads a body that turns out damaged or too large."""
    path, whole = "/little/elastic/reflect", encode(bodies.noise(1 << 20), "gzip")
    broken = (whole[:-5] + b"wrong", encode(bodies.noise(2 << 20), "gzip"))
    for sent in broken:
        answer = post_chunks(server, path, [sent])
        assert answer.status == 200 and not answer.complete, answer
    check.whole(post(server, path, whole), None, bodies.noise(1 << 20))
    check.whole(post_chunks(server, path, [whole]), None, bodies.noise(1 << 20))
    # If the length must be known first, the whole body is read before.
    for sent, status in zip(broken, (400, 413)):
        refused(post(server, path, sent), status)


# --- redirects and error pages, which read the body later or not at all


def is_page(answer, status, size=0, coding=None):
    found = read(answer, status)
    assert (found["size"], found["coding"], found["redirect"]) == (size, coding, str(status)), found


@pytest.mark.parametrize("way", [*WAYS, "both"])
@EACH_CODING
def test_a_redirected_request_keeps_its_decoder(server, way, coding):
    found = read(post(server, f"/{way}/act", encode(BODY, coding), coding))
    is_body(found, BODY)
    assert found["redirect"] == "200"


@pytest.mark.parametrize("path,sent,coding,status,left", [
    *((f"/page/{way}/echo.cgi", sent, "gzip", status, (0, None))
      for way in WAYS for sent, status in ((encode(BODY, "gzip"), 413), (b"no gzip", 400))),
    ("/page/elastic/echo.cgi", b"x", "compress", 415, (1, "compress")),
    # Access is checked before anything is decoded; the page gets the body as it was sent.
    ("/page/elastic/denied", b"no gzip", "gzip", 403, (7, "gzip"))],
    ids=lambda value: "body" if isinstance(value, bytes) else None)
def test_error_pages_find_no_decoded_body(server, path, sent, coding, status, left):
    answer = post(server, path, sent, coding)
    is_page(answer, status, *left)
    assert status != 415 or answer.headers["Accept-Encoding"] == inflate.KNOWN


# --- lack of memory


@pytest.mark.smoke
@pytest.mark.parametrize("fault,coding", [
    ("gunzip-open", "gzip"), ("gunzip-first", "gzip"), ("unbrotli-open", "br"),
    ("unbrotli-first", "br"),
    *((name, "zstd") for name in ("unzstd-open", "unzstd-first") if env.HAS_ZSTD)])
def test_no_memory_is_the_servers_error(httpd, tmp_path, fault, coding):
    """No body looks complete then, and the error page finds none."""
    server = httpd("AddEncoding x-gzip gz\nAddEncoding br br\nAddEncoding zstd zst\n"
                   + inflate.PLACES + "<Location /out>\nSetOutputFilter INFLATE\n</Location>\n"
                   "ErrorDocument 503 /echo.cgi\n"
                   "AliasMatch ^/(?:elastic|deflate|out)/(.*) {docs}/$1",
                   records=("elastic", "deflate"), allow_log=("elastic:", "AH0"),
                   wrapper=faults.wrapper(faults.library(tmp_path, fault)),
                   cgi={"echo.cgi": inflate.ECHO})
    for way in WAYS:
        is_page(post(server, f"/{way}/echo.cgi", encode(BODY, coding), coding), 503)
    extension, name = {"gzip": ("gz", "x-gzip"), "zstd": ("zst", "zstd")}.get(coding, ("br", "br"))
    server.write(f"f.txt.{extension}", encode(BODY, coding))
    answer = server.get(f"/out/f.txt.{extension}")
    if fault.endswith("open"):
        # The header is not sent yet: the body is sent encoded, as it was.
        check.whole(answer, name, BODY)
    else:
        refused(answer, 500)


@pytest.fixture(scope="module")
def failing(httpd_shared, tmp_path_factory):
    """A process in which a chosen bucket allocation fails."""
    folder = tmp_path_factory.mktemp("buckets")
    memory = faults.Memory(folder)
    server = httpd_shared(
        handlers.load(folder) + "SetHandler reader\nElasticInflate On\n"
        "<Location /elastic-status>\nSetHandler elastic-status\n</Location>\n",
        allow_log=("elastic:",), tls=True,
        wrapper=faults.wrapper(faults.library(folder, "buckets")),
        **aborts.ONE_CHILD | {"environ": {"FAULT_MEMORY": str(memory.path)}})
    return server, memory


@pytest.mark.smoke
@pytest.mark.buckets
@pytest.mark.unsanitized
@pytest.mark.parametrize("coding", ["gzip", "br, gzip"])
@pytest.mark.parametrize("mode", ["old", "peek"])
@pytest.mark.protocols("http/1.1", "tls")
def test_buckets_without_memory(failing, protocol, mode, coding):
    """Whichever allocation fails, the body is complete or its reader is refused. mod_ssl reuses the
    memory of decrypted data."""
    server, memory = failing
    sent = encode(BODY[:40000], *coding.split(", "))
    whole = post(server, f"/x?{mode}", sent, coding, protocol=protocol).body
    statuses = []
    for at in range(1, 60):  # the reader of seven bytes at a time makes thousands of calls
        memory.fail(at)
        answer = post(server, f"/x?{mode}", sent, coding, protocol=protocol)
        failures = memory.failures()
        memory.fail(0)
        assert answer.status == 503 or (answer.status, answer.body) == (200, whole), (at, answer)
        statuses.append(answer.status)
        if not failures:
            break
    assert 503 in statuses and len(statuses) > 10
