"""One style for all figures: colour-blind safe, readable in print and in grey."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.figure import Figure

COLOURS = (
    *("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000"),
    *("#882255", "#999933", "#332288", "#661100", "#44AA99", "#AA4499", "#1E9600"),
)
"""Okabe and Ito's palette, without its yellow, which is lost on white; then some of Paul Tol's,
and a green that is far from the shades of all of them."""

SHADES = (0.0, 0.45, -0.45, 0.25, -0.25)
"""Of the members of a family: how far towards white, or where negative towards black."""

FAINT = "#DCDCDC"
"""Rows that a frame is not about, behind those that it is."""

GREY = "#8A8A8A"
"""Baselines: they are the background that methods are seen against."""

QUIET = "#595959"
"""Notes: still 7 to 1 against white."""

MARKERS = ("o", "s", "^", "D", "v", "P", "X", "<", ">")

LINES = ("-", "--", ":", "-.")

_SETTINGS: Any = {
    "font.family": "sans-serif",
    "font.size": 9.0,
    "axes.titlesize": 10.0,
    "axes.labelsize": 9.0,
    "legend.fontsize": 8.0,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.color": "#E6E6E6",
    "grid.linewidth": 0.6,
    "axes.axisbelow": True,
    "lines.linewidth": 1.4,
    "lines.markersize": 4.0,
    "legend.frameon": False,
    "figure.dpi": 100,
    "savefig.dpi": 200,
    "savefig.bbox": "tight",
    "pdf.fonttype": 42,  # text stays text
    "svg.hashsalt": "fairbench",
}


@dataclass(frozen=True)
class Look:
    """How a row is drawn.

    Parameters
    ----------
    colour, marker : str
        Of matplotlib.
    line : str or tuple
        A line style's name, or the offset and lengths of its dashes, points.
    """

    colour: str
    marker: str
    line: str | tuple[int, tuple[int, int]]


@contextmanager
def styled() -> Iterator[None]:
    """Draw without a display, in this style, and leave matplotlib as it was."""
    import matplotlib

    with matplotlib.rc_context(_SETTINGS):
        yield


def new_figure(
    width: float,
    height: float,
    columns: int = 1,
    rows: int = 1,
    heights: Sequence[float] | None = None,
) -> Figure:
    """A figure of ``rows x columns`` axes, inches, without the pyplot machinery.

    ``heights`` are those of the rows, relative to each other; equal unless given.
    """
    figure = empty_figure(width, height)
    figure.subplots(rows, columns, squeeze=False, height_ratios=heights)
    return figure


def empty_figure(width: float, height: float) -> Figure:
    """A figure without axes, inches."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout="constrained")
    FigureCanvasAgg(figure)
    return figure


def shaded(colour: str, shade: float) -> str:
    """Mix ``#rrggbb`` with white, or where ``shade`` is negative with black, by that share."""
    parts = [int(colour[i : i + 2], 16) for i in (1, 3, 5)]
    towards = 255 if shade > 0 else 0
    return "#" + "".join(f"{round(p + abs(shade) * (towards - p)):02X}" for p in parts)
