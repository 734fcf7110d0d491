"""A 120 KB dynamic page at every level of every coding: bytes, capacity and compression time.

After figures 1 and 3b of "Automatic and Dynamic Configuration of Data Compression for Web Servers".
The page comes from a handler, of unknown length, and is compressed for each response.
"""

from benchkit import corpus, handler, load, overhead, plot, rounds, server, stats
from benchkit.findings import Finding, paired
from benchkit.results import PAPER, Outcome
from benchkit.setups import location, mod_deflate

TITLE = "bytes, capacity and compression time at every level, for a 120 KB dynamic page"
SOURCE = f"{PAPER}, figures 1 and 3b"
THERE = ("figure 1, three diagrams over levels 1 to 9 of gzip: bytes saved grow, the capacity in "
         "requests shrinks, and the compression time of a 120 KB page grows to three times level "
         "1's.")
SETUP = ("One dynamic page of 120 KB, four clients in a closed loop over HTTP/1.1. Capacity is "
         "responses per second of the server's CPU, compression time its CPU per response less "
         "that of the same page uncompressed.")
SECONDS = 5, 50, 110

LEVELS = {"gzip": range(1, 10), "br": range(0, 10), "zstd": range(1, 13)}
IDENTITY = ("identity", 0)
STOCK = "mod_deflate"  # zlib alone: the difference to it is due to the engine
CLIENTS = 4
KEYS = "coding", "level"
COLOURS = {"gzip": plot.GZIP, "br": plot.BR, "zstd": plot.KEPT, STOCK: plot.IDENTITY}


def start(run, page, setups):
    """An httpd that has each (coding, level) at a path of its own."""
    snippet = ""
    for coding, level in setups:
        path = path_of(coding, level)
        snippet += handler.snippet(path)
        if coding != "identity":
            snippet += location(path, f"ElasticCodings {coding}",
                                f"ElasticLevel {coding} {level} {level}")
    httpd = server.Httpd(run, "httpd", snippet, modules=handler.MODULES)
    handler.write(httpd.folder, page)
    return httpd.start()


def path_of(coding, level):
    return f"/{coding}-{level}"


def stock_leg(run, page, level):
    setup = mod_deflate(level)
    httpd = setup.serve(run, f"{STOCK}-{level}", handler.snippet("/page"), handler.MODULES)
    handler.write(httpd.folder, page)
    return setup.leg(dict(zip(KEYS, (STOCK, level))), httpd.start(), "/page", page)


def summarize(page, rows):
    """A row of medians for each setup."""
    middle = stats.medians(rows, KEYS, ("sent_bytes", overhead.STEADY))
    base = middle[IDENTITY][overhead.STEADY]
    return [{"coding": coding, "level": level, "sent_bytes": figures["sent_bytes"],
             "saved_percent": round(100 - 100 * figures["sent_bytes"] / len(page), 2),
             "capacity": round(stats.ratio(1e6, figures[overhead.STEADY]), 1),
             "compression_usec": round(figures[overhead.STEADY] - base, 1)}
            for (coding, level), figures in middle.items()]


def find(rows):
    def leg(coding, level):
        return dict(zip(KEYS, (coding, level)))

    def time(key, coding):
        return overhead.finding(
            key, f"compression time of {coding} 9, to level 1's", rows, leg(coding, 9),
            leg(coding, 1), leg(*IDENTITY), there="3 times; 2 to 6.5 by site", source=(2, 6.5))

    sides = leg("gzip", 9), leg("gzip", 1)
    return [
        time("time", "gzip"), time("stock", STOCK),
        Finding("cpu", "CPU of a response at gzip 9, to gzip 1's", paired(
            rows, *sides, overhead.STEADY), "3: a third of the capacity", (3, 3)),
        Finding("bytes", "bytes of gzip 9, to gzip 1's", paired(rows, *sides, "sent_bytes"),
                "0.73 to 0.91", (0.73, 0.91)),
        *(overhead.finding(
            f"stock-{level}", f"compression time of gzip {level}, to mod_deflate {level}'s", rows,
            leg("gzip", level), leg(STOCK, level), leg(*IDENTITY)) for level in (1, 6, 9))]


def draw(run, summary):
    panels = []
    for key, label, scale, log in (
            ("sent_bytes", "KB sent", 1 / corpus.KB, False),
            ("capacity", "responses per second of CPU", 1, True),
            ("compression_usec", "compression, ms of CPU", 1e-3, True)):
        curves = []
        for coding, colour in COLOURS.items():
            of = [row for row in summary if row["coding"] == coding and row[key] > 0]
            curves.append(plot.Curve([row["level"] for row in of], [scale * row[key] for row in of],
                                     coding, colour, "x--" if coding == STOCK else "o-"))
        panels.append(plot.Panel(label, curves, log))
    plot.panels(run, "", "bytes, capacity and compression time by level", "level", panels)


def run(run):
    page = corpus.text(120 * corpus.KB)
    run.add_corpus("page", [page], corpus.origin())
    setups = [IDENTITY] + [(coding, level) for coding in server.built_in(run, *LEVELS)
                           for level in run.pick((1, 9), LEVELS[coding], LEVELS[coding])
                           if level in LEVELS[coding]]
    httpd = start(run, page, setups)
    legs = [rounds.Leg(dict(zip(KEYS, (coding, level))), httpd, path_of(coding, level), page,
                       *((coding, coding) if coding != "identity" else ()))
            for coding, level in setups]
    legs += [stock_leg(run, page, level) for level in (1, 6, 9)]
    rows = overhead.steady(rounds.measure(run, legs, load.fixed_counts(
        run, legs, CLIENTS, run.pick(.02, .1, .2))), KEYS)
    run.save_table("", rows)
    summary = summarize(page, rows)
    run.save_table("summary", summary, "medians")
    draw(run, summary)
    return Outcome(find(rows), "time", "gzip 9 takes {here} times the compression time of gzip 1, "
                   "for the bytes that the third row of figures shows.",
                   conditions=rounds.remarks(rows), tools=("h2load",))
