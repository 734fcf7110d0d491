"""The chart and the tables of figures in README.md, from the JSON of the kept results."""

import json
import re

from benchkit import plot
from benchkit.findings import number

BEGIN, END = "<!-- figures: scripts/bench readme -->\n", "<!-- end of figures -->\n"

# (what README calls it, the key of peers' finding on CPU; that on bytes has -bytes behind it)
PEERS = (("gzip 6 to mod_deflate 6", "gzip-6"), ("gzip 1 to mod_deflate 1", "gzip-1"),
         ("br 5 to mod_brotli 5", "br-5"),
         ("gzip 6 to nginx, gzip 6", "nginx-6"), ("gzip 1 to nginx, gzip 1", "nginx-1"))

# (what README calls it, the leg of load)
LEGS = (("mod_elastic, default settings", "default"),
        ("mod_elastic, default settings, clients of gzip", "default, gzip"),
        ("mod_elastic, `ElasticLevel gzip 1 1`", "gzip 1"), ("mod_deflate 1", "mod_deflate 1"),
        ("mod_deflate 6", "mod_deflate 6"), ("mod_brotli 5", "mod_brotli 5"),
        ("nginx, gzip 1", "nginx 1"), ("nginx, gzip 6", "nginx 6"),
        ("not compressed", "not compressed"))


def figures(experiments):
    """The text between the marks, of a report's experiments."""
    peers, load = experiments["peers"], experiments["load"]
    return (
        "CPU time of compression, and bytes, beside the stock modules and nginx at the same\n"
        "level; geometric means over pages of 1 to 300 KB, in parentheses intervals of 95 %\n"
        "(`scripts/bench peers`):\n\n"
        + "\n".join(["| | CPU | bytes |", "|---|---|---|", *peers_rows(peers)])
        + "\n\nPHP pages of 12 to 120 KB, arriving at random, by the load of the CPU that makes\n"
        "them: mean time until a page has arrived over 20 Mbit/s, ms (`scripts/bench load`):\n\n"
        + "\n".join(["| | load " + " | ".join(f"{one:g}" for one in loads_of(load)) + " |",
                     "|---|" + "---|" * len(loads_of(load)), *load_rows(load)])
        + f"\n\nMedians of {load['rounds']} rounds. Over all loads the default's mean is "
        f"{found(load, 'best-all-mean')['here']}\n"
        "times that of the level which would have been best at each load. Measured on\n"
        f"{peers['machine'].partition(', Linux')[0]};\n"
        "[docs/results/results.html](docs/results/results.html) has the whole run.\n")


def found(experiment, key):
    return next(one for one in experiment["findings"] if one["key"] == key)


def peers_rows(peers):
    for name, key in PEERS:
        yield (f"| {name} | {found(peers, key)['here']} "
               f"| {found(peers, f'{key}-bytes')['here']} |")


def loads_of(load):
    """The lowest, one in the middle, and the highest."""
    loads = sorted({float(row["load"]) for row in rows_of(load["tables"]["load-summary"])})
    return loads[0], loads[len(loads) // 2], loads[-1]


def load_rows(load):
    times = {(row["leg"], row["load"]): row["mean_ms_at_20"]
             for row in rows_of(load["tables"]["load-summary"])}
    for name, leg in LEGS:
        yield f"| {name} | {' | '.join(number(float(times[leg, one])) for one in loads_of(load))} |"


def written(text, kept):
    """README's text with the figures of the JSON's text."""
    made = figures(json.loads(kept)["experiments"])
    return re.sub(re.escape(BEGIN) + ".*?" + re.escape(END),
                  lambda _: BEGIN + made + END, text, flags=re.DOTALL)


# Of the chart: servers of peers; legs of load.
BARS = {"elastic": "mod_elastic", "elastic gzip 6": "mod_elastic gzip 6",
        "mod_deflate 6": "mod_deflate 6", "mod_brotli 5": "mod_brotli 5",
        "nginx gzip 1": "nginx gzip 1", "nginx gzip 6": "nginx gzip 6"}
CURVES = {"default": "mod_elastic", "gzip 1": "mod_elastic, gzip 1 pinned",
          "mod_deflate 6": "mod_deflate 6", "nginx 1": "nginx gzip 1"}
COLOURS = {"light": ("#1f2328", "#2f9e6e", "#9a6700"), "dark": ("#e6edf3", "#3fb97f", "#d29922")}


def rows_of(table):
    return [dict(zip(table["columns"], row)) for row in table["rows"]]


def draw(experiments, folder):
    """README's chart, once for light pages and once for dark ones: chart-light.svg, -dark.svg."""
    page = {row["server"]: row for row in rows_of(experiments["peers"]["tables"]["peers-page"])}
    times = rows_of(experiments["load"]["tables"]["load-summary"])
    names = [name for name in BARS if name in page]
    for look, (text, ours, others) in COLOURS.items():
        with plot.drawing(folder / f"chart-{look}.svg", 3, 11, 3.2, text) as (rate, size, time):
            for axes, key, factor, label in ((rate, "pages_per_second", 1, "pages a second"),
                                             (size, "bytes", 1e-3, "KB of a page of 120 KB")):
                axes.barh([BARS[name] for name in names], [factor * page[name][key]
                                                           for name in names],
                          color=[ours if name.startswith("elastic") else others
                                 for name in names])
                axes.invert_yaxis()
                axes.set_xlabel(label)
            size.set_yticklabels([])
            for place, (leg, name) in enumerate(CURVES.items()):
                of = [row for row in times if row["leg"] == leg]
                time.plot([row["load"] for row in of], [row["mean_ms_at_20"] for row in of],
                          ("o-", "o--", "s-", "^-")[place], ms=4, label=name,
                          color=ours if "elastic" in name else others)
            time.set(yscale="log", xlabel="load of making the pages",
                     ylabel="ms until a page has arrived")
            time.legend(fontsize=7)
