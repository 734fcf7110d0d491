"""The order of decision: what declines, with which Vary, and what a response loses and gains."""

from kit import bodies, decode

from .. import facts, sites
from ..row import FILES, PAGE, Row, accepts, answer, describe, get

_HTML_ONLY = {"X-gzip-only-html": "1"}

sites.SITES["main"] = sites.Site(
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

PLACES = (("gzip", "gzip"), ("br", "br"))


def _sizes():
    for place, ae in PLACES:
        for size in (0, 1, 67, 68, 69, 100):
            yield answer(f"decision/{place}, {size} bytes", place, (), ae, body=b"x" * size)
        for size in (0, 1, 68, 100):
            path = f"/{place}/say.cgi?size={size}"
            yield get(f"decision/{place}, {size} bytes of a script", path, ae,
                      expect=sites.say_body(size), look=facts.of_script)
        yield get(f"decision/{place}, bytes that do not shrink", f"/{place}/noise.bin", ae,
                  expect=FILES["noise.bin"])
        yield get(f"decision/{place}, 3 MB", f"/{place}/large.html", ae,
                  expect=FILES["large.html"])


def _declines():
    for place, ae in PLACES:
        for ae_sent in (ae, None):
            yield get(f"decision/{place}, a file, {accepts(ae_sent)}", f"/{place}/page.html",
                      ae_sent)
        yield get(f"decision/{place}, 204", f"/{place}/say.cgi?h=Status:204+No+Content", ae,
                  expect=b"", text="the script's Status is 204", look=facts.of_script)
        for status in ("201 Created", "404 Not Found", "500 Oops"):
            path = f"/{place}/say.cgi?size=3000&h=Status:{status.replace(' ', '+')}"
            yield get(f"decision/{place}, {status}", path, ae, expect=sites.say_body(3000),
                      text=f"the script's Status is {status}", look=facts.of_script)
        yield get(f"decision/{place}, canned error page", f"/{place}/nothing", ae, expect=None)
        yield answer(f"decision/{place}, Content-Range of a handler", place,
                     ("Content-Range: bytes 0-29999/60000",), ae)
        yield get(f"decision/{place}, included file", f"/{place}/include.shtml", ae,
                  text="the page includes /gzip/page.html")
        for value in ("1", "0", "empty"):
            for name in ("no-gzip", "no-brotli"):
                yield get(f"decision/{place}, {name}={value}", f"/{place}/page.html", ae,
                          headers={f"X-{name}": value},
                          text=f"SetEnvIf sets {name} to {value}")
        for value in ("1", "0", "yes"):
            for name in ("page.html", "page.txt"):
                yield get(f"decision/{place}, gzip-only-text/html={value}, {name}",
                          f"/{place}/{name}", ae, expect=FILES[name],
                          headers={"X-gzip-only-html": value})
        for type in ("text/html; charset=utf-8", "text/htmlx", "TEXT/HTML"):
            yield answer(f"decision/{place}, gzip-only-text/html=1, {type}", place, (), ae,
                         type=type, headers=_HTML_ONLY)
        yield answer(f"decision/{place}, gzip-only-text/html=1, no Accept-Encoding", place, (),
                     None, type="text/plain", headers=_HTML_ONLY)
        for accept in (None, "identity", f"{ae};q=0", "deflate"):
            yield get(f"decision/{place}, force-gzip, {accepts(accept)}", f"/{place}/page.html",
                      accept,
                      headers={"X-force-gzip": "1"})
        yield get(f"decision/{place}, force-gzip and no-gzip", f"/{place}/page.html", None,
                  headers={"X-force-gzip": "1", "X-no-gzip": "1"})


def _fields():
    for place, ae in PLACES:
        for coding in ("gzip", "x-gzip", "br", "identity", "Identity", "7bit", "8bit", "binary",
                       "deflate", "identity, identity", "identity, gzip", "x-unknown"):
            expect = PAGE if coding.lower() in ("identity", "7bit", "8bit", "binary") else None
            yield answer(f"decision/{place}, Content-Encoding: {coding}", place,
                         (f"Content-Encoding: {coding}",), ae, expect=expect,
                         look=_encoded_already)
        yield get(f"decision/{place}, AddEncoding's file", f"/{place}/old.html.gz", ae,
                  look=_encoded_already)
        for vary in ("Cookie", "Accept-Encoding", "accept-encoding", "Cookie, Accept-Encoding",
                     "*"):
            yield answer(f"decision/{place}, Vary: {vary}", place, (f"Vary: {vary}",), ae)
            yield answer(f"decision/{place}, Vary: {vary}, nothing accepted", place,
                         (f"Vary: {vary}",), None)
        for field in ("Content-MD5: Q2hlY2sgSW50ZWdyaXR5IQ==", "Content-Length: 30000",
                      "Accept-Ranges: bytes", "Cache-Control: no-transform",
                      "Cache-Control: max-age=60, No-Transform", "Pragma: no-cache",
                      "Digest: sha-256=AAAA", "Content-Encoding: ", "Content-Language: br"):
            yield answer(f"decision/{place}, {field}", place, (field,), ae)
        yield answer(f"decision/{place}, Content-MD5, nothing accepted", place,
                     ("Content-MD5: Q2hlY2sgSW50ZWdyaXR5IQ==",), None)
        for ask in ("no-transform", "no-cache"):
            yield get(f"decision/{place}, request's Cache-Control: {ask}", f"/{place}/page.html",
                      ae, headers={"Cache-Control": ask})
    for ae in ("gzip", None):
        yield get(f"decision/gzip, ContentDigest On, {accepts(ae)}", "/digest/page.html", ae)
    for ae in ("br", None):
        yield get(f"decision/br, ContentDigest On, {accepts(ae)}", "/digest-br/page.html", ae)


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


def _without_tag(server, answer, expect):
    """mod_negotiation's tags have times of this machine in them."""
    found = _encoded_already(server, answer, expect)
    del found["etag"]
    return found


def _origin_fields():
    """An origin's fields are where a module looks first; a script's are in another table."""
    for place, ae in PLACES:
        for field in ("Content-MD5: Q2hlY2sgSW50ZWdyaXR5IQ==", "Content-Encoding: identity",
                      "Content-Encoding: gzip", "Vary: Cookie", "Cache-Control: no-transform"):
            for accept in (ae, None):
                yield _from_origin(f"decision/{place}, origin's {field}, "
                                   f"{accepts(accept)}", place, field, accept)


def _from_origin(name, place, field, ae):
    path = f"/proxy-{place}/field"

    def probe(server):
        key, _, value = field.partition(": ")
        server.origin.route("/field", lambda ask: ask.respond(
            200, {"Content-Type": "text/html", key: value}, PAGE))
        found = _encoded_already(server, server.get(path, ae=ae), PAGE)
        del found["length"]
        return found
    return Row(name, describe(path, ae, {}, f"the origin sends {field}"), "main", probe)


def _chains():
    for place in ("type", "provider", "twice", "type-both"):
        for name in ("page.html", "page.txt"):
            yield get(f"decision/{place}, {name}", f"/{place}/{name}", "gzip, br",
                      expect=FILES[name], text=_CHAINS[place])
    yield get("decision/ErrorDocument", "/gone/nothing", "gzip",
              text="ErrorDocument 404 /gzip/page.html")
    yield get("decision/a .br file where br is a language too", "/language/old.html.br", "br",
              text="AddLanguage br .br, AddEncoding br .br", look=_encoded_already)
    for env in ({}, {"X-no-gzip": "1"}, _HTML_ONLY):
        yield get(f"decision/MultiViews with {', '.join(env) or 'no variable'}", "/views/old",
                  "gzip", headers=env, look=_without_tag)
    yield _post("decision/a POST's answer")


_CHAINS = {
    "type": "AddOutputFilterByType DEFLATE text/html",
    "type-both": "AddOutputFilterByType BROTLI_COMPRESS;DEFLATE text/html",
    "provider": "FilterProvider z DEFLATE for text/…",
    "twice": "SetOutputFilter DEFLATE;DEFLATE",
}


def _post(name):
    path = "/gzip/say.cgi?size=3000"

    def probe(server):
        return facts.of_script(server, server.get(path, "gzip", method="POST", body=b"a=b"),
                               sites.say_body(3000))
    return Row(name, describe(path, "gzip", {"method": "POST"}), "main", probe)


def rows():
    return [*_sizes(), *_declines(), *_fields(), *_origin_fields(), *_chains()]
