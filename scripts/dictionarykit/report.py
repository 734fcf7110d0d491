"""The tables."""

import urllib.parse

from dictionarykit import judge

LINES_MOST = 40  # pages that a table lists


def table(rows):
    """Lines of text: the first column to the left, the others to the right."""
    texts = [[cell if isinstance(cell, str) else f"{cell:,.0f}" for cell in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(*texts)]
    return "\n".join("  ".join(
        [cells[0].ljust(widths[0])]
        + [cell.rjust(width) for cell, width in zip(cells[1:], widths[1:])]).rstrip()
        for cells in texts)


def ratio(part, whole):
    return f"{part / whole:.3f}"


def path_of(url):
    parts = urllib.parse.urlsplit(url)
    text = (parts.path or "/") + ("?" + parts.query if parts.query else "")
    return text if len(text) <= 60 else text[:28] + "..." + text[-29:]


def refusals(refused):
    return "\n".join(f"refused: {url}: {reason}" for url, reason in refused.items())


def candidates(judged, without):
    """What each dictionary takes and saves."""
    rows = [["dictionary", "bytes", "to send", "a page", "of br 5",
             f"saved by page {without.visit}", "pays from page"]]
    for one in judged:
        rows.append([one.name, len(one.content), one.transfer, one.page,
                     ratio(one.page, without.page), judge.saved(one, without, without.visit),
                     str(judge.pays_from(one, without) or "never")])
    return table(rows)


def pages(held, one, without):
    """What the best one makes of each page held back."""
    rows = [["page held back", "bytes", "br 5", *one.sizes, "of br 5"]]
    columns = list(zip(held, without.sizes, *one.sizes.values()))
    for page, plain, *with_it in columns[:LINES_MOST]:
        rows.append([path_of(page.url), len(page.body), plain, *with_it,
                     ratio(with_it[0], plain)])
    if len(columns) > LINES_MOST:
        rows.append([f"({len(columns) - LINES_MOST} more)"] + [""] * (len(rows[0]) - 1))
    sums = [sum(sizes) for sizes in one.sizes.values()]
    rows.append(["all", sum(len(page.body) for page in held), sum(without.sizes), *sums,
                 ratio(sums[0], sum(without.sizes))])
    return table(rows)


def verdict(one, without, cpu):
    saved = judge.saved(one, without, without.visit)
    whole = without.visit * without.page
    return (f"{one.name}: a visitor's page {without.visit} has saved {saved:,.0f} bytes in sum, "
            f"{100 * saved / whole:.0f} % of the visit's {whole:,.0f},\nthe dictionary's own "
            f"{one.transfer:,} counted; from page {judge.pays_from(one, without)} on it saves.\n"
            f"Encoding a page with it takes {cpu:.2f} of the CPU time of gzip 6 (zlib).")


def releases(names, bodies, found, plain, cpu):
    """What a file makes of others: {coding: sizes} and shares of CPU time, beside {level: sizes}
    of brotli."""
    rows = [["file", "bytes", *(f"br {level}" for level in plain), *found,
             *(f"of br {level}" for level in plain), "CPU of gzip 6"]]
    first = next(iter(found.values()))
    for at, name in enumerate(names):
        rows.append([name, len(bodies[at]), *(sizes[at] for sizes in plain.values()),
                     *(sizes[at] for sizes in found.values()),
                     *(ratio(first[at], sizes[at]) for sizes in plain.values()),
                     f"{cpu[at]:.2f}"])
    return table(rows)
