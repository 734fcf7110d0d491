"""The tables of figures in README.md, from the JSON of the kept results."""

import json
import re

from benchkit.verdict import number

BEGIN, END = "<!-- figures: scripts/bench readme -->\n", "<!-- end of figures -->\n"

# (what README calls it, the server of `peers`, what it is compared with)
PEERS = (("gzip 6 to mod_deflate 6", "elastic gzip 6", "mod_deflate 6"),
         ("gzip 1 to mod_deflate 1", "elastic gzip 1", "mod_deflate 1"),
         ("gzip 6 with zlib alone, to mod_deflate 6", "elastic gzip 6, zlib alone",
          "mod_deflate 6"),
         ("br 5 to mod_brotli 5", "elastic br 5", "mod_brotli 5"),
         ("all codings, by costs, to mod_deflate 6",
          "elastic, all codings, at mod_deflate 6's bytes", "mod_deflate 6"))

# (what README calls it, the leg of `frontier`)
LEGS = (("mod_elastic, default settings", "default"),
        ("mod_elastic, gzip alone", "default, gzip"),
        ("mod_elastic, `ElasticLevel gzip 1`", "gzip 1"), ("mod_deflate 1", "mod_deflate 1"),
        ("mod_deflate 6", "mod_deflate 6"), ("mod_brotli 5", "mod_brotli 5"),
        ("nginx, gzip 1", "nginx 1"), ("nginx, gzip 6", "nginx 6"),
        ("not compressed", "not compressed"))
LOADS = (0.1, 0.5, 0.9)
OVER_ALL = ("clients of all codings: mean of the default's total time at 20 Mbit/s, to that of the best "
            "pinned setup, over all loads")


def figures(experiments):
    """The text between the marks, of a report's experiments."""
    peers, frontier = experiments["peers"], experiments["frontier"]
    return (
        "CPU time of compression, and bytes, beside the stock modules at the same level; geometric means\n"
        "over bodies of 1 to 300 KB, in parentheses intervals of 95 % (`scripts/bench peers`,\n"
        "[details](docs/internals/engines.md#beside-the-stock-modules)):\n\n"
        + "\n".join(["| | CPU | bytes |", "|---|---|---|", *peers_rows(peers)])
        + "\n\nPHP pages of 12 to 120 KB, arriving at random, by the load of the CPU that makes them: mean\n"
        "time until a page has arrived over 20 Mbit/s, ms (`scripts/bench frontier`,\n"
        "[details](docs/internals/control.md#measured)):\n\n"
        + "\n".join(["| | load " + " | ".join(f"{load:g}" for load in LOADS) + " |",
                     "|---|" + "---|" * len(LOADS), *frontier_rows(frontier)])
        + f"\n\nMedians of {frontier['rounds']} rounds, which vary much: over all loads the default's mean, to "
        "that of the best\npinned setup for each load, is "
        f"{found(frontier, OVER_ALL)}. Measured on\n{peers['machine'].partition(', Linux')[0]};\n"
        "[docs/results/results.html](docs/results/results.html) has the whole run.\n")


def found(experiment, finding):
    """What was measured of a finding, and its interval."""
    return next(one["here"] for one in experiment["verdicts"] if one["finding"] == finding)


def peers_rows(peers):
    for name, ours, other in PEERS:
        yield (f"| {name} | {found(peers, f'{ours}: compression CPU to {other}')} "
               f"| {found(peers, f'{ours}: bytes to {other}')} |")


def frontier_rows(frontier):
    table = frontier["tables"]["frontier-summary"]
    rows = [dict(zip(table["columns"], row)) for row in table["rows"]]
    times = {(row["leg"], row["load"]): row["mean_ms_at_20"] for row in rows
             if row["pages"] == "php"}
    for name, leg in LEGS:
        cells = " | ".join(number(times[leg, load]) for load in LOADS)
        yield f"| {name} | {cells} |"


def written(readme, results):
    """README's text with the figures of the JSON's text."""
    made = figures(json.loads(results)["experiments"])
    return re.sub(re.escape(BEGIN) + ".*?" + re.escape(END),
                  lambda _: BEGIN + made + END, readme, flags=re.DOTALL)
