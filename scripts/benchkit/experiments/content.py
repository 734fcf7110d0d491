"""Sites' pages: what they compress to at each level, for how much CPU, and at what price.

After "Automatic and Dynamic Configuration of Data Compression for Web Servers", tables 1 to 3,
figures 3 to 5. A site is a Debian package with HTML pages, or dokuwiki behind php-fpm; a figure of
a site is that of its pages together. zlib is called as mod_deflate calls it;
beside it stand the other engines of gzip.
"""

import statistics

from benchkit import (codecs, identify_encoder, machine, plot, rounds, stats, survey, verdict,
                      web)
from benchkit.headline import Headline
from benchkit.outcome import PAPER, Outcome
from benchkit.run import Scale
from codeckit import engines

SUMMARY = "sites: ratio, effort and price of every level; which library made a body"
SOURCE = f"{PAPER}, tables 1 to 3, figures 3 to 5"
THERE = {"": "figure 3a, the share of sites up to each level, cumulated: 6 in the median, 5.02 in "
             "the mean; 3b, the least, mean and most effort at each level: at level 1 the slowest "
             "site takes 3.5 times the fastest's; figure 5, the cheapest level of each site: "
             "mostly 7, for some 6 or 8",
         "sites": "figure 4a, a dot for each site: from level 1 to 9 the effort grows 2 to 6.5 "
                  "times, and 9 to 27 % of the bytes are saved; 4b: what compresses well is "
                  "compressed fast"}
FIXED = "the pages of each site, zlib as mod_deflate calls it, one thread, the two prices"

SCALES = {"smoke": Scale(1, 0, sites=3, pages=1), "quick": Scale(6, 0, pages=2),
          "full": Scale(12, 0, least=3)}
SECONDS = {"smoke": 3, "quick": 23, "normal": 110, "full": 190}

HEADLINE = Headline("Does effort grow much from level 1 to 9, for a small gain in bytes?",
                    "Yes, by more than half.", "No, by less than half, or far more.",
                    "effort grows by more than half from level 1 to 9")

LEVELS = range(1, 10)
USED = 5  # the source: sites use level 5.02 on average
ENOUGH = 30  # sites, of which the source had 465
IDENTIFIED = 12  # pages made at known levels, for a trial; and bodies that packages bring
ZLIB, *OTHERS = "zlib", "libdeflate", "ISA-L"
KIND_FIGURES = ("bytes", "ratio_6", "mb_per_second_6", "effort_9_to_1", "gain_9_to_1")
GIGABYTE, HOUR = 1e9, 3600


def measure(run, sites, libraries):
    """A row for every site, engine, level and round: bytes and CPU of all of its pages."""
    largest = max(len(page) for site in sites for page in site.pages)
    encoders = {(name, level): engine.make(level, largest, False)
                for name, engine in engines.installed().items() if name in libraries
                for level in engine.levels if level <= max(LEVELS)}
    rows = []
    for number, (site, leg) in rounds.interleaved(run, [(site, leg) for site in sites
                                                        for leg in encoders]):
        out, seconds = codecs.encode_all(encoders[leg], site.pages)
        total = sum(map(len, site.pages))
        rows.append({"site": site.name, "engine": leg[0], "level": leg[1], "round": number,
                     "pages": len(site.pages), "bytes_in": total, "bytes_out": out,
                     "ratio": round(out / total, 5), "cpu_seconds": round(seconds, 7)})
    return rows


def price(figures, prices):
    """What the pages of a site cost: CPU and traffic."""
    per_hour, per_gigabyte = prices
    return (figures["cpu_seconds"] / HOUR * per_hour + figures["bytes_out"] / GIGABYTE
            * per_gigabyte)


