"""The figure of a distribution shift: leakage and accuracy in the other domain."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from fairbench.metrics.rows import PointRow, Variant
from fairbench.report.panels import Panel, looks_of
from fairbench.report.style import GREY, Look, new_figure, styled

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_WIDTH, _HEIGHT = 9.4, 3.9


def shift_figure(shown: Sequence[Panel]) -> Figure:
    """Draw two frames per panel: I(Z;S), with 95% intervals, and accuracy on the main task.

    A mark is a point of a curve: its figure in the domain where it was trained, and in the other.
    On the dotted line both are equal. Accuracy is that of the classifier fitted in the first.
    """
    look = looks_of(shown)
    with styled():
        figure = new_figure(
            _WIDTH,
            _HEIGHT * len(shown),
            columns=2,
            rows=len(shown),
            heights=[_HEIGHT] * len(shown),
        )
        for k, panel in enumerate(shown):
            leakage, accuracy = figure.axes[2 * k : 2 * k + 2]
            _draw(leakage, panel, look, "mutual_information", ends=True)
            _draw(accuracy, panel, look, "accuracy_y", ends=False)
            leakage.set(
                title=panel.title, xlabel="I(Z;S) where trained, nats", ylabel="I(Z;S) elsewhere"
            )
            accuracy.set(xlabel="A_y where trained", ylabel="A_y of the same classifier elsewhere")
            if accuracy.get_legend_handles_labels()[0]:
                accuracy.legend(loc="center left", bbox_to_anchor=(1.0, 0.5))
    return figure


def _draw(
    axes: Axes, panel: Panel, look: Mapping[Variant, Look], column: str, *, ends: bool
) -> None:
    other = f"shift_{column}"
    values: list[float] = []
    names = panel.names
    of_rows = panel.curves
    for variant, name in names.items():
        curves = of_rows[name]
        points = [p for points in curves for p in points if p.figures.get(other) is not None]
        if not points:
            continue
        x, y = (_values(points, one) for one in (column, other))
        style = look[variant]
        axes.errorbar(
            x,
            y,
            xerr=_errors(points, column, x) if ends else None,
            yerr=_errors(points, other, y) if ends else None,
            color=style.colour,
            marker=style.marker,
            linestyle="none",
            elinewidth=0.7,
            label=name,
        )
        values += [*x, *y]
    if not values:
        axes.text(0.5, 0.5, "nothing measured yet", ha="center", transform=axes.transAxes)
    else:
        axes.axline((min(values), min(values)), slope=1, color=GREY, linewidth=0.8, linestyle=":")


def _values(points: Sequence[PointRow], column: str) -> np.ndarray:
    return np.array([point.figures[column] for point in points], np.float64)


def _errors(points: Sequence[PointRow], column: str, values: np.ndarray) -> np.ndarray:
    low, high = (_values(points, f"{column}_{end}") for end in ("low", "high"))
    ends: np.ndarray = np.maximum(np.stack([values - low, high - values]), 0)
    return ends
