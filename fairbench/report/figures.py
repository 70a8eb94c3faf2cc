"""The figures of a leaderboard: curves, fronts and cost; each takes the panels to draw.

The notes under each panel say whether the data are simulated, which rows are not complete, and
what lines and bands show where there are several seeds.
"""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from fairbench.metrics.rows import LeaderboardRow, Variant
from fairbench.report.format import format_share
from fairbench.report.gather import AuditorSummary
from fairbench.report.panels import OF_TASK, OF_UNSEEN_TASKS, Front, Panel, all_names
from fairbench.report.style import GREY, QUIET, Look, looks, new_figure, styled

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_WIDTH, _HEIGHT = 5.4, 3.6

_COST_POINTS = (4, 8, 16)
"""Numbers of points of the paper's Table 1."""

_NOTHING = 0.05
"""Seconds below which nothing was trained to speak of."""

_SEVERAL = "Lines: the median over splits and seeds, {count} curves at most. Bands: {bands}."
_BANDS = "what 25% to 75% of them attain"
_FEW_BANDS = "from the best of them to the worst"

_FEW = 3
"""Curves of which a quarter is one, and three quarters are all."""

_WRAP = 105
"""Characters of a line of notes."""

_LINE = 0.18
"""Height of a line of a legend, inches: a panel is as tall as its legend, or that runs over."""

Drawn = Callable[["Axes", Panel, Mapping[str, Look]], None]


def curves_figure(shown: Sequence[Panel]) -> Figure:
    """Draw unfairness-distortion curves (the paper's Figure 3): I against D on the test set.

    Marks are measured points; the line is the lower hull with the ends "release x" and "release
    nothing", which is what AUFDC measures. With several seeds it is the median attainment surface,
    and the band lies between the surfaces that a quarter and three quarters of the seeds attain.
    """
    return _figure(
        shown,
        _curves,
        "D, distortion: squared error of x",
        "I(Z;S), leakage, nats",
        legend="AUFDC (lower is better)",
        several=_SEVERAL,
    )


def fronts_figure(shown: Sequence[Panel]) -> Figure:
    """Draw Pareto fronts (the paper's Figure 4): downstream accuracy against auditor accuracy.

    Strong marks are the points that are on their curve's front by the validation set.

    With several seeds the steps are their median attainment surface, with a band as for curves.
    """
    return _figure(
        shown,
        _fronts,
        "A_s, accuracy of the auditor of s (lower is fairer)",
        "A_y, downstream accuracy",
        legend="A_y where auditors of s may gain a tenth",
        several=_SEVERAL,
    )


def transfer_figure(shown: Sequence[Panel]) -> Figure:
    """Draw fronts of unseen tasks: mean accuracy relative to x against auditor accuracy.

    As :func:`fronts_figure`. Panels without unseen tasks say that nothing is measured.
    """
    return _figure(
        shown,
        _transfer,
        "A_s, accuracy of the auditor of s (lower is fairer)",
        "accuracy on unseen tasks, relative to x",
        legend="mean at a tenth of the leakage of x",
        several=_SEVERAL,
    )


def cost_figure(shown: Sequence[Panel]) -> Figure:
    """Draw training time against points: constant where single-shot (the paper's Table 1)."""
    return _figure(
        shown, _cost, "points on the curve", "training time, seconds", legend="", several=""
    )


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
        size = max(_WIDTH + 1.9, 2.2 + 0.62 * most), sum(heights)
        figure = new_figure(*size, rows=len(shown), heights=heights)
        for axes, panel, cells in zip(figure.axes, shown, of_panel, strict=True):
            _auditors(axes, panel, cells)
            axes.set_title(panel.title)
            axes.set_xlabel(
                "mean I(Z;S) over a method's points, nats; in brackets: points where it was chosen"
                "\n* it ran at some of the points only; shades are relative to the best of a row"
            )
            _notes(axes, panel, "", 112)
    return figure


def _heads(summaries: Sequence[AuditorSummary]) -> list[tuple[str, str]]:
    """Views and auditors, as columns."""
    return list(dict.fromkeys((one.view, one.auditor) for one in summaries))


def _auditors(axes: Axes, panel: Panel, summaries: Sequence[AuditorSummary]) -> None:
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


def _figure(
    shown: Sequence[Panel], draw: Drawn, x: str, y: str, *, legend: str, several: str
) -> Figure:
    baselines = [name for panel in shown for name in panel.baselines]
    look = looks(all_names(shown), baselines)
    with styled():
        heights = [_height(panel) for panel in shown]
        figure = new_figure(_WIDTH + 1.9, sum(heights), rows=len(shown), heights=heights)
        for axes, panel in zip(figure.axes, shown, strict=True):
            draw(axes, panel, look)
            axes.set(title=panel.title, xlabel=x, ylabel=y)
            if axes.get_legend_handles_labels()[0]:
                axes.legend(loc="center left", bbox_to_anchor=(1.0, 0.5), title=legend)
            else:
                axes.text(0.5, 0.5, "nothing measured yet", ha="center", transform=axes.transAxes)
            count = panel.most_curves
            bands = _BANDS if count > _FEW else _FEW_BANDS
            _notes(axes, panel, several.format(count=count, bands=bands) if count > 1 else "", 34)
    return figure


def _height(panel: Panel) -> float:
    """Inches that a panel takes, with its title, its notes and a legend of all its rows."""
    lines = sum(_fold(name).count("\n") + 1 for name in panel.names.values())
    return max(_HEIGHT, _LINE * lines + 1.2)


