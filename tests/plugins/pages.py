"""What the applications of the tests answer, and these: `wsgi` and `asgi`."""

import json
import os
from typing import NamedTuple

from elastic_compress import ElasticASGI, ElasticWSGI

TEXT = b"".join(b"Line %d: the quick brown fox jumps over the lazy dog.\n" % (n * n)
                for n in range(600))


class Page(NamedTuple):
    pieces: list
    type: str = "text/html; charset=utf-8"
    headers: tuple = ()
    status: int = 200


PAGES = {
    "/": Page([TEXT], headers=(("ETag", '"abc"'),)),
    "/pieces": Page([TEXT[n:n + 1000] for n in range(0, len(TEXT), 1000)]),
    "/write": Page([TEXT[:500], b"", TEXT[500:]]),
    "/small": Page([b"small"]),
    "/empty": Page([b""]),
    "/image": Page([TEXT], "image/png"),
    "/json": Page([TEXT], "application/ld+json"),
    "/coded": Page([TEXT], headers=(("Content-Encoding", "br"),)),
    "/fixed": Page([TEXT], headers=(("Cache-Control", "public, no-transform"),)),
    "/vary": Page([TEXT], headers=(("Vary", "Cookie"),)),
    "/missing": Page([TEXT], status=404),
    "/part": Page([TEXT], status=206, headers=(("Content-Range", "bytes 0-9/100"),)),
}


def head(page):
    length = [("Content-Length", str(len(page.pieces[0])))] if len(page.pieces) == 1 else []
    return [("Content-Type", page.type), *page.headers, *length]


def wsgi_pages(environ, start_response):
    page = PAGES[environ["PATH_INFO"]]
    write = start_response(f"{page.status} Word", head(page))
    if environ["REQUEST_METHOD"] == "HEAD":
        return []
    if environ["PATH_INFO"] == "/write":
        for piece in page.pieces:
            write(piece)
        return []
    return list(page.pieces) if len(page.pieces) == 1 else iter(page.pieces)


async def asgi_pages(scope, receive, send):
    page = PAGES[scope["path"]]
    await send({"type": "http.response.start", "status": page.status, "headers": [
        (name.lower().encode(), value.encode()) for name, value in head(page)]})
    pieces = [] if scope["method"] == "HEAD" else page.pieces
    for piece in pieces[:-1]:
        await send({"type": "http.response.body", "body": piece, "more_body": True})
    await send({"type": "http.response.body", "body": pieces[-1] if pieces else b""})


if "POSITION" in os.environ:
    levels = json.loads(os.environ["LEVELS"])
    wsgi = ElasticWSGI(wsgi_pages, os.environ["POSITION"], levels=levels)
    asgi = ElasticASGI(asgi_pages, os.environ["POSITION"], levels=levels)
