"""Check arrays of a user and turn them into what audits take; every error is one sentence.

Messages count rows of frames from 1, as in a file, and elements of arrays from 0, by their index.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np

from fairbench.api import Ints, Role
from fairbench.data.array_likes import (
    as_array,
    check_list,
    check_storage,
    is_frame,
    plain_column,
    unwrapped,
)
from fairbench.data.column_values import ColumnKind, are_codes, guess_kind, numbers, texts
from fairbench.data.precision import stack_exactly
from fairbench.data.prepare import coded
from fairbench.data.written_numbers import written_numbers
from fairbench.errors import DataError, nearest

if TYPE_CHECKING:
    import pandas as pd

MAX_CLASSES = 100
"""Most groups of s, or classes of a task: more are a number that has not been cut into ranges."""

ROLE_NAMES = {
    "train": Role.AUDITOR_TRAIN,
    Role.AUDITOR_TRAIN.value: Role.AUDITOR_TRAIN,
    Role.VALIDATION.value: Role.VALIDATION,
    Role.TEST.value: Role.TEST,
    Role.ENCODER_TRAIN.value: Role.ENCODER_TRAIN,
}
"""Names that a column of roles may use."""

EARLIER_ROLE_NAMES = {"selection": Role.VALIDATION.value}
"""Names of version 0.1, accepted with a warning, and today's."""


def check_matrix(value: Any, name: str) -> np.ndarray:
    """Check rows of numbers; return them as ``(n, k)``, in their own precision.

    Raises DataError: it has another shape, no rows, or a value that is not a finite number.
    """
    held = unwrapped(value, name)
    if is_frame(held):
        _check_shape(held.shape, name)
        columns = [_released(held.iloc[:, i], name) for i in range(held.shape[1])]
        return stack_exactly(columns, name)
    array = as_array(held, name)
    _check_shape(array.shape, name)
    if isinstance(held, list | tuple):
        check_list(held, name)
    check_storage(array, name)
    if array.dtype.kind not in "biuf":
        raise DataError(
            f"{name} holds {array.dtype} values, not numbers: convert it first, as in "
            f"{name}.astype(float)."
        )
    _check_finite(array, name)
    return array


def check_features(value: Any, name: str) -> np.ndarray:
    """Check columns of X; return float64 ``(n, d)``, with categories as codes, as in datasets.

    Raises DataError: as for :func:`matrix`; text is a category, but a text among numbers is an
    error.
    """
    import pandas as pd

    held = unwrapped(value, name)
    if not is_frame(held):
        array = as_array(held, name)
        _check_shape(array.shape, name)
        if array.dtype.kind not in "USO":
            return check_matrix(array, name).astype(np.float64)
        held = pd.DataFrame(array, columns=[f"column {i + 1}" for i in range(array.shape[1])])
    _check_shape(held.shape, name)
    columns: dict[str, Any] = {}
    for place in range(held.shape[1]):
        column = held.iloc[:, place]
        _check_present(column, name)
        number = guess_kind(column) is ColumnKind.NUMBER
        # The place keeps two columns of one name apart.
        columns[f"{place} {column.name}"] = (
            _numbers(column, name) if number else texts(column).to_numpy()
        )
    return coded(pd.DataFrame(columns), onehot=False)[0]


def check_classes(value: Any, name: str) -> tuple[tuple[str, ...], Ints]:
    """Return the names of groups or classes, in order, and each row's code ``(n,)``.

    Raises DataError: the array has another shape, no rows, a single value, too many, or values that
    are neither names nor whole numbers.
    """
    held = unwrapped(value, name)
    if is_frame(held):
        if held.ndim == 2:
            if held.shape[1] != 1:
                raise DataError(
                    f"{name} has {held.shape[1]} columns, and one is needed: name it, or join "
                    "several into one first."
                )
            held = held.iloc[:, 0]
        _check_present(held, name)
        values = _labels_of(held)
    else:
        values = as_array(held, name)
        if values.ndim == 2 and values.shape[1] == 1:
            values = values[:, 0]
        if values.ndim != 1:
            raise DataError(f"{name} has the shape {values.shape}: it must be one value per row.")
    if not len(values):
        raise DataError(f"{name} is empty: there are no rows to audit.")
    return _coded_classes(values, name)


