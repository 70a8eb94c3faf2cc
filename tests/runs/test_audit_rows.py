"""Audits of large tables look at so many rows of each role, the same ones for every point."""

from dataclasses import replace

import numpy as np
import pytest

from fairbench.api import AUDIT_ROLES, Role
from fairbench.data.prepare import Prepared
from fairbench.runs.audit_rows import AuditRows
from fairbench.runs.encoding import TARGET

MOST = 150


def arrays_of(data: Prepared, draws: int, of: str = "") -> dict[str, np.ndarray]:
    """Codes that are the rows' own numbers, and the draw."""
    arrays = {}
    for role in AUDIT_ROLES:
        numbers = data.roles[role].numbers
        z = np.stack([np.tile(numbers, draws), np.repeat(np.arange(draws), len(numbers))], axis=1)
        arrays[f"7/{of}z/{role}"] = z
        arrays[f"7/{of}own/{role}"] = numbers
    arrays[f"7/{of}fresh"] = np.tile(data.roles[Role.AUDITOR_TRAIN].numbers, 2)
    arrays[f"7/{of}rate"] = np.array(1.5)
    return arrays


@pytest.mark.parametrize("draws", [1, 3])
def test_codes_and_labels_are_of_the_same_rows(prepared: Prepared, draws: int) -> None:
    rows = AuditRows.of(prepared, MOST)
    arrays = rows.arrays(arrays_of(prepared, draws))
    for role in AUDIT_ROLES:
        kept = rows.data.roles[role]
        assert len(kept.s) == min(MOST, len(prepared.roles[role].s))
        np.testing.assert_array_equal(arrays[f"7/z/{role}"][:, 0], np.tile(kept.numbers, draws))
        assert (np.diff(arrays[f"7/z/{role}"][:, 1]) >= 0).all()
        np.testing.assert_array_equal(arrays[f"7/own/{role}"], kept.numbers)
        whole = prepared.roles[role]
        where = [int(np.flatnonzero(whole.numbers == number)[0]) for number in kept.numbers]
        np.testing.assert_array_equal(kept.x, whole.x[where])
        np.testing.assert_array_equal(kept.s, whole.s[where])
    kept = rows.data.roles[Role.AUDITOR_TRAIN].numbers
    np.testing.assert_array_equal(arrays["7/fresh"], np.tile(kept, 2))
    assert arrays["7/rate"] == 1.5
    soft = rows.soft(prepared.roles[Role.AUDITOR_TRAIN].numbers)
    np.testing.assert_array_equal(soft, kept)


def test_another_domain_has_rows_of_its_own(prepared: Prepared) -> None:
    both = replace(prepared, target=replace(prepared, fingerprint="other"))
    rows = AuditRows.of(both, MOST)
    arrays = rows.arrays(arrays_of(prepared, 1, TARGET))
    assert rows.target is not None
    assert rows.data.target is rows.target.data
    kept = rows.target.data.roles[Role.TEST].numbers
    np.testing.assert_array_equal(arrays[f"7/{TARGET}own/{Role.TEST}"], kept)
    assert not np.array_equal(kept, rows.data.roles[Role.TEST].numbers)


def test_small_tables_and_strict_audits_keep_all_rows(prepared: Prepared) -> None:
    for most in (None, 10**6):
        rows = AuditRows.of(prepared, most)
        arrays = arrays_of(prepared, 3)
        assert all(rows.arrays(arrays)[name] is array for name, array in arrays.items())
        assert rows.data.roles == prepared.roles


def test_the_choice_is_the_same_each_time(prepared: Prepared) -> None:
    one, other = (AuditRows.of(prepared, MOST).data.roles[Role.TEST].numbers for _ in range(2))
    np.testing.assert_array_equal(one, other)
