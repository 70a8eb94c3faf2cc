"""The strict unfairness-distortion curve: hull vertices chosen on validation, measured on test.

Two points belong to every curve: (0, I_max), release x, and (D_max, 0), release nothing. A chord
between two vertices is reached by releasing one's representation for a share of the people and the
other's for the rest. Arrays of curves may have a trailing axis of bootstrap replicates.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fairbench.api.metric import CurveEvaluation

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
    """The curve's vertices on test, by rising D; I is floored at 0, D capped at D_max.

    Parameters
    ----------
    d, i : ndarray, shape (points, ...)
        On test, or on resamples of it.
    validation : ndarray, shape (points, 2)
        (d, i) of the same points on validation.
    i_max, d_max : float or ndarray, shape (...)
        Of the dataset, on the same rows as d and i.
    i_max_validation, d_max_validation : float

    Returns
    -------
    d, i : ndarray, shape (vertices, ...)
    """
    chosen = lower_hull(
        np.concatenate([[0.0, d_max_validation], np.clip(validation[:, 0], 0.0, d_max_validation)]),
        np.concatenate([[i_max_validation, 0.0], np.maximum(validation[:, 1], 0.0)]),
    )
    zero = np.zeros((1, *d.shape[1:]))
    d = np.concatenate([zero, zero + d_max, np.clip(d, 0.0, d_max)])[chosen]
    i = np.concatenate([zero + i_max, zero, np.maximum(i, 0.0)])[chosen]
    order = np.argsort(d, axis=0, kind="stable")
    return np.take_along_axis(d, order, axis=0), np.take_along_axis(i, order, axis=0)


def tells(evaluation: CurveEvaluation) -> bool:
    """Whether x tells of s beyond doubt: if not, there is nothing to normalise a curve by.

    I_max must be above 0 on validation and on test, and there by its 95% interval too: dividing by
    what may be noise gives areas of any size.
    """
    found = evaluation.reference
    if min(found["mutual_information_max"], found["mutual_information_max_validation"]) <= 0:
        return False
    resampled = evaluation.reference_replicates
    return not resampled or float(np.quantile(resampled["mutual_information_max"], 0.025)) > 0


def curve_of(evaluation: CurveEvaluation) -> tuple[Array, Array] | None:
    """The strict curve of an evaluation, each ``(vertices,)``; None where x tells nothing of s."""
    found = evaluation.reference
    if not tells(evaluation):
        return None
    return strict_curve(
        np.array([p["distortion"] for p in evaluation.points], dtype=np.float64),
        np.array([p["mutual_information"] for p in evaluation.points], dtype=np.float64),
        _on_validation(evaluation),
        i_max=found["mutual_information_max"],
        d_max=found["distortion_max"],
        i_max_validation=found["mutual_information_max_validation"],
        d_max_validation=found["distortion_max_validation"],
    )


def resampled_areas(evaluation: CurveEvaluation) -> Array | None:
    """The normalised area on each resample of the test rows, ``(resamples,)``.

    Vertices are those of validation throughout. None without replicates; NaN where x itself tells
    nothing of s on a resample.
    """
    found, ends = evaluation.reference, evaluation.reference_replicates
    if not evaluation.replicates or not ends or not tells(evaluation):
        return None
    i_max = np.where(ends["mutual_information_max"] > 0, ends["mutual_information_max"], np.nan)
    d, i = strict_curve(
        np.stack([p["distortion"] for p in evaluation.replicates]),
        np.stack([p["mutual_information"] for p in evaluation.replicates]),
        _on_validation(evaluation),
        i_max=i_max,
        d_max=ends["distortion_max"],
        i_max_validation=found["mutual_information_max_validation"],
        d_max_validation=found["distortion_max_validation"],
    )
    areas: Array = np.trapezoid(i, d, axis=0) / (ends["distortion_max"] * i_max)
    return areas


def _on_validation(evaluation: CurveEvaluation) -> Array:
    pairs = [
        (p["distortion_validation"], p["mutual_information_validation"]) for p in evaluation.points
    ]
    return np.array(pairs, dtype=np.float64).reshape(-1, 2)
