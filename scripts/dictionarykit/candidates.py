"""Pages -> those held back, and the dictionaries that are tried on them."""

import collections
import hashlib
import math
import typing

from codeckit import dictionaries
from dictionarykit.common import tokens

PAGES_LEAST = 8  # so that two are held back, and two lead the choice of others
KB = 1024
TRAINED_SIZES = tuple(part * KB << bits for bits in range(1, 12) for part in (2, 3))  # 4 KB, 6 ...
# A dictionary that is trained of less than this times its size is mostly a copy of its pages.
TRAINING_LEAST = 3
SHARES = (2, 4, 10)  # text that a half of the pages have, a quarter, a tenth
RUN_LEAST = 16  # bytes of text that is worth a place
SEARCH_LEVEL = 3  # takes half as long, and finds the same pages


class Candidate(typing.NamedTuple):
    name: str
    content: bytes


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
    content, left = b"", sum(map(len, probes))
    count = 0
    hopes = {body: math.inf for body in choices if len(body) <= nbytes_most}
    while hopes:
        body = max(hopes, key=hopes.get)
        if len(body) + len(content) > nbytes_most:
            del hopes[body]
            continue
        size = sum_with(body + content, probes)
        hopes[body] = left - size
        if hopes[body] < max(hopes.values()):
            continue
        if hopes.pop(body) <= 0:
            break
        content, left, count = body + content, size, count + 1
        if count & (count - 1) == 0:
            yield Candidate("1 page" if count == 1 else f"{count} pages", content)
    if count & (count - 1):
        yield Candidate(f"{count} pages", content)


def runs(body, wanted):
    """The tokens of `wanted` that stand together, each once: what is taken leaves `wanted`."""
    run = b""
    for token in tokens(body) + [b""]:
        if token in wanted:
            wanted.discard(token)
            run += token
        elif run:
            if len(run) >= RUN_LEAST:
                yield run
            run = b""


def share(bodies, nbytes_most):
    """Dictionaries of the text that pages have in common, without the rest. The most common text
    comes last."""
    counts = collections.Counter(token for body in bodies for token in set(tokens(body)))
    content = b""
    for part in SHARES:
        least = max(2, len(bodies) / part)
        wanted = {token for token, count in counts.items() if count >= least}
        wanted.difference_update(tokens(content))
        more = b"".join(run for body in bodies for run in runs(body, wanted))
        if more and len(content) + len(more) <= nbytes_most:
            content = more + content
            yield Candidate(f"text of 1/{part} of them", content)


def train(bodies, nbytes_most):
    """Trained ones of several sizes."""
    total = sum(map(len, bodies))
    for size in TRAINED_SIZES:
        if size > nbytes_most or size * TRAINING_LEAST > total:
            break
        content = dictionaries.train(bodies, size)
        if content:
            yield Candidate(f"trained, {size // KB} KB", content)


def make(parts, nbytes_most):
    """All of them, and trained ones before the most typical page: it has the text that pages have
    in common in its order, they what only some pages have."""
    choices, probes = ([page.body for page in part] for part in (parts.choices, parts.probes))
    joined = list(join(choices, probes, nbytes_most))
    trained = list(train(choices + probes, nbytes_most))
    yield from joined
    yield from share(choices + probes, nbytes_most)
    yield from trained
    for one in trained if joined else ():
        content = one.content + joined[0].content
        if len(content) <= nbytes_most:
            yield Candidate(f"{one.name}, 1 page", content)
