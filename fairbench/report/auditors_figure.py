"""The figure of auditors: what each of them reads of each method."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from fairbench.metrics.rows import Variant
from fairbench.report.format import format_share
from fairbench.report.frames import draw_notes
from fairbench.report.gather import AuditorSummary
from fairbench.report.panels import Panel
from fairbench.report.style import new_figure, styled

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_LABELS, _CELL, _LINE = 2.5, 0.66, 0.23
"""Inches: room for the names of auditors, width of a column, height of a row."""

_MAX_METHODS = 9
"""Columns side by side, so that the figure is readable at the width of a page."""

_FAINT = 0.02
"""Nats: a method whose highest estimate is below this is not shaded as dark as others."""


@dataclass(frozen=True)
class _Block:
    """Some methods of a panel, side by side; ``heads``: views and auditors, a row each."""

    panel: Panel
    variants: tuple[Variant, ...]
    heads: tuple[tuple[str, str], ...]
    cells: Mapping[tuple[Variant, tuple[str, str]], AuditorSummary]
    is_last: bool

    @property
    def height(self) -> float:
        """Inches, with the title above and the notes below."""
        return 1.3 + _LINE * max(len(self.heads), 1) + (0.6 if self.is_last else 0)


def auditors_figure(shown: Sequence[Panel], summaries: Sequence[AuditorSummary]) -> Figure:
    """Draw auditors by method: mean I that each estimates over the method's points.

    The number in brackets counts the points at which that auditor is the strict one; a star marks
    one that ran at some of the points only (a view of codes is only of codes), so that its mean is
    of other points. The darker a cell, the higher the estimate, relative to the method's highest.
    """
    blocks = [block for panel in shown for block in _blocks(panel, summaries)]
    most = max(len(block.variants) for block in blocks)
    heights = [block.height for block in blocks]
    with styled():
        size = max(5.5, _LABELS + _CELL * most), sum(heights)
        figure = new_figure(*size, rows=len(blocks), heights=heights)
        for axes, block in zip(figure.axes, blocks, strict=True):
            _draw(axes, block)
            axes.set_title(block.panel.title)
            if block.is_last:
                axes.set_xlabel(
                    "mean I(Z;S) over a method's points, nats; in brackets: points where it was "
                    "chosen\n* it ran at some of the points only; shades are relative to the "
                    "highest of a method"
                )
                draw_notes(axes, block.panel, "", 112)
    return figure


def _blocks(panel: Panel, summaries: Sequence[AuditorSummary]) -> Iterator[_Block]:
    variants = [row.variant for row in panel.rows]
    own = [one for one in summaries if one.group == panel.group and one.variant in variants]
    heads = tuple(dict.fromkeys((one.view, one.auditor) for one in own))
    cells = {(one.variant, (one.view, one.auditor)): one for one in own}
    # Blocks of about equal width.
    count = max(1, math.ceil(len(variants) / _MAX_METHODS))
    width = math.ceil(len(variants) / count) or 1
    starts = range(0, max(len(variants), 1), width)
    for start in starts:
        part = tuple(variants[start : start + width])
        yield _Block(panel, part, heads, cells, start == starts[-1])


def _draw(axes: Axes, block: _Block) -> None:
    heads = block.heads
    if not heads:
        axes.text(0.5, 0.5, "nothing measured yet", ha="center", transform=axes.transAxes)
        return
    grid = np.full((len(heads), len(block.variants)), np.nan)
    for j, variant in enumerate(block.variants):
        column = {
            i: block.cells[variant, head]
            for i, head in enumerate(heads)
            if (variant, head) in block.cells
        }
        most = max((cell.points for cell in column.values()), default=0)
        for i, cell in column.items():
            grid[i, j] = max(cell.mutual_information, 0)
            axes.text(j, i, _estimate(cell, most), ha="center", va="center", fontsize=7)
    best = np.nanmax(np.where(np.isnan(grid), 0, grid), axis=0, keepdims=True)
    axes.imshow(grid / np.maximum(best, _FAINT), cmap="Blues", vmin=0, vmax=2.2, aspect="auto")
    names = [textwrap.fill(block.panel.names[one], 14) for one in block.variants]
    axes.set_xticks(range(len(names)), names, fontsize=7.5, rotation=30, ha="left")
    axes.xaxis.tick_top()
    words = [auditor if view == "none" else f"{auditor} on {view}" for view, auditor in heads]
    axes.set_yticks(range(len(heads)), words, fontsize=7.5)
    axes.grid(visible=False)
    axes.tick_params(length=0)


def _estimate(cell: AuditorSummary, most: int) -> str:
    """One auditor's mean, starred if over fewer than ``most`` points, and how often it decided."""
    text = format_share(cell.mutual_information) + ("*" if cell.points < most else "")
    return f"{text} ({cell.chosen})" if cell.chosen else text
