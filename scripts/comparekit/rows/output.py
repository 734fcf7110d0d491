"""The output filter INFLATE."""

import gzip
import struct
import zlib

import brotli

from .. import facts, sites
from ..row import PAGE, Row, accepts, answer, describe, get


def member(data, flags=0, extra=b"", crc=None, size=None):
    """A gzip member with optional header fields (RFC 1952), its checks right unless given."""
    coder = zlib.compressobj(6, zlib.DEFLATED, -15)
    head = b"\x1f\x8b\x08" + bytes([flags]) + bytes(4) + b"\x00\x03" + extra
    crc = zlib.crc32(data) if crc is None else crc
    size = len(data) & 0xffffffff if size is None else size
    return head + coder.compress(data) + coder.flush() + struct.pack("<II", crc, size)


GZIPPED = member(PAGE)
ZEROS = bytes(2_000_000)

_EXTRA = b"\x05\x00abcde"
_FIELDS = {
    "FTEXT": (1, b""), "FEXTRA": (4, _EXTRA), "FNAME": (8, b"name\0"), "FCOMMENT": (16, b"said\0"),
    "all fields": (28, _EXTRA + b"name\0said\0"),
}


def with_header_crc(data):
    whole = member(data, 2)
    crc = zlib.crc32(whole[:10]) & 0xffff
    return whole[:10] + struct.pack("<H", crc) + whole[10:]


def damaged(data=PAGE):
    """{what: bytes} of bodies that say gzip and are no clean member of it."""
    whole = member(data)
    middle = len(whole) // 2
    return {
        "a wrong CRC": member(data, crc=1),
        "a wrong length": member(data, size=1),
        "cut within the data": whole[:middle],
        "cut within the header": whole[:5],
        "cut within the trailer": whole[:-3],
        "cut before the trailer": whole[:-8],
        "damaged data": whole[:middle] + bytes(20) + whole[middle + 20:],
        "bytes behind it": whole + b"more",
        "a second member": whole + member(b"second"),
        "zeros behind it": whole + bytes(16),
        "a wrong magic": b"no" + whole[2:],
        "a wrong method": whole[:2] + b"\x07" + whole[3:],
        "reserved flags": whole[:3] + b"\xe0" + whole[4:],
        "no gzip at all": PAGE,
        "no bytes": b"",
    }


def good(data=PAGE):
    """{what: bytes} of gzip members that are right."""
    found = {f"a header with {name}": member(data, flags, extra)
             for name, (flags, extra) in _FIELDS.items()}
    found["a header with FHCRC"] = with_header_crc(data)
    found["a stored member"] = gzip.compress(data, 0, mtime=0)
    return found


sites.SITES["output"] = sites.Site(
    sites.at("ratio", "SetOutputFilter INFLATE", "DeflateInflateRatioLimit 10",
             "DeflateInflateRatioBurst 1")
    + sites.at("ratio-large", "SetOutputFilter INFLATE", "DeflateInflateRatioLimit 5000")
    + sites.at("size", "SetOutputFilter INFLATE", "DeflateInflateLimitRequestBody 1000"))


def _headed(name, at, fields, body, ae=None, **request):
    return answer(f"output/{name}", at, fields, ae, body=body, site="output", **request)


def _codings():
    for coding in ("gzip", "x-gzip", "GZIP", "br", "deflate", "identity", "gzip, identity",
                   "identity, gzip", "br, gzip", "gzip, br", "gzip, gzip"):
        body = {"br": brotli.compress(PAGE), "deflate": zlib.compress(PAGE), "identity": PAGE,
                "gzip, identity": GZIPPED, "gzip, br": brotli.compress(GZIPPED),
                "br, gzip": member(brotli.compress(PAGE)),
                "gzip, gzip": member(GZIPPED)}.get(coding, GZIPPED)
        yield _headed(f"Content-Encoding: {coding}", "inflate", (f"Content-Encoding: {coding}",),
                      body, expect=PAGE, look=_passed(body))


def _passed(sent):
    """Where the coding is none that we decode: whether the body passed as it was sent."""
    def look(server, answer, expect):
        found = facts.of_response(server, answer, expect)
        if found["body"] != "whole":
            found["body"] = "as the handler sent it" if answer.raw == sent else found["body"]
        return found
    return look


def _logged(server, answer, expect):
    found = facts.of_response(server, answer, expect)
    if found["body"] == "broken off":
        found["body"] += " with all of the page" if answer.raw == expect else ""
    del found["length"]
    return found


def _fields():
    for fields in (("Content-MD5: Q2hlY2sgSW50ZWdyaXR5IQ==",), ("Content-Length: 12345",),
                   ("Accept-Ranges: bytes",), ("Vary: Accept-Encoding",),
                   ("Cache-Control: no-transform",), ("Content-Range: bytes 0-9/10",)):
        yield _headed(fields[0], "inflate", ("Content-Encoding: gzip", *fields), GZIPPED,
                      expect=PAGE, look=_passed(GZIPPED))
    yield _headed("HEAD", "inflate", ("Content-Encoding: gzip",), GZIPPED, method="HEAD",
                  look=_no_body)
    yield _headed("Range", "inflate", ("Content-Encoding: gzip",), GZIPPED, expect=PAGE,
                  headers={"Range": "bytes=0-99"}, look=_no_body)
    yield _headed("no-gzip", "inflate", ("Content-Encoding: gzip",), GZIPPED, expect=PAGE,
                  headers={"X-no-gzip": "1"}, look=_passed(GZIPPED))
    yield _headed("the client takes gzip", "inflate", ("Content-Encoding: gzip",), GZIPPED, "gzip",
                  expect=PAGE, look=_passed(GZIPPED))
    for ae in ("gzip", None, "br"):
        yield _headed(f"INFLATE;DEFLATE, {accepts(ae)}", "inflate-gzip",
                      ("Content-Encoding: gzip",), GZIPPED, ae, expect=PAGE)


def _no_body(server, answer, expect):
    found = facts.of_response(server, answer, b"")
    del found["body"]
    return found


def _limits():
    for place in ("inflate", "ratio", "ratio-large", "size"):
        for size in (1000, 100_000, 2_000_000):
            body = member(ZEROS[:size])
            yield _headed(f"{size} zeros at /{place}", place, ("Content-Encoding: gzip",), body,
                          expect=ZEROS[:size], look=_logged)
        yield _headed(f"the page at /{place}", place, ("Content-Encoding: gzip",), GZIPPED,
                      expect=PAGE, look=_logged)


def _origin():
    """Through a proxy, in pieces."""
    path = "/proxy-inflate/encoded"

    def probe(server):
        server.origin.route("/encoded", lambda ask: ask.chunked(
            200, {"Content-Type": "text/html", "Content-Encoding": "gzip", "ETag": '"o"'},
            [GZIPPED[n:n + 1] for n in range(30)] + [GZIPPED[30:]]))
        return facts.of_response(server, server.get(path), PAGE)
    return Row("output/an origin's pieces", describe(path, None, {}), "output", probe)


def rows():
    found = [*_codings()]
    for what, body in good().items():
        found.append(_headed(what, "inflate", ("Content-Encoding: gzip",), body, expect=PAGE))
    for what, body in damaged().items():
        found.append(_headed(what, "inflate", ("Content-Encoding: gzip",), body,
                             expect=b"" if not body else PAGE, look=_logged))
    found += [*_fields(), *_limits(), _origin()]
    found.append(get("output/a 204", "/inflate/say.cgi?h=Status:204+No&h=Content-Encoding:gzip",
                     None, expect=b"", site="output"))
    return found
