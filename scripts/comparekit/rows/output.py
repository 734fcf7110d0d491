"""The output filter INFLATE."""

import gzip
import struct
import zlib

import brotli

from .. import facts, sites
from ..row import PAGE, ROUTES, accepts, answer, get


def member(data, flags=0, extra=b"", crc=None, size=None):
    """A gzip member with optional header fields (RFC 1952), its checks right unless given."""
    coder = zlib.compressobj(6, zlib.DEFLATED, -15)
    head = b"\x1f\x8b\x08" + bytes([flags]) + bytes(4) + b"\x00\x03" + extra
    crc = zlib.crc32(data) if crc is None else crc
    size = len(data) & 0xffffffff if size is None else size
    return head + coder.compress(data) + coder.flush() + struct.pack("<II", crc, size)


GZIPPED = member(PAGE)
ZEROS = bytes(2_000_000)

_ENCODERS = {"gzip": member, "x-gzip": member, "br": brotli.compress, "deflate": zlib.compress}


def coded(codings):
    """The page with the codings of a Content-Encoding applied; an unknown one changes nothing."""
    data = PAGE
    for coding in codings.lower().split(", "):
        data = _ENCODERS.get(coding, bytes)(data)
    return data


def damaged():
    """{what: bytes} of bodies that say gzip and are no clean member of it."""
    middle = len(GZIPPED) // 2
    return {
        "a wrong CRC": member(PAGE, crc=1),
        "a wrong length": member(PAGE, size=1),
        "cut within the data": GZIPPED[:middle],
        "cut within the header": GZIPPED[:5],
        "cut within the trailer": GZIPPED[:-3],
        "cut before the trailer": GZIPPED[:-8],
        "damaged data": GZIPPED[:middle] + bytes(20) + GZIPPED[middle + 20:],
        "bytes behind it": GZIPPED + b"more",
        "zeros behind it": GZIPPED + bytes(16),
        "a wrong magic": b"no" + GZIPPED[2:],
        "a wrong method": GZIPPED[:2] + b"\x07" + GZIPPED[3:],
        "reserved flags": GZIPPED[:3] + b"\xe0" + GZIPPED[4:],
        "no gzip at all": PAGE,
        "no bytes": b"",
    }


def good():
    """{what: bytes} of gzip bodies that are right."""
    extra = b"\x05\x00abcde"
    checked = member(PAGE, 2)
    return {
        "a header with FTEXT": member(PAGE, 1),
        "a header with FEXTRA": member(PAGE, 4, extra),
        "a header with FNAME": member(PAGE, 8, b"name\0"),
        "a header with FCOMMENT": member(PAGE, 16, b"said\0"),
        "a header with all fields": member(PAGE, 28, extra + b"name\0said\0"),
        "a header with FHCRC": checked[:10] + struct.pack("<H", zlib.crc32(checked[:10]) & 0xffff)
        + checked[10:],
        "a stored member": gzip.compress(PAGE, 0, mtime=0),
        "several members": member(PAGE[:9000]) + member(b"") + member(PAGE[9000:]),
    }


SITE = "output"
sites.SITES[SITE] = sites.Site(
    sites.at("ratio", "SetOutputFilter INFLATE", "DeflateInflateRatioLimit 10",
             "DeflateInflateRatioBurst 1")
    + sites.at("ratio-large", "SetOutputFilter INFLATE", "DeflateInflateRatioLimit 5000")
    + sites.at("size", "SetOutputFilter INFLATE", "DeflateInflateLimitRequestBody 1000"))

_no_body = facts.without("body")


def _inflated(name, body=GZIPPED, at="inflate", *fields, coding="gzip", ae=None, expect=PAGE,
              **request):
    """A row whose handler sends `body` with that Content-Encoding and these fields."""
    return answer(name, at, (f"Content-Encoding: {coding}", *fields), ae, body=body, expect=expect,
                  **request)


def _passed(sent):
    """Where the coding is none that we decode: whether the body passed as it was sent."""
    def look(server, answer, expect):
        found = facts.of_response(server, answer, expect)
        if found["body"] != "whole":
            found["body"] = "as the handler sent it" if answer.raw == sent else found["body"]
        return found
    return look


def _broken_off(server, answer, expect):
    """Whether a body that breaks off had all of the page; how long it is depends on that."""
    found = facts.of_response(server, answer, expect)
    if found["body"] == "broken off":
        found["body"] += " with all of the page" if answer.raw == expect else ""
    del found["length"]
    return found


def _codings():
    for coding in ("gzip", "x-gzip", "GZIP", "br", "deflate", "identity", "gzip, identity",
                   "identity, gzip", "br, gzip", "gzip, br", "gzip, gzip"):
        yield _inflated(f"Content-Encoding: {coding}", coded(coding), coding=coding,
                        look=_passed(coded(coding)))


def _fields():
    for field in ("Content-MD5: Q2hlY2sgSW50ZWdyaXR5IQ==", "Content-Length: 12345",
                  "Accept-Ranges: bytes", "Vary: Accept-Encoding", "Cache-Control: no-transform",
                  "Content-Range: bytes 0-9/10"):
        yield _inflated(field, GZIPPED, "inflate", field, look=_passed(GZIPPED))
    yield _inflated("HEAD", method="HEAD", look=_no_body)
    yield _inflated("Range", headers={"Range": "bytes=0-99"}, look=_no_body)
    yield _inflated("no-gzip", headers={"X-no-gzip": "1"}, look=_passed(GZIPPED))
    yield _inflated("the client takes gzip", ae="gzip", look=_passed(GZIPPED))
    for ae in ("gzip", None, "br"):
        yield _inflated(f"INFLATE;DEFLATE, {accepts(ae)}", GZIPPED, "inflate-gzip", ae=ae)


def _limits():
    for place in ("inflate", "ratio", "ratio-large", "size"):
        for size in (1000, 100_000, 2_000_000):
            yield _inflated(f"{size} zeros at /{place}", member(ZEROS[:size]), place,
                            expect=ZEROS[:size], look=_broken_off)
        yield _inflated(f"the page at /{place}", GZIPPED, place, look=_broken_off)


# An origin that sends in pieces.
ROUTES["/encoded"] = lambda ask: ask.chunked(
    200, {"Content-Type": "text/html", "Content-Encoding": "gzip", "ETag": '"o"'},
    [GZIPPED[n:n + 1] for n in range(30)] + [GZIPPED[30:]])


def rows():
    yield from _codings()
    for what, body in good().items():
        yield _inflated(what, body)
    for what, body in damaged().items():
        yield _inflated(what, body, expect=PAGE if body else b"", look=_broken_off)
    yield from _fields()
    yield from _limits()
    yield get("an origin's pieces", "/proxy-inflate/encoded", None)
    yield get("a 204", "/inflate/say.cgi?h=Status:204+No&h=Content-Encoding:gzip", None,
              expect=b"")
