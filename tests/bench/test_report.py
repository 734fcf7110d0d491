"""Outcomes, their files, and the report that is made of them; in a real browser, too."""

import html.parser
import json
import math
import os
import re
import shutil
import subprocess
import types

import pytest

from benchkit import outcome, plot, report, run, svg, verdict
from benchkit.headline import Headline, likeness

HEADLINE = Headline("Do <bytes> fall?", "Yes, they fall.", "No.", "bytes fall")

VERDICTS = [verdict.exact("bytes fall", 0.5, "0.6", below=1, origin=verdict.SOURCE,
                          there=(0.6, 0.6)),
            verdict.exact("CPU <falls> & more", 1.5, "0.6", below=1),
            verdict.impossible("packets fall", "16 %", "no namespaces")]

PARAGRAPH = "one. 2 × Some CPU, 25 GB, Debian, Linux 6; Apache/2.4.71; more.\nAnd <so> on."


EXPERIMENT = types.SimpleNamespace(SUMMARY="a title", SOURCE="“A Source”", FIXED="one <page>",
                                   THERE={"": "a curve that falls"})


LONG = [{"number": number, "low": math.nan, "high": math.inf, "third": number / 3}
        for number in range(100)]


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    """The files of one experiment's run, with a table as wide as the page shows one."""
    out = tmp_path_factory.mktemp("results")
    cpus = os.sched_getaffinity(0)
    with run.Run("one", run.Scale(2, 1), out) as one:
        rows = [{"a_rather_long_column": number, "name": "x" * 30, **{
            f"column_{place}": 1234567.891 for place in range(7)}} for number in range(3)]
        one.save_table("summary", rows, "medians")
        one.save_table("", LONG)
        one.machine = {"machine": "2 × Some CPU, 25 GB", "versions": ["Apache/2.4.71"],
                       "layout": ["loopback"]}
        one.corpora.append({"corpus": "page", "files": 1, "sha256": "f" * 12})
        curve = plot.Curve([1, 2, 3], [(3, 2, 4), (1, 0.5, 2), (2, 0, math.inf)],
                           "a <label> & more", plot.GZIP, "o-")
        plot.panels(one, "", "a plot", "seconds", [plot.Panel("ms", [curve])] * 4, width=13)
        plot.panels(one, "more", "another plot", "seconds", [plot.Panel("KB", [curve])])
        found = outcome.Outcome(PARAGRAPH, VERDICTS, HEADLINE, ["Failed requests: 3 of 9."])
        outcome.save(one, found, EXPERIMENT, "scripts/bench one", 12.3)
        one.publish()
    os.sched_setaffinity(0, cpus)
    return out


def test_outcome_is_read_as_it_was_saved(results):
    saved = outcome.load(results, "one")
    assert saved.verdicts[:2] == VERDICTS[:2] and saved.headline == HEADLINE
    assert math.isnan(saved.verdicts[2].measured) and saved.verdicts[2].remark == "no namespaces"
    assert (saved.verdicts[2].high, saved.verdicts[2].there_high) == (math.inf, math.inf)
    assert outcome.load(results, "other") is None


class Tags(html.parser.HTMLParser):
    """Collects tags, ids and the addresses that a page would load."""

    def __init__(self):
        super().__init__()
        self.tags, self.ids, self.loads = [], [], []

    def handle_starttag(self, tag, attrs):
        attrs = dict(attrs)
        self.tags.append(tag)
        if "id" in attrs:
            self.ids.append(attrs["id"])
        address = attrs.get("src") or (attrs.get("href") if tag == "link" else None)
        if address:
            self.loads.append(address)


def test_report_needs_nothing_else(results):
    text = report.write(results, ["one"], {}).read_text(encoding="utf-8")
    tags = Tags()
    tags.feed(text)
    assert "svg" in tags.tags and "script" not in tags.tags
    assert not tags.loads and "@import" not in text
    assert len(tags.ids) == len(set(tags.ids))


def test_page_says_what_was_measured_and_what_was_not(results):
    day = outcome.load(results, "one").facts["when"][:10]
    text = report.write(results, ["one", "two"], {"two": "no <wrk>"}).read_text(encoding="utf-8")
    assert f"2 × Some CPU, 25 GB. {day}." in text and "Apache/2.4.71" in text
    assert "CPU &lt;falls&gt; &amp; more" in text and "<falls>" not in text
    assert "not run: no &lt;wrk&gt;" in text
    said = " ".join(text.split())
    assert "Here 0.500; there 0.6 (same direction, same size). Bound: below 1.00 (the sou" in said
    assert "(no namespaces)" in text and "Held fixed: one &lt;page&gt;." in text
    assert "And &lt;so&gt; on." in text and "scripts/bench one" in text
    assert "Failed requests: 3 of 9." in text


