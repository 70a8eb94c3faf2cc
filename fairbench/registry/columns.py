"""Columns of metrics, as declared when a metric was registered: its own code could change them.

A column in braces, such as ``accuracy_y_{task}``, declares all names that begin with what stands
before them.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from fairbench.api.metric import Metric

COLUMN = re.compile(r"[a-z][a-z0-9_]*(_\{task\})?")
"""Names of columns, as metrics declare them."""


@dataclass(frozen=True)
class Columns:
    """The columns that a metric may write."""

    names: tuple[str, ...]
    """As declared, in their order."""

    @property
    def plain(self) -> tuple[str, ...]:
        """Those that are whole names."""
        return tuple(name for name in self.names if "{" not in name)

    @property
    def starts(self) -> tuple[str, ...]:
        """What stands before the braces of the others."""
        return tuple(name.partition("{")[0] for name in self.names if "{" in name)

    def declares(self, name: object) -> bool:
        """Whether a name is that of a column."""
        return type(name) is str and (name in self.plain or name.startswith(self.starts))

    def among(self, names: Iterable[str]) -> list[str]:
        """Return those of some names that are columns, in the order of the declaration."""
        given, found = list(names), dict[str, None]()
        for declared in self.names:
            start, brace, _ = declared.partition("{")
            own = (one for one in given if one == declared or (brace and one.startswith(start)))
            found |= dict.fromkeys(own)
        return list(found)

    def undeclared(self, names: Iterable[Any]) -> list[Any]:
        """Return those of some names that are no columns."""
        return [name for name in names if not self.declares(name)]

    def shared_with(self, other: Columns) -> str | None:
        """Return a column, as declared here, that another metric declares too; None: none is."""
        shared = (one for one in self.names if any(_overlap(one, its) for its in other.names))
        return next(shared, None)


def _overlap(one: str, other: str) -> bool:
    """Whether two columns, as declared, may have a name in common."""
    start, of_other = one.partition("{")[0], other.partition("{")[0]
    if "{" in one and "{" in other:
        return start.startswith(of_other) or of_other.startswith(start)
    if "{" in one:
        return other.startswith(start)
    return one.startswith(of_other) if "{" in other else one == other


@functools.cache
def declared_columns(metric: type[Metric]) -> Columns:
    """Return the columns of a metric; the same at every call in one process."""
    return Columns(tuple(metric.columns))
