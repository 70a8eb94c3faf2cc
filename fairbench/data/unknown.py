"""Values in new rows that are not in the training table: their treatment, and what is said."""

from __future__ import annotations

import enum
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field


class Unknown(enum.StrEnum):
    """Treatment of values that are not in the training table."""

    REFUSE = "refuse"
    """An error names the first, and nothing is encoded."""
    COMMON = "common"
    """A category becomes the most common one, a missing number the mean; they are counted."""


_MOST = 0.5
"""Share of a column's values from which on the column, and not single rows, is at fault."""

_FEWEST = 5
"""Fewest rows of which a share says anything."""

_MAX_SPELLINGS, _MAX_CATEGORIES = 3, 6
"""Most that a message names."""


@dataclass(frozen=True)
class Replaced:
    """Values of one column of new rows that were replaced.

    Parameters
    ----------
    count : int
        All of them.
    missing : int
        Of these, those that were not there at all.
    example : str
        One that was there; empty where none was.
    respelt : mapping of str
        Values that are known ones but for capitals and spaces, each with the known one.
    """

    count: int
    missing: int = 0
    example: str = ""
    respelt: Mapping[str, str] = field(default_factory=dict)

    def __add__(self, other: Replaced) -> Replaced:
        """Those of two parts of a table."""
        return Replaced(
            self.count + other.count,
            self.missing + other.missing,
            self.example or other.example,
            {**self.respelt, **other.respelt},
        )


def are_most(count: int, rows: int) -> bool:
    """Return whether so many unknown values are most of a column of so many rows."""
    return rows >= _FEWEST and count >= _MOST * rows


def find_respelt(values: Iterable[str], known: Sequence[str]) -> dict[str, str]:
    """Return the values that are known ones but for capitals and spaces, each with the known one.

    A value that could be several known ones is none of them.
    """
    by_form: dict[str, list[str]] = {}
    for name in known:
        by_form.setdefault(_form(name), []).append(name)
    found = {value: by_form.get(_form(value), []) for value in values}
    return {value: names[0] for value, names in found.items() if len(names) == 1}


def _form(text: str) -> str:
    return " ".join(text.split()).casefold()


def say_respelt(respelt: Mapping[str, str]) -> str:
    """Return how the training rows spell some values, and that this is to be corrected."""
    shown = list(respelt.items())[:_MAX_SPELLINGS]
    spelt = ", ".join(f"{value!r} is spelled {known!r}" for value, known in shown)
    more = ", ..." if len(respelt) > _MAX_SPELLINGS else ""
    return f"In the training rows {spelt}{more}: correct the spelling here."


def say_few(categories: Sequence[str]) -> str:
    """Return the first categories, in quotes if one has a comma, and how many more there are."""
    first = categories[:_MAX_CATEGORIES]
    shown = ", ".join(map(repr, first) if any("," in one for one in first) else first)
    more = len(categories) - _MAX_CATEGORIES
    return f"{shown}, and {more} more" if more > 0 else shown


def say_lost(
    name: str, replaced: Replaced, rows: int, substitute: str, known: Sequence[str]
) -> str | None:
    """Return a warning where replacing has changed what a column says; None where it has not.

    That is so where most of its values were replaced, or any that is known in another spelling:
    the column is coded in another way. It is no error, as it may be meant: all of these people may
    live in a town that is new. Nor is it known before the last part of a table has been read.

    Parameters
    ----------
    name : str
        The column.
    rows : int
        Rows of the whole table.
    substitute : str
        What the values became.
    known : sequence of str
        Its categories; none of a column of numbers.
    """
    if are_most(replaced.count, rows):
        every = replaced.count == rows
        many = f"all {rows:,} values" if every else f"{replaced.count:,} of {rows:,} values"
        said = (
            f"{name}: {many} are {_say_what(replaced)}, and became {substitute}: the column says "
            f"nothing of these {'people' if every else f'{replaced.count:,} people'} any more."
        )
    elif replaced.respelt:
        said = f"{name}: values that are only spelled in another way became {substitute}."
    else:
        return None
    if replaced.respelt:
        return f"{said} {say_respelt(replaced.respelt)}"
    if not replaced.example:
        return said
    return f"{said} Is it coded in another way than in the training rows, with {say_few(known)}?"


def _say_what(replaced: Replaced) -> str:
    if not replaced.example:
        return "missing"
    kinds = "unknown or missing" if replaced.missing else "unknown to the encoder"
    return f"{kinds}, such as {replaced.example!r}"
