"""Makes dictionaries from pages, judges them by pages held back, and picks the best. Runs without
privileges."""

import collections
import hashlib
import math
import typing

from codeckit import dictionaries
from dictionarykit import exchange, report, sources, visit
from dictionarykit.exchange import Failed
from precompresskit import encoders

CUT = b"\x01"  # separates pieces that stand together on no page
KB = 1024
TRAINED_SIZES = tuple(part * KB << bits for bits in range(1, 12) for part in (2, 3))  # 4 KB, 6 ...
# A trained dictionary from less than this times its size is mostly a copy of its pages.
TRAINING_LEAST = 3
SEARCH_LEVEL = 3  # takes half as long, and finds the same pages

# A response with brotli has Content-Encoding in addition. One with a dictionary has more in Vary.
HEAD_CODED = len("Content-Encoding: br\r\n")
HEAD_DIFFERENCE = len("Content-Encoding: dcz\r\n, Available-Dictionary, Sec-Fetch-Site")


class Candidate(typing.NamedTuple):
    """A dictionary, and the sizes of the pages held back with it."""

    name: str
    content: bytes
    urls: tuple = ()  # of the pages from which it is made
    transfer: int = 0  # bytes when it is sent
    sizes: tuple = ()  # bytes of each page, by dcz

    @property
    def page(self):
        """Bytes of a page, on average."""
        return sum(self.sizes) / len(self.sizes)


Parts = collections.namedtuple("Parts", ("held",  # for the judgement: not in any dictionary
                                         "probes",  # find typical pages among the choices
                                         "choices"))


def split(pages):
    """Splits by the URLs' hashes, so that similar pages are separated, and a page stays in its part
    next time."""
    ordered = sorted(pages, key=lambda page: hashlib.sha256(page.url.encode()).digest())
    return Parts(ordered[0::4], ordered[1::4],
                 [page for at, page in enumerate(ordered) if at % 4 > 1])


def join(choices, probes, nbytes_most):
    """Dictionaries of one page, of two, four and so on, each with the pages of the previous one.

    The next page is the one that helps most with the probes. It goes in front: matches near the end
    take fewer bytes, and the most typical page is the first. A page is assumed to save less as
    others join, so that most need not be tried again.
    """
    content, urls, left = b"", (), sum(len(page.body) for page in probes)
    hopes = {page: math.inf for page in choices if len(page.body) <= nbytes_most}
    while hopes:
        page = max(hopes, key=hopes.get)
        if len(page.body) + len(content) > nbytes_most:
            del hopes[page]
            continue
        with dictionaries.Dcz(page.body + content, SEARCH_LEVEL) as dictionary:
            size = sum(dictionary.size(probe.body) for probe in probes)
        hopes[page] = left - size
        if hopes[page] < max(hopes.values()):
            continue
        if hopes.pop(page) <= 0:
            break
        content, left, urls = page.body + content, size, (*urls, page.url)
        if len(urls) & (len(urls) - 1) == 0:
            yield Candidate("1 page" if len(urls) == 1 else f"{len(urls)} pages", content, urls)
    if len(urls) & (len(urls) - 1):
        yield Candidate(f"{len(urls)} pages", content, urls)


def train(pages, nbytes_most):
    """Trained dictionaries of several sizes."""
    bodies, urls = [page.body for page in pages], tuple(page.url for page in pages)
    total = sum(map(len, bodies))
    for size in TRAINED_SIZES:
        if size > nbytes_most or size * TRAINING_LEAST > total:
            break
        content = dictionaries.train(bodies, size)
        if content:
            yield Candidate(f"trained, {size // KB} KB", content, urls)


def make(parts, nbytes_most):
    """All of them, and trained ones before the most typical page: that has the common text in its
    order, the trained ones have text of some pages only."""
    joined = list(join(parts.choices, parts.probes, nbytes_most))
    trained = list(train(parts.choices + parts.probes, nbytes_most))
    yield from joined
    yield from trained
    for one in trained if joined else ():
        content = one.content + joined[0].content
        if len(content) <= nbytes_most:
            yield Candidate(f"{one.name}, 1 page", content, one.urls)


def sent(content):
    """A dictionary in its transfer encoding, which httpd takes from the file beside it."""
    return dictionaries.brotli(content, 11, encoders.brotli_window(len(content)))


def judge(candidate, pages):
    """Includes the responses' headers."""
    content = candidate.content
    with dictionaries.Dcz(content) as dictionary:
        sizes = [page.head + HEAD_DIFFERENCE + dictionary.size(page.whole) for page in pages]
    return candidate._replace(transfer=len(sent(content)), sizes=sizes)


def baseline(pages):
    """Without a dictionary, with brotli 5."""
    return Candidate("none", b"", sizes=[
        page.head + HEAD_CODED + dictionaries.brotli_size(page.whole) for page in pages])


def best(judged, without, pages):
    """The candidate with the fewest bytes for a reader of this many pages; None: none is better."""
    return min(judged, default=None, key=lambda one: report.reader(
        without.page, one.page, one.transfer, pages))


class Text:
    """The text of pages, by tokens: whole ones, or inside of one."""

    def __init__(self, pages):
        self.known = {token for page in pages for token in visit.tokens(page.body)}
        self.whole = b"\0".join(self.known)

    def has(self, piece):
        return piece in self.known or piece in self.whole

    def cut(self, content):
        """Inserts CUT between parts that no page has together."""
        made = []
        for token in visit.tokens(content):
            while not self.has(token):
                size, most = 1, len(token)  # the longest present beginning, the shortest absent one
                while most - size > 1:
                    middle = (size + most) // 2
                    size, most = (middle, most) if self.has(token[:middle]) else (size, middle)
                made.append(token[:size] + CUT)
                token = token[size:]
            made.append(token)
        return b"".join(made)

    def lacks(self, content):
        """True if a dictionary, cut before, has a piece that is on none of the pages."""
        return not all(self.has(token) for part in content.split(CUT)
                       for token in visit.tokens(part))


def make_best(order, pages, previous=None):
    """The best dictionary, with the values of state.Figures, and the parts that stay with the
    pages; `previous` is the dictionary in force."""
    def figures_of(one):
        return [without.page, one.page, one.transfer, len(one.content)]

    parts, options = split(pages), order.options
    without = baseline(parts.held)
    judged = [judge(candidate, parts.held) for candidate in make(parts, options.largest << 10)]
    found = best(judged, without, options.spread)
    if not found:
        raise Failed("the pages have nothing in common")
    text = Text(pages)
    found = judge(Candidate(found.name, text.cut(found.content), found.urls), parts.held)
    old = previous and judge(Candidate("the one in force", previous), parts.held)
    visitor = visit.Visitor(exchange.origin(order.site), options.rate, options.time, order.reach)
    good, unruled = sources.find_versioned(visitor, pages)
    return {"content": found.content, "urls": found.urls, "held": [page.url for page in parts.held],
            "said": report.candidates(judged, without, old),
            "figures": figures_of(found), "versioned": good, "unruled": unruled,
            "previous": figures_of(old) if old else None,
            "is_gone": bool(previous) and text.lacks(previous)}
