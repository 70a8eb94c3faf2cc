"""Figures of a code's bits: which are released, and with what they correlate (Figures 5 and 6)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from fairbench.report.explain import BitTable, Step
from fairbench.report.style import new_figure, styled

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_ACROSS = 6
"""Settings of the knob per row of panels."""

_MOST_FEATURES = 20
"""Rows of the correlation figure: those that ever correlate most."""


def bits_figure(tables: Sequence[BitTable], title: str) -> Figure:
    """Draw released bits by setting: a line per dimension, black if masked, darker if disparate.

    A bit that is masked for a part of the rows is darkened by (the root of) that share.
    """
    from matplotlib import colormaps
    from matplotlib.colors import Normalize

    rows = -(-len(tables) // _ACROSS)
    across = min(_ACROSS, len(tables))
    top = max(max(float(table.disparity.max()) for table in tables), 0.05)
    colour, scale = colormaps["YlOrRd"], Normalize(0, top)
    with styled():
        figure = new_figure(1.25 * across + 1.2, 1.35 * rows + 0.5, across, rows)
        for axes, table in zip(figure.axes, tables, strict=False):
            shade = colour(scale(table.disparity))[..., :3] * np.sqrt(table.kept)[..., None]
            axes.imshow(shade, aspect="auto", interpolation="nearest")
            axes.set_title(f"{table.label}\n{table.bits_per_row:.1f} bits released", fontsize=7)
            axes.set(xticks=[], yticks=[])
            axes.grid(visible=False)
        for axes in figure.axes[len(tables) :]:
            axes.set_visible(False)
        shown = figure.axes[: rows * across]
        from matplotlib.cm import ScalarMappable

        bar = figure.colorbar(ScalarMappable(scale, colour), ax=shown, shrink=0.8, pad=0.02)
        bar.set_label("disparity of the bit; darkened where masked for some", fontsize=8)
        figure.suptitle(f"{title}: lines are dimensions of z, columns their bits", fontsize=9)
    return figure


def information_figure(steps: Sequence[Step], title: str) -> Figure:
    """Draw what new bits correlate with as the constraint loosens, from left to right."""
    features = sorted(steps[0].correlation, key=lambda f: -max(s.correlation[f] for s in steps))
    features = features[:_MOST_FEATURES]
    grid = np.array([[step.correlation[name] for step in steps] for name in features])
    with styled():
        figure = new_figure(0.42 * len(steps) + 2.6, 0.26 * len(features) + 1.6)
        axes = figure.axes[0]
        image = axes.imshow(grid, cmap="Blues", vmin=0, vmax=1, aspect="auto")
        axes.set_yticks(range(len(features)), features)
        labels = [step.after.split("=")[-1] for step in steps]
        axes.set_xticks(range(len(steps)), labels, rotation=60, ha="right", fontsize=7)
        knob = steps[0].after.split("=")[0]
        axes.set(xlabel=f"{knob} after the step, loosening to the right", title=title)
        axes.grid(visible=False)
        bar = figure.colorbar(image, ax=axes)
        bar.set_label("|correlation| with the newly released bits", fontsize=8)
    return figure
