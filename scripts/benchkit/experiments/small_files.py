"""Eleven text files of 1 KB to 1 MB over HTTP/2: identity against gzip.

After "Why Compressing Small Files is a Bad Idea": h2load, 20 clients, each file with and without
gzip. The source's server kept the compressed files; here gzip is measured four ways: made for each
response, made only above the one-segment threshold, made for the first response and kept in memory,
and kept as precompressed siblings.
"""

import math

from benchkit import corpus, load, machine, plot, rounds, server, stats, verdict, web
from benchkit.headline import Headline
from benchkit.outcome import Outcome
from benchkit.run import Scale
from benchkit.setups import CACHE, CACHED, KEPT, LEVEL_6, location

SUMMARY = "identity against gzip for files of 1 KB to 1 MB over HTTP/2 (req/s, bytes)"
SOURCE = "“Why Compressing Small Files is a Bad Idea”"
THERE = {"": "bars of requests per second and client for the same eleven sizes: identity 51 to 56 "
             "up to 32K, then falling from 41 to 12; gzip 52 to 41 throughout. Areas of the bytes "
             "sent: identity's grow with the file, gzip's stay within a segment up to 32K"}
FIXED = "eleven files, gzip level 6, 20 clients over HTTP/2 that each wait for the response"

SCALES = {"smoke": Scale(1, 0.02, only=4), "quick": Scale(8, 0.06), "full": Scale(40, 0.3, least=6)}
SECONDS = {"smoke": 6, "quick": 47, "normal": 240, "full": 420}

HEADLINE = Headline(
    "Are files up to 32 KB served less often with gzip, even where it is kept?",
    "Yes, less often than identity.", "No, no less often than identity.",
    "kept gzip is served less often than identity up to 32K")

CLIENTS = 20
LINK_SECONDS = 0.5  # of a leg on a link, at the least
SMALL = 32 * corpus.KB  # the source: identity wins up to here, gzip above

SNIPPET = (LEVEL_6 + "Alias /gzip {site}/identity\nAlias /threshold {site}/identity\n"
           + location("/gzip", "ElasticMinSize 0") + location("/threshold", "ElasticMinSize auto")
           + CACHED + KEPT)

VARIANTS = {
    "identity": ("identity", plot.IDENTITY),
    "kept": ("gzip, kept sibling", plot.KEPT),
    "cached": ("gzip, kept at the first request", plot.CACHED),
    "gzip": ("gzip, each time", plot.GZIP),
    "threshold": ("gzip, each time, above one segment", plot.THRESHOLD),
}

# The response's header decides with the body's size what the threshold leaves alone.
CODINGS = {"identity": "", "kept": "gzip", "cached": "gzip", "gzip": "gzip", "threshold": None}


def make_load(run, legs):
    """The function that loads a leg: on a link for a while, since its rate is not known beforehand.

    Without a link so many requests as take about that long: of a short run, what its end cuts off
    would be a large part.
    """
    if not run.link:
        return load.fixed_counts(run, legs, CLIENTS)
    seconds = max(run.scale.seconds, LINK_SECONDS)
    return lambda leg: load.h2load(run, leg.url, leg.headers, CLIENTS, seconds=seconds,
                                   http2=leg.http2)


def draw(run, names, rows, middle):
    spread = stats.intervals(rows, ("file", "variant"), ("rate",))
    with plot.figure(run, "", "requests per second and client (bars), bytes (areas)",
                     width=9) as (axes,):
        traffic = axes.twinx()
        traffic.set_zorder(axes.get_zorder() - 1)
        axes.patch.set_visible(False)
        traffic.grid(False)
        plot.grouped_bars(axes, [name.partition(".")[0] for name in names], {
            label: (colour, [stats.scaled(spread[name, variant]["rate"], 1 / CLIENTS)
                             for name in names])
            for variant, (label, colour) in VARIANTS.items()})
        for variant in ("identity", "kept"):
            sent = [middle[name, variant]["sent_bytes"] / corpus.KB for name in names]
            traffic.fill_between(range(len(names)), sent, color=VARIANTS[variant][1], alpha=0.2,
                                 lw=0)
        axes.set(yscale="log", xlabel="file", ylabel="requests per second and client (bars)")
        traffic.set(yscale="log", ylabel="KB sent per response (areas: identity, kept gzip)")
        axes.legend(loc="lower center", bbox_to_anchor=(0.5, 1), ncol=len(VARIANTS), fontsize=8)


