"""Credit card default: what X and the labels are of, undocumented codes; the real file's facts."""

from collections.abc import Mapping
from pathlib import Path

import pandas as pd
import pytest

from fairbench.api.dataset import Dataset
from fairbench.data.loading import load_dataset
from fairbench.errors import DataError
from fairbench_datasets.credit_default import COLUMNS, CreditDefault, CreditDefaultUnseen
from tests.support.real_data import (
    check_prepared,
    fingerprint_elsewhere,
    group_counts,
    root_with,
    share,
    unseen_shares,
)

HOLDER = dict.fromkeys(COLUMNS, 1) | {"LIMIT_BAL": 10_000, "AGE": 39}
"""Nobody."""


def write(folder: Path, *changes: Mapping[str, int]) -> Path:
    rows = pd.DataFrame([HOLDER | dict(one) for one in changes])
    rows.to_parquet(folder / "creditcard.parquet")
    return folder


def test_x_is_all_but_number_age_and_label() -> None:
    left_out = {"AGE", "default payment next month"}
    assert set(COLUMNS) - set(CreditDefault.x_columns()) == left_out
    assert "ID" not in COLUMNS


def test_undocumented_codes_are_one_category_and_statuses_stay_numbers(tmp_path: Path) -> None:
    codes = [{"EDUCATION": code} for code in (1, 0, 5, 6)]
    strange = {"MARRIAGE": 0, "PAY_0": -2, "PAY_2": 0}
    x = CreditDefault().load(write(tmp_path, *codes, strange)).x
    assert list(x["EDUCATION"]) == ["01 graduate school", *["05 undocumented"] * 3, x.iat[0, 2]]
    assert list(x["MARRIAGE"]) == ["01 married"] * 4 + ["04 undocumented"]
    assert (x["PAY_0"].iloc[-1], x["PAY_2"].iloc[-1]) == (-2, 0)


def test_groups_and_labels(tmp_path: Path) -> None:
    table = CreditDefault().load(write(tmp_path, {}, {"AGE": 40, "default payment next month": 0}))
    assert [table.groups[code] for code in table.s] == ["below 40", "40 or more"]
    assert table.y["default"].tolist() == [1, 0]


def test_unseen_tasks_are_asked_of_columns_that_are_not_in_x(tmp_path: Path) -> None:
    other = {"EDUCATION": 2, "LIMIT_BAL": 150_000, "PAY_0": 0, "PAY_AMT1": 3_000, "PAY_AMT6": 2_000}
    table = CreditDefaultUnseen().load(write(tmp_path, {}, other))
    gone = {"EDUCATION", "LIMIT_BAL", "PAY_0", "PAY_AMT1", "PAY_AMT6", "BILL_AMT2"}
    assert set(CreditDefault.x_columns()) - set(table.x) == gone
    assert {task: label.tolist() for task, label in table.transfer.items()} == {
        "graduate_school": [1, 0],
        "limit_above_median": [0, 1],
        "late_in_september": [1, 0],
        "paid_much_in_april": [0, 1],
        "paid_much_in_september": [0, 1],
    }


def test_a_code_without_a_meaning_is_named(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="row 2: EDUCATION is 7, a code without a meaning"):
        CreditDefault().load(write(tmp_path, {}, {"EDUCATION": 7}))


@pytest.mark.thorough
@pytest.mark.parametrize("dataset", [CreditDefault, CreditDefaultUnseen])
def test_facts_of_the_real_file(dataset: type[Dataset]) -> None:
    root = root_with(dataset)
    data = load_dataset(dataset, root=root)
    assert group_counts(data) == {"40 or more": 9_144, "below 40": 20_856}
    assert share(data, "default") == pytest.approx(6_636 / 30_000)
    check_prepared(data)
    assert fingerprint_elsewhere(dataset, root) == data.fingerprint


def test_unseen_tasks_of_the_real_file() -> None:
    data = load_dataset(CreditDefaultUnseen, root=root_with(CreditDefaultUnseen))
    assert unseen_shares(data) == pytest.approx(
        {
            "graduate_school": 0.3528,
            "limit_above_median": 0.4903,
            "late_in_september": 0.2273,
            "paid_much_in_april": 0.4917,
            "paid_much_in_september": 0.5,
        },
        abs=0.0005,
    )
