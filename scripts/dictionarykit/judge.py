"""What a visit takes with a dictionary, and which one is best."""

import typing

from codeckit import dictionaries
from precompresskit import encoders

# What a response with brotli has in its header beside what it has without: Content-Encoding. One
# with a dictionary has more in Vary.
HEAD_CODED = len("Content-Encoding: br\r\n")
HEAD_DIFFERENCE = len("Content-Encoding: dcz\r\n, Available-Dictionary, Sec-Fetch-Site")

GAIN_LEAST = 0.05  # of what the pages of a reader take with brotli 5, all counted
RENEWAL_LEAST = 0.03  # of what the previous dictionary sends


class Judged(typing.NamedTuple):
    """A dictionary, and what it makes of the pages held back."""

    name: str
    content: bytes
    transfer: int  # bytes in which it goes out
    sizes: dict  # {coding: bytes of each page}; the first one is what counts
    urls: tuple = ()  # of the pages that it is made of

    @property
    def page(self):
        """Bytes of a page, on average."""
        return mean(next(iter(self.sizes.values())))


class Baseline(typing.NamedTuple):
    """The pages held back without a dictionary, with brotli 5."""

    sizes: list  # bytes of each page

    @property
    def page(self):
        return mean(self.sizes)


def mean(sizes):
    return sum(sizes) / len(sizes)


def sizes_with(content, bodies):
    """{coding: bytes of each body}."""
    found = {}
    for coding in dictionaries.available():
        with coding(content) as dictionary:
            found[coding.name] = [dictionary.size(body) for body in bodies]
    return found


def sent(content):
    """A dictionary as it goes out: httpd takes it from the file beside it."""
    return dictionaries.brotli(content, 11, encoders.brotli_window(len(content)))


def judge(candidate, pages):
    """With the heads of responses."""
    sizes = sizes_with(candidate.content, [page.whole for page in pages])
    heads = [page.head + HEAD_DIFFERENCE for page in pages]
    return Judged(candidate.name, candidate.content, len(sent(candidate.content)),
                  {coding: [head + size for head, size in zip(heads, found)]
                   for coding, found in sizes.items()}, candidate.urls)


def baseline(pages):
    return Baseline([page.head + HEAD_CODED + dictionaries.brotli_size(page.whole)
                     for page in pages])


def reader(page, page_with, transfer, pages):
    """Bytes of so many pages that one reader gets, the dictionary's own counted: the first one
    names it, and is as it was."""
    return page + (pages - 1) * page_with + transfer


def gain(page, page_with, transfer, pages):
    """The part of these bytes that the dictionary saves; less than 0: they become more."""
    return 1 - reader(page, page_with, transfer, pages) / (pages * page)


def pays_from(page, page_with, transfer):
    """The page of a reader from which on it has saved bytes; None: it never does."""
    each = page - page_with
    return None if each <= 0 else int(transfer / each) + 2


def best(judged, without, pages):
    """The one with which so many pages of a reader take the fewest bytes; None: there is none."""
    return min(judged, default=None,
               key=lambda one: reader(without.page, one.page, one.transfer, pages))
