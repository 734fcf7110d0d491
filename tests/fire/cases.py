"""Random requests, the same for the same seed."""

import gzip
import random
from dataclasses import dataclass

import brotli
import zstandard

from kit import bodies, env

from .http1 import Request
from .site import DAV_FILES, FILES, dav_body

AHEAD = 12  # requests of a batch

_CODINGS = ("gzip", "br", "zstd", "deflate", "identity", "*", "x-gzip", "compress")
_ACCEPTS = (None, None, "gzip", "br", "zstd", "gzip, br", "gzip, deflate, br, zstd",
            "gzip;q=0.5, br;q=0.9", "*", "identity", "*;q=0", "identity;q=0, gzip", "",
            "gzip;q=0, br", "BR;Q=0.001", "gzip;q=1.000,br;q=1", " br , , gzip ")

_NAMES = tuple(name for name in FILES if name != "large.txt")
_RANGES = ("bytes=0-0", "bytes=0-99", "bytes=100-", "bytes=-50", "bytes=0-9,20-29,-5",
           "bytes=5000-100000", "bytes=99999999-", "bytes=9-1", "bytes=0-", "items=0-5")


@dataclass
class Case:
    request: Request
    resource: str  # whose identity the body must be
    expect: bytes | None = None  # the body of a 200, where it is not the resource's
    statuses: tuple = ()  # that may come beside those of the resource

    def __str__(self):
        fields = "".join(f", {name}: {value}" for name, value in self.request.headers)
        body = f", a body of {len(self.request.body)} bytes" if self.request.body else ""
        return f"{self.request.method} {self.request.path} {self.request.version}{fields}{body}"


def _file(pick):
    return pick.choice(_NAMES)


def _odd(pick, **more):
    size = pick.choice((0, 1, 50, 900, 1400, 3000, 20000, 70000, 140000, 300000))
    query = f"size={size}&seed={pick.randrange(3)}&cut={pick.randrange(6)}"
    query += "".join(f"&{name}={value}" for name, value in more.items())
    return query + pick.choice(("", "", "&length=1"))


# (weight, what makes a path): the weights are about the inverse of what a request costs.
_PLACES = (
    (30, lambda pick: f"/{_file(pick)}"),
    (10, lambda pick: f"/named/{_file(pick)}"),
    (6, lambda pick: f"/siblings/{pick.choice(('page.html', 'app.js', 'style.css'))}"),
    (6, lambda pick: f"/subst/{pick.choice(('page.html', 't20000.txt', 't1.txt', 'style.css'))}"),
    (1, lambda pick: f"/ext/{pick.choice(('page.html', 't300.txt', 't65536.txt'))}"),
    (1, lambda pick: f"/rate/{pick.choice(('page.html', 't300.txt', 't20000.txt'))}"),
    (6, lambda pick: f"/buffer/{_file(pick)}"),
    (4, lambda pick: f"/fixed/{_file(pick)}"),
    (5, lambda pick: f"/tagged/{pick.choice(('page.html', 't20000.txt'))}"),
    (5, lambda pick: f"/untagged/{_file(pick)}"),
    (8, lambda pick: f"/disk/{_file(pick)}"),
    (8, lambda pick: f"/shm/{_file(pick)}"),
    (5, lambda pick: "/ssi.shtml"),
    (3, lambda pick: "/parts/ssi.shtml"),
    (8, lambda pick: f"/lua?size={pick.choice((0, 40, 1300, 9000, 150000))}"
                     f"&seed={pick.randrange(3)}&cut={pick.randrange(8)}"),
    (3, lambda pick: f"/odd.cgi?{_odd(pick)}"),
    (1, lambda pick: f"/named/odd.cgi?{_odd(pick, pause=300)}"),
    (1, lambda pick: "/odd.cgi?local=/page.html"),
    (1, lambda pick: f"/odd.cgi?{_odd(pick, status=pick.choice((201, 404, 500, 203)))}"),
    (4, lambda pick: f"/page.php?size={pick.choice((0, 100, 5000, 60000, 200000))}"
                     f"&seed={pick.randrange(3)}&flush={pick.randrange(2)}"
                     + pick.choice(("", "&etag"))),
    (6, lambda pick: f"/proxy/{_file(pick)}"),
    (2, lambda pick: f"/proxy/odd.cgi?{_odd(pick)}"),
    (4, lambda pick: f"/through/{_file(pick)}"),
    (2, lambda pick: "/origin/" + pick.choice(("close", "chunks", "bytes", "typeless"))),
    (1, lambda pick: "/origin/pause"),
    (4, lambda pick: f"/missing/{pick.randrange(9)}"),
    (1, lambda pick: "/forbidden/x"),
    (4, lambda pick: f"/moved/{pick.randrange(9)}"),
    (3, lambda pick: "/named/"),
    (4, lambda pick: f"/dav/{pick.randrange(DAV_FILES)}.txt"),
)
_WEIGHTS = tuple(weight for weight, _ in _PLACES)
_MAKERS = tuple(make for _, make in _PLACES)

