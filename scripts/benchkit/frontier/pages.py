"""Pages of several sizes that take CPU to make, and how much one takes.

Those of php-fpm have their variables escaped, as a template engine does; those made in process are
put together of files by server-side includes, which httpd and nginx both have.
"""

import contextlib
import dataclasses
import random

from benchkit import arrivals, clients, codecs, corpus, fpm, sample, stats, tools, web

KB = corpus.KB
# KB, and the share of the visits: most pages are small, and most bytes are of large ones.
SIZES = ((12, 0.40), (40, 0.35), (120, 0.25))
WORK = 2  # see fpm.SCRIPT: a page of 120 KB takes about 4 ms, one of 12 KB one
PIECE = 4 * KB  # of what a page in process includes, about
PIECES = 40
SEEDS = 1000  # of different pages of each size
KINDS = ("php", "in process")
CLOSED = 24  # visits that a first estimate takes
TRIES = 4
WORKING = 0.5  # of the CPU: a load under which a server works, and waits in between


@dataclasses.dataclass(frozen=True)
class Site:
    """A document root with both kinds of pages; what an httpd needs for it."""

    folder: object
    snippet: str
    helpers: tuple  # pids whose CPU is the server's


def make(run):
    folder = run.folder("pages-site")
    snippet, pid = fpm.start(run, folder)
    pieces = web.fragments(run)
    joined = b"".join(pieces)
    for number in range(PIECES):
        body = joined[number * PIECE:(number + 1) * PIECE] or pieces[number % len(pieces)]
        (folder / f"piece{number}.html").write_bytes(corpus.repeated(body, PIECE))
    for size, _ in SIZES:
        included = "\n".join(f'<!--#include virtual="/piece{number % PIECES}.html" -->'
                             for number in range(size * KB // PIECE))
        (folder / f"page{size}.shtml").write_text(
            f"<!DOCTYPE html><html><head><title>{size}</title></head><body>\n{included}\n"
            "</body></html>\n", encoding="ascii")
    run.add_corpus("pieces of the pages", pieces, corpus.document_origin(run))
    return Site(folder, snippet, (pid,))


def path_of(kind, size, seed):
    if kind == "php":
        return f"/page.php?bytes={size * KB}&work={WORK}&seed={seed}"
    return f"/page{size}.shtml"


def size_of(path):
    """The size, in KB, that a path asks for."""
    return next(size for size, _ in SIZES if f"bytes={size * KB}&" in path
                or f"/page{size}.shtml" == path)


def visits(kind, rate, seconds, seed):
    """Visits at random, `rate` a second, of pages drawn by their shares."""
    source = random.Random(seed)
    sizes, shares = zip(*SIZES)
    return [clients.Visit(at, path_of(kind, source.choices(sizes, shares)[0],
                                              source.randrange(SEEDS)))
            for at in arrivals.steady(rate, seconds, seed)]


def check(leg, server):
    """One page of each kind and size comes in a coding that it should have, and decodes to what the
    server sends without one.
    """
    for kind in KINDS:
        for size, _ in SIZES:
            path = path_of(kind, size, 1)
            status, headers, body = server.get(path, {"Accept-Encoding": leg.accept})
            coding = headers.get("Content-Encoding", "")
            uncoded, _, plain = server.get(path)
            # Its last piece may go beyond what was asked for.
            if (status, uncoded) != (200, 200) or coding not in leg.codings or not (
                    0.9 * size * KB < len(plain) < 1.1 * size * KB + web.PIECE_BYTES):
                raise codecs.WrongBody(f"{leg.name}: {path} gave {status} with Content-Encoding "
                                       f"'{coding}', {uncoded} and {len(plain)} bytes without one")
            if codecs.decode(body, coding) != plain:
                raise codecs.WrongBody(f"{leg.name}: {path} does not decode to what was served")


def seconds_of_a_page(server, kind, accept, seconds, seed):
    """CPU seconds that a page takes of a server that works half of the time."""
    estimate = closed(server, kind, accept)
    for _ in range(TRIES):
        sent = visits(kind, WORKING / estimate, seconds, seed)
        seen = clients.replay(server, sent, {"Accept-Encoding": accept}, clients.PATIENCE)
        answered = sum(not one.lost for one in seen.results)
        used = seen.cpu[-1][1] - seen.cpu[0][1]
        if answered and used > 0:
            return used / answered
        # Where others keep the machine busy, so short a time may see none of it.
        seconds *= 2
    raise tools.BenchError(f"{server.url('/')} served nothing under a small load")


def closed(server, kind, accept):
    """About the same, of requests that follow one another."""
    before = sample.cpu_seconds(server.pids)
    with contextlib.closing(server.connect()) as connection:
        for one in visits(kind, 1, 4 * CLOSED, 1)[:CLOSED]:
            server.ask(connection, one.path, {"Accept-Encoding": accept})
    return max(1e-4, stats.ratio(sample.cpu_seconds(server.pids) - before, CLOSED))
