"""Turn a raw frame into X, S and Y by a dataset card, with an error for every bad table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from fairbench.api import Ints
from fairbench.api.dataset import Table
from fairbench.data.card import Card, Encoding, LabelColumn, SensitiveColumn
from fairbench.data.checks import (
    check_columns,
    check_copies,
    check_features,
    check_groups,
    check_notation,
    notes_on,
    notes_on_points,
)
from fairbench.data.column_values import (
    ColumnKind,
    Decimal,
    guess_kind,
    hint_missing,
    numbers,
    texts,
)
from fairbench.data.missing import fill, note_changed_shares, note_dropped, without_gaps
from fairbench.data.missing_marks import without_marks
from fairbench.errors import DataError, nearest

if TYPE_CHECKING:
    import pandas as pd

MAX_NUMBERS = 10
"""Most distinct numbers that can be groups or classes as they are."""

MAX_CLASSES = 50
"""Most classes of a label."""

_OUTSIDE_X = ("sensitive", "labels", "unseen", "domains", "test", "person")
"""Keys whose columns are read beside X."""


def table_of(card: Card, frame: pd.DataFrame, where: str) -> Table:
    """Turn a raw frame into a table by the card.

    ``frame``: as :func:`fairbench.data.tables.read_table` gives it. ``where``: the file, for
    messages. Raises DataError: the table cannot be used; the message names the fault and its place.
    """
    import pandas as pd

    check_columns(frame, card.used(), where)
    unmarked: list[str] = []
    if card.missing_values:
        frame, note = without_marks(frame, card.missing_values)
        unmarked += [note] if note else []
    kinds = _kinds(card, frame, where)
    others = [c for key, c in card.used() if key in _OUTSIDE_X]
    whole = frame[list(dict.fromkeys([*kinds, *others]))]
    whole = fill(card, whole, kinds, where)
    frame = without_gaps(card, whole, kinds, where)
    x = pd.DataFrame(
        {
            name: (
                numbers(frame[name], where, decimal=card.decimal)
                if kind is ColumnKind.NUMBER
                else texts(frame[name])
            )
            for name, kind in kinds.items()
        },
        index=frame.index,
    )
    groups, s = _groups(card, frame, where)
    y, transfer = (
        {
            label.column: _classes(label, frame[label.column], where, card.decimal)
            for label in labels
        }
        for labels in (card.labels, card.unseen)
    )
    domains = {
        part.column: np.array(
            _group_names(part, frame[part.column], where, card.decimal, key="domains")
        )
        for part in card.domains
    }
    person = _people(card, frame)
    is_test = None
    if card.test:
        is_test = np.asarray(texts(frame[card.test.column]) == card.test.value)
        if is_test.all() or not is_test.any():
            raise DataError(
                f"{where}: {int(is_test.sum()):,} of {len(is_test):,} rows have "
                f"{card.test.value!r} in {card.test.column!r}, the test set by `test:`.",
                nearest(card.test.value, texts(frame[card.test.column]).unique()),
            )
    check_features(x, where)
    sensitive = {"the sensitive attribute": s} | _parts(card, frame, where)
    for what, codes in sensitive.items():
        check_copies(x, codes, card.allowed_copies, where, what=what)
    onehot = card.encoding is Encoding.ONEHOT
    notes = (
        *unmarked,
        *notes_on(x, sensitive, onehot=onehot, decimal=card.decimal, person=person),
    )
    if card.decimal == ".":
        notes += notes_on_points(frame[_columns_of_numbers(card, kinds)], card.separator)
    if len(frame) < len(whole):
        notes = (*_notes_on_dropped(card, whole, frame, groups, s, where), *notes)
    missing: tuple[str, ...] = ()
    if card.missing.has_category:
        missing = tuple(name for name, kind in kinds.items() if kind is ColumnKind.CATEGORY)
    return Table(
        x.reset_index(drop=True),
        s,
        groups,
        y,
        is_test,
        onehot,
        notes,
        missing,
        transfer=transfer,
        domains=domains,
        decimal=card.decimal,
        missing_values=card.missing_values,
        person=person,
    )


def _kinds(card: Card, frame: pd.DataFrame, where: str) -> dict[str, ColumnKind]:
    """Return the columns of X and their kinds."""
    if card.features is not None:
        chosen: Mapping[str, ColumnKind | None] = card.features
    else:
        taken = {column for key, column in card.used() if key != "allowed_copies"}
        chosen = {str(name): None for name in frame.columns if name not in taken}
    if not chosen:
        raise DataError(f"{where}: no column is left for X.", "Name some under `features`.")
    check_notation(frame[[name for name, kind in chosen.items() if not kind]], where, card.decimal)
    return {name: kind or guess_kind(frame[name], card.decimal) for name, kind in chosen.items()}


def _people(card: Card, frame: pd.DataFrame) -> Ints | None:
    """Return the number of the person of each row, ``(n,)``; None where each row is a person."""
    if card.person is None:
        return None
    return np.unique(texts(frame[card.person]).to_numpy(str), return_inverse=True)[1].astype(
        np.int64
    )


def _columns_of_numbers(card: Card, kinds: Mapping[str, ColumnKind]) -> list[str]:
    """Return the columns that are read as numbers: of X, and those that are cut or compared."""
    of_x = [name for name, kind in kinds.items() if kind is ColumnKind.NUMBER]
    cut = [part.column for part in (*card.sensitive, *card.domains) if part.bins]
    compared = [one.column for one in (*card.labels, *card.unseen) if one.above is not None]
    return list(dict.fromkeys([*of_x, *cut, *compared]))


def _groups(card: Card, frame: pd.DataFrame, where: str) -> tuple[tuple[str, ...], Ints]:
    """Return the sorted names of the groups, and the code of each row."""
    groups, s = np.unique(_group_of_rows(card, frame, where), return_inverse=True)
    if len(groups) < 2:
        raise DataError(
            f"{where}: the sensitive attribute has only one group, {str(groups[0])!r}.",
            "Name another column under `sensitive`.",
        )
    return tuple(str(group) for group in groups), s.astype(np.int64)


def _group_of_rows(card: Card, frame: pd.DataFrame, where: str) -> list[str]:
    parts = [_group_names(part, frame[part.column], where, card.decimal) for part in card.sensitive]
    names: dict[str, tuple[str, ...]] = {}
    for values in dict.fromkeys(zip(*parts, strict=True)):
        other = names.setdefault(" ".join(values), values)
        if other != values:
            raise DataError(
                f"{where}: {' and '.join(map(repr, other))}, and {' and '.join(map(repr, values))} "
                f"would be one group, {' '.join(values)!r}.",
                "Give one of these values another name, under `groups` in the card.",
            )
    return [" ".join(values) for values in zip(*parts, strict=True)]


def _parts(card: Card, frame: pd.DataFrame, where: str) -> dict[str, Ints]:
    """Return the codes of each sensitive column of several that differs between rows."""
    parts = {}
    for part in card.sensitive if len(card.sensitive) > 1 else ():
        held = _group_names(part, frame[part.column], where, card.decimal)
        names, codes = np.unique(held, return_inverse=True)
        if len(names) > 1:
            parts[f"the sensitive column {part.column!r}"] = codes.astype(np.int64)
    return parts


def _notes_on_dropped(
    card: Card,
    whole: pd.DataFrame,
    kept: pd.DataFrame,
    groups: Sequence[str],
    s: Ints,
    where: str,
) -> list[str]:
    """Say which rows were left out for missing values, and how that changes groups."""
    known = whole.dropna(subset=[part.column for part in card.sensitive])
    changes = note_changed_shares(_group_of_rows(card, known, where), groups, s)
    return [note_dropped(card, whole, kept), *([changes] if changes else [])]


def _group_names(
    part: SensitiveColumn,
    column: pd.Series,
    where: str,
    decimal: Decimal,
    *,
    key: str = "sensitive",
) -> list[str]:
    """Return the group of each row; ``key`` is that of the card which names the column."""
    name, what = part.column, "sensitive" if key == "sensitive" else "domain"
    if part.bins:
        cuts = [np.format_float_positional(cut, trim="-") for cut in part.bins]
        labels = [
            f"{name}<{cuts[0]}",
            *(f"{low}<={name}<{high}" for low, high in pairwise(cuts)),
            f"{name}>={cuts[-1]}",
        ]
        hint = "Correct the table, or take `bins` out of the card and name groups instead."
        held = numbers(column, where, hint=lambda v: hint_missing(v) or hint, decimal=decimal)
        return [labels[i] for i in np.digitize(held, part.bins)]
    values = texts(column)
    if not part.groups and many_numbers(column, decimal):
        raise DataError(
            f"{where}: the {what} column {name!r} holds {column.nunique():,} distinct numbers.",
            f"Cut it into groups, in the card: {key}: {{column: {name}, bins: [25, 45]}}",
        )
    if not part.groups:
        check_groups(column, where, what)
    known = set(values)
    for value in part.groups:
        if value not in known:
            raise DataError(
                f"{where}: no row of the {what} column {name!r} is {value!r}, which the card "
                "names under `groups`.",
                nearest(value, known),
            )
    return [part.groups.get(value, value) for value in values]


def _classes(
    label: LabelColumn, column: pd.Series, where: str, decimal: Decimal
) -> npt.NDArray[np.int64]:
    """Return the class of each row."""
    name = label.column
    values = texts(column)
    y: npt.NDArray[np.int64]
    if label.above is not None:
        hint = (
            f"Correct the table, or name values: positive: [...] in place of above: {label.above:g}"
        )
        held = numbers(column, where, hint=lambda v: hint_missing(v) or hint, decimal=decimal)
        y = (held > label.above).astype(np.int64)
        if len(np.unique(y)) < 2:
            raise DataError(
                f"{where}: no two classes of the label {name!r} by above: {label.above:g}; its "
                f"values are {held.min():g} to {held.max():g}.",
                "Choose a number between them.",
            )
    elif label.positive:
        for value in label.positive:
            if value not in set(values):
                raise DataError(
                    f"{where}: no row of the label {name!r} is {value!r}, which the card names "
                    "under `positive`.",
                    nearest(value, values.unique()),
                )
        y = np.asarray(values.isin(label.positive), dtype=np.int64)
    else:
        if many_numbers(column, decimal) or values.nunique() > MAX_CLASSES:
            raise DataError(
                f"{where}: the label {name!r} has {values.nunique():,} distinct values.",
                "Name those of class 1 in the card, under `labels`: {column: "
                + name
                + ", above: NUMBER} or {column: "
                + name
                + ", positive: VALUE}",
            )
        y = np.unique(values.to_numpy(str), return_inverse=True)[1].astype(np.int64)
    if len(np.unique(y)) < 2:
        raise DataError(
            f"{where}: the label {name!r} has only one class; its values are "
            f"{', '.join(sorted(set(values))[:5])}.",
            "A task needs at least two classes: change `positive` or `above`, or drop the label.",
        )
    return y


def many_numbers(column: pd.Series, decimal: Decimal = ".") -> bool:
    """Return whether a column holds too many distinct numbers to be groups or classes as it is."""
    return guess_kind(column, decimal) is ColumnKind.NUMBER and column.nunique() > MAX_NUMBERS
