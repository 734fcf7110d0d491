"""SCGI programs want a length before the body: they get a body as it came."""

import gzip
import socket
import threading

import pytest

BODY = b"order=1&" * 1000


class Scgi:
    """Answers with the length and coding that it was told, and whether they fit the body."""

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
        told = dict(zip(fields[::2], fields[1::2]))
        body = file.read(int(told[b"CONTENT_LENGTH"]))
        coding = told.get(b"HTTP_CONTENT_ENCODING", b"none")
        whole = coding == b"gzip" and gzip.decompress(body) == BODY or body == BODY
        sock.sendall(b"Status: 200\r\nContent-Type: image/x\r\n\r\n%s %r" % (coding, whole))

    def stop(self):
        self._listener.close()


@pytest.mark.parametrize("lines", ["SetInputFilter DEFLATE", "SetInputFilter DEFLATE;DEFLATE",
                                   "ElasticInflate On"])
@pytest.mark.parametrize("coding", ["gzip", "none"])
def test_the_body_comes_as_it_was_sent(httpd, lines, coding):
    program = Scgi()
    server = httpd(f"ProxyPass /x/ scgi://127.0.0.1:{program.port}/\n"
                   f"<Location /x/>\n{lines}\n</Location>",
                   modules=("filter", "proxy", "proxy_scgi"), records=("elastic", "deflate"))
    body = gzip.compress(BODY) if coding == "gzip" else BODY
    headers = {"Content-Encoding": "gzip"} if coding == "gzip" else {}
    answer = server.get("/x/a", method="POST", headers=headers, body=body)
    program.stop()
    assert (answer.status, answer.body) == (200, coding.encode() + b" True")
