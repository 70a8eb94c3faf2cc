"""German credit: decoding, the groups, what leaves X, malformed files; the real file's facts."""

from pathlib import Path

import pytest

from fairbench.api.dataset import Dataset
from fairbench.data.loading import load_dataset
from fairbench.errors import DataError
from fairbench_datasets.german import COLUMNS, NUMBERS, GermanAge, GermanSex, GermanSexAge
from tests.support.real_data import (
    check_prepared,
    fingerprint_elsewhere,
    group_counts,
    root_with,
    share,
)

BORROWER = {
    "checking_account": "A12",
    "duration_months": "12",
    "credit_history": "A32",
    "purpose": "A410",
    "credit_amount": "1000",
    "savings": "A61",
    "employed_since": "A73",
    "installment_rate": "4",
    "personal_status_sex": "A93",
    "other_debtors": "A101",
    "residence_since": "2",
    "property": "A121",
    "age": "40",
    "other_instalments": "A143",
    "housing": "A152",
    "existing_credits": "1",
    "job": "A173",
    "dependents": "1",
    "telephone": "A191",
    "foreign_worker": "A201",
    "credit": "1",
}
"""Nobody."""


def borrower(**changes: str) -> str:
    return " ".join((BORROWER | changes).values())


def write(folder: Path, *lines: str) -> Path:
    (folder / "german.data").write_text("\n".join(lines) + "\n")
    return folder


def test_codes_are_decoded_and_numbers_are_numbers(tmp_path: Path) -> None:
    row = GermanSex().load(write(tmp_path, borrower())).x.iloc[0]
    assert row["checking_account"] == "A12 0 to 200 DM"
    assert row["purpose"] == "A410 others"
    assert row["credit_amount"] == 1000
    assert all(not isinstance(row[name], str) for name in NUMBERS)


def test_names_sort_as_the_official_codes_do(tmp_path: Path) -> None:
    lines = [borrower(savings=f"A6{i}") for i in (5, 3, 1, 4, 2)]
    names = sorted(GermanSex().load(write(tmp_path, *lines)).x["savings"])
    assert [name.split()[0] for name in names] == ["A61", "A62", "A63", "A64", "A65"]


def test_what_is_s_is_not_in_x_and_what_is_not_stays(tmp_path: Path) -> None:
    folder = write(tmp_path, borrower())
    attributes = set(COLUMNS) - {"credit"}
    assert set(GermanSex().load(folder).x) == attributes - {"personal_status_sex"}
    assert set(GermanAge().load(folder).x) == attributes - {"age"}
    assert set(GermanSexAge().load(folder).x) == attributes - {"personal_status_sex", "age"}


def test_groups(tmp_path: Path) -> None:
    sexes = [borrower(personal_status_sex=f"A9{i}") for i in range(1, 6)]
    by_sex = GermanSex().load(write(tmp_path, *sexes))
    assert [by_sex.groups[s] for s in by_sex.s] == ["Male", "Female", "Male", "Male", "Female"]
    ages = write(tmp_path, borrower(age="25"), borrower(age="26", personal_status_sex="A92"))
    by_age, by_both = GermanAge().load(ages), GermanSexAge().load(ages)
    assert [by_age.groups[s] for s in by_age.s] == ["up to 25", "over 25"]
    assert [by_both.groups[s] for s in by_both.s] == ["Male up to 25", "Female over 25"]


def test_labels(tmp_path: Path) -> None:
    table = GermanSex().load(write(tmp_path, borrower(), borrower(credit="2", housing="A151")))
    assert {task: label.tolist() for task, label in table.y.items()} == {
        "good_credit": [1, 0],
        "homeowner": [1, 0],
    }


@pytest.mark.parametrize(
    ("line", "says"),
    [
        (borrower(credit_amount="much"), "line 2: credit_amount is 'much', not a whole number"),
        (borrower(age="-3"), "line 2: age is '-3', below 0"),
        (borrower(savings="A99"), "line 2: savings is 'A99', none of A61"),
        (borrower(personal_status_sex="A90"), "line 2: personal_status_sex is 'A90', none of A91"),
        (borrower(credit="3"), "line 2: credit is '3', none of 1, 2"),
        (borrower() + " 7", "line 2: 22 fields instead of 21"),
        (borrower()[:30], "line 2: .* fields instead of 21"),
        ("\x00" * 9, "line 2: a zero byte"),
    ],
)
def test_a_malformed_line_is_named(tmp_path: Path, line: str, says: str) -> None:
    with pytest.raises(DataError, match=says) as caught:
        GermanSex().load(write(tmp_path, borrower(), line))
    assert "german.data" in caught.value.message


@pytest.mark.parametrize(
    ("content", "says"),
    [(b"", "has no rows"), (b"\n\n\x89PNG\r\n", "line 3: the byte 0x89 is not plain text")],
)
def test_a_broken_file_gets_one_clear_error(tmp_path: Path, content: bytes, says: str) -> None:
    (tmp_path / "german.data").write_bytes(content)
    with pytest.raises(DataError, match=says):
        GermanSex().load(tmp_path)


GROUPS: dict[type[Dataset], dict[str, int]] = {
    GermanSex: {"Female": 310, "Male": 690},
    GermanAge: {"over 25": 810, "up to 25": 190},
    GermanSexAge: {
        "Female over 25": 205,
        "Female up to 25": 105,
        "Male over 25": 605,
        "Male up to 25": 85,
    },
}


@pytest.mark.parametrize("dataset", GROUPS)
def test_the_real_file_has_the_published_counts(dataset: type[Dataset]) -> None:
    data = load_dataset(dataset, root=root_with(dataset))
    assert data.source == "real"
    assert [len(rows.s) for rows in data.roles.values()] == [334, 200, 133, 333]
    assert group_counts(data) == GROUPS[dataset]
    assert share(data, "good_credit") == pytest.approx(0.7)
    assert share(data, "homeowner") == pytest.approx(0.713)
    assert len(data.info.features) == (18 if dataset is GermanSexAge else 19)
    assert data.iterations == 5000
    check_prepared(data)


@pytest.mark.thorough
def test_the_real_split_is_the_same_in_every_process() -> None:
    root = root_with(GermanSexAge)
    here = load_dataset(GermanSexAge, root=root).fingerprint
    assert here == fingerprint_elsewhere(GermanSexAge, root)
