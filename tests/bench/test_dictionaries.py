"""The experiment of dictionaries: what is asked for, what must come back, and verdicts on planted
servers."""

import io
import tarfile
import types

import pytest

from benchkit import codecs, fpm, overhead, packages, run, tools
from benchkit.dictionary import (browser, cases, findings, levels, made, manual, releases,
                                 servers, walks, wiki)
from benchkit.dictionary.cases import LARGE, SMALL
from benchkit.dictionary.servers import BR, DCZ, DCZ_HIGH, IDENTITY, STOCK, WAY
from benchkit.experiments import dictionary
from benchkit.verdict import FAILS, HOLDS, UNKNOWN
from codeckit import dictionaries

DICTIONARY = b"<p>what all pages of a site have</p>" * 50
BODY = DICTIONARY[:900] + b"<p>what only one of them has</p>" + DICTIONARY[900:]


def difference(body, dictionary, coding):
    with {"dcz": dictionaries.Dcz, "dcb": dictionaries.Dcb}[coding](dictionary) as prepared:
        return prepared.encode(body)


# dcb only where there is brotli 1.1.
@pytest.mark.parametrize("kind", dictionaries.available())
def test_differences_decode(kind):
    encoded = difference(BODY, DICTIONARY, kind.name)
    assert len(encoded) < 120
    assert codecs.decode(encoded, kind.name, DICTIONARY) == BODY
    for broken in (encoded[:-1], b"x" + encoded[1:]):
        with pytest.raises(tools.BenchError):
            codecs.decode(broken, kind.name, DICTIONARY)
    with pytest.raises(tools.BenchError, match="its dictionary's hash"):
        codecs.decode(encoded, kind.name, DICTIONARY + b" ")


def test_what_is_no_difference_decodes_as_ever():
    assert codecs.decode(BODY, "", DICTIONARY) == BODY


PAGE = b"""<html><body><div class="section"><h2 id="a">Its <code>title</code>
<a class="permalink" href="#a">&para;</a></h2><p>A text &amp; <strong>more</strong>
of <a href="x">it</a>.</p><ul><li>one
item</li><li>another</li></ul><pre>a  &lt;b&gt;
 c</pre></div><div class="top">up</div><div class="section"><h2>Short</h2>x</div>
<div id="footer"></div>"""


def test_sections_become_articles(monkeypatch):
    monkeypatch.setattr(wiki, "LEAST", 40)
    (name, text), = wiki.articles([manual.Page("/manual/mod/A-b.html", PAGE)]).items()
    assert name == "manual_mod_a_b_1"
    assert text == ("====== Its ''title'' ======\n\nA text & **more** of it.\n\n  * one item\n"
                    "  * another\n\n<code>\na  <b>\n c\n</code>\n")


def test_the_applications_copy_names_itself(monkeypatch, tmp_path):
    tree = tmp_path / "tree"
    (tree / "usr/share/dokuwiki").mkdir(parents=True)
    (tree / "var/lib/dokuwiki/data/pages").mkdir(parents=True)
    (tree / "etc/dokuwiki").mkdir(parents=True)
    (tree / wiki.VERSION).write_text("1 one\n")
    (tree / "usr/share/dokuwiki/data").symlink_to("/var/lib/dokuwiki/data")
    (tree / "usr/share/dokuwiki/nowhere").symlink_to("/nowhere")
    (tree / "usr/share/dokuwiki/a.php").write_text("'/etc/dokuwiki/x', 'b/usr/share/c'")
    monkeypatch.setattr(packages, "whole", lambda *_: [tree])
    monkeypatch.setattr(fpm, "serve", lambda _: ("LINES\n", 7))
    with run.Run("x", run.Scale(1, 1), tmp_path / "out") as one:
        made_one = wiki.Wiki(one, {"name": "text"})
        folder = made_one.folder / "usr/share/dokuwiki"
        assert (folder / "a.php").read_text() == (
            f"'{made_one.folder}/etc/dokuwiki/x', 'b/usr/share/c'")
        assert (folder / "data/pages/name.txt").read_text() == "text"
        assert (folder / "data").resolve().is_relative_to(made_one.folder)
        assert not (folder / "nowhere").is_symlink()
        assert made_one.version == "1 one" and made_one.snippet.endswith("LINES\n")


