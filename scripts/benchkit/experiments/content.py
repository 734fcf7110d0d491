"""Sites' pages: their compressed size at each level of zlib, its CPU time and price.

After "Automatic and Dynamic Configuration of Data Compression for Web Servers", table 3 and figures
3 to 5. A site is a Debian package with HTML pages; a site's figure is that of its pages.
"""

import statistics

from benchkit import codecs, plot, rounds, stats, web
from benchkit.findings import Finding, exact, paired
from benchkit.results import PAPER, Outcome
from codeckit import engines

TITLE = "sites: ratio, CPU time and cost of every level of gzip"
SOURCE = f"{PAPER}, table 3, figures 3 to 5"
THERE = ("figure 4a, a dot for each of 465 sites: from level 1 to 9 the effort grows 2 to 6.5 "
         "times, and 9 to 27 % of the bytes are saved; 4b: what compresses well is compressed "
         "fast; figure 5, the cheapest level of each site: mostly 7, for some 6 or 8.")
SETUP = ("The pages of each site; zlib as mod_deflate calls it, one encoder for each page, CPU "
         "time of one thread; 0.044 for an hour of one CPU and 0.09 for a gigabyte.")
SECONDS = 4, 20, 60

LEVELS = range(1, 10)
USED = 5  # the source: sites use level 5.02 on average
PER_HOUR, PER_GIGABYTE = 0.044, 0.09


def measure(run, sites):
    """A row for every site, level and round: bytes and CPU of all of its pages."""
    largest = max(len(page) for site in sites for page in site.pages)
    zlib = engines.installed()["zlib"]
    encoders = {level: zlib.make(level, largest, False) for level in LEVELS}
    rows = []
    for number, (site, level) in rounds.interleaved(run, [(site, level) for site in sites
                                                          for level in LEVELS]):
        out, seconds = codecs.encode_all(encoders[level], site.pages)
        rows.append({"site": site.name, "level": level, "round": number,
                     "bytes_in": sum(map(len, site.pages)), "bytes_out": out,
                     "cpu_seconds": round(seconds, 7)})
    return rows


def price(figures):
    """The price of a site's pages: CPU and traffic."""
    return (figures["cpu_seconds"] / 3600 * PER_HOUR
            + figures["bytes_out"] / 1e9 * PER_GIGABYTE)


def summarize(rows):
    """A row for each site: its ratio, the effort and gain of level 9 over 1, its best level."""
    middle = stats.medians(rows, ("site", "level"), ("bytes_in", "bytes_out", "cpu_seconds"))
    found = []
    for site in dict.fromkeys(row["site"] for row in rows):
        of = {level: middle[site, level] for level in LEVELS}
        found.append({
            "site": site, "bytes": of[6]["bytes_in"],
            "ratio_6": stats.ratio(of[6]["bytes_out"], of[6]["bytes_in"]),
            "mb_per_second_6": stats.ratio(of[6]["bytes_in"] / 1e6, of[6]["cpu_seconds"]),
            "effort_9_to_1": stats.ratio(of[9]["cpu_seconds"], of[1]["cpu_seconds"]),
            "gain_9_to_1": 1 - stats.ratio(of[9]["bytes_out"], of[1]["bytes_out"]),
            "best_level": min(LEVELS, key=lambda level: price(of[level]))})
    return found


def find(rows, sites):
    def compare(key, text, over, under, figure, there, source):
        return Finding(key, text, paired(rows, {"level": over}, {"level": under}, figure,
                                         ("site",)), there, source)

    def median(figure):
        return exact(stats.median(site[figure] for site in sites))

    speed = -stats.correlation([site["ratio_6"] for site in sites],
                               [site["mb_per_second_6"] for site in sites])
    return [
        compare("effort", "CPU of level 9, to level 1's, mean of the sites", 9, 1, "cpu_seconds",
                "2 to 6.5 times", (2, 6.5)),
        compare("gain", "bytes of level 9, to level 1's", 9, 1, "bytes_out", "0.73 to 0.91",
                (0.73, 0.91)),
        compare("level-1", f"bytes of level 1, to level {USED}'s", 1, USED, "bytes_out", "1.0993",
                (1.0993, 1.0993)),
        compare("level-9", f"bytes of level 9, to level {USED}'s", 9, USED, "bytes_out", "0.9549",
                (0.9549, 0.9549)),
        Finding("ratio", "bytes out to bytes in at level 6, the median site", median("ratio_6"),
                "0.25; 0.11 to 0.53"),
        Finding("speed", "rank correlation of how well and how fast a site compresses",
                exact(speed), "highly correlated"),
        Finding("cheapest", "the level that is cheapest for most sites",
                exact(float(statistics.mode(site["best_level"] for site in sites))),
                "7; some 6 or 8")]


def draw(run, sites):
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


def run(run):
    served = web.sites(run, run.pick(1, 2, 4))[:run.pick(3, None, None)]
    run.add_corpus(f"{len(served)} sites", [page for site in served for page in site.pages],
                   ", ".join(f"{site.name} {site.version}" for site in served))
    rows = measure(run, served)
    sites = summarize(rows)
    run.save_table("", rows)
    run.save_table("sites", sites, "sites")
    draw(run, sites)
    return Outcome(find(rows, sites), "effort", "From level 1 to 9 the effort grows {here} times, "
                   "for the few bytes in the second row.", f"{len(sites)} sites.")
