"""Dictionaries of a site's pages, made as elastic-dictionary makes them."""

import dataclasses

from dictionarykit import candidates, judge

PAGES = 10  # of a visit
MANY = 1000  # pages of a reader who comes again and again while the dictionary lasts
KB = 1024


@dataclasses.dataclass(frozen=True)
class Made:
    """A dictionary: how it was made, where it is, and what it takes to send."""

    name: str
    path: str
    content: bytes
    transfer: int


def tried(pages, largest_kb):
    """(candidates judged on pages that they were not made of, those pages without any)."""
    parts = candidates.split(pages)
    held = [page.body for page in parts.held]
    return ([judge.judge(one, held) for one in candidates.make(parts, largest_kb * KB)],
            judge.baseline(held, MANY))


def make(pages, path, largest_kb):
    """(the best for MANY pages, the best for a visit); `path` has a place for its number."""
    judged, without = tried(pages, largest_kb)
    many = judge.best(judged, without)
    ten = max(judged, key=lambda one: judge.saved(one, without, PAGES))
    return tuple(Made(one.name, path.format(number), one.content, one.transfer)
                 for number, one in enumerate((many or ten, ten)))


def of_file(path, content):
    """A file that is a dictionary for another one, and which visitors have in any case."""
    return Made("the file itself", path, content, 0)
