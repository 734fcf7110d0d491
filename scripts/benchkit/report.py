"""The report: one HTML page without scripts, by report.html, a JSON of every figure, and the rows
of which they are made."""

import json
import lzma
import pathlib
import re

from benchkit import results
from benchkit.findings import number
from benchkit.tools import BenchError

MOST, MOST_ROWS = 400_000, 3_000_000  # bytes of the page, and of the packed rows
COLUMNS, ROWS = 9, 24  # of the largest table on the page
CHARTS = ("peers", "load")  # their first plots are at the top
COORDINATE = re.compile(r"-?\d+\.\d+")


def figure(value):
    if isinstance(value, float):
        return number(value) if abs(value) < 1e5 else f"{value:,.0f}"
    return "" if value is None else f"{value:,}" if isinstance(value, int) else str(value)


class Drawings:
    """SVGs of one page, made small: shared styles are written once, in `css`."""

    def __init__(self):
        self.classes = {}  # {style: class}

    def class_of(self, found):
        style = re.sub(r"font: ([\d.]+px)[^;]*", r"font-size:\1", found.group(1))
        return f' class="{self.classes.setdefault(style, f"k{len(self.classes)}")}"'

    def inline(self, path, plot):
        """The <svg> of a file, in the page's text colour, with a title as alternative text."""
        text = re.sub(r"<(metadata|style).*?</\1>|<!--.*?-->|<\?xml.*?\?>|<!DOCTYPE.*?>", "",
                      path.read_text(encoding="utf-8"), flags=re.DOTALL)
        text = COORDINATE.sub(lambda one: f"{float(one.group()):.1f}".rstrip("0").rstrip("."), text)
        # Ids of several drawings must differ, and most are unused.
        used = set(re.findall(r'(?:xlink:href="|url\()#([\w.-]+)', text))
        text = re.sub(r' id="([\w.-]+)"',
                      lambda one: one.group() if one.group(1) in used else "", text)
        for place, name in enumerate(sorted(used)):
            text = re.sub(rf'(id="|#){re.escape(name)}(?=[")])', rf"\g<1>{plot['name']}-{place:x}",
                          text)
        text = re.sub("#000000|#262626", "currentColor", text)
        text = re.sub(r' style="([^"]*)"', self.class_of, text)
        text = re.sub(r'<g>\s*</g>|<defs>\s*</defs>| transform="rotate\(-0 [^"]*"', "", text)
        text = re.sub(r"\s*\n\s*", " ", text).replace("> <", "><")
        # On a telephone a wide one is scrolled, so that its text can be read.
        return re.sub(r'<svg [^>]*?viewBox="(\S+ \S+ (\d+)[^"]*)"[^>]*>',
                      r'<svg xmlns:xlink="http://www.w3.org/1999/xlink" viewBox="\1" '
                      r'style="min-width:calc(.9*\2px);max-width:calc(1.6*\2px)" '
                      f'role="img"><title>{plot["caption"]}: {plot["description"]}</title>',
                      text, count=1).strip()


def page(data, out, beside):
    import jinja2  # late, so that `bench --help` needs no package

    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(pathlib.Path(__file__).parent), autoescape=True,
        trim_blocks=True, lstrip_blocks=True, undefined=jinja2.StrictUndefined)
    environment.filters["figure"] = figure
    environment.tests["small"] = lambda table: (
        len(table["rows"]) <= ROWS and len(table["columns"]) <= COLUMNS)
    drawings = Drawings()
    drawn = {name: [drawings.inline(out / f"{plot['name']}.svg", plot) for plot in one["plots"]]
             for name, one in data["experiments"].items()}
    heads = {name: results.headline(one) for name, one in data["experiments"].items()}
    return environment.get_template("report.html").render(
        data, drawn=drawn, heads=heads, beside=beside,
        charts=[one for one in CHARTS if drawn.get(one)], styles="\n".join(
            f"svg .{name}{{{style}}}" for style, name in drawings.classes.items()))


def write(out, names, problems, path=None):
    """Writes report.html in `out`, or `path`, the JSON beside it and its rows; returns its path."""
    out = pathlib.Path(out)
    path = pathlib.Path(path or out / "report.html")
    found = {name: facts for name in names if (facts := results.load(out, name)) is not None}
    data = {"experiments": found,
            "not_run": {name: why for name, why in problems.items() if name not in found}}
    beside = path.with_suffix(".json")
    text = page(data, out, beside.name)
    raw = {name: tables for name in found if (tables := results.load(out, f"{name}-rows"))}
    packed = lzma.compress(json.dumps(raw, ensure_ascii=False).encode(), preset=9)
    if len(packed) > MOST_ROWS:
        raise BenchError(f"the rows have {len(packed)} bytes, more than {MOST_ROWS}")
    if len(text.encode()) > MOST:
        raise BenchError(f"the page has {len(text.encode())} bytes, more than {MOST}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        beside.write_text(json.dumps(data, ensure_ascii=False, separators=(",", ":")) + "\n",
                          encoding="utf-8")
        path.write_text(text, encoding="utf-8")
        results.rows_beside(path).write_bytes(packed)
    except OSError as problem:
        raise BenchError(f"the report cannot be written to {path}: {problem.strerror}") from None
    return path
