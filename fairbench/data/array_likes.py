"""What users give as arrays: numpy, pandas, Arrow and Polars, torch and scipy, and lists."""

from __future__ import annotations

from typing import Any

import numpy as np

from fairbench.data.precision import LARGEST_WHOLE
from fairbench.errors import DataError


def is_frame(value: Any) -> bool:
    """Return whether it is a pandas Series or DataFrame, without importing pandas."""
    return hasattr(value, "iloc") and hasattr(value, "to_numpy")


def unwrapped(value: Any, name: str) -> Any:
    """Return a table as a pandas object with rows counted from 0, and a tensor as a numpy array.

    Raises DataError: it is None, or has masked values.
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
        try:
            return tensor.numpy()
        except TypeError:  # bfloat16
            return tensor.float().numpy()
    if hasattr(value, "toarray"):  # a sparse matrix
        return value.toarray()
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
