"""The report: one HTML page that needs nothing else, made of the results' files.

Plots are inline SVG; there is no script. A phone shows it without scrolling sideways: wide tables
scroll within themselves.
"""

import html
import pathlib
import re

from benchkit import outcome, verdict
from benchkit.headline import likeness
from benchkit.tools import BenchError

STYLE = """
:root { color-scheme: light; }
body { font: 16px/1.5 system-ui, sans-serif; margin: 0 auto; max-width: 60rem; padding: 0 1rem 3rem;
       color: #222; overflow-wrap: anywhere; }
h1 { font-size: 1.6rem; } h2 { margin-top: 2.5rem; border-top: 1px solid #ddd; padding-top: 1rem; }
.wide { overflow-x: auto; margin: .8rem 0; }
table { border-collapse: collapse; font-size: .85rem; }
th, td { padding: .2rem .6rem; border-bottom: 1px solid #e4e4e4; text-align: left;
         overflow-wrap: normal; }
td.number, th.number { text-align: right; font-variant-numeric: tabular-nums; }
figure { margin: 1rem 0; overflow-x: auto; }
svg { width: 100%; min-width: 40rem; height: auto; display: block; }
 figcaption, .small { color: #555; font-size: .85rem; }
details > summary { cursor: pointer; }
.holds { background: #d9f0e0; } .fails { background: #fbdcd6; } .unknown { background: #eee; }
.mark { padding: 0 .4rem; border-radius: .3rem; white-space: nowrap; }
pre { white-space: pre-wrap; }
.overview { min-width: 50rem; } .overview td { vertical-align: top; }
.overview tr:has(+ .small) td:not([rowspan]) { border-bottom: none; }
.overview ul { margin: 0; padding-left: 1rem; }
"""

MARKS = {verdict.HOLDS: "holds", verdict.FAILS: "fails", verdict.UNKNOWN: "unknown"}
ROWS_SHOWN = 60  # longer tables are cut in the page; the CSV has them all
ROWS_OPEN = 12  # longer ones open on request
OVERVIEW = ("experiment", "question", "answer", "here", "the source, or the aim",
            "agreement with it", "findings")
QUIET = "The machine was quiet, and no request failed."


def text(value):
    return html.escape(str(value))


def mark(result):
    return f'<span class="mark {MARKS[result]}">{text(result)}</span>'


def is_number(value):
    return re.fullmatch(r"-?(\d[\d.]*(e[-+]?\d+)?|nan|inf)?", value) is not None


def shorten(value):
    """A figure of a CSV as a table shows it."""
    if re.fullmatch(r"-?\d+(\.\d{4,}|(\.\d+)?e-?\d+)", value):
        return verdict.number(float(value)) if float(value) > 0 else f"{float(value):.3g}"
    return {"nan": "–"}.get(value, value)


def table(rows, heads=None):
    """A table of dicts; columns of numbers are flush right."""
    if not rows:
        return ""
    columns = list(rows[0])
    numeric = {column for column in columns if all(is_number(row[column]) for row in rows)}

    def cell(tag, column, value):
        kind = ' class="number"' if column in numeric else ""
        return f"<{tag}{kind}>{text(value)}</{tag}>"

    head = "".join(cell("th", one, (heads or {}).get(one, one.replace("_", " ")))
                   for one in columns)
    body = "".join("<tr>" + "".join(cell("td", one, shorten(row[one])) for one in columns) + "</tr>"
                   for row in rows[:ROWS_SHOWN])
    more = (f'<p class="small">{len(rows) - ROWS_SHOWN} more rows are in the CSV.</p>'
            if len(rows) > ROWS_SHOWN else "")
    return (f'<div class="wide"><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>'
            f"</div>{more}")


def inline_svg(path, name):
    """The SVG's element, scalable, its ids made the figure's own."""
    source = path.read_text(encoding="utf-8")
    source = source[source.index("<svg"):]
    source = re.sub(r'(<svg\b[^>]*?)\s+width="[\d.]+pt"', r"\1", source, count=1)
    source = re.sub(r'(<svg\b[^>]*?)\s+height="[\d.]+pt"', r"\1", source, count=1)
    source = re.sub(r"<metadata>.*?</metadata>", "", source, flags=re.DOTALL)
    prefix = re.sub(r"\W", "-", name)
    source = re.sub(r'\bid="([^"]+)"', rf'id="{prefix}-\1"', source)
    source = re.sub(r"url\(#", f"url(#{prefix}-", source)
    return re.sub(r'href="#', f'href="#{prefix}-', source)


def verdict_items(verdicts):
    return "".join(f"<li>{mark(one.outcome)} {text(one.finding)}{remark_of(one)}. "
                   f"{text(one.figures)}</li>" for one in verdicts)


def remark_of(one):
    return f" ({text(one.remark)})" if one.remark else ""


def about(facts):
    title = facts["title"][0].upper() + facts["title"][1:]
    return f"{title}. After {facts['source']}." if facts["source"] else f"{title}."


