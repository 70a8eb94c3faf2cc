"""Health Heritage: what is made of the release's files, malformed files, and the twin."""

from __future__ import annotations

import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from fairbench.api import Role
from fairbench.api.dataset import Table
from fairbench.data.loading import load_dataset
from fairbench.data.prepare import prepare
from fairbench.errors import DataError
from fairbench_datasets.heritage import Heritage, published
from fairbench_datasets.heritage.columns import FEATURES
from fairbench_datasets.heritage.twin import simulate
from tests.support.heritage_files import (
    CLAIMS_HEADER,
    DRUGS_HEADER,
    LABS_HEADER,
    MEMBERS_HEADER,
    SMALL,
    write_release,
    write_small,
)

COLUMNS = (
    "ClaimsCount PayDelay LabCount DrugCount "
    "AMI APPCHOL ARTHSPIN CANCRA CANCRB CANCRM CATAST CHF COPD FLaELEC FXDISLC GIBLEED GIOBSENT "
    "GYNEC1 GYNECA HEART2 HEART4 HEMTOL HIPFX INFEC4 LIVERDZ METAB1 METAB3 MISCHRT MISCL1 MISCL5 "
    "MSC2a3 NEUMENT ODaBNCA PERINTL PERVALV PNCRDZ PNEUM PRGNCY RENAL1 RENAL2 RENAL3 RESPR4 ROAMI "
    "SEIZURE SKNAUT STROKE TRAUMA UTI "
    "ANES EM MED PL RAD SAS SCS SDS SEOA SGS SIS SMCD SMS SNS SO SRS SUS"
)
WOMEN = (4761, 5137, 4347, 6026, 7510, 5976, 5881, 6786, 3622)
MEN = (4901, 5063, 3118, 5063, 6780, 5532, 4736, 5281, 2151)
ARCHIVE = "HHP_release3.zip"


@pytest.fixture(scope="module")
def twin() -> Table:
    return Heritage().simulate()


def zip_of(
    folder: Path,
    files: dict[str, str | bytes],
    *,
    spoil: Callable[[zipfile.ZipFile], None] = lambda archive: None,
    compression: int = zipfile.ZIP_DEFLATED,
) -> Path:
    """Write the release's zip; ``spoil`` may change what its directory will say."""
    folder.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(folder / ARCHIVE, "w", compression) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
        spoil(archive)
    return folder


def nonzero(table: Table, row: int) -> dict[str, int]:
    return {str(name): int(v) for name, v in table.x.iloc[row].items() if v}


def test_a_members_three_years_are_one_row(tmp_path: Path) -> None:
    table = Heritage().load(write_small(tmp_path))
    assert [table.groups[i] for i in table.s] == ["F 0-9", "M 80+", "M 40-49"]
    # 28 + 162 + 0 days; 7+ and 3 drugs; the third claim has neither condition nor procedure.
    assert nonzero(table, 0) == {
        "ClaimsCount": 3,
        "PayDelay": 190,
        "DrugCount": 10,
        "RESPR4": 2,
        "EM": 1,
        "PL": 1,
    }
    # SEPSIS and unknown codes count as claims; 10+ and 9 labs; one field after the other in quotes.
    assert nonzero(table, 1) == {
        "ClaimsCount": 4,
        "PayDelay": 212,
        "LabCount": 19,
        "DrugCount": 7,
        "CHF": 2,
        "MED": 1,
        "EM": 1,
        "SCS": 1,
    }
    assert nonzero(table, 2) == {"LabCount": 2}
    assert {task: list(y) for task, y in table.y.items()} == {"charlson": [0, 1, 0]}


def test_files_of_another_size_than_the_releases_are_told(tmp_path: Path) -> None:
    for folder in (write_small(tmp_path / "a"), zip_of(tmp_path / "b", dict(SMALL))):
        notes = Heritage().load(folder).notes
        assert len(notes) == 4
        assert "that of release 3 has 233,600,090" in " ".join(notes)


def test_columns_and_groups_are_the_papers(tmp_path: Path) -> None:
    table = Heritage().load(write_small(tmp_path))
    assert tuple(table.x.columns) == FEATURES == tuple(COLUMNS.split())
    assert len(FEATURES) == 65
    assert len(table.groups) == 18
    assert table.groups[0] == "F 0-9"
    assert table.groups[13] == "M 40-49"


