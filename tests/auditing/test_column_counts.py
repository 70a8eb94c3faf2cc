"""Counts of s by one column: on small tables other auditors read half of what they tell."""

from __future__ import annotations

import numpy as np
import pytest

import fairbench
from fairbench.auditing.auditors.column_counts import MOST_ROWS, fit_column_counts
from fairbench.auditing.auditors.samples import MemberRows, make_member_rows
from fairbench.stats.scores import information


def labelled(rows: int, values: int, tilt: float, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """A category whose values have s of 1 with chances of .5 - tilt or .5 + tilt, and noise."""
    rng = np.random.default_rng(seed)
    value = rng.integers(0, values, rows)
    chance = 0.5 + tilt * rng.choice([-1, 1], values)
    s = (rng.random(rows) < chance[value]).astype(np.int64)
    z = np.column_stack([rng.normal(size=rows), rng.permutation(values)[value]])
    return z.astype(np.float32), s


def members(z: np.ndarray, s: np.ndarray) -> MemberRows:
    return make_member_rows(z, s, classes=2)


def test_the_column_that_tells_s_is_counted_on_all_rows() -> None:
    z, s = labelled(600, 20, 0.3, seed=0)
    rows = members(z, s)
    found = fit_column_counts(rows)
    assert found is not None
    assert found.column == 1
    assert len(found.values) == 20
    assert found.held_out.shape == (len(rows.held.labels), 2)
    unknown = found(np.full((1, 2), 99.0, np.float32))
    assert unknown[0] == pytest.approx(rows.prior, abs=1e-6)


def test_a_row_is_predicted_by_the_others() -> None:
    """Each value has three rows, of one s: the other two tell it."""
    z = np.repeat(np.arange(30.0, dtype=np.float32), 3)[:, None]
    s = np.repeat(np.arange(30) % 2, 3)
    order = np.random.default_rng(0).permutation(90)
    rows = members(z[order], s[order])
    found = fit_column_counts(rows)
    assert found is not None
    assert (found.held_out.argmax(axis=1) == rows.held.labels).all()


@pytest.mark.parametrize("rows", [300, 1000])
def test_noise_tells_nothing(rows: int) -> None:
    read = []
    for seed in range(30):
        z, s = labelled(2 * rows, 40, 0.0, seed)
        found = fit_column_counts(members(z[:rows], s[:rows]))
        assert found is not None
        read.append(information(found(z[rows:]), s[rows:]))
    assert np.mean(read) < 0.001


def test_a_small_table_is_read_better_by_it() -> None:
    z, s = labelled(1000, 20, 0.25, seed=1)
    report = fairbench.audit(z, s, seed=0)
    by = {(one.auditor, one.view): one.test_information for one in report.auditors}
    assert by["column-counts", "standardised"] > 0.08
    assert report.i > 0.08
    assert sum(auditor == "column-counts" for auditor, _ in by) == 1


def test_larger_tables_are_audited_as_before() -> None:
    z, s = labelled(2 * MOST_ROWS + 10, 20, 0.25, seed=1)
    report = fairbench.audit(z, s, seed=0)
    assert "column-counts" not in {one.auditor for one in report.auditors}
