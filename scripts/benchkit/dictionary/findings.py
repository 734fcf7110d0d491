"""The tables, the verdicts and the plot."""

from benchkit import overhead, plot, stats, verdict
from benchkit.dictionary import releases
from benchkit.dictionary.cases import MANUAL, WIKI
from benchkit.dictionary.servers import (BR, DCB, DCZ, DCZ_HIGH, DCZ_SMALL, IDENTITY, SIBLING,
                                         STOCK)

MOST_CPU, MOST_FIRST = 0.15, 1.01
MOST = {MANUAL: 0.68, WIKI: 0.22}  # of br 5's bytes, from the second page on
MOST_RELEASE = {releases.PATCH: 0.15, releases.MINOR: 0.35}  # of br 11's


def by_visit(sizes, case, way, figure="bytes", pages=range(2, 1000)):
    """{visit: bytes of these pages}."""
    return {visit: sum(row[figure] for row in members if row["page"] in pages)
            for (visit,), members in stats.group(
                [row for row in sizes if (row["case"], row["way"]) == (case, way)],
                "visit").items()}


def ratios(sizes, case, over, under, **options):
    """One for each visit."""
    tops, bottoms = (by_visit(sizes, case, way, **options) for way in (over, under))
    return [stats.ratio(tops[visit], bottoms[visit]) for visit in tops if bottoms.get(visit)]


def at_most(most, finding, found):
    """The verdict on ratios of bytes."""
    bounds = {"below": most, "origin": verdict.AIM, "drift": verdict.NO_DRIFT}
    if not found:
        return verdict.impossible(finding, f"at most {most}", "it was not run", **bounds)
    return verdict.judge(finding, found, f"at most {most}", **bounds)


def bytes_of(sizes, name, most, way):
    return at_most(most, f"{name}, {way}: bytes from the second page on, to br 5's",
                   ratios(sizes, name, way, BR))


def release_bytes(sizes, release, way):
    most = MOST_RELEASE[release.kind]
    finding = f"{release.title}, {way}: bytes of a {release.kind} release, to the br 11 sibling's"
    found = ratios(sizes, release.title, way, SIBLING)
    if not found:
        return at_most(most, finding, found)
    return verdict.exact(finding, *found, f"at most {most}", below=most, origin=verdict.AIM)


def cpu_of(costs, name):
    of = [row for row in costs if row["case"] == name and row["page"] > 1]
    return verdict.judge_interval(
        f"{name}, {DCZ}: CPU beyond identity's from the second page on, to mod_deflate 6's",
        *overhead.ratio(of, {"way": DCZ}, {"way": STOCK}, {"way": IDENTITY}, each=("page",)),
        f"at most {MOST_CPU}", below=MOST_CPU, origin=verdict.AIM)


def first_page(sizes, name, finding, figure):
    found = ratios(sizes, name, DCZ, BR, figure=figure, pages=(1,))
    return verdict.judge(f"{name}: the first page of a visit{finding}, to br 5's", found,
                         "within 1 %", below=MOST_FIRST, origin=verdict.AIM,
                         drift=verdict.NO_DRIFT)


def walked(walks, name):
    """Of a real browser's bytes from the second page on."""
    return at_most(MOST[name], f"{name}, {DCZ_HIGH}, walked by Chromium: bytes from the second "
                   "page on, to br's", ratios(walks, name, DCZ_HIGH, BR, figure="wire_bytes"))


def judge(sizes, costs, walks):
    found = [bytes_of(sizes, name, most, way) for name, most in MOST.items()
             for way in (DCZ_HIGH, DCZ)]
    found += [release_bytes(sizes, release, way) for release in releases.RELEASES
              for way in (DCZ_HIGH, DCZ)]
    names = list(dict.fromkeys(row["case"] for row in costs))
    found += [cpu_of(costs, name) for name in names]
    for name in (MANUAL, WIKI):
        if name in names:  # its head names the dictionary
            found += [first_page(sizes, name, "", "bytes"),
                      first_page(sizes, name, ", its head counted", "wire_bytes")]
    return found + [walked(walks, name) for name in (MANUAL, WIKI)]


def summarize(sizes, costs, transfers):
    """A row for each case and way: a page's bytes and CPU, and what a visit of ten takes.

    `transfers` has what a dictionary takes to send, for a case and a way.
    """
    middle = stats.medians(costs, ("case", "way", "page"), (overhead.STEADY,))
    cpu = {key: figures[overhead.STEADY] for key, figures in middle.items()}
    rows = []
    for (case, way), members in stats.group(sizes, "case", "way").items():
        visits = max(row["visit"] for row in members)
        first, later = (sum(row["bytes"] for row in members if (row["page"] == 1) == is_first)
                        for is_first in (True, False))
        pages = sum(row["page"] > 1 for row in members)
        net = [cpu[key] - cpu[case, IDENTITY, key[2]] for key in cpu
               if key[:2] == (case, way) and key[2] > 1]
        rows.append({
            "case": case, "way": way, "first_page": round(first / visits),
            "page": round(later / pages, 1), "of_br_5": mean_ratio(sizes, case, way, BR),
            "visit": round((first + later) / visits) + transfers.get((case, way), 0),
            "cpu_usec": round(sum(net) / len(net), 1) if net else ""})
    stock = {row["case"]: row["cpu_usec"] for row in rows if row["way"] == STOCK}
    return [{**row, "of_mod_deflate": share(row["cpu_usec"], stock[row["case"]])} for row in rows]


def share(part, whole):
    return round(stats.ratio(part, whole), 3) if part != "" else ""


def mean_ratio(sizes, case, over, under):
    found = ratios(sizes, case, over, under)
    return round(stats.geometric_mean(found), 4) if found else ""


COLOURS = {STOCK: plot.GZIP, "gzip 6": plot.CACHED, BR: plot.BR, "zstd 3": plot.THRESHOLD,
           DCZ: plot.KEPT, DCZ_HIGH: "#14532d", DCZ_SMALL: plot.IDENTITY, DCB: "#444444"}


def curves(rows, case, figures):
    """Of each way: its figure by the page of the visit, without identity's."""
    found = []
    for way, colour in COLOURS.items():
        pages = sorted({row["page"] for row in rows if (row["case"], row["way"]) == (case, way)})
        if pages:
            found.append(plot.Curve(pages, [figures[case, way, page] for page in pages], way,
                                    colour, ".-"))
    return found


def draw(run, sizes, costs):
    keys = "case", "way", "page"
    kilobytes = {key: sum(row["bytes"] for row in members) / len(members) / 1024
                 for key, members in stats.group(sizes, *keys).items()}
    used = {key: figures[overhead.STEADY]
            for key, figures in stats.intervals(costs, keys, (overhead.STEADY,)).items()}
    net = {(case, way, page): tuple(one - used[case, IDENTITY, page][0] for one in figure)
           for (case, way, page), figure in used.items()}
    present = [case for case in (MANUAL, WIKI) if any(row["case"] == case for row in costs)]
    panels = [plot.Panel("KB of a page", curves(sizes, case, kilobytes), title=case)
              for case in present]
    panels += [plot.Panel("CPU µs of a page beyond identity's", curves(costs, case, net),
                          title=case) for case in present]
    plot.panels(run, "", "bytes and CPU of each page over a visit", "page of the visit", panels,
                width=3.6 * len(panels))
