"""Precompressed files of a page, and who may have which."""

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
DATE = "Fri, 14 Jul 2017 02:40:00 GMT"  # the same


def add_set(server, name, *extensions, mtime=OLD):
    """`name` with those precompressed files, which are as old as the file itself; its URL."""
    server.write(name, BODY, OLD)
    for extension in extensions:
        server.write(f"{name}.{extension}", {"br": BR, "gz": GZ, "zst": ZST}[extension], mtime)
    return f"/{name}"


def directories(lines_of):
    """<Directory> sections below docs, or below {root} where a name begins so."""
    return "".join(
        f"<Directory {name if name.startswith('{') else '{docs}/' + name}>\n{lines}\n</Directory>\n"
        for name, lines in lines_of.items())


def passed_over(server):
    """How many precompressed files were not sent, by the reason."""
    key = "ElasticPrecompressedSkipped-"
    return {name.removeprefix(key): int(value) for name, value in server.status().items()
            if name.startswith(key)}


def check_sent(answer, coding, data):
    """A precompressed file, as it is."""
    assert (answer.status, answer.coding, answer.raw) == (200, coding, data), answer
    assert answer.varies and answer.headers["Content-Length"] == str(len(data))
    assert answer.headers["Content-Type"].startswith("text/html")
    assert answer.headers["Accept-Ranges"] == "bytes" and "Last-Modified" in answer.headers


def check_made(answer, coding, body=BODY):
    """No precompressed file: an encoding that was made for the request."""
    check.encoded(answer, coding, body)
    assert answer.raw not in (BR, GZ)
