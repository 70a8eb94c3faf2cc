"""Check a table before anything trains: faults are raised, doubts are returned as notes."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from fairbench.api import Ints, Role
from fairbench.data.column_values import (
    ColumnKind,
    Decimal,
    Notation,
    are_dates,
    find_grouped_by_points,
    find_notation,
    guess_kind,
)
from fairbench.data.repeated_rows import seem_repeated
from fairbench.errors import DataError, nearest
from fairbench.stats.scores import entropy

if TYPE_CHECKING:
    import pandas as pd

NEAR_COPY = 0.95
"""Share of H(S) from which a column's own information on s is noted."""

ID_LIKE = 0.5
"""Distinct categories, as a share of the rows, from which a column is noted."""

WIDE = 500
"""Most one-hot columns without a note."""

FEW_ROWS = 30
"""Rows of a group in a role below which figures about it are noted."""

_CREDITED, _WEAK = 7.0, 0.01
"""See :func:`note_few_rows`; nats from which on a leak that is missed is noted."""

_CELLS = 255
"""Numbers with more distinct values are cut into this many cells of about equal size."""


def check_columns(frame: pd.DataFrame, used: Iterable[tuple[str, str]], where: str) -> None:
    """Raise DataError for the first (card key, column) that the table lacks."""
    known = [str(name) for name in frame.columns]
    for key, column in used:
        if column not in known:
            raise DataError(
                f"{where} has no column {column!r}, which the card names under `{key}`.",
                nearest(column, known),
            )


def check_notation(frame: pd.DataFrame, where: str, decimal: Decimal) -> None:
    """Raise DataError for columns whose numbers would become categories, as text."""
    found = {
        name: written
        for name in frame.columns
        if guess_kind(frame[name], decimal) is not ColumnKind.NUMBER
        and (written := find_notation(frame[name], decimal))
    }
    if not found:
        return
    name, written = next(iter(found.items()))
    others = ", ".join(f"{str(other)!r} ({text!r})" for other, (_, text) in list(found.items())[1:])
    raise DataError(
        f"{where}: the column {_say_notation(frame[name], *written)}."
        + (f" So do {others}." if others else ""),
        f"{_REMEDIES[written[0]]} If each value is meant to be a category, say so: under "
        f"`features` of a card, {name}: category (data new: --category {name})",
    )


_REMEDIES = {
    Notation.WITH_SIGN: "Write its numbers alone, with a decimal point.",
    Notation.COMMA: 'Write in the card: decimal: ",".',
    Notation.GROUPED: (
        "Write its numbers without thousands separators; if the comma is a decimal one, write in "
        'the card: decimal: ",".'
    ),
}


def _say_notation(column: pd.Series, notation: Notation, example: str) -> str:
    return (
        f"{str(column.name)!r} looks like numbers with {notation.value}, such as {example!r}: as a "
        f"category it has {column.nunique():,} values, in the order of their text"
    )


def check_groups(column: pd.Series, where: str, what: str = "sensitive") -> None:
    """Raise DataError for a column of s (or ``what``) whose values are of rows, not of groups."""
    values = column.nunique()
    if values > ID_LIKE * len(column):
        raise DataError(
            f"{where}: the {what} column {str(column.name)!r} has {values:,} values in "
            f"{len(column):,} rows: it looks like a name or an id, and makes no groups.",
            "Name a column whose values many rows share.",
        )


def check_features(x: pd.DataFrame, where: str) -> None:
    """Raise DataError for a constant column, and for a category with a new value in every row."""
    for name in x.columns:
        column = x[name]
        values = column.nunique()
        drop = f"Leave it out, in the card: drop: [{name}]"
        if values == 1:
            raise DataError(
                f"{where}: the column {str(name)!r} has the same value in every row, "
                f"{str(column.iloc[0])!r}.",
                drop,
            )
        if values == len(column) and column.dtype.kind not in "biuf":
            raise DataError(
                f"{where}: the category {str(name)!r} has a different value in every row: it "
                "looks like a name or an id, from which no encoder can learn.",
                drop,
            )


