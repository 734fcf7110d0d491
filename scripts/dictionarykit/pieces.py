"""What two visits to one page have in common: nothing else of it may be in a dictionary. And the
pieces of a dictionary, each of which can be looked for on pages: so what a site has deleted is
found in it."""

import bisect
import collections
import re

# Of a page of which more differs, the rest is no typical text either.
COMMON_LEAST = 0.5  # of its bytes
CUT = b"\x01"  # as training leaves pieces without


def tokens(body):
    """An element's tag with the text behind it is one."""
    return re.findall(rb"<?[^<]+|<", body)


def extend(first, second, at, other, step):
    """How many tokens are equal from these places on, in one direction."""
    count = 0
    while 0 <= at < len(first) and 0 <= other < len(second) and first[at] == second[other]:
        at, other, count = at + step, other + step, count + 1
    return count


def anchors(first, second):
    """Pairs of places of tokens that both have once, the most that are in order in both."""
    once = [{token for token, count in collections.Counter(part).items() if count == 1}
            for part in (first, second)]
    places = {token: at for at, token in enumerate(second)}
    pairs = [(at, places[token]) for at, token in enumerate(first)
             if token in once[0] and token in once[1]]
    ends, chains, before = [], [], [None] * len(pairs)  # the longest rising row, by patience
    for number, (_, place) in enumerate(pairs):
        pile = bisect.bisect_left(ends, place)
        ends[pile:pile + 1], chains[pile:pile + 1] = [place], [number]
        before[number] = chains[pile - 1] if pile else None
    found, number = [], chains[-1] if chains else None
    while number is not None:
        found.append(pairs[number])
        number = before[number]
    return found[::-1]


def common(first, second):
    """The tokens of `first` that `second` has, too, in the same order: what is equal at both ends,
    and around tokens that either has once. Of n tokens in the order of n log n."""
    if first == second:
        return first
    one, other = tokens(first), tokens(second)
    begin = extend(one, other, 0, 0, 1)
    rest, others = one[begin:], other[begin:]
    end = extend(rest, others, len(rest) - 1, len(others) - 1, -1) if rest and others else 0
    middle, others = rest[:len(rest) - end], others[:len(others) - end]
    kept, at, place = [], 0, 0  # behind what is taken of either
    for start, found in anchors(middle, others):
        if start < at or found < place:
            continue
        back = min(extend(middle, others, start - 1, found - 1, -1), start - at, found - place)
        ahead = extend(middle, others, start, found, 1)
        kept += middle[start - back:start + ahead]
        at, place = start + ahead, found + ahead
    return b"".join(one[:begin] + kept + rest[len(rest) - end:])


class Text:
    """What is on pages, by their tokens: whole ones, or in the midst of one."""

    def __init__(self, pages):
        self.known = {token for page in pages for token in tokens(page.body)}
        self.whole = b"\0".join(self.known)

    def has(self, piece):
        return piece in self.known or piece in self.whole

    def cut(self, content):
        """With CUT between what stands together on no page."""
        made = []
        for token in tokens(content):
            while not self.has(token):
                size, most = 1, len(token)  # of a beginning that is there, and that is not
                while most - size > 1:
                    middle = (size + most) // 2
                    size, most = (middle, most) if self.has(token[:middle]) else (size, middle)
                made.append(token[:size] + CUT)
                token = token[size:]
            made.append(token)
        return b"".join(made)

    def lacks(self, content):
        """Whether a dictionary, cut before, has a piece that is on none of the pages."""
        return not all(self.has(token) for part in content.split(CUT) for token in tokens(part))
