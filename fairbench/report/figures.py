"""The figures of a leaderboard: curves, fronts and cost; each takes the panels to draw.

Under each panel stands what a reader must know of it: that the data are simulated, which rows are
not complete, and what lines and bands are where there are several seeds.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from fairbench.report.panels import Panel, all_names
from fairbench.report.style import GREY, QUIET, Look, looks, new_figure, styled
from fairbench.store.database import Row

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_WIDTH, _HEIGHT = 5.4, 3.6

_COST_POINTS = (4, 8, 16)
"""Numbers of points of the paper's Table 1."""

_NOTHING = 0.05
"""Seconds below which nothing was trained to speak of."""

_SEEDS = "Lines: the median over seeds, {count} at most. Bands: {bands}."
_BANDS = "what 25% to 75% of them attain"
_FEW_BANDS = "from the best of them to the worst"

_FEW = 3
"""Seeds of which a quarter is one, and three quarters are all."""

_WRAP = 105
"""Characters of a line of notes."""

_LINE = 0.18
"""Height of a line of a legend, inches: a panel is as tall as its legend, or that runs over."""

Drawn = Callable[["Axes", Panel, Mapping[str, Look]], None]


def curves_figure(shown: Sequence[Panel]) -> Figure:
    """Unfairness-distortion curves (the paper's Figure 3): I against D on test.

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
        seeds=_SEEDS,
    )


def fronts_figure(shown: Sequence[Panel]) -> Figure:
    """Pareto fronts (the paper's Figure 4): downstream accuracy against auditor accuracy.

    With several seeds the steps are their median attainment surface, with a band as for curves.
    """
    return _figure(
        shown,
        _fronts,
        "A_s, accuracy of the auditor of s (lower is fairer)",
        "A_y, downstream accuracy",
        legend="A_y where auditors of s may gain a tenth",
        seeds=_SEEDS,
    )


def cost_figure(shown: Sequence[Panel]) -> Figure:
    """Training time as points are added: constant where single-shot (the paper's Table 1)."""
    return _figure(
        shown, _cost, "points on the curve", "training time, seconds", legend="", seeds=""
    )


def auditors_figure(shown: Sequence[Panel], found: Sequence[Row]) -> Figure:
    """Auditors side by side: mean I that each read from each method's points.

    The number in brackets counts the points at which that auditor was the one that counts; a star
    marks one that ran at some of the points only (a view of codes is only of codes), so that its
    mean is of other points. The darker a cell, the more was read, relative to the method's best
    reader.

    Parameters
    ----------
    shown : sequence of Panel
    found : sequence of dict
        Of :func:`fairbench.report.gather.found_by`.
    """
    found_in = [_found_in(panel, found) for panel in shown]
    most = max((len(_heads(cells)) for cells in found_in), default=1)
    heights = [2.0 + 0.28 * len(panel.rows) for panel in shown]
    with styled():
        size = max(_WIDTH + 1.9, 2.2 + 0.62 * most), sum(heights)
        figure = new_figure(*size, rows=len(shown), heights=heights)
        for axes, panel, cells in zip(figure.axes, shown, found_in, strict=True):
            _auditors(axes, panel, cells)
            axes.set_title(panel.title)
            axes.set_xlabel(
                "mean I(Z;S) read from a method's points, nats; in brackets at how many it decided"
                "\n* it ran at some of the points only; shades are relative to the best of a row"
            )
            _notes(axes, panel, "", 112)
    return figure


def _found_in(panel: Panel, found: Sequence[Row]) -> list[Row]:
    """Rows of ``found`` that belong to a panel."""
    place = (panel.track, panel.budget, panel.audit)
    return [row for row in found if (row["track"], row["budget"], row["audit"]) == place]


def _heads(found: Sequence[Row]) -> list[tuple[str, str]]:
    """Views and auditors, as columns."""
    return list(dict.fromkeys((row["view"], row["auditor"]) for row in found))


def _auditors(axes: Axes, panel: Panel, found: Sequence[Row]) -> None:
    heads = _heads(found)
    if not heads:
        axes.text(0.5, 0.5, "nothing measured yet", ha="center", transform=axes.transAxes)
        return
    names = panel.names
    keys = [(row["method"], row["params"]) for row in panel.rows]
    cells = {(r["method"], r["params"], r["view"], r["auditor"]): r for r in found}
    grid = np.full((len(keys), len(heads)), np.nan)
    for i, key in enumerate(keys):
        row = {j: cells[(*key, *head)] for j, head in enumerate(heads) if (*key, *head) in cells}
        most = max((cell["points"] for cell in row.values()), default=0)
        for j, cell in row.items():
            grid[i, j] = max(cell["mutual_information"], 0)
            axes.text(j, i, _reading(cell, most), ha="center", va="center", fontsize=7)
    best = np.nanmax(np.where(np.isnan(grid), 0, grid), axis=1, keepdims=True)
    axes.imshow(grid / np.maximum(best, 1e-9), cmap="Blues", vmin=0, vmax=2.2, aspect="auto")
    words = [auditor if view == "none" else f"{auditor} on {view}" for view, auditor in heads]
    axes.set_xticks(range(len(heads)), words, fontsize=7, rotation=40, ha="right")
    axes.set_yticks(
        range(len(keys)), [textwrap.shorten(names[k], 32, placeholder=" ...") for k in keys]
    )
    axes.grid(visible=False)
    axes.tick_params(length=0)


def _reading(cell: Row, most: int) -> str:
    """What one auditor read, whether at fewer than ``most`` points, and at how many it decided."""
    read = re.sub(r"^(-?)0\.", r"\1.", f"{round(cell['mutual_information'], 3) + 0.0:.3f}")
    some = "*" if cell["points"] < most else ""
    return f"{read}{some} ({cell['chosen']})" if cell["chosen"] else f"{read}{some}"


def _figure(
    shown: Sequence[Panel], draw: Drawn, x: str, y: str, *, legend: str, seeds: str
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
            count = panel.most_seeds
            bands = _BANDS if count > _FEW else _FEW_BANDS
            said = seeds.format(count=count, bands=bands) if count > 1 else ""
            _notes(axes, panel, said, 34)
    return figure


def _height(panel: Panel) -> float:
    """Inches that a panel takes, with its title, its notes and a legend of all its rows."""
    lines = sum(folded(name).count("\n") + 1 for name in panel.names.values())
    return max(_HEIGHT, _LINE * lines + 1.2)


def _notes(axes: Axes, panel: Panel, seeds: str, below: float) -> None:
    """Write notes so many points below the axes."""
    notes = [seeds] if seeds else []
    if panel.simulated:
        notes.append("SIMULATED DATA: an embedded twin, not the real table.")
    notes += [f"Not complete, not ranked: {line}." for line in panel.shortfalls]
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


def _ordered(panel: Panel, look: Mapping[str, Look]) -> list[tuple[str, Row, Look]]:
    names = panel.names
    return [
        (names[(row["method"], row["params"])], row, look[names[(row["method"], row["params"])]])
        for row in panel.rows
    ]


def label(name: str, row: Row, figure: float | None) -> str:
    """A legend's line: the name, its figure, and what is missing."""
    name = folded(name)
    text = name if figure is None else f"{name}  {figure:.3f}".replace(" 0.", " .")
    return text if row["complete"] else f"{text} (incomplete)"


def folded(name: str) -> str:
    """A name in lines of at most 32 characters, and not more than three: panels need room too."""
    return textwrap.fill(name, 32, max_lines=3, placeholder=" ...")


def _curves(axes: Axes, panel: Panel, look: Mapping[str, Look]) -> None:
    curves = panel.curves()
    for name, row, style in _ordered(panel, look):
        seeds = curves[name]
        if not seeds:
            continue
        text = label(name, row, row.get("aufdc"))
        d, i = panel.surface(row, 50)
        axes.plot(d, i, color=style.colour, linestyle=style.line, zorder=2)
        best, worst = panel.surface(row, 25), panel.surface(row, 75)
        if best[0] and worst[0]:
            grid = np.linspace(0, max(worst[0]), 200)
            low, high = np.interp(grid, *best), np.interp(grid, *worst)
            axes.fill_between(grid, low, high, color=style.colour, alpha=0.15, linewidth=0)
        found = [
            (p["distortion"], max(p["mutual_information"], 0)) for points in seeds for p in points
        ]
        x, y = np.array(found).T
        mark = _mark(row, style)
        axes.plot(x, y, **mark, alpha=0.75, linestyle="none", zorder=3)
        axes.plot([], [], **mark, linestyle=_line(row, style), label=text)
    ends = next((row for row in panel.rows if row["distortion_max"] is not None), None)
    if ends is not None:
        axes.plot(
            [0, ends["distortion_max"]],
            [ends["mutual_information_max"], 0],
            color=GREY,
            linewidth=0.8,
            linestyle=":",
        )
        axes.set(
            xlim=(-0.02 * ends["distortion_max"], 1.15 * ends["distortion_max"]),
            ylim=(-0.03 * ends["mutual_information_max"], None),
        )
        told: Any = {"textcoords": "offset points", "fontsize": 7.5, "color": QUIET}
        axes.annotate("release x", (0, ends["mutual_information_max"]), (8, 2), **told)
        axes.annotate("release\nnothing", (ends["distortion_max"], 0), (4, 5), **told)


def _fronts(axes: Axes, panel: Panel, look: Mapping[str, Look]) -> None:
    curves = panel.curves()
    for name, row, style in _ordered(panel, look):
        measured = [p for points in curves[name] for p in points if p.get("accuracy_y") is not None]
        if not measured:
            continue
        a_s, a_y = np.array([(p["accuracy_s"], p["accuracy_y"]) for p in measured]).T
        mark = _mark(row, style)
        axes.plot(a_s, a_y, **mark, alpha=0.25, linestyle="none")
        own = [(p["accuracy_s"], p["accuracy_y"]) for p in measured if p["on_front"]]
        axes.plot(*np.array(own).T, **mark, linestyle="none")
        x, y = panel.front(row, 50)
        axes.step(x, y, where="post", color=style.colour, linestyle=style.line)
        x, low, high = panel.front_band(row)
        if x:
            axes.fill_between(
                x, low, high, step="post", color=style.colour, alpha=0.12, linewidth=0
            )
        text = label(name, row, row.get("accuracy_y_at_accuracy_s_10"))
        axes.plot([], [], **mark, linestyle=_line(row, style), label=text)


def _mark(row: Row, style: Look) -> dict[str, Any]:
    """A row's marks: filled where it is complete."""
    face = style.colour if row["complete"] else "none"
    return {"marker": style.marker, "color": style.colour, "markerfacecolor": face}


def _line(row: Row, style: Look) -> Any:
    """A row's line; one that is not complete has none."""
    return style.line if row["complete"] else "none"


def _cost(axes: Axes, panel: Panel, look: Mapping[str, Look]) -> None:
    for name, row, style in _ordered(panel, look):
        seconds = [row.get(f"train_seconds_{n}") or 0.0 for n in _COST_POINTS]
        if min(seconds) < _NOTHING:
            continue
        axes.plot(
            _COST_POINTS,
            seconds,
            marker=style.marker,
            color=style.colour,
            linestyle=style.line,
            label=label(name, row, None),
        )
    axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    axes.set_xticks(_COST_POINTS, [str(n) for n in _COST_POINTS])
    axes.yaxis.set_major_formatter("{x:g}")
    axes.yaxis.set_minor_formatter("{x:g}")
