"""Diabetes: filters, groups of diagnoses, the zip and malformed files; the real file's facts."""

import hashlib
import os
import zipfile
import zlib
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from fairbench.api.dataset import Dataset
from fairbench.data.loading import load_dataset
from fairbench.errors import DataError
from fairbench_datasets.diabetes130 import (
    COLUMNS,
    MEDICINES,
    Diabetes130,
    Diabetes130Unseen,
    icd_groups,
)
from tests.support.real_data import (
    check_prepared,
    fingerprint_elsewhere,
    group_counts,
    share,
    unseen_shares,
)

ARCHIVE, NAME = "dataset_diabetes.zip", "diabetic_data.csv"

STAY = {
    "encounter_id": "100",
    "patient_nbr": "7",
    "race": "?",
    "gender": "Female",
    "age": "[60-70)",
    "weight": "?",
    "admission_type_id": "1",
    "discharge_disposition_id": "1",
    "admission_source_id": "7",
    "time_in_hospital": "4",
    "payer_code": "?",
    "medical_specialty": "Cardiology",
    "num_lab_procedures": "40",
    "num_procedures": "0",
    "num_medications": "12",
    "number_outpatient": "0",
    "number_emergency": "0",
    "number_inpatient": "0",
    "diag_1": "428",
    "diag_2": "250.01",
    "diag_3": "?",
    "number_diagnoses": "9",
    "max_glu_serum": "None",
    "A1Cresult": ">8",
    **dict.fromkeys(MEDICINES, "No"),
    "change": "No",
    "diabetesMed": "No",
    "readmitted": "NO",
}
"""Nobody's stay."""


def csv_of(*changes: Mapping[str, str]) -> str:
    """Return a file of stays, each of another patient unless told otherwise."""
    stays = [
        STAY | {"patient_nbr": f"{i}", "encounter_id": f"{i}"} | dict(one)
        for i, one in enumerate(changes)
    ]
    return pd.DataFrame(stays).to_csv(index=False)


def write(folder: Path, *changes: Mapping[str, str]) -> Path:
    (folder / NAME).write_text(csv_of(*changes))
    return folder


def test_x_has_28_columns_and_neither_age_nor_numbers_of_people() -> None:
    left_out = {"encounter_id", "patient_nbr", "age", "payer_code", "readmitted"}
    assert set(COLUMNS) - set(Diabetes130.x_columns()) == left_out
    assert len(Diabetes130.x_columns()) == 28


def test_a_stay_becomes_a_row(tmp_path: Path) -> None:
    table = Diabetes130().load(write(tmp_path, {}, {"insulin": "Up", "payer_code": "MC"}))
    shown = ["race", "diag_1", "diag_2", "diag_3", "A1Cresult", "max_glu_serum", "time_in_hospital"]
    assert table.x.loc[0, shown].tolist() == [
        "06 unknown",
        "01 circulatory",
        "04 diabetes",
        "10 unknown",
        "04 above 8%",
        "01 not measured",
        4,
    ]
    assert list(table.x["insulin"]) == ["01 not given", "04 increased"]
    assert list(table.domains["payer"]) == ["payer unknown", "payer known"]


def test_the_first_stay_of_a_patient_is_kept(tmp_path: Path) -> None:
    stays = [
        {"patient_nbr": "1", "encounter_id": "90", "time_in_hospital": "9"},
        {"patient_nbr": "2", "encounter_id": "80", "time_in_hospital": "8"},
        # As a text, 1000 would come before 90; by number it does not.
        {"patient_nbr": "1", "encounter_id": "1000", "time_in_hospital": "2"},
        {"patient_nbr": "2", "encounter_id": "70", "time_in_hospital": "7"},
    ]
    assert Diabetes130().load(write(tmp_path, *stays)).x["time_in_hospital"].tolist() == [9, 7]


