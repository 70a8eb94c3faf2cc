"""The Pareto front of downstream accuracy A_y against auditor accuracy A_s (the paper's RQ2)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from fairbench.api.metric import CurveEvaluation, Metric


def on_front(a_s: NDArray[np.float64], a_y: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Return which points are on the front of lower A_s and higher A_y; equal points all are.

    A point is on the front where no other has a lower or equal A_s and a higher or equal A_y.
    """
    import moocore

    data = np.column_stack([a_s, a_y])
    front: NDArray[np.bool_] = moocore.is_nondominated(
        data, maximise=[False, True], keep_weakly=True
    )
    return front


class Pareto(Metric):
    """Size and hypervolume of the front."""

    name = "pareto"
    summary = "Pareto front of A_y against A_s: its points and its hypervolume"
    level = "curve"
    direction = "higher"
    columns: ClassVar[Mapping[str, str]] = {
        "front_points": (
            "number of points on the front of accuracy_y (higher) against accuracy_s (lower)"
        ),
        "front_hypervolume": (
            "area that the front dominates, from accuracy_y = 0 up and from accuracy_s = 1 down"
        ),
    }

    def compute(self, evaluation: CurveEvaluation) -> Mapping[str, float | None]:
        import moocore

        points = [
            (p["accuracy_s"], p["accuracy_y"]) for p in evaluation.points if "accuracy_y" in p
        ]
        if not points:
            return {"front_points": None, "front_hypervolume": None}
        a_s, a_y = np.array(points, dtype=np.float64).T
        volume = moocore.hypervolume(
            np.column_stack([a_s, a_y]), ref=[1.0, 0.0], maximise=[False, True]
        )
        return {"front_points": float(on_front(a_s, a_y).sum()), "front_hypervolume": float(volume)}