def summarize(rows, prices):
    """A row for each site: its ratio, the effort and gain of level 9 over 1, its best level."""
    middle = stats.medians(rows, ("site", "level"), ("bytes_in", "bytes_out", "cpu_seconds"))
    found = []
    for site in dict.fromkeys(row["site"] for row in rows):
        of = {level: middle[site, level] for level in LEVELS}
        prices_of = {level: price(of[level], prices) for level in LEVELS}
        best = min(LEVELS, key=prices_of.get)
        found.append({
            "site": site, "bytes": of[6]["bytes_in"],
            "ratio_6": stats.ratio(of[6]["bytes_out"], of[6]["bytes_in"]),
            "mb_per_second_6": stats.ratio(of[6]["bytes_in"] / 1e6, of[6]["cpu_seconds"]),
            "effort_9_to_1": stats.ratio(of[9]["cpu_seconds"], of[1]["cpu_seconds"]),
            "gain_9_to_1": 1 - stats.ratio(of[9]["bytes_out"], of[1]["bytes_out"]),
            "added_by_1": stats.ratio(of[1]["bytes_out"], of[USED]["bytes_out"]) - 1,
            "saved_by_9": 1 - stats.ratio(of[9]["bytes_out"], of[USED]["bytes_out"]),
            "usec_per_kb_1": stats.ratio(1e6 * of[1]["cpu_seconds"], of[1]["bytes_in"] / 1024),
            "best_level": best,
            "cost_saved_over_1": 1 - stats.ratio(prices_of[best], prices_of[1])})
    return found


def efforts(rows):
    """Figure 3b: the least, mean and most CPU per KB that a site takes at each level, by zlib; the
    mean by the other engines; and the sites' mean ratio by each.
    """
    found = {}
    for (level, engine), members in sorted(stats.group(rows, "level", "engine").items()):
        sites = stats.medians(members, ("site",), ("bytes_in", "cpu_seconds", "ratio")).values()
        each = [stats.ratio(1e6 * site["cpu_seconds"], site["bytes_in"] / 1024) for site in sites]
        row = found.setdefault(level, {"level": level})
        row |= {"least": min(each), "most": max(each)} if engine == ZLIB else {}
        row[engine] = stats.geometric_mean(each)
        row[f"{engine}_ratio"] = stats.geometric_mean(site["ratio"] for site in sites)
    return list(found.values())


def identify_known(pages):
    """Rows: bodies of known makers and levels, and what is identified of them."""
    makers = list(identify_encoder.candidates())
    rows = []
    for number, page in enumerate(pages):
        # A step that has no factor with the number of makers comes to each in turn.
        library, level, make = makers[7 * number % len(makers)]
        found, found_level = identify_encoder.identify_stream(make(page))
        if identify_encoder.family(found) != identify_encoder.family(library):
            right = "no"
        else:
            right = "yes" if found_level == level else "same bytes"
        rows.append(identified_row(f"page {number + 1}", library, level, (found, found_level),
                                   right))
    return rows


def identify_others(run):
    """Rows: gzip bodies that packages bring, whose makers are not known."""
    return [identified_row(name, "", "", identify_encoder.identify(body), "")
            for name, body in web.kept_bodies(run, IDENTIFIED * run.scale.pages)]


def identified_row(name, library, level, found, right):
    return {"body": name, "made_by": library, "made_at": level, "identified": found[0] or "-",
            "identified_level": found[1] or 0, "right": right}


