"""Six experiments that are legs and ratios of their figures: the harness's control, and five after
publications. TABLE has their texts, and the function that measures each of them."""

import math
import statistics
import typing

from benchkit import codecs, corpus, handler, load, overhead, plot, rounds, server, stats, web
from benchkit.findings import Finding, compare, exact, number
from benchkit.results import PAPER, Outcome, medians
from benchkit.setups import CACHE, CACHED, KEPT, LEVEL_6, location, mod_deflate
from codeckit import engines

KB = corpus.KB
FIGURES = "rate", "sent_bytes", "cpu_usec_per_response", "p50_ms"


def finish(run, rows, keys, figures=FIGURES):
    """Saves the rows; returns the medians with their intervals."""
    run.save_table("", rows)
    return stats.intervals(rows, keys, figures)


def control(run):
    page = corpus.text(64 * KB)
    run.add_corpus("page", [page], corpus.origin())
    httpd = server.Httpd(run, "httpd", LEVEL_6 + "Elastic On\n")
    for name in "AB":
        (httpd.site / f"{name}.html").write_bytes(page)
    httpd.start()
    legs = [rounds.Leg({"leg": name}, httpd, f"/{name}.html", page, "gzip", "gzip")
            for name in "AB"]
    rows = load.closed(run, legs, 4, run.pick(.05, .1, .3))
    run.save_table("", rows)
    return Outcome(
        "cpu_usec_per_response", "Two legs that do the same differ by a factor of {here}: what is "
        "smaller than that cannot be seen here.", conditions=rounds.remarks(rows),
        tools=("h2load",))


def control_findings(tables):
    return [compare(tables[""], key, f"{name}, B's to A's", {"leg": "B"}, {"leg": "A"}, key,
                    "1, within 5 %", aim=(0.95, 1.05)) for key, name in (
                        ("cpu_usec_per_response", "CPU per response"),
                        ("rate", "requests per second"))]


# Of the source: the bytes of its play, and its requests a second. Gzip left 0.298 of the play.
PAGE_BYTES, CONNECTIONS = 305826, 100
REPORTED = {"plain": 1380.67, "each time": 224.70, "kept": 2078.08}
WAYS = {"plain": ("plain", plot.IDENTITY), "each time": ("each", plot.GZIP),
        "cached": ("cached", plot.CACHED), "kept": ("kept", plot.KEPT)}


def static_vs_dynamic(run):
    body, origin = corpus.article(PAGE_BYTES, run)
    run.add_corpus("page", [body], origin)
    httpd = server.Httpd(run, "httpd", LEVEL_6 + location("/each") + CACHED + KEPT, CACHE,
                         threads=CONNECTIONS)
    web.write_folders(httpd.site, [("page.html", body)], *(folder for folder, _ in WAYS.values()))
    httpd.start()
    legs = [rounds.Leg({"variant": name}, httpd, f"/{folder}/page.html", body,
                       "" if name == "plain" else "gzip", "gzip")
            for name, (folder, _) in WAYS.items()]
    run.save_table("lengths", [
        {"variant": leg.name,
         "length": float("Content-Length" in httpd.get(leg.path, leg.headers)[1])} for leg in legs])
    web.wait_cached(httpd, ["/cached/page.html"])
    rows = load.closed(run, legs, CONNECTIONS, run.pick(.1, 1, 2))
    spread = finish(run, rows, ("variant",))
    with plot.figure(run, "", "requests a second, and bytes", 2, 8, 3.2) as (rates, traffic):
        colours = [colour for _, colour in WAYS.values()]
        plot.bars(rates, list(WAYS), [spread[name,]["rate"] for name in WAYS], color=colours)
        base = spread["plain",]["rate"][0] / REPORTED["plain"]
        rates.plot(list(REPORTED), [one * base for one in REPORTED.values()], "k_", ms=30,
                   label="the source, scaled to plain")
        rates.set_ylabel("requests a second")
        rates.legend()
        traffic.bar(list(WAYS), [spread[name,]["sent_bytes"][0] / 1e3 for name in WAYS],
                    color=colours)
        traffic.set_ylabel("KB of a response")

    return Outcome(
        "each", "Compressed for each request, the page is served {here} times as often as plain; "
        "precompressed or kept, that cost is gone.", conditions=rounds.remarks(rows, "variant"),
        tools=("h2load",))


