"""What users give as arrays: numpy, pandas, Arrow and Polars, torch and scipy, and lists."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from fairbench.data.precision import LARGEST_WHOLE
from fairbench.errors import DataError

if TYPE_CHECKING:
    import pandas as pd


_SPARSE = (
    "{name} is sparse, and what it stores is more than its numbers: a zero, one place twice, or "
    "places in another order than that of rows and columns. Give {name}.{dense}, and hand that out."
)


def is_frame(value: Any) -> bool:
    """Return whether it is a pandas Series or DataFrame, without importing pandas."""
    return hasattr(value, "iloc") and hasattr(value, "to_numpy")


def unwrapped(value: Any, name: str) -> Any:
    """Return a table as a pandas object with rows counted from 0, and a tensor as a numpy array.

    Raises DataError: it is None, has masked values, or is sparse and not in canonical form.
    """
    if value is None:
        raise DataError(f"{name} is None: give an array.")
    if hasattr(value, "to_pandas"):  # of Arrow or Polars, whose columns have kinds of their own
        value = value.to_pandas()
    if is_frame(value):
        return value.reset_index(drop=True)
    if np.ma.is_masked(value):  # numpy would take what stands behind the mask for values
        _refuse(np.ma.getmaskarray(value), name, "masked")
    if hasattr(value, "detach") and hasattr(value, "cpu"):
        tensor = value.detach().cpu().to_dense()
        if str(value.layout) != "torch.strided":
            canonical = str(value.layout) == "torch.sparse_coo" and value.is_coalesced()
            if not canonical or value.values().numel() != tensor.count_nonzero():
                raise DataError(_SPARSE.format(name=name, dense="to_dense()"))
        try:
            return tensor.numpy()
        except TypeError:  # bfloat16
            return tensor.float().numpy()
    if hasattr(value, "toarray"):  # a sparse matrix
        dense = value.toarray()
        # Which zeros it stores, and in which order, can tell s.
        if not getattr(value, "has_canonical_format", False) or value.nnz != np.count_nonzero(
            dense
        ):
            raise DataError(_SPARSE.format(name=name, dense="toarray()"))
        return dense
    return value


def as_array(value: Any, name: str) -> np.ndarray:
    """Return what :func:`unwrapped` gave as a numpy array.

    Raises DataError: it is a single value, its rows are not of one length, or it is a list of
    numbers that numpy would round.
    """
    if is_frame(value):
        return np.asarray(value.to_numpy())
    try:
        array = np.asarray(value)
    except ValueError:
        raise DataError(f"The rows of {name} are not all of one length.") from None
    if array.ndim == 0:
        raise DataError(f"{name} is a single value, not an array with one row per person.")
    if array.dtype.kind == "T":  # text of any length
        return array.astype(object)
    if array.dtype.kind in "US" and isinstance(value, list | tuple):
        held = np.asarray(value, dtype=object)
        _refuse(held != held, name, "nan")  # beside texts numpy makes the text 'nan' of it
    if array.dtype.kind == "f" and isinstance(value, list | tuple):
        _check_rounding(np.asarray(value, dtype=object), array, name)
    return array


def plain_column(column: pd.Series, name: str) -> pd.Series:
    """Return a column of z without missing values; categories as what they stand for.

    Raises DataError: it stores more than its values.
    """
    import pandas as pd

    stored = column.array
    if isinstance(stored, pd.Categorical):
        return pd.Series(stored.categories.array.take(stored.codes), name=column.name)
    if isinstance(stored, pd.arrays.SparseArray):
        if (stored.sp_values == stored.fill_value).any():
            raise DataError(_SPARSE.format(name=name, dense="sparse.to_dense()"))
        return column.sparse.to_dense()
    if isinstance(column.dtype, pd.ArrowDtype) and "dictionary" in str(column.dtype):
        raise DataError(
            f"The column {str(column.name)!r} of {name} is a dictionary of Arrow, which can hold "
            "one value twice: give its values, as in frame[column].to_numpy()."
        )
    return column


def check_storage(array: np.ndarray, what: str) -> None:
    """Raise DataError for numbers of which memory or a file holds more than their values.

    Truth values can be stored as any byte, and extended precision has bytes that are never read,
    and digits that auditors, who take double precision, do not see. ``what``: the array's name.
    """
    if array.dtype.kind == "b" and (np.ascontiguousarray(array).view(np.uint8) > 1).any():
        raise DataError(
            f"{what} holds truth values that are stored as other bytes than 0 and 1, which can "
            "tell s: write them anew, as in numpy.where(z, 1, 0), and hand that out."
        )
    if array.dtype.kind == "f" and array.dtype.itemsize > np.dtype(np.float64).itemsize:
        raise DataError(
            f"{what} holds numbers of extended precision ({array.dtype}), of which auditors do not "
            "see all digits: give z.astype(numpy.float64), and hand that out."
        )


def check_list(value: Any, name: str) -> None:
    """Raise DataError for a list of rows in which the kind of a number can tell s: 1 beside 1.0.

    A whole number may stand among fractions, if all whole ones do, as JSON writes them.
    """
    rows = set(map(_kind_of_row, value))
    if len(rows) == 1 and all(hasattr(row, "dtype") for row in value):
        return  # arrays of one kind
    held = np.asarray(value, dtype=object)
    for place, column in enumerate(held.T if held.ndim == 2 else [held]):
        kinds = set(map(type, column))
        whole = kinds == {int, float} and not any(
            isinstance(one, float) and one.is_integer() for one in column
        )
        if len(rows) > 1 or not (whole or len(kinds) == 1):
            names = sorted(kind.__name__ for kind in kinds) if len(rows) == 1 else sorted(rows)
            raise DataError(
                f"{name}[:, {place}] mixes kinds ({', '.join(names)}), which can tell s, and "
                f"auditors see values alone: give numpy.array({name}, dtype=float), and hand that "
                "out."
            )


def _kind_of_row(row: Any) -> str:
    return f"{type(row).__name__} of {row.dtype}" if hasattr(row, "dtype") else type(row).__name__


def _check_rounding(held: np.ndarray, array: np.ndarray, name: str) -> None:
    """Raise DataError for a whole number of a list that became another one among fractions."""
    if np.abs(array).max(initial=0) <= LARGEST_WHOLE:
        return
    for place in np.argwhere(np.abs(array) > LARGEST_WHOLE):
        whole = held[tuple(place)]
        if isinstance(whole, int | np.integer) and int(array[tuple(place)]) != int(whole):
            where = ", ".join(map(str, place))
            raise DataError(
                f"{name}[{where}] is {whole}, which numbers with fractions cannot hold beside "
                "others: give a DataFrame, whose columns have kinds of their own."
            )


def _refuse(wrong: np.ndarray, name: str, what: str) -> None:
    """Raise DataError for the first place that is true, and say how many there are."""
    places = np.argwhere(wrong)
    if len(places):
        where = ", ".join(str(place) for place in places[0])
        raise DataError(
            f"{name}[{where}] is {what} ({len(places):,} such values): fill it in, or leave such "
            "rows out of all arrays."
        )
