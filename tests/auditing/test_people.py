"""Audits of people with several rows: rows of one person are not independent of each other."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import fairbench
from fairbench.api import Role
from fairbench.auditing.array_checks import CheckedArrays, check_arrays
from fairbench.auditing.certificate import certify
from fairbench.errors import DataError
from tests.conftest import Call

PEOPLE, VISITS = 400, 20
WHO = np.repeat(np.arange(PEOPLE), VISITS)


def checked(z: np.ndarray, s: np.ndarray, **given: np.ndarray | None) -> CheckedArrays:
    arrays = {"y": None, "x": None, "roles": None, "people": None} | given
    return check_arrays(z, s, **arrays, seed=1)


def test_a_person_has_one_role_and_one_row_that_is_tested() -> None:
    rng = np.random.default_rng(0)
    s = rng.integers(0, 2, PEOPLE)[WHO]
    order = rng.permutation(len(WHO))
    found = checked(rng.normal(size=(len(WHO), 2)), s[order], people=WHO[order])
    of_role = {role: WHO[order][rows] for role, rows in found.rows.items()}
    assert len(of_role[Role.AUDITOR_TRAIN]) == PEOPLE // 2 * VISITS  # all rows of half the people
    for role, people in ((Role.VALIDATION, PEOPLE // 5), (Role.TEST, PEOPLE * 3 // 10)):
        assert len(of_role[role]) == len(np.unique(of_role[role])) == people
    assert len(np.unique(np.concatenate(list(of_role.values())))) == PEOPLE
    assert found.people == PEOPLE * 3 // 10


def test_a_certificate_errs_as_seldom_as_it_says_only_where_people_are_known() -> None:
    """A code of one bit that is equal in all rows of a person; the gap of the groups is .2."""
    rng, draws = np.random.default_rng(0), 200
    wrong = {True: 0, False: 0}
    for _ in range(draws):
        s = rng.integers(0, 2, PEOPLE)
        z = (rng.random(PEOPLE) < np.array([0.4, 0.6])[s]).astype(float)
        for known in wrong:
            found = checked(z[WHO][:, None], s[WHO], people=WHO if known else None)
            train, test = (found.rows[role] for role in (Role.AUDITOR_TRAIN, Role.TEST))
            bound = certify(found.z[train], found.z[test], found.s[test], groups=2)
            assert bound is not None
            wrong[known] += bound.gap < 0.2
    assert wrong[True] <= 0.05 * draws
    assert wrong[False] > 0.2 * draws


def test_own_roles_must_keep_people_together() -> None:
    s = np.random.default_rng(0).integers(0, 2, PEOPLE)[WHO]
    roles = np.tile(["train", "validation", "test", "train"], len(WHO) // 4)
    z = np.zeros((len(WHO), 1))
    with pytest.raises(DataError, match="400 people have rows in the roles auditor-train and"):
        checked(z, s, roles=roles, people=WHO)
    together = np.repeat(["train", "validation", "test", "encoder-train"], len(WHO) // 4)
    found = checked(z, s, roles=together, people=WHO)
    assert [len(rows) for rows in found.rows.values()] == [len(WHO) // 4, 100, 100]


def test_noise_that_is_equal_in_all_rows_of_a_person_tells_nothing() -> None:
    """One column that varies by visit keeps equal rows from being noticed."""
    rng = np.random.default_rng(0)
    who = np.repeat(np.arange(1200), 3)
    z = np.column_stack([rng.normal(size=(1200, 2))[who], rng.normal(size=len(who))])
    s = rng.integers(0, 2, 1200)[who]
    recognised = fairbench.audit(z, s, quick=True, seed=0)
    assert recognised.i_low > 0
    assert recognised.repeated is None
    known = fairbench.audit(z, s, people=[f"p{one}" for one in who], quick=True, seed=0)
    assert known.i_low < 0 < known.i_high
    assert known.people == known.rows["test"] == 360
    assert "one row of each person, drawn by chance, validates or tests" in " ".join(
        str(known).split()
    )


def test_people_are_a_column_of_a_file(tmp_path: Path, fairbench_here: Call) -> None:
    rng = np.random.default_rng(0)
    who = np.repeat(np.arange(300), 2)
    frame = pd.DataFrame({"a": rng.normal(size=600), "sex": rng.integers(0, 2, 300)[who]})
    frame.assign(id=who).to_csv(tmp_path / "visits.csv", index=False)
    file = tmp_path / "visits.csv"
    words = ["--z", f"{file}:a", "--s", f"{file}:sex", "--quick", "--seed", "0", "--json"]
    done = fairbench_here("audit", *words, "--people", f"{file}:id")
    assert '"people": 90' in done.stdout
    frame.assign(id=np.where(who == 7, np.nan, who)).to_csv(file, index=False)
    wrong = fairbench_here("audit", *words, "--people", f"{file}:id")
    assert wrong.returncode == 2
    assert "people has no value in row 15" in wrong.stderr
