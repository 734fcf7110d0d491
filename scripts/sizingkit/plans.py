"""The encoding of each page, and the totals."""

import typing

SMALL = 1200  # bytes of a body that fits one TCP segment with the header
BUSY = 0.8  # load of the busy CPU

ELASTIC = "mod_elastic, CPU idle"


class Plan(typing.NamedTuple):
    """The means for a request of one of the pages."""

    name: str
    nbytes: float
    cpu: float  # seconds of compression
    seconds: float  # until the page is there: compression, and transfer at the clients' rate


class Sizes(typing.NamedTuple):
    """A page: its media type and size, its present encoding, and its possible ones."""

    kind: str
    nbytes: int
    today: typing.Any  # a Result, or None: not compressed
    setups: list  # Results; empty: not compressed


def measure(pages, today, encoders, say):
    """Sizes of the pages; `today` is a now.Now or a sent.Today."""
    found = []
    for number, page in enumerate(pages, 1):
        setups = []
        if page.is_compressible() and len(page.body) > SMALL:
            setups = encoders.elastic(page.body)
        found.append(Sizes(page.kind, len(page.body), today.of(page, encoders), setups))
        if number % 50 == 0:
            say(f"{number} of {len(pages)} pages measured")
    return found


def choose(setups, rate, load, most=None):
    """
    Like the default goal: a byte costs at most its time on the wire, less if requests wait for the
    CPU. If `most` is given, only setups with at most that many bytes count.
    """
    price = 8 / rate * (1 - load) ** 2
    able = [one for one in setups if most is None or one.nbytes <= most] or setups
    return min(able, key=lambda one: one.seconds + price * one.nbytes)


def total(name, sizes, rate, pick):
    """`pick` returns the Result of a page, or None."""
    picked = [(size, pick(size)) for size in sizes]
    nbytes = sum(one.nbytes if one else size.nbytes for size, one in picked) / len(sizes)
    cpu = sum(one.seconds for _, one in picked if one) / len(sizes)
    return Plan(name, nbytes, cpu, cpu + nbytes * 8 / rate)


def make(sizes, rate, today):
    """Uncompressed, today, and three of mod_elastic; with the last, no page has more bytes than
    today."""
    def at(load):
        return lambda size: choose(size.setups, rate, load) if size.setups else None

    def bounded(size):
        most = size.today.nbytes if size.today else None
        return choose(size.setups, rate, BUSY, most) if size.setups else None

    return [total("not compressed", sizes, rate, lambda size: None),
            total(f"today: {today.name}", sizes, rate, lambda size: size.today),
            total(ELASTIC, sizes, rate, at(0)),
            total(f"mod_elastic, CPU {BUSY:.0%} busy", sizes, rate, at(BUSY)),
            total("mod_elastic, busy, never more bytes than today", sizes, rate, bounded)]