# Whose answer has no tag or date to ask again with, or is another each time.
_UNCONDITIONAL = ("/rate", "/ext")


def accept_encoding(pick):
    if pick.random() < 0.7:
        return pick.choice(_ACCEPTS)
    members = []
    for coding in pick.sample(_CODINGS, pick.randrange(1, 5)):
        members.append(coding + pick.choice(("", "", f";q={pick.random():.3f}", "; q=0", ";q=1",
                                             " ; q=0.5")))
    return pick.choice((", ", ",", " ,")).join(members)


_ENDED_BY_412 = ("If-Match", "If-Unmodified-Since")


def _conditions(pick, tags, dates):
    """Fields of a conditional request, made of tags and dates that were seen of the resource."""
    known = pick.choice(tags) if tags else '"none"'
    other = pick.choice(('"none"', 'W/"x"', '"a,b"', "*", '"', "none"))
    listed = pick.choice((known, known, f"{other}, {known}", other, f'{known}, "x"',
                          known[2:] if known.startswith("W/") else f"W/{known}"))
    date = pick.choice((*dates, "Tue, 14 Nov 2023 22:13:20 GMT", "Sat, 01 Jan 2000 00:00:00 GMT"))
    return [pick.choice((("If-None-Match", listed), ("If-None-Match", listed),
                         ("If-Modified-Since", date), ("If-Match", listed),
                         ("If-Unmodified-Since", date)))]


def _get(pick, seen):
    path = pick.choices(_MAKERS, _WEIGHTS)[0](pick)
    headers = []
    accept = accept_encoding(pick)
    if accept is not None:
        headers.append(("Accept-Encoding", accept))
    tags, dates = seen(path)
    plain = not path.startswith(_UNCONDITIONAL)
    if plain and pick.random() < 0.15:
        headers += _conditions(pick, tags, dates)
    if plain and pick.random() < 0.12:
        headers.append(("Range", pick.choice(_RANGES)))
        if pick.random() < 0.4 and tags:
            headers.append(("If-Range", pick.choice((*tags, *dates))))
    # Where mod_cache of httpd 2.4.71 has revalidated, it sends a 412 without the end of its body.
    if pick.random() < 0.03 and not any(name in _ENDED_BY_412 for name, _ in headers):
        headers.append(("Cache-Control", pick.choice(("no-cache", "max-age=0"))))
    if pick.random() < 0.02:
        headers.append(("User-Agent", "x" * pick.randrange(1, 3000)))
    version = "HTTP/1.0" if pick.random() < 0.03 else "HTTP/1.1"
    method = "HEAD" if pick.random() < 0.08 else "GET"
    return Case(Request(method, path, tuple(headers), version=version), path)


def _post(pick):
    """A body that comes back, or whose length does."""
    size = pick.choice((0, 1, 100, 2000, 9000, 60000, 200000))
    plain = bodies.text(size)
    coding = pick.choice(("", "gzip", "br") + ("zstd",) * env.HAS_ZSTD)
    sent = {"": bytes, "gzip": lambda data: gzip.compress(data[:size // 3], 1, mtime=0)
            + gzip.compress(data[size // 3:], 1, mtime=0),
            "br": lambda data: brotli.compress(data, quality=1),
            "zstd": zstandard.compress}[coding](plain)
    headers = [("Content-Type", "text/plain")]
    if coding:
        headers.append(("Content-Encoding", coding))
    accept = accept_encoding(pick)
    if accept is not None:
        headers.append(("Accept-Encoding", accept))
    return Case(Request("POST", "/echo", tuple(headers), sent), "/echo", expect=plain)


def _dav(pick):
    number = pick.randrange(DAV_FILES)
    if pick.random() < 0.6:
        return Case(Request("PUT", f"/dav/{number}.txt", (), dav_body(number)), "/dav",
                    statuses=(201, 204))
    headers = [("Depth", "0")]
    accept = accept_encoding(pick)
    if accept is not None:
        headers.append(("Accept-Encoding", accept))
    return Case(Request("PROPFIND", "/dav/still/a.txt", tuple(headers)), "PROPFIND")


def _large(pick):
    accept = accept_encoding(pick)
    headers = () if accept is None else (("Accept-Encoding", accept),)
    return Case(Request("GET", "/large.txt", headers), "/large.txt")


def batch(seed, number, seen):
    """(protocol, cases). `seen(resource)` gives the (tags, dates) that were seen of it."""
    pick = random.Random(f"{seed}/{number}")
    protocol = pick.choices(("http1", "http2", "tls", "tls-http2"), (60, 25, 8, 7))[0]
    kind = pick.choices((_get, _post, _dav, _large), (90, 6, 3, 1))[0]
    if kind is _get:
        return protocol, [_get(pick, seen) for _ in range(AHEAD)]
    # Over HTTP/2 mod_reflector of httpd 2.4 sends nothing back.
    protocol = {"http2": "http1", "tls-http2": "tls"}.get(protocol, protocol)
    return protocol, [kind(pick) for _ in range(2)]
