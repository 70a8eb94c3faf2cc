"""ACS tasks: what leaves X, codes that count from 0, the states; the real files' facts."""

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from fairbench.api import AUDIT_ROLES
from fairbench.api.dataset import Dataset, Table
from fairbench.data.files import find_files
from fairbench.data.loading import load_dataset
from fairbench.errors import DataError
from fairbench_datasets import acs_tasks
from fairbench_datasets.acs_codes import OCCUPATIONS, from_zero
from fairbench_datasets.acs_tasks import (
    AcsMobility,
    AcsMobilityUnseen,
    AcsPublicCoverage,
    AcsPublicCoverageUnseen,
    AcsTravelTime,
    AcsTravelTimeUnseen,
)
from tests.support.real_data import (
    check_prepared,
    fingerprint_elsewhere,
    group_counts,
    root_with,
    share,
    whole,
)

PERSON: Mapping[str, int] = {
    "AGEP": 30,
    "SCHL": 16,
    "MAR": 4,
    "SEX": 1,
    "DIS": 1,
    "CIT": 0,
    "RAC1P": 0,
    "ST": 0,
    "ESP": 0,
    "MIG": 0,
    "MIL": 4,
    "ANC": 0,
    "NATIVITY": 0,
    "DEAR": 1,
    "DEYE": 1,
    "DREM": 1,
    "PINCP": 9_000,
    "ESR": 1,
    "PUBCOV": 0,
    "RELP": 0,
    "OCCP": 4_100,
    "JWTR": 0,
    "POVPIP": 300,
    "JWMNP": 1,
    "GCL": 2,
    "COW": 1,
    "WKHP": 40,
}
"""Nobody, with a valid code in each column of the three files."""


def write(
    folder: Path, dataset: type[acs_tasks.AcsPublicCoverage], *people: Mapping[str, Any]
) -> Path:
    first = {"MIL": 3} if issubclass(dataset, AcsMobility) else {}
    rows = [{**PERSON, **first, **changes} for changes in people]
    table = pa.table({name: [row[name] for row in rows] for name in PERSON})
    pq.write_table(table, folder / dataset.files[0].name)
    return folder


def loaded(
    folder: Path, dataset: type[acs_tasks.AcsPublicCoverage], *people: Mapping[str, Any]
) -> Table:
    return dataset().load(write(folder, dataset, *people))


@pytest.mark.parametrize(
    ("dataset", "absent"),
    [
        (AcsPublicCoverage, {"SEX", "ST", "FER"}),
        (AcsTravelTime, {"SEX", "ST", "PUMA", "POWPUMA"}),
        (AcsMobility, {"SEX", "ST", "ESP"}),
    ],
)
def test_sex_the_state_and_what_tells_them_are_not_in_x(
    dataset: type[acs_tasks.AcsPublicCoverage], absent: set[str]
) -> None:
    assert not absent & set(dataset.x_columns())


def test_unseen_tasks_cannot_be_read_off_x() -> None:
    assert AcsPublicCoverageUnseen.x_columns() == (
        "AGEP",
        "SCHL",
        "ESP",
        "MIL",
        "ANC",
        "PINCP",
        "RAC1P",
    )
    assert not {"MAR", "RELP", "CIT", "NATIVITY", "JWMNP"} & set(AcsMobilityUnseen.x_columns())
    assert len(AcsTravelTimeUnseen.x_columns()) == 7


def test_codes_that_count_from_zero_are_decoded(tmp_path: Path) -> None:
    table = loaded(tmp_path, AcsTravelTime, {"JWTR": 10, "CIT": 4, "ST": 20, "RELP": 1, "SEX": 0})
    assert table.x.iloc[0].to_dict() == {
        "AGEP": 30,
        "SCHL": 16,
        "MAR": "05 never married",
        "DIS": "02 no",
        "ESP": "01 no child below 18 with a parent here",
        "MIG": "01 same house",
        "RELP": "02 husband or wife",
        "RAC1P": "01 White",
        "CIT": "05 not a citizen",
        "OCCP": "13 food",  # 4110, waiters
        "JWTR": "11 worked at home",
        "POVPIP": 300,
    }
    assert table.groups == ("Male",)
    assert list(table.domains["state"]) == ["Michigan"]