def archive_of(folder, name, text):
    folder.mkdir(parents=True, exist_ok=True)
    with tarfile.open(folder / name, "w:gz") as archive:
        entry = tarfile.TarInfo("package/dist/vue.global.prod.js")
        entry.size = len(text)
        archive.addfile(entry, io.BytesIO(text))


def test_releases_that_are_here_are_read_and_the_others_named(monkeypatch, tmp_path):
    monkeypatch.setattr(packages, "cache", lambda: tmp_path)
    for version in ("3.5.12", "3.5.13"):
        archive_of(tmp_path / "npm", f"vue-{version}.tgz", version.encode())
    found, notes = releases.get(types.SimpleNamespace(download=False))
    assert found == [(releases.RELEASES[0], b"3.5.12", b"3.5.13")]
    assert len(notes) == len(releases.RELEASES) - 1 and notes[0].startswith("vue 3.4.38 → 3.5.0:")


def pages_of(count):
    return [manual.Page(f"/manual/{number}.html", b"%d" % number) for number in range(count)]


def test_visited_pages_are_in_no_dictionary(monkeypatch, tmp_path):
    seen = []
    monkeypatch.setattr(made, "make", lambda pages, path, kb: seen.append(pages) or [
        made.Made("a", path.format(number), b"d%d" % number, 5) for number in (0, 1)])
    scale = types.SimpleNamespace(scale=types.SimpleNamespace(visits=2, largest_kb=1))
    case = cases.of_site(scale, tmp_path, "a site", pages_of(50), "manual")
    assert [len(visit) for visit in case.visits] == [10, 10]
    visited = {step.path for step in case.steps}
    assert len(visited) == 20 and len(seen[0]) == 30
    assert visited.isdisjoint(page.url for page in seen[0])
    for visit in case.visits:
        assert visit[0].dictionary((LARGE,)) is None
        assert [step.dictionary((SMALL,)).content for step in visit[1:]] == [b"d1"] * 9
        assert [step.number for step in visit] == list(range(1, 11))
    assert (tmp_path / "dictionaries/manual-1.dict").read_bytes() == b"d1"
    with pytest.raises(tools.BenchError, match="27 pages are too few, 28 are needed"):
        cases.of_site(scale, tmp_path, "a site", pages_of(27), "manual")


def test_dictionaries_are_chosen_for_many_pages_and_for_a_visit(monkeypatch):
    def judged(name, page, transfer):
        return made.judge.Judged(name, name.encode(), transfer, {"dcz": [page]})

    both = [judged("small", 80, 10), judged("large", 50, 2000)]
    monkeypatch.setattr(made, "tried", lambda *_: (both, made.judge.Baseline([100], made.MANY)))
    large, small = made.make([], "/{}.dict", 1)
    assert (large.name, large.path, small.name, small.path) == (
        "large", "/0.dict", "small", "/1.dict")


class Planted:
    """A server whose every response is the same."""

    def __init__(self, body, coding, status=200):
        self.body, self.coding, self.status = body, coding, status
        self.asked = []

    def ask(self, _, path, headers):
        self.asked.append(headers)
        return self.status, {"Content-Encoding": self.coding}, self.body


STEP = cases.Step(2, "/page", BODY, {LARGE: made.of_file("/d", DICTIONARY)})
CASE = cases.Case("a case", [[STEP]])


