"""The family on arrays of all kinds: odd scales and types, rare groups, small tables, codes."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from fairbench.api import AUDIT_ROLES, Floats, Ints, Role
from fairbench.auditing.auditors.samples import deduplicate_rows, make_member_rows
from fairbench.auditing.auditors.simple import fit_counting
from fairbench.auditing.auditors.trees import Boosting, fit_trees
from fairbench.auditing.config import PRESETS, AuditConfig, AuditPreset
from fairbench.auditing.ensemble import EnsembleAudit, audit, paper_audit
from fairbench.auditing.sample import AuditSample

CONFIG = AuditConfig(mlps=2, strict_epochs=4, trees=40)
ROWS = {Role.AUDITOR_TRAIN: 1200, Role.VALIDATION: 600, Role.TEST: 1200}
FLIPPED = 0.368
"""I of a fair bit of which a tenth is flipped, nats."""

Make = Callable[[np.random.Generator, Ints], Floats]


def flipped(rng: np.random.Generator, s: Ints) -> Ints:
    return s ^ (rng.random(len(s)) < 0.1)


def told(rng: np.random.Generator, s: Ints) -> Floats:
    """Noise beside a column that tells s, a tenth flipped."""
    return np.column_stack([rng.normal(size=len(s)), flipped(rng, s)])


def one_far_out(rng: np.random.Generator, s: Ints) -> Floats:
    z = told(rng, s)
    z[0] = 1e30
    return z


ARRAYS: dict[str, tuple[Make, float]] = {
    "scaled by 1e-6": (lambda rng, s: told(rng, s) * 1e-6, FLIPPED),
    "scaled by 1e30": (lambda rng, s: told(rng, s) * 1e30, FLIPPED),
    "one row far out": (one_far_out, FLIPPED),
    "a large offset": (lambda rng, s: told(rng, s) + 1000, FLIPPED),
    "constant": (lambda rng, s: np.ones((len(s), 3)), 0.0),
    "one column": (lambda rng, s: told(rng, s)[:, 1:], FLIPPED),
    "uint8": (lambda rng, s: (200 * told(rng, s)[:, 1:]).astype(np.uint8), FLIPPED),
    "integers": (lambda rng, s: np.rint(9e5 * told(rng, s)).astype(np.int64), FLIPPED),
    "booleans": (lambda rng, s: told(rng, s) > 0.5, FLIPPED),
    "columns twice": (lambda rng, s: np.tile(told(rng, s), (1, 4)), FLIPPED),
}


def drawn(make: Make) -> tuple[dict[Role, Floats], dict[Role, Ints]]:
    z, labels = {}, {}
    for i, role in enumerate(AUDIT_ROLES):
        rng = np.random.default_rng(i)
        labels[role] = rng.integers(0, 2, ROWS[role])
        made = make(rng, labels[role])
        z[role] = made.astype(np.float32) if made.dtype == np.float64 else made
    return z, labels


@pytest.mark.parametrize("name", ARRAYS)
def test_arrays_of_all_kinds_are_read(name: str) -> None:
    make, truth = ARRAYS[name]
    z, s = drawn(make)
    found = audit(AuditSample(z, s, 2), config=CONFIG, seed=0)
    assert found.chosen.test_information == pytest.approx(truth, abs=0.05)
    assert all(np.isfinite(r.test_information) for r in found.results)
    for prediction in paper_audit(AuditSample(z, s, 2), config=replace(CONFIG, epochs=1), seed=0):
        assert np.isfinite(prediction.probabilities).all()


@pytest.mark.parametrize("scale", [1.0, 1e-6, 0.3])
def test_no_scale_hides_the_bits_of_a_code(scale: float) -> None:
    def code(rng: np.random.Generator, s: Ints) -> Floats:
        return (2 * rng.integers(0, 50, len(s)) + flipped(rng, s))[:, None] * scale

    z, s = drawn(code)
    found = audit(AuditSample(z, s, 2), config=CONFIG, seed=0)
    assert found.chosen.test_information == pytest.approx(FLIPPED, abs=0.05)


def worst(found: EnsembleAudit) -> float:
    return min(r.test_information for r in found.results)


@pytest.mark.parametrize("rows", [40, 300])
def test_small_tables_do_not_read_below_zero_by_overfitting(rows: int) -> None:
    readings = []
    for seed in range(3):
        rng = np.random.default_rng(seed)
        z = {r: rng.normal(size=(n, 20)).astype(np.float32) for r, n in _small(rows).items()}
        s = {r: rng.integers(0, 2, n) for r, n in _small(rows).items()}
        readings.append(
            audit(AuditSample(z, s, 2), config=CONFIG, seed=seed).chosen.test_information
        )
    assert min(readings) > -0.1
    assert abs(np.mean(readings)) < 0.05


def _small(rows: int) -> dict[Role, int]:
    return {Role.AUDITOR_TRAIN: rows, Role.VALIDATION: rows, Role.TEST: 2000}


@pytest.mark.parametrize("preset", list(AuditPreset))
@pytest.mark.parametrize("rare", ["one member", "two members", "absent from train", "one class"])
def test_rare_groups_raise_nothing(rare: str, preset: AuditPreset) -> None:
    z, s = drawn(told)
    s = {role: labels.copy() for role, labels in s.items()}
    s[Role.TEST][:3] = 2
    s[Role.VALIDATION][:2] = 2
    members = {"one member": 1, "two members": 2, "absent from train": 0, "one class": 0}[rare]
    s[Role.AUDITOR_TRAIN][:members] = 2
    if rare == "one class":
        s[Role.AUDITOR_TRAIN][:] = 0
    config = replace(PRESETS[preset], mlps=1, strict_epochs=3, trees=20)
    found = audit(AuditSample(z, s, 3), config=config, seed=0)
    assert np.isfinite(worst(found))
    assert found.strict.test.probabilities.shape == (ROWS[Role.TEST], 3)
    np.testing.assert_allclose(found.strict.test.probabilities.sum(axis=1), 1, atol=1e-5)
    if rare != "one class":
        assert found.chosen.test_information > 0.25


def test_a_useless_representation_falls_back_on_the_prior() -> None:
    z, s = drawn(lambda rng, s: rng.normal(size=(len(s), 5)))
    found = audit(AuditSample(z, s, 2), config=CONFIG, seed=0)
    assert abs(found.chosen.test_information) < 0.005
    # Calibration keeps every member from reading far below zero.
    assert worst(found) > -0.03


def test_quick_is_one_mlp_and_trees() -> None:
    z, s = drawn(told)
    found = audit(AuditSample(z, s, 2), config=PRESETS[AuditPreset.QUICK], seed=0)
    assert {r.auditor for r in found.results} == {"prior", "mlp", "boosted-trees"}
    assert found.chosen.test_information == pytest.approx(FLIPPED, abs=0.05)


def test_equal_rows_are_grouped_and_counted() -> None:
    rng = np.random.default_rng(0)
    z = rng.integers(0, 3, (900, 2)).astype(np.float32)
    labels = rng.integers(0, 2, 900)
    rows = make_member_rows(z, labels, classes=2, seed=0)
    assert len(rows.fit.labels) <= 18
    assert rows.fit.total + rows.held.total == 900
    both = np.concatenate([rows.fit.repeated(), rows.held.repeated()])
    assert len(both) == 900
    counted = np.zeros((3, 3, 2))
    for part in (rows.fit, rows.held):
        np.add.at(counted, (*part.x.astype(int).T, part.labels), part.weights)
    expected = np.zeros((3, 3, 2))
    np.add.at(expected, (*z.astype(int).T, labels), 1)
    np.testing.assert_array_equal(counted, expected)
    found = deduplicate_rows(z)
    assert len(found.rows) == 9
    np.testing.assert_array_equal(found.rows[found.inverse], z)


def test_all_draws_of_a_person_are_on_one_side() -> None:
    people = np.arange(500)
    z = np.tile(people, 3).astype(np.float32)[:, None]
    rows = make_member_rows(z, np.zeros(1500, np.int64), classes=2, seed=0, draws=3)
    fit, held = set(rows.fit.x[:, 0]), set(rows.held.x[:, 0])
    assert not fit & held
    assert len(fit | held) == 500


def test_counting_shrinks_to_the_prior_and_backs_off_to_it() -> None:
    rng = np.random.default_rng(0)
    cell = rng.integers(0, 4, 4000)
    labels = (rng.random(4000) < np.array([0.1, 0.4, 0.6, 0.9])[cell]).astype(np.int64)
    rows = make_member_rows(cell[:, None].astype(np.float32), labels, classes=2, seed=0)
    classify = fit_counting(rows)
    p = classify(np.array([[0], [1], [2], [3], [7]], np.float32))
    np.testing.assert_allclose(p[:4, 1], [0.1, 0.4, 0.6, 0.9], atol=0.06)
    np.testing.assert_allclose(p[4], rows.prior, atol=1e-6)


def test_trees_go_back_to_their_best_round() -> None:
    """Noise: the best round is none at all, and the answer the prior."""
    rng = np.random.default_rng(3)
    z, labels = rng.normal(size=(150, 10)).astype(np.float32), rng.integers(0, 2, 150)
    rows = make_member_rows(z, labels, classes=2, seed=0)
    classify = fit_trees(rows, Boosting(100, 9, seed=0))
    fresh = rng.normal(size=(3000, 10)).astype(np.float32)
    p = classify(fresh)[np.arange(3000), rng.integers(0, 2, 3000)]
    assert -np.log(p).mean() < np.log(2) + 0.04
