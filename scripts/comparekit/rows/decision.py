"""The order of decision: what declines, with which Vary, and what a response loses and gains."""

import urllib.parse

from kit import bodies, decode

from .. import facts, sites
from ..row import FILES, PAGE, PLACES, ROUTES, accepts, answer, get, page

SITE = "main"
sites.SITES[SITE] = sites.Site(
    sites.at("type", "AddOutputFilterByType DEFLATE text/html")
    + sites.at("type-both", "AddOutputFilterByType BROTLI_COMPRESS;DEFLATE text/html")
    + sites.at("provider", "FilterDeclare z CONTENT_SET",
               'FilterProvider z DEFLATE "%{CONTENT_TYPE} =~ m#^text/#"', "FilterChain z")
    + sites.at("twice", "SetOutputFilter DEFLATE;DEFLATE")
    + sites.at("views", "SetOutputFilter DEFLATE", "Options +MultiViews")
    + sites.at("digest", "SetOutputFilter DEFLATE", "ContentDigest On")
    + sites.at("digest-br", "SetOutputFilter BROTLI_COMPRESS", "ContentDigest On")
    + sites.at("gone", "SetOutputFilter DEFLATE", "ErrorDocument 404 /gzip/page.html")
    + "AddEncoding gzip gz\nAddEncoding br br\n"
    + sites.at("language", "AddLanguage br br"))

FILES["page.html"] = PAGE
FILES["page.txt"] = bodies.text(30000)
FILES["noise.bin"] = bodies.noise(30000)
FILES["large.html"] = bodies.html(3_000_000)
FILES["include.shtml"] = b'<!--#include virtual="/gzip/page.html" -->'
FILES["old.html.gz"] = b"not decoded by anyone"
FILES["old.html.br"] = b"not decoded by anyone"

_HTML_ONLY = {"X-gzip-only-html": "1"}
_MD5 = "Content-MD5: Q2hlY2sgSW50ZWdyaXR5IQ=="


def _sizes(place):
    for size in (0, 1, 67, 68, 69, 100):
        yield answer(f"{place}, {size} bytes", place, (), place, body=b"x" * size)
    for size in (0, 1, 68, 100):
        yield get(f"{place}, {size} bytes of a script", f"/{place}/say.cgi?size={size}", place,
                  expect=sites.say_body(size), look=facts.of_script)
    for said, name in (("bytes that do not shrink", "noise.bin"), ("3 MB", "large.html")):
        yield get(f"{place}, {said}", f"/{place}/{name}", place, expect=FILES[name])


def _declines(place):
    for ae in (place, None):
        yield page(f"{place}, a file, {accepts(ae)}", place, ae)
    for status, size in (("204 No Content", 0), ("201 Created", 3000), ("404 Not Found", 3000),
                         ("500 Oops", 3000)):
        path = f"/{place}/say.cgi?size={size}&h=Status:{status.replace(' ', '+')}"
        yield get(f"{place}, {status if size else '204'}", path, place, look=facts.of_script,
                  expect=sites.say_body(size),
                  text=f"the script's Status is {status if size else '204'}")
    yield get(f"{place}, canned error page", f"/{place}/nothing", place, expect=None)
    yield answer(f"{place}, Content-Range of a handler", place,
                 ("Content-Range: bytes 0-29999/60000",), place)
    yield get(f"{place}, included file", f"/{place}/include.shtml", place,
              text="the page includes /gzip/page.html")


def _environment(place):
    for value in ("1", "0", "empty"):
        for name in ("no-gzip", "no-brotli"):
            yield page(f"{place}, {name}={value}", place, place, headers={f"X-{name}": value},
                       text=f"SetEnvIf sets {name} to {value}")
    for value in ("1", "0", "yes"):
        for name in ("page.html", "page.txt"):
            yield get(f"{place}, gzip-only-text/html={value}, {name}", f"/{place}/{name}", place,
                      expect=FILES[name], headers={"X-gzip-only-html": value})
    for type in ("text/html; charset=utf-8", "text/htmlx", "TEXT/HTML"):
        yield answer(f"{place}, gzip-only-text/html=1, {type}", place, (), place, type=type,
                     headers=_HTML_ONLY)
    yield answer(f"{place}, gzip-only-text/html=1, no Accept-Encoding", place, (), None,
                 type="text/plain", headers=_HTML_ONLY)
    for ae in (None, "identity", f"{place};q=0", "deflate"):
        yield page(f"{place}, force-gzip, {accepts(ae)}", place, ae, headers={"X-force-gzip": "1"})
    yield page(f"{place}, force-gzip and no-gzip", place, None,
               headers={"X-force-gzip": "1", "X-no-gzip": "1"})


