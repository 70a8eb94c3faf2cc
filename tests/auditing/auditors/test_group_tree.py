"""Trees of more than two groups read what they read of any coarser labels."""

from __future__ import annotations

import numpy as np
import pytest

from fairbench.api import Floats, Ints
from fairbench.api.types import AUDIT_ROLES
from fairbench.auditing.auditors.group_tree import (
    GroupSplit,
    find_splits,
    fit_split_trees,
    groups_of,
)
from fairbench.auditing.auditors.samples import MemberRows, make_member_rows
from fairbench.auditing.auditors.trees import Boosting
from fairbench.auditing.config import PRESETS, AuditPreset
from fairbench.auditing.ensemble import audit
from fairbench.auditing.members import fit_boosted_trees
from fairbench.auditing.sample import AuditSample
from fairbench.auditing.validation.suite import CHANNELS
from fairbench.stats.scores import information

SHARES = np.array([0.02, 0.02, 0.02, 0.06, 0.28, 0.03, 0.03, 0.03, 0.03, 0.48])
"""Ten groups, the first five of one sex: two large ones and eight rare ones."""
FIRST = np.arange(10) < 5


def crossed(n: int, seed: int) -> tuple[Floats, Ints]:
    """z whose two columns tell sex by their exclusive or, and nothing else of the group."""
    rng = np.random.default_rng(seed)
    s = rng.choice(10, n, p=SHARES)
    right = np.where(rng.random(n) < 0.85, FIRST[s], ~FIRST[s])
    one = rng.random(n) < 0.5
    signs = np.column_stack([one, one ^ right]) * 2.0 - 1
    z = np.column_stack([signs * rng.uniform(0.2, 2, (n, 2)), rng.normal(size=(n, 3))])
    return z.astype(np.float32), s.astype(np.int64)


def rows(n: int = 4000) -> MemberRows:
    z, s = crossed(n, 0)
    return make_member_rows(z, s, classes=10, seed=0)


def test_what_z_tells_is_told_apart_first() -> None:
    splits = find_splits(rows(), Boosting(60, 9, seed=0))
    assert isinstance(splits, GroupSplit)
    assert groups_of(splits) == list(range(10))
    large = {4, 9}
    assert len(large & {*groups_of(splits.one)}) == 1
    sides = FIRST[groups_of(splits.one)]
    assert max(sides.mean(), 1 - sides.mean()) >= 0.8


def test_many_groups_are_split_where_z_differs_most() -> None:
    """Forty groups in two clouds: the climb starts from some groups alone, and finds the clouds."""
    rng = np.random.default_rng(0)
    s = rng.integers(0, 40, 4000)
    z = np.column_stack([8.0 * (s % 2) + rng.normal(size=4000), rng.normal(size=4000)])
    members = make_member_rows(z.astype(np.float32), s, classes=40, seed=0)
    splits = find_splits(members, Boosting(20, 9, seed=0))
    assert isinstance(splits, GroupSplit)
    assert groups_of(splits.one) in ([*range(0, 40, 2)], [*range(1, 40, 2)])


def test_probabilities_are_of_all_groups_and_sum_to_one() -> None:
    data = rows()
    splits = find_splits(data, Boosting(40, 9, seed=0))
    classify = fit_split_trees(data, splits, Boosting(40, 9, seed=0))
    p = classify(crossed(500, 1)[0])
    np.testing.assert_allclose(p.sum(axis=1), 1, atol=1e-5)
    assert (p > 0).all()


def test_a_group_without_rows_keeps_its_share() -> None:
    z, s = crossed(3000, 0)
    seen = s != 7
    data = make_member_rows(z[seen], s[seen], classes=10, seed=0)
    splits = find_splits(data, Boosting(20, 9, seed=0))
    p = fit_split_trees(data, splits, Boosting(20, 9, seed=0))(z)
    np.testing.assert_allclose(p.sum(axis=1), 1, atol=1e-5)
    assert (p[:, 7] > 0).all()
    assert p[:, 7].mean() < 0.01


def test_a_code_of_few_rows_is_told_as_its_counts_tell() -> None:
    """Equal rows are grouped: eight codes of three groups are some twenty rows, each of many."""
    channel = CHANNELS["few-codes"]
    z, s, _ = channel.rows(0, 4000)
    data = make_member_rows(z, s, classes=3, seed=0)
    assert len(data.held.labels) < 30
    splits = find_splits(data, Boosting(100, 9, seed=0))
    classify = fit_split_trees(data, splits, Boosting(100, 9, seed=0))
    new, labels, _ = channel.rows(1, 20_000)
    assert information(classify(new), labels) > channel.truth() - 0.03


@pytest.mark.slow
def test_more_groups_do_not_hide_what_z_tells_of_two() -> None:
    """I(Z;S) is at least I(Z;f(S)): here they are equal, H(sex) - H(.15) with equal shares."""
    parts = dict(
        zip(AUDIT_ROLES, (crossed(n, i) for i, n in enumerate((6000, 3000, 6000))), strict=True)
    )
    z = {role: part[0] for role, part in parts.items()}
    s = {role: part[1] for role, part in parts.items()}
    found = {
        classes: audit(
            AuditSample(
                z,
                {
                    role: labels if classes == 10 else FIRST[labels].astype(np.int64)
                    for role, labels in s.items()
                },
                classes,
            ),
            config=PRESETS[AuditPreset.STRICT],
            seed=0,
        ).chosen.test_information
        for classes in (2, 10)
    }
    assert found[2] > 0.2
    assert found[10] > found[2] - 0.02


@pytest.mark.thorough
def test_the_trees_that_describe_data_read_many_groups_too() -> None:
    """What ``data describe`` prints of X, by boosted trees alone."""
    (z, s), (new, labels) = crossed(6000, 0), crossed(6000, 1)
    classify = fit_boosted_trees(z, s, classes=10, config=PRESETS[AuditPreset.STRICT], seed=0)
    two = fit_boosted_trees(
        z, FIRST[s].astype(np.int64), classes=2, config=PRESETS[AuditPreset.STRICT], seed=0
    )
    of_two = information(two(new), FIRST[labels].astype(np.int64))
    assert of_two > 0.2
    assert information(classify(new), labels) > of_two - 0.02
