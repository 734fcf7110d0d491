"""A reverse proxy whose responses pass the filter, in every way that brings it there.

    server = httpd_shared(proxied.config(origin.url), modules=proxied.MODULES)
    server.get("/on/x", ae="gzip")                  # the origin's /x, with `Elastic On`

    @proxied.EACH                                   # way, coding
    def test(server, way, coding): server.get(way.path("x"), ae=coding)
"""

import threading
from typing import NamedTuple

import pytest

MODULES = ("proxy", "proxy_http")


class Way(NamedTuple):
    """One way to bring the filter into a response's chain, in force below /`name`/."""

    name: str
    lines: str
    codings: tuple
    tag: str  # what the tag x becomes, for str.format

    def path(self, rest):
        return f"/{self.name}/{rest}"

    def tagged(self, text, coding):
        """The tag of the body in `coding` whose identity has the tag "text"."""
        return self.tag.format(text, coding)


WAYS = (
    Way("on", "Elastic On", ("gzip", "br"), 'W/"{}-{}"'),
    Way("named", "SetOutputFilter ELASTIC", ("gzip", "br"), 'W/"{}-{}"'),
)

EACH_WAY = pytest.mark.parametrize("way", WAYS, ids=lambda way: way.name)
EACH = pytest.mark.parametrize(
    "way,coding", [(way, coding) for way in WAYS for coding in way.codings],
    ids=lambda value: getattr(value, "name", value))


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
