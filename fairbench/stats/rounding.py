"""By how much numbers may differ because single precision rounds them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

_STEPS = 16
"""Most rounding in steps of single precision, at the size of the number."""

_OF_SPREAD = 0.01
"""And never more than this share of what tells the numbers of a column apart: beside 2^23 a step is
1, so that 16 steps might be all that they tell."""

_MIDDLE = (0.16, 0.84)
"""Quantiles, of which outliers do not change the distance."""


_CLOSE = 1e-3
"""Difference between two computations of the same, as a share of a column's spread."""


def column_spread(known: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the distance from the 16% to the 84% quantile of columns ``(n, k)``, ``(k,)``."""
    if not len(known):
        return np.zeros(known.shape[1])
    low, high = np.quantile(known, _MIDDLE, axis=0)
    spread: NDArray[np.float64] = high - low
    return spread


def distance_from_others(known: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return a scale of the differences among a column's numbers, for each number ``(n, k)``.

    It is the spread of the column; of an outlier its distance from the median. Where most numbers
    are the same it is the distance of the others from them, and 0 where all are.
    """
    if not len(known):
        return known.copy()
    away = np.abs(known - np.median(known, axis=0))
    spread = column_spread(known)
    for column in np.flatnonzero(spread == 0):
        others = away[away[:, column] > 0, column]
        spread[column] = np.quantile(others, _MIDDLE[0]) if len(others) else 0.0
    return np.maximum(away, spread)


def most_rounding(known: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return by how much each of some numbers may differ, by columns ``(n, k)``."""
    steps = _STEPS * np.spacing(np.abs(known).astype(np.float32)).astype(np.float64)
    scale = distance_from_others(known)
    constant = (scale == 0).all(axis=0)
    return np.where(constant, steps, np.minimum(steps, _OF_SPREAD * scale))


def most_difference(known: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return by how much the same code, computed in another way, may differ, ``(n, k)``.

    That is a thousandth of the spread of its column, which outliers do not widen, and rounding.
    """
    return _CLOSE * column_spread(known) + most_rounding(known)
