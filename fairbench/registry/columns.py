"""Columns of metrics, as declared when a metric was registered: its own code could change them.

A column in braces, such as ``accuracy_y_{task}``, declares all names that begin with what stands
before them.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from fairbench.api.metric import Metric


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

    def declare(self, name: object) -> bool:
        """Whether a name is that of a column."""
        return type(name) is str and (name in self.plain or name.startswith(self.starts))

    def undeclared(self, names: Iterable[Any]) -> list[Any]:
        """Return those of some names that are no columns."""
        return [name for name in names if not self.declare(name)]

    def shared_with(self, other: Columns) -> str | None:
        """Return a column, as declared here, that another metric declares too; None: none is."""
        for name in self.names:
            start = name.partition("{")[0]
            if name in other.names or ("{" not in name and other.declare(name)):
                return name
            if "{" in name and any(
                theirs.startswith(start) or ("{" in of and start.startswith(theirs))
                for of in other.names
                for theirs in [of.partition("{")[0]]
            ):
                return name
        return None


@functools.cache
def declared_columns(metric: type[Metric]) -> Columns:
    """Return the columns of a metric; the same at every call in one process."""
    return Columns(tuple(metric.columns))
