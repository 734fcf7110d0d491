"""The input filter DEFLATE: codings, damage, limits."""

import hashlib

from .. import facts, sites
from ..row import FILES, PAGE, ROUTES, Row
from .output import GZIPPED, ZEROS, coded, damaged, good, member

_GZIP = {"Content-Encoding": "gzip"}

# {place: the directives beside the filter}
_LIMITS = {
    "in": (),
    "in-size": ("DeflateInflateLimitRequestBody 30000",),
    "in-core": ("LimitRequestBody 30000",),
    "in-both": ("LimitRequestBody 20000", "DeflateInflateLimitRequestBody 30000"),
    "in-smaller": ("LimitRequestBody 40000", "DeflateInflateLimitRequestBody 30000"),
    "in-zero": ("LimitRequestBody 30000", "DeflateInflateLimitRequestBody 0"),
    "in-ratio": ("DeflateInflateRatioLimit 10", "DeflateInflateRatioBurst 1"),
    "in-burst": ("DeflateInflateRatioLimit 10", "DeflateInflateRatioBurst 1000"),
    "in-large": ("DeflateInflateRatioLimit 5000",),
}
_OVERRIDES = ("All", "Limit", "None")
for _override in _OVERRIDES:
    FILES[f"{_override.lower()}/.htaccess"] = b"DeflateInflateLimitRequestBody 1000\n"
ROUTES["/take"] = lambda ask: ask.respond(200, {}, b"taken")

SITE = "input"
sites.SITES[SITE] = sites.Site(
    "".join(sites.at(name, "SetInputFilter DEFLATE", *lines)
            for name, lines in _LIMITS.items() if lines)
    + "".join(f"<Directory {{docs}}/{override.lower()}>\nAllowOverride {override}\n</Directory>\n"
              for override in _OVERRIDES)
    + sites.proxied("in-origin", "SetInputFilter DEFLATE", "DeflateInflateLimitRequestBody 30000"),
    cgi={f"{override.lower()}/echo.cgi": sites.ECHO for override in _OVERRIDES})


def post(name, expect, path="/in/echo.cgi", *, body=None, fields=_GZIP, host=None, limits=(),
         chunks=False, told=False):
    """A row of one POST; `expect` is what the handler should read, `body` what is sent (gzip of it
    unless given). `told`: what the handler is told of it too."""
    body = member(expect) if body is None else body

    def probe(server):
        sent = {**fields, "Host": host} if host else fields
        with server.connect() as connection:
            if chunks:
                _send_chunked(connection, path, body, sent)
                answer = connection.read_response()
            else:
                answer = connection.request(path, "POST", None, sent, body)
        return _read(answer, expect, body, told)

    parts = [f"POST {path}", *(f"{name}: {value}" for name, value in fields.items())]
    line = ", ".join(parts + ["chunked"] * chunks)
    return Row(name, f"{', '.join(limits)}; {line}" if limits else line, probe)


def _send_chunked(connection, path, body, fields):
    fields = {"Host": "localhost", "Transfer-Encoding": "chunked", **fields}
    head = [f"POST {path} HTTP/1.1", *(f"{name}: {value}" for name, value in fields.items())]
    data = b"".join(b"%x\r\n%s\r\n" % (len(body[n:n + 7000]), body[n:n + 7000])
                    for n in range(0, len(body), 7000))
    connection.send("\r\n".join(head).encode() + b"\r\n\r\n" + data + b"0\r\n\r\n")


def _read(answer, expect, sent, told=False):
    found = {"status": str(answer.status)}
    if answer.status == 200 and answer.headers.get("Content-Type") == "text/plain":
        end, size, digest, *fields = answer.body.decode().split("|")
        if digest == hashlib.md5(expect).hexdigest():
            found["read"] = "whole" if expect else "nothing"
        elif digest == hashlib.md5(sent).hexdigest():
            found["read"] = "the bytes as sent"
        else:
            found["read"] = "nothing" if size == "0" else "other bytes"
        if end != "whole":
            found["read"] += ", then an error"
        for field in fields if told else ():
            name, _, value = field.partition("=")
            found[name] = facts.ABSENT if value == "-" else \
                "of the bytes sent" if value == str(len(sent)) else value
    return found


def _codings():
    for coding in ("gzip", "x-gzip", "GZIP", "identity", "br", "deflate", "gzip, identity",
                   "identity, gzip", "gzip, gzip", "br, gzip", "gzip, br", "unknown"):
        yield post(f"Content-Encoding: {coding}", PAGE, body=coded(coding),
                   fields={"Content-Encoding": coding})
    for coding in ("gzip", "identity"):
        yield post(f"what a script is told of {coding}", PAGE, body=coded(coding), told=True,
                   fields={"Content-Encoding": coding})
    yield post("what a script is told of chunks", PAGE, told=True, chunks=True)
    yield post("no Content-Encoding", PAGE, body=PAGE, fields={}, told=True)
    yield post("gzip without saying so", PAGE, fields={})
    yield post("gzip and no filter", PAGE, "/echo.cgi")
    yield post("Content-MD5", PAGE, told=True,
               fields={**_GZIP, "Content-MD5": "Q2hlY2sgSW50ZWdyaXR5IQ=="})
    yield post("chunked", PAGE, chunks=True)
    yield post("an empty body within gzip", b"")
    yield post("a large body", PAGE * 100)


def _limits():
    def limited(said, place, body, name="echo.cgi", **request):
        return post(said, body, f"/{place}/{name}", limits=_LIMITS[place], **request)

    for place in ("in-size", "in-core", "in-both", "in-smaller", "in-zero"):
        for size in (20000, 20001, 30000, 30001, 40001, 60000):
            yield limited(f"{size} bytes at /{place}", place, PAGE.ljust(60000, b".")[:size])
    for place in ("in", "in-ratio", "in-burst", "in-large"):
        for size in (1000, 20_000, 200_000, 2_000_000):
            yield limited(f"{size} zeros at /{place}", place, ZEROS[:size])
    yield limited("chunked, above the limit", "in-size", PAGE + b".", chunks=True)
    for size in (30000, 30001):
        yield limited(f"{size} bytes to a file", "in-size", PAGE.ljust(size, b"."), "page.html")
    yield _proxied("30000 bytes to an origin", PAGE, GZIPPED)
    yield _proxied("30001 bytes to an origin", PAGE + b".", member(PAGE + b"."))
    yield _proxied("damaged, to an origin", PAGE, damaged()["a wrong CRC"])
    for override in ("all", "limit", "none"):
        yield post(f".htaccess, AllowOverride {override}", PAGE, f"/in/{override}/echo.cgi",
                   limits=(".htaccess: DeflateInflateLimitRequestBody 1000",))


def _proxied(name, expect, body):
    path = "/in-origin/take"

    def probe(server):
        before = len(server.origin.seen)
        answer = server.get(path, method="POST", body=body, headers=_GZIP)
        found = {"status": str(answer.status)}
        for ask in server.origin.seen[before:]:
            found["origin read"] = "whole" if ask.body == expect else f"{len(ask.body)} bytes"
            found["origin's Content-Encoding"] = ask.headers.get("content-encoding", facts.ABSENT)
        return found
    return Row(name, f"POST {path}, Content-Encoding: gzip; DeflateInflateLimitRequestBody 30000",
               probe)


def rows():
    yield from _codings()
    for what, body in good().items():
        yield post(what, PAGE, body=body)
    for what, body in damaged().items():
        yield post(what, PAGE if body else b"", body=body)
    yield from _limits()