def check_copies(
    x: pd.DataFrame,
    s: Ints,
    allowed: Collection[str],
    where: str,
    *,
    what: str = "the sensitive attribute",
) -> None:
    """Raise DataError for a column that determines s, however it is coded, unless allowed.

    ``what``: what s is, for the message.
    """
    for name in x.columns:
        if name not in allowed and determines(x[name], s):
            raise DataError(
                f"{where}: the column {str(name)!r} determines {what}: it is a copy of it, "
                "possibly with another coding.",
                f"Leave it out (drop: [{name}]), or, if it is meant to be in X, allow it in the "
                f"card: allowed_copies: [{name}]",
            )


def notes_on(
    x: pd.DataFrame,
    sensitive: Mapping[str, Ints],
    *,
    onehot: bool,
    decimal: Decimal = ".",
    person: Ints | None = None,
) -> tuple[str, ...]:
    """Return doubts about a table that can still be used, one sentence each.

    ``sensitive``: codes of s, and of its parts where it has several, by what a note calls them.
    ``person``: number of the person of each row, ``(n,)``; None: each row is a person.
    """
    notes = []
    width, copied = 0, False
    for name in x.columns:
        column = x[name]
        text, values = str(name), column.nunique()
        category = column.dtype.kind not in "biuf"
        width += values if category else 1
        if written := find_notation(column, decimal):
            remedy = _REMEDIES[written[0]].rstrip(".")
            notes.append(
                f"the column {_say_notation(column, *written)}. {remedy}; "
                f"and under `features`: {text}: number"
            )
        elif are_dates(column):
            notes.append(
                f"the category {text!r} holds {values:,} dates, each a category of its own: leave "
                "it out, or put a number of days in its place."
            )
        elif category and values > ID_LIKE * len(column):
            notes.append(
                f"the category {text!r} has {values:,} values in {len(column):,} rows: if it is a "
                "name or an id, drop it."
            )
        elif not category and is_id(column):
            notes.append(
                f"the column {text!r} holds a different whole number in every row: if it is an id, "
                "drop it."
            )
        for what, s in sensitive.items():
            share = information_share(column, s)
            if share > NEAR_COPY:
                copied = True
                notes.append(
                    f"the column {text!r} alone has {100 * share:.0f}% of the information of "
                    f"{what} (of H(S)): it is almost a copy. Drop it, unless an encoder that sees "
                    "it is what you want to measure."
                )
    rows = slice(None) if person is None else np.unique(person, return_index=True)[1]
    held = [s[rows] for s in sensitive.values()]
    if not copied and (note := _note_repeated(x.iloc[rows], held)):
        notes.append(note)
    if person is not None and len(held[0]) == len(person):
        notes.append("the column under `person` differs in every row: each is then a person.")
    if onehot and width > WIDE:
        notes.append(
            f"one-hot encoding makes {width:,} columns: merge rare categories, or use "
            "`encoding: integer`."
        )
    return tuple(notes)


def _note_repeated(x: pd.DataFrame, sensitive: Collection[Ints]) -> str | None:
    """Note that rows seem to be of the same people; not where a column tells s anyway."""
    import pandas as pd

    value, _ = pd.factorize(pd.util.hash_pandas_object(x, index=False))
    if not all(seem_repeated(value, s) for s in sensitive):
        for name in x.columns:
            if all(seem_repeated(pd.factorize(x[name])[0], s) for s in sensitive):
                return (
                    f"rows with one value of {str(name)!r} have one s: if it tells people apart, "
                    f"of whom some have several rows, write in the card `person: {name}`."
                )
        return None
    again = (np.bincount(value)[value] > 1).mean()
    return (
        f"{again:.0%} of the rows are equal to another one, with the same s: if they are of the "
        "same people, name the column that tells these apart under `person` in the card, or keep "
        "one row of each; or auditors recognise people."
    )


def notes_on_points(frame: pd.DataFrame, separator: str) -> tuple[str, ...]:
    """Return a doubt about each column of numbers whose points may separate thousands.

    ``frame``: columns as they were read, whose numbers have a decimal point.
    """
    found = ((str(name), find_grouped_by_points(frame[name], separator)) for name in frame.columns)
    return tuple(
        f"the points of the column {name!r} are read as decimal points, as in {text}, not "
        f"{text.replace('.', '')}: if they separate thousands, write its numbers without them."
        for name, text in found
        if text is not None
    )