def test_top_of_the_page_has_each_question_with_both_figures_and_a_command(results):
    text = report.write(results, ["one", "two"], {}).read_text(encoding="utf-8")
    line = text.partition('<a href="#one">')[2].partition("</tr>")[0]
    cells = [" ".join(html.unescape(re.sub(r"<[^>]+>", " ", cell)).split())
             for cell in line.split("</td>")]
    assert cells[1:7] == ["Do <bytes> fall? Yes, they fall.", "0.6", "0.500",
                          "same direction, same size",
                          "1: holds 1: does not hold 1: cannot be decided", "scripts/bench one"]


def test_json_has_every_figure(results):
    page = report.write(results, ["one", "two"], {"two": "no wrk"})
    data = json.loads(page.with_suffix(".json").read_text(encoding="utf-8"),
                      parse_constant=lambda name: pytest.fail(f"JSON has no {name}"))
    one = data["experiments"]["one"]
    assert data["not_run"] == {"two": "no wrk"}
    assert [row["outcome"] for row in one["verdicts"]] == [row.outcome for row in VERDICTS]
    assert one["verdicts"][2]["measured"] is None
    assert (one["answer"], one["here"], one["there"]) == ("Yes, they fall.", "0.500", "0.6")
    table = one["tables"]["one"]
    assert table["columns"] == ["number", "low", "high", "third"] and not table["caption"]
    assert len(table["rows"]) == 100 and table["rows"][1] == [1, None, None, 0.333333]
    assert one["tables"]["one-summary"]["caption"] == "medians"
    assert one["machine"] == "2 × Some CPU, 25 GB" and one["versions"] == ["Apache/2.4.71"]
    assert one["plots"][0]["there"] == "a curve that falls" and one["fixed"] == "one <page>"


def test_page_has_small_tables_and_names_the_others(results):
    text = report.write(results, ["one"], {}).read_text(encoding="utf-8")
    assert "a rather long column" in text and "0.333" not in text
    assert "one (100 rows)" in text


def test_page_that_would_be_too_large_has_less(results, monkeypatch):
    def made(*limits):
        monkeypatch.setattr(report, "LIMITS", limits)
        return report.write(results, ["one"], {}).read_text(encoding="utf-8")

    steps = (12, 99), (0, 99), (0, 1)
    texts = [made(one) for one in steps]
    assert ["a rather long column" in text for text in texts] == [True, False, False]
    assert [text.count("<svg") for text in texts] == [2, 2, 1]
    assert "More plots, in the folder of the results:\nanother plot." in texts[2]
    for text in texts:
        monkeypatch.setattr(report, "MOST", len(text.encode()))
        assert made(*steps) == text
    monkeypatch.setattr(report, "MOST", 0)
    assert made(*steps) == texts[2]


def test_plots_are_described_to_those_who_cannot_see_them(results):
    text = report.write(results, ["one"], {}).read_text(encoding="utf-8")
    drawn = re.findall(r"<svg.*?</svg>", text)
    assert len(drawn) == 2
    for one, title in zip(drawn, ("a plot", "another plot")):
        labels = re.search('role="img" aria-labelledby="(\\S+) (\\S+)"', one).groups()
        assert f'<title id="{labels[0]}">{title}</title>' in one
        assert f'<desc id="{labels[1]}">' in one and "over seconds." in one
        assert "Compared: a &lt;label&gt; &amp; more." in one
    assert "a curve that falls" in text


def figure(low, middle, high, there):
    return verdict.judge_interval("bytes fall", (middle, low, high), 9, "", below=1, there=there,
                                  drift=verdict.NO_DRIFT)


