"""Roles and preparation: nobody reports on what it fitted, and bytes are the same everywhere."""

import subprocess
import sys
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fairbench.api import Role
from fairbench.api.dataset import Table
from fairbench.data.prepare import prepare
from fairbench.data.prepared import Prepared
from fairbench.data.roles import assign_roles
from fairbench.errors import DataError
from fairbench_datasets.adults import AdultsGender
from tests.support.small_table import make_table


def prep(table: Table) -> Prepared:
    return prepare(table, AdultsGender, source="simulated", origin="test")


@settings(max_examples=20)
@given(n=st.integers(200, 1500), seed=st.integers(0, 99), groups=st.integers(2, 4))
def test_roles_are_disjoint_cover_all_rows_and_keep_their_shares(
    n: int, seed: int, groups: int
) -> None:
    table = make_table(n, seed=seed, groups=groups)
    roles = assign_roles(table)
    rows = np.concatenate(list(roles.values()))
    assert sorted(rows) == list(range(n))
    rest = n - len(roles[Role.TEST])
    assert abs(len(roles[Role.TEST]) - n / 3) <= 1
    for role, share in ((Role.ENCODER_TRAIN, 0.5), (Role.AUDITOR_TRAIN, 0.3)):
        assert abs(len(roles[role]) - share * rest) <= 1
    # Stratified: a group's share of every role is its share of the table, to a row a stratum.
    for role_rows in roles.values():
        for group in range(groups):
            expected = (table.s == group).mean() * len(role_rows)
            assert abs((table.s[role_rows] == group).sum() - expected) <= 3


def test_an_official_test_part_is_the_test_role() -> None:
    table = make_table(900)
    is_test = np.arange(900) % 4 == 0
    roles = assign_roles(replace(table, is_test=is_test))
    assert list(roles[Role.TEST]) == list(np.flatnonzero(is_test))


def test_a_group_that_cannot_be_in_all_roles_is_named() -> None:
    table = make_table(300)
    s = np.where(np.arange(300) < 2, 2, table.s)
    with pytest.raises(DataError, match=r"'rare'.*2 rows"):
        assign_roles(replace(table, s=s, groups=("g0", "g1", "rare")))


def test_too_many_groups_are_told_from_one_that_is_too_small() -> None:
    table = make_table(300)
    s = np.where(np.arange(300) < 200, np.arange(300), 200)
    days = replace(table, s=s, groups=tuple(f"day {i}" for i in range(201)))
    with pytest.raises(DataError, match=r"in role \S+ \(1 row in all\); 1 is needed") as error:
        prep(days)
    assert error.value.message.startswith("adults-gender: the group 'day ")
    assert "200 of the 201 groups are too small" in error.value.message
    assert "looks like a date, an id or an amount" in error.value.hint
    rare = replace(table, s=np.where(np.arange(300) < 2, 2, table.s), groups=("a", "b", "c"))
    with pytest.raises(DataError, match=r"'c'.*2 rows in all") as error:
        prep(rare)
    assert error.value.message.endswith("needed.")
    assert "Merge it with another group" in error.value.hint


def test_scaling_uses_encoder_train_alone() -> None:
    table = make_table(1000)
    before = prep(table)
    roles = assign_roles(table)
    spoiled = table.x.copy()
    spoiled.loc[roles[Role.TEST], "noise"] = 1e6
    after = prep(replace(table, x=spoiled))
    for role in (Role.ENCODER_TRAIN, Role.AUDITOR_TRAIN, Role.VALIDATION):
        np.testing.assert_array_equal(before.roles[role].x, after.roles[role].x)
    train = before.roles[Role.ENCODER_TRAIN].x
    np.testing.assert_allclose(train.mean(axis=0), 0, atol=1e-5)
    np.testing.assert_allclose(train.std(axis=0), 1, atol=1e-5)


def test_categories_become_sorted_codes_or_columns() -> None:
    table = make_table(400)
    coded, onehot = prep(table), prep(replace(table, onehot=True))
    assert [f.name for f in coded.info.features] == ["shifted", "noise", "colour"]
    assert coded.info.features[2].categories == ("blue", "green", "red")
    names = [f.name for f in onehot.info.features]
    assert names[2:] == ["colour=blue", "colour=green", "colour=red"]
    assert {f.source for f in onehot.info.features[2:]} == {"colour"}


def test_inputs_cannot_be_changed_by_a_plugin(prepared: Prepared) -> None:
    with pytest.raises(ValueError, match="read-only"):
        prepared.roles[Role.TEST].x[0, 0] = 1


def test_bad_columns_are_named() -> None:
    table = make_table(300)
    with pytest.raises(DataError, match="'flat' is constant"):
        prep(replace(table, x=table.x.assign(flat=1.0)))
    holes = table.x.assign(shifted=np.where(np.arange(300) == 7, np.nan, 1.0))
    with pytest.raises(DataError, match="'shifted' has no value in row 8"):
        prep(replace(table, x=pd.DataFrame(holes)))


def test_the_fingerprint_is_the_same_in_another_process() -> None:
    code = (
        "from fairbench.data.prepare import prepare;"
        "from fairbench_datasets.adults import AdultsGender;"
        "from tests.support.small_table import make_table;"
        "print(prepare(make_table(700), AdultsGender, source='simulated', origin='t').fingerprint)"
    )
    other = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert other.stdout.strip() == prep(make_table(700)).fingerprint
    assert prep(make_table(700, seed=1)).fingerprint != other.stdout.strip()


def test_a_constant_is_known_by_its_range() -> None:
    """The standard deviation of 1,000 times .1 is 1.4e-17 in double precision, and no scale."""
    table = make_table(2000)
    values = np.full(2000, 0.1)
    assert values[:1000].std() > 0
    with pytest.raises(DataError, match="'flat' is constant"):
        prep(replace(table, x=table.x.assign(flat=values)))


@pytest.mark.parametrize("unit", [1e160, 1e-170])
def test_values_that_cannot_be_scaled_are_told(unit: float) -> None:
    """Their squares overflow or vanish in double precision."""
    table = make_table(300)
    values = unit * np.random.default_rng(0).normal(size=300)
    with pytest.raises(DataError, match="values of far are too large, or too close"):
        prep(replace(table, x=table.x.assign(far=values)))


def test_small_integers_are_dealt_as_large_ones() -> None:
    """18 groups and 20 labels make more strata than a byte counts."""
    table = make_table(8000, groups=18)
    labels = np.random.default_rng(1).integers(0, 20, 8000)
    wide = replace(table, y={"task": labels})
    small = replace(wide, s=wide.s.astype(np.uint8), y={"task": labels.astype(np.uint8)})
    for role, rows in assign_roles(wide).items():
        np.testing.assert_array_equal(rows, assign_roles(small)[role])
