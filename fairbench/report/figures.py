"""The figures of a leaderboard: curves, fronts and cost; each takes the panels to draw."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from fairbench.metrics.rows import LeaderboardRow, Variant
from fairbench.report.frames import SEVERAL, Frame, draw_panels, label_of, ordered
from fairbench.report.panels import OF_TASK, OF_UNSEEN_TASKS, Front, Panel
from fairbench.report.style import FAINT, GREY, QUIET, Look

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_COST_POINTS = (4, 8, 16)
"""Numbers of points of the paper's Table 1."""

_ROOM = 0.12
"""Share of the height of a cost panel that is kept free for a line of text below the curves."""

_NOTHING = 0.05
"""Seconds below which nothing was trained to speak of."""


def curves_figure(shown: Sequence[Panel]) -> Figure:
    """Draw unfairness-distortion curves (the paper's Figure 3): I against D on the test set.

    Marks are measured points; the line is the lower hull with the ends "release x" and "release
    nothing", which is what AUFDC measures. Over several splits and seeds it is the median
    attainment surface, and the band lies between those that a quarter and three quarters attain.
    """
    return draw_panels(
        shown,
        _curves,
        "D, distortion: squared error of x",
        "I(Z;S), leakage, nats",
        legend="AUFDC (lower is better)",
        several=SEVERAL,
    )


def fronts_figure(shown: Sequence[Panel]) -> Figure:
    """Draw Pareto fronts (the paper's Figure 4): downstream accuracy against auditor accuracy.

    Strong marks are the points that are on their curve's front by the validation set.

    With several seeds the steps are their median attainment surface, with a band as for curves.
    """
    return draw_panels(
        shown,
        _fronts,
        "A_s, accuracy of the auditor of s (lower is fairer)",
        "A_y, downstream accuracy",
        legend="A_y where auditors of s may gain a tenth",
        several=SEVERAL,
        corner="lower right",
    )


def transfer_figure(shown: Sequence[Panel]) -> Figure:
    """Draw fronts of unseen tasks: mean accuracy relative to x against auditor accuracy.

    As :func:`fronts_figure`. Panels without unseen tasks say that nothing is measured.
    """
    return draw_panels(
        shown,
        _transfer,
        "A_s, accuracy of the auditor of s (lower is fairer)",
        "accuracy on unseen tasks, relative to x",
        legend="mean at a tenth of the leakage of x",
        several=SEVERAL,
        corner="lower right",
    )


def cost_figure(shown: Sequence[Panel]) -> Figure:
    """Draw training time against points: constant where single-shot (the paper's Table 1)."""
    return draw_panels(
        shown,
        _cost,
        "points on the curve",
        "training time, seconds",
        legend="",
        several="",
        corner="lower right",
    )


def _curves(axes: Axes, panel: Panel, look: Mapping[Variant, Look], frame: Frame) -> None:
    curves = panel.curves
    for name, row, style in ordered(panel, look):
        seeds = curves[name]
        if not seeds:
            continue
        if row.variant not in frame.rows:
            axes.plot(*panel.surface(row, 50), color=FAINT, linewidth=0.7, zorder=1)
            continue
        text = label_of(panel, frame, row, row.figures.get("aufdc"))
        d, i = panel.surface(row, 50)
        axes.plot(d, i, color=style.colour, linestyle=style.line, zorder=2)
        best, worst = panel.surface(row, 25), panel.surface(row, 75)
        if best[0] and worst[0] and not frame.small:
            grid = np.linspace(0, max(worst[0]), 200)
            low, high = np.interp(grid, *best), np.interp(grid, *worst)
            axes.fill_between(grid, low, high, color=style.colour, alpha=0.15, linewidth=0)
        figures = [point.figures for points in seeds for point in points]
        x, y = np.array([(f["distortion"], max(f["mutual_information"], 0)) for f in figures]).T
        mark = frame.mark(row, style)
        axes.plot(x, y, **mark, alpha=0.75, linestyle="none", zorder=3)
        axes.plot([], [], **mark, linestyle=_line(row, style), label=text)
    if panel.ends is not None:
        draw_ends(axes, *panel.ends, named=not frame.small)