def test_codes_that_keep_zero_for_not_asked_are_as_the_bureau_has_them(tmp_path: Path) -> None:
    people = [{"ESR": 0, "MIL": 0, "ESP": 8}, {"ESR": 6, "MIL": 4, "ESP": 0}]
    coverage = loaded(tmp_path, AcsPublicCoverage, *people).x
    assert list(coverage["ESR"]) == ["01 below 16", "07 not in the labour force"]
    assert list(coverage["MIL"]) == ["01 below 17", "05 never served"]
    assert coverage["ESP"][0] == "09 with the mother, who is not in the labour force"
    mobility = loaded(tmp_path, AcsMobility, {"COW": 0, "GCL": 0}, {"COW": 9, "GCL": 1}).x
    assert list(mobility["COW"]) == [
        "01 no job in five years",
        "10 unemployed, no job in five years",
    ]
    assert list(mobility["GCL"]) == ["01 below 30, or in an institution", "02 yes"]
    assert list(mobility["MIL"]) == ["04 never served"] * 2  # asked of everybody: from 0
    assert list(mobility["ESR"]) == ["02 employed, not at work"] * 2


def test_occupations_count_from_ten() -> None:
    codes = from_zero(OCCUPATIONS)
    assert codes[0] == "management"  # 0010, chief executives
    assert codes[9_120] == "transportation"  # 9130, truck drivers
    assert max(codes) == max(OCCUPATIONS) - 10


def test_labels(tmp_path: Path) -> None:
    def labels(dataset: type[acs_tasks.AcsPublicCoverage], **changes: int) -> dict[str, int]:
        table = loaded(tmp_path, dataset, changes)
        return {task: int(values[0]) for task, values in {**table.y, **table.transfer}.items()}

    assert labels(AcsPublicCoverage, PUBCOV=1) == {"public_coverage": 1}
    assert labels(AcsMobility, MIG=1) == {"moved": 0}
    assert labels(AcsPublicCoverageUnseen, ESR=3, DIS=0, MIG=2, MAR=0, NATIVITY=1) == {
        "public_coverage": 0,
        "employed": 0,
        "disabled": 1,
        "moved": 1,
        "married": 1,
        "foreign_born": 1,
    }
    assert labels(AcsTravelTimeUnseen, JWTR=1, SCHL=21, CIT=2, POVPIP=400) == {
        "long_commute": 1,
        "by_car": 0,
        "bachelor": 1,
        "moved": 0,
        "foreign_born": 0,
        "well_off": 0,
    }
    assert labels(AcsMobilityUnseen, MAR=4, RELP=3, SCHL=20, JWMNP=21, MIG=0) == {
        "moved": 1,
        "married": 0,
        "lives_with_parents": 1,
        "bachelor": 0,
        "foreign_born": 0,
        "long_commute": 1,
    }


