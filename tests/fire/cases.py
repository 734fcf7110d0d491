"""Random requests, the same for the same seed."""

import gzip
import random
from dataclasses import dataclass

import brotli
import zstandard

from kit import bodies, env
from kit.client import Request

# {path: bytes} of the files at every place that serves them.
FILES = {
    **{f"t{size}.txt": bodies.text(size) for size in (
        0, 1, 60, 69, 300, 1300, 1500, 4096, 8000, 8001, 20000, 65536, 131072, 300000)},
    "page.html": bodies.html(30000), "style.css": bodies.text(9000), "app.js": bodies.text(50000),
    "data.json": b"[" + b",".join(b'{"id":%d}' % i for i in range(3000)) + b"]",
    "noise.txt": bodies.noise(20000), "zeros.txt": bytes(1 << 20),
    "picture.png": bodies.noise(5000), "large.txt": bodies.text(3 << 20),
    "archive.bin": bodies.noise(3000),
}
AHEAD = 12  # requests of a batch

_CODINGS = ("gzip", "br", "zstd", "deflate", "identity", "*", "x-gzip", "compress")
_ACCEPTS = (None, None, "gzip", "br", "zstd", "gzip, br", "gzip, deflate, br, zstd",
            "gzip;q=0.5, br;q=0.9", "*", "identity", "*;q=0", "identity;q=0, gzip", "",
            "gzip;q=0, br", "BR;Q=0.001", "gzip;q=1.000,br;q=1", " br , , gzip ")
_RANGES = ("bytes=0-0", "bytes=0-99", "bytes=100-", "bytes=-50", "bytes=5000-100000",
           "bytes=99999999-", "bytes=9-1", "bytes=0-", "items=0-5")


@dataclass
class Case:
    request: Request
    resource: str  # whose identity the body must be
    expect: bytes | None = None  # the body of a 200, where it is not the resource's

    def __str__(self):
        fields = "".join(f", {name}: {value}" for name, value in self.request.headers)
        body = f", a body of {len(self.request.body)} bytes" if self.request.body else ""
        return f"{self.request.method} {self.request.path} {self.request.version}{fields}{body}"


# What stands for a part of a path: one of these, or what a function picks.
_PARTS = {
    "FILE": [name for name in FILES if name != "large.txt"],
    "PAGE": ["page.html", "app.js", "style.css", "t300.txt", "t20000.txt", "t1.txt"],
    # The body's bytes, what they are, how they are cut, and 1 for a Content-Length.
    "ODD": lambda pick: f"{pick.choice((0, 1, 50, 900, 1400, 3000, 20000, 70000, 140000, 300000))},"
                        f"{pick.randrange(3)},{pick.randrange(6)},{pick.choice('001')}",
    "STATUS": ["201", "404", "500", "203"],
    "PHP": lambda pick: f"{pick.choice((0, 100, 5000, 60000, 200000))},{pick.randrange(3)},"
                        f"{pick.randrange(2)},{pick.randrange(2)}",
    "ORIGIN": ["close", "chunks", "bytes", "typeless", "pause"],
    "NUMBER": list("12345678"),
}
# {path: weight}, about the inverse of what a request costs.
_PATHS = {
    "/FILE": 30, "/named/FILE": 10, "/buffer/FILE": 6, "/fixed/FILE": 4, "/untagged/FILE": 5,
    "/disk/FILE": 8, "/shm/FILE": 8, "/proxy/FILE": 6, "/through/FILE": 4, "/precompressed/PAGE": 6,
    "/subst/PAGE": 6, "/tagged/PAGE": 5, "/rate/PAGE": 1, "/ssi.shtml": 5,
    "/parts/ssi.shtml": 3, "/odd.cgi?ODD,200": 5, "/odd.cgi?ODD,STATUS": 1, "/local.cgi": 1,
    "/named/odd.cgi?ODD,200": 1, "/proxy/odd.cgi?ODD,200": 2, "/page.php?PHP": 4,
    "/origin/ORIGIN": 2, "/missing/NUMBER": 4, "/forbidden/x": 1, "/moved/NUMBER": 4,
    "/named/": 3,
}
# Whose answer has no tag or date to ask again with, or is another each time.
_UNCONDITIONAL = "/rate"
_ENDED_BY_412 = {"If-Match", "If-Unmodified-Since"}


