"""A 120 KB dynamic page at every level of every coding: bytes, capacity and compression time.

After figures 1 and 3b of "Automatic and Dynamic Configuration of Data Compression for Web
Servers". The page comes from a handler, of unknown length, and is compressed for each response.
"""

import math
import re

from benchkit import (corpus, download, handler, load, machine, overhead, plot, rounds, server, stats,
                      verdict, web)
from benchkit.outcome import Outcome
from benchkit.run import Scale

SUMMARY = "bytes, capacity and compression time at every level, for a 120 KB dynamic page"
SOURCE = ("“Automatic and Dynamic Configuration of Data Compression for Web Servers”, figures 1 "
          "and 3b")

SCALES = {"smoke": Scale(1, 0.02, only=3), "quick": Scale(8, 0.1), "normal": Scale(12, 0.6),
          "full": Scale(20, 3)}
SECONDS = {"smoke": 2, "quick": 85, "normal": 400, "full": 2500}

PAGE_BYTES = 120 * corpus.KB

LEVELS = {"gzip": range(1, 10), "br": range(12), "zstd": range(1, 13)}

# Enough to keep the server's CPU busy whatever the level, and few enough that one response of the
# slowest level does not wait long for its turn.
CLIENTS = 4

TIE = 1.05  # levels whose figures differ by less count as equal: rounds differ as much

SNIPPET = """
LuaScope thread
BufferedLogs On
LogFormat "%U %{{elastic-coding}}n %{{elastic-level}}n %{{elastic-usec}}n" levels
CustomLog {folder}/levels.log levels
"""

LEVEL_SNIPPET = """
LuaMapHandler ^{path}$ {{folder}}/page.lua handle
<Location {path}>
    Elastic On
    ElasticCodings {coding}
    ElasticLevel {coding} {level} {level}
</Location>
"""

IDENTITY_SNIPPET = """
LuaMapHandler ^/identity$ {folder}/page.lua handle
"""


