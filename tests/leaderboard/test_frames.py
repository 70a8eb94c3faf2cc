"""Leaderboards as frames: they come back as they were written, with their types."""

import csv
import re
from pathlib import Path

import pandas as pd
import pytest

import fairbench
from fairbench.errors import DataError
from fairbench.leaderboard.frames import to_csv, to_frame

PUBLISHED = Path(__file__).parents[2] / "leaderboards"


def test_a_table_comes_back_with_its_types(tmp_path: Path) -> None:
    rows = [
        {
            "rank_low": 1,
            "method": "na",
            "dataset": "distortion",
            "track": "blind",
            "complete": True,
            "mutual_information": 0.5,
        },
        {
            "rank_low": None,
            "method": "b",
            "dataset": "distortion",
            "track": "blind",
            "complete": False,
            "mutual_information": None,
        },
    ]
    path = tmp_path / "d.csv"
    to_frame(rows).to_csv(path, index=False)
    found = fairbench.load_leaderboard(path)
    assert [str(t) for t in found.dtypes] == [
        *("Int64", "string", "string", "string", "boolean", "Float64")
    ]
    assert found["method"].tolist() == ["na", "b"]
    assert found["rank_low"].isna().tolist() == [False, True]
    assert found.loc[0, "mutual_information"] == 0.5


TEXTS = [
    *("=1+1", "+1", "-1", "-beta", "@SUM(A1)", "\t=1", "\r=1", '=HYPERLINK("http://x";"y")'),
    *("'=1", "''=1", "'", "'it", "-", "=", "beta=1", "a=b", "plain", "=1\n=2", "=a,b"),
]


def test_no_text_is_a_formula_and_all_come_back(tmp_path: Path) -> None:
    row = {"dataset": "d", "track": "blind", "complete": True, "distortion": -1.5, "seed": -1}
    rows = [{"method": text, "=column": -0.5, **row} for text in TEXTS]
    path = tmp_path / "d.csv"
    path.write_bytes(to_csv(to_frame(rows)).encode())
    with path.open(newline="") as stream:
        cells = [cell for line in csv.reader(stream) for cell in line]
    texts = [cell for cell in cells if not re.fullmatch(r"-?[0-9.]+", cell)]
    assert [cell for cell in texts if cell[0] in "=+-@\t\r" and len(cell) > 1] == []
    assert cells.count("-1.5") == len(TEXTS)  # numbers are numbers
    found = fairbench.load_leaderboard(path)
    assert found["method"].tolist() == TEXTS
    assert found["distortion"].tolist() == [-1.5] * len(TEXTS)
    assert found["=column"].tolist() == [-0.5] * len(TEXTS)


def test_tables_without_such_texts_are_as_pandas_writes_them() -> None:
    rows = [
        {"method": "a", "rank_low": 1, "complete": True, "may_be_best": None, "x": 0.25},
        {"method": None, "rank_low": None, "complete": False, "may_be_best": True, "x": None},
    ]
    frame = to_frame(rows)
    assert to_csv(frame) == frame.to_csv(index=False, lineterminator="\n")


@pytest.mark.parametrize("path", sorted(PUBLISHED.glob("*.csv")), ids=lambda path: path.name)
def test_published_tables_round_trip(path: Path, tmp_path: Path) -> None:
    found = fairbench.load_leaderboard(path)
    again = tmp_path / path.name
    found.to_csv(again, index=False)
    pd.testing.assert_frame_equal(fairbench.load_leaderboard(again), found)


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (None, "cannot be read"),
        ("", "not a CSV"),
        ("a,b\n1,2\n", "no column"),
        ("method,dataset,track,aufdc\nx,d,blind,much\n", "'aufdc'"),
        (
            "method,dataset,track,complete\nx,d,blind,maybe\n",
            "'complete' holds what is not T",
        ),
    ],
)
def test_what_is_no_leaderboard_is_told(tmp_path: Path, content: str | None, says: str) -> None:
    path = tmp_path / "x.csv"
    if content is not None:
        path.write_text(content)
    with pytest.raises(DataError, match=says):
        fairbench.load_leaderboard(path)


def test_what_a_spreadsheet_saved_is_read(tmp_path: Path) -> None:
    path = tmp_path / "saved.csv"
    path.write_text("method,dataset,track,complete\na,d,blind,TRUE\nb,d,blind,FALSE\nc,d,blind,\n")
    assert fairbench.load_leaderboard(path)["complete"].tolist() == [True, False, pd.NA]


def test_a_table_of_version_0_1_is_read_under_the_present_names(tmp_path: Path) -> None:
    path = tmp_path / "old.csv"
    path.write_text(
        "rank,ranked_by,method,dataset,track,a_y_at_i10,i_max\n1,a_y_at_i10,m,d,aware,0.8,0.3\n"
    )
    with pytest.warns(FutureWarning, match="fairbench 0.1"):
        found = fairbench.load_leaderboard(path)
    assert list(found.columns[-2:]) == ["accuracy_y_at_leakage_10", "mutual_information_max"]
    assert found.loc[0, found.loc[0, "ranked_by"]] == 0.8