def test_members_without_age_or_sex_are_dropped_and_others_stay(tmp_path: Path) -> None:
    text = SMALL["Members.csv"]
    everybody = text.replace("103,,F", "103,0-9,F").replace("104,30-39,", "104,30-39,M")
    table = Heritage().load(write_small(tmp_path, Members=everybody))
    assert len(table.s) == 5
    assert list(table.y["charlson"]) == [0, 1, 1, 0, 0]
    assert nonzero(table, 2) == {"ClaimsCount": 1, "PayDelay": 50, "CANCRM": 1, "ANES": 1}
    assert len(Heritage().load(write_small(tmp_path)).s) == 3


def test_prepared_roles_are_disjoint_and_the_zip_gives_the_same(tmp_path: Path) -> None:
    folder = write_release(tmp_path / "a", members=1000, claims=20_000, drugs=3000, labs=2000)
    plain = load_dataset(Heritage, root=folder)
    assert plain.source == "real"
    assert plain.iterations == 74_000
    assert len(plain.info.features) == 65
    rows = [tuple(row) for role in plain.roles.values() for row in role.x]
    assert len(set(rows)) == len(rows) == sum(len(role.s) for role in plain.roles.values())
    train = plain.roles[Role.ENCODER_TRAIN].x
    assert np.abs(train.mean(axis=0)).max() < 1e-4
    assert train.std(axis=0) == pytest.approx(np.ones(65), abs=1e-3)

    content = {f"HHP_release3/{file.name}": file.read_bytes() for file in folder.iterdir()}
    content["HHP_release3/Target.csv"] = b"not read"
    zipped = load_dataset(Heritage, root=zip_of(tmp_path / "b" / "heritage", content).parent)
    assert zipped.origin.endswith(ARCHIVE)
    assert zipped.fingerprint == plain.fingerprint


@pytest.mark.parametrize(
    ("file", "text", "says"),
    [
        ("Members", "", "Members.csv, line 1: the column 'MemberID' is missing; it has nothing"),
        ("Members", f"{MEMBERS_HEADER}\n", "a header and no rows"),
        ("Members", "MemberID,Age,Sex\n1,0-9,F\n", "line 1: the column 'AgeAtFirstClaim' is miss"),
        ("Members", f"{MEMBERS_HEADER}\n1,0-9,F\n2,10-Oct,F\n", "line 3: AgeAtFirstClaim is '10-"),
        ("Members", f"{MEMBERS_HEADER}\n1,0-9,X\n", "line 2: Sex is 'X', not one of F, M"),
        ("Members", f"{MEMBERS_HEADER}\n1,0-9,F\n1,0-9,F\n", "line 3: member 1 was there before"),
        ("Members", f"{MEMBERS_HEADER}\n1,0-9,F\n2,10\n", "line 3: 2 fields instead of 3"),
        ("Members", f"{MEMBERS_HEADER}\n1,,F\n2,0-9,\n", "no member has both an age and a sex"),
        ("Members", f"{MEMBERS_HEADER}\n101,0-9,F\n", r"6 of 9 rows are of members .* not list"),
        ("Claims", SMALL["Claims.csv"][:-4], "line 10: 13 fields instead of 14"),
        ("Claims", SMALL["Claims.csv"].replace("28", "soon"), "line 2: PayDelay is 'soon', not a"),
        ("Claims", SMALL["Claims.csv"].replace("28", "163"), "PayDelay is '163', not a number up"),
        ("Claims", SMALL["Claims.csv"].replace("1-2,M", "2-Jan,M"), "line 5: CharlsonIndex is '2-"),
        ("Claims", SMALL["Claims.csv"].replace("Y2", "Y4"), "line 5: Year is 'Y4', not one of Y1"),
        ("Claims", SMALL["Claims.csv"].replace("103", "1o3"), "line 9: MemberID is '1o3', not a"),
        ("Claims", SMALL["Claims.csv"].replace(',"1"\n', ',"1\n'), r"not a CSV file: .*\(line 10"),
        ("Claims", CLAIMS_HEADER.replace("Year", "MemberID"), "the column 'Year' is missing"),
        (
            "DrugCount",
            f"{DRUGS_HEADER}\n101,Y1,,9+\n",
            r"DrugCount.csv, line 2: DrugCount is '9\+'",
        ),
        ("LabCount", f"{LABS_HEADER}\n101,Y1,,\n", "LabCount.csv, line 2: LabCount is '', not a n"),
    ],
)
def test_a_malformed_file_is_told_with_its_line_and_column(
    tmp_path: Path, file: str, text: str, says: str
) -> None:
    write_small(tmp_path, **{file: text})
    with pytest.raises(DataError, match=says) as caught:
        Heritage().load(tmp_path)
    assert f"{file}.csv" in str(caught.value)
    assert "foreverdata.org" in str(caught.value)


