"""Figures of a code's bits: which are released, and with what they correlate (Figures 5 and 6)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from fairbench.models.bits import BitTable, Step
from fairbench.report.style import QUIET, new_figure, styled

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_LINE = 0.13
"""Height of a bit's line, inches."""

_MASKED = 0.01
"""Share of rows below which a bit counts as masked: its disparity says nothing."""

_MAX_FEATURES = 20
"""Rows of the correlation figure: those that ever correlate most."""


def bits_figure(tables: Sequence[BitTable], title: str) -> Figure:
    """Draw two maps of bits by setting: the share of rows that keep a bit, and its disparity.

    A line is a bit, lines of one dimension of z together, the most significant bit first; a column
    is a setting of the knob. Where a bit is masked for all rows, its disparity is left blank.
    """
    from matplotlib.colors import Normalize, PowerNorm

    kept = np.column_stack([table.kept.ravel() for table in tables])
    disparity = np.column_stack([table.disparity.ravel() for table in tables])
    dimensions, bits = tables[0].kept.shape
    shown = np.ma.masked_where(kept < _MASKED, disparity)
    with styled():
        figure = new_figure(7.6, _LINE * dimensions * bits + 2.2, 2)
        most = max(float(shown.max()) if shown.count() else 0.0, 0.05)
        maps = (
            # Its root: most bits are kept for few rows.
            (kept, "Greys", PowerNorm(0.5, 0, 1), "share of rows that keep the bit"),
            (shown, "YlOrRd", Normalize(0, most), "disparity of the bit"),
        )
        for axes, (values, colours, scale, name) in zip(figure.axes[:2], maps, strict=True):
            image = axes.imshow(values, cmap=colours, norm=scale, aspect="auto")
            for line in range(1, dimensions):
                axes.axhline(line * bits - 0.5, color=QUIET, linewidth=0.6)
            middles = np.arange(dimensions) * bits + (bits - 1) / 2
            axes.set_yticks(middles, [f"z{k + 1}" for k in range(dimensions)])
            axes.set_xticks(
                range(len(tables)),
                [_three_digits(table.label.rpartition("=")[2]) for table in tables],
                rotation=90,
                fontsize=7,
            )
            axes.set_title(name, fontsize=9)
            axes.tick_params(length=0)
            axes.grid(visible=False)
            figure.colorbar(image, ax=axes, location="bottom", shrink=0.8, pad=0.02)
        figure.axes[1].set_yticks([])
        knob = tables[0].label.partition("=")[0]
        figure.suptitle(title, fontsize=10)
        figure.supxlabel(
            f"{knob} of each setting. In each dimension of z the most significant bit is on top.",
            fontsize=8,
        )
    return figure


def information_figure(steps: Sequence[Step], title: str) -> Figure:
    """Draw what new bits correlate with as the knob allows more, from left to right."""
    features = sorted(steps[0].correlation, key=lambda f: -max(s.correlation[f] for s in steps))
    features = features[:_MAX_FEATURES]
    grid = np.array([[step.correlation[name] for step in steps] for name in features])
    with styled():
        figure = new_figure(0.42 * len(steps) + 2.6, 0.26 * len(features) + 1.6)
        axes = figure.axes[0]
        image = axes.imshow(grid, cmap="Blues", vmin=0, vmax=1, aspect="auto")
        axes.set_yticks(range(len(features)), features)
        labels = [_three_digits(step.after.rpartition("=")[2]) for step in steps]
        axes.set_xticks(range(len(steps)), labels, rotation=60, ha="right", fontsize=7)
        knob = steps[0].after.split("=")[0]
        axes.set(xlabel=f"{knob} after the step, loosening to the right", title=title)
        axes.grid(visible=False)
        bar = figure.colorbar(image, ax=axes)
        bar.set_label("|correlation| with the newly released bits", fontsize=8)
    return figure


def _three_digits(number: str) -> str:
    """A setting's number in three digits; what is no number stays."""
    try:
        return f"{float(number):.3g}"
    except ValueError:
        return number