def static_findings(tables):
    rows = tables[""]
    lengths = {row["variant"]: exact(row["length"]) for row in tables["lengths"]}

    def often(key, over, under):
        there = REPORTED[over] / REPORTED[under]
        return compare(rows, key, f"requests a second, {over} to {under}", {"variant": over},
                       {"variant": under}, "rate", f"{number(there)} times as often",
                       source=(there, there), because="plain pages are sent far more often here "
                       "than there, and compressed ones about as often")

    return [
        often("each", "each time", "plain"), often("kept", "kept", "plain"),
        often("kept-each", "kept", "each time"),
        compare(rows, "cached", "requests a second, compressed at the first request, to "
                "precompressed", {"variant": "cached"}, {"variant": "kept"}, "rate",
                "at least 0.95", aim=(0.95, 9)),
        Finding("length-kept", "Content-Length of the precompressed page", lengths["kept"],
                "1: it says its length"),
        Finding("length-each", "Content-Length of the page compressed for each request",
                lengths["each time"], "0: it says none")]


CLIENTS = 20
SMALL = 32 * KB  # the source: identity wins up to here, gzip above
VARIANTS = {
    "identity": ("identity", plot.IDENTITY, ""),
    "kept": ("gzip, precompressed", plot.KEPT, "gzip"),
    "cached": ("gzip, kept at the first request", plot.CACHED, "gzip"),
    "gzip": ("gzip, each time", plot.GZIP, "gzip"),
    # The threshold depends on the size of the header and the body.
    "threshold": ("gzip, each time, above one segment", plot.THRESHOLD, None)}


def small_files(run):
    files = corpus.small_files()[::run.pick(5, 1, 1)]
    run.add_corpus("files", [body for _, body in files], corpus.origin())
    httpd = server.Httpd(
        run, "httpd", LEVEL_6 + "Alias /gzip {site}/identity\nAlias /threshold {site}/identity\n"
        + location("/gzip", "ElasticMinSize 0") + location("/threshold", "ElasticMinSize auto")
        + CACHED + KEPT, CACHE)
    web.write_folders(httpd.site, files, "identity", "cached", "kept")
    httpd.start()
    web.wait_cached(httpd, [f"/cached/{name}" for name, _ in files])
    legs = [rounds.Leg({"file": name, "variant": variant}, httpd, f"/{variant}/{name}", body,
                       coding, "gzip", http2=True)
            for name, body in files for variant, (_, _, coding) in VARIANTS.items()]
    rows = load.closed(run, legs, CLIENTS, run.pick(.02, .06, .2))
    spread = finish(run, rows, ("file", "variant"))
    with plot.figure(run, "", "requests a second and client, by file", width=9) as (axes,):
        plot.grouped_bars(axes, [name.partition(".")[0] for name, _ in files], {
            label: (colour, [tuple(one / CLIENTS for one in spread[name, variant]["rate"])
                             for name, _ in files])
            for variant, (label, colour, _) in VARIANTS.items()})
        axes.set(yscale="log", xlabel="file", ylabel="requests a second and client")
        axes.legend(loc="lower center", bbox_to_anchor=(0.5, 1), ncol=3, fontsize=8)
    return Outcome(
        "small", "Up to 32 KB, files that are kept compressed are served {here} times as often as "
        "uncompressed ones: on a fast network small files gain nothing.",
        conditions=rounds.remarks(rows), tools=("h2load",))


def small_findings(tables):
    rows = tables[""]
    small = [row for row in rows if row["body_bytes"] <= SMALL]
    large = [row for row in rows if row["body_bytes"] > SMALL]
    alone = {row["file"] for row in rows
             if row["variant"] == "threshold" and row["sent_bytes"] == row["body_bytes"]}

    def sides(of, key, text, figure, there, over="kept", under="identity", **more):
        return compare(of, key, text, {"variant": over}, {"variant": under}, figure, there,
                       ("file",), **more)

    return [
        sides(small, "small", "requests a second up to 32K, kept gzip to identity", "rate",
              "about 0.9 times", source=(0.9, 0.9)),
        sides(large, "large", "requests a second above 32K, kept gzip to identity", "rate",
              "1 to 3.4 times", source=(1, 3.4)),
        sides(small, "cpu", "the server's CPU up to 32K, kept gzip to identity",
              "cpu_usec_per_response", "2 ms more each", source=(1, math.inf)),
        sides(rows, "cached", "requests a second, kept at the first request to precompressed",
              "rate", "at least 0.95", "cached", aim=(0.95, 9), under="kept"),
        Finding("alone", "files that the one-segment threshold leaves as they are",
                exact(len(alone)), "at least one", aim=(1, math.inf)),
        sides([row for row in rows if row["file"] in alone], "threshold", "CPU of these files, "
              "left alone to compressed", "cpu_usec_per_response",
              "nothing is gained by compressing them", "threshold", "gzip", source=(0, 1))]


