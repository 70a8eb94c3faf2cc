"""The figure of auditors: what each of them reads of each method."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
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

_WIDTH = 7.3


def auditors_figure(shown: Sequence[Panel], summaries: Sequence[AuditorSummary]) -> Figure:
    """Draw auditors side by side: mean I that each estimates over each method's points.

    The number in brackets counts the points at which that auditor is the strict one; a star marks
    one that ran at some of the points only (a view of codes is only of codes), so that its mean is
    of other points. The darker a cell, the higher the estimate, relative to the method's highest.
    """
    of_panel = [[one for one in summaries if one.group == panel.group] for panel in shown]
    most = max((len(_heads(cells)) for cells in of_panel), default=1)
    heights = [2.0 + 0.28 * len(panel.rows) for panel in shown]
    with styled():
        size = max(_WIDTH, 2.2 + 0.62 * most), sum(heights)
        figure = new_figure(*size, rows=len(shown), heights=heights)
        for axes, panel, cells in zip(figure.axes, shown, of_panel, strict=True):
            _auditors(axes, panel, cells)
            axes.set_title(panel.title)
            axes.set_xlabel(
                "mean I(Z;S) over a method's points, nats; in brackets: points where it was chosen"
                "\n* it ran at some of the points only; shades are relative to the best of a row"
            )
            draw_notes(axes, panel, "", 112)
    return figure


def _heads(summaries: Sequence[AuditorSummary]) -> list[tuple[str, str]]:
    """Views and auditors, as columns."""
    return list(dict.fromkeys((one.view, one.auditor) for one in summaries))


def _auditors(axes: Axes, panel: Panel, summaries: Sequence[AuditorSummary]) -> None:
    shown = {row.variant for row in panel.rows}
    summaries = [one for one in summaries if one.variant in shown]
    heads = _heads(summaries)
    if not heads:
        axes.text(0.5, 0.5, "nothing measured yet", ha="center", transform=axes.transAxes)
        return
    names = panel.names
    keys = [row.variant for row in panel.rows]
    cells: dict[tuple[Variant, tuple[str, str]], AuditorSummary] = {
        (one.variant, (one.view, one.auditor)): one for one in summaries
    }
    grid = np.full((len(keys), len(heads)), np.nan)
    for i, key in enumerate(keys):
        row = {j: cells[key, head] for j, head in enumerate(heads) if (key, head) in cells}
        most = max((cell.points for cell in row.values()), default=0)
        for j, cell in row.items():
            grid[i, j] = max(cell.mutual_information, 0)
            axes.text(j, i, _estimate(cell, most), ha="center", va="center", fontsize=7)
    best = np.nanmax(np.where(np.isnan(grid), 0, grid), axis=1, keepdims=True)
    axes.imshow(grid / np.maximum(best, 1e-9), cmap="Blues", vmin=0, vmax=2.2, aspect="auto")
    words = [auditor if view == "none" else f"{auditor} on {view}" for view, auditor in heads]
    axes.set_xticks(range(len(heads)), words, fontsize=7, rotation=40, ha="right")
    axes.set_yticks(
        range(len(keys)), [textwrap.shorten(names[k], 32, placeholder=" ...") for k in keys]
    )
    axes.grid(visible=False)
    axes.tick_params(length=0)


def _estimate(cell: AuditorSummary, most: int) -> str:
    """One auditor's mean, starred if over fewer than ``most`` points, and how often it decided."""
    text = format_share(cell.mutual_information) + ("*" if cell.points < most else "")
    return f"{text} ({cell.chosen})" if cell.chosen else text
