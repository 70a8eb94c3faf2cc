"""The strict unfairness-distortion curve: a hull chosen on validation, measured on test rows.

Two points belong to every curve: (0, I_max), release x, and (D_max, 0), release nothing. A chord
between two vertices is reached by releasing one's representation for a share of the rows and the
other's for the rest. Arrays of curves may have a trailing axis of bootstrap replicates.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairbench.api.metric import CurveEvaluation
from fairbench.stats.intervals import unbiased_interval

Array = NDArray[np.float64]


def lower_hull(d: Array, i: Array) -> NDArray[np.intp]:
    """Return the indices of the lower convex hull of points, by rising d, ends included.

    ``d``, ``i (n,)``: distortion and information.
    """
    order = np.lexsort((i, d))
    hull: list[int] = []
    for index in order:
        if hull and d[hull[-1]] == d[index]:
            continue  # same d, higher i
        while len(hull) >= 2:
            a, b = hull[-2:]
            if not (d[b] - d[a]) * (i[index] - i[a]) <= (i[b] - i[a]) * (d[index] - d[a]):
                break
            hull.pop()  # b lies on or above the line from a to the new point
        hull.append(int(index))
    return np.array(hull, dtype=np.intp)


def strict_curve(
    d: Array,
    i: Array,
    validation: Array,
    *,
    i_max: Array | float,
    d_max: Array | float,
    i_max_validation: float,
    d_max_validation: float,
) -> tuple[Array, Array]:
    """Return the curve's vertices on the test set, by rising D; I is at least 0, D at most D_max.

    ``d``, ``i (points, ...)``: on the test set, or on resamples of it. ``validation (points, 2)``:
    (d, i) of the same points on the validation set. ``i_max``, ``d_max (...)``: of the dataset, on
    the same rows as d and i. Returns d, i ``(vertices, ...)``.
    """
    chosen = chosen_vertices(validation, i_max=i_max_validation, d_max=d_max_validation)
    if 0 not in chosen:  # a point without distortion on validation rows stands in its place
        chosen = np.concatenate([[0], chosen])
    zero = np.zeros((1, *d.shape[1:]))
    d = np.concatenate([zero, zero + d_max, np.clip(d, 0.0, d_max)])[chosen]
    i = np.concatenate([zero + i_max, zero, np.maximum(i, 0.0)])[chosen]
    order = np.argsort(d, axis=0, kind="stable")
    return np.take_along_axis(d, order, axis=0), np.take_along_axis(i, order, axis=0)


def chosen_vertices(validation: Array, *, i_max: float, d_max: float) -> NDArray[np.intp]:
    """Return the vertices of a curve by its points on the validation set, by rising D.

    ``validation (points, 2)``: (d, i). ``i_max``, ``d_max``: of the same rows. Vertex 0 is the end
    (0, I_max), 1 the end (D_max, 0), and 2 is the first point.
    """
    return lower_hull(
        np.concatenate([[0.0, d_max], np.clip(validation[:, 0], 0.0, d_max)]),
        np.concatenate([[i_max, 0.0], np.maximum(validation[:, 1], 0.0)]),
    )


def normalised_area(d: Array, i: Array, *, i_max: Array | float, d_max: Array | float) -> Array:
    """Return the area below curves as a share of D_max I_max; the trivial curve has .5.

    ``d``, ``i (vertices, ...)``: by rising D. ``i_max``, ``d_max (...)``. Returns ``(...)``.
    """
    return np.asarray(np.trapezoid(i, d, axis=0) / (d_max * i_max))


def is_informative(evaluation: CurveEvaluation) -> bool:
    """Return whether I(X;S) is significantly above 0: if not, a curve cannot be normalised by it.

    I_max must be above 0 on the validation and the test set, and on the latter by its 95%
    confidence interval too: dividing by noise gives areas of any size.
    """
    names = ("mutual_information_max", "mutual_information_max_validation")
    i_max, on_validation = (evaluation.reference[name] for name in names)
    if min(i_max, on_validation) <= 0:
        return False
    if not evaluation.reference_replicates:
        return True
    resampled = evaluation.reference_replicates["mutual_information_max"]
    return unbiased_interval(resampled, i_max)[0] > 0


def curve_of(evaluation: CurveEvaluation) -> tuple[Array, Array] | None:
    """Return the strict curve of an evaluation, each ``(vertices,)``; None if x has no I(X;S)."""
    if not is_informative(evaluation):
        return None
    return _curve(evaluation, evaluation.points, evaluation.reference)


def resampled_areas(evaluation: CurveEvaluation) -> Array | None:
    """Compute the normalised area on each resample of the test rows, ``(resamples,)``.

    Vertices are always those of the validation set. None without replicates; NaN on resamples where
    I(X;S) is not above 0.
    """
    ends = evaluation.reference_replicates
    if not evaluation.replicates or not ends or not is_informative(evaluation):
        return None
    i_max = np.where(ends["mutual_information_max"] > 0, ends["mutual_information_max"], np.nan)
    d, i = _curve(evaluation, evaluation.replicates, {**ends, "mutual_information_max": i_max})
    return normalised_area(d, i, i_max=i_max, d_max=ends["distortion_max"])


def _curve(
    evaluation: CurveEvaluation, points: Sequence[Mapping[str, Any]], ends: Mapping[str, Any]
) -> tuple[Array, Array]:
    """Return the curve of points, or of their replicates, its vertices those on validation."""
    known = [
        (p["distortion_validation"], p["mutual_information_validation"]) for p in evaluation.points
    ]
    return strict_curve(
        np.array([p["distortion"] for p in points], dtype=np.float64),
        np.array([p["mutual_information"] for p in points], dtype=np.float64),
        np.array(known, dtype=np.float64).reshape(-1, 2),
        i_max=ends["mutual_information_max"],
        d_max=ends["distortion_max"],
        i_max_validation=evaluation.reference["mutual_information_max_validation"],
        d_max_validation=evaluation.reference["distortion_max_validation"],
    )
