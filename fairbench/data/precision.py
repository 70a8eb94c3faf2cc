"""Numbers of a matrix in another precision, without losing differences between them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from fairbench.api import Floats
from fairbench.errors import DataError

LARGEST_WHOLE = 2**53
"""Whole numbers up to this one are all double-precision numbers."""

_WHOLE = 2**24
"""Whole numbers up to this one are all float32 numbers."""

_LEAST = np.finfo(np.float32).tiny
"""Smaller numbers lose digits in float32, or become 0."""


def stack_exactly(columns: Sequence[np.ndarray], name: str) -> np.ndarray:
    """Stack columns ``(n,)`` without rounding large whole numbers beside fractions.

    Raises DataError: the machine has no numbers that hold them all.
    """
    stacked = np.stack(columns, axis=1)
    whole = [place for place, column in enumerate(columns) if column.dtype.kind in "iu"]
    if stacked.dtype.kind != "f" or not whole:
        return stacked
    if all(_holds(stacked, columns, place) for place in whole):
        return stacked
    extended = np.stack([column.astype(np.longdouble) for column in columns], axis=1)
    if all(_holds(extended, columns, place) for place in whole):
        return extended
    raise DataError(
        f"{name} has whole numbers beyond 2^53 beside fractions, which no number of this machine "
        "holds exactly: give their last six digits as a column of their own."
    )


def _holds(stacked: np.ndarray, columns: Sequence[np.ndarray], place: int) -> bool:
    """Whether whole numbers of a column are themselves among the numbers of a matrix."""
    own = columns[place]
    if max(abs(int(own.min())), abs(int(own.max()))) <= LARGEST_WHOLE:
        return True
    return [int(number) for number in stacked[:, place]] == [int(number) for number in own]


def single_precision(array: np.ndarray) -> Floats:
    """Convert numbers ``(n, k)`` to float32, the auditors' precision, without losing differences.

    A column that float32 would round more than necessary, of time stamps or of 1e-60 and 2e-60, is
    first shifted by its least value and scaled by a power of two. Auditors standardise all columns,
    so the shift changes nothing else. Where different numbers would still become 0, as beside one
    of 1e60, the column becomes the ranks of its values.
    """
    wide = array.astype(np.float64)
    with np.errstate(over="ignore", invalid="ignore"):
        narrow: Floats = array.astype(np.float32)
        rounding = np.abs(narrow.astype(np.float64) - wide).max(axis=0)
    lost = rounding > (wide.max(axis=0) / 2 - wide.min(axis=0) / 2) * 2.0**-23
    if array.dtype.kind in "iu":  # double precision cannot hold all of these either
        lost = (array.max(axis=0) > _WHOLE) | (array.min(axis=0) < -_WHOLE)
    merged = np.zeros(array.shape[1], bool)
    for place in np.flatnonzero(lost):
        column = array[:, place]
        if column.dtype.kind == "f":  # first to [-1, 1], so that the range cannot overflow
            column = np.ldexp(wide[:, place], -np.frexp(np.abs(wide[:, place]).max())[1])
        moved = (column - column.min()).astype(np.float64)
        merged[place] = column.dtype.kind == "f" and _count(moved) < _count(array[:, place])
        narrow[:, place] = np.ldexp(moved, -np.frexp(moved.max())[1])
    for one in range(array.shape[1]):
        small = np.abs(narrow[:, one]) < _LEAST
        if merged[one] or _count(narrow[small, one]) < _count(array[small, one]):
            narrow[:, one] = np.unique(array[:, one], return_inverse=True)[1]
    return narrow


def _count(numbers: np.ndarray) -> int:
    """Count the different ones of some numbers."""
    return len(np.unique(numbers))