def check_people(value: Any, name: str) -> Ints:
    """Return a number for the person of each row, ``(n,)``, from names or numbers of people.

    Raises DataError: it is not one value per row, or one is missing.
    """
    import pandas as pd

    values = _single_column(value, name)
    if values.ndim != 1:
        raise DataError(f"{name} has the shape {values.shape}: it must be one value per row.")
    codes = pd.factorize(values)[0]
    if (codes < 0).any():
        raise DataError(
            f"{name} has no value in row {int(np.argmin(codes)) + 1}: give each row a person."
        )
    return np.asarray(codes, np.int64)


def check_tasks(value: Any, name: str) -> dict[str, tuple[tuple[str, ...], Ints]]:
    """Return task labels by task: of one column, or of several, each with a name."""
    held = unwrapped(value, name)
    if is_frame(held) and held.ndim == 2:
        if not held.shape[1]:
            raise DataError(f"{name} has no columns: leave it out, or give task labels.")
        tasks = [str(column) for column in held.columns]
        if twice := [task for task in tasks if tasks.count(task) > 1]:
            raise DataError(f"{name} has several columns called {twice[0]!r}: rename or drop one.")
        return {
            task: check_classes(held.iloc[:, place], f"{name} {held.columns[place]!r}")
            for place, task in enumerate(tasks)
        }
    if is_frame(held) and held.name is not None:
        return {str(held.name): check_classes(held, name)}
    array = held if is_frame(held) else as_array(held, name)
    if array.ndim == 2 and array.shape[1] > 1:
        return {
            f"{name}{i}": check_classes(array[:, i], f"{name}[:, {i}]")
            for i in range(array.shape[1])
        }
    return {name: check_classes(array, name)}


def role_rows(value: Any, name: str, n: int) -> dict[Role, Ints]:
    """Return the row numbers of each role in a column of role names; encoder-train is left out."""
    values = _single_column(value, name)
    if values.ndim != 1:
        raise DataError(f"{name} has the shape {values.shape}: one role per row, {_shape(1)}.")
    check_rows({"z": n, name: len(values)})
    written = [str(value) for value in values]
    for earlier in EARLIER_ROLE_NAMES.keys() & set(written):
        current = EARLIER_ROLE_NAMES[earlier]
        warnings.warn(
            f"{name}: the role {earlier!r} is called {current!r} now; write {current!r}.",
            FutureWarning,
            stacklevel=4,  # the call of fairbench.audit
        )
    words = np.array([EARLIER_ROLE_NAMES.get(word, word) for word in written])
    for text in np.unique(words):
        if text not in ROLE_NAMES:
            row = int(np.flatnonzero(words == text)[0])
            raise DataError(
                f"{name} has {str(text)!r} in row {row + 1}, which is not a role: "
                f"{nearest(str(text), ('train', 'validation', 'test', 'encoder-train'))}"
            )
    rows_of_role = {
        role: np.flatnonzero(np.isin(words, [k for k, v in ROLE_NAMES.items() if v is role]))
        for role in (Role.AUDITOR_TRAIN, Role.VALIDATION, Role.TEST)
    }
    for role, rows in rows_of_role.items():
        if not len(rows):
            word = "train" if role is Role.AUDITOR_TRAIN else role.value
            raise DataError(
                f"{name} gives no row the role {word!r}: train, validation and test are all needed."
            )
    return rows_of_role