def _notes(axes: Axes, panel: Panel, several: str, below: float) -> None:
    """Write notes so many points below the axes."""
    notes = [several] if several else []
    if panel.simulated:
        notes.append("SIMULATED DATA: an embedded twin, not the real table.")
    if panel.demonstration:
        notes.append(f"For demonstration, without ranks: {panel.demonstration}.")
    if panel.ranked and panel.not_replicated:
        names = ", ".join(panel.names[row.variant] for row in panel.not_replicated)
        notes.append(f"Not replicated, so not ranked: {names}.")
    notes += [f"Not complete: {line}." for line in panel.shortfalls]
    lines = [line for note in notes for line in textwrap.wrap(note, _WRAP)]
    if lines:
        axes.annotate(
            "\n".join(lines),
            (0, 0),
            (0, -below),
            xycoords="axes fraction",
            textcoords="offset points",
            va="top",
            fontsize=7.5,
            color=QUIET,
        )


def _ordered(panel: Panel, look: Mapping[str, Look]) -> list[tuple[str, LeaderboardRow, Look]]:
    names = panel.names
    return [(names[row.variant], row, look[names[row.variant]]) for row in panel.rows]


def _label(name: str, row: LeaderboardRow, figure: float | None) -> str:
    """A legend's line: the name, its figure, and whether the row is complete."""
    name = _fold(name)
    text = name if figure is None else f"{name}  {format_share(figure)}"
    return text if row.complete else f"{text} (incomplete)"


def _fold(name: str) -> str:
    """A name in lines of at most 32 characters, and not more than three: panels need room too."""
    return textwrap.fill(name, 32, max_lines=3, placeholder=" ...")


def _curves(axes: Axes, panel: Panel, look: Mapping[str, Look]) -> None:
    curves = panel.curves()
    for name, row, style in _ordered(panel, look):
        seeds = curves[name]
        if not seeds:
            continue
        text = _label(name, row, row.figures.get("aufdc"))
        d, i = panel.surface(row, 50)
        axes.plot(d, i, color=style.colour, linestyle=style.line, zorder=2)
        best, worst = panel.surface(row, 25), panel.surface(row, 75)
        if best[0] and worst[0]:
            grid = np.linspace(0, max(worst[0]), 200)
            low, high = np.interp(grid, *best), np.interp(grid, *worst)
            axes.fill_between(grid, low, high, color=style.colour, alpha=0.15, linewidth=0)
        figures = [point.figures for points in seeds for point in points]
        x, y = np.array([(f["distortion"], max(f["mutual_information"], 0)) for f in figures]).T
        mark = _mark(row, style)
        axes.plot(x, y, **mark, alpha=0.75, linestyle="none", zorder=3)
        axes.plot([], [], **mark, linestyle=_line(row, style), label=text)
    if panel.ends is not None:
        draw_ends(axes, *panel.ends)


def draw_ends(axes: Axes, d_max: float, i_max: float, *, size: float = 7.5) -> None:
    """Draw the chord from releasing x to releasing nothing, and set the limits of the axes."""
    axes.plot([0, d_max], [i_max, 0], color=GREY, linewidth=0.8, linestyle=":")
    axes.set(xlim=(-0.02 * d_max, 1.15 * d_max), ylim=(-0.03 * i_max, None))
    note: Any = {"textcoords": "offset points", "fontsize": size, "color": QUIET}
    axes.annotate("release x", (0, i_max), (8, 2), **note)
    axes.annotate("release\nnothing", (d_max, 0), (4, 5), **note)


def _fronts(axes: Axes, panel: Panel, look: Mapping[str, Look]) -> None:
    _draw_fronts(axes, panel, look, OF_TASK, "accuracy_y_at_accuracy_s_10")


def _transfer(axes: Axes, panel: Panel, look: Mapping[str, Look]) -> None:
    _draw_fronts(axes, panel, look, OF_UNSEEN_TASKS, "transfer_at_leakage_10")


def _draw_fronts(
    axes: Axes, panel: Panel, look: Mapping[str, Look], front: Front, column: str
) -> None:
    """Draw the front of each row; ``column``: its figure in the legend."""
    curves = panel.curves()
    for name, row, style in _ordered(panel, look):
        of_curves = [
            [point for point in points if front.value(point) is not None] for points in curves[name]
        ]
        mark = _mark(row, style)
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
        if x:
            axes.fill_between(
                x, low, high, step="post", color=style.colour, alpha=0.12, linewidth=0
            )
        text = _label(name, row, row.figures.get(column))
        axes.plot([], [], **mark, linestyle=_line(row, style), label=text)


def _mark(row: LeaderboardRow, style: Look) -> dict[str, Any]:
    """A row's marks: filled where it is complete."""
    face = style.colour if row.complete else "none"
    return {"marker": style.marker, "color": style.colour, "markerfacecolor": face}


def _line(row: LeaderboardRow, style: Look) -> Any:
    """A row's line; one that is not complete has none."""
    return style.line if row.complete else "none"


def _cost(axes: Axes, panel: Panel, look: Mapping[str, Look]) -> None:
    for name, row, style in _ordered(panel, look):
        seconds = [row.figures.get(f"train_seconds_{n}") or 0.0 for n in _COST_POINTS]
        if min(seconds) < _NOTHING:
            continue
        axes.plot(
            _COST_POINTS,
            seconds,
            marker=style.marker,
            color=style.colour,
            linestyle=style.line,
            label=_label(name, row, None),
        )
    axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    axes.set_xticks(_COST_POINTS, [str(n) for n in _COST_POINTS])
    axes.yaxis.set_major_formatter("{x:g}")
    axes.yaxis.set_minor_formatter("{x:g}")