def context_reuse(run):
    files, origin = web.web_files(run, run.pick(12, 80, 160))
    bodies = [body for _, body in files]
    run.add_corpus("web files", bodies, origin)
    largest, total = max(map(len, bodies)), sum(map(len, bodies))
    legs = [(name, level, context, engine.make(level, largest, context == engines.KEPT))
            for name, engine in engines.installed().items() for level in engine.levels
            for context in engine.contexts]
    rows = []
    for turn, (name, level, context, encoder) in rounds.interleaved(run, legs):
        with codecs.fresh_memory(context == engines.FRESH):
            out, seconds = codecs.encode_all(encoder, bodies)
        rows.append({"engine": name, "level": level, "context": context, "round": turn,
                     "ratio": round(out / total, 5), "cpu_seconds": round(seconds, 6),
                     "files_per_second": round(stats.ratio(len(bodies), seconds), 1)})
    middle = finish(run, rows, ("engine", "level", "context"), ("ratio", "files_per_second"))
    colours = dict(zip(engines.KINDS, (plot.GZIP, plot.IDENTITY, plot.KEPT, plot.THRESHOLD,
                                      plot.BR)))
    with plot.figure(run, "", "speed and ratio of each level", width=7, height=4.2) as (axes,):
        for engine, context in dict.fromkeys((name, kind) for name, _, kind in middle):
            if context == engines.REMADE:
                continue  # near one of the others; the table has it
            points = [figures for (name, _, kind), figures in middle.items()
                      if (name, kind) == (engine, context)]
            plot.Curve([one["ratio"][0] for one in points],
                       [one["files_per_second"] for one in points], f"{engine}, {context}",
                       colours[engine], "o-" if context == engines.KEPT else "x--").draw(axes)
        axes.set(yscale="log", xlabel="bytes out / bytes in", ylabel="files per second of CPU")
        axes.legend(fontsize=7)
    return Outcome(
        "fresh", "An encoder made for each response serves {here} times as many files as one that "
        "is kept: this module keeps them.",
        f"{len(bodies)} files, {total / len(bodies):.0f} bytes on average.")


def context_findings(tables):
    zlib = [row for row in tables[""] if row["engine"] == "zlib"]
    kept = [row for row in zlib if row["context"] == engines.KEPT]
    return [
        compare(zlib, "fresh", "files a second, zlib's fresh encoders to kept ones",
                {"context": engines.FRESH}, {"context": engines.KEPT}, "files_per_second",
                "0.65 times as many", ("level",), source=(0.65, 0.65), because="zlib's encoders lie "
                "in memory of malloc, which nothing collects as garbage"),
        compare(kept, "bytes", "zlib's bytes, level 9 to level 5", {"level": 9}, {"level": 5},
                "ratio", "“only very small gains” above level 5", source=(0.9, 1)),
        compare(kept, "speed", "zlib's files a second, level 9 to level 5", {"level": 9},
                {"level": 5}, "files_per_second", "about 0.6 times", source=(0.6, 0.6))]


LEVELS = range(1, 10)
USED = 5  # the source: sites use level 5.02 on average
PER_HOUR, PER_GIGABYTE = 0.044, 0.09


