"""Area under the unfairness-distortion curve: strict, which ranks, and as the paper computes it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from fairbench.api import CurveEvaluation, Metric

Array = NDArray[np.float64]


def lower_hull(d: Array, i: Array) -> NDArray[np.intp]:
    """Indices of the lower convex hull of points, by rising d; ends are included.

    Parameters
    ----------
    d, i : ndarray, shape (n,)
        Distortion and information.
    """
    order = np.lexsort((i, d))
    hull: list[int] = []
    for index in order:
        if hull and d[hull[-1]] == d[index]:
            continue  # same d, higher i
        while len(hull) >= 2 and _turns_up(d, i, hull[-2], hull[-1], int(index)):
            hull.pop()
        hull.append(int(index))
    return np.array(hull, dtype=np.intp)


def _turns_up(d: Array, i: Array, a: int, b: int, c: int) -> bool:
    """Whether b lies on or above the line from a to c."""
    return bool((d[b] - d[a]) * (i[c] - i[a]) <= (i[b] - i[a]) * (d[c] - d[a]))


def strict_area(
    points: Sequence[tuple[float, float]],
    selection: Sequence[tuple[float, float]],
    *,
    i_max: float,
    d_max: float,
    i_max_selection: float,
    d_max_selection: float,
) -> float:
    """Normalised area under the hull: vertices chosen on selection, area measured on test.

    The ends (0, I_max): release x, and (D_max, 0): release nothing, are always there, so a curve
    gains nothing by stopping short; every chord is reached by releasing one end's representation
    for a share of the people and the other's for the rest. The straight line between the ends
    scores .5; lower is better.

    Parameters
    ----------
    points, selection : sequence of (d, i)
        Of each point, on test and on selection, in the same order.
    i_max, d_max, i_max_selection, d_max_selection : float
        Of the dataset, on either role.
    """
    found = np.array(selection, dtype=np.float64).reshape(-1, 2)
    d = np.concatenate([[0.0, d_max_selection], np.clip(found[:, 0], 0.0, d_max_selection)])
    i = np.concatenate([[i_max_selection, 0.0], np.maximum(found[:, 1], 0.0)])
    chosen = lower_hull(d, i)
    test = np.array(points, dtype=np.float64).reshape(-1, 2)
    d_test = np.concatenate([[0.0, d_max], np.clip(test[:, 0], 0.0, d_max)])[chosen]
    i_test = np.concatenate([[i_max, 0.0], np.maximum(test[:, 1], 0.0)])[chosen]
    order = np.argsort(d_test, kind="stable")
    return float(np.trapezoid(i_test[order], d_test[order]) / (d_max * i_max))


def paper_area(points: Sequence[tuple[float, float]], *, i_max: float, d_max: float) -> float:
    """The paper's AUFDC (its appendix, section "Additional Details on Area under ...").

    Points with both more distortion and more information than another are dropped; trapezoids
    over the rest; ``I_min (D_max - D_min)`` is added on the right; divided by ``D_max I_max``.
    Nothing is counted left of the first point, so a curve that stops short scores too well, and a
    constant encoder scores 0, the best: shown beside the strict area, never ranked by.
    """
    kept = [
        (d, max(i, 0.0))
        for d, i in points
        if not any(other_d < d and other_i < i for other_d, other_i in points)
    ]
    kept.sort(key=lambda point: (point[0], -point[1]))
    d, i = np.array(kept, dtype=np.float64).T
    area = np.trapezoid(i, d) + i[-1] * max(d_max - d[-1], 0.0)
    return float(area / (d_max * i_max))


class Aufdc(Metric):
    """Strict AUFDC: what leaderboards rank by."""

    name = "aufdc"
    summary = "area under the lower hull of the unfairness-distortion curve; .5 is trivial"
    level = "curve"
    direction = "lower"
    columns: ClassVar[Mapping[str, str]] = {
        "aufdc": "strict AUFDC: vertices chosen on selection, area on test, D_max I_max = 1",
        "d_min": "coverage: least D of a point on test",
        "i_min": "coverage: least I of a point on test, nats",
    }

    def compute(self, evaluation: CurveEvaluation) -> Mapping[str, float | None]:
        points = [(p["d"], p["i"]) for p in evaluation.points]
        coverage = {"d_min": min(d for d, _ in points), "i_min": min(i for _, i in points)}
        if min(evaluation.reference["i_max"], evaluation.reference["i_max_selection"]) <= 0:
            return {"aufdc": None, **coverage}  # x itself tells nothing: there is no curve
        selection = [(p["d_selection"], p["i_selection"]) for p in evaluation.points]
        return {
            "aufdc": strict_area(
                points,
                selection,
                i_max=evaluation.reference["i_max"],
                d_max=evaluation.reference["d_max"],
                i_max_selection=evaluation.reference["i_max_selection"],
                d_max_selection=evaluation.reference["d_max_selection"],
            ),
            **coverage,
        }


class AufdcPaper(Metric):
    """AUFDC as the paper computes it, with its weaknesses."""

    name = "aufdc-paper"
    summary = "the paper's AUFDC: its MLPs, own decoders, D_max by permuted z; not ranked by"
    level = "curve"
    direction = "lower"
    columns: ClassVar[Mapping[str, str]] = {
        "aufdc_paper": "AUFDC by the paper's formula, auditors and decoder",
        "d_max_paper": "its D_max: D of the most compressed point with z permuted across rows",
    }

    def compute(self, evaluation: CurveEvaluation) -> Mapping[str, float | None]:
        points = [(_own(p), p["i_paper"]) for p in evaluation.points]
        # "The most compressed point": where the permuted codes say least, the largest own D.
        compressed = max(evaluation.points, key=_own)
        permuted = compressed.get("d_permuted")
        d_max = permuted if permuted is not None else evaluation.reference["d_max"]
        i_max = evaluation.reference["i_max_paper"]
        return {
            "aufdc_paper": paper_area(points, i_max=i_max, d_max=d_max) if i_max > 0 else None,
            "d_max_paper": d_max,
        }


def _own(point: Mapping[str, float]) -> float:
    own = point.get("d_own")
    return own if own is not None else point["d_refitted"]