def test_patients_whose_first_stay_ends_in_death_or_hospice_are_dropped(tmp_path: Path) -> None:
    gone = [{"discharge_disposition_id": code} for code in ("11", "13", "14", "19", "20", "21")]
    later = {"patient_nbr": "0", "encounter_id": "999"}  # of a patient whose first ends so
    kept = {"time_in_hospital": "14"}
    table = Diabetes130().load(write(tmp_path, *gone, later, kept))
    assert table.x["time_in_hospital"].tolist() == [14]
    with pytest.raises(DataError, match="filters leave none"):
        Diabetes130().load(write(tmp_path, *gone))


def test_groups_and_labels(tmp_path: Path) -> None:
    ages = [{"age": "[0-10)"}, {"age": "[60-70)"}, {"age": "[70-80)"}, {"age": "[90-100)"}]
    returns = [{"readmitted": value} for value in ("NO", "<30", ">30", "NO")]
    rows = [age | back for age, back in zip(ages, returns, strict=True)]
    table = Diabetes130().load(write(tmp_path, *rows))
    assert [table.groups[code] for code in table.s] == ["below 70"] * 2 + ["70 or more"] * 2
    assert table.y["readmitted"].tolist() == [0, 1, 1, 0]
    assert table.y["readmitted_30_days"].tolist() == [0, 1, 0, 0]
    assert list(table.y) == ["readmitted", "readmitted_30_days"]


def test_unseen_tasks_are_asked_of_columns_that_are_not_in_x(tmp_path: Path) -> None:
    other = {
        "gender": "Male",
        "diag_1": "V57",
        "time_in_hospital": "5",
        "num_procedures": "1",
        "insulin": "Steady",
    }
    table = Diabetes130Unseen().load(write(tmp_path, {}, other))
    gone = {"gender", "diag_1", "time_in_hospital", "num_procedures"}
    gone |= {"insulin", "change", "diabetesMed"}
    assert set(Diabetes130.x_columns()) - set(table.x) == gone
    assert {task: label.tolist() for task, label in table.transfer.items()} == {
        "female": [1, 0],
        "circulatory": [1, 0],
        "long_stay": [0, 1],
        "had_procedure": [0, 1],
        "insulin": [0, 1],
    }


@pytest.mark.parametrize(
    ("codes", "group"),
    [
        ("390 428 459.9 785", "circulatory"),
        ("460 519 786.5", "respiratory"),
        ("520 579 787", "digestive"),
        ("250 250.83", "diabetes"),
        ("800 996 999", "injury"),
        ("710 715 739", "musculoskeletal"),
        ("580 629 788", "genitourinary"),
        ("140 239", "neoplasms"),
        ("8 139 240 249 251 276 389 640 680 740 780 783 789 790 V57 E909 V45.8", "other"),
        ("?", "unknown"),
    ],
)
def test_diagnoses_are_grouped_by_code(codes: str, group: str) -> None:
    column = np.array(codes.split(), object)
    assert list(icd_groups(column)) == [group] * len(column)


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"age": "70"}, "row 2: age is '70', a code without a meaning"),
        ({"diag_2": "heart"}, "row 2: diag_2 is 'heart', a code without a meaning"),
        ({"time_in_hospital": "long"}, "row 2: time_in_hospital is 'long', not a whole number"),
        ({"encounter_id": "first"}, "row 2: encounter_id is 'first', not a whole number"),
        ({"discharge_disposition_id": "40"}, "row 2: discharge_disposition_id is '40', a code"),
        ({"readmitted": ""}, "row 2: readmitted is '', a code without a meaning"),
    ],
)
def test_a_bad_cell_is_named(tmp_path: Path, changes: Mapping[str, str], told: str) -> None:
    with pytest.raises(DataError) as caught:
        Diabetes130().load(write(tmp_path, {}, changes))
    assert told in str(caught.value)
    assert Diabetes130.url in str(caught.value.hint)


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (b"", "cannot be read as CSV"),
        (csv_of({}).encode().replace(b"readmitted", b"back"), "the column 'readmitted' is missing"),
        (csv_of({}).encode().splitlines()[0], "has no rows"),
        (csv_of({}).encode() + b"1,2\n", "row 2: race is '', a code without"),
        (csv_of({}).encode() + b"1," * 60 + b"\n", "cannot be read as CSV"),
        (b"\x89PNG\r\n\xff", "cannot be read as CSV"),
    ],
)
def test_a_broken_file_gets_one_clear_error(tmp_path: Path, content: bytes, told: str) -> None:
    (tmp_path / NAME).write_bytes(content)
    with pytest.raises(DataError, match=told) as caught:
        Diabetes130().load(tmp_path)
    assert NAME in str(caught.value)


