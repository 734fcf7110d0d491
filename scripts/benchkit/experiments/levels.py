"""A 120 KB dynamic page at every level of every coding: bytes, capacity and compression time.

After figures 1 and 3b of "Automatic and Dynamic Configuration of Data Compression for Web
Servers". The page comes from a handler, of unknown length, and is compressed for each response.
"""

import re

from benchkit import (corpus, download, handler, load, machine, overhead, plot, rounds, server,
                      stats, verdict)
from benchkit.headline import Headline
from benchkit.outcome import PAPER, Outcome
from benchkit.run import Scale
from benchkit.setups import location, mod_deflate

SUMMARY = "bytes, capacity and compression time at every level, for a 120 KB dynamic page"
SOURCE = f"{PAPER}, figures 1 and 3b"
THERE = {"": "figure 1, three diagrams over levels 1 to 9 of gzip: bytes saved grow, the capacity "
             "in requests shrinks, and the compression time of a 120 KB page grows to three times "
             "level 1's",
         "download": "no figure; section 2.3: compression tends to delay the first byte, and "
                  "shortens the whole download dramatically"}
FIXED = ("one dynamic page of 120 KB, four clients in a closed loop, one server, and one for each "
         "level of mod_deflate")

SCALES = {"smoke": Scale(1, 0.02, only=3, stock=(1, 9)), "quick": Scale(8, 0.1, stock=(1, 6, 9)),
          "full": Scale(40, 0.3, least=6)}
SECONDS = {"smoke": 3, "quick": 101, "normal": 250, "full": 420}

HEADLINE = Headline("How much longer does gzip level 9 take than level 1?",
                    "About as much longer as its levels do.",
                    "Not two to six and a half times as long.",
                    "gzip level 9 takes several times the compression time of level 1")

PAGE_BYTES = 120 * corpus.KB
LEVELS = {"gzip": range(1, 10), "br": range(12), "zstd": range(1, 13)}
IDENTITY = ("identity", 0)
STOCK = "mod_deflate"  # zlib alone: what is left of the gain beside it is not the engine's

# Enough to keep the server's CPU busy whatever the level, and few enough that one response of the
# slowest level does not wait long for its turn.
CLIENTS = 4
TIE = 1.05  # levels whose figures differ by less count as equal: rounds differ as much

SNIPPET = """
BufferedLogs On
LogFormat "%U %{{elastic-coding}}n %{{elastic-level}}n %{{elastic-usec}}n" levels
CustomLog {folder}/levels.log levels
"""


