"""The figure of ranks: areas with their intervals, by auditors and certified, and rank sets."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from typing import TYPE_CHECKING

from fairbench.metrics.rows import LeaderboardRow
from fairbench.report.headings import NO_POINT, name_measure
from fairbench.report.panels import Panel, looks_of
from fairbench.report.style import GREY, QUIET, new_figure, styled
from fairbench.report.verdicts import describe_tests, note_intervals

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_WIDTH = 7.3
_LINE = 0.26
"""Height of a row, inches."""
_TITLE = 22
"""Height of the title, above which the legend stands, points."""

_COLUMN = "aufdc"
_CERTIFIED = "aufdc_certified"
_KEY = "#3a3a3a"
"""Colour of the legend's marks, which are of all rows."""


def ranks_figure(shown: Sequence[Panel]) -> Figure:
    """Draw a line per row: what it is ranked by and its 95% interval, and the rank set.

    That is AUFDC, with the certified area beside it, or in the aware track another figure. Rows
    that are not replicated stand below a line, without a rank.
    """
    heights = [1.5 + _LINE * (len(panel.rows) + 1) for panel in shown]
    with styled():
        figure = new_figure(_WIDTH, sum(heights), rows=len(shown), heights=heights)
        for axes, panel in zip(figure.axes, shown, strict=True):
            _draw(axes, panel)
            axes.set_title(panel.title)
    return figure


def _draw(axes: Axes, panel: Panel) -> None:
    from matplotlib.transforms import ScaledTranslation

    names, look = panel.names, looks_of([panel])
    column = panel.rows[0].ranked_by or _COLUMN
    of_area = column == _COLUMN
    labels: list[tuple[float, str]] = []
    ranks: list[tuple[float, str]] = []
    place = 0.0
    for block in (panel.ranked, panel.not_replicated):
        if block and place:
            axes.axhline(place, color=GREY, linewidth=0.8)
            axes.text(
                1.0,
                place + 0.75,
                "not replicated, without rank",
                ha="right",
                va="center",
                fontsize=7.5,
                color=QUIET,
                transform=axes.get_yaxis_transform(),
            )
            place += 1
        for row in block:
            others = bool(panel.highlighted) and row.method not in panel.highlighted
            grey = others or "baseline" in row.tags.split()
            _row(axes, row, column, place, GREY if grey else look[row.variant].colour)
            labels.append((place, textwrap.shorten(names[row.variant], 38, placeholder=" ...")))
            ranks.append((place, str(row.rank or "")))
            place += 1
    axes.set_yticks(*zip(*labels, strict=True))
    if panel.ranked:
        beside = axes.secondary_yaxis("right")
        beside.set_yticks(*zip(*ranks, strict=True))
        beside.set_ylabel("rank, with 95% confidence", labelpad=10)
        beside.spines["right"].set_visible(False)
        beside.tick_params(length=0)
    axes.set(ylim=(place - 0.4, -0.6))
    if of_area:
        axes.set(xlim=(0, None), xlabel="area (lower is better; x itself: 0.5)")
    else:
        axes.set(xlabel=f"{name_measure(column)}, by which the rows are ranked")
    axes.grid(visible=True, axis="x")
    axes.tick_params(length=0)
    shown = "AUFDC, by auditors" if of_area else name_measure(column)
    axes.plot([], [], "o", color=_KEY, label=f"{shown}, with 95% interval")
    if of_area:
        axes.plot([], [], "D", color=_KEY, markerfacecolor="none", label="certified AUFDC")
    above = axes.transAxes + ScaledTranslation(0, _TITLE / 72, axes.figure.dpi_scale_trans)
    axes.legend(loc="lower center", bbox_to_anchor=(0.5, 1), bbox_transform=above, ncols=2)
    notes = [
        *note_intervals(panel.ranked, panel.not_replicated),
        *([f"Ranks are among all {panel.ranks} rows."] if len(panel.ranked) < panel.ranks else []),
        *(describe_tests(panel.ranked) or ["One split gives no ranks."]),
    ]
    lines = [line for note in notes for line in textwrap.wrap(note, 105)]
    axes.annotate(
        "\n".join(lines),
        (0, 0),
        (0, -36),
        xycoords="axes fraction",
        textcoords="offset points",
        va="top",
        fontsize=7.5,
        color=QUIET,
    )


def _row(axes: Axes, row: LeaderboardRow, column: str, place: float, colour: str) -> None:
    if row.no_point_within_limit(column):
        axes.text(
            0.01,
            place,
            NO_POINT,
            va="center",
            fontsize=7.5,
            color=QUIET,
            transform=axes.get_yaxis_transform(),
        )
        return
    value, ends = row.figures.get(column), row.interval(column)
    certified = row.figures.get(_CERTIFIED) if column == _COLUMN else None
    if ends is not None:
        axes.plot(ends, [place, place], color=colour, linewidth=1.6, solid_capstyle="butt")
    if value is not None:
        face = colour if row.complete else "none"
        axes.plot([value], [place], "o", color=colour, markerfacecolor=face)
    if certified is not None:
        axes.plot([certified], [place], "D", color=colour, markerfacecolor="none")
