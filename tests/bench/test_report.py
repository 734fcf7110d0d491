"""Outcomes, their files, and the report that is made of them; in a real browser, too."""

import html.parser
import json
import math
import os
import re
import shutil
import subprocess

import pytest

from benchkit import agreement, outcome, plot, report, run, verdict
from benchkit.headline import Headline, likeness
from benchkit.tools import BenchError

HEADLINE = Headline("Do <bytes> fall?", "Yes, they fall.", "No.")

VERDICTS = [verdict.exact("bytes fall", 0.5, "0.6", below=1, origin=verdict.SOURCE,
                          there=(0.6, 0.6)),
            verdict.exact("CPU <falls> & more", 1.5, "0.6", below=1),
            verdict.impossible("packets fall", "16 %", "no namespaces")]

PARAGRAPH = "one. 2 × Some CPU, 25 GB, Debian, Linux 6; Apache/2.4.71; more.\nAnd <so> on."


def save_run(folder, name, verdicts):
    with run.Run(name, run.Scale(2, 1), folder) as one:
        outcome.save(one, outcome.Outcome(f"{name}.", verdicts, HEADLINE), name, "",
                     "scripts/bench", 1)
        one.publish()
    return folder


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    """The files of one experiment's run, with a table wider than any phone."""
    out = tmp_path_factory.mktemp("results")
    cpus = os.sched_getaffinity(0)
    with run.Run("one", run.Scale(2, 1), out) as one:
        rows = [{"a_rather_long_column": number, "name": "x" * 30, **{
            f"column_{place}": 1234567.891 for place in range(20)}} for number in range(3)]
        one.save_table("summary", rows, "medians")
        one.corpora.append({"corpus": "page", "files": 1, "sha256": "f" * 12})
        plot.panels(one, "", "a plot", "x", [plot.Panel("y", [plot.Curve(
            [1, 2, 3], [3, 1, 2], "a <label> & more", plot.GZIP)])] * 4, width=13)
        found = outcome.Outcome(PARAGRAPH, VERDICTS, HEADLINE, ["Failed requests: 3 of 9."])
        outcome.save(one, found, "a title", "“A Source”",
                     "scripts/bench one", 12.3)
        one.publish()
    os.sched_setaffinity(0, cpus)
    return out


def test_outcome_is_read_as_it_was_saved(results):
    saved = outcome.load(results, "one")
    assert [one.outcome for one in saved.verdicts] == [one.outcome for one in VERDICTS]
    assert saved.verdicts[:2] == VERDICTS[:2]
    assert math.isnan(saved.verdicts[2].measured) and saved.verdicts[2].remark == "no namespaces"
    assert saved.facts["seconds"] == 12 and saved.corpora[0]["corpus"] == "page"
    assert outcome.load(results, "other") is None


def test_two_runs_agree_or_contradict_each_other(tmp_path):
    def judged(*figures):
        return [verdict.exact(f"{place} is small", figure, "less", below=1) if figure else
                verdict.impossible(f"{place} is small", "less", "it was not measured")
                for place, figure in enumerate(figures)]

    left = save_run(tmp_path / "left", "one", judged(0.5, 0.6, 0.7, 2.0))
    same = agreement.compare(left, save_run(tmp_path / "same", "one", judged(0.4, 0.7, 0.9, 3.0)),
                             ["one"])
    assert (same.agreed, same.differences, same.contradictions) == (4, [], 0)
    right = save_run(tmp_path / "right", "one", judged(0.5, 1.6, None))
    save_run(right, "two", judged(0.5))
    seen = agreement.compare(left, right, ["none", "one", "two"])
    assert seen.agreed == 1 and seen.contradictions == 1
    assert seen.text.splitlines() == [
        "CONTRADICTION: one: 1 is small: holds, 0.600 | does not hold, 1.60",
        "one: 2 is small: holds, 0.700 | cannot be decided, nothing was measured",
        f"one: 3 is small: only in {left}", f"two: only in {right}",
        "Of 3 verdicts, the same: 1; decided by one run only: 1; contradictions: 1."]
    with pytest.raises(BenchError, match="no experiment in common"):
        agreement.compare(left, right, ["two"])


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


