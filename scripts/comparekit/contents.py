"""Bodies of answers and requests, by their names in rows.txt."""

import functools
import gzip
import zlib

import brotli

from kit import bodies

_PAGE = bodies.html(30000)
_TEXT = bodies.text(20000)
_GZIP = gzip.compress(_PAGE, mtime=0)
_HEAD = _GZIP[:3] + b"\x1f" + _GZIP[4:10] + b"\x05\0extraname\0said\0"  # with a CRC to follow
_ENCODERS = {"gzip": lambda data: gzip.compress(data, mtime=0), "br": brotli.compress,
             "deflate": zlib.compress}
_PLAIN = {
    "page.html": _PAGE, "page.txt": bodies.text(30000), "noise.bin": bodies.noise(30000),
    "large.html": bodies.html(3_000_000), "old.html.gz": b"not decoded",
    "old.html.br": b"not decoded",
}
_CODED = {
    "include.shtml": b'<!--#include virtual="page.html" -->',
    "all fields": _HEAD + zlib.crc32(_HEAD).to_bytes(4, "little")[:2] + _GZIP[10:],
    "stored data": gzip.compress(_PAGE, 0),
    "several members": b"".join(map(gzip.compress, (_PAGE[:9000], b"", _PAGE[9000:]))),
    "a wrong CRC": _GZIP[:-8] + bytes(4) + _GZIP[-4:],
    "a wrong length": _GZIP[:-4] + bytes(4),
    "damaged data": _GZIP[:6000] + bytes(20) + _GZIP[6020:],
    "cut data": _GZIP[:6000],
    "a cut trailer": _GZIP[:-3],
    "a cut header": _GZIP[:5],
    "a wrong magic": b"no" + _GZIP[2:],
    "a wrong method": _GZIP[:2] + b"\x07" + _GZIP[3:],
    "reserved flags": _GZIP[:3] + b"\xe0" + _GZIP[4:],
    "bytes behind": _GZIP + b"more",
}
# {name: (bytes sent, decoded bytes)}; mod_bucketeer ends a bucket at \x02 and a brigade at \x10,
# and flushes at \x06.
_FIXED = {
    **dict.fromkeys(("", "nothing", "old.html", "echo.cgi", "limited/echo.cgi"), (b"", _PAGE)),
    **{name: (body, body) for name, body in _PLAIN.items()},
    **{name: (body, _PAGE) for name, body in _CODED.items()},
    **{f"{kind}{name}.txt": (mark.join(pieces), b"".join(pieces))
       for kind, pieces in (("", [b"", _TEXT[:1], _TEXT[1:41], _TEXT[41:]]),
                            ("small-", [b"one", b"two"]))
       for name, mark in (("buckets", b"\x02"), ("brigades", b"\x10"), ("flushes", b"\x06"))},
}


@functools.lru_cache(maxsize=None)
def contents(name):
    """Like _FIXED; the name may also be of the form `3000 bytes in gzip, br`."""
    what, _, codings = name.partition(" in ")
    size, _, kind = what.partition(" ")
    if not size.isdigit() and what != "page":
        return _FIXED[name]
    make = bytes if kind == "zeros" else bodies.text
    data = sent = _PAGE if what == "page" else make(int(size))
    for coding in codings.lower().split(", "):
        sent = _ENCODERS.get(coding.replace("x-", ""), bytes)(sent)
    return sent, data
