"""Time to the first byte against the time of the whole page, through links of several rates.

After section 2.3 of the fourth source: compression delays the first byte and shortens the download.
"""

import math

from benchkit import codecs, net, plot, rounds, stats, tools, verdict
from benchkit.visit import Visitor

RATES = ("1mbit", "10mbit", "100mbit")
SETUPS = (("identity", 0), ("gzip", 1), ("gzip", 6), ("gzip", 9), ("br", 5), ("br", 11))
FINDING = "compression delays the first byte"


def measure(run, page, serve):
    """Rows for each rate, setup and round; `serve(place)` starts the server, which has a path with
    the page for each setup. BenchError where there can be no namespaces.
    """
    link = net.make(run)
    httpd, path_of = serve(link.server.place)
    client = Visitor(run, link.client)
    legs = [(rate, *setup) for rate in RATES[-1 if run.scale.only else 0:] for setup in SETUPS]
    rows = []
    for number, (rate, coding, level) in rounds.interleaved(run, legs):
        link.shape(rate)
        seen = client.visit(httpd, path_of(coding, level), page, coding=coding,
                            lead=net.lead(rate))
        rows.append({"rate": rate, "coding": coding, "level": level, "round": number,
                     **figures(seen, rate)})
    httpd.stop()
    return rows


def figures(seen, rate):
    """The columns of a visit over a link of this rate."""
    return {"first_byte_ms": round(1e3 * seen["first_byte"], 3),
            "download_ms": round(1e3 * seen["seconds"], 3),
            "to_wire": net.to_wire(seen, rate), "sent_bytes": seen["page_bytes"],
            "packets": seen["packets"]}


def judge(rows):
    if not rows:
        return [verdict.impossible(FINDING, "it tends to", "no network namespaces: not root")]

    def compare(finding, level, figure, rates, reported, **bounds):
        return verdict.compare(finding, [row for row in rows if row["rate"] in rates],
                               ({"coding": "gzip", "level": level}, {"coding": "identity"}),
                               figure, reported, each=("rate",), **bounds)

    return net.and_wire([
        compare(f"{FINDING}: level 9 to identity", 9, "first_byte_ms", RATES, "it tends to",
                above=1, origin=verdict.SOURCE, there=(1, math.inf)),
        compare("and shortens the download at 1 and 10 Mbit/s: level 6 to identity", 6,
                "download_ms", RATES[:2], "dramatically", below=0.7, there=(0, 1))], rows)


def draw(run, rows):
    middle = stats.intervals(rows, ("rate", "coding", "level"), ("first_byte_ms", "download_ms"))
    rates = list(dict.fromkeys(row["rate"] for row in rows))
    with plot.figure(run, "download", "first byte and whole page by the link's rate", len(rates),
                     width=10, height=3.4) as panels:
        for axes, rate in zip(panels, rates):
            labels = [f"{coding} {level or ''}" for coding, level in SETUPS]
            for figure, colour, label in (("download_ms", plot.GZIP, "whole page"),
                                          ("first_byte_ms", plot.IDENTITY, "first byte")):
                plot.lying_bars(axes, labels, [middle[(rate, *setup)][figure]
                                               for setup in SETUPS], color=colour, label=label)
            axes.set(title=rate, xlabel="ms")
            axes.invert_yaxis()
        panels[0].legend()


def save(run, rows):
    run.save_table("download", rows)
    run.save_medians("download-summary", rows, ("rate", "coding", "level"),
                     ("first_byte_ms", "download_ms", "to_wire", "sent_bytes"),
                     "first byte and whole page, medians")
    draw(run, rows)


def try_measure(run, page, serve):
    """(rows, a sentence): what could be measured, or why nothing was."""
    try:
        return measure(run, page, serve), ""
    except codecs.WrongBody:
        raise
    except tools.BenchError as problem:
        return [], f"First byte and download were not measured: {problem}"
