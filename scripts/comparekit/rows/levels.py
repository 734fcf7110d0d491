"""What each value of the encoders' directives does to a response, each in a virtual host."""

import zlib

from .. import facts, sites
from ..row import page

_VALUES = {
    "gzip": {
        "DeflateWindowSize": range(1, 16),
        "DeflateMemLevel": range(1, 10),
        "DeflateCompressionLevel": range(1, 10),
        "DeflateBufferSize": (1, 100, 8096, 1000000),
    },
    "br": {
        "BrotliCompressionQuality": range(0, 12),
        "BrotliCompressionWindow": range(10, 25),
        "BrotliCompressionMaxInputBlock": range(16, 25),
    },
}
# (place, directive, value)
_SETTINGS = [(place, directive, value) for place, directives in _VALUES.items()
             for directive, values in directives.items() for value in values]

SITE = "levels"
sites.SITES[SITE] = sites.Site(sites.vhost("unset") + "".join(
    sites.vhost(f"{directive}-{value}".lower(), f"{directive} {value}")
    for _, directive, value in _SETTINGS))


def _gzip_window_suffices(data, bits):
    """Whether a decoder with a window of 2^bits can read `data`: with one byte of output at a
    time it has nothing but its window to copy from."""
    decoder = zlib.decompressobj(-bits)
    rest = data[10:]
    try:
        while not decoder.eof:
            decoder.decompress(rest, 1)
            rest = decoder.unconsumed_tail
    except zlib.error:
        return False
    return True


def _brotli_window_bits(data):
    """WBITS of the stream's header (RFC 7932, section 9.1)."""
    first = data[0]
    if not first & 1:
        return 16
    if first >> 1 & 7:
        return 17 + (first >> 1 & 7)
    rest = first >> 4 & 7
    return 8 + rest if rest else 17


def _window(directive, value):
    def look(server, answer, expect):
        found = facts.of_response(server, answer, expect)
        if found["body"] != "whole" or found["coding"] == "identity":
            return found
        if directive == "DeflateWindowSize":
            # zlib makes 9 of 8 and knows no smaller one
            fits = _gzip_window_suffices(answer.raw, max(value, 9))
        else:
            fits = _brotli_window_bits(answer.raw) <= value
        found["window"] = "within" if fits else "exceeded"
        return found
    return look


def _against(other, place):
    def look(server, answer, expect):
        rest = server.get(f"/{place}/page.html", ae=place, headers={"Host": other})
        found = facts.of_response(server, answer, expect)
        found["bytes"] = "fewer" if len(answer.raw) < len(rest.raw) else "not fewer"
        return found
    return look


def rows():
    for place, directive, value in _SETTINGS:
        windows = directive in ("DeflateWindowSize", "BrotliCompressionWindow")
        yield page(f"{directive} {value}", place, place, host=f"{directive}-{value}".lower(),
                   look=_window(directive, value) if windows else facts.of_response)
    for place, directive, best, least in (("gzip", "deflatecompressionlevel", 9, 1),
                                          ("br", "brotlicompressionquality", 11, 0)):
        for host in (f"{directive}-{best}", "unset"):
            yield page(f"{host} against {directive}-{least}", place, place, host=host,
                       look=_against(f"{directive}-{least}", place))
