"""Pages -> those held back, and the dictionaries that are tried on them."""

import hashlib
import math
import typing

from codeckit import dictionaries

PAGES_LEAST = 8  # so that two are held back, and two lead the choice of others
KB = 1024
TRAINED_SIZES = tuple(part * KB << bits for bits in range(1, 12) for part in (2, 3))  # 4 KB, 6 ...
# A dictionary that is trained of less than this times its size is mostly a copy of its pages.
TRAINING_LEAST = 3
SEARCH_LEVEL = 3  # takes half as long, and finds the same pages


class Candidate(typing.NamedTuple):
    name: str
    content: bytes
    urls: tuple = ()  # of the pages that it is made of


class Parts(typing.NamedTuple):
    """Pages, each of them in one part."""

    held: list  # for the judgement: no dictionary has seen them
    probes: list  # tell which of the choices are typical
    choices: list


def split(pages):
    """By the URL's hash, so that neighbours come apart, and a page stays where it was next time."""
    ordered = sorted(pages, key=lambda page: hashlib.sha256(page.url.encode()).digest())
    return Parts(ordered[0::4], ordered[1::4],
                 [page for at, page in enumerate(ordered) if at % 4 > 1])


def sum_with(content, bodies):
    with dictionaries.Dcz(content, SEARCH_LEVEL) as dictionary:
        return sum(map(dictionary.size, bodies))


def join(choices, probes, nbytes_most):
    """Dictionaries of one page, of two, four and so on, each with the pages of the one before.

    The next page is the one that makes most of the difference for the probes. It goes in front:
    what is nearer to the end is found with fewer bytes, and the most typical page is the first.
    What a page saves is taken to become less as others join, so that most need not be tried again.
    """
    content, urls, left = b"", (), sum(len(page.body) for page in probes)
    probes = [page.body for page in probes]
    hopes = {page: math.inf for page in choices if len(page.body) <= nbytes_most}
    while hopes:
        page = max(hopes, key=hopes.get)
        if len(page.body) + len(content) > nbytes_most:
            del hopes[page]
            continue
        size = sum_with(page.body + content, probes)
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
    """Trained ones of several sizes."""
    bodies, urls = [page.body for page in pages], tuple(page.url for page in pages)
    total = sum(map(len, bodies))
    for size in TRAINED_SIZES:
        if size > nbytes_most or size * TRAINING_LEAST > total:
            break
        content = dictionaries.train(bodies, size)
        if content:
            yield Candidate(f"trained, {size // KB} KB", content, urls)


def make(parts, nbytes_most):
    """All of them, and trained ones before the most typical page: it has the text that pages have
    in common in its order, they what only some pages have."""
    joined = list(join(parts.choices, parts.probes, nbytes_most))
    trained = list(train(parts.choices + parts.probes, nbytes_most))
    yield from joined
    yield from trained
    for one in trained if joined else ():
        content = one.content + joined[0].content
        if len(content) <= nbytes_most:
            yield Candidate(f"{one.name}, 1 page", content, one.urls)
