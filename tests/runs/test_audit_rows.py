"""Audits of large tables look at so many rows of each role, the same ones for every point."""

from dataclasses import replace

import numpy as np
import pytest

from fairbench.api import AUDIT_ROLES, Role, Unit
from fairbench.auditing.config import PRESETS, AuditPreset
from fairbench.data.prepared import Prepared
from fairbench.metrics.points import Distortion, Information
from fairbench.registry import load_registry
from fairbench.runs.audit_job import AuditJob
from fairbench.runs.audit_rows import AuditRows, is_larger
from fairbench.runs.declared import declared
from fairbench.runs.fit_job import FitJob
from fairbench.runs.shared_labels import SharedLabels

MAX_ROWS = 150


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
    rows = AuditRows.of(prepared, MAX_ROWS)
    arrays = rows.arrays(arrays_of(prepared, draws))
    for role in AUDIT_ROLES:
        kept = rows.data.roles[role]
        assert len(kept.s) == min(MAX_ROWS, len(prepared.roles[role].s))
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
    rows = AuditRows.of(both, MAX_ROWS)
    arrays = rows.arrays(arrays_of(prepared, 1, "target/"))
    assert rows.target is not None
    assert rows.data.target is rows.target.data
    kept = rows.target.data.roles[Role.TEST].numbers
    np.testing.assert_array_equal(arrays[f"7/target/own/{Role.TEST}"], kept)
    assert not np.array_equal(kept, rows.data.roles[Role.TEST].numbers)


def test_small_tables_and_strict_audits_keep_all_rows(prepared: Prepared) -> None:
    for most in (None, 10**6):
        rows = AuditRows.of(prepared, most)
        arrays = arrays_of(prepared, 3)
        assert all(rows.arrays(arrays)[name] is array for name, array in arrays.items())
        assert rows.data.roles == prepared.roles


def test_the_choice_is_the_same_each_time(prepared: Prepared) -> None:
    one, other = (AuditRows.of(prepared, MAX_ROWS).data.roles[Role.TEST].numbers for _ in range(2))
    np.testing.assert_array_equal(one, other)


def fitted(data: Prepared, rows: int | None) -> dict[str, np.ndarray]:
    method = load_registry().methods["pca"]
    fit = FitJob(
        id="1",
        title="",
        estimate=1.0,
        point_estimate=1.0,
        method=method,
        declared=declared(method),
        params=method.Params(),
        data=data,
        keys=("k",),
        units=(Unit(0, None),),
        iterations=1,
        device="cpu",
        curve_points=1,
        rows=rows,
    )
    (result,) = fit.run(lambda share, note: None)
    assert result.error is None
    return dict(result.arrays)


def measured(
    data: Prepared, arrays: dict[str, np.ndarray], audit: AuditPreset, rows: int | None
) -> dict:
    config = replace(PRESETS[audit], rows=rows, mlps=1, epochs=1, strict_epochs=1, trees=5)
    job = AuditJob(
        "1", "", 1.0, data.audited(), ("p",), 0, (0,), arrays, config, (Distortion, Information),
        soft=SharedLabels(data),
    )  # fmt: skip
    (one,) = job.run(lambda share, note: None)
    return dict(one.values)


def test_rows_that_no_audit_looks_at_are_not_encoded(prepared: Prepared) -> None:
    all_rows, some = fitted(prepared, None), fitted(prepared, MAX_ROWS)
    expected = AuditRows.of(prepared, MAX_ROWS)
    for name, array in expected.arrays(all_rows).items():
        if "/z/" in name:
            np.testing.assert_allclose(some[name], array, rtol=1e-5, atol=1e-5)
    kept = AuditRows.encoded(prepared, some).data.roles
    for role in AUDIT_ROLES:
        np.testing.assert_array_equal(kept[role].numbers, expected.data.roles[role].numbers)
    assert AuditRows.encoded(prepared, all_rows).data.roles == prepared.roles
    assert is_larger(prepared, MAX_ROWS)
    assert not is_larger(prepared, 10**6)


@pytest.mark.thorough
def test_an_audit_of_them_is_that_of_the_same_rows_of_all(prepared: Prepared) -> None:
    all_rows, some = fitted(prepared, None), fitted(prepared, MAX_ROWS)
    of_all = measured(prepared, all_rows, AuditPreset.QUICK, MAX_ROWS)
    of_some = measured(prepared, some, AuditPreset.QUICK, MAX_ROWS)
    assert of_some == pytest.approx(of_all, abs=1e-4)
    # Later, by an audit without a limit: what is there is what it sees.
    assert measured(prepared, some, AuditPreset.STRICT, None) == pytest.approx(
        measured(prepared, all_rows, AuditPreset.STRICT, MAX_ROWS), abs=1e-4
    )
