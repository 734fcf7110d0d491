"""The bytes that a reader gets, their tables, and the escaping of text from the network."""

import re

from dictionarykit import exchange

LINES_MOST = 40  # pages that a table lists


def plain(text):
    """A line for a terminal, with control characters escaped."""
    return "".join(one if one.isprintable() else one.encode("unicode_escape").decode()
                   for one in text)


class Screen:
    """A stream to a terminal: in everything printed, only line ends and tabs control it."""

    def __init__(self, stream):
        self.stream = stream

    def write(self, text):
        return self.stream.write(re.sub(r"[^\n\t]+", lambda found: plain(found[0]), text))

    def __getattr__(self, name):
        return getattr(self.stream, name)


def reader(page, page_with, transfer, pages):
    """Bytes of `pages` pages for one reader, including the dictionary: the first page names it, and
    is unchanged."""
    return page + (pages - 1) * page_with + transfer


def gain(figures, pages):
    """The share of these bytes that the dictionary saves; below 0 if there are more."""
    return 1 - reader(figures.page, figures.page_with, figures.transfer, pages) / (
        pages * figures.page)


def pays_from(page, page_with, transfer):
    """The page from which on a reader has saved bytes; None: never."""
    each = page - page_with
    return None if each <= 0 else int(transfer / each) + 2


def table(rows):
    """Lines of text: the first column aligned left, the others right."""
    texts = [[cell if isinstance(cell, str) else f"{cell:,.0f}" for cell in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(*texts)]
    return "\n".join("  ".join(
        [cells[0].ljust(widths[0])]
        + [cell.rjust(width) for cell, width in zip(cells[1:], widths[1:])]).rstrip()
        for cells in texts)


def refusals(refused):
    """Lines for pairs (URL, reason)."""
    lines = [plain(f"not used: {url}: {reason}") for url, reason in refused]
    more = len(lines) - LINES_MOST
    return "\n".join(lines[:LINES_MOST] + ([f"... and {more} more"] if more > 0 else []))


def candidates(judged, without, old=None):
    """The bytes and savings of each dictionary, unless another one saves as much with fewer
    bytes."""
    rows = [["dictionary", "bytes", "to send", "a page", "of br 5", "pays from page"]]
    ordered = sorted(judged, key=lambda one: (one.transfer, one.page))
    shown = [one for at, one in enumerate(ordered)
             if all(one.page < other.page for other in ordered[:at])]
    for one in shown + ([old] if old else []):
        rows.append([one.name, len(one.content), one.transfer, one.page,
                     f"{one.page / without.page:.3f}",
                     str(pays_from(without.page, one.page, one.transfer) or "never")])
    return table(rows)


def pages(taken):
    """The pages of a dictionary, and how much of each is left out."""
    rows = [["page", "bytes", "left out"]]
    for page in taken:
        path = plain(exchange.target_of(page.url))
        rows.append([path if len(path) <= 60 else path[:28] + "..." + path[-29:],
                     len(page.whole), len(page.whole) - len(page.body)])
    return table(rows)


def change(share):
    """For a share that is saved."""
    return f"{abs(100 * share):.1f} % {'less' if share >= 0 else 'more'}"


def verdict(figures, count):
    """The result for a reader of `count` pages; figures as state.Figures."""
    each = figures.page, figures.page_with, figures.transfer
    since = pays_from(*each)
    return (f"A reader of {count} pages gets {reader(*each, count):,.0f} bytes with the "
            f"dictionary, its own {figures.transfer:,} counted,\nand {count * figures.page:,.0f} "
            f"without (brotli 5): {change(gain(figures, count))}. Each page after the first takes\n"
            f"{change(1 - figures.page_with / figures.page)}. "
            + (f"From page {since} on the dictionary has paid for itself." if since
               else "The dictionary never pays for itself."))
