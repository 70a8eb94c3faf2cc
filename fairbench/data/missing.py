"""Missing values of a user's own table: refused, left out or made a category, by its card."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from fairbench.api import Ints
from fairbench.data.card import Card
from fairbench.data.column_values import ColumnKind, texts
from fairbench.data.preprocessing import NO_VALUE
from fairbench.errors import DataError, MissingValueError

if TYPE_CHECKING:
    import pandas as pd

MUCH = 0.1
"""Change of a group's share, relative to it, from which it is noted."""

_NAMED = 3
"""Most columns that are named as the emptiest."""

_CANNOT_BE = {
    "sensitive": "the sensitive attribute",
    "labels": "a label",
    "unseen": "a label of an unseen task",
    "domains": "a domain",
    "test": "what marks the test rows",
    "person": "what tells people apart",
}
"""What a column without values cannot be, by the key of the card that names it."""


def fill(
    card: Card, frame: pd.DataFrame, kinds: Mapping[str, ColumnKind], where: str
) -> pd.DataFrame:
    """Make missing values a category where the card says so.

    ``kinds``: of the columns of X. Raises DataError: a column has no value at all.
    """
    _check_not_empty(card, frame, where)
    if not card.missing.has_category:
        return frame
    frame = frame.copy()
    for name in _fillable(card, kinds):
        frame[name] = texts(frame[name]).fillna(NO_VALUE)
    return frame


def without_gaps(
    card: Card, frame: pd.DataFrame, kinds: Mapping[str, ColumnKind], where: str
) -> pd.DataFrame:
    """Leave out rows with missing values where the card says so; the index stays the file's.

    ``frame``: from :func:`fill`. Raises DataError: missing values are left, or no rows.
    """
    if not card.missing.drops:
        _check(card, frame, where, kinds)
        return frame
    kept = frame.dropna()
    if not len(kept):
        raise _without_full_rows(card, frame, where, x=kinds)
    return kept


def _fillable(card: Card, kinds: Mapping[str, ColumnKind]) -> set[str]:
    """Return the columns whose missing values can be a category."""
    of_x = {name for name, kind in kinds.items() if kind is ColumnKind.CATEGORY}
    return of_x | {part.column for part in (*card.sensitive, *card.domains) if not part.bins}


def _check_not_empty(card: Card, frame: pd.DataFrame, where: str) -> None:
    """Raise DataError for columns without any value: no policy for missing values helps there."""
    empty = [str(name) for name in frame.columns[frame.isna().all()]]
    for key, name in card.used():
        if name in empty and key in _CANNOT_BE:
            raise DataError(
                f"{where}: the column {name!r} has no value in any row: it cannot be "
                f"{_CANNOT_BE[key]}.",
                f"Name another column under `{key}` in the card.",
            )
    if empty:
        columns = "column" if len(empty) == 1 else "columns"
        have = "has" if len(empty) == 1 else "have"
        raise DataError(
            f"{where}: the {columns} {', '.join(map(repr, empty))} {have} no value in any row.",
            _how_to_leave_out(card, empty),
        )


def _how_to_leave_out(card: Card, columns: Sequence[str]) -> str:
    """Say what to write so that columns of X are left out."""
    them = "it" if len(columns) == 1 else "them"
    if card.features is not None:  # its columns cannot stand under `drop`
        return f"Take {them} out of `features` in the card: {', '.join(columns)}."
    return f"Leave {them} out, in the card: drop: [{', '.join([*card.drop, *columns])}]"


def _without_full_rows(
    card: Card, frame: pd.DataFrame, where: str, *, x: Collection[str]
) -> DataError:
    """Return the error for a table with a missing value in every row; it names the emptiest."""
    missing = frame.isna()
    counts = missing.sum().sort_values(ascending=False, kind="stable")
    shown = counts[counts > 0][:_NAMED].items()
    named = ", ".join(f"{name} (in {count:,} of {len(frame):,} rows)" for name, count in shown)
    hint = "Fill some in, or name other columns under `sensitive` and `labels` in the card."
    emptiest = [str(name) for name, count in counts.items() if count and name in x]
    # One column of X must stay.
    for most in range(1, min(len(emptiest) + 1, len(x))):
        full = int((~missing.drop(columns=emptiest[:most])).all(axis=1).sum())
        if full:
            left = "row is" if full == 1 else "rows are"
            hint = f"{_how_to_leave_out(card, emptiest[:most])} ({full:,} {left} left then)"
            break
    return DataError(
        f"{where}: every row has a missing value, so `missing: {card.missing}` leaves none. Most "
        f"are missing in {named}.",
        hint,
    )


def _check(card: Card, frame: pd.DataFrame, where: str, kinds: Mapping[str, ColumnKind]) -> None:
    """Raise MissingValueError for the first column with missing values."""
    missing = frame.isna()
    columns = [str(name) for name in frame.columns[missing.any()]]
    if not columns:
        return
    name, others = columns[0], columns[1:]
    row = frame.index[np.flatnonzero(missing[name])[0]] + 1
    too = f"; also missing: values of {', '.join(others)}" if others else ""
    ways = ["fill it in"]
    if name in kinds:
        ways.append("leave the column out")
    ways.append(f"write in the card `missing: {card.missing.with_drop}` (leaves such rows out)")
    # With a policy that has a category, those that can be one are not missing any more.
    fillable = _fillable(card, kinds) & set(columns)
    if len(fillable) == len(columns):
        ways.append("`missing: category` (makes it a category of its own)")
    elif fillable:
        ways.append(
            "`missing: category-or-drop` (makes it a category of its own where it can be one, "
            "and leaves the other rows out)"
        )
    raise MissingValueError(
        f"{where}, row {row}: the column {name!r} has no value "
        f"(missing in {int(missing[name].sum()):,} of {len(frame):,} rows{too}).",
        f"{', or '.join(ways)}.".capitalize(),
    )


def note_dropped(card: Card, frame: pd.DataFrame, kept: pd.DataFrame) -> str:
    """Say how many rows were left out, and for which columns."""
    missing = frame.isna().sum()
    columns = ", ".join(f"{name} ({count:,})" for name, count in missing[missing > 0].items())
    return (
        f"{len(frame) - len(kept):,} of {len(frame):,} rows are left out, as the card says "
        f"`missing: {card.missing}`. Missing values by column: {columns}."
    )


def note_changed_shares(before: Sequence[str], groups: Sequence[str], s: Ints) -> str | None:
    """Say which groups' shares change much where rows are left out.

    ``before``: group of each row before, where it is known. ``groups``, ``s``: as in a table.
    """
    names, counts = np.unique(before, return_counts=True)
    after = dict(zip(groups, np.bincount(s, minlength=len(groups)) / len(s), strict=True))
    changes = [
        f"{name} from {was:.1%} to {after.get(str(name), 0):.1%}"
        for name, was in zip(names, counts / counts.sum(), strict=True)
        if abs(after.get(str(name), 0) - was) > MUCH * was
    ]
    return (
        f"without the rows left out, shares of groups change: {', '.join(changes)}."
        if changes
        else None
    )
