"""The site's present responses, and the library and level that its encodings match."""

import typing

from codeckit import engines

from sizingkit import pages
from sizingkit.setups import Result

# The libraries of each coding, the usual one first, and the levels to try. The one with the nearest
# sizes is assumed.
LIBRARIES = {"gzip": (("zlib", range(1, 10)), ("libdeflate", range(1, 13)), ("ISA-L", range(1, 4))),
             "br": (("brotli", range(12)),), "zstd": (("zstd", range(1, 20)),)}

COMPARED = 3  # pages of a coding that all of these encode
LARGEST = 256 << 10  # bytes of such a page, because the highest levels take long
SAME = 0.01  # of the size: other framing, pieces and window sizes differ by less than levels


class Match(typing.NamedTuple):
    """The library and level that the encodings of a coding resemble."""

    library: str
    level: int
    difference: float  # from the sizes that were sent, as a share

    def text(self, coding):
        nearest = "" if self.difference <= SAME else "nearest to "
        return f"{coding}, {nearest}{self.library} {self.level}"


def chosen(encoded):
    """The largest pages that do not take too long: levels differ most there."""
    ordered = sorted(encoded, key=lambda page: (len(page.body) > LARGEST, -len(page.body)))
    return ordered[:COMPARED]


def match(coding, encoded):
    """The Match of pages in one coding; None if no library of it is installed."""
    compared = chosen(encoded)
    largest = max(len(page.body) for page in compared)
    total = sum(page.sent.nbytes for page in compared)
    found = []
    for library, levels in LIBRARIES.get(coding, ()):
        for level in levels if library in engines.installed() else ():
            encoder = engines.installed()[library].make(level, largest, False)
            differ = sum(abs(encoder.encode(page.body) - page.sent.nbytes) for page in compared)
            found.append(Match(library, level, differ / total))
    return min(found, key=lambda one: one.difference, default=None)


class Today:
    """The present state from the responses: each page in the site's coding, with its bytes."""

    def __init__(self, found):
        by_coding = {}
        for page in found:
            if page.sent.coding and page.body:
                by_coding.setdefault(page.sent.coding, []).append(page)
        self.matches = {coding: match(coding, encoded)
                        for coding, encoded in sorted(by_coding.items())}

    @property
    def name(self):
        return " and ".join(one.text(coding) if one else coding
                            for coding, one in self.matches.items()) or "no compression"

    @property
    def source(self):
        return (f"what the site sends to “Accept-Encoding: {pages.ACCEPTED}”. The CPU time of "
                "today is that of the library and level whose sizes are the nearest; where "
                "encodings are kept or made in advance, it is none in truth")

    def of(self, page, encoders):
        """The Result of a page, or None if it is uncompressed."""
        coding = page.sent.coding
        if not coding or not page.body:
            return None
        one = self.matches[coding]
        seconds = encoders.encode(one.library, one.level, False, page.body)[1] if one else 0.0
        return Result(coding, one.level if one else 0, page.sent.nbytes, seconds)
