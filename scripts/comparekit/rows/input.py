"""The input filter DEFLATE: codings, damage, limits."""

import hashlib
import zlib

import brotli

from .. import facts, sites
from ..row import PAGE, Row
from .output import GZIPPED, ZEROS, damaged, good, member


def post(name, path, expect, *, body=None, fields=None, host=None, site="input", text=None,
         chunks=False, told=False):
    """A row of one POST; `expect` is what the handler should read, `body` what is sent (gzip of it
    unless given). `told`: what the handler is told of it too."""
    body = member(expect) if body is None else body
    fields = {"Content-Encoding": "gzip"} if fields is None else dict(fields)
    said = ", ".join(f"{name}: {value}" for name, value in fields.items())
    if host:
        fields["Host"] = host

    def probe(server):
        with server.connect() as connection:
            if chunks:
                _send_chunked(connection, path, body, fields)
                answer = connection.read_response()
            else:
                answer = connection.request(path, "POST", None, fields, body)
        return _read(answer, expect, body, told)

    line = f"POST {path}" + (f", {said}" if said else "") + (", chunked" if chunks else "")
    return Row(name, f"{text}; {line}" if text else line, site, probe)


def _send_chunked(connection, path, body, fields):
    head = [f"POST {path} HTTP/1.1", "Host: localhost", "Transfer-Encoding: chunked"]
    head += [f"{name}: {value}" for name, value in fields.items() if name != "Host"]
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


sites.SITES["input"] = sites.Site("".join(
    sites.at(f"in-{name}", "SetInputFilter DEFLATE", *lines) for name, lines in {
        "size": ["DeflateInflateLimitRequestBody 30000"],
        "core": ["LimitRequestBody 30000"],
        "both": ["LimitRequestBody 20000", "DeflateInflateLimitRequestBody 30000"],
        "smaller": ["LimitRequestBody 40000", "DeflateInflateLimitRequestBody 30000"],
        "zero": ["LimitRequestBody 30000", "DeflateInflateLimitRequestBody 0"],
        "ratio": ["DeflateInflateRatioLimit 10", "DeflateInflateRatioBurst 1"],
        "burst": ["DeflateInflateRatioLimit 10", "DeflateInflateRatioBurst 1000"],
        "large": ["DeflateInflateRatioLimit 5000"],
    }.items())
    + "<Directory {docs}/all>\nAllowOverride All\n</Directory>\n"
    + "<Directory {docs}/limit>\nAllowOverride Limit\n</Directory>\n"
    + "<Directory {docs}/none>\nAllowOverride None\n</Directory>\n"
    + sites.proxied("in-origin", "SetInputFilter DEFLATE", "DeflateInflateLimitRequestBody 30000"),
    cgi={f"{name}/echo.cgi": sites.ECHO for name in ("all", "limit", "none")})


def _codings():
    for coding in ("gzip", "x-gzip", "GZIP", "identity", "br", "deflate", "gzip, identity",
                   "identity, gzip", "gzip, gzip", "br, gzip", "gzip, br", "unknown"):
        body = {"br": brotli.compress(PAGE), "deflate": zlib.compress(PAGE), "identity": PAGE,
                "gzip, br": brotli.compress(GZIPPED), "gzip, gzip": member(GZIPPED),
                "br, gzip": member(brotli.compress(PAGE)), "unknown": PAGE}.get(coding, GZIPPED)
        yield post(f"input/Content-Encoding: {coding}", "/in/echo.cgi", PAGE, body=body,
                   fields={"Content-Encoding": coding})
    for coding in ("gzip", "identity"):
        yield post(f"input/what a script is told of {coding}", "/in/echo.cgi", PAGE, told=True,
                   body=GZIPPED if coding == "gzip" else PAGE, fields={"Content-Encoding": coding})
    yield post("input/what a script is told of chunks", "/in/echo.cgi", PAGE, told=True,
               chunks=True)
    yield post("input/no Content-Encoding", "/in/echo.cgi", PAGE, body=PAGE, fields={}, told=True)
    yield post("input/gzip without saying so", "/in/echo.cgi", PAGE, fields={})
    yield post("input/gzip and no filter", "/echo.cgi", PAGE)
    yield post("input/Content-MD5", "/in/echo.cgi", PAGE, told=True, fields={
        "Content-Encoding": "gzip", "Content-MD5": "Q2hlY2sgSW50ZWdyaXR5IQ=="})
    yield post("input/chunked", "/in/echo.cgi", PAGE, chunks=True)
    yield post("input/an empty body within gzip", "/in/echo.cgi", b"")
    yield post("input/a large body", "/in/echo.cgi", PAGE * 100)