def _path(pick):
    [path] = pick.choices(list(_PATHS), list(_PATHS.values()))
    for name, values in _PARTS.items():
        if name in path:
            path = path.replace(name, values(pick) if callable(values) else pick.choice(values))
    return path


def _accept(pick):
    if pick.random() < 0.7:
        value = pick.choice(_ACCEPTS)
        return [] if value is None else [("Accept-Encoding", value)]
    weights = ("", "", f";q={pick.random():.3f}", "; q=0", ";q=1", " ; q=0.5")
    members = [coding + pick.choice(weights)
               for coding in pick.sample(_CODINGS, pick.randrange(1, 5))]
    return [("Accept-Encoding", pick.choice((", ", ",", " ,")).join(members))]


def _condition(pick, tags, dates):
    """A field of a conditional request, made of tags and dates that were seen of the resource."""
    known = pick.choice(tags) if tags else '"none"'
    other = pick.choice(('"none"', 'W/"x"', '"a,b"', "*", '"', "none"))
    listed = pick.choice((known, known, f"{other}, {known}", other, f'{known}, "x"',
                          known[2:] if known.startswith("W/") else f"W/{known}"))
    date = pick.choice((*dates, "Tue, 14 Nov 2023 22:13:20 GMT", "Sat, 01 Jan 2000 00:00:00 GMT"))
    return pick.choice((("If-None-Match", listed), ("If-None-Match", listed),
                        ("If-Modified-Since", date), ("If-Match", listed),
                        ("If-Unmodified-Since", date)))


def _get(pick, seen):
    path = _path(pick)
    headers = _accept(pick)
    tags, dates = seen(path)
    plain = not path.startswith(_UNCONDITIONAL)
    if plain and pick.random() < 0.15:
        headers.append(_condition(pick, tags, dates))
    if plain and pick.random() < 0.12:
        headers.append(("Range", pick.choice(_RANGES)))
        if pick.random() < 0.4 and tags:
            headers.append(("If-Range", pick.choice((*tags, *dates))))
    # Where mod_cache of httpd 2.4.71 has revalidated, it sends a 412 without the end of its body.
    if pick.random() < 0.03 and not dict(headers).keys() & _ENDED_BY_412:
        headers.append(("Cache-Control", pick.choice(("no-cache", "max-age=0"))))
    if pick.random() < 0.02:
        headers.append(("User-Agent", "x" * pick.randrange(1, 3000)))
    version = "HTTP/1.0" if pick.random() < 0.03 else "HTTP/1.1"
    method = "HEAD" if pick.random() < 0.08 else "GET"
    return Case(Request(method, path, tuple(headers), version=version), path)


def _post(pick):
    """A body that comes back."""
    size = pick.choice((0, 1, 100, 2000, 9000, 60000, 200000))
    plain = bodies.text(size)
    coding = pick.choice(("", "gzip", "br") + ("zstd",) * env.HAS_ZSTD)
    sent = {"": bytes, "gzip": lambda data: gzip.compress(data[:size // 3], 1, mtime=0)
            + gzip.compress(data[size // 3:], 1, mtime=0),
            "br": lambda data: brotli.compress(data, quality=1),
            "zstd": zstandard.compress}[coding](plain)
    headers = [("Content-Type", "text/plain"), *[("Content-Encoding", coding)] * bool(coding),
               *[("Content-Length", 0)] * (not sent)]
    return Case(Request("POST", "/echo", (*headers, *_accept(pick)), sent), "/echo", expect=plain)


def _large(pick):
    return Case(Request("GET", "/large.txt", tuple(_accept(pick))), "/large.txt")


def batch(seed, number, seen):
    """(protocol, cases). `seen(resource)` gives the (tags, dates) that were seen of it."""
    pick = random.Random(f"{seed}/{number}")
    protocol = pick.choices(("http1", "http2", "tls", "tls-http2"), (60, 25, 8, 7))[0]
    kind = pick.choices((_get, _post, _large), (93, 6, 1))[0]
    if kind is _get:
        return protocol, [_get(pick, seen) for _ in range(AHEAD)]
    # Over HTTP/2 mod_reflector of httpd 2.4 sends nothing back.
    return protocol.replace("tls-http2", "tls").replace("http2", "http1"), \
        [kind(pick) for _ in range(2)]
