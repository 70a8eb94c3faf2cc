"""Axes along which curves of the columns hardly vary: a column that is nearly a function of others.

A small shift of such a column is nothing beside its variance, and large on an axis of variance 1.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from fairbench.api import Floats
from fairbench.auditing.auditors.samples import Columns
from fairbench.auditing.auditors.views import FARTHEST

_Values = npt.NDArray[np.float64]

_KNOTS = 32
"""Most knots of a column's splines; of many columns fewer."""
_MAX_TERMS = 512
"""Most splines, and most products."""
_MIN_VARIANCE = 1e-11
"""Of an axis, as a share of the largest: rounding to single precision leaves less."""
_NARROW = 32
"""Axes of the least variance."""


def narrow_axes(common: Floats) -> Columns | None:
    """Fit axes of splines of all columns and products of two to rows on a common scale.

    Returns a map of such rows to the narrowest axes, each at variance 1; None where there are none.
    """
    from sklearn.preprocessing import SplineTransformer

    columns = common.shape[1]
    knots = min(_KNOTS, _MAX_TERMS // max(columns, 1) - 3)
    if knots < 3 or columns < 2:
        return None
    curves = SplineTransformer(knots, degree=3, knots="quantile", extrapolation="linear")
    curves.fit(common)
    first, second = np.triu_indices(columns)
    if len(first) > _MAX_TERMS:
        first = second = np.arange(columns)

    def expand(rows: Floats) -> _Values:
        x = rows.astype(np.float64)
        return np.hstack([x, x[:, first] * x[:, second], curves.transform(x)])

    made = expand(common)
    mean, scale = made.mean(axis=0), made.std(axis=0)
    scale[scale == 0] = 1.0
    made = (made - mean) / scale
    variances, axes = np.linalg.eigh(made.T @ made / len(made))
    alive = np.flatnonzero(variances > _MIN_VARIANCE * variances.max())[:_NARROW]
    directions = axes[:, alive] / np.sqrt(variances[alive])

    def apply(rows: Floats) -> Floats:
        made = ((expand(rows) - mean) / scale) @ directions
        clipped: Floats = np.clip(made, -FARTHEST, FARTHEST).astype(np.float32)
        return clipped

    return apply
