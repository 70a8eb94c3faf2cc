"""What the charts of a board draw: measured points, each row's curve and front, their bands."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from fairbench.metrics.rows import LeaderboardRow, PointRow, Variant
from fairbench.report.page.board import lit_rows
from fairbench.report.page.colours import on_dark
from fairbench.report.panels import Panel
from fairbench.report.style import Look

_APART = 1e-3
"""How far a line may move by leaving out points, as a share of the range of y."""

_SYMBOLS = {
    "o": "circle",
    "s": "square",
    "^": "triangle-up",
    "D": "diamond",
    "v": "triangle-down",
    "P": "cross",
    "X": "x",
    "<": "triangle-left",
    ">": "triangle-right",
}
"""Plotly's names of matplotlib's marks."""

_DASHES: Mapping[object, str] = {"-": "solid", "--": "dash", ":": "dot", "-.": "dashdot"}


def panel_charts(panel: Panel, look: Mapping[Variant, Look]) -> dict[str, Any]:
    """Return what the charts of a panel are drawn from, ready for JSON.

    ``lit`` names the curves that are in colour at first; none: all.
    """
    curves = panel.curves
    names = panel.names
    drawn = []
    for row in panel.rows:
        name = names[row.variant]
        seeds = [points for points in curves[name] if points]
        if seeds:
            x, low, high = panel.front_band(row)
            lines = {
                "hull": _curve_line(panel.surface(row, 50)),
                "hull_band": _outline(
                    _curve_line(panel.surface(row, 25)), _curve_line(panel.surface(row, 75))
                ),
                "front": _shorts(panel.front(row, 50)),
                "front_band": _outline(_shorts(_steps(x, high)), _shorts(_steps(x, low))),
            }
            drawn.append({**_curve(name, row, seeds, look[row.variant]), **lines})
    lit = [names[row.variant] for row in lit_rows(panel)]
    return {"curves": drawn, "ends": panel.ends, "lit": lit}


def _curve(
    name: str, row: LeaderboardRow, seeds: Sequence[Sequence[PointRow]], look: Look
) -> dict[str, Any]:
    measured = [point for points in seeds for point in points]
    return {
        "name": name,
        "whole": row.complete,
        "colour": look.colour,
        "dark": on_dark(look.colour),
        "symbol": _SYMBOLS[look.marker],
        "dash": _DASHES.get(look.line, "dash"),
        "d": [_short(p.figures["distortion"]) for p in measured],
        "i": [_short(p.figures["mutual_information"]) for p in measured],
        "a_s": [_short(p.figures["accuracy_s"]) for p in measured],
        "a_y": [_short(p.figures.get("accuracy_y")) for p in measured],
        "bound": [_bound(p.figures.get("certified_mutual_information")) for p in measured],
        "curve": [f"{p.split}, seed {p.seed}" for p in measured],
        "knob": [p.point for p in measured],
    }


def _bound(value: float | str | None) -> float | str | None:
    """A certificate's bound, or the word that stands for it."""
    return value if isinstance(value, str) else _short(value)


Line = tuple[Sequence[float], Sequence[float]]
Shorts = list[list[float | None]]


def _shorts(line: Line) -> Shorts:
    return [[_short(value) for value in values] for values in line]


def _curve_line(line: Line) -> Shorts:
    """A curve without the corners that nobody would see."""
    x, y = (np.array(values, dtype=np.float64) for values in line)
    kept = corners(x, y)
    return _shorts((x[kept].tolist(), y[kept].tolist()))


def _outline(there: Shorts, back: Shorts) -> Shorts:
    """What lies between two lines: along one and back along the other."""
    if not there[0] or not back[0]:
        return [[], []]
    return [there[k] + back[k][::-1] for k in (0, 1)]


def _steps(x: Sequence[float], y: Sequence[float]) -> Line:
    """Corners of a staircase with what lies between them: as high as the corner to the left."""
    xs = [value for value in x for _ in range(2)][1:]
    ys = [value for value in y for _ in range(2)][:-1]
    return xs, ys


def corners(x: npt.NDArray[np.float64], y: npt.NDArray[np.float64]) -> list[int]:
    """Indices of the points that a line needs to stay as it looks (Douglas and Peucker).

    Parameters
    ----------
    x, y : ndarray, shape (n,)
    """
    if len(x) < 3:
        return list(range(len(x)))
    limit = _APART * float(np.ptp(y))
    kept, open_ = {0, len(x) - 1}, [(0, len(x) - 1)]
    while open_:
        a, b = open_.pop()
        if b - a < 2:
            continue
        inner = slice(a + 1, b)
        rise, run = y[b] - y[a], x[b] - x[a]
        chord = y[a] + rise * (x[inner] - x[a]) / run if run else np.full(b - a - 1, np.inf)
        off = np.abs(y[inner] - chord)
        furthest = a + 1 + int(off.argmax())
        if off.max() > limit:
            kept.add(furthest)
            open_ += [(a, furthest), (furthest, b)]
    return sorted(kept)


def _short(value: float | None) -> float | None:
    return None if value is None else float(f"{value:.4g}")
