import json
import os

from elastic_compress import ElasticASGI

from pages import PAGES


async def pages(scope, receive, send):
    if scope["type"] != "http":
        raise RuntimeError("no lifespan")
    page = PAGES[scope["path"]]
    headers = [(b"content-type", page.type.encode())]
    headers += [(key.lower().encode(), value.encode()) for key, value in page.headers]
    if len(page.pieces) == 1:
        headers.append((b"content-length", str(len(page.pieces[0])).encode()))
    await send({"type": "http.response.start", "status": page.status, "headers": headers})
    if scope["method"] == "HEAD":
        await send({"type": "http.response.body"})
        return
    for piece in page.pieces[:-1]:
        await send({"type": "http.response.body", "body": piece, "more_body": True})
    await send({"type": "http.response.body", "body": page.pieces[-1]})


application = ElasticASGI(pages, os.environ["POSITION"],
                          levels=json.loads(os.environ["LEVELS"]))
