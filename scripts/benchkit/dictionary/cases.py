"""What is asked for: visits of pages, and which dictionary their visitor has."""

import dataclasses
import hashlib

from benchkit import tools
from benchkit.dictionary import made, releases
from dictionarykit import candidates

# The dictionaries of a step: of a site, or the release before this one.
LARGE, SMALL, LAST = "the best for many pages", "the best for a visit", "the last version"
MANUAL, WIKI = "documentation site", "dokuwiki"


@dataclasses.dataclass(frozen=True)
class Step:
    """One page of a visit; `number` is its place in it, and 1 has no dictionary."""

    number: int
    path: str
    body: bytes
    dictionaries: dict  # LARGE, SMALL or LAST -> Made

    def dictionary(self, keys):
        """What a visitor has who takes one of these; None: nothing."""
        return next((self.dictionaries[key] for key in keys if key in self.dictionaries), None)


@dataclasses.dataclass(frozen=True)
class Case:
    name: str
    visits: list  # of lists of Steps
    dest: str = "document"

    @property
    def steps(self):
        return [step for visit in self.visits for step in visit]


def apart(items, count):
    """(so many evenly spaced ones, the others)."""
    places = {place * len(items) // count for place in range(count)}
    return ([item for place, item in enumerate(items) if place in places],
            [item for place, item in enumerate(items) if place not in places])


def visits_of(pages, dictionaries):
    """Visits of ten pages each, in no order that the site has; the first page of each has no
    dictionary."""
    mixed = sorted(pages, key=lambda page: hashlib.sha256(page.url.encode()).digest())
    return [[Step(number, page.url, page.body, dictionaries if number > 1 else {})
             for number, page in enumerate(mixed[first:first + made.PAGES], 1)]
            for first in range(0, len(mixed) - made.PAGES + 1, made.PAGES)]


def put(site, path, body):
    file = site / path.lstrip("/")
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(body)


def of_site(run, site, name, pages, prefix):
    """The case of a site, of whose pages some are visited, and the others make dictionaries."""
    visited, others = apart(pages, run.scale.visits * made.PAGES)
    if len(others) < candidates.PAGES_LEAST:
        raise tools.BenchError(f"{name}: {len(pages)} pages are too few, "
                               f"{len(visited) + candidates.PAGES_LEAST} are needed")
    large, small = made.make(others, f"/dictionaries/{prefix}-{{}}.dict", run.scale.largest_kb)
    for one in (large, small):
        put(site, one.path, one.content)
    for page in visited:
        put(site, page.url, page.body)
    return Case(name, visits_of(visited, {LARGE: large, SMALL: small}))


def of_release(site, release, old, new):
    path = f"/assets/{release.package}.{{}}.js"
    put(site, path.format(release.old), old)
    put(site, path.format(release.new), new)
    return Case(release.title, [[Step(2, path.format(release.new), new, {
        LAST: made.of_file(path.format(release.old), old)})]], "script")


def make(run, site, pages, wiki_pages):
    """([Case], why releases are missing); there may be no pages of a wiki."""
    found = [of_site(run, site, MANUAL, pages, "manual")]
    if wiki_pages:
        found.append(of_site(run, site, WIKI, wiki_pages, "wiki"))
    files, notes = releases.get(run)
    for release, old, new in files:
        run.add_corpus(release.title, [old, new], "npm")
        found.append(of_release(site, release, old, new))
    return found, notes
