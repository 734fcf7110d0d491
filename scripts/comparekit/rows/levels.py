"""What each value of the encoders' directives does to a response, each in a virtual host."""

import zlib

from .. import facts, sites
from ..row import PAGE, get

_GZIP = {
    "DeflateWindowSize": range(1, 16),
    "DeflateMemLevel": range(1, 10),
    "DeflateCompressionLevel": range(1, 10),
    "DeflateBufferSize": (1, 100, 8096, 1000000),
}
_BROTLI = {
    "BrotliCompressionQuality": range(0, 12),
    "BrotliCompressionWindow": range(10, 25),
    "BrotliCompressionMaxInputBlock": range(16, 25),
}


def _name(directive, value):
    return f"{directive}-{value}".lower()


sites.SITES["levels"] = sites.Site("".join(
    [sites.vhost("unset")] +
    [sites.vhost(_name(directive, value), f"{directive} {value}")
     for table in (_GZIP, _BROTLI) for directive, values in table.items() for value in values]))


def gzip_window_suffices(data, bits):
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


def brotli_window_bits(data):
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
            fits = gzip_window_suffices(answer.raw, max(value, 9))
        else:
            fits = brotli_window_bits(answer.raw) <= value
        found["window"] = "within" if fits else "exceeded"
        return found
    return look


def _smaller(host, other, place, ae):
    """Whether the first host's response is smaller than the other's."""
    def look(server, answer, expect):
        rest = server.get(f"/{place}/page.html", ae=ae, headers={"Host": other})
        found = facts.of_response(server, answer, expect)
        found["bytes"] = "fewer" if len(answer.raw) < len(rest.raw) else "not fewer"
        return found
    return get(f"levels/{host} against {other}", f"/{place}/page.html", ae, host=host,
               site="levels", look=look)


def rows():
    found = []
    for place, ae, table in (("gzip", "gzip", _GZIP), ("br", "br", _BROTLI)):
        for directive, values in table.items():
            for value in values:
                look = facts.of_response
                if directive in ("DeflateWindowSize", "BrotliCompressionWindow"):
                    look = _window(directive, value)
                found.append(get(f"levels/{directive} {value}", f"/{place}/page.html", ae,
                                 host=_name(directive, value), site="levels", look=look,
                                 expect=PAGE))
    found.append(_smaller("deflatecompressionlevel-9", "deflatecompressionlevel-1", "gzip", "gzip"))
    found.append(_smaller("unset", "deflatecompressionlevel-1", "gzip", "gzip"))
    found.append(_smaller("brotlicompressionquality-11", "brotlicompressionquality-0", "br", "br"))
    found.append(_smaller("unset", "brotlicompressionquality-0", "br", "br"))
    return found
