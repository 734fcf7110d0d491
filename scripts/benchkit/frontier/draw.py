"""The frontier of each load, and the hours of a day."""

from benchkit import plot, stats
from benchkit.frontier import cells, hours, legs
from benchkit.frontier.passes import RATES, column

COLOURS = {legs.DEFAULT: "#c2261f", legs.MODES: plot.THRESHOLD, legs.PINNED: plot.GZIP,
           legs.OTHERS: plot.IDENTITY, legs.NONE: "#777777"}
LABELS = {legs.DEFAULT: "the default", legs.MODES: "other modes and goals",
          legs.PINNED: "pinned setups", legs.OTHERS: "mod_deflate, mod_brotli, nginx"}
DRAWN = "mean"  # of the total time; the table of cells has the median and the 95th percentile
FAR = 4  # times the frontier's own reach: what is further off is left out, to keep the rest apart


def frontiers(run, rows):
    """A plot for each kind of pages and load, for clients of all codings."""
    for (kind, load), members in stats.group(rows, "pages", "load").items():
        part = f"{kind.replace(' ', '-')}-{100 * load:.0f}"
        with plot.figure(run, part, f"{kind}, load {load:g}: bytes and total time; the line is the "
                         "frontier", len(RATES), 13, 3.6) as all_axes:
            for axes, rate in zip(all_axes, RATES):
                one_frontier(axes, members, column(DRAWN, rate))
                axes.set(title=f"{rate} Mbit/s", ylabel=f"{DRAWN} of the total time, ms",
                         xlabel="bytes a response")
            all_axes[0].legend(fontsize=7)


def one_frontier(axes, rows, figure):
    points = cells.middles(rows, "all", figure)
    points = {name: one for name, one in points.items() if name != legs.IDENTITY.name}
    families = {row["leg"]: row["family"] for row in rows}
    best = cells.frontier(points)
    if not best:  # nobody came
        return
    limit = FAR * max(points[name][1] for name in best)
    seen = {name: one for name, one in points.items()
            if one[1] <= limit or families[name] == legs.DEFAULT}
    axes.plot([points[name][0] for name in best], [points[name][1] for name in best], "-",
              color="#999999", lw=1, zorder=1)
    for family, label in LABELS.items():
        of_default = family == legs.DEFAULT
        of = [one for name, one in seen.items() if families[name] == family]
        if of:
            axes.plot([one[0] for one in of], [one[1] for one in of],
                      "*" if of_default else "o", ms=12 if of_default else 4,
                      color=COLOURS[family], label=label, zorder=3 if of_default else 2)
    for name, (size, time) in seen.items():
        if name in best or len(seen) < 15:
            axes.annotate(name, (size, time), fontsize=6, xytext=(3, 3),
                          textcoords="offset points")
    axes.set_yscale("log")
    axes.yaxis.set_major_formatter("{x:g}")
    axes.yaxis.get_minor_locator().set_params(subs=(2, 3, 5, 7))
    axes.yaxis.set_minor_formatter("{x:g}")


def a_day(run, table, kind):
    """The day's hours: the default beside the best of each hour, of the day, and mod_deflate."""
    rows = [row for row in table if row["pages"] == kind]
    best, best_of_hour = hours.best_pinned(rows)
    lines = {"default": ("the default", COLOURS[legs.DEFAULT], "-"),
             best: (f"pinned: {best}, the day's best", plot.GZIP, "-"),
             "mod_deflate 1": ("mod_deflate 1", plot.IDENTITY, "-"),
             "mod_deflate 6": ("mod_deflate 6", plot.IDENTITY, "--")}
    by_leg = {name: some for (name,), some in stats.group(rows, "leg").items()}

    def curves(figure, factor=1.0):
        found = [plot.Curve(hours.HOURS, [factor * row[figure] for row in by_leg[name]], *line)
                 for name, line in lines.items() if name in by_leg]
        if best_of_hour:
            found.append(plot.Curve(hours.HOURS, [factor * best_of_hour[hour][figure]
                                                  for hour in hours.HOURS],
                                    "pinned, each hour's best", plot.KEPT, ":"))
        return found

    loads = [row["load"] for row in by_leg["default"]]
    plot.panels(run, f"day-{kind.replace(' ', '-')}",
                f"{kind}: a day's hours, each a steady load", "hour of the day", [
                    plot.Panel(f"mean total time at {hours.MBIT} Mbit/s, ms",
                               curves(column("mean", hours.MBIT)), log=True),
                    plot.Panel("KB a response", curves("bytes", 1e-3)),
                    plot.Panel("load of making the pages",
                               [plot.Curve(hours.HOURS, loads, "demand", "#777777")])], width=13)