def setups_of(codings, only=0):
    """(coding, level) of identity and the codings that are built in; `only` so many levels."""
    return [IDENTITY] + [(coding, level) for coding, levels in LEVELS.items() if coding in codings
                         for level in levels[::(len(levels) - 1) // (only - 1) if only else 1]]


def path_of(coding, level):
    return "/identity" if coding == "identity" else f"/{coding}-{level}"


def start_server(run, page, setups, name="httpd", **options):
    snippet = SNIPPET
    for coding, level in setups:
        path = path_of(coding, level)
        snippet += handler.snippet(path)
        if coding != "identity":
            snippet += location(path, f"ElasticCodings {coding}",
                                f"ElasticLevel {coding} {level} {level}")
    httpd = server.Httpd(run, name, snippet, modules=handler.MODULES, **options)
    handler.write(httpd.folder, page)
    return httpd.start()


def parse_log(text):
    """{path: CPU microseconds of the sampled responses} of the server's log.

    Times marked ~ are elapsed, not CPU: they hold the waits for the other clients' responses.
    """
    times = {}
    for path, usec in re.findall(r"^(\S+) \S+ \S+ (\d+)$", text, re.MULTILINE):
        times.setdefault(path, []).append(int(usec))
    return times


def summarize(page, rows, times):
    """A row for each setup: medians, and the compression time in two ways."""
    middle = stats.medians(rows, ("coding", "level"),
                           ("rate", "sent_bytes", "cpu_usec_per_response", overhead.STEADY))
    base = middle[IDENTITY][overhead.STEADY]
    found = [{
        "coding": coding, "level": level, "body_bytes": len(page),
        "sent_bytes": figures["sent_bytes"],
        "saved_percent": round(100 - 100 * figures["sent_bytes"] / len(page), 2),
        "rate": figures["rate"],
        # Responses per second of CPU: the rate that the server would reach on a CPU of its own.
        "capacity": round(stats.ratio(1e6, figures[overhead.STEADY]), 2),
        "cpu_usec_per_response": round(figures["cpu_usec_per_response"], 1),
        # What a response costs more than the same response without compression.
        "compression_usec": round(figures[overhead.STEADY] - base, 1),
        "encoder_usec": stats.median(times.get(path_of(coding, level), ()))}
        for (coding, level), figures in middle.items()]
    return [{**row, "worse_than_a_higher": "yes" if is_dominated(row, found) else ""}
            for row in found]


def is_dominated(row, rows):
    """Whether a higher level of the coding costs less time, and sends fewer bytes."""
    return any(other["coding"] == row["coding"] and other["level"] > row["level"]
               and other["compression_usec"] * TIE < row["compression_usec"]
               and other["sent_bytes"] < row["sent_bytes"] for other in rows)


def beside_stock(rows):
    """A row for each level of mod_deflate: this module's CPU for gzip of that level, to its own,
    with the 95 % interval; and the bytes.
    """
    sent = stats.medians(rows, ("coding", "level"), ["sent_bytes"])
    found = []
    for level in (level for coding, level in sent if coding == STOCK):
        sides = ({"coding": coding, "level": level} for coding in ("gzip", STOCK))
        cpu, low, high = overhead.ratio(rows, *sides, {"coding": "identity"})[0]
        found.append({"level": level, "cpu_to_mod_deflate": cpu, "low": low, "high": high,
                      "bytes_to_mod_deflate": stats.ratio(sent["gzip", level]["sent_bytes"],
                                                          sent[STOCK, level]["sent_bytes"])})
    return found


def draw(run, summary, rows):
    spread = stats.intervals(rows, ("coding", "level"), ("sent_bytes", overhead.STEADY))
    base = spread[IDENTITY][overhead.STEADY][0]

    def of_figure(key, row):
        """A level's (middle, low, high) of a column of the summary."""
        figures = spread[row["coding"], row["level"]]
        cpu = figures[overhead.STEADY]
        return {"sent_bytes": figures["sent_bytes"],
                "capacity": tuple(stats.ratio(1e6, cpu[place]) for place in (0, 2, 1)),
                "compression_usec": tuple(max(one - base, 0) for one in cpu)}[key]

    panels = []
    for key, label, scale, title in (
            ("sent_bytes", "KB sent", 1 / corpus.KB, "gain: bytes of a page"),
            ("capacity", "responses per second of CPU", 1, "pain: capacity"),
            ("compression_usec", "ms of CPU", 1e-3, "pain: compression time")):
        curves = []
        for coding, colour, mark in (("gzip", plot.GZIP, "o-"), ("br", plot.BR, "s-"),
                                     ("zstd", plot.KEPT, "^-"), (STOCK, plot.IDENTITY, "x--")):
            of = [row for row in summary if row["coding"] == coding]
            curves.append(plot.Curve([row["level"] for row in of], [
                stats.scaled(of_figure(key, row), scale) for row in of], coding, colour, mark))
        panels.append(plot.Panel(label, curves, key != "sent_bytes", title))
    plot.panels(run, "", "bytes, capacity and compression time by level", "level", panels,
                xticks=range(13))


def at_one_speed(rows):
    return overhead.steady(rows, ("coding", "level"))


def judge(rows):
    def sides(coding):
        return [{"coding": coding, "level": level} for level in (9, 1)]

    def time(coding):
        return verdict.judge_interval(
            f"{coding} level 9 takes several times the compression time of level 1",
            *overhead.ratio(rows, *sides(coding), {"coding": "identity"}),
            "3 times on its page, 2 to 6.5 times by site", above=2, below=6.5,
            origin=verdict.SOURCE, there=(3, 3))

    return [
        time("gzip"),
        verdict.compare("and so much more CPU per response, so that capacity falls", rows,
                        sides("gzip"), overhead.STEADY, "about a third of the capacity", above=1.5,
                        there=(3, 3), origin=verdict.loosened(verdict.SOURCE, "3", "what a page "
                                                              "costs beside compression differs")),
        verdict.compare("level 9 saves bytes over level 1", rows, sides("gzip"), "sent_bytes",
                        "9 to 27 % fewer", below=0.91, there=(0.73, 0.91),
                        origin=verdict.SOURCE),
        time(STOCK)]


def run(run):
    page = corpus.page(PAGE_BYTES, run.pages)
    run.add_corpus("page", [page], corpus.origin(run.pages))
    codings = server.built_in(run, *LEVELS)
    setups = setups_of(codings, run.scale.only)
    httpd = start_server(run, page, setups)
    legs = [rounds.Leg({"coding": coding, "level": level}, httpd, path_of(coding, level), page,
                       *((coding, coding) if coding != "identity" else ()))
            for coding, level in setups]
    legs += [handler.leg(run, mod_deflate(level), {"coding": STOCK, "level": level}, page)
             for level in run.scale.stock]
    run.begin_part(0.7)
    rows = at_one_speed(rounds.measure(run, legs, load.fixed_counts(run, legs, CLIENTS),
                                       lambda rows: HEADLINE.is_narrow(judge(at_one_speed(rows)))))
    run.save_table("", rows)
    httpd.stop()  # writes out its buffered log
    times = parse_log((httpd.folder / "levels.log").read_text(encoding="utf-8"))
    summary = summarize(page, rows, times)
    run.save_table("summary", summary, "medians")
    run.save_table("stock", beside_stock(rows), "this module's gzip beside mod_deflate, by level")
    draw(run, summary, rows)
    run.begin_part(0.3)
    downloads, note = download.try_measure(run, page, lambda place: (
        start_server(run, page, setups_of(codings), "download", place=place), path_of))
    if downloads:
        download.save(run, downloads)
    text = "\n".join([
        machine.heading(run, "h2load"),
        f"A dynamic page of {len(page)} bytes (SHA-256 {corpus.digest(page)}…), {CLIENTS} clients "
        "over HTTP/1.1, each leg a fixed number of requests. Capacity is responses per second of "
        "the server's CPU; compression time is its CPU per response less that of identity; "
        "encoder is the module's own sampled measure.",
        "The source: level 9 takes 3 times the time of level 1; capacity falls likewise.",
        *([note] if note else [])])
    return Outcome(text, judge(rows) + download.judge(downloads), HEADLINE, rounds.remarks(rows))
