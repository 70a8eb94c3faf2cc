"""Deal the rows of a split to four disjoint roles, the same for every method."""

from __future__ import annotations

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

SPLIT_SEED = 20_211
"""Seed of all splits: run seeds change training, never the rows."""


def assign_roles(
    table: Table, split: Split = OFFICIAL, *, audit_rows: int | None = None
) -> dict[Role, Ints]:
    """Deal rows to the four roles, stratified by (s, main task label).

    Returns sorted row numbers, disjoint. Together they are all rows, unless there are more than
    ``audit_rows`` in a role of the audit: so many, drawn by chance, are then in it, and the rest in
    none. Raises DataError: a group of s has too few rows in a role.
    """
    n = len(table.s)
    label = next(iter(table.y.values())) if table.y else np.zeros(n, np.int64)
    stratum = table.s.astype(np.int64) * (int(label.max()) + 1) + label
    rng = np.random.default_rng(SPLIT_SEED)
    if split.folds:
        # All folds are dealt alike, so that their test sets are disjoint; the other roles are not.
        test = deal(np.arange(n), stratum, [1 / split.folds] * split.folds, rng)[split.fold - 1]
        rng = np.random.default_rng([SPLIT_SEED, split.folds, split.fold])
    elif table.is_test is not None:
        test = np.flatnonzero(table.is_test)
    else:
        test = deal(np.arange(n), stratum, [TEST_SHARE, 1 - TEST_SHARE], rng)[0]
    rest = np.setdiff1d(np.arange(n), test)
    dealt = deal(rest, stratum[rest], list(SHARES.values()), rng)
    roles = {role: np.sort(rows) for role, rows in zip(SHARES, dealt, strict=True)}
    roles[Role.TEST] = np.sort(test)
    for number, role in enumerate(AUDIT_ROLES):
        if audit_rows is not None and len(roles[role]) > audit_rows:
            share = audit_rows / len(roles[role])
            rng = np.random.default_rng([SPLIT_SEED, split.folds, split.fold, number])
            parts = deal(roles[role], stratum[roles[role]], [share, 1 - share], rng)
            roles[role] = np.sort(parts[0])
    for role, rows in roles.items():
        counts = np.bincount(table.s[rows], minlength=len(table.groups))
        least = MIN_ROWS if role is Role.AUDITOR_TRAIN else 1
        if (counts < least).any():
            group = table.groups[int(np.argmin(counts))]
            total = int((table.s == table.groups.index(group)).sum())
            raise DataError(
                f"The group {group!r} of the sensitive attribute has {counts.min()} rows in role "
                f"{role} ({total} rows in all); {least} are needed.",
                "Merge it with another group (in a card: `groups`), or leave its rows out.",
            )
    return roles


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
