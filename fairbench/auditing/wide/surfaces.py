"""How far each column is from a smooth surface over two others, where that is not far.

One column may be a function of two others but for a shift too small to see beside the function.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from fairbench.api import Floats
from fairbench.auditing.auditors.samples import Columns

_Values = npt.NDArray[np.float64]

_MAX_COLUMNS = 5
_KNOTS = 14
_RIDGE = 1e-9
"""Of the regression, as a share of the mean square of its columns."""
_NEAR = 0.1
"""Largest distance that counts as near: its standard deviation, as a share of the column's."""
_FARTHEST = 1e3


@dataclass(frozen=True)
class _Surface:
    column: int
    over: tuple[int, int]
    weights: _Values
    spread: float  # standard deviation of the distances


def surfaces(common: Floats) -> Columns | None:
    """Fit distances to surfaces, in standard deviations, to rows on a common scale.

    Returns a map of such rows to one column for each surface; None where there are none.
    """
    from sklearn.preprocessing import SplineTransformer

    columns = common.shape[1]
    if not 3 <= columns <= _MAX_COLUMNS or any(len(np.unique(c)) < 100 for c in common.T):
        return None
    curves = [
        SplineTransformer(_KNOTS, degree=3, knots="quantile", extrapolation="linear").fit(one)
        for one in common.T[:, :, None]
    ]

    def expand(rows: _Values, over: tuple[int, int]) -> _Values:
        first, second = (curves[c].transform(rows[:, c : c + 1]) for c in over)
        return np.asarray((first[:, :, None] * second[:, None, :]).reshape(len(rows), -1))

    rows = common.astype(np.float64)
    found: list[_Surface] = []
    for over in itertools.combinations(range(columns), 2):
        made = expand(rows, over)
        square = made.T @ made
        square[np.diag_indices_from(square)] += _RIDGE * np.trace(square) / len(square)
        for column in set(range(columns)) - set(over):
            weights = np.asarray(np.linalg.solve(square, made.T @ rows[:, column]), np.float64)
            spread = float((rows[:, column] - made @ weights).std())
            if 0 < spread < _NEAR:
                found.append(_Surface(column, over, weights, spread))
    if not found:
        return None

    def apply(new: Floats) -> Floats:
        rows = new.astype(np.float64)
        away = [
            (rows[:, one.column] - expand(rows, one.over) @ one.weights) / one.spread
            for one in found
        ]
        return np.clip(np.column_stack(away), -_FARTHEST, _FARTHEST).astype(np.float32)

    return apply
