"""Figures at a limit of leakage: in what share of a row's curves any point keeps the limit."""

from __future__ import annotations

from collections.abc import Mapping

_AT_A_LIMIT = ("accuracy_y_at_", "transfer_at_", "transfer_worst_at_")

PARTLY = "†"
"""Mark of a figure that is in part a constant guess's."""

LIMIT_NOTE = (
    f"{PARTLY} On some splits, or for some seeds, no point keeps the limit: there the figure is "
    "that of a constant guess."
)


def reached_column(limit: str) -> str:
    """Return the column that says in what share of the curves a point keeps a limit."""
    return f"reached_{limit}"


def share_within_limit(column: str, figures: Mapping[str, float | None]) -> float | None:
    """Return in what share of its curves a row has a point that keeps the limit of a column.

    In the others its figure is that of a constant guess. None: the column has no limit, or it is
    not known.
    """
    prefix = next((one for one in _AT_A_LIMIT if column.startswith(one)), None)
    return None if prefix is None else figures.get(reached_column(column.removeprefix(prefix)))


def mark_of(column: str, figures: Mapping[str, float | None]) -> str:
    """Return the mark beside a figure that is a constant guess's on some curves; else nothing."""
    share = share_within_limit(column, figures)
    return PARTLY if share is not None and 0 < share < 1 else ""
