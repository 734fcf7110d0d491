"""Readers of encoded request bodies: modules that look ahead, do not wait, or ignore errors; PHP by
FastCGI, which needs the decoded length; SCGI programs, which get the body as it came."""

import gzip
import hashlib
import socket
import threading
import time

import pytest

from kit import bodies, check, inflate, reader
from kit.fpm import Fpm
from kit.inflate import WAYS, encode, head, post
from kit.origin import framed

BODY = bodies.text(30000)
SENT = {coding: encode(BODY, coding) for coding in ("gzip", "br")}
EACH_WAY = pytest.mark.parametrize("way", WAYS)
EACH_CODING = pytest.mark.parametrize("coding", SENT)


# --- a module that reads in ways that few handlers do


@pytest.fixture(scope="module")
def server(httpd_shared, tmp_path_factory):
    directory = tmp_path_factory.mktemp("reader")
    for folder in (directory, *directory.parents[:2]):
        folder.chmod(folder.stat().st_mode | 0o055)
    return httpd_shared(reader.load(directory) + "SetHandler reader\n" + inflate.PLACES,
                        records=("elastic", "deflate"), tls=True, files={"a.txt": BODY})


def read(server, way, mode, coding, **kw):
    answer = post(server, f"/{way}/x?{mode}", SENT[coding], coding, **kw)
    assert (answer.status, answer.coding) == (200, None), answer
    return answer.body


@pytest.mark.protocols("http/1.1", "tls")
@EACH_WAY
@EACH_CODING
def test_a_look_ahead_takes_nothing(server, protocol, way, coding):
    assert read(server, way, "peek", coding, protocol=protocol) == b"|".join(
        [BODY[:5], BODY[:3], BODY[:7], b"30000"])


@EACH_WAY
@EACH_CODING
def test_a_handler_that_asks_whether_there_is_a_body(server, way, coding):
    assert read(server, way, "old", coding) == b"30000"


@EACH_WAY
@EACH_CODING
def test_a_handler_that_does_not_wait(server, way, coding):
    sent = SENT[coding]
    with server.connect() as connection:
        connection.send(head(f"/{way}/x?nonblock", Content_Encoding=coding,
                             Content_Length=len(sent)) + sent[:2000])
        time.sleep(0.2)
        connection.send(sent[2000:])
        answer = connection.read_response()
    # All of it; at least once nothing was there yet; and behind the end comes nothing.
    assert (answer.status, answer.coding, answer.body) == (200, None, b"30000 1 1"), answer.body


@EACH_WAY
def test_a_refused_body_ends_the_connection(server, way):
    """Though its reader ignored the error: what is left of it is no request."""
    sent = b"no gzip" + b"GET /a.txt HTTP/1.1\r\nHost: x\r\n\r\n" * 1000
    with server.connect() as connection:
        connection.send(head(f"/{way}/x?careless", Content_Encoding="gzip",
                             Content_Length=len(sent)) + sent)
        answer = connection.read_response()
        check.whole(answer, None, b"3")
        assert answer.headers.get("Connection") == "close"
        try:
            assert connection.receive() == b""
        except ConnectionResetError:
            pass


# --- FastCGI

PAGE = """<?php
$body = file_get_contents('php://input');
echo strlen($body), ' ', md5($body), ' ', @$_SERVER['CONTENT_LENGTH'], ' ',
     @$_SERVER['HTTP_CONTENT_ENCODING'];
"""


@pytest.fixture(scope="module")
def php(httpd_shared):
    server = httpd_shared("", start=False, modules=["proxy", "proxy_fcgi"],
                          records=("elastic", "deflate"), allow_log=("AH0",))
    fpm = Fpm(server.root)
    server.write("page.php", PAGE)
    server.configure(
        f"<FilesMatch php$>\nSetHandler \"{fpm.handler}\"\n</FilesMatch>\n"
        "AliasMatch ^/(?:elastic|deflate)/(.*) {docs}/$1\n" + inflate.PLACES)
    server.start()
    yield server
    fpm.stop()


@EACH_WAY
@EACH_CODING
@pytest.mark.parametrize("size", [0, 100, 70000, 2_000_000])
def test_php_reads_the_decoded_body(php, way, coding, size):
    body = bodies.text(size)
    sent = encode(body, coding)
    answers = [post(php, f"/{way}/page.php", sent, coding)]
    with php.connect() as connection:
        connection.send(head(f"/{way}/page.php", Content_Encoding=coding,
                             Transfer_Encoding="chunked") + framed([sent]))
        answers.append(connection.read_response())
    expected = f"{size} {hashlib.md5(body).hexdigest()} {size} ".encode()
    for answer in answers:
        check.whole(answer, None, expected)


@EACH_WAY
def test_php_never_sees_a_broken_body(php, way):
    answer = post(php, f"/{way}/page.php", encode(bodies.text(70000), "gzip")[:-4])
    assert answer.status == 400 and answer.coding is None


# --- SCGI


class Scgi:
    """Answers with the coding that it got, and whether the length is that of the body."""

    def __init__(self):
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        threading.Thread(target=self._run, daemon=True).start()

    def _run(self):
        while True:
            try:
                sock, _ = self._listener.accept()
            except OSError:
                return
            with sock, sock.makefile("rb") as file:
                self._answer(sock, file)

    @staticmethod
    def _answer(sock, file):
        size = b""
        while not size.endswith(b":"):
            size += file.read(1)
        fields = file.read(int(size[:-1]) + 1)[:-1].split(b"\0")
        found = dict(zip(fields[::2], fields[1::2]))
        body = file.read(int(found[b"CONTENT_LENGTH"]))
        coding = found.get(b"HTTP_CONTENT_ENCODING", b"none")
        whole = coding == b"gzip" and gzip.decompress(body) == BODY or body == BODY
        sock.sendall(b"Status: 200\r\nContent-Type: image/x\r\n\r\n%s %r" % (coding, whole))

    def stop(self):
        self._listener.close()


SCGI = {**WAYS, "twice": "SetInputFilter DEFLATE;DEFLATE"}


@pytest.fixture(scope="module")
def scgi(httpd_shared):
    program = Scgi()
    yield httpd_shared("".join(
        f"ProxyPass /{name}/ scgi://127.0.0.1:{program.port}/\n"
        f"<Location /{name}/>\n{line}\n</Location>\n"
        f"<Location /handler/{name}/>\nSetHandler proxy:SCGI://127.0.0.1:{program.port}\n"
        f"{line}\n</Location>\n" for name, line in SCGI.items()),
        modules=("filter", "proxy", "proxy_scgi"), records=("elastic", "deflate"))
    program.stop()


@pytest.mark.parametrize("way", SCGI)
@pytest.mark.parametrize("coding", ["gzip", None])
def test_scgi_gets_the_body_as_it_was_sent(scgi, way, coding):
    sent = encode(BODY, coding) if coding else BODY
    for path in (f"/{way}/a", f"/handler/{way}/a"):
        answer = post(scgi, path, sent, coding)
        assert (answer.status, answer.body) == (200, (coding or "none").encode() + b" True")
