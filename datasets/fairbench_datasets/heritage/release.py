"""Turn the release's four files into one row per member.

A member's three years are one row. Its columns:

- ClaimsCount is the number of claims.
- PayDelay, LabCount and DrugCount are sums. Published summaries of the data, a row a member and a
  year, have PayDelay_total, LabCount_total and DrugCount_total. The maxima show how: 84 for drugs,
  which is 12 months of '7+' counted as 7; 111 for labs, of at most 120, which is 12 months of '10+'
  counted as 10; 6,202 for delays, where the largest single one is 162, that of '162+'. So they are
  sums of values cut where the release cuts them, and 0 for members without a row in DrugCount or
  LabCount. Here they go over three years instead of one.
- A condition or procedure group's column is the number of claims with that group. A claim with
  none, an unknown one or SEPSIS is a claim and nothing more. One without a PayDelay adds no days.

Y is whether any claim has a Charlson index above 0.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from fairbench.api import Ints
from fairbench.api.dataset import Table
from fairbench.errors import DataError
from fairbench_datasets.heritage.columns import (
    AGES,
    CHARLSON,
    CONDITIONS,
    FEATURES,
    GROUPS,
    PROCEDURES,
    SEXES,
    TOTALS,
    YEARS,
)
from fairbench_datasets.heritage.rows import Chunk, read_chunks
from fairbench_datasets.heritage.source import AGAIN

MAX_DELAY, MAX_DRUGS, MAX_LABS = 162, 7, 10
"""Where the release caps its numbers: it has '162+', '7+' and '10+'."""

MAX_STRANGERS = 0.01
"""Share of a file's rows whose members may be missing in Members.csv; more means a file is cut."""

UNKNOWN = -1


@dataclass(frozen=True)
class Members:
    """The members in Members.csv, in the file's order."""

    rows: Mapping[int, int]  # MemberID to row
    s: Ints  # (members,): group, or -1 where age or sex is missing

    def find(self, field: str) -> int:
        """Row of a MemberID; one past the last where Members.csv does not have it."""
        return self.rows.get(_identity(field), len(self.rows))


def load_release(source: Path) -> Table:
    """Read Members.csv, Claims.csv, DrugCount.csv and LabCount.csv.

    ``source``: the folder that holds them, or the release's zip. Returns one row a member whose age
    and sex are known; the others are dropped. Raises DataError: a file is missing, damaged or not
    in the release's format.
    """
    import pandas as pd

    members = read_members(source)
    # One more row and column, for what belongs to no member or to no group.
    sums = np.zeros((len(members.s) + 1, len(FEATURES) + 1), np.int32)
    ill = np.zeros(len(sums), np.int64)
    totals = {name: sums[:, FEATURES.index(name)] for name in TOTALS}

    places = {
        "PrimaryConditionGroup": _place_of(CONDITIONS),
        "ProcedureGroup": _place_of(PROCEDURES),
    }
    columns = ("PayDelay", "PrimaryConditionGroup", "CharlsonIndex", "ProcedureGroup")
    for chunk, row in _matched(source, "Claims.csv", columns, members):
        np.add.at(totals["ClaimsCount"], row, 1)
        delays = chunk.read("PayDelay", lambda field: _at_most(MAX_DELAY)(field) if field else 0)
        np.add.at(totals["PayDelay"], row, delays)
        for column, place in places.items():
            np.add.at(sums, (row, chunk.read(column, place)), 1)
        ill[row[chunk.read("CharlsonIndex", _one_of(CHARLSON)) > 0]] = 1
    for column, largest in (("DrugCount", MAX_DRUGS), ("LabCount", MAX_LABS)):
        for chunk, row in _matched(source, f"{column}.csv", (column,), members):
            np.add.at(totals[column], row, chunk.read(column, _at_most(largest)))

    known = np.flatnonzero(members.s != UNKNOWN)
    return Table(
        x=pd.DataFrame(sums[known, :-1], columns=list(FEATURES)),
        s=members.s[known],
        groups=GROUPS,
        y={"charlson": ill[known]},
    )


def read_members(source: Path) -> Members:
    """Read Members.csv; a MemberID that comes twice is an error."""
    rows: dict[int, int] = {}
    groups: list[Ints] = []
    for chunk in read_chunks(source, "Members.csv", ("MemberID", "AgeAtFirstClaim", "Sex")):
        for i, number in enumerate(chunk.read("MemberID", _identity).tolist()):
            if number in rows:
                raise DataError(
                    f"{chunk.where}, line {chunk.line + i}: member {number} was there before.",
                    AGAIN,
                )
            rows[number] = len(rows)
        age = chunk.read("AgeAtFirstClaim", _one_of(AGES))
        sex = chunk.read("Sex", _one_of(SEXES))
        complete = (age != UNKNOWN) & (sex != UNKNOWN)
        groups.append(np.where(complete, sex * len(AGES) + age, UNKNOWN))
    s = np.concatenate(groups)
    if (s == UNKNOWN).all():
        raise DataError(f"{chunk.where}: no member has both an age and a sex.", AGAIN)
    return Members(rows, s)


def _matched(
    source: Path, name: str, columns: Sequence[str], members: Members
) -> Iterator[tuple[Chunk, Ints]]:
    """Chunks of a file that has a row for a member and a year, and the members' rows."""
    total = strangers = 0
    for chunk in read_chunks(source, name, ("MemberID", "Year", *columns)):
        chunk.read("Year", _one_of(YEARS))
        row = chunk.read("MemberID", members.find)
        total += len(row)
        strangers += int((row == len(members.s)).sum())
        yield chunk, row
    if strangers > MAX_STRANGERS * total:
        raise DataError(
            f"{chunk.where}: {strangers:,} of {total:,} rows are of members that Members.csv does "
            "not list: one of the two is cut short, or they are of different releases.",
            AGAIN,
        )


def _identity(field: str) -> int:
    if not (field.isascii() and field.isdigit() and len(field) <= 18):
        raise ValueError("a number")
    return int(field)


def _at_most(largest: int) -> Callable[[str], int]:
    """Read ``0`` to ``largest``, and ``largest+`` as ``largest``."""

    def read(field: str) -> int:
        value = largest if field == f"{largest}+" else _identity(field)
        if value > largest:
            raise ValueError(f"a number up to {largest}+")
        return value

    return read


def _place_of(names: Sequence[str]) -> Callable[[str], int]:
    """Read a group's column in X; that of an unknown group is one past the last."""
    places = {name: FEATURES.index(name) for name in names}
    return lambda field: places.get(field, len(FEATURES))


def _one_of(values: Sequence[str]) -> Callable[[str], int]:
    """Read the number of a value in the list; an empty field is -1."""

    def read(field: str) -> int:
        if field and field not in values:
            raise ValueError(f"one of {', '.join(values)}")
        return values.index(field) if field else UNKNOWN

    return read
