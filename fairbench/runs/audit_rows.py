"""The rows that an audit looks at: all, or of a large table so many of each role.

Which rows these are depends on the data alone, so that all points of a dataset, and x itself, are
measured on the same ones. Where a run looks at fewer, it also encodes no others.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from fairbench.api import AUDIT_ROLES, Floats, Ints, Role
from fairbench.data.prepared import Prepared, Rows
from fairbench.runs.point_arrays import ROWS, ArrayName
from fairbench.stats.seeds import derive_seed


def is_larger(data: Prepared, most: int | None) -> bool:
    """Whether a role that audits look at has more rows than ``most``; None: no limit."""
    if most is None:
        return False
    return any(len(data.roles[role].s) > most for role in AUDIT_ROLES) or (
        data.target is not None and is_larger(data.target, most)
    )


@dataclass(frozen=True)
class AuditRows:
    """A dataset's audit roles, at most so many rows of each.

    Parameters
    ----------
    data : Prepared
        What is audited, those rows alone.
    chosen : mapping of Role to ndarray of int, shape (n,)
        Numbers of those rows within their role, ascending; of roles that are cut alone.
    sizes : mapping of Role to int
        Rows of each role before.
    target : AuditRows or None
        The same of another domain's rows.
    """

    data: Prepared
    chosen: Mapping[Role, Ints]
    sizes: Mapping[Role, int]
    target: AuditRows | None

    @classmethod
    def of(cls, data: Prepared, most: int | None) -> AuditRows:
        """Choose at most ``most`` rows of each role; None: all."""
        sizes = {role: len(data.roles[role].s) for role in AUDIT_ROLES}
        chosen = {
            role: _choose(size, most, derive_seed("audit rows", data.fingerprint, role))
            for role, size in sizes.items()
            if most is not None and size > most
        }
        target = None if data.target is None else cls.of(data.target, most)
        roles = {role: _part(data.roles[role], numbers) for role, numbers in chosen.items()}
        part = replace(data, roles={**data.roles, **roles}, target=target.data if target else None)
        return cls(part, chosen, sizes, target)

    @classmethod
    def encoded(cls, data: Prepared, arrays: Mapping[str, np.ndarray]) -> AuditRows:
        """Return the rows that encoded arrays are of."""
        return cls.of(data, int(arrays[ROWS]) if ROWS in arrays else None)

    def soft(self, soft: Floats | None) -> Floats | None:
        """Soft labels ``(n, groups)`` of the auditor training set, of its chosen rows."""
        numbers = self.chosen.get(Role.AUDITOR_TRAIN)
        return soft if soft is None or numbers is None else soft[numbers]

    def arrays(self, arrays: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        """The encoded arrays of a unit, of the chosen rows."""
        return {key: self._array(ArrayName.parse(key), array) for key, array in arrays.items()}

    def _array(self, name: ArrayName, array: np.ndarray) -> np.ndarray:
        rows = self.target if name.target else self
        assert rows is not None
        role = name.role
        if role is None or role not in rows.chosen:
            return array
        # One draw after the other: (draws * n, ...)
        draws = array.reshape(-1, rows.sizes[role], *array.shape[1:])
        return draws[:, rows.chosen[role]].reshape(-1, *array.shape[1:])


def _choose(size: int, most: int, seed: int) -> Ints:
    numbers: Ints = np.sort(np.random.default_rng(seed).permutation(size)[:most])
    return numbers


def _part(rows: Rows, numbers: Ints) -> Rows:
    return replace(
        rows,
        stored=rows.stored[numbers],
        s=rows.s[numbers],
        y={task: labels[numbers] for task, labels in rows.y.items()},
        numbers=rows.numbers[numbers],
        transfer={task: labels[numbers] for task, labels in rows.transfer.items()},
    )