def section(saved):
    """One experiment's part of the page."""
    facts = saved.facts
    parts = [f'<h2 id="{text(facts["name"])}">{text(facts["name"])}</h2>',
             f'<p>{text(about(facts))}</p>',
             f"<ul>{verdict_items(saved.verdicts)}</ul>"]
    for caption, name in facts["plots"].items():
        path = saved.folder / f"{name}.svg"
        if path.exists():
            parts.append(f"<figure>{inline_svg(path, name)}<figcaption>{text(caption)}</figcaption>"
                         "</figure>")
    for caption, name in facts["tables"].items():
        parts.append(captioned(f"{caption} ({name}.csv)", saved.table(name)))
    parts.append(f'<details><summary>How, and on what</summary><pre>{text(facts["paragraph"])}'
                 f'</pre><p class="small">{text(facts["command"])} · {text(facts["when"])} · '
                 f'{facts["seconds"]} s · {facts["rounds"]} rounds</p>'
                 + table(saved.corpora) + "</details>")
    return "\n".join(parts)


def captioned(caption, rows):
    if len(rows) <= ROWS_OPEN:
        return f'<p class="small">{text(caption)}</p>{table(rows)}'
    return f"<details><summary>{text(caption)}</summary>{table(rows)}</details>"


def overview(found, names, problems):
    """Of each experiment what was asked, what it came to, and what was not as it should be."""
    width = len(OVERVIEW) - 1
    rows = []
    for name in names:
        if name in found:
            conditions = " ".join(found[name].facts.get("conditions", [])) or QUIET
            rows.append(f'<tr><td rowspan="2"><a href="#{text(name)}">{text(name)}</a></td>'
                        f'{came_to(found[name])}</tr><tr class="small"><td colspan="{width}">'
                        f"{text(conditions)}</td></tr>")
        elif name in problems:
            rows.append(f'<tr><td>{text(name)}</td><td colspan="{width}">not run: '
                        f"{text(problems[name])}</td></tr>")
    heads = "".join(f"<th>{text(head)}</th>" for head in OVERVIEW)
    return (f'<div class="wide"><table class="overview"><thead><tr>{heads}</tr></thead><tbody>'
            f'{"".join(rows)}</tbody></table></div>')


def came_to(saved):
    """The cells of an experiment's line."""
    told = saved.headline
    if told is None or not saved.verdicts:
        cells = ["the results have none", "", "", "", ""]
    else:
        one = told.verdict(saved.verdicts)
        cells = [told.question, told.answer(saved.verdicts),
                 one.here + (f"; bound: {one.bound}" if one.bound else ""), one.reported,
                 likeness(one)]
    return "".join(f"<td>{text(cell)}</td>" for cell in cells) + (
        f"<td>{findings(saved.verdicts)}</td>")


def findings(verdicts):
    """How many hold, and which do not or cannot be decided."""
    parts = [f"{sum(one.outcome == verdict.HOLDS for one in verdicts)} of {len(verdicts)} hold"]
    for outcome_, opened in ((verdict.FAILS, " open"), (verdict.UNKNOWN, "")):
        named = [one.finding for one in verdicts if one.outcome == outcome_]
        if named:
            items = "".join(f"<li>{text(one)}</li>" for one in named)
            parts.append(f"<details{opened}><summary>{len(named)}: {text(outcome_)}</summary>"
                         f"<ul>{items}</ul></details>")
    return "".join(parts)


def page(found, names, problems):
    sections = "\n".join(section(found[name]) for name in names if name in found)
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>mod_elastic: published experiments, repeated</title><style>{STYLE}</style></head>"
        "<body>\n<h1>mod_elastic: published experiments, repeated</h1>\n"
        f"<p>{text(machine_of(found))}. {text(when_of(found))}.</p>\n"
        "<p>Each finding of a source is set beside what was measured here. Figures in parentheses "
        "are 95 % intervals over the rounds of this run, widened where runs at other times differ "
        "by more. A finding holds where the whole interval is within its bounds, and cannot be "
        "decided where the interval reaches over one. Beside each bound is where it comes from. "
        "Directions are the same where both figures are above 1, or both below; sizes, where the "
        "logarithm of the one is no more than half as much again as the other's.</p>\n"
        f"{overview(found, names, problems)}\n{sections}\n</body></html>\n")


def write(out, names, problems, path=None):
    """Makes a page of what is in `out`: report.html there, or `path`; its path."""
    found = {name: saved for name in names if (saved := outcome.load(out, name)) is not None}
    path = pathlib.Path(path or pathlib.Path(out) / "report.html")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(page(found, names, problems), encoding="utf-8")
    except OSError as problem:
        raise BenchError(f"the report cannot be written to {path}: {problem.strerror}") from None
    return path


def when_of(found):
    """The days of the results."""
    days = sorted({saved.facts["when"][:10] for saved in found.values()})
    return " to ".join(dict.fromkeys((days[0], days[-1]))) if days else ""


def machine_of(found):
    """The machine of the results, in the words of machine.describe(); they share it."""
    for saved in found.values():
        words = re.search(r"^\S+\. (.*?); Apache", saved.facts["paragraph"])
        if words:
            return words.group(1)
    return ""


def summary(out, names, problems):
    """A line for each question, each verdict and each problem."""
    for name in names:
        if name in problems:
            yield f"{name}: not run: {problems[name]}"
            continue
        saved = outcome.load(out, name)
        if saved and saved.headline and saved.verdicts:
            one = saved.headline.verdict(saved.verdicts)
            yield (f"{name}: {saved.headline.question} {saved.headline.answer(saved.verdicts)} "
                   f"Here {one.here}; there {one.reported}; {likeness(one)}.")
        for one in saved.verdicts if saved else ():
            yield f"{name}: {one.sentence}"
