"""The tables, and what of the network may be shown."""

import re
import urllib.parse

from dictionarykit import judge

LINES_MOST = 40  # pages that a table lists


def plain(text):
    """A line for a terminal, without what would control it: such characters are escaped."""
    return "".join(one if one.isprintable() else one.encode("unicode_escape").decode()
                   for one in text)


class Screen:
    """A stream to a terminal: whatever is printed, only line ends and tabs control it."""

    def __init__(self, stream):
        self.stream = stream

    def write(self, text):
        return self.stream.write(re.sub(r"[^\n\t]+", lambda found: plain(found[0]), text))

    def __getattr__(self, name):
        return getattr(self.stream, name)


def table(rows):
    """Lines of text: the first column to the left, the others to the right."""
    texts = [[cell if isinstance(cell, str) else f"{cell:,.0f}" for cell in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(*texts)]
    return "\n".join("  ".join(
        [cells[0].ljust(widths[0])]
        + [cell.rjust(width) for cell, width in zip(cells[1:], widths[1:])]).rstrip()
        for cells in texts)


def path_of(url):
    parts = urllib.parse.urlsplit(url)
    text = plain((parts.path or "/") + ("?" + parts.query if parts.query else ""))
    return text if len(text) <= 60 else text[:28] + "..." + text[-29:]


def refusals(refused):
    """Of pairs (URL, reason)."""
    lines = [plain(f"not used: {url}: {reason}") for url, reason in refused]
    more = len(lines) - LINES_MOST
    return "\n".join(lines[:LINES_MOST] + ([f"... and {more} more"] if more > 0 else []))


def candidates(judged, without, old=None):
    """What each dictionary takes and saves, unless another one saves as much with fewer bytes."""
    rows = [["dictionary", "bytes", "to send", "a page", "of br 5", "pays from page"]]
    ordered = sorted(judged, key=lambda one: (one.transfer, one.page))
    shown = [one for at, one in enumerate(ordered)
             if all(one.page < other.page for other in ordered[:at])]
    for one in shown + ([old] if old else []):
        rows.append([one.name, len(one.content), one.transfer, one.page,
                     f"{one.page / without.page:.3f}",
                     str(judge.pays_from(without.page, one.page, one.transfer) or "never")])
    return table(rows)


def pages(taken):
    """Those of which a dictionary is made, and how much of each is left out."""
    rows = [["page", "bytes", "left out"]]
    for page in taken:
        rows.append([path_of(page.url), len(page.whole), len(page.whole) - len(page.body)])
    return table(rows)


def change(share):
    """Of a part that is saved."""
    return f"{abs(100 * share):.1f} % {'less' if share >= 0 else 'more'}"


def verdict(figures, pages):
    """What a reader of so many pages gets; figures as state.Figures."""
    each = figures.page, figures.page_with, figures.transfer
    whole, saved = judge.reader(*each, pages), judge.gain(*each, pages)
    since = judge.pays_from(*each)
    return (f"A reader of {pages} pages gets {whole:,.0f} bytes with the dictionary, its own "
            f"{figures.transfer:,} counted,\nand {pages * figures.page:,.0f} without (brotli 5): "
            f"{change(saved)}. Each page after the first takes\n"
            f"{change(1 - figures.page_with / figures.page)}. "
            + (f"From page {since} on the dictionary has paid for itself." if since
               else "The dictionary never pays for itself."))
