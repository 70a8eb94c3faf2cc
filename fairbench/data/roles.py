"""Deal the rows of a split to four disjoint roles, the same for every method."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from fairbench.api import AUDIT_ROLES, Ints, Role
from fairbench.api.dataset import Table
from fairbench.data.splits import OFFICIAL, Split
from fairbench.errors import DataError

TEST_SHARE = 1 / 3
"""Share of the test set where a dataset has no official one, as Adults has."""

SHARES = {Role.ENCODER_TRAIN: 0.5, Role.AUDITOR_TRAIN: 0.3, Role.VALIDATION: 0.2}
"""Shares of the other rows."""

MIN_ROWS = 5
"""Fewest rows of a group in the auditor training set, of which some are held out."""

MANY_GROUPS = 10
"""With more groups, most of them too small, the sensitive attribute seems to make no groups."""

SPLIT_SEED = 20_211
"""Seed of all splits: run seeds change training, never the rows."""


def assign_roles(
    table: Table, split: Split = OFFICIAL, *, audit_rows: int | None = None
) -> dict[Role, Ints]:
    """Deal rows to the four roles, stratified by (s, main task label).

    Returns sorted row numbers, disjoint. Together they are all rows, unless there are more than
    ``audit_rows`` in a role of the audit: so many, drawn by chance, are then in it, and the rest in
    none. Where people have several rows, the people are dealt, stratified by their first row, and
    one row of each, drawn by chance, is in validation or test. Raises DataError: a group of s has
    too few rows in a role, or a person has rows inside and outside the official test set.
    """
    stratum = _strata(table)
    if table.person is None:
        roles = _deal_roles(stratum, table.is_test, split)
    else:
        roles = _deal_people(table, table.person, stratum, split)
    for number, role in enumerate(AUDIT_ROLES):
        if audit_rows is not None and len(roles[role]) > audit_rows:
            share = audit_rows / len(roles[role])
            rng = np.random.default_rng([SPLIT_SEED, split.folds, split.fold, number])
            parts = deal(roles[role], stratum[roles[role]], [share, 1 - share], rng)
            roles[role] = np.sort(parts[0])
    _check_groups(table, roles)
    return roles


def _strata(table: Table) -> Ints:
    """Return a number for each row's s and main task label, ``(n,)``."""
    label = next(iter(table.y.values())) if table.y else np.zeros(len(table.s), np.int64)
    return table.s.astype(np.int64) * (int(label.max()) + 1) + label


def _deal_roles(
    stratum: Ints, is_test: npt.NDArray[np.bool_] | None, split: Split
) -> dict[Role, Ints]:
    """Deal n rows, or people, to the roles; ``stratum``, ``is_test (n,)``."""
    n = len(stratum)
    rng = np.random.default_rng(SPLIT_SEED)
    if split.folds:
        # All folds are dealt alike, so that their test sets are disjoint; the other roles are not.
        test = deal(np.arange(n), stratum, [1 / split.folds] * split.folds, rng)[split.fold - 1]
        rng = np.random.default_rng([SPLIT_SEED, split.folds, split.fold])
    elif is_test is not None:
        test = np.flatnonzero(is_test)
    else:
        test = deal(np.arange(n), stratum, [TEST_SHARE, 1 - TEST_SHARE], rng)[0]
    rest = np.setdiff1d(np.arange(n), test)
    dealt = deal(rest, stratum[rest], list(SHARES.values()), rng)
    roles = {role: np.sort(rows) for role, rows in zip(SHARES, dealt, strict=True)}
    roles[Role.TEST] = np.sort(test)
    return roles


def _deal_people(table: Table, person: Ints, stratum: Ints, split: Split) -> dict[Role, Ints]:
    """Deal people to the roles, and return the rows of theirs that are used there.

    ``person (n,)``: numbers, not necessarily all from 0, as a table may be part of another.
    """
    numbers, first = np.unique(person, return_index=True)
    is_test = table.is_test
    if is_test is not None and not split.folds:
        both = np.intersect1d(person[is_test], person[~is_test])
        if len(both):
            raise DataError(
                f"{len(both):,} people have rows inside and outside the official test set.",
                "Give all rows of a person one part, or leave the official test set out (in a "
                "card: `test`).",
            )
    dealt = _deal_roles(stratum[first], None if is_test is None else is_test[first], split)
    rng = np.random.default_rng([SPLIT_SEED, split.folds, split.fold, len(numbers)])
    rows = {role: np.flatnonzero(np.isin(person, numbers[who])) for role, who in dealt.items()}
    for role in (Role.VALIDATION, Role.TEST):
        rows[role] = one_row_each(rows[role], person, rng)
    return rows


def one_row_each(rows: Ints, person: Ints, rng: np.random.Generator) -> Ints:
    """Return one of these rows for each person who has some, drawn by chance; sorted.

    Intervals and certificates are of rows that are independent of each other. ``person (n,)``.
    """
    drawn = rng.permutation(rows)
    return np.sort(drawn[np.unique(person[drawn], return_index=True)[1]])


def _check_groups(table: Table, roles: Mapping[Role, Ints]) -> None:
    """Raise DataError where groups have too few rows in a role."""
    groups = len(table.groups)
    counts = {role: np.bincount(table.s[rows], minlength=groups) for role, rows in roles.items()}
    least = {role: MIN_ROWS if role is Role.AUDITOR_TRAIN else 1 for role in roles}
    small = int(np.logical_or.reduce([counts[role] < least[role] for role in roles]).sum())
    if not small:
        return
    role = next(role for role in roles if (counts[role] < least[role]).any())
    group = int(np.argmin(counts[role]))
    total = int((table.s == group).sum())
    needed = "1 is" if least[role] == 1 else f"{least[role]} are"
    others = f" {small:,} of the {groups:,} groups are too small." if small > 1 else ""
    hint = "Merge it with another group (in a card: `groups`), or leave its rows out."
    if groups > MANY_GROUPS and 2 * small > groups:
        hint = (
            "Its values are so many that they make no groups: it looks like a date, an id or an "
            "amount. Choose a column with few values, fewer columns, or merge values into few "
            "groups (in a card: `bins` for numbers, else `groups`)."
        )
    raise DataError(
        f"the group {table.groups[group]!r} of the sensitive attribute has "
        f"{_rows(int(counts[role][group]))} in role {role} ({_rows(total)} in all); {needed} "
        f"needed.{others}",
        hint,
    )


def _rows(count: int) -> str:
    return "1 row" if count == 1 else f"{count:,} rows"


def deal(
    rows: Ints, stratum: Ints, shares: list[float], rng: np.random.Generator
) -> list[npt.NDArray[np.int64]]:
    """Deal rows to parts with exact sizes and strata shared as evenly as possible.

    Rows are ordered by stratum, at random within; each in turn goes to the part that is furthest
    behind its share.
    """
    order = rng.permutation(len(rows))
    order = order[np.argsort(stratum[order], kind="stable")]
    counts = [0] * len(shares)
    choices = []
    for dealt in range(1, len(rows) + 1):
        behind = [share * dealt - count for share, count in zip(shares, counts, strict=True)]
        choice = behind.index(max(behind))
        choices.append(choice)
        counts[choice] += 1
    part = np.empty(len(rows), np.int64)
    part[order] = choices
    return [rows[part == i] for i in range(len(shares))]
