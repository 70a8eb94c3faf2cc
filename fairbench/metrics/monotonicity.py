"""Whether turning a method's knob moves its points along the curve, in order."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

import numpy as np

from fairbench.api.metric import CurveEvaluation, Metric

_MIN_POINTS = 3


class Monotonicity(Metric):
    """Rank correlation of leakage, and of distortion, with the order of the points."""

    name = "monotonicity"
    summary = "whether leakage and distortion follow the order of the knob"
    level = "curve"
    direction = "higher"
    unit = "rank correlation"
    columns: ClassVar[Mapping[str, str]] = {
        "monotonicity": (
            "mean of Kendall's tau of I and of D with the order of the knob, without signs: 1 "
            "where no point is out of order, near 0 where the knob says nothing; empty below three "
            "points"
        ),
    }

    def compute(self, evaluation: CurveEvaluation) -> Mapping[str, float | None]:
        """Return the column; None where a figure is the same at all points."""
        from scipy.stats import kendalltau

        points = evaluation.points
        if len(points) < _MIN_POINTS:
            return {"monotonicity": None}
        order = np.arange(len(points))
        correlations = [
            abs(float(kendalltau(order, [point[name] for point in points]).statistic))
            for name in ("mutual_information", "distortion")
        ]
        mean = float(np.mean(correlations))
        return {"monotonicity": None if np.isnan(mean) else mean}
