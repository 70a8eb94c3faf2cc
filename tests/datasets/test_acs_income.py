"""ACSIncome: grouped codes, what leaves X, files that are no such table; the real file's facts."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from fairbench.api.dataset import Dataset
from fairbench.data.loading import load_dataset
from fairbench.errors import DataError
from fairbench_datasets.acs_codes import BIRTHPLACES, OCCUPATIONS
from fairbench_datasets.acs_income import (
    AcsIncomeRace,
    AcsIncomeSex,
    AcsIncomeSexRace,
    AcsIncomeUnseen,
)
from tests.support.real_data import (
    check_prepared,
    fingerprint_elsewhere,
    group_counts,
    root_with,
    share,
    unseen_shares,
    whole,
)

NAME = "acs_income_2018_part.parquet"

WORKER = {
    "PINCP": 0,
    "RAC1P": 0,
    "SCHL": 16.0,
    "POBP": 17.0,
    "SEX": 1.0,
    "OCCP": 4020.0,
    "RELP": 0.0,
    "COW": 1.0,
    "MAR": 5.0,
    "WKHP": 40.0,
    "AGEP": 40.0,
}
"""Nobody; the columns and types of the file."""


def write(folder: Path, *people: Mapping[str, Any], **columns: Sequence[Any]) -> Path:
    rows = [WORKER | dict(changes) for changes in people]
    table = {name: [row[name] for row in rows] for name in WORKER} | columns
    table["index"] = list(range(100, 100 + len(rows)))
    pq.write_table(pa.table({k: v for k, v in table.items() if v is not None}), folder / NAME)
    return folder


def test_a_person_becomes_a_row(tmp_path: Path) -> None:
    table = AcsIncomeSex().load(write(tmp_path, {"PINCP": 1, "MAR": 1.0}))
    assert table.x.iloc[0].to_dict() == {
        "AGEP": 40,
        "COW": "01 private for profit",
        "SCHL": 16,
        "MAR": "01 married",
        "OCCP": "13 food",
        "POBP": "02 US Midwest",
        "RELP": "01 reference person",
        "WKHP": 40,
        "RAC1P": "01 White",
    }
    assert {task: label.tolist() for task, label in table.y.items()} == {
        "income": [1],
        "married": [1],
    }


def test_what_is_s_is_not_in_x_and_what_is_not_stays(tmp_path: Path) -> None:
    folder = write(tmp_path, {})
    for dataset, gone in (
        (AcsIncomeSex, {"SEX"}),
        (AcsIncomeRace, {"RAC1P"}),
        (AcsIncomeSexRace, {"SEX", "RAC1P"}),
    ):
        assert set(dataset().load(folder).x) == set(AcsIncomeSex.features) - gone


def test_unseen_tasks_are_asked_of_columns_that_are_not_in_x(tmp_path: Path) -> None:
    people = [{"MAR": 1.0, "RELP": 2.0}, {"POBP": 110.0, "COW": 4.0}, {"POBP": 72.0, "COW": 7.0}]
    table = AcsIncomeUnseen().load(write(tmp_path, *people))
    assert list(table.x) == ["AGEP", "SCHL", "OCCP", "WKHP", "RAC1P"]
    assert list(table.y) == ["income"]
    assert {task: label.tolist() for task, label in table.transfer.items()} == {
        "married": [1, 0, 0],
        "lives_with_parents": [1, 0, 0],
        "born_abroad": [0, 1, 0],
        "public_employee": [0, 1, 0],
        "self_employed": [0, 0, 1],
    }


def test_groups(tmp_path: Path) -> None:
    folder = write(tmp_path, *({"RAC1P": race, "SEX": 1.0 + race % 2} for race in range(9)))
    by_race, by_both = AcsIncomeRace().load(folder), AcsIncomeSexRace().load(folder)
    natives = ["American Indian or Alaska Native"] * 3
    names = ["White", "Black", *natives, "Asian", "Pacific Islander", "Other", "Two or more"]
    assert [by_race.groups[s] for s in by_race.s] == names
    assert [by_both.groups[s] for s in by_both.s][:2] == ["Male White", "Female Black"]


@pytest.mark.parametrize(
    ("code", "group"),
    [
        (10, "management"),
        (800, "business and finance"),  # accountants
        (1021, "computers and mathematics"),  # software developers
        (2310, "education and libraries"),  # teachers
        (3255, "healthcare"),  # registered nurses
        (3602, "healthcare support"),  # personal care aides
        (6230, "construction and extraction"),  # carpenters
        (6850, "construction and extraction"),  # miners
        (9130, "transportation"),  # truck drivers
        (9830, "military"),
    ],
)
def test_occupations_fall_into_their_major_groups(code: int, group: str) -> None:
    assert OCCUPATIONS[code] == group
    assert len(set(OCCUPATIONS.values())) == 23


def test_birthplaces_fall_into_their_regions() -> None:
    places = {6: "US West", 36: "US Northeast", 72: "US island areas", 110: "Europe", 207: "Asia"}
    places |= {
        301: "Northern America",
        303: "Latin America",
        440: "Africa",
        515: "Oceania or at sea",
    }
    assert {code: BIRTHPLACES[code] for code in places} == places
    assert sum(1 for region in BIRTHPLACES.values() if region.startswith("US ")) == 51 + 40


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"AGEP": 40.5}, "row 2: AGEP is 40.5, not a whole number from 17 to 99"),
        ({"AGEP": None}, "row 2: AGEP is missing"),
        ({"WKHP": 0.0}, "row 2: WKHP is 0, not a whole number from 1 to 99"),
        ({"PINCP": 60_000}, "row 2: PINCP is 60000, not a whole number from 0 to 1"),
        ({"OCCP": 460.0}, "row 2: OCCP is 460, a code without a meaning"),
        ({"OCCP": float("nan")}, "row 2: OCCP is missing"),
        ({"RAC1P": 9}, "row 2: RAC1P is 9, a code without a meaning"),
        ({"SEX": 3.0}, "row 2: SEX is 3, a code without a meaning"),
        ({"POBP": float("inf")}, "row 2: POBP is inf, a code without a meaning"),
    ],
)
def test_a_malformed_cell_is_named(tmp_path: Path, changes: dict[str, Any], says: str) -> None:
    with pytest.raises(DataError, match=says) as caught:
        AcsIncomeSex().load(write(tmp_path, {}, changes, {}))
    assert NAME in caught.value.message
    assert caught.value.hint == f"Get the original {NAME} again (4,109,137 bytes)."


def test_columns_that_are_missing_or_no_numbers_are_named(tmp_path: Path) -> None:
    without: Any = None
    with pytest.raises(DataError, match="the column 'OCCP' is missing"):
        AcsIncomeSex().load(write(tmp_path, {}, OCCP=without))
    with pytest.raises(DataError, match="row 1: WKHP is 'forty', not a whole number"):
        AcsIncomeSex().load(write(tmp_path, {}, WKHP=["forty"]))
    table = pq.read_table(write(tmp_path, {}) / NAME)
    pq.write_table(table.append_column("SEX", table.column("SEX")), tmp_path / NAME)
    with pytest.raises(DataError, match="the column 'SEX' occurs twice"):
        AcsIncomeSex().load(tmp_path)
    with pytest.raises(DataError, match="has no rows"):
        AcsIncomeSex().load(_emptied(tmp_path))


def _emptied(folder: Path) -> Path:
    table = pq.read_table(write(folder, {}) / NAME)
    pq.write_table(table.slice(0, 0), folder / NAME)
    return folder


@pytest.mark.parametrize("kind", ["empty", "text", "truncated", "garbage inside"])
def test_a_broken_file_gets_one_clear_error(tmp_path: Path, kind: str) -> None:
    whole = (write(tmp_path, *[{}] * 50) / NAME).read_bytes()
    broken = {
        "empty": b"",
        "text": b"AGEP,COW\n40,1\n",
        "truncated": whole[: len(whole) // 2],
        "garbage inside": b"PAR1" + bytes(len(whole) // 2) + whole[4 + len(whole) // 2 :],
    }[kind]
    (tmp_path / NAME).write_bytes(broken)
    with pytest.raises(DataError, match="cannot be read as Parquet"):
        AcsIncomeSex().load(tmp_path)


def test_without_files_the_error_says_what_to_get(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("FAIRBENCH_CACHE", str(tmp_path))
    monkeypatch.delenv("FAIRBENCH_DATA", raising=False)
    with pytest.raises(DataError) as caught:
        load_dataset(AcsIncomeSex)  # at no public address: nothing is tried, also with a network
    assert NAME in caught.value.hint
    assert AcsIncomeSex.url in caught.value.hint


RACES = {
    "American Indian or Alaska Native": (1497, 1477),
    "Asian": (9558, 9684),
    "Black": (15_745, 13_737),
    "Other": (5614, 7032),
    "Pacific Islander": (261, 324),
    "Two or more": (4120, 4226),
    "White": (122_842, 136_783),
}
"""Women and men by race."""

GROUPS: dict[type[Dataset], dict[str, int]] = {
    AcsIncomeSex: {"Female": 159_637, "Male": 173_263},
    AcsIncomeRace: {race: sum(counts) for race, counts in RACES.items()},
    AcsIncomeSexRace: {
        f"{sex} {race}": counts[i]
        for i, sex in enumerate(("Female", "Male"))
        for race, counts in RACES.items()
    },
}


@pytest.mark.slow
@pytest.mark.parametrize("dataset", [AcsIncomeSexRace, AcsIncomeSex, AcsIncomeRace])
def test_the_real_file_has_its_counts(dataset: type[Dataset]) -> None:
    data = load_dataset(whole(dataset), root=root_with(dataset))
    assert data.source == "real"
    sizes = [len(rows.s) for rows in data.roles.values()]
    assert sizes == [110_966, 66_580, 44_387, 110_967]
    assert group_counts(data) == GROUPS[dataset]
    assert share(data, "income") == pytest.approx(122_863 / 332_900)
    assert share(data, "married") == pytest.approx(182_245 / 332_900)
    assert data.iterations == 27_000
    check_prepared(data)


@pytest.mark.slow
def test_unseen_tasks_of_the_real_file() -> None:
    data = load_dataset(whole(AcsIncomeUnseen), root=root_with(AcsIncomeUnseen))
    assert unseen_shares(data) == pytest.approx(
        {
            "married": 0.5474,
            "lives_with_parents": 0.1174,
            "born_abroad": 0.1536,
            "public_employee": 0.1486,
            "self_employed": 0.1060,
        },
        abs=0.0001,
    )
    check_prepared(data)


@pytest.mark.slow
def test_the_real_split_is_the_same_in_every_process() -> None:
    root = root_with(AcsIncomeSexRace)
    here = load_dataset(AcsIncomeSexRace, root=root).fingerprint
    assert here == fingerprint_elsewhere(AcsIncomeSexRace, root)
