"""Decoders that get no memory, and bodies that meet a redirect or an error page on their way."""

import gzip
import os

import brotli
import pytest

from kit import bodies, faults

BODY = bodies.text(40000)

ECHO = """\
size = 0
while data := os.read(0, 65536):
    size += len(data)
head('Content-Type: text/plain')
out('%d %s %s' % (size, os.environ.get('HTTP_CONTENT_ENCODING'),
                  os.environ.get('REDIRECT_STATUS')))
"""


def encode(coding):
    return gzip.compress(BODY) if coding == "gzip" else brotli.compress(BODY, quality=3)


@pytest.mark.smoke
@pytest.mark.parametrize("fault,coding", [
    ("gunzip-open", "gzip"), ("gunzip-first", "gzip"), ("unbrotli-open", "br"),
    ("unbrotli-first", "br")])
def test_no_memory_is_the_servers_error(httpd, tmp_path, fault, coding):
    """And never a body that looks whole."""
    for path in (tmp_path, *tmp_path.parents[:2]):
        os.chmod(path, 0o755)
    server = httpd("AddEncoding x-gzip gz\nAddEncoding br br\n<Location /elastic>\n"
                   "ElasticInflate On\n</Location>\n<Location /deflate>\nSetInputFilter DEFLATE\n"
                   "</Location>\n<Location /out>\nSetOutputFilter INFLATE\n</Location>\n"
                   "AliasMatch ^/(?:elastic|deflate|out)/(.*) {docs}/$1",
                   records=("elastic", "deflate"), allow_log=("elastic:", "AH0"),
                   wrapper=faults.wrapper(faults.library(tmp_path, fault)),
                   cgi={"echo.cgi": ECHO})
    server.write("f.txt.gz" if coding == "gzip" else "f.txt.br", encode(coding))
    for way in ("elastic", "deflate"):
        answer = server.get(f"/{way}/echo.cgi", headers={"Content-Encoding": coding}, method="POST",
                            body=encode(coding))
        assert answer.status == 500 and answer.coding is None, (way, answer)
    answer = server.get(f"/out/f.txt.{'gz' if coding == 'gzip' else 'br'}")
    if fault.endswith("open"):
        # Nothing was promised yet: it goes out as it came.
        assert answer.status == 200 and answer.body == BODY
        assert answer.coding == ("x-gzip" if coding == "gzip" else "br")
    else:
        assert answer.status == 500 and answer.coding is None


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


def post(server, path, body, coding="gzip"):
    answer = server.get(path, headers={"Content-Encoding": coding}, method="POST", body=body)
    assert answer.coding is None
    return answer


@pytest.mark.parametrize("way", ["elastic", "deflate", "both"])
@pytest.mark.parametrize("coding", ["gzip", "br"])
def test_a_redirected_request_keeps_its_decoder(server, way, coding):
    answer = post(server, f"/{way}/act", encode(coding), coding)
    assert answer.status == 200 and answer.body == b"40000 None 200", answer.body


@pytest.mark.parametrize("coding", ["gzip", "br"])
def test_a_reader_that_keeps_the_body(server, coding):
    """mod_request's filter stands before ours."""
    answer = post(server, "/kept/echo.cgi", encode(coding), coding)
    assert answer.status == 200 and answer.body == b"40000 None None", answer.body


@pytest.mark.parametrize("way", ["elastic", "deflate"])
def test_error_pages_find_no_body(server, way):
    answer = post(server, f"/{way}/little/echo.cgi", encode("gzip"))
    assert answer.status == 413 and answer.body == b"0 None 413", answer.body
    answer = post(server, f"/{way}/echo.cgi", b"no gzip")
    assert answer.status == 400 and answer.body == b"0 None 400", answer.body


def test_the_page_of_a_415(server):
    answer = post(server, "/elastic/echo.cgi", b"x", "compress")
    assert answer.status == 415 and answer.headers["Accept-Encoding"] == "gzip, br"
    assert answer.body.endswith(b" compress 415"), answer.body


def test_a_refused_request_is_not_decoded(server):
    """Access is decided first; the page is given the body as it came, as ever."""
    answer = post(server, "/elastic/denied", encode("gzip"))
    assert answer.status == 403 and answer.body.endswith(b" gzip 403"), answer.body
