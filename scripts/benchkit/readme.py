"""The chart and the tables of figures in README.md, from the JSON of the kept results; and
docs/results/regret.md."""

import re

from benchkit import legs, plot, regret, stats
from benchkit.legs import DEFAULT, DEFAULT_GZIP, IDENTITY

# Rows of README's table of regret, and its wires; docs/results/regret.md has all.
SHOWN = (DEFAULT, "zstd 1", "gzip 1", "mod_deflate 1", "mod_deflate 6", "mod_brotli 5",
         "nginx 1", IDENTITY)
NEAR = (5, 20)

MARK, END = "<!-- {}: scripts/bench readme -->\n", "<!-- end of {} -->\n"

SOURCES = "peers", "load"  # the experiments of README's tables

# (README's name for it, the leg and the peer of peers)
PEERS = (("gzip 6 to mod_deflate 6", "elastic gzip 6", "mod_deflate 6"),
         ("gzip 1 to mod_deflate 1", "elastic gzip 1", "mod_deflate 1"),
         ("br 5 to mod_brotli 5", "elastic br 5", "mod_brotli 5"),
         ("gzip 6 to nginx, gzip 6", "elastic gzip 6", "nginx gzip 6"),
         ("gzip 1 to nginx, gzip 1", "elastic gzip 1", "nginx gzip 1"))
SIZES = (4, 16, 120, 300)  # KB; one of 1 KB is sent as it is


def figures(experiments):
    """{a part of README: its text}, from a report's experiments; regret only if it was measured."""
    peers, load = experiments["peers"], experiments["load"]
    made = {"figures": (
        "CPU time of compression beside the stock modules and nginx at the same level, by the\n"
        "page's size, and the bytes of these sizes (medians; `scripts/bench peers`):\n\n"
        + regret.markdown(["", *(f"{size} KB" for size in SIZES), "bytes"], peers_rows(peers))
        + f"\n\n[The whole run](docs/results/results.html): {peers['machine'].partition(', L')[0]}.\n")}
    rows = regret.rows_of(load)
    if rows:
        table, left = regret_table(rows)
        made["regret"] = (
            "Time until a PHP page has arrived; 1.00 is the best row at each load. Mean and worst of\n"
            "the loads that a row can serve: \"2 of 4\" was tried at four, and served the two easy\n"
            "ones. Clients of gzip, br and zstd (`scripts/bench load`):\n\n" + table
            + f"\n\n{load['rounds']} rounds, {load['machine'].partition(', ')[0]}.\n"
            f"[{left} more rows, other clients, p95, first text](docs/results/regret.md).\n")
    return made


def peers_rows(peers):
    time, bytes_of = ({row["server"]: row for row in rows_of(peers["tables"][f"peers-{part}"])}
                      for part in ("sizes", "sizes-bytes"))

    def ratios(table, leg, peer):
        return [table[leg][f"{size} KB"] / table[peer][f"{size} KB"] for size in SIZES]

    return [[name, *map(regret.two, ratios(time, leg, peer)),
             regret.two(stats.geometric_mean(ratios(bytes_of, leg, peer)))]
            for name, leg, peer in PEERS]


def called(leg):
    """README's name for a leg of load."""
    if leg in (DEFAULT, DEFAULT_GZIP):
        return "mod_elastic, default settings"
    if leg.startswith("time "):
        return f"`ElasticGoal time {leg.split()[1].strip(',')}Mbit/s`"
    if leg.startswith("nginx") or leg == IDENTITY:
        return leg.replace("nginx", "nginx, gzip")
    return f"mod_elastic, pinned {leg}" if legs.known(leg).pinned else leg


