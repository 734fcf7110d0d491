"""A 300 KB page: uncompressed, compressed for each request, for the first one, and beforehand.

After "gzip encoding and compress middleware": wrk, 100 connections, 10 seconds.
"""

from benchkit import corpus, load, plot, rounds, server, stats, web
from benchkit.findings import Finding, exact, number, paired
from benchkit.results import Outcome
from benchkit.setups import CACHE, CACHED, KEPT, LEVEL_6, location

TITLE = "a 300 KB page: plain, compressed for each request, once, precompressed"
SOURCE = "“gzip encoding and compress middleware” (2013)"
THERE = ("no figure; what wrk printed: 1381 requests a second plain, 225 compressed for each "
         "request, 2078 precompressed.")
SETUP = "One page of 345 KB, gzip level 6, 100 connections in a closed loop."
SECONDS = 6, 30, 60

PAGE_BYTES = 305826  # of the source's play, of which gzip left 0.298
CONNECTIONS = 100
REPORTED = {"plain": 1380.67, "each time": 224.70, "kept": 2078.08}  # req/s
SNIPPET = LEVEL_6 + location("/each") + CACHED + KEPT
FOLDERS = {"plain": "plain", "each time": "each", "cached": "cached", "kept": "kept"}


def has_length(leg):
    return float(leg.server.get(leg.path, leg.headers)[1].get("Content-Length") is not None)


def find(rows, lengths):
    def compare(key, over, under):
        there = REPORTED[over] / REPORTED[under]
        return Finding(key, f"requests a second, {over} to {under}",
                       paired(rows, {"variant": over}, {"variant": under}, "rate"),
                       f"{number(there)} times as often", (there, there))

    return [
        compare("each", "each time", "plain"), compare("kept", "kept", "plain"),
        compare("kept-each", "kept", "each time"),
        Finding("cached", "requests a second, compressed at the first request, to precompressed",
                paired(rows, {"variant": "cached"}, {"variant": "kept"}, "rate"),
                "at least 0.95", aim=(0.95, 9)),
        Finding("length-kept", "Content-Length of the precompressed page", exact(lengths["kept"]),
                "1: it says its length"),
        Finding("length-each", "Content-Length of the page compressed for each request",
                exact(lengths["each time"]), "0: it says none")]


def draw(run, rows, middle):
    spread = stats.intervals(rows, ("variant",), ("rate",))
    with plot.figure(run, "", "requests a second, and bytes", 2, 8, 3.2) as (rates, traffic):
        colours = (plot.IDENTITY, plot.GZIP, plot.CACHED, plot.KEPT)
        plot.bars(rates, list(FOLDERS), [spread[name,]["rate"] for name in FOLDERS],
                  color=colours)
        base = middle["plain",]["rate"] / REPORTED["plain"]
        rates.plot(list(REPORTED), [REPORTED[name] * base for name in REPORTED], "k_", ms=30,
                   label="the source, scaled to plain")
        rates.set_ylabel("requests a second")
        rates.legend()
        traffic.bar(list(FOLDERS), [middle[name,]["sent_bytes"] / 1e3 for name in FOLDERS],
                    color=colours)
        traffic.set_ylabel("KB of a response")


def run(run):
    body, origin = corpus.article(PAGE_BYTES, run)
    run.add_corpus("page", [body], origin)
    httpd = server.Httpd(run, "httpd", SNIPPET, CACHE, threads=CONNECTIONS)
    web.write_folders(httpd.site, [("page.html", body)], *FOLDERS.values())
    httpd.start()
    legs = [rounds.Leg({"variant": name}, httpd, f"/{folder}/page.html", body,
                       "" if name == "plain" else "gzip", "gzip")
            for name, folder in FOLDERS.items()]
    lengths = {leg.name: has_length(leg) for leg in legs}
    web.wait_cached(httpd, ["/cached/page.html"])
    rows = rounds.measure(run, legs, lambda leg: load.wrk(
        run, leg.url, leg.headers, run.pick(1, 1, 2), CONNECTIONS))
    run.save_table("", rows)
    figures = ("rate", "sent_bytes", "cpu_usec_per_response", "p50_ms")
    run.save_medians("summary", rows, ("variant",), figures)
    draw(run, rows, stats.medians(rows, ("variant",), figures))
    return Outcome(find(rows, lengths), "each", "Compressed for each request, the page is served "
                   "{here} times as often as plain; precompressed or kept, that cost is gone.",
                   conditions=rounds.remarks(rows, "variant"), tools=("wrk",))