def _limits():
    for place in ("size", "core", "both", "smaller", "zero"):
        for size in (20000, 20001, 30000, 30001, 40001, 60000):
            yield post(f"input/{size} bytes at /in-{place}", f"/in-{place}/echo.cgi",
                       PAGE.ljust(60000, b".")[:size], text=_LIMITS[place])
    for place in ("", "-ratio", "-burst", "-large"):
        for size in (1000, 20_000, 200_000, 2_000_000):
            yield post(f"input/{size} zeros at /in{place}", f"/in{place}/echo.cgi", ZEROS[:size],
                       text=_LIMITS.get(place))
    yield post("input/chunked, above the limit", "/in-size/echo.cgi", PAGE + b".", chunks=True,
               text=_LIMITS["size"])
    yield _proxied("input/30000 bytes to an origin", PAGE)
    yield _proxied("input/30001 bytes to an origin", PAGE + b".")
    yield _proxied("input/damaged, to an origin", PAGE, damaged()["a wrong CRC"])
    for size in (30000, 30001):
        yield post(f"input/{size} bytes to a file", "/in-size/page.html",
                   PAGE.ljust(size, b"."), text=_LIMITS["size"])
    for override in ("all", "limit", "none"):
        yield _htaccess(override)


_LIMITS = {
    "size": "DeflateInflateLimitRequestBody 30000",
    "core": "LimitRequestBody 30000",
    "both": "LimitRequestBody 20000, DeflateInflateLimitRequestBody 30000",
    "smaller": "LimitRequestBody 40000, DeflateInflateLimitRequestBody 30000",
    "zero": "LimitRequestBody 30000, DeflateInflateLimitRequestBody 0",
    "-ratio": "DeflateInflateRatioLimit 10, Burst 1",
    "-burst": "DeflateInflateRatioLimit 10, Burst 1000",
    "-large": "DeflateInflateRatioLimit 5000",
}


def _proxied(name, expect, body=None):
    path = "/in-origin/take"
    body = member(expect) if body is None else body

    def probe(server):
        got = []

        def respond(ask):
            got.append(ask)
            ask.respond(200, {}, b"taken")
        server.origin.route("/take", respond)
        answer = server.get(path, method="POST", body=body,
                            headers={"Content-Encoding": "gzip"})
        found = {"status": str(answer.status)}
        if got:
            found["origin read"] = "whole" if got[0].body == expect else f"{len(got[0].body)} bytes"
            found["origin's Content-Encoding"] = got[0].headers.get("content-encoding",
                                                                          facts.ABSENT)
        return found
    return Row(name, f"POST {path}, Content-Encoding: gzip; DeflateInflateLimitRequestBody 30000",
               "input", probe)


def _htaccess(override):
    path = f"/in/{override}/echo.cgi"

    def probe(server):
        server.write(f"{override}/.htaccess", "DeflateInflateLimitRequestBody 1000\n")
        answer = server.get(path, method="POST", body=GZIPPED,
                            headers={"Content-Encoding": "gzip"})
        return _read(answer, PAGE, GZIPPED)
    return Row(f"input/.htaccess, AllowOverride {override}",
               f"POST {path}; .htaccess: DeflateInflateLimitRequestBody 1000", "input", probe)


def rows():
    found = [*_codings()]
    for what, body in good().items():
        found.append(post(f"input/{what}", "/in/echo.cgi", PAGE, body=body))
    for what, body in damaged().items():
        found.append(post(f"input/{what}", "/in/echo.cgi", PAGE if body else b"", body=body))
    return found + [*_limits()]
