"""Linear axes along which columns hardly vary, in double precision.

A column that is a weighted sum of others but for its eighth digit is none in single precision.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from fairbench.api import Floats
from fairbench.auditing.auditors.samples import Columns
from fairbench.auditing.auditors.views import FARTHEST

_MOST, _LEAST = 1e-4, 1e-14
"""Standard deviations of an axis, as shares of the largest: wider ones the other views show, and
narrower ones are rounding."""
_NARROW = 32
"""Axes of the least deviation."""


def exact_axes(z: npt.NDArray[np.floating]) -> Columns | None:
    """Fit the narrowest principal axes to rows ``(n, k)`` as released, each at variance 1.

    Returns None where z is of single precision, or has no such axis.
    """
    if z.dtype != np.float64 or z.shape[1] < 2:
        return None
    # In units of the largest value, so that no square overflows.
    unit = np.abs(z).max(axis=0)
    unit[unit == 0] = 1.0
    mean = (z / unit).mean(axis=0)
    scale = (z / unit).std(axis=0)
    scale[scale == 0] = 1.0

    def scaled(rows: Floats) -> npt.NDArray[np.float64]:
        return np.asarray((rows.astype(np.float64) / unit - mean) / scale)

    # The singular values of R are those of the rows: of a product with itself half the digits
    # would be lost.
    _, sizes, axes = np.linalg.svd(np.linalg.qr(scaled(z), mode="r"))
    alive = np.flatnonzero((sizes < _MOST * sizes[0]) & (sizes > _LEAST * sizes[0]))[-_NARROW:]
    if not len(alive):
        return None
    directions = axes[alive].T * (np.sqrt(len(z)) / sizes[alive])

    def apply(rows: Floats) -> Floats:
        clipped: Floats = np.clip(scaled(rows) @ directions, -FARTHEST, FARTHEST).astype(np.float32)
        return clipped

    return apply