@pytest.mark.parametrize("interval, there, said", [
    ((0.6, 0.65, 0.7), (0.65, 0.65), "same direction, same size"),
    ((0.9, 0.93, 0.95), (0.73, 0.77), "same direction, smaller"),
    ((0.01, 0.02, 0.03), (0.16, 0.16), "same direction, larger"),
    ((0.6, 0.75, 0.95), (0.73, 0.77), "same direction, size cannot be told"),
    ((1.1, 1.2, 1.3), (0.73, 0.77), "the other direction"),
    ((0.9, 0.95, 1.05), (0.73, 0.77), "direction cannot be told"),
    ((2.5, 3, 4), (2, 6.5), "same direction, same size"),
    ((12, 15, 20), (3, 3), "same direction, larger"),
    ((0.0, 0.5, 0.6), (0.5, 0.5), "same direction, size cannot be told"),
    ((2, 3, 4), (1, math.inf), "same direction, and the source gives no size"),
    ((2, 3, 4), (), "no source"),
])
def test_agreement_with_the_source(interval, there, said):
    assert likeness(figure(*interval, there)) == said


@pytest.mark.parametrize("interval, is_narrow", [
    ((0.92, 1, 1.1), True), ((1.02, 1.1, 1.2), True), ((0.8, 1, 1.1), False),
    ((0, 1, math.inf), False), ((0.5, 0.5, 0.5), True)])
def test_interval_is_narrow_on_whatever_side_of_its_bound(interval, is_narrow):
    assert HEADLINE.is_narrow([figure(*interval, ())]) == is_narrow


def test_summary_has_a_line_for_each_question_and_each_verdict(results):
    lines = list(report.summary(results, ["one", "two"], {"two": "no wrk"}))
    assert len(lines) == 5 and lines[-1] == "two: not run: no wrk"
    assert lines[0] == ("one: Do <bytes> fall? Yes, they fall. Here 0.500; there 0.6; "
                        "same direction, same size.")


MATPLOTLIB = """<?xml version="1.0"?>
<svg xmlns:xlink="http://www.w3.org/1999/xlink" width="10pt" height="5pt" viewBox="0 0 10 5"
 xmlns="http://www.w3.org/2000/svg"><metadata>x</metadata>
 <g id="axes_1"><g id="line_1"><path d="M 10.123456 3.5 \nL 1 3.5 \n" style="fill: none"/></g>
  <g id="line_2"><path d="M 1 2.25 L 3 4" style="fill: none"/></g>
  <g id="text_1"><text style="font: 9px 'Some Font', sans; text-anchor: end" x="1.250001"
   transform="rotate(-0 1 2)">a &amp; b</text></g>
  <text style="font: 9px 'Some Font', sans; text-anchor: end" x="4">c</text>
  <defs><path id="m1" d="M 0 0 L 1 1"/></defs>
  <g clip-path="url(#p1)"><use xlink:href="#m1" x="1" y="2" style="stroke: red"/>
   <use xlink:href="#m1" x="3" y="4" style="stroke: red"/></g></g>
 <defs><clipPath id="p1"><rect x="1" y="2" width="3" height="4"/></clipPath></defs></svg>"""


def test_svg_keeps_what_is_drawn_and_little_else(tmp_path):
    (tmp_path / "a.svg").write_text(MATPLOTLIB)
    drawings = svg.Drawings()
    assert drawings.inline(tmp_path / "a.svg", "T", "D") == (
        '<svg viewBox="0 0 10 5" role="img" aria-labelledby="i2 i3">'
        '<title id="i2">T</title><desc id="i3">D</desc>'
        '<path d="M10.1 3.5H1M1 2.25L3 4" class="k0"/>'
        '<g class="k1"><text x="1">a &amp; b</text><text x="4">c</text></g>'
        '<defs><marker id="i0"><g class="k2"><path d="M0 0L1 1"/></g></marker></defs>'
        '<path clip-path="url(#i1)" d="M1 2 3 4" fill="none" style="marker:url(#i0)"/>'
        '<defs><clipPath id="i1"><rect x="1" y="2" width="3" height="4"/></clipPath></defs></svg>')
    assert drawings.css.splitlines() == ["svg marker{overflow:visible}", "svg .k0{fill:none}",
                                         "svg .k1{font-size:9px;text-anchor:end}",
                                         "svg .k2{stroke:red}"]
    again = drawings.inline(tmp_path / "a.svg", "T", "D")
    # The marker is the first one's; what is cut off is its own.
    assert again.count("url(#i0)") == 1 and 'id="i0"' not in again and 'id="i1"' not in again
    assert len(drawings.classes) == 3


