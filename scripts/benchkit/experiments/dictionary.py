"""Compression dictionaries: bytes and CPU of each page over a visit, and what a browser gets.

Sites whose pages have much in common, and releases of scripts, each of them beside gzip, br and
zstd of this module, and mod_deflate.
"""

import dataclasses

from benchkit import fpm, machine, overhead, rounds, tools
from benchkit import run as runs
from benchkit.dictionary import (browser, cases, findings, levels, made, manual, servers, walks,
                                 wiki)
from benchkit.dictionary.cases import MANUAL, WIKI
from benchkit.headline import Headline
from benchkit.outcome import Outcome
from benchkit.setups import NOTHING

SUMMARY = "compression dictionaries: bytes and CPU of each page over a visit, and in a browser"
SOURCE = ""
FIXED = "the pages and the order of their visits, the client, levels"


@dataclasses.dataclass(frozen=True)
class Scale(runs.Scale):
    """`visits` of each site, of ten pages; `site_pages` of the documentation are used, 0 for all,
    and `articles` are in the wiki; dictionaries of up to `largest_kb` are tried."""

    visits: int = 1
    site_pages: int = 0
    articles: int = 0
    largest_kb: int = 512
    walks: int = 1  # of a browser, on each site and for each way
    walk_pages: int = made.PAGES


SCALES = {
    "smoke": Scale(1, 0.001, site_pages=30, largest_kb=16, walk_pages=2),
    "quick": Scale(6, 0.02, visits=6, articles=120, walks=3),
    "full": Scale(20, 0.1, visits=6, articles=240, largest_kb=1024, walks=3, least=6),
}
SECONDS = {"smoke": 5, "quick": 170, "normal": 250, "full": 400}
ALONE = ("quick",)

HEADLINE = Headline(
    "Does a dictionary take a third of brotli's bytes from a documentation site's pages?",
    "Yes, 0.68 of them or less are left.", "No, more than 0.68 of them are left.",
    "documentation site, dcz 9: bytes from the second page on")


class Application:
    """The wiki where it can be: its pages as they were before anything was measured."""

    def __init__(self, run, pages, origin):
        self.origin = origin
        self.pages, self.names, self.texts = [], {}, {}  # the latter two by paths
        self.snippet, self.helpers, self.note = "", [], ""
        texts = wiki.articles(pages)
        chosen = wiki.names_of(texts, run.scale.articles)
        try:
            self.start(run, {name: texts[name] for name in chosen})
        except tools.BenchError as problem:
            self.note = f"{WIKI}: {problem}"

    def start(self, run, texts):
        one = wiki.Wiki(run, texts)
        self.snippet, self.helpers = one.snippet, [one.pid]
        httpd = NOTHING.serve(run, "capture", one.snippet, fpm.MODULES).start()
        for name in texts:
            path = f"/wiki/{name}.html"
            status, _, body = httpd.get(wiki.path_of(name))
            if status != 200 or not body.rstrip().endswith(walks.LIVE_END):
                raise tools.BenchError(f"{wiki.path_of(name)} gave {status}")
            self.names[path], self.texts[path] = name, texts[name].encode()
            self.pages.append(manual.Page(path, body))
        httpd.stop()
        run.add_corpus(WIKI, [page.body for page in self.pages], f"dokuwiki {one.version}; its "
                       f"articles are sections of {self.origin}")


def chromium_walks(run, known, served, application):
    """(rows as those of walks.sizes(), why there are none)."""
    rows = []
    for case in known:
        if case.name not in (MANUAL, WIKI):
            continue
        live = case.name == WIKI
        visits = [visit[:run.scale.walk_pages] for visit in case.visits[:run.scale.walks]]
        for number, visit in enumerate(visits, 1):
            paths = [wiki.path_of(application.names[step.path]) if live else step.path
                     for step in visit]
            other = paths[0] + ("&" if live else "?") + "n={}"
            for way in (servers.WAY[servers.BR], servers.WAY[servers.DCZ_HIGH]):
                try:
                    seen = browser.walk(run, f"http://localhost:{served.of(way).port}", paths,
                                        "{}" + other, bool(way.dictionaries))
                except tools.BenchError as problem:
                    return [], f"Chromium: {problem}"
                check(seen, visit, live)
                rows += [{"case": case.name, "way": way.name, "visit": number, "page": page,
                          "coding": one.coding, "wire_bytes": one.wire_bytes}
                         for page, one in enumerate(seen, 1)]
    return rows, ""