def note_few_rows(validation: int) -> str | None:
    """Note that auditors miss weak leaks, by the number of validation rows; None: only very weak.

    An auditor counts where its gain in log loss exceeds the standard error. Even one that knows
    P(s | z) has, with I nats to gain, a variance of about 2 I per row, so I = 7 / n is what it is
    credited with four times in five.
    """
    least = _CREDITED / validation
    if least < _WEAK:
        return None
    return (
        f"with {validation:,} validation rows even the best auditor often misses leaks below "
        f"{least:.3f} nats, and real ones miss more."
    )


def _rare(names: Sequence[str], roles: Mapping[Role, Ints]) -> list[str]:
    """Return names of codes with few rows to train auditors on, or to measure, and how many."""
    counts = {
        role: np.bincount(roles[role], minlength=len(names))
        for role in (Role.AUDITOR_TRAIN, Role.TEST)
    }
    return [
        f"{name} (" + ", ".join(f"{role} {count[i]}" for role, count in counts.items()) + ")"
        for i, name in enumerate(names)
        if min(count[i] for count in counts.values()) < FEW_ROWS
    ]


def note_rare_classes(tasks: Mapping[str, Mapping[Role, Ints]]) -> str | None:
    """Name classes of labels with few rows likewise; ``tasks``: labels of each role, by task."""
    rare: list[str] = []
    for task, roles in tasks.items():
        classes = 1 + max(int(codes.max()) for codes in roles.values())
        rare += _rare([f"class {code} of {task}" for code in range(classes)], roles)
    if not rare:
        return None
    return (
        f"labels with fewer than {FEW_ROWS} rows of a class in a role: {', '.join(rare)}. A "
        "classifier that never predicts such a class is hardly less accurate: merge it, or do not "
        "rely on A_y."
    )


def note_rare_groups(groups: Sequence[str], roles: Mapping[Role, Ints]) -> str | None:
    """Name groups with few rows to train auditors on, or to measure; ``roles``: s of each role."""
    rare = _rare(groups, roles)
    if not rare:
        return None
    return (
        f"groups with fewer than {FEW_ROWS} rows in a role: {', '.join(rare)}. Leakage of "
        "theirs may go unseen, and figures about them are uncertain: merge them, or do not rely on "
        "these figures."
    )


def determines(column: pd.Series, s: Ints) -> bool:
    """Return whether each value of a column belongs to one group, and not by chance.

    Numbers may lie in ranges of one group each. It counts as chance where there are more values (or
    ranges) than a tenth of those that a column independent of s would need.
    """
    values = _codes(column) if column.dtype.kind not in "biuf" else column.to_numpy()
    order = np.argsort(values, kind="stable")
    v, t = values[order], s[order]
    changes = t[1:] != t[:-1]
    if (changes & (v[1:] == v[:-1])).any():
        return False
    cells = int(changes.sum()) + 1 if column.dtype.kind in "biuf" else column.nunique()
    share = np.bincount(s) / len(s)
    by_chance = len(s) * (1 - (share**2).sum())
    return bool(cells <= max(len(share), by_chance / 10))


def information_share(column: pd.Series, s: Ints) -> float:
    """Estimate I(column; S) / H(S) on held-out rows, by frequency tables of two halves."""
    cells = _codes(column)
    groups = int(s.max()) + 1
    prior = np.bincount(s, minlength=groups) / len(s)
    half = np.random.default_rng(0).permutation(len(s)) % 2
    losses = np.empty(len(s))
    for held in (0, 1):
        seen, rest = half != held, half == held
        table = np.bincount(
            cells[seen] * groups + s[seen], minlength=(int(cells.max()) + 1) * groups
        ).reshape(-1, groups)
        p = (table + prior) / (table.sum(axis=1, keepdims=True) + 1)
        losses[rest] = -np.log(p[cells[rest], s[rest]])
    return 1 - float(losses.mean()) / entropy(s)


def _codes(column: pd.Series) -> npt.NDArray[np.int64]:
    """Return each row's cell: its category, its number, or the quantile range of its number."""
    import pandas as pd

    if column.dtype.kind in "biuf" and column.nunique() > _CELLS:
        edges = np.unique(np.quantile(column, np.linspace(0, 1, _CELLS + 1)[1:-1]))
        return np.searchsorted(edges, column.to_numpy(), side="right").astype(np.int64)
    return pd.factorize(column)[0].astype(np.int64)


def is_id(column: pd.Series) -> bool:
    """Return whether numbers look like an id: whole, and all different."""
    return bool(column.is_unique and (column == column.round()).all())
