"""Marks that stand for missing values, such as ``?`` or ``-999``, as a card names them."""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from fairbench.data.column_values import texts

if TYPE_CHECKING:
    import pandas as pd


def without_marks(frame: pd.DataFrame, marks: Collection[str]) -> tuple[pd.DataFrame, str | None]:
    """Make cells that hold a mark missing; return also a note on marks that no cell holds.

    Numbers of a column that has marks become text, as in CSV.
    """
    held = frame.copy()
    found = set[str]()
    for place in range(len(frame.columns)):
        column = frame.iloc[:, place]
        by_mark = _cells_with(column, marks)
        found |= by_mark.keys()
        if by_mark:
            as_text = texts(column) if column.dtype.kind in "biuf" else column
            marked = np.logical_or.reduce(list(by_mark.values()))
            held.isetitem(place, as_text.mask(marked).to_numpy())
    absent = [mark for mark in marks if mark not in found]
    if not absent:
        return held, None
    return held, f"no cell is {' or '.join(map(repr, absent))}, which `missing_values` names."


def unmarked(column: pd.Series, marks: Collection[str]) -> pd.Series:
    """Return a column of new rows whose cells that hold a mark are missing."""
    by_mark = _cells_with(column, marks)
    if not by_mark:
        return column
    held: pd.Series = column.mask(np.logical_or.reduce(list(by_mark.values())))
    return held


def _cells_with(column: pd.Series, marks: Collection[str]) -> dict[str, npt.NDArray[np.bool_]]:
    """Return by mark which cells hold it ``(n,)``, of the marks that some cell holds.

    Columns of numbers (of Parquet) are compared by value, text as it is written; but ``-999`` also
    marks ``-999.0``, as pandas writes it beside missing values.
    """
    as_text = texts(column) if marks and column.dtype.kind in "biuf" else column
    by_mark = {}
    for mark in marks:
        here = (as_text == mark).to_numpy(bool)
        if re.fullmatch(r"-?\d+", mark):
            here = here | (as_text == f"{mark}.0").to_numpy(bool)
        if column.dtype.kind in "iuf":
            here = here | (column == _value(mark)).to_numpy(bool)
        if here.any():
            by_mark[mark] = here
    return by_mark


def _value(mark: str) -> float:
    try:
        return float(mark)
    except ValueError:
        return float("nan")  # equals nothing
