"""Folds: disjoint test sets that cover the table, and an official split that stays as it was."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fairbench.api import AUDIT_ROLES, Role
from fairbench.data.loading import load_folds
from fairbench.data.prepare import prepare
from fairbench.data.roles import assign_roles
from fairbench.data.splits import OFFICIAL, Split, rotating
from fairbench.errors import DataError
from fairbench_datasets.adults import AdultsGender
from tests.support.small_table import make_table
from tests.support.toy.toy_plugin import Toy


@settings(max_examples=15)
@given(n=st.integers(200, 1200), seed=st.integers(0, 99), folds=st.integers(2, 7))
def test_test_sets_are_disjoint_and_cover_all_rows(n: int, seed: int, folds: int) -> None:
    table = make_table(n, seed=seed)
    dealt = [assign_roles(table, split) for split in rotating(folds)]
    tests = [roles[Role.TEST] for roles in dealt]
    assert sorted(np.concatenate(tests)) == list(range(n))
    assert max(map(len, tests)) - min(map(len, tests)) <= 1
    for roles in dealt:
        assert sorted(np.concatenate(list(roles.values()))) == list(range(n))
        # Stratified: a group's share of the test set is its share of the table, to a row a stratum.
        share = table.s[roles[Role.TEST]].mean() - table.s.mean()
        assert abs(share) <= 4 / len(roles[Role.TEST])


def test_folds_use_the_rows_of_an_official_test_set_too() -> None:
    table = make_table(600)
    marked = replace(table, is_test=np.arange(600) < 200)
    assert assign_roles(marked)[Role.TEST].max() == 199
    folds = [assign_roles(marked, split) for split in rotating(5)]
    tests = [roles[Role.TEST] for roles in folds]
    assert sorted(np.concatenate(tests)) == list(range(600))


def test_the_rows_of_a_split_keep_the_numbers_that_they_have_in_the_table() -> None:
    table = make_table(500)
    data = prepare(table, AdultsGender, source="simulated", origin="t", split=Split(2, 5))
    for role, rows in data.roles.items():
        assert (table.s[rows.numbers] == rows.s).all(), role
    assert data.split.name == "fold 2 of 5"


def test_every_split_has_a_fingerprint_of_its_own() -> None:
    table = make_table(500)
    made = [
        prepare(table, AdultsGender, source="simulated", origin="t", split=split)
        for split in (OFFICIAL, *rotating(3), *rotating(4))
    ]
    assert len({data.fingerprint for data in made}) == 8


def test_the_official_split_joins_where_the_table_has_a_test_set(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert [data.split.name for data in load_folds(Toy, 3)] == [
        *("fold 1 of 3", "fold 2 of 3", "fold 3 of 3")
    ]
    drawn = Toy().simulate()
    marked = replace(drawn, is_test=np.arange(len(drawn.s)) % 3 == 0)
    monkeypatch.setattr(Toy, "simulate", lambda self: marked)
    assert [data.split.name for data in load_folds(Toy, 2)][-1] == "official"


def test_names_are_read_back() -> None:
    for split in (OFFICIAL, *rotating(12)):
        assert Split.parse(split.name) == split
    for wrong in (
        *("fold 0 of 5", "fold 6 of 5", "fold 1 of 99", "first", ""),
        *("fold 1 of 1", "fold 01 of 5", "fold 1 of 05", "fold \u0661 of 5", "fold 1 of 5\n"),
    ):
        with pytest.raises(DataError, match="no split"):
            Split.parse(wrong)


def test_audits_of_large_tables_have_some_of_the_rows_and_methods_all_of_theirs() -> None:
    table = make_table(2000)
    for split in (OFFICIAL, *rotating(5)):
        whole, few = assign_roles(table, split), assign_roles(table, split, audit_rows=150)
        np.testing.assert_array_equal(few[Role.ENCODER_TRAIN], whole[Role.ENCODER_TRAIN])
        for role in AUDIT_ROLES:
            assert len(few[role]) == 150
            assert set(few[role]) < set(whole[role])
            # Groups keep their shares, to a row a stratum.
            share = table.s[few[role]].mean() - table.s[whole[role]].mean()
            assert abs(share) <= 4 / 150
    tests = [assign_roles(table, split, audit_rows=150)[Role.TEST] for split in rotating(5)]
    assert len(set(np.concatenate(tests).tolist())) == 5 * 150  # still disjoint


def test_tables_with_fewer_rows_are_as_they_were() -> None:
    table = make_table(600)
    whole, same = assign_roles(table), assign_roles(table, audit_rows=600)
    for role, rows in whole.items():
        np.testing.assert_array_equal(rows, same[role])


def test_a_dataset_says_how_many_rows_its_audits_have() -> None:
    class Large(AdultsGender):
        audit_rows = 50

    data = prepare(make_table(500), Large, source="simulated", origin="t")
    assert [len(data.roles[role].s) for role in AUDIT_ROLES] == [50, 50, 50]
    assert len(data.roles[Role.ENCODER_TRAIN].s) > 50
