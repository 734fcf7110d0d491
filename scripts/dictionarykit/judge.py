"""What a visit takes with a dictionary, and which one is best."""

import time
import typing
import zlib

from codeckit import dictionaries
from precompresskit import encoders


ROUNDS = 5  # of a measurement of time


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
    """The pages held back without a dictionary, and how many pages a visitor sees."""

    sizes: list  # bytes of each page with brotli 5
    visit: int

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


def judge(candidate, bodies):
    return Judged(candidate.name, candidate.content, transfer_of(candidate.content),
                  sizes_with(candidate.content, bodies))


def baseline(bodies, visit):
    return Baseline([dictionaries.brotli_size(body) for body in bodies], visit)


def saved(judged, without, pages):
    """Bytes that a visitor's first `pages` pages save in sum; less than 0: they take more.

    The first page names the dictionary, and is as it was.
    """
    return (pages - 1) * (without.page - judged.page) - judged.transfer


def pays_from(judged, without):
    """The page of a visit from which on it has saved bytes; None: it never does."""
    each = without.page - judged.page
    return None if each <= 0 else int(judged.transfer / each) + 2


def best(judged, without):
    """The one with which a visit takes the fewest bytes; None: without any it takes no more."""
    found = max(judged, key=lambda one: saved(one, without, without.visit), default=None)
    return found if found and saved(found, without, without.visit) > 0 else None


def is_worth_renewing(new, previous, visit):
    """Whether visitors who have the previous one save more than the new one's transfer."""
    return new.content != previous.content and visit * (previous.page - new.page) > new.transfer
