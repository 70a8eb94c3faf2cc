"""Whether turning a method's knob moves its points along the curve, in order."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from typing import ClassVar

import numpy as np

from fairbench.api.metric import CurveEvaluation, Metric

_MIN_POINTS = 3
_FIGURES = ("mutual_information", "distortion")


class Monotonicity(Metric):
    """Rank correlation of leakage, and of distortion, with each knob."""

    name = "monotonicity"
    summary = "whether leakage and distortion follow the order of the knob"
    level = "curve"
    direction = "higher"
    unit = "rank correlation"
    columns: ClassVar[Mapping[str, str]] = {
        "monotonicity": (
            "mean of Kendall's tau of I and of D with the order of the knob, without signs: 1 "
            "where no point is out of order, near 0 where the knob says nothing; of several knobs "
            "the mean over them, each over the pairs of points that differ in it alone; empty "
            "below three points"
        ),
    }

    def compute(self, evaluation: CurveEvaluation) -> Mapping[str, float | None]:
        """Return the column; None where a figure is the same at all points."""
        points = evaluation.points
        if len(points) < _MIN_POINTS:
            return {"monotonicity": None}
        correlations = [
            abs(_tau([(points[i][name], points[j][name]) for i, j in pairs]))
            for pairs in _pairs_by_knob(evaluation.knobs, len(points))
            for name in _FIGURES
        ]
        mean = float(np.mean(correlations)) if correlations else float("nan")
        return {"monotonicity": None if np.isnan(mean) else mean}


def _pairs_by_knob(
    knobs: Sequence[Mapping[str, float]], points: int
) -> Iterator[list[tuple[int, int]]]:
    """Yield, for each knob, the pairs of points that differ in it alone, the lower setting first.

    Where settings are not known the points are in the order of one knob.
    """
    everything = list(combinations(range(points), 2))
    names = sorted({name for setting in knobs for name in setting})
    if len(names) < 2:
        yield everything
        return
    for name in names:
        found = []
        for i, j in everything:
            differing = [k for k in names if knobs[i].get(k) != knobs[j].get(k)]
            if differing == [name]:
                found.append((i, j) if knobs[i][name] < knobs[j][name] else (j, i))
        if found:
            yield found


def _tau(pairs: Sequence[tuple[float, float]]) -> float:
    """Kendall's tau-b over some pairs of points in the order of the knob; NaN where all are tied.

    scipy.stats.kendalltau takes all pairs of points, and here some have no order.
    """
    signs = np.sign([after - before for before, after in pairs])
    moved = int((signs != 0).sum())
    return float(signs.sum() / np.sqrt(len(pairs) * moved)) if moved else float("nan")