@pytest.mark.parametrize("file", ["Members.csv", "Claims.csv", "DrugCount.csv", "LabCount.csv"])
@pytest.mark.parametrize(
    "garbage",
    [bytes(range(256)) * 50, b"PK\x03\x04" + b"\0" * 5000, b"a" * 200_000],
    ids=["binary", "zip", "long line"],
)
def test_garbage_is_told(tmp_path: Path, file: str, garbage: bytes) -> None:
    write_small(tmp_path)
    (tmp_path / file).write_bytes(garbage)
    with pytest.raises(DataError, match=file) as caught:
        Heritage().load(tmp_path)
    assert len(str(caught.value)) < 500


def test_one_missing_file_is_named(tmp_path: Path) -> None:
    (write_small(tmp_path) / "DrugCount.csv").unlink()
    with pytest.raises(DataError, match=r"DrugCount\.csv is missing"):
        load_dataset(Heritage, root=tmp_path)


def change_claims(**changes: int) -> Callable[[zipfile.ZipFile], None]:
    """Make a zip's directory lie about Claims.csv."""

    def spoil(archive: zipfile.ZipFile) -> None:
        entry = archive.getinfo("Claims.csv")
        for name, value in changes.items():
            setattr(entry, name, value)

    return spoil


LENGTH = len(SMALL["Claims.csv"])


@pytest.mark.parametrize(
    ("spoil", "says"),
    [
        (change_claims(file_size=10_000_000_000), r"'Claims.csv' has 10,000,000,000 bytes"),
        (change_claims(file_size=LENGTH - 40), "damaged: Claims.csv"),
        (change_claims(CRC=1), "damaged: Claims.csv"),
        (change_claims(flag_bits=1), "encrypted: 'Claims.csv' needs a password"),
        (change_claims(compress_type=9), "packs 'Claims.csv' in a way .number 9. that is not read"),
    ],
    ids=["10 GB", "more than claimed", "checksum", "encrypted", "deflate64"],
)
def test_a_zip_that_lies_is_told(
    tmp_path: Path, spoil: Callable[[zipfile.ZipFile], None], says: str
) -> None:
    zip_of(tmp_path, {**SMALL}, spoil=spoil)
    with pytest.raises(DataError, match=says) as caught:
        load_dataset(Heritage, root=tmp_path)
    assert ARCHIVE in str(caught.value)


@pytest.mark.parametrize(
    ("files", "says"),
    [
        ({}, "holds no Members.csv; it holds nothing"),
        ({"readme.txt": "hello"}, "holds no Members.csv; it holds 'readme.txt'"),
        ({"x/HHP_release3.zip": "PK"}, "no Members.csv, but another zip: 'x/HHP_release3.zip'"),
        ({**SMALL, "old/Claims.csv": ""}, "more than one Claims.csv: 'Claims.csv' and 'old/Claims"),
        ({**SMALL, "../Claims.csv": ""}, "unpacked elsewhere, '../Claims.csv'"),
        ({**SMALL, "a/../../b.txt": ""}, "unpacked elsewhere, 'a/../../b.txt'"),
        ({**SMALL, "/etc/b.txt": ""}, "unpacked elsewhere, '/etc/b.txt'"),
        ({**SMALL, "C:\\b.txt": ""}, "unpacked elsewhere"),
        ({**SMALL, "..\\b.txt": ""}, "unpacked elsewhere"),
        ({**SMALL, "Claims.csv": b"\xff\xfe\0"}, "Claims.csv in .* is not a text file"),
    ],
)
def test_a_zip_of_something_else_is_told(
    tmp_path: Path, files: dict[str, str | bytes], says: str
) -> None:
    folder = zip_of(tmp_path / "data", files)
    with pytest.raises(DataError, match=says):
        load_dataset(Heritage, root=folder)
    assert [p.name for p in tmp_path.rglob("*")] == ["data", ARCHIVE]  # nothing was unpacked


