"""A documentation site: Apache's manual in English, or the installed pages of libaprutil1-dev; or
the user's pages."""

import typing

from benchkit import corpus, packages, tools

PACKAGE, PART = "apache2-doc", "/manual/en/"
LEAST = 2048  # bytes; what is shorter leads to another page


class Page(typing.NamedTuple):
    """As elastic-dictionary has it: `url` is the path."""

    url: str
    body: bytes


def found(run):
    """[(path on the site, file)] in the order of paths, and where they are from."""
    if run.pages is not None:
        files = [path for path in corpus.files_of(run.pages) if path.suffix in (".html", ".htm")]
        return [(f"/manual/{path.relative_to(run.pages)}", path) for path in files], "your pages"
    brought, missing = packages.get([PACKAGE], run.say, run.download)
    if missing:
        files = sorted(corpus.DOCUMENTS.glob("*.html"))
        return [(f"/manual/{path.name}", path) for path in files], corpus.origin()
    return ([("/manual/" + name.partition(PART)[2], path)
             for name, path in brought[0].of_kind(".html") if PART in name],
            packages.names(brought) + ", in English")


def pages(run, most=0):
    """(the site's pages, evenly spaced where `most` are wanted; where they are from)."""
    named, origin = found(run)
    read = [Page(name, path.read_bytes()) for name, path in named if path.stat().st_size >= LEAST]
    if not read:
        raise tools.BenchError(f"there is no documentation: install {PACKAGE} (Debian)")
    return corpus.spread(read, most or len(read)), origin
