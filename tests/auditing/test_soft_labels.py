"""Soft labels: an auditor that learns P(s | x) reads what one that learns s reads, or more."""

from __future__ import annotations

import numpy as np
import pytest

from fairbench.api import AUDIT_ROLES, Floats, Ints, Role
from fairbench.auditing.auditors.samples import make_member_rows
from fairbench.auditing.auditors.simple import fit_counting
from fairbench.auditing.auditors.trees import Boosting, fit_trees
from fairbench.auditing.config import AuditConfig, Member
from fairbench.auditing.ensemble import audit
from fairbench.auditing.sample import AuditSample
from fairbench.auditing.soft_labels import estimate, soft_labels
from fairbench.data.prepared import Prepared

TREES = AuditConfig(members=(Member.BOOSTED_TREES, Member.SOFT_TREES), interactions=False)


def draw(n: int, seed: int) -> tuple[Floats, Ints]:
    """A weak signal: x_0 moves the odds of s a little."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, 6)).astype(np.float32)
    return x, (rng.random(n) < 1 / (1 + np.exp(-0.5 * x[:, 0]))).astype(np.int64)


def figures(soft: Floats | None, seed: int) -> dict[str, float]:
    rows = {role: draw(2000, 10 * seed + i) for i, role in enumerate(AUDIT_ROLES)}
    z = {role: x for role, (x, _) in rows.items()}
    s = {role: labels for role, (_, labels) in rows.items()}
    found = audit(AuditSample(z, s, 2, soft=soft), config=TREES, seed=0)
    return {r.auditor: r.test_information for r in found.results if r.view == "standardised"}


def test_true_soft_labels_read_more_of_a_weak_signal_than_hard_ones() -> None:
    gains = []
    for seed in range(4):
        x, _ = draw(2000, 10 * seed)
        p = 1 / (1 + np.exp(-0.5 * x[:, 0]))
        found = figures(np.column_stack([1 - p, p]).astype(np.float32), seed)
        gains.append(found["soft-trees"] - found["boosted-trees"])
    assert np.mean(gains) > 0.002


def test_poor_soft_labels_never_read_more() -> None:
    wrong = np.random.default_rng(0).dirichlet([1, 1], 2000).astype(np.float32)
    assert figures(wrong, 0)["soft-trees"] < 0.002


def test_without_soft_labels_no_member_uses_them() -> None:
    assert "soft-trees" not in figures(None, 0)


def test_an_estimate_has_the_odds_of_the_law() -> None:
    x, s = draw(6000, 1)
    rows, _ = draw(500, 2)
    p = estimate(x, s, rows, groups=2)
    assert p.sum(axis=1) == pytest.approx(np.ones(500), abs=1e-5)
    assert np.abs(p[:, 1] - 1 / (1 + np.exp(-0.5 * rows[:, 0]))).mean() < 0.04


def test_they_are_of_the_auditor_training_set(prepared: Prepared) -> None:
    soft = soft_labels(prepared)
    assert soft is not None
    assert soft.shape == (len(prepared.roles[Role.AUDITOR_TRAIN].s), 2)


def test_a_cell_is_shrunk_towards_the_mean_of_its_soft_labels() -> None:
    cells = np.repeat(np.arange(400), 3)
    rng = np.random.default_rng(0)
    p = rng.random(400)[cells]
    labels = (rng.random(1200) < p).astype(np.int64)
    soft = np.column_stack([1 - p, p]).astype(np.float32)
    rows = make_member_rows(cells[:, None].astype(np.float32), labels, classes=2, seed=0, soft=soft)
    z = np.arange(400, dtype=np.float32)[:, None]
    truth = p[::3]
    by_soft = fit_counting(rows, soft=True)(z)[:, 1]
    by_count = fit_counting(rows)(z)[:, 1]
    assert np.abs(by_soft - truth).mean() < 0.7 * np.abs(by_count - truth).mean()


@pytest.mark.thorough
@pytest.mark.parametrize("columns", [3, 4])
def test_an_estimate_finds_a_parity_of_columns(columns: int) -> None:
    """No single column tells of s, so trees alone find nothing."""
    rng = np.random.default_rng(0)
    x = np.sign(rng.normal(size=(6000, 6))).astype(np.float32)
    s = ((x[:, :columns] > 0).sum(axis=1) % 2).astype(np.int64)
    p = estimate(x[:4000], s[:4000], x[4000:], groups=2)
    assert p[np.arange(2000), s[4000:]].mean() > 0.95


@pytest.mark.thorough
def test_on_a_small_table_they_are_better_than_trees_alone() -> None:
    """Trees and MLPs of five folds together: most of what one tree model lacks is variance."""
    rng = np.random.default_rng(3)
    weights = rng.normal(size=20)

    def sample(n: int) -> tuple[Floats, Ints, Floats]:
        x = rng.normal(size=(n, 20)).astype(np.float32)
        p = 1 / (1 + np.exp(-0.5 * x @ weights))
        return x, (rng.random(n) < p).astype(np.int64), p

    x, s, _ = sample(1500)
    rows, _, truth = sample(4000)
    trees = fit_trees(make_member_rows(x, s, classes=2, seed=0), Boosting(200, 10, seed=0))
    together = np.abs(estimate(x, s, rows, groups=2)[:, 1] - truth).mean()
    assert together < 0.8 * np.abs(trees(rows)[:, 1] - truth).mean()


@pytest.mark.parametrize(("rows", "groups"), [(30, 2), (40, 18)])
def test_groups_of_a_single_row_are_no_error(rows: int, groups: int) -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(rows, 3)).astype(np.float32)
    s = np.concatenate([np.arange(groups), np.zeros(rows - groups, np.int64)])
    p = estimate(x, s, x, groups=groups)
    assert p.sum(axis=1) == pytest.approx(np.ones(rows), abs=1e-5)
