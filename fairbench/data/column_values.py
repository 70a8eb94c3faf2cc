"""The values of one column: numbers or categories, as numbers or as text."""

from __future__ import annotations

import enum
import math
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from fairbench.errors import DataError

if TYPE_CHECKING:
    import pandas as pd


class ColumnKind(enum.StrEnum):
    """Kind of a column of X."""

    NUMBER = "number"
    """Numbers, used as they are."""
    CATEGORY = "category"
    """Anything else: each distinct value is a category."""


def is_number(text: str) -> bool:
    """Return whether a text is a finite number."""
    try:
        return math.isfinite(float(text))
    except ValueError:
        return False


def guess_kind(column: pd.Series) -> ColumnKind:
    """Guess a column's kind: numbers where most values are, so that a stray word is an error."""
    if column.dtype.kind in "iuf":
        return ColumnKind.NUMBER
    held = column.dropna()
    if column.dtype.kind == "b" or not len(held):
        return ColumnKind.CATEGORY
    return ColumnKind.NUMBER if np.isfinite(_parsed(held)).mean() > 0.5 else ColumnKind.CATEGORY


def texts(column: pd.Series) -> pd.Series:
    """Return values as text; whole numbers without a decimal point, missing values stay NaN."""
    held = column.dropna()
    if column.dtype.kind == "f" and (held == held.round()).all() and (held.abs() < 2**53).all():
        held = held.astype("int64")
    return held.astype(str).astype(object).reindex(column.index)


def numbers(column: pd.Series, where: str, *, hint: str = "") -> npt.NDArray[np.float64]:
    """Return values as numbers ``(n,)``; DataError quotes the first that is not one.

    ``column``: without missing values; its index counts the rows of the file from 0. ``where``: the
    file, for the message. ``hint``: hint of the error, where there is no card.
    """
    parsed = _parsed(column)
    bad = np.flatnonzero(~np.isfinite(parsed))
    if len(bad):
        more = f" ({len(bad)} such rows)" if len(bad) > 1 else ""
        raise DataError(
            f"{where}, row {column.index[bad[0]] + 1}: the column {str(column.name)!r} of numbers "
            f"holds {str(column.iloc[bad[0]])!r}, which is not a finite number{more}.",
            hint
            or "Correct the table; or declare the column a category under `features` of the card: "
            f"{column.name}: category",
        )
    return parsed


def _parsed(column: pd.Series) -> npt.NDArray[np.float64]:
    import pandas as pd

    if isinstance(column.dtype, pd.CategoricalDtype):
        of_category = _parsed(column.cat.categories.to_series())
        values: npt.NDArray[np.float64] = of_category[column.cat.codes.to_numpy()]
        return values
    return np.asarray(pd.to_numeric(column, errors="coerce"), dtype=np.float64)
