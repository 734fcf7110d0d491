"""Compression dictionaries (RFC 9842): bytes and CPU of each page over a visit."""

import contextlib
import hashlib

from benchkit import corpus, overhead, packages, plot, releases, rounds, sample, stats
from benchkit.differences import BR, IDENTITY, SITE, STOCK, WAYS, Step, put, serve, sizes
from benchkit.findings import Finding, exact, matches
from benchkit.results import Outcome
from benchkit.tools import BenchError
from dictionarykit import making, visit

TITLE = "compression dictionaries: bytes and CPU of each page over a visit"
SOURCE = THERE = ""
SETUP = ("Visits of ten pages by a client that keeps its connection; the first page comes without "
         "a dictionary, the others with one that elastic-dictionary made of other pages. A release "
         "of a script comes with the release before as dictionary. Levels are pinned; every page "
         "was decoded and compared. CPU is beyond that of the same page uncompressed.")
SECONDS = 8, 45, 100

KB = corpus.KB
MANUAL, PART = "apache2-doc", "/manual/en/"
PAGES, MANY = 10, 1000  # of a visit; of a reader who returns while the dictionary lasts
LEAST = 2 * KB  # bytes; shorter pages only lead to another


def manual_pages(run, most):
    found, missing = packages.get([MANUAL], run.download)
    if missing:
        files = [(path.name, path) for path in sorted(corpus.DOCUMENTS.glob("*.html"))]
    else:
        files = [(name.partition(PART)[2], path) for name, path in found[0].of_kind(".html")
                 if PART in name]
    bodies = [(f"/manual/{name}", path.read_bytes()) for name, path in files
              if path.stat().st_size >= LEAST]
    pages = [visit.Page(path, body, body) for path, body in bodies]
    return (corpus.spread(pages, most or len(pages)),
            corpus.origin() if missing else packages.names(found))


def site_steps(run, site, visits, largest):
    """The steps of `visits` visits of ten pages; the other pages make the dictionary."""
    pages, origin = manual_pages(run, run.pick(30, 120, 0))
    run.add_corpus(SITE, [page.body for page in pages], origin)
    mixed = sorted(pages, key=lambda page: hashlib.sha256(page.url.encode()).digest())
    visited, others = mixed[:visits * PAGES], mixed[visits * PAGES:]
    parts = making.split(others)
    judged = [making.judge(one, parts.held) for one in making.make(parts, largest * KB)]
    best = making.best(judged, making.baseline(parts.held), MANY)
    if best is None:
        raise BenchError("no dictionary of these pages saves anything")
    put(site, "/dictionaries/site.dict", best.content)
    for page in visited:
        put(site, page.url, page.body)
    return [Step(SITE, 1 + place % PAGES, page.url, page.body,
                 best.content if place % PAGES else b"") for place, page in enumerate(visited)]


def cost(run, servers, steps):
    """A row for each case, way and round: CPU of the pages that have a dictionary."""
    later = [step for step in steps if step.dictionary]
    legs = [(case, name) for case in dict.fromkeys(step.case for step in later) for name in servers]
    rows = []
    for number, (case, name) in rounds.interleaved(run, legs):
        httpd, count = servers[name], 0
        pids = sample.family(httpd.pids, sample.read_parents())
        before = sample.cpu_of(pids)
        with contextlib.closing(httpd.connect()) as connection:
            while sample.cpu_of(pids) - before < run.pick(.001, .02, .05):
                for step in (one for one in later if one.case == case):
                    httpd.ask(connection, step.path, step.fields(WAYS[name]))
                    count += 1
        rows.append({"case": case, "way": name, "round": number, "requests": count,
                     overhead.FIGURE: round(1e6 * (sample.cpu_of(pids) - before) / count, 2)})
    return overhead.steady(rows, ("case", "way"))


def mean_bytes(rows, case, way):
    return stats.mean([row["bytes"] for row in rows if matches(row, {"case": case, "way": way})
                       and (row["page"] > 1 or case != SITE)], 1)


def find(tables):
    rows, costs = tables["pages"], tables[""]
    aims = {("dcz 9", SITE): {"there": "at most 0.68", "aim": (0, 0.68)}}
    of = [row for row in costs if row["case"] == SITE]
    return [Finding(f"{name}, {case}", f"bytes of {name}, to br 5's: {case}", exact(stats.ratio(
                mean_bytes(rows, case, name), mean_bytes(rows, case, BR))),
                **aims.get((name, case), {}))
            for case in dict.fromkeys(row["case"] for row in rows)
            for name in ("dcz 9", "dcz 3")] + [overhead.finding(
        f"cpu {name}", f"CPU beyond identity's, {name}, to {STOCK}'s: {SITE}", of, {"way": name},
        {"way": STOCK}, {"way": IDENTITY}) for name in ("dcz 3", "dcz 9", BR)]


def summaries(tables):
    middle = stats.medians(tables[""], ("case", "way"), [overhead.STEADY])
    return {"summary": ([
        {"case": case, "way": way, "bytes": mean_bytes(tables["pages"], case, way),
         "cpu_usec": figures[overhead.STEADY]} for (case, way), figures in middle.items()],
        "bytes of a page with a dictionary, and the CPU of its response; medians")}


def draw(run, rows):
    names = [name for name in WAYS if name != IDENTITY]
    with plot.figure(run, "", f"{SITE}: bytes by page of a visit", width=6.4) as (axes,):
        for place, name in enumerate(names):
            of = [[row["bytes"] for row in rows if matches(row, {"case": SITE, "way": name,
                                                                 "page": page})]
                  for page in range(1, PAGES + 1)]
            axes.plot(range(1, PAGES + 1), [stats.median(some) / 1e3 for some in of], "o-", ms=4,
                      color=f"C{place}", label=name)
        axes.set(xlabel="page of the visit", ylabel="KB, the median visit")
        axes.set_ylim(bottom=0)
        axes.legend(fontsize=7)


def run(run):
    site = run.folder("pages-served")
    steps = site_steps(run, site, run.pick(1, 4, 6), run.pick(16, 512, 512))
    notes = []
    for release in releases.RELEASES:
        try:
            old, new = releases.get(release, run.download)
        except BenchError as problem:
            notes.append(f"Not measured: {release.title}: {problem}.")
            continue
        run.add_corpus(release.title, [old, new], "npm")
        for path, body in zip(release.paths, (old, new)):
            put(site, path, body)
        steps.append(Step(release.title, 1, release.paths[1], new, old, "script"))
    learnt = {("/dictionaries/site.dict", "document"), *(
        (release.paths[0], "script") for release in releases.RELEASES
        if any(step.case == release.title for step in steps))}
    servers = {name: serve(run, site, way, learnt if way.level else ())
               for name, way in WAYS.items()}
    rows = sizes(servers, steps)
    costs = cost(run, servers, steps)
    run.save_table("pages", rows)
    run.save_table("", costs)
    draw(run, rows)
    return Outcome(f"dcz 9, {SITE}", "With a dictionary, pages from the second "
                   "on take {here} of brotli's bytes.", conditions=notes)