def content(run):
    served = web.sites(run, run.pick(1, 2, 4))[:run.pick(3, None, None)]
    run.add_corpus(f"{len(served)} sites", [page for site in served for page in site.pages],
                   ", ".join(f"{site.name} {site.version}" for site in served))
    largest = max(len(page) for site in served for page in site.pages)
    encoders = {level: engines.installed()["zlib"].make(level, largest, False) for level in LEVELS}
    rows = []
    for turn, (site, level) in rounds.interleaved(run, [(site, level) for site in served
                                                        for level in LEVELS]):
        out, seconds = codecs.encode_all(encoders[level], site.pages)
        rows.append({"site": site.name, "level": level, "round": turn,
                     "bytes_in": sum(map(len, site.pages)), "bytes_out": out,
                     "cpu_seconds": round(seconds, 7)})
    sites = summarize_sites(rows)
    run.save_table("", rows)
    draw_sites(run, sites)
    return Outcome(
        "effort", "From level 1 to 9 the effort grows {here} times, for the few bytes in the second"
        " row.", f"{len(sites)} sites.")


def content_findings(tables):
    rows = tables[""]
    sites = summarize_sites(rows)

    def by_level(key, text, over, under, column, there, *source):
        return compare(rows, key, text, {"level": over}, {"level": under}, column, there,
                       ("site",), source=(source[0], source[-1]))

    speed = -stats.correlation([site["ratio_6"] for site in sites],
                               [site["mb_per_second_6"] for site in sites])
    return [
        by_level("effort", "CPU of level 9, to level 1's, mean of the sites", 9, 1, "cpu_seconds",
                 "2 to 6.5 times", 2, 6.5),
        by_level("gain", "bytes of level 9, to level 1's", 9, 1, "bytes_out", "0.73 to 0.91",
                 0.73, 0.91),
        by_level("level-1", f"bytes of level 1, to level {USED}'s", 1, USED, "bytes_out",
                 "1.0993", 1.0993),
        by_level("level-9", f"bytes of level 9, to level {USED}'s", 9, USED, "bytes_out",
                 "0.9549", 0.9549),
        Finding("ratio", "bytes out to bytes in at level 6, the median site",
                exact(stats.median(site["ratio_6"] for site in sites)), "0.25; 0.11 to 0.53"),
        Finding("speed", "rank correlation of how well and how fast a site compresses",
                exact(speed), "highly correlated"),
        Finding("cheapest", "the level that is cheapest for most sites",
                exact(float(statistics.mode(site["best_level"] for site in sites))),
                "7; some 6 or 8")]


def summarize_sites(rows):
    """A row for each site: its ratio, the effort and gain of level 9 over 1, its best level."""
    middle = stats.medians(rows, ("site", "level"), ("bytes_in", "bytes_out", "cpu_seconds"))
    found = []
    for site in dict.fromkeys(row["site"] for row in rows):
        of = {level: middle[site, level] for level in LEVELS}
        price = {level: one["cpu_seconds"] / 3600 * PER_HOUR + one["bytes_out"] / 1e9 * PER_GIGABYTE
                 for level, one in of.items()}
        found.append({
            "site": site, "bytes": of[6]["bytes_in"],
            "ratio_6": stats.ratio(of[6]["bytes_out"], of[6]["bytes_in"]),
            "mb_per_second_6": stats.ratio(of[6]["bytes_in"] / 1e6, of[6]["cpu_seconds"]),
            "effort_9_to_1": stats.ratio(of[9]["cpu_seconds"], of[1]["cpu_seconds"]),
            "gain_9_to_1": 1 - stats.ratio(of[9]["bytes_out"], of[1]["bytes_out"]),
            "best_level": min(price, key=price.get)})
    return found


def draw_sites(run, sites):
    with plot.figure(run, "", "sites: figures 4a, 4b and 5 of the source", 3, 11, 3.4) as (
            gain, speed, best):
        for axes, x, y, xlabel, ylabel in (
                (gain, [100 * site["gain_9_to_1"] for site in sites], "effort_9_to_1",
                 "bytes saved by level 9 over level 1, %", "CPU, times level 1's"),
                (speed, [site["ratio_6"] for site in sites], "mb_per_second_6",
                 "bytes out / bytes in at level 6", "MB per second of CPU")):
            axes.plot(x, [site[y] for site in sites], "o", ms=4, color=plot.GZIP)
            axes.set(xlabel=xlabel, ylabel=ylabel)
            axes.set_ylim(bottom=0)
        counts = [sum(site["best_level"] == level for site in sites) for level in LEVELS]
        best.bar(LEVELS, [100 * count / len(sites) for count in counts], color=plot.KEPT)
        best.set(xlabel="cheapest level", ylabel="% of sites")
        best.set_xticks(LEVELS)


