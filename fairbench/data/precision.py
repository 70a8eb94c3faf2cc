"""Numbers of a matrix in another precision, without losing differences between them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from fairbench.api import Floats

_WHOLE = 2**24
"""Whole numbers up to this one are all float32 numbers."""


def stack_exactly(columns: Sequence[np.ndarray]) -> np.ndarray:
    """Stack columns ``(n,)`` without rounding large whole numbers beside fractions."""
    stacked = np.stack(columns, axis=1)
    exact = (column.dtype.kind in "iu" for column in columns)
    if stacked.dtype.kind == "f" and any(exact):
        extended = np.stack([column.astype(np.longdouble) for column in columns], axis=1)
        if (extended != stacked).any():
            return extended
    return stacked


def single_precision(array: np.ndarray) -> Floats:
    """Convert numbers ``(n, k)`` to float32, the auditors' precision, without losing differences.

    A column that float32 would round more than necessary, of time stamps or of 1e-60 and 2e-60, is
    first shifted by its least value and scaled by a power of two. Auditors standardise all columns,
    so the shift changes nothing else.
    """
    wide = array.astype(np.float64)
    with np.errstate(over="ignore", invalid="ignore"):
        narrow: Floats = array.astype(np.float32)
        rounding = np.abs(narrow.astype(np.float64) - wide).max(axis=0)
    lost = rounding > (wide.max(axis=0) / 2 - wide.min(axis=0) / 2) * 2.0**-23
    if array.dtype.kind in "iu":  # double precision cannot hold all of these either
        lost = (array.max(axis=0) > _WHOLE) | (array.min(axis=0) < -_WHOLE)
    for place in np.flatnonzero(lost):
        column = array[:, place]
        if column.dtype.kind == "f":  # first to [-1, 1], so that the range cannot overflow
            column = np.ldexp(wide[:, place], -np.frexp(np.abs(wide[:, place]).max())[1])
        moved = (column - column.min()).astype(np.float64)
        narrow[:, place] = np.ldexp(moved, -np.frexp(moved.max())[1])
    return narrow
