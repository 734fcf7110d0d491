"""What a visit takes with a dictionary, and which one is best."""

import time
import typing
import zlib

from codeckit import dictionaries
from precompresskit import encoders


ROUNDS = 5  # of a measurement of time


# What a response with brotli has in its header beside what it has without: Content-Encoding. One
# with a dictionary has more in Vary.
HEAD_CODED = len("Content-Encoding: br\r\n")
HEAD_DIFFERENCE = len("Content-Encoding: dcz\r\n, Available-Dictionary, Sec-Fetch-Site")

VISIT = 10  # pages, of which the first comes without the dictionary
GAIN_LEAST = 0.10  # of what brotli 5 sends
RENEWAL_LEAST = 0.03  # of what the previous dictionary sends


class Judged(typing.NamedTuple):
    """A dictionary, and what it makes of the pages held back."""

    name: str
    content: bytes
    transfer: int  # bytes in which it goes out, as its precompressed file
    sizes: dict  # {coding: bytes of each page}; the first one is what counts

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


def transfer_of(content):
    return dictionaries.brotli_size(content, 11, encoders.brotli_window(len(content)))


def gzip_raw(body):
    """What mod_deflate does at its level 6, without the frame of gzip."""
    encoder = zlib.compressobj(6, zlib.DEFLATED, -15, 9)
    return encoder.compress(body) + encoder.flush()


def cpu_of(encode, body):
    begin = time.process_time_ns()
    encode(body)
    return time.process_time_ns() - begin


def cpu_ratio(content, bodies):
    """CPU time with the dictionary, of that of gzip 6 with zlib; measured by turns. Of the codecs
    alone, once the dictionary is prepared."""
    with_it = without = 0
    with dictionaries.available()[0](content) as dictionary:
        for body in bodies * ROUNDS:
            without += cpu_of(gzip_raw, body)
            with_it += cpu_of(dictionary.frame, body)
    return with_it / max(without, 1)


def judge(candidate, pages):
    """With the heads of responses."""
    sizes = sizes_with(candidate.content, [page.whole for page in pages])
    heads = [page.head + HEAD_DIFFERENCE for page in pages]
    return Judged(candidate.name, candidate.content, transfer_of(candidate.content),
                  {coding: [head + size for head, size in zip(heads, found)]
                   for coding, found in sizes.items()})


def baseline(pages):
    return Baseline([page.head + HEAD_CODED + dictionaries.brotli_size(page.whole)
                     for page in pages])


def visit_of(without, page):
    """Bytes of a visit, of which the first page names the dictionary, and is as it was."""
    return without + (VISIT - 1) * page


def saved(judged, without, pages):
    """Bytes that so many pages with it save in sum, less its own; less than 0: they take more."""
    return pages * (without.page - judged.page) - judged.transfer


def pays_from(judged, without):
    """The page of a visit from which on it has saved bytes; None: it never does."""
    each = without.page - judged.page
    return None if each <= 0 else int(judged.transfer / each) + 2


def best(judged, without, pages):
    """The one with which so many pages take the fewest bytes, its own counted; None: there is none.
    """
    return max(judged, key=lambda one: saved(one, without, pages), default=None)
