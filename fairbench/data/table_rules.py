"""The rules of a Table, checked as soon as a dataset is loaded: a fault is one DataError."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np

from fairbench.api.dataset import Images, Table
from fairbench.data.task_names import fault_of_task_name
from fairbench.errors import DataError


def check_table(table: Table, name: str) -> None:
    """Raise DataError for the first rule that the table of dataset ``name`` breaks."""
    with _of_dataset(name):
        _check_columns(table.x)
        rows = len(table.x)
        _check_groups(table.groups)
        _check_codes("s", table.s, rows, classes=len(table.groups))
        if len(np.unique(table.s)) < 2:
            raise _Fault("s has the same value in every row", "There must be two groups or more.")
        for where, by_task in (("y", table.y), ("transfer", table.transfer)):
            _check_tasks(where, by_task, rows)
        for what, flags in (("is_test", table.is_test), ("target", table.target)):
            if flags is not None:
                _check_shape(what, flags, rows, "bool", "b")
        if table.person is not None:
            _check_codes("person", table.person, rows)
        for column, values in table.domains.items():
            _check_shape(f"domains[{column!r}]", values, rows, "str", "OSTU")


def check_images(images: Images, name: str) -> None:
    """Raise DataError for a task of images of dataset ``name`` that cannot be called so."""
    with _of_dataset(name):
        for by_task in images.y.values():
            _check_names("y", by_task)


@contextmanager
def _of_dataset(name: str) -> Iterator[None]:
    """Turn a fault into an error that names the dataset."""
    try:
        yield
    except _Fault as fault:
        what, rule = fault.args
        raise DataError(f"The dataset {name!r}: {what}.", rule) from None


class _Fault(Exception):
    """What was found, and the rule."""


def _check_columns(x: Any) -> None:
    import pandas as pd

    if not isinstance(x, pd.DataFrame):
        raise _Fault(f"x is a {type(x).__name__}", "x is a pandas DataFrame.")
    if x.empty:
        raise _Fault(f"x has {len(x)} rows and {len(x.columns)} columns", "There must be some.")
    names: set[str] = set()
    for place, text in enumerate(map(str, x.columns)):
        if text in names:
            raise _Fault(f"two columns of x are called {text!r}", "Names of columns are distinct.")
        names.add(text)
        column = x.iloc[:, place]
        if column.dtype.kind not in "biufO":
            raise _Fault(
                f"the column {text!r} of x holds {column.dtype} values",
                "Columns of x are numbers, or categories as strings: convert it, or leave it out.",
            )
        _check_values(f"the column {text!r} of x", column)


def _check_values(what: str, column: Any) -> None:
    missing = column.isna().to_numpy()
    if missing.any():
        raise _Fault(
            f"{what} has no value in row {_first(missing)} (and maybe others)",
            "Fill in missing values; those of a category can be a category of their own.",
        )
    if column.dtype.kind == "f":
        infinite = ~np.isfinite(column.to_numpy(np.float64))
        if infinite.any():
            raise _Fault(f"{what} is infinite in row {_first(infinite)}", "Numbers are finite.")


def _first(rows: np.ndarray) -> int:
    return int(np.flatnonzero(rows)[0]) + 1


def _check_groups(groups: Any) -> None:
    texts = isinstance(groups, tuple | list) and all(isinstance(group, str) for group in groups)
    if not texts or len(set(groups)) < len(groups):
        raise _Fault(f"groups is {groups!r}", "groups is a tuple of distinct strings.")


def _check_tasks(where: str, by_task: Any, rows: int) -> None:
    if not isinstance(by_task, Mapping):
        raise _Fault(
            f"{where} is a {type(by_task).__name__}",
            f"{where} is a dictionary of labels by the name of their task.",
        )
    _check_names(where, by_task)
    for task, labels in by_task.items():
        _check_codes(f"{where}[{task!r}]", labels, rows)


def _check_names(where: str, by_task: Mapping[Any, Any]) -> None:
    for task in by_task:
        if (fault := fault_of_task_name(task)) is not None:
            raise _Fault(f"{where} has the task {task!r}", f"Rename it: {fault}.")


def _check_codes(what: str, codes: Any, rows: int, classes: int | None = None) -> None:
    """Check whole numbers from 0, below ``classes`` where that is known."""
    _check_shape(what, codes, rows, "int64", "biu")
    low, high = int(codes.min()), int(codes.max())
    if low < 0 or (classes is not None and high >= classes):
        last = "" if classes is None else f" .. {classes - 1}, the places of groups"
        raise _Fault(f"{what} has the values {low} to {high}", f"{what} is codes from 0{last}.")


def _check_shape(what: str, values: Any, rows: int, dtype: str, kinds: str) -> None:
    rule = f"{what} is a numpy array of {dtype}, with one value for each row of x."
    if not isinstance(values, np.ndarray):
        raise _Fault(f"{what} is a {type(values).__name__}", rule)
    if values.shape != (rows,):
        raise _Fault(f"{what} has the shape {values.shape}, and x has {rows:,} rows", rule)
    if values.dtype.kind not in kinds:
        raise _Fault(f"{what} holds {values.dtype} values", rule)