def check(seen, visit, live):
    """The browser has decoded what was served."""
    for one, step in zip(seen, visit):
        whole = one.body.rstrip().endswith(walks.LIVE_END) if live else one.body == step.body
        if one.status != 200 or not whole:
            raise tools.BenchError(f"Chromium has not what {step.path} is")


def transfers_of(known):
    """{(case, way): bytes that its dictionary takes to send}."""
    return {(case.name, way.name): step.dictionary(way.dictionaries).transfer
            for case in known for step in case.steps for way in servers.WAYS
            if step.dictionary(way.dictionaries)}


def paragraph(run, known, notes, has_dcb):
    visits = {len(case.visits) for case in known if case.name in (MANUAL, WIKI)}
    return "\n".join([
        machine.heading(run),
        f"Visits of ten pages, {max(visits)} of each site, by a client that keeps its connection, "
        "over HTTP/1.1; each page of the visits was decoded and compared once, a wiki's by its end. "
        "The first page is asked for "
        "without a dictionary, the others with one that elastic-dictionary made of other pages: "
        "the best for readers who see a thousand pages while it lasts, and the best for a visit of "
        "ten. A wiki's sizes are those of the application behind php-fpm, each visitor with a "
        "session; its CPU is that of its pages kept as files, because PHP takes many times what "
        "compression does. CPU is beyond that of the same page without compression. Levels are "
        "pinned; by default they follow the load.",
        *(() if has_dcb else ("dcb is not there: the module was built with a libbrotli older than "
                              "1.1.",)),
        *(f"Not measured: {note}." for note in notes if note)])


def run(run):
    site = run.folder("pages-served")
    pages, origin = manual.pages(run, run.scale.site_pages)
    run.add_corpus(MANUAL, [page.body for page in pages], origin)
    run.begin_part(0.2)
    application = Application(run, pages, origin)
    known, notes = cases.make(run, site, pages, application.pages)
    run.done(1)
    served = servers.Servers(run, site, application.snippet, application.helpers)
    served.learn(known)
    has_dcb = served.has_dcb(known[0])
    run.begin_part(0.1)
    needs = servers.needs(served, known)
    sizes = [row for case in known for row in
             (walks.live_sizes(case, served, application.names, has_dcb) if case.name == WIKI
              else walks.sizes(case, served, has_dcb))]
    sizes += [row for case in known if case.dest == "script" for row in walks.sibling_sizes(case)]
    run.done(1)
    run.begin_part(0.2)
    seen, why = chromium_walks(run, known, served, application)
    run.done(1)
    run.begin_part(0.5)
    costs = overhead.steady(walks.cost(run, known, served, has_dcb), ("case", "way", "page"))
    at_levels = [row for case in known if case.name in (MANUAL, WIKI) for row in
                 levels.measure(case, application.texts if case.name == WIKI else {})]
    run.save_table("", costs)
    run.save_table("levels", at_levels, "levels of a difference, by the codecs alone: bytes, of "
                   "br 5's, and CPU, of gzip 6's")
    run.save_table("pages", sizes)
    run.save_table("summary", findings.summarize(sizes, costs, transfers_of(known)),
                   "a page's bytes and CPU beyond identity's, from the second page on; a visit's "
                   "bytes, with the dictionary's own")
    run.save_table("needs", needs, "what a dictionary takes on the server")
    if seen:
        run.save_table("chromium", seen, "bytes on the wire, as Chromium counted them")
    findings.draw(run, sizes, costs)
    return Outcome(paragraph(run, known, [*notes, application.note, why], has_dcb),
                   findings.judge(sizes, costs, seen), HEADLINE,
                   rounds.disturbance(costs))