def make_legs(page, codings, only=0):
    """The legs of the codings that are built in; with `only`, so many levels of each."""
    legs = [rounds.Leg({"coding": "identity", "level": 0}, "/identity", page)]
    legs += [rounds.Leg({"coding": coding, "level": level}, f"/{coding}-{level}", page,
                        coding, coding)
             for coding, levels in LEVELS.items() if coding in codings
             for level in levels[::(len(levels) - 1) // (only - 1) if only else 1]]
    return legs


def levels_in(middle, coding):
    return [level for of_coding, level in middle if of_coding == coding]


def make_server(run, page, legs, name="httpd", **options):
    snippet = SNIPPET + IDENTITY_SNIPPET
    snippet += "".join(LEVEL_SNIPPET.format(path=leg.path, **leg.labels) for leg in legs[1:])
    httpd = server.Httpd(run, name, snippet, modules=handler.MODULES, **options)
    handler.write_script(httpd.folder / "page.lua", page)
    return httpd


def parse_log(text):
    """{path: CPU microseconds of the sampled responses} of the server's log.

    Times marked ~ are elapsed, not CPU: they hold the waits for the other clients' responses.
    """
    times = {}
    for path, usec in re.findall(r"^(\S+) \S+ \S+ (\d+)$", text, re.MULTILINE):
        times.setdefault(path, []).append(int(usec))
    return times


def summarize(legs, rows, times):
    """{(coding, level): figures}: medians, and the compression time in two ways."""
    middle = stats.medians(rows, ("coding", "level"),
                           ("rate", "sent_bytes", "cpu_usec_per_response", overhead.STEADY))
    base = middle["identity", 0][overhead.STEADY]
    for leg in legs:
        figures = middle[leg.labels["coding"], leg.labels["level"]]
        # What a response costs beyond the same response without compression.
        figures["compression_usec"] = figures[overhead.STEADY] - base
        # Responses per second of CPU: the rate that the server would reach on a CPU of its own.
        figures["capacity"] = stats.ratio(1e6, figures[overhead.STEADY])
        figures["encoder_usec"] = stats.median(times.get(leg.path, ()))
    return middle


def summary_rows(middle, page):
    return [{"coding": coding, "level": level, "body_bytes": len(page),
             "sent_bytes": figures["sent_bytes"],
             "saved_percent": round(100 - 100 * figures["sent_bytes"] / len(page), 2),
             "rate": figures["rate"], "capacity": round(figures["capacity"], 2),
             "cpu_usec_per_response": round(figures["cpu_usec_per_response"], 1),
             "compression_usec": round(figures["compression_usec"], 1),
             "encoder_usec": figures["encoder_usec"]}
            for (coding, level), figures in middle.items()]


def draw(run, middle):
    panels = (("sent_bytes", "KB sent", 1 / corpus.KB, "gain: bytes of a page"),
              ("capacity", "responses per second of CPU", 1, "pain: capacity"),
              ("compression_usec", "ms of CPU", 1e-3, "pain: compression time"))
    with plot.figure(run, run.name, len(panels), width=11, height=3.6) as all_axes:
        for axes, (key, label, scale, title) in zip(all_axes, panels):
            for coding, colour, mark in (("gzip", plot.GZIP, "o"), ("br", plot.BR, "s"),
                                         ("zstd", plot.KEPT, "^")):
                levels = levels_in(middle, coding)
                if not levels:
                    continue
                axes.plot(levels, [middle[coding, level][key] * scale for level in levels],
                          marker=mark, ms=4, color=colour, label=coding)
            axes.set_title(title)
            axes.set_xlabel("level")
            axes.set_xticks(range(13))
            axes.set_ylabel(label)
            if key == "sent_bytes":
                axes.set_ylim(bottom=0)
            else:
                axes.set_yscale("log")
            axes.legend()


def write_table(middle):
    lines = [f"{'coding':<8} {'level':>5} {'bytes':>7} {'req/s':>8} {'per CPU s':>9} "
             f"{'compression ms':>14} {'encoder ms':>10}"]
    for (coding, level), figures in middle.items():
        name = str(level) if coding != "identity" else "-"
        encoder = figures["encoder_usec"] / 1e3
        lines.append(f"{coding:<8} {name:>5} {figures['sent_bytes']:>7.0f} "
                     f"{figures['rate']:>8.1f} {figures['capacity']:>9.1f} "
                     f"{figures['compression_usec'] / 1e3:>14.2f} "
                     f"{'-' if math.isnan(encoder) else format(encoder, '.2f'):>10}")
    return "\n".join(lines)


def compare(middle, one, other, figure):
    """How many times as large a figure is at `other` as at `one`."""
    return stats.ratio(middle[other][figure], middle[one][figure])


def write_figures(middle):
    gzip = ("gzip", 1), ("gzip", 9)
    br = ("br", 0), ("br", max(levels_in(middle, "br")))
    time = compare(middle, *gzip, "compression_usec")
    capacity = 1 / compare(middle, *gzip, "capacity")
    capacities = [middle["gzip", level]["capacity"] for level in levels_in(middle, "gzip")]
    falls = all(later < earlier * TIE for earlier, later in zip(capacities, capacities[1:]))
    return (f"Here, gzip level 9 takes {time:.1f} times the compression time of level 1, has "
            f"{capacity:.1f} times less capacity and saves "
            f"{100 - 100 * compare(middle, *gzip, 'sent_bytes'):.1f} % of its bytes; capacity "
            f"{'falls' if falls else 'does not fall'} from level to level. "
            f"br level {br[1][1]} takes "
            f"{compare(middle, *br, 'compression_usec'):.0f} times the time of level 0 for "
            f"{100 - 100 * compare(middle, *br, 'sent_bytes'):.1f} % fewer bytes."
            f"{write_dominated(middle)}")


def write_dominated(middle):
    """Names the levels that cost more time than a higher one of their coding, and more bytes."""
    worse = [f"{coding} {level}" for coding in LEVELS for level in levels_in(middle, coding)
             if any(middle[coding, higher]["compression_usec"] * TIE
                    < middle[coding, level]["compression_usec"]
                    and middle[coding, higher]["sent_bytes"] < middle[coding, level]["sent_bytes"]
                    for higher in levels_in(middle, coding) if higher > level)]
    return f" Slower and larger than a higher level: {', '.join(worse)}." if worse else ""


def find_verdicts(rows):
    one, nine = ({"coding": "gzip", "level": level} for level in (1, 9))
    return [
        verdict.judge_interval(
            "gzip level 9 takes several times the compression time of level 1",
            *overhead.ratio(rows, nine, one, {"coding": "identity"}),
            "3 times on its page, 2 to 6.5 times by site", above=2, below=6.5),
        verdict.judge("and so much more CPU per response, so that capacity falls",
                      verdict.per_round(rows, nine, one, overhead.STEADY),
                      "about a third of the capacity", above=1.5),
        verdict.judge("level 9 saves bytes over level 1",
                      verdict.per_round(rows, nine, one, "sent_bytes"), "9 to 27 % fewer",
                      below=0.95)]


def write_paragraph(run, page, rows, middle):
    parts = [
        f"levels. {machine.describe(run, 'h2load')}",
        f"A dynamic page of {len(page)} bytes (SHA-256 {corpus.digest(page)}…), {CLIENTS} clients "
        "over HTTP/1.1, each leg a fixed number of requests. Capacity is responses per second of "
        "the server's CPU; compression time is its CPU per response less that of identity; "
        "encoder is the module's own sampled measure.",
        "The source: level 9 takes 3 times the time of level 1; capacity falls likewise.",
        write_figures(middle), *rounds.remarks(rows)]
    return "\n".join(parts) + "\n\n" + write_table(middle)


def run(run):
    page = corpus.page(PAGE_BYTES, run.pages)
    run.corpora.append(web.composition("page", [page], corpus.origin(run.pages)))
    codings = server.built_in(run, *LEVELS)
    legs = make_legs(page, codings, run.scale.only)
    httpd = make_server(run, page, legs)
    httpd.start()
    counts = {leg.path: load.count_requests(httpd, leg, CLIENTS, run.scale.seconds) for leg in legs}
    rows = rounds.measure(run, httpd, legs, lambda leg: load.h2load(
        run, httpd.url(leg.path), leg.headers, CLIENTS, requests=counts[leg.path], http1=True))
    rows = overhead.steady(rows, ("coding", "level"))
    run.save_table(run.name, rows)
    httpd.stop()  # writes out its buffered log
    times = parse_log((httpd.folder / "levels.log").read_text(encoding="utf-8"))
    middle = summarize(legs, rows, times)
    run.save_table("levels-summary", summary_rows(middle, page))
    draw(run, middle)
    tables = {"medians": "levels-summary"}
    plots = {"bytes, capacity and compression time by level": run.name}
    downloads, note = download.try_measure(run, lambda place: make_server(
        run, page, make_legs(page, codings), "download", place=place).start())
    if downloads:
        save_downloads(run, downloads)
        tables["first byte and whole page, medians"] = "levels-download-summary"
        plots["first byte and whole page by the link's rate"] = "levels-download"
    return Outcome(write_paragraph(run, page, rows, middle) + (f"\n{note}" if note else ""),
                   find_verdicts(rows) + download.judge(downloads), tables, plots)


def save_downloads(run, downloads):
    run.save_table("levels-download", downloads)
    keys = ("rate", "coding", "level")
    run.save_table("levels-download-summary", [
        {**dict(zip(keys, key)), **figures} for key, figures in stats.medians(
            downloads, keys, ("first_byte_ms", "download_ms", "sent_bytes")).items()])
    download.draw(run, downloads, "levels-download")
