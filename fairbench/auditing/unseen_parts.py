"""Parts of numbers that neither equality nor double precision shows: auditors see them as columns.

A zero has a sign, though both zeros are equal; whole numbers beyond 2^53 have digits that double
precision rounds away. Whoever holds z has them all. Beside fractions such whole numbers are in
extended precision; users' own numbers of that kind are refused before.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from fairbench.data.precision import LARGEST_WHOLE

_LOW_BITS = 26


def with_unseen_parts(z: np.ndarray) -> np.ndarray:
    """Return z ``(n, k)``, and beside it a column for each part of one that auditors cannot see."""
    if z.dtype.kind in "iu":
        parts = _low_bits(z)
    elif z.dtype.kind == "f":
        parts = np.hstack([_signs_of_zeros(z), _rests(z)])
    else:
        return z
    return np.hstack([z.astype(np.float64), parts]) if parts.shape[1] else z


def _low_bits(z: np.ndarray) -> npt.NDArray[np.float64]:
    """Return the last bits of whole numbers, of the columns that have any beyond 2^53."""
    large = (z.max(axis=0) > LARGEST_WHOLE) | (z.min(axis=0) < -LARGEST_WHOLE)
    return np.asarray(z[:, large] & (2**_LOW_BITS - 1), np.float64)


def _signs_of_zeros(z: np.ndarray) -> npt.NDArray[np.float64]:
    """Return 1 where there is a negative zero, of the columns that have both zeros."""
    zero, negative = z == 0, np.signbit(z)
    both = (zero & negative).any(axis=0) & (zero & ~negative).any(axis=0)
    return np.asarray((zero & negative)[:, both], np.float64)


def _rests(z: np.ndarray) -> npt.NDArray[np.float64]:
    """Return what double precision rounds away, in units of the largest such rest of its column."""
    if z.dtype.itemsize <= np.dtype(np.float64).itemsize:
        return np.empty((len(z), 0))
    rest = z - z.astype(np.float64)
    most = np.abs(rest).max(axis=0)
    return np.asarray(rest[:, most > 0] / most[most > 0], np.float64)