def _fields(place):
    for coding in ("gzip", "x-gzip", "br", "identity", "Identity", "7bit", "8bit", "binary",
                   "deflate", "identity, identity", "identity, gzip", "x-unknown"):
        expect = PAGE if coding.lower() in ("identity", "7bit", "8bit", "binary") else None
        yield answer(f"{place}, Content-Encoding: {coding}", place,
                     (f"Content-Encoding: {coding}",), place, expect=expect, look=_encoded_already)
    yield get(f"{place}, AddEncoding's file", f"/{place}/old.html.gz", place,
              look=_encoded_already)
    for vary in ("Cookie", "Accept-Encoding", "accept-encoding", "Cookie, Accept-Encoding", "*"):
        yield answer(f"{place}, Vary: {vary}", place, (f"Vary: {vary}",), place)
        yield answer(f"{place}, Vary: {vary}, nothing accepted", place, (f"Vary: {vary}",), None)
    for field in (_MD5, "Content-Length: 30000", "Accept-Ranges: bytes",
                  "Cache-Control: no-transform", "Cache-Control: max-age=60, No-Transform",
                  "Pragma: no-cache", "Digest: sha-256=AAAA", "Content-Encoding: ",
                  "Content-Language: br"):
        yield answer(f"{place}, {field}", place, (field,), place)
    yield answer(f"{place}, Content-MD5, nothing accepted", place, (_MD5,), None)
    for ask in ("no-transform", "no-cache"):
        yield page(f"{place}, request's Cache-Control: {ask}", place, place,
                   headers={"Cache-Control": ask})
    for ae in (place, None):
        yield page(f"{place}, ContentDigest On, {accepts(ae)}",
                   {"gzip": "digest", "br": "digest-br"}[place], ae)


def _encoded_already(server, answer, expect):
    """The body may not be what its coding says: that it passes untouched is what counts."""
    found = facts.of_response(server, answer, expect)
    if "not decodable" in found["body"]:
        found["body"] = _undone(answer)
    return found


def _undone(answer):
    """What is left of a body when the last coding of several is taken off."""
    if answer.raw in (PAGE, FILES["old.html.gz"]):
        return "as the handler sent it"
    try:
        body = decode.decode(answer.coding.rpartition(",")[2].strip(), answer.raw)
    except decode.DecodeError:
        return "not decodable"
    return "whole in its last coding" if body == PAGE else "other bytes in its last coding"


def _respond(ask):
    """An origin that sends the field in its query."""
    name, _, value = urllib.parse.unquote(ask.path.partition("?")[2]).partition(": ")
    ask.respond(200, {"Content-Type": "text/html", name: value}, PAGE)


ROUTES["/field"] = _respond


def _origin_fields(place):
    """An origin's fields are where a module looks first; a script's are in another table."""
    for field in (_MD5, "Content-Encoding: identity", "Content-Encoding: gzip", "Vary: Cookie",
                  "Cache-Control: no-transform"):
        for ae in (place, None):
            yield get(f"{place}, origin's {field}, {accepts(ae)}",
                      f"/proxy-{place}/field?{urllib.parse.quote(field)}", ae,
                      text=f"the origin sends {field}",
                      look=facts.without("length", of=_encoded_already))


_CHAINS = {
    "type": "AddOutputFilterByType DEFLATE text/html",
    "provider": "FilterProvider z DEFLATE for text/…",
    "twice": "SetOutputFilter DEFLATE;DEFLATE",
    "type-both": "AddOutputFilterByType BROTLI_COMPRESS;DEFLATE text/html",
}


def _chains():
    for place, text in _CHAINS.items():
        for name in ("page.html", "page.txt"):
            yield get(f"{place}, {name}", f"/{place}/{name}", "gzip, br", expect=FILES[name],
                      text=text)
    yield get("ErrorDocument", "/gone/nothing", text="ErrorDocument 404 /gzip/page.html")
    yield get("a .br file where br is a language too", "/language/old.html.br", "br",
              text="AddLanguage br .br, AddEncoding br .br", look=_encoded_already)
    for headers in ({}, {"X-no-gzip": "1"}, _HTML_ONLY):
        # mod_negotiation's tags have times of this machine in them.
        yield get(f"MultiViews with {', '.join(headers) or 'no variable'}", "/views/old",
                  headers=headers, look=facts.without("etag", of=_encoded_already))
    yield get("a POST's answer", "/gzip/say.cgi?size=3000", method="POST", body=b"a=b",
              expect=sites.say_body(3000), look=facts.of_script)


def rows():
    for part in (_sizes, _declines, _environment, _fields, _origin_fields):
        for place in PLACES:
            yield from part(place)
    yield from _chains()
