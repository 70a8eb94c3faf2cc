"""Check the arrays of an audit together, and split their rows."""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from fairbench.api import Ints, Role
from fairbench.auditing.unseen_parts import with_unseen_parts
from fairbench.data import array_checks
from fairbench.data.card_table import MAX_NUMBERS
from fairbench.data.column_values import is_number
from fairbench.data.roles import deal, one_row_each
from fairbench.errors import ConfigError, DataError
from fairbench.stats.seeds import derive_seed

SHARES = {Role.AUDITOR_TRAIN: 0.5, Role.VALIDATION: 0.2, Role.TEST: 0.3}
"""Shares of the rows where no roles are checked."""

MIN_ROWS = {Role.AUDITOR_TRAIN: 10, Role.VALIDATION: 2, Role.TEST: 2}
"""Fewest rows of a group, or of a class, in each role."""

_DRAWN_SEEDS = 10**9
"""Seeds that are drawn are below: what reports print is short."""


@dataclass(frozen=True)
class CheckedArrays:
    """Checked arrays of n rows each, and the rows of each role."""

    z: np.ndarray  # (n, k), and further columns of what auditors do not see of these
    columns: int  # k
    s: Ints  # (n,): numbers of ``groups``
    groups: tuple[str, ...]
    tasks: Mapping[str, Ints]  # (n,) each
    x: np.ndarray | None  # (n, d)
    rows: Mapping[Role, Ints]
    seed: int
    people: int | None  # how many have rows in the test set; None: each row is a person


def check_arrays(
    z: Any, s: Any, y: Any, x: Any, roles: Any, people: Any, seed: int | None
) -> CheckedArrays:
    """Check arrays as a user gave them; they are those of :func:`fairbench.audit`.

    Raises
    ------
    ConfigError, DataError
        What is wrong, and what to do.
    """
    if seed is None:
        seed = secrets.randbelow(_DRAWN_SEEDS)
    if isinstance(seed, bool) or not isinstance(seed, int | np.integer) or not 0 <= seed < 2**63:
        raise ConfigError(f"The seed {seed!r} is not a whole number of 0 or more.")
    array_checks.check_same_order(z=z, s=s, y=y, x=x, roles=roles, people=people)
    released = array_checks.check_matrix(z, "z")
    groups, codes = array_checks.check_classes(s, "s")
    tasks = {} if y is None else array_checks.check_tasks(y, "y")
    original = None if x is None else array_checks.check_features(x, "x")
    z_seen, columns = with_unseen_parts(released), released.shape[1]
    lengths = {"z": len(released), "s": len(codes)}
    if tasks:
        lengths["y"] = len(next(iter(tasks.values()))[1])
    if original is not None:
        lengths["x"] = len(original)
    person = None if people is None else array_checks.check_people(people, "people")
    if person is not None:
        lengths["people"] = len(person)
    array_checks.check_rows(lengths)
    if roles is not None:
        rows = array_checks.role_rows(roles, "roles", len(codes))
    elif person is None:
        rows = split(codes, seed, z_seen)
    else:
        rows = split_people(person, codes, seed, z_seen)
    if person is not None:
        rows = _one_row_per_person(rows, person, seed, z_seen)
    _check_classes(codes, groups, rows, "group", "s")
    for task, (names, labels) in tasks.items():
        _check_classes(labels, names, rows, "class", task)
    labels_of = {task: labels for task, (_, labels) in tasks.items()}
    tested = None if person is None else len(rows[Role.TEST])
    return CheckedArrays(z_seen, columns, codes, groups, labels_of, original, rows, seed, tested)


def split(s: Ints, seed: int, z: np.ndarray) -> dict[Role, Ints]:
    """Split rows by SHARES, stratified by s; return the sorted row numbers of each role.

    The draw depends on what stands in z. By s and the seed alone, whoever makes z could mark the
    rows that train auditors, and no others.
    """
    parts = deal(np.arange(len(s)), s, list(SHARES.values()), _generator("roles", seed, z))
    return {role: np.sort(part) for role, part in zip(SHARES, parts, strict=True)}


def split_people(person: Ints, s: Ints, seed: int, z: np.ndarray) -> dict[Role, Ints]:
    """Split rows as :func:`split` does, with all rows of a person in one role.

    ``person (n,)``: numbers from 0; people are stratified by s of their first row.
    """
    first = np.unique(person, return_index=True)[1]
    parts = split(s[first], seed, z)
    return {role: np.flatnonzero(np.isin(person, people)) for role, people in parts.items()}


def _one_row_per_person(
    rows: Mapping[Role, Ints], person: Ints, seed: int, z: np.ndarray
) -> dict[Role, Ints]:
    """Leave one row of each person, drawn by chance, in the roles that figures are of.

    Raises DataError: a person has rows in two roles.
    """
    for one, other in combinations(rows, 2):
        both = np.intersect1d(person[rows[one]], person[rows[other]])
        if len(both):
            raise DataError(
                f"{len(both):,} people have rows in the roles {one} and {other}: give all rows of "
                "a person one role, or leave roles out."
            )
    rng = _generator("rows of people", seed, z)
    return {
        role: own if role is Role.AUDITOR_TRAIN else one_row_each(own, person, rng)
        for role, own in rows.items()
    }


def _generator(use: str, seed: int, z: np.ndarray) -> np.random.Generator:
    digest = hashlib.sha256(np.ascontiguousarray(z, np.float64).tobytes()).hexdigest()
    return np.random.default_rng(derive_seed(use, seed, digest))


def _check_classes(
    codes: Ints, names: tuple[str, ...], by_role: Mapping[Role, Ints], kind: str, name: str
) -> None:
    """Raise DataError for a group or a class that has too few rows in a role."""
    remedy = "merge it with another, or leave its rows out of all arrays"
    if len(names) > MAX_NUMBERS and all(is_number(text) for text in names):
        remedy = (
            f"cut the {len(names)} different numbers of {name} into ranges, or merge some if they "
            "are codes"
        )
    for role, where in by_role.items():
        counts = np.bincount(codes[where], minlength=len(names))
        fewest = int(np.argmin(counts))
        if counts[fewest] < MIN_ROWS[role]:
            total = int((codes == fewest).sum())
            rows = "1 row" if total == 1 else f"{total:,} rows"
            raise DataError(
                f"The {kind} {names[fewest]!r} of {name} has {rows}, {counts[fewest]} of "
                f"them in {role}, where {MIN_ROWS[role]} are needed: {remedy}."
            )
