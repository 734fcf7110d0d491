"""Plots: matplotlib without a display, with the same bytes for the same figures."""

import contextlib
import functools
import os

IDENTITY, GZIP, KEPT, THRESHOLD, BR = "#e08214", "#2b6cb0", "#2f9e6e", "#8073ac", "#b2435f"

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
def figure(run, name, columns=1, width=6.5, height=4.0):
    """Axes to draw on; saved as NAME.svg. ELASTIC_BENCH_PNG also makes a PNG, for viewers."""
    drawing, axes = pyplot().subplots(1, columns, figsize=(width, height), squeeze=False)
    try:
        yield axes[0]
        drawing.tight_layout()
        drawing.savefig(run.results / f"{name}.svg", metadata={"Date": None})
        if os.environ.get("ELASTIC_BENCH_PNG"):
            drawing.savefig(run.results / f"{name}.png", dpi=110)
    finally:
        pyplot().close(drawing)
