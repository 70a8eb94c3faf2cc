"""What plugins return, checked before it is stored or shown: numbers and columns of metrics."""

from __future__ import annotations

import math
import numbers
from collections.abc import Mapping
from typing import Any

from fairbench.api.metric import Metric
from fairbench.registry import declared_columns
from fairbench.store.text import clean_line


def is_finite_number(value: Any) -> bool:
    """Whether a value is one finite real number; truth values and arrays are none."""
    if not isinstance(value, numbers.Real) or isinstance(value, bool):
        return False
    try:
        return math.isfinite(float(value))
    except OverflowError:
        return False


def short_repr(value: Any) -> str:
    """Return the start of a value's text, for messages."""
    try:
        return clean_line(repr(value), 60)
    except Exception:  # a plugin's object may be of any kind
        return f"a {type(value).__name__}"


def checked_columns(metric: type[Metric], values: Any) -> dict[str, float | None]:
    """Return what ``compute`` of a metric gave; ValueError unless tables can hold it.

    Columns have to be declared, and their values finite numbers, or None where there is none. A
    column that it left out has None, too.
    """
    if not isinstance(values, Mapping):
        raise ValueError(
            f"The metric {metric.name} returned {short_repr(values)}; it should return a value "
            "for each of its columns, as a mapping."
        )
    values, declared = dict(values), declared_columns(metric)
    for column in declared.undeclared(values):
        raise ValueError(
            f"The metric {metric.name} returned {short_repr(column)}, which it does not declare "
            "in columns."
        )
    for column, value in values.items():
        if value is not None and not is_finite_number(value):
            raise ValueError(
                f"The metric {metric.name} returned {short_repr(value)} for {short_repr(column)}; "
                "None says that a value cannot be given."
            )
    known = {column: None if value is None else float(value) for column, value in values.items()}
    if values or not declared.starts:  # what it has by task it has of no point without a task
        known = dict.fromkeys(declared.plain) | known
    return known