CODINGS = {"gzip": LEVELS, "br": range(0, 10), "zstd": range(1, 13)}
NOT_ZLIB = "gzip 1 is ISA-L's here, and not zlib's"
STOCK = "mod_deflate"  # zlib alone: the difference to it is due to the engine
COLOURS = {"gzip": plot.GZIP, "br": plot.BR, "zstd": plot.KEPT, STOCK: plot.IDENTITY}


def labels(coding, level):
    return {"coding": coding, "level": level}


def levels_legs(run, page):
    """One httpd has each coding and level at a path of its own; mod_deflate has others."""
    setups = [("identity", 0)] + [
        (coding, level) for coding in server.built_in(run, *CODINGS)
        for level in run.pick((1, 9), CODINGS[coding], CODINGS[coding])
        if level in CODINGS[coding]]
    snippet = ""
    for coding, level in setups:
        snippet += handler.snippet(f"/{coding}-{level}")
        if coding != "identity":
            snippet += location(f"/{coding}-{level}", f"ElasticCodings {coding}",
                                f"ElasticLevel {coding} {level} {level}")
    httpd = server.Httpd(run, "httpd", snippet, modules=handler.MODULES)
    handler.write(httpd.folder, page)
    httpd.start()
    legs = [rounds.Leg(labels(coding, level), httpd, f"/{coding}-{level}", page,
                       *((coding, coding) if coding != "identity" else ()))
            for coding, level in setups]
    for level in (1, 6, 9):
        setup = mod_deflate(level)
        stock = setup.serve(run, f"{STOCK}-{level}", handler.snippet("/page"), handler.MODULES)
        handler.write(stock.folder, page)
        legs.append(setup.leg(labels(STOCK, level), stock.start(), "/page", page))
    return legs


def levels_summary(rows):
    middle = stats.medians(rows, ("coding", "level"), ("sent_bytes", overhead.STEADY))
    base = middle["identity", 0][overhead.STEADY]
    return [{"coding": coding, "level": level, "sent_bytes": one["sent_bytes"],
             "saved_percent": round(100 - 100 * one["sent_bytes"] / rows[0]["body_bytes"], 2),
             "capacity": round(stats.ratio(1e6, one[overhead.STEADY]), 1),
             "compression_usec": round(one[overhead.STEADY] - base, 1)}
            for (coding, level), one in middle.items()]


def levels(run):
    page = corpus.text(120 * KB)
    run.add_corpus("page", [page], corpus.origin())
    legs = levels_legs(run, page)
    rows = overhead.steady(load.closed(run, legs, 4, run.pick(.02, .1, .2)), ("coding", "level"))
    run.save_table("", rows)
    summary = levels_summary(rows)
    plot.panels(run, "", "bytes, capacity and compression time by level", "level", [
        plot.Panel(label, [plot.Curve(
            [row["level"] for row in summary if row["coding"] == coding and row[key] > 0],
            [scale * row[key] for row in summary if row["coding"] == coding and row[key] > 0],
            coding, colour, "x--" if coding == STOCK else "o-")
            for coding, colour in COLOURS.items()], log)
        for key, label, scale, log in (
            ("sent_bytes", "KB sent", 1 / KB, False),
            ("capacity", "responses per second of CPU", 1, True),
            ("compression_usec", "compression, ms of CPU", 1e-3, True))])
    return Outcome("time", "gzip 9 takes {here} times the compression time of gzip 1, for the bytes "
                   "that the fourth row of figures shows.", conditions=rounds.remarks(rows),
                   tools=("h2load",))


def levels_findings(tables):
    rows = tables[""]

    def time(key, text, over, under, **more):
        return overhead.finding(key, f"compression time of {text}'s", rows, over, under,
                                labels("identity", 0), because=NOT_ZLIB, **more)

    sides = labels("gzip", 9), labels("gzip", 1)
    return [
        *(time(key, f"{coding} 9, to level 1", labels(coding, 9), labels(coding, 1),
               there="3 times; 2 to 6.5 by site", source=(2, 6.5))
          for key, coding in (("time", "gzip"), ("stock", STOCK))),
        compare(rows, "cpu", "CPU of a response at gzip 9, to gzip 1's", *sides, overhead.STEADY,
                "3: a third of the capacity", source=(3, 3), because=NOT_ZLIB),
        compare(rows, "bytes", "bytes of gzip 9, to gzip 1's", *sides, "sent_bytes",
                "0.73 to 0.91", source=(0.73, 0.91)),
        *(time(f"stock-{level}", f"gzip {level}, to mod_deflate {level}", labels("gzip", level),
               labels(STOCK, level)) for level in (1, 6, 9))]