def test_a_zip_that_is_none_or_is_cut_short_is_told(tmp_path: Path) -> None:
    whole = (zip_of(tmp_path, {**SMALL}) / ARCHIVE).read_bytes()
    for content in (b"hello", whole[: len(whole) // 2], b""):
        (tmp_path / ARCHIVE).write_bytes(content)
        with pytest.raises(DataError, match="not a zip file, or is damaged"):
            load_dataset(Heritage, root=tmp_path)


def test_the_twin_has_the_releases_groups_and_the_papers_columns(twin: Table) -> None:
    assert tuple(twin.x.columns) == FEATURES
    assert twin.x.shape == (92_671, 65)
    assert {dtype.kind for dtype in twin.x.dtypes} == {"i"}
    assert tuple(np.bincount(twin.s)) == WOMEN + MEN
    assert twin.x["ClaimsCount"].min() == 1
    assert (twin.x.min() >= 0).all()
    assert twin.y["charlson"].mean() == pytest.approx(0.32, abs=0.01)


def test_the_twins_counts_are_near_the_published_ones(twin: Table) -> None:
    """2,668,990 claims of 113,000 members, their delays, and shares of groups among them."""
    mean = twin.x.mean()
    assert mean["ClaimsCount"] == pytest.approx(2_668_990 / 113_000, rel=0.02)
    years = 2_668_990 / 113_000 / 12.145347  # a member's, on average
    assert mean["PayDelay"] == pytest.approx(530.19 * years, rel=0.03)
    assert mean["LabCount"] == pytest.approx(6.4718 * years, rel=0.02)
    assert mean["DrugCount"] == pytest.approx(10.387 * years, rel=0.02)
    for name, real in {"MSC2a3": 4.097, "METAB3": 2.710, "EM": 8.479, "SO": 0.004473}.items():
        share = mean[name] / mean["ClaimsCount"]
        assert share == pytest.approx(real / 23.10, rel=0.1), name
    assert (twin.x[[*FEATURES[4:48]]].sum(axis=1) <= twin.x["ClaimsCount"]).all()
    assert (twin.x[[*FEATURES[48:]]].sum(axis=1) <= twin.x["ClaimsCount"]).all()


@pytest.mark.parametrize(
    ("summary", "quartiles", "mean", "deviation"),
    [
        (published.CLAIMS, (4, 8, 17), 12.145, 11.44),
        (published.LABS, (0, 4, 10), 6.472, 7.73),
        (published.DRUGS, (0, 3, 14), 10.387, 15.72),
    ],
)
def test_a_years_counts_have_the_published_quartiles_and_mean(
    summary: published.CountSummary, quartiles: tuple[int, ...], mean: float, deviation: float
) -> None:
    assert tuple(summary.quantiles(np.array([0.25, 0.5, 0.75]))) == quartiles
    values = summary.quantiles((np.arange(100_000) + 0.5) / 100_000)
    assert values.mean() == pytest.approx(mean, rel=0.005)
    assert values.std() == pytest.approx(deviation, rel=0.08)  # which is not fitted
    assert (np.diff(values) >= 0).all()


def test_x_of_the_twin_tells_of_s_and_y(twin: Table) -> None:
    x, s, ill = twin.x, twin.s, twin.y["charlson"] == 1
    women = s < 9
    assert x["PRGNCY"][women].mean() > 10 * x["PRGNCY"][~women].mean()
    assert x["CHF"][s % 9 == 8].mean() > 3 * x["CHF"][s % 9 == 2].mean()
    assert x["CHF"][ill].mean() > 10 * x["CHF"][~ill].mean()


def test_a_tenth_of_the_twin_can_be_prepared() -> None:
    twin = simulate(rows=9_267)
    data = prepare(twin, Heritage, source="simulated", origin="test")
    assert sum(len(rows.s) for rows in data.roles.values()) == len(twin.s)
    assert len(twin.s) == pytest.approx(9_267, abs=9)
    assert data.info.features[0].name == "ClaimsCount"


def test_the_twin_is_the_same_every_time() -> None:
    first, again, other = (simulate(rows=3_000, seed=seed) for seed in (0, 0, 1))
    assert again.x.equals(first.x)
    assert (again.s == first.s).all()
    assert (again.y["charlson"] == first.y["charlson"]).all()
    assert not other.x.equals(first.x)


def test_without_files_the_twin_stands_in(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("FAIRBENCH_OFFLINE", "1")
    monkeypatch.setenv("FAIRBENCH_CACHE", str(tmp_path))
    monkeypatch.delenv("FAIRBENCH_DATA", raising=False)
    monkeypatch.setattr(Heritage, "simulate", lambda self: simulate(rows=5_000))
    assert load_dataset(Heritage).source == "simulated"
    with pytest.raises(DataError, match=r"Members\.csv, .* \(or HHP_release3\.zip\)"):
        load_dataset(Heritage, require_real=True)
