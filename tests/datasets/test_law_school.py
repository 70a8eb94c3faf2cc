"""Law school: what X and the labels are of, and the real file's facts."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from fairbench.api.dataset import Dataset
from fairbench.data.loading import load_dataset
from fairbench.errors import DataError
from fairbench_datasets.law_school import COLUMNS, LawSchool, LawSchoolUnseen
from tests.support.real_data import (
    check_prepared,
    fingerprint_elsewhere,
    group_counts,
    root_with,
    share,
    unseen_shares,
)

STUDENT: Mapping[str, Any] = {
    "decile1b": 8.0,
    "decile3": 5.0,
    "lsat": 36.5,
    "ugpa": 3.3,
    "zfygpa": 0.5,
    "zgpa": -0.1,
    "fulltime": 1.0,
    "fam_inc": 3.0,
    "male": 0.0,
    "racetxt": "1",
    "tier": "3",
    "pass_bar": "1",
}
"""Nobody."""


def write(folder: Path, *changes: Mapping[str, Any]) -> Path:
    rows = pd.DataFrame([{**STUDENT, **one} for one in changes])
    rows.to_parquet(folder / "law_school_lequy.parquet")
    return folder


def test_x_is_all_but_race_and_label() -> None:
    assert set(COLUMNS) - set(LawSchool.x_columns()) == {"racetxt", "pass_bar"}


def test_a_student_becomes_a_row(tmp_path: Path) -> None:
    other = {"racetxt": "0", "pass_bar": "0", "fulltime": 2.0, "male": 1.0}
    table = LawSchool().load(write(tmp_path, {}, other))
    assert [table.groups[code] for code in table.s] == ["white", "Black"]
    assert table.y["passed_bar"].tolist() == [1, 0]
    assert list(table.x["fulltime"]) == ["01 full time", "02 part time"]
    assert list(table.x["male"]) == ["01 female", "02 male"]
    assert table.x.loc[0, ["lsat", "ugpa", "zgpa", "tier"]].tolist() == [36.5, 3.3, -0.1, 3]


def test_unseen_tasks_are_asked_of_columns_that_are_not_in_x(tmp_path: Path) -> None:
    other = {"tier": "4", "ugpa": 3.4, "fam_inc": 4.0, "zfygpa": -0.01, "decile1b": 9.0}
    table = LawSchoolUnseen().load(write(tmp_path, {}, other))
    assert list(table.x) == ["decile3", "lsat", "zgpa", "fulltime", "male"]
    assert {task: label.tolist() for task, label in table.transfer.items()} == {
        "upper_tier": [0, 1],
        "college_above_median": [0, 1],
        "well_off": [0, 1],
        "first_year_above_mean": [1, 0],
        "first_year_top_fifth": [0, 1],
    }


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"racetxt": "2"}, "row 2: racetxt is '2', a code without a meaning"),
        ({"tier": "7"}, "row 2: tier is '7', not a whole number from 1 to 6"),
        ({"lsat": 160.0}, "row 2: lsat is 160, not a number from 10 to 48"),
    ],
)
def test_a_cell_of_another_coding_is_named(
    tmp_path: Path, changes: Mapping[str, Any], told: str
) -> None:
    with pytest.raises(DataError, match=told):
        LawSchool().load(write(tmp_path, {}, changes))


@pytest.mark.thorough
@pytest.mark.parametrize("dataset", [LawSchool, LawSchoolUnseen])
def test_facts_of_the_real_file(dataset: type[Dataset]) -> None:
    root = root_with(dataset)
    data = load_dataset(dataset, root=root)
    assert group_counts(data) == {"Black": 1_201, "white": 17_491}
    assert share(data, "passed_bar") == pytest.approx(16_856 / 18_692)
    check_prepared(data)
    assert fingerprint_elsewhere(dataset, root) == data.fingerprint


def test_the_bar_is_passed_as_often_as_in_the_description() -> None:
    data = load_dataset(LawSchool, root=root_with(LawSchool))
    s, y = (
        np.concatenate([column(rows) for rows in data.roles.values()])
        for column in (lambda rows: rows.s, lambda rows: rows.y["passed_bar"])
    )
    assert [y[s == code].mean() for code in (0, 1)] == pytest.approx([0.618, 0.921], abs=0.0005)


def test_unseen_tasks_of_the_real_file() -> None:
    data = load_dataset(LawSchoolUnseen, root=root_with(LawSchoolUnseen))
    assert unseen_shares(data) == pytest.approx(
        {
            "upper_tier": 0.5229,
            "college_above_median": 0.4222,
            "well_off": 0.5367,
            "first_year_above_mean": 0.5561,
            "first_year_top_fifth": 0.2170,
        },
        abs=0.0005,
    )