class Experiment(typing.NamedTuple):
    run: object
    find: object
    summaries: object
    SECONDS: tuple
    TITLE: str
    SETUP: str
    SOURCE: str = ""
    THERE: str = ""


TABLE = {
    "control": Experiment(
        control, control_findings, lambda tables: {}, (2, 10, 30),
        "the same leg under two names: what difference the harness sees where there is none",
        "One page of 64 KB, gzip level 6, four clients in a closed loop, as A and as B."),
    "static-vs-dynamic": Experiment(
        static_vs_dynamic, static_findings, medians(("variant",), FIGURES), (6, 30, 60),
        "a 300 KB page: plain, compressed for each request, once, precompressed",
        "One page of 345 KB, gzip level 6, 100 connections in a closed loop.",
        "“gzip encoding and compress middleware” (2013)",
        "no figure; what wrk printed: 1381 requests a second plain, 225 compressed for each "
        "request, 2078 precompressed."),
    "small-files": Experiment(
        small_files, small_findings, medians(("file", "variant"), FIGURES), (8, 40, 100),
        "identity against gzip for files of 1 KB to 1 MB over HTTP/2",
        "Eleven files, gzip level 6, 20 clients over HTTP/2 that each wait for the response. The "
        "files are made so that gzip leaves of each what the source's leave: up to 32K it fits "
        "one segment.",
        "“Why Compressing Small Files is a Bad Idea”",
        "bars of requests per second and client for the same eleven sizes: identity 51 to 56 up "
        "to 32K, then falling from 41 to 12; gzip 52 to 41 throughout. Areas of the bytes sent: "
        "identity's grow with the file, gzip's stay within a segment up to 32K."),
    "context-reuse": Experiment(
        context_reuse, context_findings, medians(
            ("engine", "level", "context"), ("ratio", "files_per_second")), (3, 25, 70),
        "web files: encoders made for each file and encoders kept, at each level",
        "The same web files in the same order, one thread, CPU time, each engine's own levels. "
        "`fresh`: an encoder is made for each file in memory fresh from the system; `remade`: in "
        "memory that was used before; `kept`: one encoder is set back.",
        "“Gzip Performance for Go Webservers”",
        "a chart with files per second upwards and the ratio to the right, a curve for each "
        "library: little is gained above level 5. That a writer made for each request loses about "
        "35 % is in the text."),
    "content": Experiment(
        content, content_findings,
        lambda tables: {"sites": (summarize_sites(tables[""]), "sites")}, (4, 20, 60),
        "sites: ratio, CPU time and cost of every level of gzip",
        "The pages of each site; zlib as mod_deflate calls it, one encoder for each page, CPU "
        "time of one thread; 0.044 for an hour of one CPU and 0.09 for a gigabyte.",
        f"{PAPER}, table 3, figures 3 to 5",
        "figure 4a, a dot for each of 465 sites: from level 1 to 9 the effort grows 2 to 6.5 "
        "times, and 9 to 27 % of the bytes are saved; 4b: what compresses well is compressed "
        "fast; figure 5, the cheapest level of each site: mostly 7, for some 6 or 8."),
    "levels": Experiment(
        levels, levels_findings,
        lambda tables: {"summary": (levels_summary(tables[""]), "medians")}, (5, 50, 110),
        "bytes, capacity and compression time at every level, for a 120 KB dynamic page",
        "One dynamic page of 120 KB, four clients in a closed loop over HTTP/1.1. Capacity is "
        "responses per second of the server's CPU, compression time its CPU per response less "
        "that of the same page uncompressed.",
        f"{PAPER}, figures 1 and 3b",
        "figure 1, three diagrams over levels 1 to 9 of gzip: bytes saved grow, the capacity in "
        "requests shrinks, and the compression time of a 120 KB page grows to three times level "
        "1's.")}