@pytest.mark.parametrize("group, drawn", [
    ('<use xlink:href="#m" x="1" y="2"/>',
     '<path d="M1 2h0" fill="none" style="marker-start:url(#i0)"/>'),
    ('<use xlink:href="#m" x="1" style="fill:red"/><use xlink:href="#m" y="2" style="fill:red"/>',
     '<path d="M1 0 0 2" fill="none" style="marker:url(#i0)"/>'),
    # Of two looks, or beside something else, they stay.
    ('<use xlink:href="#m" x="1" style="fill:red"/><use xlink:href="#m" x="2"/>', None),
    ('<use xlink:href="#m" x="1"/><text>a</text>', None)])
def test_shapes_that_stand_alone_are_markers(tmp_path, group, drawn):
    (tmp_path / "a.svg").write_text(f"""<svg viewBox="0 0 9 9" xmlns="http://www.w3.org/2000/svg"
 xmlns:xlink="http://www.w3.org/1999/xlink"><defs><path id="m" d="M 0 0 C 1 1 2 2 3 3"/></defs>
 <g>{group}</g></svg>""")
    text = svg.Drawings().inline(tmp_path / "a.svg", "T", "D")
    assert ("<marker" in text) == (drawn is not None)
    assert drawn is None or drawn in text and "<use" not in text
    assert drawn or text.count('<use href="#i0"') == group.count("<use")


def test_dots_that_would_cover_each_other_are_one():
    points = [(0, 0), (0.5, 0.1), (2, 0), (2.1, 50), (100, 50), (100, 50.1)]
    assert plot.thin(points) == [(0, 0), (2, 0), (2.1, 50), (100, 50)]
    assert plot.thin([]) == []


def test_bars_are_those_of_intervals_that_say_something():
    middles, (down, up) = plot.reaches([(2, 1, 4), (3, 0, math.inf), (5, 5, 5)])
    assert (middles, down[0], up[0]) == ([2, 3, 5], 1, 2)
    assert all(map(math.isnan, [*down[1:], *up[1:]]))
    assert plot.reaches([(3, 0, math.inf)]) == ([3], None)


# Lays the report out as wide as a phone and as a desk, and writes down what overflows and fails.
PROBE = """<!DOCTYPE html><meta charset="utf-8"><body><script>
const seen = {errors: [], wide: {}};
const source = SOURCE;
async function lay(width) {
    const frame = document.createElement("iframe");
    frame.style.cssText = `width:${width}px;height:800px;border:0`;
    const loaded = new Promise(done => frame.onload = done);
    frame.srcdoc = source;
    document.body.append(frame);
    frame.contentWindow.onerror = (text) => { seen.errors.push(text); };
    await loaded;
    const root = frame.contentDocument.documentElement;
    seen.wide[width] = root.scrollWidth;
    seen.svgs = frame.contentDocument.querySelectorAll("svg").length;
    seen.height = root.scrollHeight;
}
window.onerror = (text) => { seen.errors.push(text); };
(async () => {
    for (const width of [320, 390, 1280]) await lay(width);
    document.title = "done";
    document.body.innerHTML = "<pre id=seen></pre>";
    document.getElementById("seen").textContent = JSON.stringify(seen);
})();
</script>"""


def browser():
    for name in ("chromium-headless-shell", "chromium", "chromium-browser"):
        if shutil.which(name):
            return shutil.which(name)
    pytest.skip("no Chromium (Debian: chromium-headless-shell, Fedora: chromium-headless)")


def look_at(path, folder):
    """What a real browser finds in a page, at the widths of a phone and of a desk."""
    source = json.dumps(path.read_text(encoding="utf-8")).replace("</", "<\\/")
    (folder / "probe.html").write_text(PROBE.replace("SOURCE", source), encoding="utf-8")
    dom = subprocess.run(
        [browser(), "--headless", "--no-sandbox", "--disable-gpu", "--virtual-time-budget=10000",
         f"--user-data-dir={folder / 'profile'}", "--dump-dom", f"file://{folder}/probe.html"],
        capture_output=True, text=True, timeout=120, check=True).stdout
    return json.loads(dom.partition('<pre id="seen">')[2].partition("</pre>")[0])


def test_browser_finds_no_error_and_nothing_overflows(results, tmp_path):
    seen = look_at(report.write(results, ["one"], {"two": "x" * 300}), tmp_path)
    assert not seen["errors"] and seen["svgs"] == 2 and seen["height"] > 500
    assert all(wide <= int(width) for width, wide in seen["wide"].items()), seen


def test_browser_would_see_an_overflow(tmp_path):
    page = tmp_path / "wide.html"
    page.write_text("<!DOCTYPE html><div style='width:900px'>x</div>")
    assert look_at(page, tmp_path)["wide"]["320"] > 320
