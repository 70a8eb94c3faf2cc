"""Tables in memory: raw columns as X, and labels as groups of s."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import numpy as np

from fairbench.api import Ints
from fairbench.data.array_checks import MAX_CLASSES
from fairbench.data.column_values import texts
from fairbench.data.prepare import coded
from fairbench.data.preprocessing import Preprocessing, mean_and_scale, most_common_categories
from fairbench.errors import DataError, InputError

if TYPE_CHECKING:
    import pandas as pd


def named(frame: pd.DataFrame, names: Sequence[str]) -> pd.DataFrame:
    """Return the columns under new names, rows counted from 0, objects as numbers where they are.

    Raises InputError: a column holds neither numbers nor categories.
    """
    import pandas as pd

    rows = frame.reset_index(drop=True)
    rows.columns = pd.Index(names)
    rows = rows.infer_objects()
    for name in names:
        if rows[name].dtype.kind in "cmM":
            raise InputError(
                f"The column {name!r} of X holds {rows[name].dtype} values.",
                "Columns of X are numbers or categories: convert it, or drop it.",
            )
        if _holds_decimals(rows[name]):  # as databases give them
            rows[name] = rows[name].astype(float)
        if rows[name].dtype == object:
            _check_hashable(rows[name])
    return rows


def _holds_decimals(column: pd.Series) -> bool:
    """Whether all values of a column that are there are decimal numbers of Python or Arrow."""
    if str(column.dtype).startswith("decimal"):
        return True
    held = column.dropna() if column.dtype == object else ()
    return len(held) > 0 and all(isinstance(value, Decimal) for value in held)


def _check_hashable(column: pd.Series) -> None:
    """Raise InputError where a cell is a list, a mapping or an array, and so no category."""
    try:
        column.unique()
    except TypeError:
        for row, value in enumerate(column):
            try:
                hash(value)
            except TypeError:
                raise InputError(
                    f"The column {column.name!r} of X, row {row + 1}: a {type(value).__name__} is "
                    "neither a number nor a category.",
                    "Convert the column into several, of numbers or categories, or drop it.",
                ) from None
        raise


def fit_preprocessing(frame: pd.DataFrame) -> Preprocessing:
    """Fit categories and scales of a training table, as for datasets.

    Unlike there a constant column is allowed, as one may be constant in a fold; its scale is 1. And
    categorical columns keep the order of their dtype, where it is ordered or of numbers.

    Raises InputError: a value is missing, infinite, or so large that its column cannot be scaled.
    """
    try:
        codes, features = coded(frame, onehot=False, keep_order=True)
    except DataError as error:
        raise InputError(f"X: {error.message}", error.hint) from None
    bad = np.argwhere(~np.isfinite(codes))
    if len(bad):
        row, column = bad[0]
        raise InputError(f"X, row {row + 1}: {features[column].name} is infinity or too large.")
    try:
        mean, scale = mean_and_scale(codes, [feature.name for feature in features])
    except DataError as error:
        raise InputError(f"X: {error.message}", error.hint) from None
    return Preprocessing(features, mean, scale, most_common_categories(frame, features))


def groups_of(s: Any, rows: int) -> tuple[tuple[str, ...], Ints]:
    """Return the names of the groups, in order, and each row's code ``(rows,)``.

    Raises InputError: there is only one group, or s is not a complete column of names or whole
    numbers.
    """
    names, codes = np.unique(_labels(s, rows), return_inverse=True)
    if len(names) < 2:
        raise InputError(f"s has only one group, {str(names[0])!r}: there is nothing to hide.")
    if len(names) > MAX_CLASSES:
        raise InputError(
            f"s has {len(names):,} distinct values, and at most {MAX_CLASSES} are possible.",
            "Merge groups, or cut a quantity into ranges, as in np.digitize(s, [25, 45]).",
        )
    return tuple(str(name) for name in names), codes.reshape(-1).astype(np.int64)


def codes_of(s: Any, rows: int, groups: Sequence[str]) -> Ints:
    """Return the codes ``(rows,)`` of labels; InputError names the first unknown group."""
    import pandas as pd

    labels = _labels(s, rows)
    codes: Ints = pd.Index(groups).get_indexer(pd.Index(labels)).astype(np.int64)
    bad = np.flatnonzero(codes < 0)
    if len(bad):
        raise InputError(
            f"s, row {bad[0] + 1}: the group {str(labels[bad[0]])!r} was not in the data of "
            f"the fit, which has {', '.join(groups)}."
        )
    return codes


def _labels(s: Any, rows: int) -> np.ndarray:
    """Return one text per row; whole numbers of any type without a decimal point."""
    import pandas as pd

    if isinstance(s, pd.DataFrame):
        s = s.to_numpy()
    if np.ma.is_masked(s):  # numpy would take what stands behind the mask for labels
        masked = np.ma.getmaskarray(s)
        s = np.ma.getdata(s).astype(object)
        s[masked] = None
    if not isinstance(s, pd.Series):
        # Without dtype=object numpy turns a NaN among texts into the text 'nan'.
        array = np.asarray(s, dtype=object if isinstance(s, list | tuple) else None)
        if array.ndim == 2 and array.shape[1] == 1:
            array = array[:, 0]
        if array.ndim != 1:
            raise InputError(f"s has the shape {array.shape}: it must be one label per row.")
        s = pd.Series(array)
    s = s.infer_objects()  # as objects, 1 and 1.0 would be two groups
    if len(s) != rows:
        raise InputError(f"X has {rows:,} rows and s has {len(s):,}: row i of both is one person.")
    missing = np.flatnonzero(s.isna())
    if len(missing):
        raise InputError(
            f"s, row {missing[0] + 1}: it has no value ({len(missing):,} such rows).",
            "Fill it in, make it a group of its own, or leave such rows out of X and s.",
        )
    if s.dtype.kind == "f" and (other := s[(s != s.round()) | np.isinf(s)]).size:
        raise InputError(
            f"s holds {other.iloc[0]:g}: groups are names or whole numbers.",
            "Cut a quantity into ranges, as in np.digitize(s, [25, 45]).",
        )
    return texts(s.reset_index(drop=True)).to_numpy(dtype=str)
