"""Encoded request bodies on their way to PHP: FastCGI wants to know the decoded length."""

import gzip
import hashlib

import brotli
import pytest

from kit import bodies
from kit.fpm import Fpm

PAGE = """<?php
$body = file_get_contents('php://input');
echo strlen($body), ' ', md5($body), ' ', @$_SERVER['CONTENT_LENGTH'], ' ',
     @$_SERVER['HTTP_CONTENT_ENCODING'];
"""


@pytest.fixture(scope="module")
def server(httpd_shared):
    server = httpd_shared("", start=False, modules=["proxy", "proxy_fcgi"],
                          records=("elastic", "deflate"), allow_log=("AH0",))
    fpm = Fpm(server.root)
    server.write("page.php", PAGE)
    server.configure(
        f"<FilesMatch php$>\nSetHandler \"{fpm.handler}\"\n</FilesMatch>\n"
        "AliasMatch ^/(?:elastic|deflate)/(.*) {docs}/$1\n"
        "<Location /elastic>\nElasticInflate On\n</Location>\n"
        "<Location /deflate>\nSetInputFilter DEFLATE\n</Location>\n")
    server.start()
    yield server
    fpm.stop()


@pytest.mark.parametrize("way", ["elastic", "deflate"])
@pytest.mark.parametrize("coding", ["gzip", "br"])
@pytest.mark.parametrize("size", [0, 100, 70000, 2_000_000])
def test_php_reads_the_decoded_body(server, way, coding, size):
    body = bodies.text(size)
    sent = gzip.compress(body) if coding == "gzip" else brotli.compress(body, quality=3)
    expected = f"{size} {hashlib.md5(body).hexdigest()} {size} ".encode()
    answer = server.get(f"/{way}/page.php", method="POST", body=sent,
                        headers={"Content-Encoding": coding})
    assert (answer.status, answer.coding, answer.body) == (200, None, expected)
    # The same in chunks.
    with server.connect() as connection:
        connection.send(f"POST /{way}/page.php HTTP/1.1\r\nHost: x\r\n"
                        f"Content-Encoding: {coding}\r\n"
                        f"Transfer-Encoding: chunked\r\n\r\n{len(sent):x}\r\n".encode() + sent
                        + b"\r\n0\r\n\r\n")
        answer = connection.read_response()
    assert (answer.status, answer.coding, answer.body) == (200, None, expected)


@pytest.mark.parametrize("way", ["elastic", "deflate"])
def test_php_never_sees_a_broken_body(server, way):
    sent = gzip.compress(bodies.text(70000))[:-4]
    answer = server.get(f"/{way}/page.php", method="POST", body=sent,
                        headers={"Content-Encoding": "gzip"})
    assert answer.status == 400 and answer.coding is None
