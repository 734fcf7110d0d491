"""Decoders that get no memory, and bodies that meet a redirect or an error page on their way."""

import pytest

from kit import aborts, bodies, check, env, faults, inflate, reader
from kit.inflate import encode, post

BODY = bodies.text(40000)

ECHO = """\
size = 0
while data := os.read(0, 65536):
    size += len(data)
head('Content-Type: text/plain')
out('%d %s %s' % (size, os.environ.get('HTTP_CONTENT_ENCODING'),
                  os.environ.get('REDIRECT_STATUS')))
"""


@pytest.mark.smoke
@pytest.mark.parametrize("fault,coding", [
    ("gunzip-open", "gzip"), ("gunzip-first", "gzip"), ("unbrotli-open", "br"),
    ("unbrotli-first", "br"),
    *((name, "zstd") for name in ("unzstd-open", "unzstd-first") if env.HAS_ZSTD)])
def test_no_memory_is_the_servers_error(httpd, tmp_path, fault, coding):
    """And never a body that looks whole."""
    server = httpd("AddEncoding x-gzip gz\nAddEncoding br br\nAddEncoding zstd zst\n"
                   + inflate.PLACES
                   + "<Location /out>\nSetOutputFilter INFLATE\n</Location>\n"
                   "AliasMatch ^/(?:elastic|deflate|out)/(.*) {docs}/$1",
                   records=("elastic", "deflate"), allow_log=("elastic:", "AH0"),
                   wrapper=faults.wrapper(faults.library(tmp_path, fault)),
                   cgi={"echo.cgi": ECHO})
    extension, name = {"gzip": ("gz", "x-gzip"), "zstd": ("zst", "zstd")}.get(coding, ("br", "br"))
    server.write(f"f.txt.{extension}", encode(BODY, coding))
    for way in inflate.WAYS:
        answer = post(server, f"/{way}/echo.cgi", encode(BODY, coding), coding)
        assert answer.status == 503 and answer.coding is None, (way, answer)
    answer = server.get(f"/out/f.txt.{extension}")
    if fault.endswith("open"):
        # The header is not out yet: the body goes out as it came.
        check.whole(answer, name, BODY)
    else:
        assert answer.status == 500 and answer.coding is None


@pytest.mark.smoke
@pytest.mark.parametrize("coding", ["gzip", "br, gzip"])
@pytest.mark.parametrize("mode", ["old", "peek"])
@pytest.mark.protocols("http/1.1", "tls")
def test_buckets_without_memory(httpd, tmp_path, protocol, mode, coding):
    """Whichever call gets none, the body is whole, or its reader is refused. What mod_ssl has decrypted
    is in memory that it uses again."""
    if env.PRELOAD:
        return  # a sanitizer has its own functions in between
    memory = faults.Memory(tmp_path)
    folder = tmp_path / "reader"
    folder.mkdir()
    server = httpd(reader.load(folder) + "SetHandler reader\nElasticInflate On\n"
                   "<Location /elastic-status>\nSetHandler elastic-status\n</Location>\n",
                   allow_log=("elastic:",), tls=True,
                   wrapper=faults.wrapper(faults.library(tmp_path, "buckets")),
                   **aborts.ONE_CHILD | {"environ": {"FAULT_MEMORY": str(memory.path)}})
    sent = encode(BODY, *coding.split(", "))
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


def test_an_answer_that_has_begun_does_not_look_whole(httpd):
    """A handler writes while it reads, and the body it reads turns out damaged or too large."""
    server = httpd("<Location /back>\nSetHandler reflector\nElasticInflate On\n</Location>\n"
                   "DeflateInflateLimitRequestBody 1500000", modules=["reflector"],
                   records=("elastic", "deflate"), allow_log=("elastic:", "AH0"))
    whole = encode(bodies.noise(1 << 20), "gzip")
    for sent in (whole[:-5] + b"wrong", encode(bodies.noise(2 << 20), "gzip")):
        answer = post(server, "/back", sent)
        assert answer.status == 200 and not answer.complete, answer
    check.whole(post(server, "/back", whole), None, bodies.noise(1 << 20))