def test_report_says_what_was_measured_and_what_was_not(results):
    day = outcome.load(results, "one").facts["when"][:10]
    text = report.write(results, ["one", "two"], {"two": "no <wrk>"}).read_text(encoding="utf-8")
    assert f"2 × Some CPU, 25 GB, Debian, Linux 6. {day}.<" in text
    assert "CPU &lt;falls&gt; &amp; more" in text and "<falls>" not in text
    assert "not run: no &lt;wrk&gt;" in text
    assert "Here 0.500; there 0.6. Bound: below 1.00 (the source&#x27;s)." in text
    assert "(no namespaces)" in text
    assert "And &lt;so&gt; on." in text and "scripts/bench one" in text


def overview_of(page):
    """The text of the cells of the line of `one` on top of the page."""
    line = page.partition('<a href="#one">')[2].partition("</tbody>")[0].partition('"#two"')[0]
    return [html.unescape(re.sub(r"<[^>]+>", " ", cell)) for cell in line.split("</td>")]


def test_top_of_the_report_says_what_came_of_each_experiment(results):
    text = report.write(results, ["one", "two"], {"two": "no wrk"}).read_text(encoding="utf-8")
    _, question, answer, here, there, agreement_, found, conditions, *_ = overview_of(text)
    assert (question, answer, here, there) == (
        " Do <bytes> fall?", " Yes, they fall.", " 0.500; bound: below 1.00", " 0.6")
    assert agreement_ == " same direction, same size"
    # Those that do not hold are named.
    assert found.split() == ("1 of 3 hold 1: does not hold CPU <falls> & more "
                             "1: cannot be decided packets fall").split()
    assert conditions.strip() == "Failed requests: 3 of 9."


def test_results_of_an_earlier_version_have_no_headline(results, tmp_path):
    for path in results.iterdir():
        shutil.copy(path, tmp_path)
    facts = json.loads((tmp_path / "one.json").read_text(encoding="utf-8"))
    del facts["headline"], facts["conditions"]
    (tmp_path / "one.json").write_text(json.dumps(facts), encoding="utf-8")
    text = report.write(tmp_path, ["one"], {}).read_text(encoding="utf-8")
    assert overview_of(text)[1] == " the results have none"


def figure(low, middle, high, there):
    return verdict.judge_interval("x", (middle, low, high), 9, "", below=1, there=there,
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


def test_summary_has_a_line_for_each_question_and_each_verdict(results):
    lines = list(report.summary(results, ["one", "two"], {"two": "no wrk"}))
    assert len(lines) == 5 and lines[-1] == "two: not run: no wrk"
    assert lines[0] == ("one: Do <bytes> fall? Yes, they fall. Here 0.500; there 0.6; "
                        "same direction, same size.")


def test_long_tables_are_cut_in_the_page(tmp_path):
    assert "40 more rows" in report.table([{"a": "1"}] * 100)


def test_ids_of_two_figures_do_not_meet(tmp_path):
    svg = ('<?xml version="1.0"?><svg width="10pt" height="5pt" viewBox="0 0 10 5"><metadata>x'
           '</metadata><path id="p" clip-path="url(#c)"/><use xlink:href="#p"/></svg>')
    (tmp_path / "a.svg").write_text(svg)
    assert report.inline_svg(tmp_path / "a.svg", "a.b") == (
        '<svg viewBox="0 0 10 5"><path id="a-b-p" clip-path="url(#a-b-c)"/>'
        '<use xlink:href="#a-b-p"/></svg>')


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
    assert not seen["errors"] and seen["svgs"] == 1 and seen["height"] > 500
    assert all(wide <= int(width) for width, wide in seen["wide"].items()), seen


def test_browser_would_see_an_overflow(tmp_path):
    page = tmp_path / "wide.html"
    page.write_text("<!DOCTYPE html><div style='width:900px'>x</div>")
    assert look_at(page, tmp_path)["wide"]["320"] > 320
