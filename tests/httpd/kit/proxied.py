"""A reverse proxy whose responses pass the filter, in every way that brings it there.

    server = proxied.start(httpd_shared, proxied.config(origin.url))
    server.get("/on/x", ae="gzip")                  # the origin's /x, with `Elastic On`

    @proxied.EACH                                   # way, coding
    def test(server, way, coding): server.get(way.path("x"), ae=coding)
"""

import threading
from typing import NamedTuple

import pytest

from . import check

RECORDS = ("elastic", "deflate", "brotli")


class Way(NamedTuple):
    """One way to bring the filter into a response's chain, in force below /`name`/."""

    name: str
    lines: str
    codings: tuple
    tag: str  # what the tag x becomes, for str.format
    stock: bool = False  # one of the filters that stand for stock ones: their defaults hold
    typed: bool = True  # it is for some media types; a stock filter that is named, for all
    errors: bool = True  # it sees other statuses than 200, where mod_filter's filters are not

    def path(self, rest):
        return f"/{self.name}/{rest}"

    def check(self, answer, coding, body, status):
        """A response that need not be a 200 is encoded where the filter sees such ones."""
        if self.errors or status == 200:
            check.encoded(answer, coding, body, status)
        else:
            check.plain(answer, body, status, varies=False)

    def tagged(self, text, coding):
        """The tag of the body in `coding` whose identity has the tag "text"."""
        return self.tag.format(text, coding)


WAYS = (
    Way("on", "Elastic On", ("gzip", "br"), 'W/"{}-{}"'),
    Way("named", "SetOutputFilter ELASTIC", ("gzip", "br"), 'W/"{}-{}"'),
    Way("dropin", "SetOutputFilter BROTLI_COMPRESS;DEFLATE", ("gzip", "br"), '"{}-{}"', stock=True,
        typed=False),
    Way("by-type", "AddOutputFilterByType BROTLI_COMPRESS;DEFLATE text/html text/plain "
        "text/event-stream", ("gzip", "br"), '"{}-{}"', stock=True, errors=False),
)


def _each(ways):
    cases = [(way, coding) for way in ways for coding in way.codings]
    return pytest.mark.parametrize("way,coding", cases,
                                   ids=lambda value: getattr(value, "name", value))


EACH = _each(WAYS)
EACH_OWN = _each([way for way in WAYS if not way.stock])  # where our defaults hold
EACH_WAY = pytest.mark.parametrize("way", WAYS, ids=lambda way: way.name)


def start(httpd, text, modules=(), **kw):
    """A server by the fixture `httpd`, with all that the ways and mod_proxy_http need."""
    return httpd(text, modules=["filter", "proxy", "proxy_http", *modules], records=RECORDS, **kw)


def locations(*lines, prefix="", ways=WAYS):
    """<Location /prefix+name/> with `lines` (in which %s is the way's name), for each way."""
    text = ""
    for way in ways:
        own = "\n".join(line.replace("%s", way.name) for line in lines)
        text += f"<Location /{prefix}{way.name}/>\n{way.lines}\n{own}\n</Location>\n"
    return text


def config(url, *lines, parameters="", prefix=""):
    """The origin at `url` behind /prefix+name/, for each way; `parameters` are the worker's."""
    worker = f"<Proxy {url}/>\nProxySet {parameters}\n</Proxy>\n" if parameters else ""
    return worker + locations(f"ProxyPass {url}/", *lines, prefix=prefix)


class Gate:
    """Between two pieces of a body: an origin passes when the test has seen what came before."""

    def __init__(self):
        self._passes = threading.Semaphore(0)

    def open(self):
        self._passes.release()

    def wait(self):
        """Returns in the end, whatever became of the test."""
        self._passes.acquire(timeout=20)


def gated(gate, *pieces):
    """`pieces` for Origin.chunked() and its like, the gate between each two."""
    for index, piece in enumerate(pieces):
        if index:
            gate.wait()
        yield piece