def check_rows(lengths: dict[str, int]) -> None:
    """Raise DataError for the first array whose length differs from that of the first."""
    first = next(iter(lengths))
    for name, rows in lengths.items():
        if rows != lengths[first]:
            raise DataError(
                f"{first} has {lengths[first]:,} rows and {name} has {rows:,}: row i of each must "
                "be the same person (a CSV file has a first line of names, which is no row)."
            )


def _single_column(value: Any, name: str) -> np.ndarray:
    """Return the one column of a table ``(n,)``; other shapes as they are."""
    array = as_array(unwrapped(value, name), name)
    return array[:, 0] if array.ndim == 2 and array.shape[1] == 1 else array


def _coded_classes(values: np.ndarray, name: str) -> tuple[tuple[str, ...], Ints]:
    if values.dtype.kind == "O":
        values = _plain(values, name)
    if values.dtype.kind == "f":
        bad = np.flatnonzero(~np.isfinite(values) | (values != np.round(values)))
        if len(bad):
            raise DataError(
                f"{name}[{bad[0]}] is {values[bad[0]]:g}: groups and classes are names or whole "
                "numbers. Fill in missing values; cut a quantity into ranges, as in "
                f"np.digitize({name}, [25, 45])."
            )
        if np.abs(values).max() >= 2**53:
            raise DataError(f"{name} holds numbers beyond 2^53: give whole numbers or names.")
        values = values.astype(np.int64)
    if values.dtype.kind not in "biuUS":
        raise DataError(f"{name} holds {values.dtype} values: groups are names or whole numbers.")
    if values.dtype.kind == "S":
        try:
            values = np.char.decode(values, "utf-8")
        except UnicodeDecodeError:  # replaced, two names could become one
            raise DataError(
                f"{name} holds bytes that are no text in UTF-8: give it as text, as in "
                f"numpy.char.decode({name}, 'latin-1')."
            ) from None
    names, codes = np.unique(values, return_inverse=True)
    if len(names) < 2:
        raise DataError(
            f"{name} has only one value, {str(names[0])!r}: there is nothing to predict."
        )
    if len(names) > MAX_CLASSES:
        raise DataError(
            f"{name} has {len(names):,} distinct values, and at most {MAX_CLASSES} are possible: "
            f"merge them, or cut a quantity into ranges, as in np.digitize({name}, [25, 45])."
        )
    return tuple(str(text) for text in names), codes.reshape(-1).astype(np.int64)


def _plain(values: np.ndarray, name: str) -> np.ndarray:
    """Return an array of objects as text or numbers, if all are of one of these kinds."""
    for kinds, dtype in (((str,), str), ((bool, np.bool_), bool), ((int, np.integer), np.int64)):
        if all(isinstance(value, kinds) for value in values):
            try:
                return values.astype(dtype)
            except OverflowError:  # names, as any other
                return values.astype(str)
    first = next((v for v in values if not isinstance(v, str)), values[0])
    raise DataError(
        f"{name} mixes kinds of values ({type(first).__name__} among them, {first!r}): make them "
        f"all names, as in {name}.astype(str), and fill in missing ones."
    )


def _labels_of(column: pd.Series) -> np.ndarray:
    """Return the values of a complete column: as numbers if all are, as CSV has only text."""
    if column.dtype.kind in "biuf":
        return column.to_numpy()
    if guess_kind(column) is ColumnKind.NUMBER:
        try:
            values = numbers(column, "")
        except DataError:  # a word among numbers is a name like the others
            values = np.empty(0)
        if len(values) and not are_codes(column, values):
            return values
    return texts(column).to_numpy(dtype=str)


def _released(column: pd.Series, name: str) -> np.ndarray:
    """Return a column of z as finite numbers that tell all that it tells."""
    _check_present(column, name)
    column = plain_column(column, name)
    if column.dtype.kind in "bf":
        check_storage(column.to_numpy(), f"The column {str(column.name)!r} of {name}")
    found = _numbers(column, name)
    return found if column.dtype.kind in "biuf" else written_numbers(column, found, name)