def test_a_page_is_asked_for_with_what_its_visitor_has():
    planted = Planted(difference(BODY, DICTIONARY, "dcz"), "dcz")
    body, _, row = walks.ask(planted, None, CASE, WAY[DCZ], STEP)
    assert body == BODY and row["bytes"] == len(planted.body)
    assert row["wire_bytes"] == row["bytes"] + len(
        "HTTP/1.1 200 OK\r\nContent-Encoding: dcz\r\n\r\n")
    assert planted.asked[0]["Available-Dictionary"] == dictionaries.field(DICTIONARY)
    walks.ask(Planted(BODY, ""), None, CASE, WAY[IDENTITY], STEP)
    assert "Available-Dictionary" not in servers.request(WAY[BR], "document")


@pytest.mark.parametrize("planted, says", [
    (Planted(BODY, "", 404), "gave 404"),
    (Planted(BODY, ""), "in the coding '' in place of dcz")])
def test_another_response_than_is_meant_ends_the_run(planted, says):
    with pytest.raises(tools.BenchError, match=says):
        walks.ask(planted, None, CASE, WAY[DCZ], STEP)


def test_some_page_must_come_as_a_difference():
    rows = [{"way": DCZ, "coding": "br"}, {"way": BR, "coding": "br"}]
    walks.check_differences(CASE, WAY[BR], rows)
    with pytest.raises(tools.BenchError, match="no page came as dcz"):
        walks.check_differences(CASE, WAY[DCZ], rows)
    walks.check_differences(CASE, WAY[DCZ], [*rows, {"way": DCZ, "coding": "dcz"}])


def test_ways_without_a_meaning_are_left_out():
    names = [way.name for way in walks.ways_of(CASE, False)]
    assert DCZ in names and DCZ_HIGH in names
    assert servers.DCZ_SMALL not in names and servers.DCB not in names
    assert servers.DCB in [way.name for way in walks.ways_of(CASE, True)]


def size_rows(case, share, head=0):
    """Visits in which br takes 1000 bytes a page, and dcz a share of that."""
    return [{"case": case, "way": way, "visit": visit, "page": page,
             "bytes": 1000 * (1 if way in (STOCK, BR) or page == 1 else share),
             "wire_bytes": 1000 * (1 if way in (STOCK, BR) or page == 1 else share)
             + (head if way in (DCZ, DCZ_HIGH) else 0)}
            for way in (STOCK, BR, DCZ, DCZ_HIGH) for visit in range(1, 7)
            for page in range(1, 11)]


def cost_rows(case, share):
    """Rounds in which mod_deflate takes 400 µs beyond identity's 100, and dcz a share of that."""
    rows = [{"case": case, "way": way, "page": page, "round": number,
             overhead.FIGURE: 100 + 400 * of * (1 + 0.002 * number)}
            for number in range(1, 7) for way, of in ((IDENTITY, 0), (STOCK, 1), (DCZ, share))
            for page in range(1, 4)]
    return overhead.steady(rows, ("case", "way", "page"))


def everything(share, cpu, release, head):
    """Rows of all that there is, in which each figure has so much of its bound."""
    sizes = []
    for name, most in findings.MOST.items():
        sizes += size_rows(name, share * most, head=head)
    for one in releases.RELEASES:
        sizes += [{"case": one.title, "way": way, "visit": 1, "page": 2, "bytes": nbytes}
                  for way, nbytes in (
                      (servers.SIBLING, 1000),
                      *((way, release * findings.MOST_RELEASE[one.kind] * 1000)
                        for way in (DCZ, DCZ_HIGH)))]
    costs = [row for name in dict.fromkeys(row["case"] for row in sizes)
             for row in cost_rows(name, cpu * findings.MOST_CPU)]
    return sizes, costs, [row for row in sizes if "wire_bytes" in row]


def test_verdicts_on_planted_servers():
    good = findings.judge(*everything(0.9, 0.7, 0.9, 0))
    assert {one.outcome for one in good} == {HOLDS}, [one.sentence for one in good]
    bad = findings.judge(*everything(1.1, 1.5, 1.1, 1000))
    same_body = [one for one in bad if one.finding.endswith("the first page of a visit, to br 5's")]
    assert {one.outcome for one in same_body} == {HOLDS} and len(same_body) == 2
    assert {one.outcome for one in bad if one not in same_body} == {FAILS}


