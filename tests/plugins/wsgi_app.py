import json
import os

from elastic_compress import ElasticWSGI

from pages import PAGES


def pages(environ, start_response):
    page = PAGES[environ["PATH_INFO"]]
    headers = [("Content-Type", page.type), *page.headers]
    if len(page.pieces) == 1:
        headers.append(("Content-Length", str(len(page.pieces[0]))))
    write = start_response(f"{page.status} Word", headers)
    if environ["REQUEST_METHOD"] == "HEAD":
        return []
    if environ["PATH_INFO"] == "/write":
        for piece in page.pieces:
            write(piece)
        return []
    return list(page.pieces) if len(page.pieces) == 1 else iter(page.pieces)


application = ElasticWSGI(pages, os.environ["POSITION"],
                          levels=json.loads(os.environ["LEVELS"]))