def regret_table(rows):
    """(the legs of SHOWN: time over the wires of NEAR, bytes, and at how many loads that is; how
    many legs are left out).
    """
    by_leg, lines, tried = {}, [], {}
    for row in rows:
        tried.setdefault(row["leg"], set()).add(row["regime"])
    for population in legs.POPULATIONS:
        for rate in legs.RATES:
            for row in regret.summary(rows, population, rate):
                by_leg.setdefault(row["leg"], {})[population, rate] = row
    for leg in [leg for leg in by_leg if leg in SHOWN]:
        found = [by_leg[leg][legs.BROWSERS, rate] for rate in NEAR]
        lines.append([called(leg), *(", ".join(regret.two(row[key]) for key in ("time", "worst time"))
                                     for row in found),
                      regret.two(found[0]["bytes"]),
                      f"{found[0]['regimes'].partition(';')[0]} of {len(tried[leg])}"])
    return (regret.markdown(["", *(f"{rate} Mbit/s" for rate in NEAR), "bytes", "loads"], lines),
            len(by_leg) - len(lines))


def written(text, experiments):
    """README's text with the figures of a report's experiments."""
    for name, made in figures(experiments).items():
        begin, end = MARK.format(name), END.format(name)
        text = re.sub(re.escape(begin) + ".*?" + re.escape(end),
                      lambda _, whole=begin + made + end: whole, text, flags=re.DOTALL)
    return text


# In the chart: the wire and the load of its lower half.
MBIT, LOAD = 5, "12 to 120 KB: 0.1"
COLOURS = {"light": ("#1f2328", plot.BLUE_AND_ORANGE), "dark": ("#e6edf3", ("#56b4e9", "#e69f00"))}


def rows_of(table):
    return [dict(zip(table["columns"], row)) for row in table["rows"]]


def served(peers):
    """{server: ((pages a second,), (KB,))} of every server, those that send most pages first."""
    page = sorted(rows_of(peers["tables"]["peers-page"]), key=lambda row: -row["pages_per_second"])
    return {row["server"].replace("elastic in", "elastic, in").replace("elastic", "mod_elastic"): (
        (row["pages_per_second"],), (row["bytes"] / 1e3,)) for row in page}


def waited(rows):
    """{leg: ((mean, worst) of its time, (median, least, most) of its first text in ms)}."""
    first = {}
    for row in rows:
        if row["regime"] == LOAD and row[f"first_{MBIT}"]:
            first.setdefault(row["leg"], []).append(row[f"first_{MBIT}"])
    return {called(row["leg"]).replace("mod_elastic, pinned", "mod_elastic"): (
        (row["time"], row["time"], row["worst time"]),
        (stats.median(first[row["leg"]]), min(first[row["leg"]]), max(first[row["leg"]])))
            for row in regret.summary(rows, legs.BROWSERS, MBIT) if row["leg"] in first}


def draw(experiments, folder):
    """README's chart for light and for dark pages: chart-light.svg, -dark.svg; and regret.md. Does
    nothing if regret was not measured."""
    load = experiments["load"]
    rows = regret.rows_of(load)
    if not rows:
        return
    (folder / "regret.md").write_text(regret.page(load), encoding="utf-8")
    blocks = (
        (served(experiments["peers"]), (
            ("pages of 120 KB\na second", plot.ticks(300, 3000, 30_000)),
            ("KB of such\na page", plot.ticks(30, 60, 120)))),
        (waited(rows), (
            (f"time to the best,\n{MBIT} Mbit/s: mean\nto worst load", plot.ticks(1, 2, 3)),
            ("ms to the first text,\nload 0.1: range\nof rounds", {"xlim": (0, None)}))))
    heights = [plot.HEAD + plot.ROW * len(of) for of, _ in blocks]
    for look, (text, colours) in COLOURS.items():
        with plot.drawing(folder / f"chart-{look}.svg", 2, plot.WIDTH, sum(heights), text,
                          heights) as all_axes:
            for pair, (of, diagrams) in zip(all_axes, blocks):
                plot.dotted(pair, of, diagrams, colours, lambda name: name.startswith("mod_ela"))