def judge(files, rows):
    """The source's findings on its own way, kept gzip, and the threshold's for gzip each time."""
    small = [name for name, body in files if len(body) <= SMALL]
    large = [name for name, _ in files if name not in small]
    alone = [name for name, body in files
             if {row["sent_bytes"] for row in rows
                 if row["file"] == name and row["variant"] == "threshold"} == {len(body)}]
    if not small or not large:
        return [verdict.impossible("identity wins up to 32K, gzip above", "51–56 against 41–52",
                                   "the pages given are all on one side of 32K")]

    def compare(finding, figure, names, reported, sides=("kept", "identity"), **bounds):
        return verdict.compare(finding, [row for row in rows if row["file"] in names],
                               [{"variant": side} for side in sides], figure, reported,
                               each=("file",), **bounds)

    # Both send a file as it is.
    alike = {"drift": verdict.FILES_DRIFT, "origin": verdict.SOURCE}
    return [
        compare("kept gzip is served less often than identity up to 32K", "rate", small,
                "about 0.9 times", below=1, there=(0.9, 0.9), **alike),
        compare("kept gzip is served more often than identity above 32K", "rate", large,
                "1 to 3.4 times", above=1, there=(1, 3.4), origin=verdict.SOURCE),
        compare("a kept sibling costs the server more CPU than identity up to 32K",
                "cpu_usec_per_response", small, "2 ms more each", above=1, there=(1, math.inf),
                **alike),
        compare("identity's bytes grow as the file does, kept gzip's hardly", "sent_bytes", large,
                "down to 1/200", below=0.1, there=(0.005, 0.5)),
        compare("files that are kept at the first request are served as often as siblings", "rate",
                small + large, "its server does that", ("cached", "kept"), above=0.95,
                origin=verdict.AIM),
        compare("files within one segment cost less CPU where the threshold leaves them",
                "cpu_usec_per_response", alone, "nothing is gained by compressing them",
                ("threshold", "gzip"), below=1, origin=verdict.SOURCE)
        if alone or len(files[0][1]) > corpus.KB else
        verdict.exact("files within one segment are left alone: how many", 0, "–", above=0)]


def summarize(middle):
    """A row for each file and variant: medians, and their ratios to identity's."""
    return [{"file": name, "variant": variant, **figures, **{
        f"{key}_to_identity": stats.ratio(figures[figure], middle[name, "identity"][figure])
        for key, figure in (("rate", "rate"), ("cpu", "cpu_usec_per_response"))}}
            for (name, variant), figures in middle.items()]


def write_paragraph(run, files, middle):
    first, last = files[0][0], files[-1][0]
    identity = [middle[name, "identity"]["rate"] / CLIENTS for name in (first, last)]
    ratios = [len(body) / middle[name, "kept"]["sent_bytes"] for name, body in files]
    return "\n".join([
        machine.heading(run, "h2load"),
        f"{CLIENTS} clients over h2c, one request at a time each; files "
        f"{', '.join(name.partition('.')[0] for name, _ in files)} that gzip makes "
        f"{min(ratios):.1f} to {max(ratios):.0f} times smaller "
        f"(SHA-256 of the largest {corpus.digest(files[-1][1])}…).",
        "The source: identity wins from 1K to 32K (51–56 against 41–52 req/s/client), gzip from "
        "64K on, where identity falls from 41 to 12.",
        f"Here: identity {identity[0]:.0f} req/s/client at {first} and {identity[1]:.1f} at "
        f"{last}."])


def run(run):
    files = corpus.small_files(run.pages)
    # A few of them: from both ends, so that both sides of the source's finding are there.
    files = files[::len(files) // run.scale.only] if run.scale.only else files
    run.add_corpus("files", [body for _, body in files], corpus.origin(run.pages))
    httpd = server.Httpd(run, "httpd", SNIPPET, CACHE)
    web.write_folders(httpd.site, files, "identity", "cached", "kept")
    httpd.start()
    web.wait_cached(httpd, [f"/cached/{name}" for name, _ in files])
    legs = [rounds.Leg({"file": name, "variant": variant}, httpd, f"/{variant}/{name}", body,
                       CODINGS[variant], "gzip", http2=True)
            for name, body in files for variant in VARIANTS]
    rows = rounds.measure(run, legs, make_load(run, legs),
                          lambda rows: HEADLINE.is_narrow(judge(files, rows)))
    run.save_table("", rows)
    middle = stats.medians(rows, ("file", "variant"),
                           ("rate", "sent_bytes", "cpu_usec_per_response", "p50_ms"))
    run.save_table("summary", summarize(middle), "medians")
    draw(run, [name for name, _ in files], rows, middle)
    return Outcome(write_paragraph(run, files, middle), judge(files, rows), HEADLINE,
                   rounds.remarks(rows))