@pytest.fixture(scope="module")
def server(httpd_shared):
    return httpd_shared(
        "Action echo-it /echo.cgi virtual\nErrorDocument 413 /echo.cgi\n"
        "ErrorDocument 415 /elastic/echo.cgi\n"
        "ErrorDocument 400 /echo.cgi\nErrorDocument 403 /echo.cgi\n"
        "<LocationMatch ^/(elastic|both|kept)>\nElasticInflate On\n</LocationMatch>\n"
        "<LocationMatch ^/(deflate|both)>\nSetInputFilter DEFLATE\n</LocationMatch>\n"
        "<LocationMatch ^/(elastic|deflate|both)/act>\nSetHandler echo-it\n</LocationMatch>\n"
        "<LocationMatch /denied>\nRequire all denied\n</LocationMatch>\n"
        "<LocationMatch /little/>\nDeflateInflateLimitRequestBody 1000\n</LocationMatch>\n"
        "<LocationMatch ^/kept>\nKeptBodySize 100000\n</LocationMatch>\n"
        "AliasMatch ^/(?:elastic|deflate|both|kept)/(?:little/)?(.*) {docs}/$1",
        modules=["actions", "request"], records=("elastic", "deflate"),
        allow_log=("AH0", "client denied"), cgi={"echo.cgi": ECHO})


def echo(answer, status, text):
    check.whole(answer, None, text, status)


@pytest.mark.parametrize("way", ["elastic", "deflate", "both"])
@pytest.mark.parametrize("coding", inflate.CODINGS)
def test_a_redirected_request_keeps_its_decoder(server, way, coding):
    echo(post(server, f"/{way}/act", encode(BODY, coding), coding), 200, b"40000 None 200")


@pytest.mark.parametrize("coding", ["gzip", "br"])
def test_a_reader_that_keeps_the_body(server, coding):
    """mod_request's filter is in front of ours."""
    sent = encode(BODY, coding)
    echo(post(server, "/kept/echo.cgi", sent, coding), 200, b"40000 None None")


@pytest.mark.parametrize("way", ["elastic", "deflate"])
def test_error_pages_find_no_body(server, way):
    sent = encode(BODY, "gzip")
    echo(post(server, f"/{way}/little/echo.cgi", sent), 413, b"0 None 413")
    echo(post(server, f"/{way}/echo.cgi", b"no gzip"), 400, b"0 None 400")


@pytest.mark.skipif(not env.HAS_ZSTD, reason="no zstd in this build")
@pytest.mark.parametrize("way", ["elastic", "deflate"])
def test_the_page_of_an_unsupported_body(server, way):
    """The answer comes from within the reader, with the header of a 415."""
    window = b"\x28\xb5\x2f\xfd\0\x88" + bytes(100)
    answer = post(server, f"/{way}/echo.cgi", window, "zstd")
    echo(answer, 415, b"0 None 415")
    assert answer.headers["Accept-Encoding"] == inflate.KNOWN


@pytest.mark.parametrize("fault", ["unbrotli-open", "unbrotli-first"])
def test_the_page_of_a_lack_of_memory(httpd, tmp_path, fault):
    server = httpd(inflate.PLACES + "AliasMatch ^/(?:elastic|deflate)/(.*) {docs}/$1\n"
                   "ErrorDocument 503 /echo.cgi", records=("elastic", "deflate"),
                   allow_log=("elastic:", "AH0"), cgi={"echo.cgi": ECHO},
                   wrapper=faults.wrapper(faults.library(tmp_path, fault)))
    for way in inflate.WAYS:
        echo(post(server, f"/{way}/echo.cgi", encode(BODY, "br"), "br"), 503, b"0 None 503")


def test_the_page_of_a_415(server):
    answer = post(server, "/elastic/echo.cgi", b"x", "compress")
    assert (answer.status, answer.coding) == (415, None)
    assert answer.headers["Accept-Encoding"] == inflate.KNOWN
    assert answer.body.endswith(b" compress 415"), answer.body


def test_a_refused_request_is_not_decoded(server):
    """Access is decided first; the page gets the body as it came."""
    answer = post(server, "/elastic/denied", encode(BODY, "gzip"))
    assert (answer.status, answer.coding) == (403, None)
    assert answer.body.endswith(b" gzip 403"), answer.body