def judge(rows, sites, encoders):
    if len(sites) < ENOUGH:
        return [verdict.impossible(f"the findings on sites need {ENOUGH} of them", "465 sites",
                                   f"here are {len(sites)}")]

    def compare(finding, over, under, figure, reported, **bounds):
        return verdict.compare(finding, rows, ({"level": over}, {"level": under}), figure,
                               reported, each=("site",), **bounds)

    def median(figure):
        return stats.median(site[figure] for site in sites)

    speed = -stats.correlation([site["ratio_6"] for site in sites],
                               [site["mb_per_second_6"] for site in sites])
    right = [row["right"] for row in encoders if row["right"]]
    return [
        verdict.exact("the median site compresses to a quarter", median("ratio_6"),
                      "0.25; 0.11 to 0.53", above=0.15, below=0.35, origin=verdict.loosened(
                          verdict.SOURCE, "0.25", "other sites, and fewer")),
        compare("effort grows by more than half from level 1 to 9", 9, 1, "cpu_seconds",
                "2 to 6.5 times", above=1.5, below=6.5, there=(2, 6.5),
                origin=verdict.loosened(verdict.SOURCE, "2 to 6.5", "these sites' median is so "
                                        "near to 2 that chance would decide")),
        verdict.exact("for a gain of 9 to 27 % of the bytes", median("gain_9_to_1"), "0.09 to 0.27",
                      above=0.09, below=0.27, origin=verdict.SOURCE),
        verdict.judge("the level does not determine the effort: at level 1 sites differ in CPU "
                      "per byte", spread(rows), "3.5 times", above=2, there=(3.5, 3.5),
                      origin=verdict.loosened(verdict.SOURCE, "3.5", "fewer sites")),
        compare(f"level 1 costs a tenth more bytes than level {USED}", 1, USED, "bytes_out",
                "1.0993", above=1.05, below=1.2, there=(1.0993, 1.0993),
                origin=verdict.loosened(verdict.SOURCE, "1.0993", "other sites, and fewer")),
        compare(f"level 9 saves a few percent of level {USED}'s", 9, USED, "bytes_out", "0.9549",
                above=0.9, below=0.99, there=(0.9549, 0.9549),
                origin=verdict.loosened(verdict.SOURCE, "0.9549", "other sites, and fewer")),
        verdict.exact("what compresses better compresses faster (rank correlation)", speed,
                      "highly correlated", above=0.5),
        verdict.exact("level 7 is cheapest for most sites at the given prices",
                      float(statistics.mode(site["best_level"] for site in sites)),
                      "7; some 6 or 8", above=5.5, below=8.5, origin=verdict.SOURCE),
        verdict.exact("the library and level that made a body can be identified: of bodies of "
                      "known makers, the share", stats.ratio(
                          len(right) - right.count("no"), len(right)),
                      "it does so, and finds zlib behind 51 % of sites", above=0.95)]


def spread(rows):
    """For each round, the CPU per byte of the site that takes most, to that of the least.

    Which those are, is found in the other rounds: of many sites that take the same, the most of a
    round is far from the least by noise alone.
    """
    found = []
    first = [row for row in rows if row["level"] == 1]
    for number in dict.fromkeys(row["round"] for row in first):
        others = stats.medians([row for row in first if row["round"] != number] or first,
                               ("site",), ("bytes_in", "cpu_seconds"))
        effort = {site: stats.ratio(figures["cpu_seconds"], figures["bytes_in"])
                  for (site,), figures in others.items()}
        here = {row["site"]: stats.ratio(row["cpu_seconds"], row["bytes_in"])
                for row in first if row["round"] == number}
        found.append(stats.ratio(here[max(effort, key=effort.get)],
                                 here[min(effort, key=effort.get)]))
    return found


def draw_sites(run, sites):
    with plot.figure(run, "sites", "figures 4a and 4b", 2, width=9, height=3.6) as (gain, speed):
        for axes, x, y, xlabel, ylabel in (
                (gain, [100 * site["gain_9_to_1"] for site in sites], "effort_9_to_1",
                 "bytes saved by level 9 over level 1, %", "CPU, times level 1's"),
                (speed, [site["ratio_6"] for site in sites], "mb_per_second_6",
                 "bytes out / bytes in at level 6", "MB per second of CPU")):
            axes.plot(x, [site[y] for site in sites], "o", ms=4, color=plot.GZIP)
            axes.set(xlabel=xlabel, ylabel=ylabel)
            axes.set_ylim(bottom=0)


