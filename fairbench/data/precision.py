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

_ROUNDED = 0.01
"""Share of rows that rounding to float32 may make alike, though they differ."""


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
    so the shift changes nothing else. Where one row of 1e60 would still make many others alike,
    the column becomes the ranks of its values.
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
    if array.dtype.itemsize > narrow.dtype.itemsize:
        for number in range(array.shape[1]):
            values, ranks = np.unique(array[:, number], return_inverse=True)
            if _share_merged(values, ranks, narrow[:, number]) > _share_allowed(len(array)):
                narrow[:, number] = ranks
    return narrow


def _share_merged(values: np.ndarray, ranks: np.ndarray, narrow: Floats) -> float:
    """Share of rows whose number float32 makes equal to another one.

    ``values``: distinct numbers in ascending order, ``ranks``: the place of each row's among them.
    """
    rounded = np.empty(len(values), np.float32)
    rounded[ranks] = narrow
    alike = rounded[1:] == rounded[:-1]
    merged = np.append(alike, False) | np.append(False, alike)
    return float(merged[ranks].mean())


def _share_allowed(rows: int) -> float:
    """Share of rows that is merged at most where numbers are spread evenly, with some to spare."""
    return max(_ROUNDED, 8 * rows * 2.0**-24)
