"""The results as text: for terminals, and for docs/results/stock-and-ours.md."""

import re

from . import facts

# Said without their name: everybody knows what "200" or "gzip" is in a response.
_PLAIN = ("status", "coding", "body", "configtest")

# In docs/results/stock-and-ours.md, what follows this line is written by the script.
MARK = "<!-- From here on: scripts/compare --markdown docs/results/stock-and-ours.md -->\n"


def said(found):
    """A side's facts in a line."""
    words = []
    for name, value in found.items():
        if name in _PLAIN:
            words.append(value)
        elif value == facts.ABSENT:
            words.append(f"no {name}")
        else:
            words.append(f"{name} {value}")
    return ", ".join(words)


def plain(results, everything=False):
    """Lines for a terminal: the differences, or every row."""
    lines = []
    for result in results:
        if not (everything or result.differing or result.surprise):
            continue
        lines.append(f"{result.row.name}\n    {result.row.text}\n    stock: {said(result.stock)}")
        if result.differing:
            lines.append(f"    ours:  {said(result.ours)}")
            lines.append(f"    {result.why or 'NOT EXPECTED'}")
        if result.surprise:
            lines.append(f"    ! {result.surprise}")
    return lines


def summary(results):
    differing = sum(1 for result in results if result.differing)
    surprises = sum(1 for result in results if result.surprise)
    return (f"{len(results)} rows: {len(results) - differing} the same, {differing} differ, "
            f"{surprises} not as expected")


def markdown(results):
    """The tables of the page, a chapter each."""
    parts = [summary(results) + "."]
    for chapter in dict.fromkeys(result.row.chapter for result in results):
        parts.append(f"\n## {chapter}\n")
        parts.append("| Rows | For example | Stock | Ours | |\n|---|---|---|---|---|")
        parts += _lines([result for result in results if result.row.chapter == chapter])
    return "\n".join(parts)


def update(path, results):
    """Writes the tables into that file, behind its MARK."""
    with open(path, encoding="utf-8") as file:
        head, found, _ = file.read().partition(MARK)
    if not found:
        raise ValueError(f"{path} has no line {MARK.strip()}")
    with open(path, "w", encoding="utf-8") as file:
        file.write(head + MARK + "\n" + markdown(results) + "\n")


def _lines(results):
    groups = {}
    for result in results:
        part, rest = _split(result.row)
        key = part, said(result.stock), said(result.ours), result.why
        groups.setdefault(key, []).append((result, rest))
    for (part, stock, ours, why), found in groups.items():
        members = [result for result, _ in found]
        names = f"**{_cell(part)}** " + " · ".join(_cell(rest) for _, rest in found)
        start = f"| {names.strip()} | {_cell(members[0].row.text)} | {_cell(stock)} |"
        if stock == ours:
            yield f"{start} the same | same |"
        else:
            yield f"{start} {_cell(ours)} | {why or 'not expected'} |"


def _split(row):
    """A row's name without the chapter: its first word, and the rest."""
    part, mark, rest = re.match(r"(.*?)([=,: ]|$)(.*)", row.name.partition("/")[2]).groups()
    return part, ("=" if mark == "=" else "") + rest


def _cell(text):
    for sign in ("\\", "|", "*", "_", "<", "`"):
        text = text.replace(sign, "\\" + sign)
    return text.strip().replace("\t", "\\\\t")