def test_the_state_of_mobility_follows_from_the_place(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(acs_tasks, "CALIFORNIANS", 2)
    table = loaded(tmp_path, AcsMobility, {"ST": 20}, {}, {})  # the real file has no ST
    assert list(table.domains["state"]) == ["California", "California", "Michigan"]


@pytest.mark.parametrize(
    ("dataset", "changes", "told"),
    [
        (AcsPublicCoverage, {"AGEP": 65}, "row 2: AGEP is 65, not a whole number from 15 to 64"),
        (AcsPublicCoverage, {"ST": 6}, "row 2: ST is 6, a code without a meaning"),
        (AcsTravelTime, {"OCCP": 9_830}, "row 2: OCCP is 9830, a code without a meaning"),
        (AcsTravelTime, {"JWTR": None}, "row 2: JWTR is missing"),
        (AcsMobility, {"MIL": 4}, "row 2: MIL is 4, a code without a meaning"),
    ],
)
def test_a_bad_cell_is_named(
    tmp_path: Path,
    dataset: type[acs_tasks.AcsPublicCoverage],
    changes: dict[str, Any],
    told: str,
) -> None:
    with pytest.raises(DataError, match=told) as caught:
        loaded(tmp_path, dataset, {}, changes)
    assert caught.value.hint.startswith("Get the original file again: https://raw.github")


def test_a_mobility_file_that_lacks_a_column_is_told(tmp_path: Path) -> None:
    path = write(tmp_path, AcsMobility, {}) / AcsMobility.files[0].name
    pq.write_table(pq.read_table(path).drop_columns(["COW"]), path)
    with pytest.raises(DataError, match="the column 'COW' is missing"):
        AcsMobility().load(tmp_path)


FACTS = [
    pytest.param(
        *(AcsPublicCoverage, 97_688, 76_490, "public_coverage", 0.3654), marks=pytest.mark.slow
    ),
    pytest.param(
        *(AcsTravelTime, 101_906, 114_479, "long_commute", 0.4700), marks=pytest.mark.slow
    ),
    (AcsMobility, 47_710, 50_371, "moved", 0.2384),
]


@pytest.mark.thorough
@pytest.mark.parametrize(("dataset", "women", "men", "task", "of_one"), FACTS)
def test_facts_of_the_real_file(
    dataset: type[Dataset], women: int, men: int, task: str, of_one: float
) -> None:
    data = load_dataset(whole(dataset), root=root_with(dataset))
    assert women + men == dataset.rows
    assert group_counts(data) == {"Female": women, "Male": men}
    assert share(data, task) == pytest.approx(of_one, abs=0.0001)
    audited = load_dataset(dataset, root=root_with(dataset))
    assert max(len(audited.roles[role].s) for role in AUDIT_ROLES) == 20_000
    check_prepared(audited)


@pytest.mark.slow
def test_the_real_split_is_the_same_in_every_process() -> None:
    root = root_with(AcsMobility)
    here = load_dataset(AcsMobility, root=root).fingerprint
    assert here == fingerprint_elsewhere(AcsMobility, root)


@cache
def real(dataset: type[AcsPublicCoverage]) -> Table:
    found = find_files(dataset, root_with(dataset))
    assert found is not None
    return dataset().load(found.folder)


@pytest.mark.parametrize(
    ("dataset", "expected"),
    [
        (AcsPublicCoverageUnseen, [0.461, 0.130, 0.160, 0.361, 0.259]),
        (AcsTravelTimeUnseen, [0.852, 0.385, 0.126, 0.269, 0.545]),
        (AcsMobilityUnseen, [0.270, 0.318, 0.298, 0.181, 0.321]),
    ],
)
def test_unseen_tasks_of_the_real_files(
    dataset: type[AcsPublicCoverage], expected: list[float]
) -> None:
    table = real(dataset)
    shares = [float(labels.mean()) for labels in table.transfer.values()]
    assert shares == pytest.approx(expected, abs=0.0006)
    both = np.corrcoef(np.stack([*table.y.values(), *table.transfer.values(), table.s]))
    assert np.abs(both - np.eye(len(both))).max() < 0.5  # none is nearly another


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("dataset", "california", "michigan"),
    [
        (AcsPublicCoverage, 138_554, 35_624),
        (AcsTravelTime, 172_508, 43_877),
        (AcsMobility, 80_329, 17_752),
    ],
)
def test_the_real_states(dataset: type[AcsPublicCoverage], california: int, michigan: int) -> None:
    table = real(dataset)
    is_first = table.domains["state"] == "California"
    assert (is_first.sum(), (~is_first).sum()) == (california, michigan)
    # Asians are a smaller part of Michigan, also where only the place of a row tells the state.
    asian = (table.x["RAC1P"] == "04 Asian").to_numpy()
    assert asian[is_first].mean() > 0.12
    assert asian[~is_first].mean() < 0.05


def test_who_works_at_home_has_a_short_way_in_the_real_file() -> None:
    table = real(AcsTravelTime)
    at_home = (table.x["JWTR"] == "11 worked at home").to_numpy()
    assert at_home.sum() == 12_836
    assert not table.y["long_commute"][at_home].any()
