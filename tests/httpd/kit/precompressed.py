"""Precompressed files of a page, and who may get them."""

import contextlib
import gzip
import brotli
import zstandard

from . import bodies, check

BODY = bodies.html(30000)
BR = brotli.compress(BODY, quality=11)
GZ = gzip.compress(BODY, 9, mtime=0)
ZST = zstandard.compress(BODY)
PRECOMPRESSED = {"br": BR, "gzip": GZ}
OLD = 1_500_000_000
DATE = "Fri, 14 Jul 2017 02:40:00 GMT"  # the same time


def add_set(server, name, *extensions, mtime=OLD):
    """Writes `name` with those precompressed files, all of the same age; returns its URL."""
    server.write(name, BODY, OLD)
    for extension in extensions:
        server.write(f"{name}.{extension}", {"br": BR, "gz": GZ, "zst": ZST}[extension], mtime)
    return f"/{name}"


def directories(lines_of):
    """<Directory> sections below docs, or below {root} if a name begins with it."""
    return "".join(
        f"<Directory {name if name.startswith('{') else '{docs}/' + name}>\n{lines}\n</Directory>\n"
        for name, lines in lines_of.items())


def passed_over(server):
    key = "ElasticPrecompressedSkipped-"
    return {name.removeprefix(key): int(value) for name, value in server.status().items()
            if name.startswith(key)}


@contextlib.contextmanager
def passes_over(server, **grown):
    """The block passes over so many precompressed files, by reason."""
    before = passed_over(server)
    yield
    assert passed_over(server) == {name: count + grown.pop(name, 0)
                                   for name, count in before.items()} and not grown


def check_sent(answer, coding, data):
    assert (answer.status, answer.coding, answer.raw) == (200, coding, data), answer
    assert answer.varies and answer.headers["Content-Length"] == str(len(data))
    assert answer.headers["Content-Type"].startswith("text/html")
    assert answer.headers["Accept-Ranges"] == "bytes" and "Last-Modified" in answer.headers


def check_made(answer, coding, body=BODY):
    check.encoded(answer, coding, body)
    assert answer.raw not in (BR, GZ)
