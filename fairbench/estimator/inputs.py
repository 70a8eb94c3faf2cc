"""Tables given to the scikit-learn transformer: raw columns, checked, and as prepared rows."""

from __future__ import annotations

import warnings
from collections.abc import Collection
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import validate_data

from fairbench.api import Floats, Ints
from fairbench.data.array_checks import check_same_order
from fairbench.data.checks import NEAR_COPY, determines, information_share, is_id
from fairbench.data.column_values import ColumnKind, are_dates, find_notation, guess_kind
from fairbench.data.in_memory import named
from fairbench.data.preprocessing import Preprocessing, Unknown
from fairbench.data.used_columns import UsedColumns
from fairbench.errors import DataError, InputError, UnknownValueError

if TYPE_CHECKING:
    import pandas as pd


_FEW_VALUES = 10
"""Most distinct texts that are categories without a doubt, digits or not."""


def read_frame(estimator: BaseEstimator, X: Any, *, fitting: bool, gaps: bool) -> pd.DataFrame:
    """X as raw columns with names, checked as scikit-learn checks it.

    ``estimator``: the transformer; its ``n_features_in_`` and ``feature_names_in_`` are set where
    ``fitting``, and compared with X otherwise. ``X (n, columns)``. ``fitting``: whether ``fit`` is
    given X, not ``transform``. ``gaps``: whether numbers may be missing.
    """
    import pandas as pd

    if hasattr(X, "to_pandas"):  # polars, Arrow
        X = X.to_pandas()
    if np.ma.is_masked(X) and X.dtype.kind in "biuf":  # scikit-learn forgets the mask
        X = X.astype(np.float64).filled(np.nan)
    if isinstance(X, pd.DataFrame):
        _check_names(X)
        given = set(X.columns)
        X = _with_text_names(estimator, X, fitting=fitting)
        try:
            validate_data(estimator, X, reset=fitting, skip_check_array=True)
        except ValueError as error:
            raise InputError(str(error).strip(), _hint_to_select(estimator, given)) from None
        if len(X) < 2 * fitting or not X.shape[1]:
            raise InputError(f"X has {len(X)} sample(s) and {X.shape[1]} feature(s): too few.")
    else:
        coded = not fitting and any(f.categories for f in estimator.encoder_.info.features)
        X = validate_data(
            estimator,
            X,
            reset=fitting,
            dtype=None if coded else "numeric",
            ensure_all_finite="allow-nan" if gaps and not coded else not coded,
            ensure_min_samples=2 * fitting,
        )
    numbered = [f"x{i}" for i in range(estimator.n_features_in_)]
    names = getattr(estimator, "feature_names_in_", numbered)
    return named(pd.DataFrame(X), [str(name) for name in names])


def _hint_to_select(estimator: BaseEstimator, given: Collection[Any]) -> str:
    """Return how to select the columns of ``fit``; empty where not all are among those given."""
    names = getattr(estimator, "feature_names_in_", None)
    if names is None or not set(names) <= set(given):
        return ""
    return (
        "Select the columns of fit, in its order: X[fair.feature_names_in_], fair being this one."
    )


def _check_names(frame: pd.DataFrame) -> None:
    """Raise InputError for a name of two columns, and for names of which only some are text."""
    twice = frame.columns[frame.columns.duplicated()]
    if len(twice):
        raise InputError(f"X has several columns named {twice[0]!r}.", "Rename or drop one.")
    other = [name for name in frame.columns if not isinstance(name, str)]
    if other and len(other) < frame.shape[1]:
        raise InputError(
            f"X has columns whose names are text, and the column {other[0]!r}, whose name is not.",
            "Make them text: X.columns = X.columns.astype(str)",
        )


def _with_text_names(
    estimator: BaseEstimator, frame: pd.DataFrame, *, fitting: bool
) -> pd.DataFrame:
    """Return a frame whose columns are named by numbers with these as text, so that order counts.

    scikit-learn ignores names that are no text. Columns 0, 1, 2, ... in this order, as of an array,
    stay without names; InputError where ``fit`` had them so, and now the order is another.
    """
    names: list[Any] = list(frame.columns)
    places = list(range(len(names)))
    if names == places or any(isinstance(name, str) for name in names):
        return frame
    if not fitting and not hasattr(estimator, "feature_names_in_") and set(names) == set(places):
        raise InputError(
            f"X has its columns in the order {', '.join(map(str, names))}; fit had them in the "
            "order of their numbers.",
            "Sort them: X[sorted(X.columns)]",
        )
    # Names of several levels first become tuples, as a MultiIndex cannot hold text.
    return frame.set_axis(frame.columns.to_flat_index().astype(str), axis=1)


