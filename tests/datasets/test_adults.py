"""Adults: the facts of the real table, the shape of the twin, and malformed files."""

from pathlib import Path

import numpy as np
import pytest

from fairbench.api import Role
from fairbench.data.loading import load_dataset
from fairbench.errors import DataError
from fairbench_datasets.adults import (
    COLUMNS,
    FEATURES,
    AdultsGender,
    AdultsGenderOnehot,
    AdultsGenderRace,
    AdultsGenderUnseen,
    read_adult,
)
from tests.support.real_data import check_prepared, unseen_shares


def test_real_adults_has_the_published_counts(adults_root: Path) -> None:
    data = load_dataset(AdultsGender, root=adults_root)
    assert data.source == "real"
    sizes = [len(rows.s) for rows in data.roles.values()]
    assert sizes == [16_281, 9_768, 6_512, 16_281]
    s = np.concatenate([rows.s for rows in data.roles.values()])
    y = np.concatenate([rows.y["income"] for rows in data.roles.values()])
    assert data.info.groups == ("Female", "Male")
    assert list(np.bincount(s)) == [16_192, 32_650]
    assert int(y.sum()) == 11_687
    assert tuple(f.name for f in data.info.features) == FEATURES
    assert data.roles[Role.TEST].s.mean() == pytest.approx(10_860 / 16_281)


def test_real_adults_by_gender_and_race_has_ten_groups(adults_root: Path) -> None:
    data = load_dataset(AdultsGenderRace, root=adults_root)
    test = data.roles[Role.TEST].s
    assert len(data.info.groups) == 10
    assert np.bincount(test).max() / len(test) == pytest.approx(0.588, abs=0.002)
    for rows in data.roles.values():
        assert (np.bincount(rows.s, minlength=10) > 0).all()


def test_question_marks_stay_as_a_category(adults_root: Path) -> None:
    data = load_dataset(AdultsGender, root=adults_root)
    workclass = data.info.features[FEATURES.index("workclass")]
    assert "?" in workclass.categories


@pytest.mark.thorough
def test_without_files_or_network_the_twin_stands_in(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("FAIRBENCH_OFFLINE", "1")
    monkeypatch.setenv("FAIRBENCH_CACHE", str(tmp_path))
    monkeypatch.delenv("FAIRBENCH_DATA", raising=False)
    data = load_dataset(AdultsGender)
    assert data.source == "simulated"
    assert [len(rows.s) for rows in data.roles.values()] == [16_281, 9_768, 6_512, 16_281]
    assert len(load_dataset(AdultsGenderOnehot).info.features) > 50
    with pytest.raises(DataError, match="not available"):
        load_dataset(AdultsGender, require_real=True)


def test_unseen_tasks_are_asked_of_columns_that_are_not_in_x(tmp_path: Path) -> None:
    wed = {"marital-status": "Married-civ-spouse", "native-country": "Mexico", "race": "White"}
    single = {"age": "40", "native-country": "?", "race": "Black", "workclass": "Self-emp-inc"}
    (tmp_path / "adult.data").write_text(row(age="39", **wed) + "\n" + row(**single) + "\n")
    (tmp_path / "adult.test").write_text(row(**{"native-country": "Puerto-Rico"}) + "\n")
    table = AdultsGenderUnseen().load(tmp_path)
    assert not {"marital-status", "relationship", "workclass", "age"} & set(table.x)
    assert list(table.y) == ["income"]
    assert not table.domains
    assert {task: label.tolist() for task, label in table.transfer.items()} == {
        "married": [1, 0, 0],
        "aged_40_or_more": [0, 1, 0],
        "white": [1, 0, 0],
        "born_abroad": [1, 0, 0],
        "self_employed": [0, 1, 0],
    }


def test_rows_can_be_split_by_age_unless_it_is_a_task(adults_root: Path) -> None:
    ages = AdultsGender().load(adults_root / "adults").domains["age"]
    assert (ages == "below 40").sum() == 27_444
    assert (ages == "40 or more").sum() == 21_398


def test_unseen_tasks_of_the_real_file(adults_root: Path) -> None:
    data = load_dataset(AdultsGenderUnseen, root=adults_root)
    assert unseen_shares(data) == pytest.approx(
        {
            "married": 0.4589,
            "aged_40_or_more": 0.4381,
            "white": 0.8550,
            "born_abroad": 0.0808,
            "self_employed": 0.1138,
        },
        abs=0.0001,
    )
    check_prepared(data)


def test_the_twin_has_no_age_and_no_unseen_tasks() -> None:
    twin = AdultsGender().simulate()
    assert twin is not None
    assert not twin.domains
    assert AdultsGenderUnseen().simulate() is None


def row(**changes: str) -> str:
    values = dict.fromkeys(COLUMNS, "x") | dict.fromkeys(
        ("age", "education-num", "hours-per-week", "capital-gain", "capital-loss"), "1"
    )
    return ", ".join((values | changes).values())


def test_rows_are_read_and_comments_and_dots_dropped(tmp_path: Path) -> None:
    file = tmp_path / "adult.test"
    file.write_text("|1x3 Cross validator\n" + row(income=">50K.") + "\n\n")
    frame = read_adult(file)
    assert len(frame) == 1
    assert frame["income"][0] == ">50K"


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (row() + "\n" + row() + ", extra\n", "line 2: 16 fields instead of 15"),
        (row(**{"capital-gain": "lots"}) + "\n", "capital-gain is 'lots'"),
    ],
)
def test_a_malformed_row_is_named(tmp_path: Path, text: str, says: str) -> None:
    file = tmp_path / "adult.data"
    file.write_text(text)
    with pytest.raises(DataError, match=says):
        read_adult(file)