def draw_levels(run, sites, by_level, encoders):
    with plot.figure(run, "", "figures 3a, 3b and 5", 3, 11, 3.4) as (used, effort, best):
        levels = sorted(row["identified_level"] for row in encoders
                        if not row["right"] and row["identified_level"])
        used.step([0, *levels, 10], [0, *(100 * (n + 1) / len(levels) for n in
                                         range(len(levels))), 100] if levels else [0, 0],
                  where="post", color=plot.GZIP)
        used.set(xlabel="level, identified, of the packages' gzip bodies",
                 ylabel="% of bodies, cumulated")
        for key, style, colour in (
                ("most", "^:", plot.GZIP), (ZLIB, "o-", plot.GZIP), ("least", "v:", plot.GZIP),
                *((name, "x-", colour) for name, colour in zip(OTHERS, (plot.KEPT, plot.BR)))):
            of = [row for row in by_level if key in row]
            effort.plot([row["level"] for row in of], [row[key] for row in of], style, ms=4,
                        color=colour, label=key)
        effort.set(xlabel="level", ylabel="CPU µs per KB")
        effort.legend()
        counts = [sum(site["best_level"] == level for site in sites) for level in LEVELS]
        best.bar(LEVELS, [100 * count / len(sites) for count in counts], color=plot.KEPT)
        best.set(xlabel="cheapest level", ylabel="% of sites")
        for axes in (used, effort, best):
            axes.set_xticks(LEVELS)


def write_paragraph(run, sites, prices, encoders, note):
    ratios = sorted(site["ratio_6"] for site in sites)
    others = [row for row in encoders if not row["right"]]
    known = [row for row in others if row["identified_level"]]
    return "\n".join([
        machine.heading(run),
        f"{len(sites)} sites, {run.scale.pages} pages each at most; CPU time of one thread, one "
        "encoder for each page. Ratios best, median, worst at level 6: "
        f"{100 * ratios[0]:.0f} %, {100 * stats.median(ratios):.0f} %, {100 * ratios[-1]:.0f} % "
        "(the source: 11 %, 25 %, 53 %).",
        f"Prices: {prices[0]:g} for an hour of one CPU, {prices[1]:g} for a gigabyte "
        "(--price-cpu-hour, --price-gb).",
        f"Of {len(others)} gzip bodies that the packages bring, {len(known)} were made by "
        f"{', '.join(sorted({row['identified'] for row in known})) or 'no library tried'}, "
        f"at level {stats.median(row['identified_level'] for row in known):g} in the median."
        if known else "None of the packages' gzip bodies could be identified.",
        note]).strip()


def run(run):
    prices = run.options.price_cpu_hour, run.options.price_gb
    found, asked, note = survey.download(run, web.sites(run))
    run.save_table("survey", survey.table_1(asked), "table 1")
    servers = survey.table_2()
    if servers:
        run.save_table("servers", servers, "table 2: developers of web servers")
    pages = [page for site in found for page in site.pages]
    run.add_corpus(f"{len(found)} sites", pages, ", ".join(
        f"{site.name} {site.version}" for site in found))
    run.begin_part(0.6)
    all_rows = measure(run, found, (ZLIB, *OTHERS))
    run.save_table("", all_rows)
    rows = [row for row in all_rows if row["engine"] == ZLIB]
    run.begin_part(0.2)
    kinds, origin = web.kinds(run)
    run.add_corpus("files by kind", [body for kind in kinds for body in kind.pages], origin)
    run.save_table("kinds", [
        {"kind": row["site"], **{key: row[key] for key in KIND_FIGURES}}
        for row in summarize(measure(run, kinds, (ZLIB,)), prices)], "kinds of files")
    sites, by_level = summarize(rows, prices), efforts(all_rows)
    run.save_table("sites", sites, "sites")
    run.save_table("levels", by_level, "CPU µs per KB by level and engine; zlib's least and most")
    encoders = identify_known(pages[:IDENTIFIED * run.scale.pages]) + identify_others(run)
    run.save_table("encoders", encoders, "who made a body")
    draw_sites(run, sites)
    draw_levels(run, sites, by_level, encoders)
    return Outcome(write_paragraph(run, sites, prices, encoders, note),
                   judge(rows, sites, encoders), HEADLINE)