def draw_ends(
    axes: Axes, d_max: float, i_max: float, *, size: float = 7.5, named: bool = True
) -> None:
    """Draw the chord from releasing x to releasing nothing, and set the limits of the axes.

    All marks stay within them: where D_max differs between splits, marks may lie beyond its mean.
    """
    right = max(1.15 * d_max, 1.02 * axes.dataLim.x1)
    axes.plot([0, d_max], [i_max, 0], color=GREY, linewidth=0.8, linestyle=":")
    axes.set(xlim=(-0.02 * d_max, right), ylim=(-0.03 * i_max, None))
    if not named:
        return
    note: Any = {"textcoords": "offset points", "fontsize": size, "color": QUIET}
    axes.annotate("release x", (0, i_max), (8, 2), **note)
    axes.annotate("release\nnothing", (d_max, 0), (4, 5), **note)


def _fronts(axes: Axes, panel: Panel, look: Mapping[Variant, Look], frame: Frame) -> None:
    _draw_fronts(axes, panel, look, frame, OF_TASK, "accuracy_y_at_accuracy_s_10")


def _transfer(axes: Axes, panel: Panel, look: Mapping[Variant, Look], frame: Frame) -> None:
    _draw_fronts(axes, panel, look, frame, OF_UNSEEN_TASKS, "transfer_at_leakage_10")


def _draw_fronts(
    axes: Axes,
    panel: Panel,
    look: Mapping[Variant, Look],
    frame: Frame,
    front: Front,
    column: str,
) -> None:
    """Draw the front of each row; ``column``: its figure in the legend."""
    curves = panel.curves
    for name, row, style in ordered(panel, look):
        of_curves = [
            [point for point in points if front.value(point) is not None] for points in curves[name]
        ]
        if row.variant not in frame.rows:
            x, y = panel.front(row, 50, front)
            axes.step(x, y, where="post", color=FAINT, linewidth=0.7, zorder=1)
            continue
        mark = frame.mark(row, style)
        for points, alpha in [
            *((points, 0.25) for points in of_curves),
            *((front.chosen(points), 1.0) for points in of_curves),
        ]:
            a_s = [point.figures["accuracy_s"] for point in points]
            values = np.array([front.value(point) for point in points])
            axes.plot(a_s, values, **mark, alpha=alpha, linestyle="none")
        if not any(of_curves):
            continue
        x, y = panel.front(row, 50, front)
        axes.step(x, y, where="post", color=style.colour, linestyle=style.line)
        x, low, high = panel.front_band(row, front)
        if x and not frame.small:
            axes.fill_between(
                x, low, high, step="post", color=style.colour, alpha=0.12, linewidth=0
            )
        figure = None if row.no_point_within_limit(column) else row.figures.get(column)
        text = label_of(panel, frame, row, figure)
        axes.plot([], [], **mark, linestyle=_line(row, style), label=text)


def _line(row: LeaderboardRow, style: Look) -> Any:
    """A row's line; one that is not complete has none."""
    return style.line if row.complete else "none"


def _cost(axes: Axes, panel: Panel, look: Mapping[Variant, Look], frame: Frame) -> None:
    from matplotlib.ticker import LogLocator

    free: list[str] = []
    for name, row, style in ordered(panel, look):
        known = [row.figures.get(f"train_seconds_{n}") for n in _COST_POINTS]
        seconds = [one for one in known if one is not None]
        if len(seconds) < len(known):
            continue  # nobody knows what it cost
        if min(seconds) < _NOTHING:
            if row.variant in frame.rows:
                free.append(name)
            continue
        if row.variant not in frame.rows:
            axes.plot(_COST_POINTS, seconds, color=FAINT, linewidth=0.7, zorder=1)
            continue
        axes.plot(
            _COST_POINTS,
            seconds,
            marker=style.marker,
            color=style.colour,
            linestyle=style.line,
            label=label_of(panel, frame, row, None),
        )
    axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    if free and not frame.small:
        words = f"below {_NOTHING:g} s: {', '.join(free)}"
        axes.text(0.99, 0.02, words, ha="right", fontsize=8, transform=axes.transAxes)
        low, high = axes.get_ylim()
        axes.set_ylim(low * (low / high) ** _ROOM, high)
    axes.set_xticks(_COST_POINTS, [str(n) for n in _COST_POINTS])
    axes.yaxis.set_major_formatter("{x:g}")
    axes.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    axes.yaxis.set_minor_formatter("")
