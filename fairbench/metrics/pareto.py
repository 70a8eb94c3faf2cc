"""The Pareto front of downstream accuracy A_y against auditor accuracy A_s (the paper's RQ2).

Which points are on it is decided on the validation set; what they reach is measured on the test
set. Deciding on the test set would reward many noisy points.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
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


def choose_front(
    points: Sequence[Mapping[str, float | None]], useful: str = "accuracy_y_validation"
) -> NDArray[np.bool_]:
    """Return which points of a curve are on its front by A_s and usefulness on validation.

    A point without either, which has no task or an older record, is not.
    """
    names = ("accuracy_s_validation", useful)
    known = np.array([all(p.get(name) is not None for name in names) for p in points], np.bool_)
    values = [[p[name] for name in names] for p, k in zip(points, known, strict=True) if k]
    if values:
        known[known] = on_front(*np.array(values, dtype=np.float64).T)
    return known


class Pareto(Metric):
    """Size and hypervolume of the front."""

    name = "pareto"
    summary = "Pareto front of A_y against A_s: its points and its hypervolume"
    level = "curve"
    direction = "higher"
    columns: ClassVar[Mapping[str, str]] = {
        "front_points": (
            "number of points on the front of accuracy_y_validation (higher) against "
            "accuracy_s_validation (lower)"
        ),
        "front_hypervolume": (
            "area that these points' accuracy_y and accuracy_s dominate, from the accuracy of a "
            "constant guess of y up and from accuracy_s = 1 down: 0 for a constant representation"
        ),
    }

    def compute(self, evaluation: CurveEvaluation) -> Mapping[str, float | None]:
        import moocore

        constant = evaluation.reference.get("accuracy_y_constant")
        chosen = [
            (point["accuracy_s"], point["accuracy_y"])
            for point, is_on in zip(evaluation.points, choose_front(evaluation.points), strict=True)
            if is_on
        ]
        if not chosen or constant is None:
            return {"front_points": None, "front_hypervolume": None}
        volume = moocore.hypervolume(
            np.array(chosen, dtype=np.float64), ref=[1.0, constant], maximise=[False, True]
        )
        return {"front_points": float(len(chosen)), "front_hypervolume": float(volume)}
