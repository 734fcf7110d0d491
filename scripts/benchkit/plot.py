"""Plots: matplotlib without a display; the same figures give the same bytes."""

import contextlib
import functools
import math
import typing

IDENTITY, GZIP, KEPT, THRESHOLD, BR = "#e08214", "#2b6cb0", "#2f9e6e", "#8073ac", "#b2435f"
CACHED = "#8cc63f"
# Of dotted(). Everybody can tell blue from orange.
BLUE_AND_ORANGE = "#0072b2", "#d55e00"
WIDTH, ROW, HEAD = 5.2, 0.19, 0.75  # inches: legible on a telephone

STYLE = {
    "axes.grid": True, "axes.axisbelow": True, "axes.spines.top": False, "grid.alpha": 0.3,
    "figure.facecolor": "none", "axes.facecolor": "none", "savefig.facecolor": "none",
    "font.size": 9, "legend.frameon": False, "svg.hashsalt": "elastic",
    "svg.fonttype": "none",  # text stays text: smaller, and drawn by the browser
    # Grid lines replace ticks.
    "xtick.bottom": False, "ytick.left": False, "ytick.right": False,
}

@functools.lru_cache(maxsize=None)
def pyplot():
    """matplotlib.pyplot, set up; imported late, because only a finished run needs it."""
    import matplotlib

    matplotlib.use("Agg")
    matplotlib.rcParams.update(STYLE)
    from matplotlib import pyplot as module

    return module


@contextlib.contextmanager
def drawing(path, columns, width, height, text="#000000", heights=(1,)):
    """Axes side by side, and below each other in rows of these heights, with text of a colour;
    saved as an SVG."""
    with pyplot().rc_context({name: text for name in (
            "text.color", "axes.labelcolor", "axes.edgecolor", "xtick.color", "ytick.color")}):
        made, axes = pyplot().subplots(len(heights), columns, figsize=(width, height),
                                       squeeze=False, height_ratios=heights)
        try:
            yield axes if len(heights) > 1 else axes[0]
            made.tight_layout()
            made.savefig(path, metadata={"Date": None})
        finally:
            pyplot().close(made)


@contextlib.contextmanager
def figure(run, part, caption, columns=1, width=6.5, height=4.0):
    name = run.name_of(part)
    with drawing(run.results / f"{name}.svg", columns, width, height) as axes:
        yield axes
    run.plots.append({"name": name, "caption": caption, "description": described(axes[0].figure)})


def described(drawing):
    """The axes of a figure's diagrams in words, and the things compared in them."""
    diagrams = []
    for axes in drawing.axes:
        title, y, x = axes.get_title(), axes.get_ylabel(), axes.get_xlabel()
        over = " over ".join(filter(None, (y, x)))
        diagrams.append(": ".join(filter(None, (title, over))))
    labels = dict.fromkeys(label for axes in drawing.axes
                           for label in axes.get_legend_handles_labels()[1])
    compared = f" Compared: {', '.join(labels)}." if labels else ""
    return "; ".join(filter(None, dict.fromkeys(diagrams))) + "." + compared


def reaches(figures):
    """(middles, [how far down, how far up]) of (middle, low, high), in matplotlib's form; None
    instead of the latter if no figure has a bounded interval."""
    sure = [(middle, low, high) if 0 < low < high < math.inf else (middle, math.nan, math.nan)
            for middle, low, high in figures]
    down = [max(middle - low, 0) for middle, low, _ in sure]
    up = [max(high - middle, 0) for middle, _, high in sure]
    return ([middle for middle, _, _ in sure], None if all(map(math.isnan, down)) else [down, up])


def spread(axes, name, figure, colour):
    """A point in a row, and a line from the lowest to the highest, if `figure` has these."""
    axes.plot(figure[1:], [name] * len(figure[1:]), "-", color=colour, linewidth=1.2)
    axes.plot(figure[:1], [name], "o", color=colour, markersize=4)


def ticks(*numbers):
    """Options of a logarithmic diagram of dotted()."""
    return {"xscale": "log", "xticks": numbers, "xticklabels": [f"{one:,}" for one in numbers]}


def dotted(pair, rows, diagrams, colours, is_first):
    """Two diagrams with a row for each of {name: (figure, figure)}; diagrams are (label, options).
    The names that `is_first` have the first of two colours."""
    for place, (axes, (label, options)) in enumerate(zip(pair, diagrams)):
        for name, figures in rows.items():
            spread(axes, name, figures[place], colours[not is_first(name)])
        axes.set(xlabel=label, ylim=(len(rows) - 0.4, -0.6))
        axes.set(**options)
        axes.minorticks_off()
        if place:
            axes.set_yticklabels([])


def bars(axes, names, figures, **options):
    """Bars of (middle, low, high)."""
    middles, errors = reaches(figures)
    axes.bar(names, middles, yerr=errors, error_kw={"lw": 0.8}, **options)


def grouped_bars(axes, groups, series):
    """Bars side by side in each group; `series` is {label: (colour, figures)}."""
    width = 0.8 / len(series)
    places = range(len(groups))
    for index, (label, (colour, figures)) in enumerate(series.items()):
        shift = (index - (len(series) - 1) / 2) * width
        bars(axes, [place + shift for place in places], figures, width=width, label=label,
             color=colour)
    axes.set_xticks(places, groups)


class Curve(typing.NamedTuple):
    x: list
    y: list  # figures, or (middle, low, high)
    label: str
    color: str
    style: str = "-"
    step: bool = False

    def draw(self, axes):
        look = {"ms": 4, "color": self.color, "label": self.label}
        if self.y and isinstance(self.y[0], tuple):
            middles, errors = reaches(self.y)
            axes.errorbar(self.x, middles, errors, fmt=self.style, elinewidth=0.8, **look)
        elif self.step:
            axes.step(self.x, self.y, self.style, where="post", **look)
        else:
            axes.plot(self.x, self.y, self.style, **look)


def by_group(middle, colours, figure, scale=1, style="-"):
    """The Curves of {(group, x): figures}, one for each group that has a colour."""
    return [Curve([x for of, x in middle if of == name],
                  [scale * one[figure] if scale != 1 else one[figure]
                   for (of, _), one in middle.items() if of == name], name, colour, style)
            for name, colour in colours.items()]


def by_load(regrets, leg, label, style, color, pages="12 to 120 KB"):
    """The Curve of a leg's regret over the load of these pages, without overloaded points."""
    points = [(float(regime.rpartition(": ")[2]), regrets.cell(regime, leg))
              for regime, by_leg in regrets.ratios.items()
              if regime.startswith(pages) and leg in by_leg]
    return Curve([load for load, _ in points], [one for _, one in points], label, color, style)


class Panel(typing.NamedTuple):
    """One of several diagrams side by side."""

    label: str  # of the y axis
    curves: list
    log: bool = False  # a logarithmic y axis; else it begins at 0
    title: str = ""
    limits: dict = {}  # other limits of the y axis


def panels(run, part, caption, xlabel, diagrams, width=11, height=3.4, **options):
    """Draws diagrams, with one legend in the first."""
    with figure(run, part, caption, len(diagrams), width, height) as all_axes:
        for axes, panel in zip(all_axes, diagrams):
            for curve in panel.curves:
                curve.draw(axes)
            axes.set(title=panel.title, xlabel=xlabel, ylabel=panel.label, **options)
            if panel.log:
                axes.set_yscale("log")
            else:
                axes.set_ylim(**(panel.limits or {"bottom": 0}))
        all_axes[0].legend()