CONTENT = csv_of({}, {"age": "[70-80)"}, {"readmitted": "<30"}).encode()


@pytest.fixture
def invented(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the file of invented stays be the original."""
    digest = hashlib.sha256(CONTENT).hexdigest()
    original = replace(Diabetes130.files[0], sha256=digest, size=len(CONTENT))
    monkeypatch.setattr(Diabetes130, "files", (original,))


def zip_of(
    folder: Path,
    files: Mapping[str, bytes],
    *,
    spoil: Callable[[zipfile.ZipFile], None] = lambda archive: None,
    compression: int = zipfile.ZIP_DEFLATED,
) -> Path:
    """Write the zip; ``spoil`` may change what its directory will say."""
    with zipfile.ZipFile(folder / ARCHIVE, "w", compression) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
        spoil(archive)
    return folder


@pytest.mark.usefixtures("invented")
@pytest.mark.parametrize("inside", ["", "dataset_diabetes/", "a/b/"])
@pytest.mark.parametrize("compression", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
def test_the_zip_gives_what_the_file_gives(tmp_path: Path, inside: str, compression: int) -> None:
    other = {f"__MACOSX/{inside}._{NAME}": b"Mac", f"{inside}IDs_mapping.csv": b"1,Emergency"}
    zip_of(tmp_path, {**other, inside + NAME: CONTENT}, compression=compression)
    zipped = Diabetes130().load(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == [ARCHIVE]  # nothing was unpacked
    (tmp_path / NAME).write_bytes(CONTENT)
    (tmp_path / ARCHIVE).unlink()
    plain = Diabetes130().load(tmp_path)
    assert zipped.x.equals(plain.x)
    assert zipped.y["readmitted"].tolist() == plain.y["readmitted"].tolist() == [0, 0, 1]


def change(**changes: int) -> Callable[[zipfile.ZipFile], None]:
    """Make a zip's directory lie about the file."""

    def spoil(archive: zipfile.ZipFile) -> None:
        for name, value in changes.items():
            setattr(archive.getinfo(NAME), name, value)

    return spoil


ALTERED = CONTENT.replace(b"Cardiology", b"cardiology")


@pytest.mark.usefixtures("invented")
@pytest.mark.parametrize(
    ("files", "spoil", "told"),
    [
        ({}, None, f"holds no {NAME}"),
        ({"x.zip": b"PK"}, None, f"holds no {NAME}"),
        ({NAME: CONTENT[:-9]}, None, r"has [\d,]+ bytes; the original has"),
        ({NAME: CONTENT + b"\0" * 9}, None, r"has [\d,]+ bytes; the original has"),
        ({NAME: ALTERED}, None, "is altered: expected sha256"),
        ({NAME: CONTENT}, change(file_size=10**10), "has 10,000,000,000 bytes"),
        ({NAME: CONTENT}, change(CRC=1), "is damaged"),
        ({NAME: CONTENT}, change(flag_bits=1), "is encrypted, or packed in a way"),
        ({NAME: CONTENT}, change(compress_type=9), "is encrypted, or packed in a way"),
    ],
)
def test_a_zip_of_something_else_is_told(
    tmp_path: Path,
    files: Mapping[str, bytes],
    spoil: Callable[[zipfile.ZipFile], None] | None,
    told: str,
) -> None:
    zip_of(tmp_path, files, spoil=spoil or (lambda archive: None))
    with pytest.raises(DataError, match=told) as caught:
        Diabetes130().load(tmp_path)
    assert ARCHIVE in str(caught.value)


@pytest.mark.usefixtures("invented")
def test_no_more_is_unpacked_than_the_zip_claims(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A bomb that claims the original's size is cut there, and is then another file."""
    lies = change(file_size=len(CONTENT), CRC=zlib.crc32(CONTENT))
    zip_of(tmp_path, {NAME: b"0" * 100_000_000}, spoil=lies)
    read: list[int] = []
    original = zipfile.ZipExtFile.read

    def counted(stream: zipfile.ZipExtFile, n: int | None = -1) -> bytes:
        content = original(stream, n)
        read.append(len(content))
        return content

    monkeypatch.setattr(zipfile.ZipExtFile, "read", counted)
    with pytest.raises(DataError, match=r"is (damaged|altered)"):
        Diabetes130().load(tmp_path)
    assert sum(read) <= len(CONTENT)


@pytest.mark.usefixtures("invented")
def test_a_zip_that_is_none_or_is_cut_short_is_told(tmp_path: Path) -> None:
    whole = (zip_of(tmp_path, {NAME: CONTENT}) / ARCHIVE).read_bytes()
    for content in (b"hello", whole[: len(whole) // 2], b""):
        (tmp_path / ARCHIVE).write_bytes(content)
        with pytest.raises(DataError, match="not a zip file, or is damaged"):
            Diabetes130().load(tmp_path)


def test_without_files_the_error_says_what_to_get(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("FAIRBENCH_CACHE", str(tmp_path))
    monkeypatch.delenv("FAIRBENCH_DATA", raising=False)
    with pytest.raises(DataError) as caught:
        load_dataset(Diabetes130)
    assert f"Put {NAME} (or {ARCHIVE}) into a folder" in str(caught.value.hint)
    assert Diabetes130.url in str(caught.value.hint)
    with pytest.raises(DataError, match=rf"{NAME} cannot be read"):
        Diabetes130().load(tmp_path)


def root() -> Path:
    """The folder with the file or its zip; the test is skipped where there is none."""
    folder = os.environ.get("FAIRBENCH_DATA")
    names = (NAME, ARCHIVE)
    if not folder or not any((Path(folder) / Diabetes130.folder / name).exists() for name in names):
        pytest.skip(f"needs FAIRBENCH_DATA with {NAME} or {ARCHIVE}")
    return Path(folder).resolve()


@pytest.mark.slow
@pytest.mark.parametrize("dataset", [Diabetes130, Diabetes130Unseen])
def test_facts_of_the_real_file(dataset: type[Dataset]) -> None:
    data = load_dataset(dataset, root=root())
    assert group_counts(data) == {"70 or more": 30_612, "below 70": 39_361}
    assert share(data, "readmitted") == pytest.approx(0.4073, abs=0.0001)
    assert share(data, "readmitted_30_days") == pytest.approx(0.0897, abs=0.0001)
    check_prepared(data)


@pytest.mark.slow
def test_the_real_split_is_the_same_in_every_process() -> None:
    data = load_dataset(Diabetes130, root=root())
    assert fingerprint_elsewhere(Diabetes130, root()) == data.fingerprint


def test_the_real_filters_drop_what_the_module_says() -> None:
    dataset = Diabetes130()
    raw = dataset.read(root() / Diabetes130.folder / NAME)
    assert len(raw["patient_nbr"]) == 101_766
    assert len(set(raw["patient_nbr"])) == 71_518
    kept = dataset.kept(raw)
    assert len(kept["patient_nbr"]) == len(set(kept["patient_nbr"])) == 69_973


@pytest.mark.thorough
def test_unseen_tasks_of_the_real_file() -> None:
    data = load_dataset(Diabetes130Unseen, root=root())
    assert unseen_shares(data) == pytest.approx(
        {
            "female": 0.5320,
            "circulatory": 0.3056,
            "long_stay": 0.3632,
            "had_procedure": 0.5590,
            "insulin": 0.5104,
        },
        abs=0.0005,
    )
