"""Readers of request bodies that look ahead, do not wait, or do not care."""

import gzip
import os
import time

import brotli
import pytest

from kit import bodies, reader

BODY = bodies.text(30000)
WAYS = ("elastic", "deflate")
SENT = {"gzip": gzip.compress(BODY), "br": brotli.compress(BODY, quality=3)}


@pytest.fixture(scope="module")
def server(httpd_shared, tmp_path_factory):
    directory = tmp_path_factory.mktemp("reader")
    for path in (directory, *directory.parents[:2]):
        os.chmod(path, 0o755)
    return httpd_shared(
        reader.load(directory) + "SetHandler reader\n"
        "<Location /elastic>\nElasticInflate On\n</Location>\n"
        "<Location /deflate>\nSetInputFilter DEFLATE\n</Location>\n",
        records=("elastic", "deflate"), tls=True, files={"a.txt": BODY})


def read(server, way, mode, coding, **kw):
    answer = server.get(f"/{way}/x?{mode}", method="POST", body=SENT[coding],
                        headers={"Content-Encoding": coding}, **kw)
    assert (answer.status, answer.coding) == (200, None), answer
    return answer.body


@pytest.mark.protocols("http/1.1", "tls")
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("coding", SENT)
def test_a_look_ahead_takes_nothing(server, protocol, way, coding):
    assert read(server, way, "peek", coding, protocol=protocol) == b"|".join(
        [BODY[:5], BODY[:3], BODY[:7], b"30000"])


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("coding", SENT)
def test_a_handler_that_asks_whether_there_is_a_body(server, way, coding):
    assert read(server, way, "old", coding) == b"30000"


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("coding", SENT)
def test_a_handler_that_does_not_wait(server, way, coding):
    sent = SENT[coding]
    with server.connect() as connection:
        connection.send(f"POST /{way}/x?nonblock HTTP/1.1\r\nHost: x\r\nContent-Encoding: {coding}"
                        f"\r\nContent-Length: {len(sent)}\r\n\r\n".encode() + sent[:2000])
        time.sleep(0.2)
        connection.send(sent[2000:])
        answer = connection.read_response()
    # All of it; it was told to come again; and the end stays the end.
    assert (answer.status, answer.coding, answer.body) == (200, None, b"30000 1 1"), answer.body


@pytest.mark.parametrize("way", WAYS)
def test_a_refused_body_ends_the_connection(server, way):
    """Though its reader took no notice: what is left of it is no request."""
    sent = b"no gzip" + b"GET /a.txt HTTP/1.1\r\nHost: x\r\n\r\n" * 1000
    with server.connect() as connection:
        connection.send(f"POST /{way}/x?careless HTTP/1.1\r\nHost: x\r\nContent-Encoding: gzip\r\n"
                        f"Content-Length: {len(sent)}\r\n\r\n".encode() + sent)
        answer = connection.read_response()
        assert (answer.status, answer.coding, answer.body) == (200, None, b"3")
        assert answer.headers.get("Connection") == "close"
        try:
            assert connection.receive() == b""
        except ConnectionResetError:
            pass
