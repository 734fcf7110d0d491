"""Plots: matplotlib without a display, with the same bytes for the same figures."""

import contextlib
import functools
import os
import typing

IDENTITY, GZIP, KEPT, THRESHOLD, BR = "#e08214", "#2b6cb0", "#2f9e6e", "#8073ac", "#b2435f"
CACHED = "#8cc63f"

STYLE = {
    "axes.grid": True, "axes.axisbelow": True, "axes.spines.top": False, "grid.alpha": 0.3,
    "font.size": 9, "legend.frameon": False, "svg.hashsalt": "elastic",
    "svg.fonttype": "none",  # text stays text: smaller, and a browser's to draw
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
def figure(run, part, caption, columns=1, width=6.5, height=4.0, rows=1):
    """Axes to draw on, a list of them or of their rows; saved as an SVG. ELASTIC_BENCH_PNG also
    makes a PNG, for viewers.
    """
    name = run.plots[caption] = run.name_of(part)
    drawing, axes = pyplot().subplots(rows, columns, figsize=(width, height), squeeze=False)
    try:
        yield axes if rows > 1 else axes[0]
        drawing.tight_layout()
        drawing.savefig(run.results / f"{name}.svg", metadata={"Date": None})
        if os.environ.get("ELASTIC_BENCH_PNG"):
            drawing.savefig(run.results / f"{name}.png", dpi=110)
    finally:
        pyplot().close(drawing)


class Curve(typing.NamedTuple):
    x: list
    y: list
    label: str
    color: str
    style: str = "-"
    step: bool = False


class Panel(typing.NamedTuple):
    """One of the diagrams side by side."""

    label: str  # of the y axis
    curves: list
    log: bool = False  # whether the y axis is logarithmic; else it begins at 0
    title: str = ""
    limits: dict = {}  # of the y axis, where they are others


def panels(run, part, caption, xlabel, diagrams, width=11, height=3.4, **options):
    """Draws diagrams with one legend, in the first of them."""
    with figure(run, part, caption, len(diagrams), width, height) as all_axes:
        for axes, panel in zip(all_axes, diagrams):
            for curve in panel.curves:
                draw = axes.step if curve.step else axes.plot
                draw(curve.x, curve.y, curve.style, ms=4, color=curve.color, label=curve.label,
                     **({"where": "post"} if curve.step else {}))
            axes.set(title=panel.title, xlabel=xlabel, ylabel=panel.label, **options)
            if panel.log:
                axes.set_yscale("log")
            else:
                axes.set_ylim(**(panel.limits or {"bottom": 0}))
        all_axes[0].legend()
