"""A reverse proxy whose responses pass our filter, added in several ways.

    server = proxied.start(httpd_shared, proxied.config(origin.url))
    server.get("/on/x", ae="gzip")                  # the origin's /x, with `Elastic On`

    @proxied.EACH                                   # way, coding
    def test(server, way, coding): server.get(way.path("x"), ae=coding)
"""

import threading

import pytest

from .neighbours import name_of, of

RECORDS = ("elastic", "deflate", "brotli")
WAYS = of("on", "named", "dropin", "dropin-by-type")


def _each(ways):
    return pytest.mark.parametrize(
        "way,coding", [(way, coding) for way in ways for coding in way.codings], ids=name_of)


EACH = _each(WAYS)
EACH_OWN = _each([way for way in WAYS if not way.stock])  # with our own defaults
EACH_WAY = pytest.mark.parametrize("way", WAYS, ids=name_of)


def start(httpd, text, modules=(), **kw):
    """A server from the fixture `httpd`, with all modules of the ways and mod_proxy_http."""
    return httpd(text, modules=["filter", "proxy", "proxy_http", *modules], records=RECORDS, **kw)


def locations(*lines, prefix=""):
    """<Location /prefix+name/> with `lines` (in which %s is the way's name), for each way."""
    text = ""
    for way in WAYS:
        own = "\n".join(line.replace("%s", way.name) for line in lines)
        text += f"<Location /{prefix}{way.name}/>\n{way.lines}\n{own}\n</Location>\n"
    return text


def config(url, *lines, parameters="", prefix=""):
    """The origin at `url` behind /prefix+name/, for each way; `parameters` are the worker's."""
    worker = f"<Proxy {url}/>\nProxySet {parameters}\n</Proxy>\n" if parameters else ""
    return worker + locations(f"ProxyPass {url}/", *lines, prefix=prefix)


class Gate:
    """Between two pieces of a body: the origin waits until the test has seen the first."""

    def __init__(self):
        self._passes = threading.Semaphore(0)

    def open(self):
        self._passes.release()

    def wait(self):
        """Returns after a time limit, whatever happens to the test."""
        self._passes.acquire(timeout=20)


def gated(gate, *pieces):
    """`pieces` for Origin.chunked() and similar functions, with the gate between each two."""
    for index, piece in enumerate(pieces):
        if index:
            gate.wait()
        yield piece
