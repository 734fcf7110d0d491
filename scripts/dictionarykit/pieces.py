"""The pieces of a dictionary, each of which can be looked for on pages: so what a site has deleted
is found in it."""

import bisect
import os

from dictionarykit import common

CUT = b"\x01"  # between what stands together on no page, as training leaves it
PREFIX_LEAST = 8  # bytes; training takes nothing shorter


class Text:
    """What is on pages, by their tokens: whole ones, and what these begin or end with, are found
    in a time that hardly grows with their number."""

    def __init__(self, pages):
        self.known = {token for page in pages for token in common.tokens(page.body)}
        self.forward = sorted(self.known)
        self.backward = sorted(token[::-1] for token in self.known)
        self.whole = b"\0".join(self.forward)

    @staticmethod
    def length(ordered, piece):
        """Of the longest beginning that a token has."""
        at = bisect.bisect_left(ordered, piece)
        return max((len(os.path.commonprefix([piece, token]))
                    for token in ordered[max(at - 1, 0):at + 1]), default=0)

    def has(self, piece):
        return (piece in self.known or self.length(self.forward, piece) == len(piece)
                or self.length(self.backward, piece[::-1]) == len(piece) or piece in self.whole)

    def longest(self, piece):
        """As length(), of what may also be in the midst of a token; 1 at least."""
        size = self.length(self.forward, piece)
        if size >= PREFIX_LEAST:
            return size
        size, most = max(size, 1), len(piece)  # that are there, and that are not
        while most - size > 1:
            middle = (size + most) // 2
            size, most = (middle, most) if piece[:middle] in self.whole else (size, middle)
        return size

    def cut(self, content):
        made = []
        for token in common.tokens(content):
            while not self.has(token):
                size = self.longest(token)
                made.append(token[:size] + CUT)
                token = token[size:]
            made.append(token)
        return b"".join(made)

    def lacks(self, content):
        """Whether a dictionary, cut before, has a piece that is on none of the pages."""
        return not all(self.has(token) for part in content.split(CUT)
                       for token in common.tokens(part))