def test_what_was_not_run_is_not_judged():
    sizes, costs = size_rows(cases.MANUAL, 0.5), cost_rows(cases.MANUAL, 0.1)
    seen = {one.finding: one for one in findings.judge(sizes, costs, [])}
    undecided = [one for one in seen.values() if one.outcome == UNKNOWN]
    assert len(undecided) == 2 * (1 + len(releases.RELEASES)) + 2
    assert all(one.remark == "it was not run" for one in undecided)
    assert {one.outcome for one in seen.values()} == {UNKNOWN, HOLDS}
    assert dictionary.HEADLINE.verdict(list(seen.values())).outcome == HOLDS


def test_summary_counts_the_dictionarys_own_bytes():
    sizes, costs = size_rows(cases.MANUAL, 0.5), cost_rows(cases.MANUAL, 0.1)
    rows = {row["way"]: row for row in
            findings.summarize(sizes, costs, {(cases.MANUAL, DCZ): 300})}
    assert rows[BR]["visit"] == 10000 and rows[DCZ]["visit"] == 1000 + 9 * 500 + 300
    assert rows[DCZ]["of_br_5"] == 0.5 and rows[DCZ]["page"] == 500
    assert rows[DCZ]["of_mod_deflate"] == pytest.approx(0.1, abs=0.01)


def test_levels_are_of_all_pages_and_of_thirds():
    steps = [cases.Step(2, f"/{number}", BODY + b"%d" % number * 40 * number,
                        {LARGE: made.of_file("/d", DICTIONARY)}) for number in range(9)]
    case = cases.Case("a case", [[cases.Step(1, "/first", BODY, {}), *steps]])
    rows = levels.measure(case, {step.path: b"text" for step in steps})
    of_all = {row["way"]: row for row in rows if row["pages"] == levels.ALL}
    plain = sum(dictionaries.brotli_size(step.body) for step in steps)
    with dictionaries.Dcz(DICTIONARY, 3) as prepared:
        size = sum(prepared.size(step.body) for step in steps)
    assert of_all["dcz 3"]["of_br_5"] == pytest.approx(size / plain, abs=0.001)
    assert of_all["dcz 3"]["low"] < of_all["dcz 3"]["of_br_5"] < of_all["dcz 3"]["high"]
    assert of_all["dcz 3"]["cpu_of_gzip_6"] > 0
    assert of_all[levels.OWN]["of_br_5"] == pytest.approx(
        9 * dictionaries.brotli_size(b"text") / plain, abs=0.001)
    parts = levels.parts(steps)
    assert [len(parts[name]) for name in (levels.ALL, *levels.THIRDS)] == [9, 3, 3, 3]
    assert parts[levels.THIRDS[0]][0].path == "/0" and parts[levels.THIRDS[2]][-1].path == "/8"


def test_browser_without_a_dictionary_is_an_error_and_not_a_figure(monkeypatch):
    class Plain:
        def __init__(self, _):
            self.urls = []

        def __enter__(self):
            return self

        def __exit__(self, *problem):
            pass

        def visit(self, url):
            self.urls.append(url)
            return browser.Visited(200, "br", BODY, 10)

    monkeypatch.setattr(browser, "Browser", Plain)
    monkeypatch.setattr(browser, "LEARNING", 0)
    assert len(browser.walk(None, "", ["/a", "/b"], "{}/c?{}", False)) == 2
    with pytest.raises(tools.BenchError, match="did not come to use the dictionary"):
        browser.walk(None, "", ["/a", "/b"], "{}/c?{}", True)


def test_browser_decodes_what_was_served():
    seen = [browser.Visited(200, "dcz", BODY, 10)]
    dictionary.check(seen, [STEP], False)
    with pytest.raises(tools.BenchError, match="has not what /page is"):
        dictionary.check([browser.Visited(200, "dcz", BODY[1:], 10)], [STEP], False)
