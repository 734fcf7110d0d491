"""Eleven text files of 1 KB to 1 MB over HTTP/2: identity against gzip.

After "Why Compressing Small Files is a Bad Idea": h2load, 20 clients, each file with and without
gzip. The source's server kept the compressed files; here gzip is measured four ways: made for each
response, made only above the one-segment threshold, made for the first response and cached in
memory, and as precompressed files.
"""

import math

from benchkit import corpus, load, plot, rounds, server, stats, web
from benchkit.findings import Finding, exact, paired
from benchkit.results import Outcome
from benchkit.setups import CACHE, CACHED, KEPT, LEVEL_6, location

TITLE = "identity against gzip for files of 1 KB to 1 MB over HTTP/2"
SOURCE = "“Why Compressing Small Files is a Bad Idea”"
THERE = ("bars of requests per second and client for the same eleven sizes: identity 51 to 56 up "
         "to 32K, then falling from 41 to 12; gzip 52 to 41 throughout. Areas of the bytes sent: "
         "identity's grow with the file, gzip's stay within a segment up to 32K.")
SETUP = ("Eleven files, gzip level 6, 20 clients over HTTP/2 that each wait for the response. The "
         "files are made so that gzip leaves of each what the source's leave: up to 32K it fits "
         "one segment.")
SECONDS = 8, 40, 100

CLIENTS = 20
SMALL = 32 * corpus.KB  # the source: identity wins up to here, gzip above
SNIPPET = (LEVEL_6 + "Alias /gzip {site}/identity\nAlias /threshold {site}/identity\n"
           + location("/gzip", "ElasticMinSize 0") + location("/threshold", "ElasticMinSize auto")
           + CACHED + KEPT)
VARIANTS = {
    "identity": ("identity", plot.IDENTITY, ""),
    "kept": ("gzip, precompressed", plot.KEPT, "gzip"),
    "cached": ("gzip, kept at the first request", plot.CACHED, "gzip"),
    "gzip": ("gzip, each time", plot.GZIP, "gzip"),
    # The threshold depends on the size of the header and the body.
    "threshold": ("gzip, each time, above one segment", plot.THRESHOLD, None)}


def find(files, rows):
    """The source's findings for its own way, kept gzip, and the threshold's for gzip each time."""
    small = [name for name, body in files if len(body) <= SMALL]
    large = [name for name, _ in files if name not in small]
    alone = [name for name, body in files
             if {row["sent_bytes"] for row in rows
                 if row["file"] == name and row["variant"] == "threshold"} == {len(body)}]

    def compare(key, text, figure, names, there, sides=("kept", "identity"), **more):
        return Finding(key, text, paired(
            [row for row in rows if row["file"] in names],
            *({"variant": side} for side in sides), figure, ("file",)), there, **more)

    return [
        compare("small", "requests a second up to 32K, kept gzip to identity", "rate", small,
                "about 0.9 times", source=(0.9, 0.9)),
        compare("large", "requests a second above 32K, kept gzip to identity", "rate", large,
                "1 to 3.4 times", source=(1, 3.4)),
        compare("cpu", "the server's CPU up to 32K, kept gzip to identity",
                "cpu_usec_per_response", small, "2 ms more each", source=(1, math.inf)),
        compare("cached", "requests a second, kept at the first request to precompressed", "rate",
                small + large, "at least 0.95", ("cached", "kept"), aim=(0.95, 9)),
        Finding("alone", "files that the one-segment threshold leaves as they are",
                exact(len(alone)), "at least one", aim=(1, len(files))),
        compare("threshold", "CPU of these files, left alone to compressed",
                "cpu_usec_per_response", alone, "nothing is gained by compressing them",
                ("threshold", "gzip"), source=(0, 1))]


def draw(run, names, rows):
    spread = stats.intervals(rows, ("file", "variant"), ("rate",))
    with plot.figure(run, "", "requests a second and client, by file", width=9) as (axes,):
        plot.grouped_bars(axes, [name.partition(".")[0] for name in names], {
            label: (colour, [stats.scaled(spread[name, variant]["rate"], 1 / CLIENTS)
                             for name in names])
            for variant, (label, colour, _) in VARIANTS.items()})
        axes.set(yscale="log", xlabel="file", ylabel="requests a second and client")
        axes.legend(loc="lower center", bbox_to_anchor=(0.5, 1), ncol=3, fontsize=8)


def run(run):
    files = corpus.small_files()[::run.pick(5, 1, 1)]
    run.add_corpus("files", [body for _, body in files], corpus.origin())
    httpd = server.Httpd(run, "httpd", SNIPPET, CACHE)
    web.write_folders(httpd.site, files, "identity", "cached", "kept")
    httpd.start()
    web.wait_cached(httpd, [f"/cached/{name}" for name, _ in files])
    legs = [rounds.Leg({"file": name, "variant": variant}, httpd, f"/{variant}/{name}", body,
                       coding, "gzip", http2=True)
            for name, body in files for variant, (_, _, coding) in VARIANTS.items()]
    rows = rounds.measure(run, legs, load.fixed_counts(run, legs, CLIENTS, run.pick(.02, .06, .2)))
    run.save_table("", rows)
    run.save_medians("summary", rows, ("file", "variant"),
                     ("rate", "sent_bytes", "cpu_usec_per_response", "p50_ms"))
    draw(run, [name for name, _ in files], rows)
    return Outcome(find(files, rows), "small", "Up to 32 KB, files that are kept compressed are "
                   "served {here} times as often as uncompressed ones: on a fast network small "
                   "files gain nothing.", conditions=rounds.remarks(rows), tools=("h2load",))