def _numbers(column: pd.Series, name: str) -> np.ndarray:
    """Return a column of a frame as finite numbers."""
    _check_present(column, name)
    if column.dtype.kind == "b":
        return column.to_numpy()
    if column.dtype.kind == "c":
        raise DataError(
            f"The column {str(column.name)!r} of {name} holds complex numbers: give real and "
            "imaginary parts as columns of their own."
        )
    if guess_kind(column) is not ColumnKind.NUMBER:
        raise DataError(
            f"The column {str(column.name)!r} of {name} holds {str(column.iloc[0])!r}, which is "
            "not a number: leave it out, or encode it first. Decimals are written with a point."
        )
    if column.dtype.kind in "iu":
        return column.to_numpy()
    try:
        return numbers(column, name)
    except DataError as error:
        # The hint of that error is for dataset cards.
        raise DataError(f"{error.message} Correct it, or leave the column out.") from None


def _check_present(column: pd.Series, name: str) -> None:
    missing = np.flatnonzero(column.isna())
    if len(missing):
        raise DataError(
            f"{name}, row {missing[0] + 1}: the column {str(column.name)!r} has no value (missing "
            f"in {len(missing):,} of {len(column):,} rows): fill it in, or leave such rows out of "
            "all arrays."
        )


def _check_finite(array: np.ndarray, name: str) -> None:
    with np.errstate(over="ignore"):  # extended precision reaches further than double precision
        finite = np.isfinite(array.astype(np.float64))
    bad = np.argwhere(~finite)
    if len(bad):
        row, column = int(bad[0, 0]), int(bad[0, 1])
        more = f" (and {len(bad) - 1:,} more such values)" if len(bad) > 1 else ""
        raise DataError(
            f"{name}[{row}, {column}] is {array[row, column]!s}{more}: fill it in, or leave such "
            "rows out of all arrays."
        )


def _check_shape(shape: Sequence[int], name: str) -> None:
    if len(shape) < 2:
        raise DataError(
            f"{name} is 1-D, {_shape(*shape)}: it must be {_shape('rows', 'columns')}; a single "
            f"column is {name}.reshape(-1, 1)."
        )
    if len(shape) != 2:
        raise DataError(
            f"{name} has the shape {_shape(*shape)}: it must be {_shape('rows', 'columns')}"
            + (f", as {name}.reshape(len({name}), -1) makes it." if len(shape) > 2 else ".")
        )
    if not shape[0] or not shape[1]:
        raise DataError(f"{name} is empty, {_shape(*shape)}: it must have rows and columns.")


def _shape(*sizes: object) -> str:
    return f"({', '.join(str(size) for size in sizes)}{',' if len(sizes) == 1 else ''})"


def check_same_order(**given: Any) -> None:
    """Raise DataError where two pandas objects have other rows, or orders, by their index.

    Rows are matched by their place. An index that shares no label with the other says nothing of
    rows, and one with labels twice cannot. ``given``: objects by the name of the argument.
    """
    frames = [(name, value.index) for name, value in given.items() if is_frame(value)]
    for (first, index), (second, other) in combinations(frames, 2):
        if len(index) != len(other) or index.equals(other):
            continue
        if not (index.is_unique and other.is_unique):
            continue
        common = int(index.isin(other).sum())
        if common == len(index):
            raise DataError(
                f"{first} and {second} have the same index, but in different orders, and row i of "
                f"both must be one person: give {second}.loc[{first}.index]; or, if they are in "
                f"one order already, {second}.to_numpy()."
            )
        if common:
            raise DataError(
                f"{first} and {second} have different rows by their index, with {common:,} of "
                f"{len(index):,} labels in both, and row i of both must be one person: give "
                f"the rows that both have, rows = {first}.index.intersection({second}.index), as "
                f"{first}.loc[rows] and {second}.loc[rows]; or, if they are the same people in one "
                f"order, {second}.to_numpy()."
            )