def check_order(X: Any, s: Any) -> None:
    """Raise InputError where X and s have other rows, or orders, by their pandas indices."""
    try:
        check_same_order(X=X, s=s)
    except DataError as error:
        raise InputError(error.message) from None


def without_column(X: Any, column: str | None) -> tuple[Any, Any]:
    """X without a column, and that column; None where X has no such column.

    ``X``: as :func:`read_frame` takes it.
    """
    import pandas as pd

    if column is None:
        return X, None
    if hasattr(X, "to_pandas"):
        X = X.to_pandas()
    if not isinstance(X, pd.DataFrame) or column not in X.columns:
        return X, None
    return X.drop(columns=[column]), X[column]


def prepare_new_rows(frame: pd.DataFrame, used: UsedColumns, unknown: Unknown) -> Floats:
    """Prepared rows ``(n, d)`` of a table of ``transform``; warnings tell of replaced values."""
    try:
        x, replaced = used.apply(frame, where="X", unknown=unknown)
    except UnknownValueError as error:
        hint = 'Correct it; unknown="common" replaces unseen categories and missing numbers.'
        raise InputError(error.message, error.correction or hint) from None
    except DataError as error:
        raise InputError(error.message, error.hint) from None
    check_finite(x[:, used.places], frame, used.preprocessing)
    if replaced:
        counts = ", ".join(f"{source}: {values.count:,}" for source, values in replaced.items())
        warnings.warn(
            f"Values unseen in fit became the commonest, or the mean: {counts}.", stacklevel=3
        )
    for warning in used.preprocessing.warnings_of(replaced, len(frame)):
        warnings.warn(warning, stacklevel=3)
    return x


def check_finite(x: Floats, frame: pd.DataFrame, preprocessing: Preprocessing) -> None:
    """Raise InputError for the first number that is out of the range of float32 once scaled."""
    bad = np.argwhere(~np.isfinite(x))
    if len(bad):
        row, place = bad[0]
        source = preprocessing.features[place].source
        raise InputError(
            f"X, row {row + 1}: {source} is {frame[source].iloc[row]}, too far from the values "
            "that fit saw to be encoded.",
            "Correct it, or leave the row out.",
        )


def warn_of_columns(frame: pd.DataFrame, s: Ints | None) -> None:
    """Warn of columns that no encoder should see as they are; ``s``: what it is to be blind of."""
    _warn_of_ids(frame)
    _warn_of_text(frame)
    if s is not None:
        _warn_of_copies(frame, s)


def _warn_of_ids(frame: pd.DataFrame) -> None:
    """Warn of categories, and of whole numbers, that differ in every row."""
    for name, column in frame.items():
        if is_id(column) if column.dtype.kind in "biuf" else column.is_unique:
            warnings.warn(
                f"The column {name!r} of X has a different value in every row. If it is a name or "
                "an id, leave it out of X: no encoder can learn from it.",
                stacklevel=5,  # the call of fit
            )


def _warn_of_text(frame: pd.DataFrame) -> None:
    """Warn of text that writes many numbers or dates: they would be categories, in text order."""
    import pandas as pd

    for name, column in frame.items():
        meant = isinstance(column.dtype, pd.CategoricalDtype) or column.nunique() <= _FEW_VALUES
        if column.dtype.kind in "biuf" or meant:
            continue
        if find_notation(column) or guess_kind(column) is ColumnKind.NUMBER:
            kind, remedy = "numbers", "with pd.to_numeric"
        elif are_dates(column):
            kind, remedy = "dates", "into a number of days"
        else:
            continue
        warnings.warn(
            f"The column {name!r} of X holds {kind} as text: each of its {column.nunique():,} "
            f"values becomes a category, in the order of the text. Convert it {remedy}, or make it "
            "categorical (astype('category')) if that is meant.",
            stacklevel=5,  # the call of fit
        )


def _warn_of_copies(frame: pd.DataFrame, s: Ints) -> None:
    """Warn of columns from which s follows exactly, or almost."""
    for name, column in frame.items():
        if determines(column, s):
            said = "tells s exactly"
        elif information_share(column, s) > NEAR_COPY:
            said = "is almost a copy of s"
        else:
            continue
        warnings.warn(
            f"The column {name!r} of X {said}: an encoder that is to be blind of s sees it. Leave "
            "it out of X.",
            stacklevel=5,  # the call of fit
        )
