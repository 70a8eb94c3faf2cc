"""A table read in parts is the table read at once, and complains of the same places."""

from __future__ import annotations

import csv
import os
from contextlib import nullcontext
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from fairbench.data.csv_files import sniff
from fairbench.data.tables import TableStream, read_table
from fairbench.data.writing import TableWriter
from fairbench.errors import DataError

TEXT = """ name , n,word
 ann ,1, "a, b"
"bo
b",, NA
,2.50 ,c

dee,007,é
"""


def cells(frame: pd.DataFrame) -> list[list[object]]:
    return [
        [None if pd.isna(value) else str(value) for value in row] for row in frame.to_numpy(object)
    ]


@pytest.mark.parametrize("rows", [1, 2, 3, 100])
def test_csv_in_parts_is_csv_at_once(tmp_path: Path, rows: int) -> None:
    path = tmp_path / "t.csv"
    path.write_text(TEXT, encoding="utf-8-sig")
    stream = TableStream(path, rows=rows)
    assert stream.names == ("name", "n", "word")
    parts = list(stream.frames(["word", "n", "name"]))
    whole = read_table(path)
    assert cells(pd.concat([part.astype(object) for part in parts])[[*whole.columns]]) == cells(
        whole
    )
    assert np.concatenate([part.index for part in parts]).tolist() == [0, 1, 2, 3]


def test_a_column_of_lists_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    pd.DataFrame({"a": [1, 2], "tags": [["x"], ["y", "z"]]}).to_parquet(path)
    with pytest.raises(DataError, match="column 'tags' holds list"):
        read_table(path)


def test_text_under_the_name_of_another_format_is_told(tmp_path: Path) -> None:
    path = tmp_path / "fake.parquet"
    path.write_text("a,b\n1,2\n")
    with pytest.raises(DataError, match=r"named .parquet and holds text") as error:
        read_table(path)
    assert "fake.csv" in error.value.hint


def test_parquet_in_parts_is_parquet_at_once(tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    numbers = pa.array([1, None, 3, 4, 5], pa.int64())
    pq.write_table(
        pa.table({"n": numbers, "word": pa.array(list("abcab")).dictionary_encode()}), path
    )
    stream = TableStream(path, rows=2)
    parts = list(stream.frames(["n", "word"]))
    assert [len(part) for part in parts] == [2, 2, 1]
    assert parts[0]["n"].tolist() == [1, None]  # a whole number beside a missing one stays whole
    assert parts[2].index.tolist() == [4]
    assert stream.types(["n", "word"]) == {"n": pa.int64(), "word": pa.string()}


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("a,b\n" + "1,2\n" * 5 + "1,2,3\n", "line 7: 3 fields instead of 2"),
        ("", "is empty"),
        ("\n\n", "only empty lines"),
        ("a,b\n", "column names and no rows"),
        ("a,a\n1,2\n", "2 columns called 'a'"),
        ("a,b\n" + "1,2\n" * 5 + "é,2\n", "line 7: not text in UTF-8"),
        ("PAR1 and more", "damaged Parquet"),
        ("sep=,\na,b,c\n1,2,3\n", "'sep=,', as Excel writes it"),
        ("sep=,\na,b\n1,2\n", "'sep=,', as Excel writes it"),
        ("a,b\n1,5,\n2,7,\n", "line 2: 3 fields instead of 2"),
        ("a,b\n1,5,6\n2,7,8\n", "one name fewer than the other lines have fields"),
    ],
)
def test_a_bad_file_is_told_by_its_place(tmp_path: Path, text: str, says: str) -> None:
    path = tmp_path / "t.csv"
    path.write_bytes(text.encode("latin1"))

    def read() -> None:
        stream = TableStream(path, rows=2)
        list(stream.frames(stream.names))

    with pytest.raises(DataError, match=says):
        read()
    with pytest.raises(DataError, match=says):
        read_table(path)


@pytest.mark.parametrize("name", ["z.csv", "z.parquet"])
def test_what_is_written_is_whole_or_not_there(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    part = pa.table({"z0": pa.array([1.5, 2.0], pa.float32()), "id": ["a", None]})
    with TableWriter(path) as writer:
        writer.write(part)
        assert not path.exists()
        writer.write(part)
    found = pd.read_csv(path) if name.endswith("csv") else pd.read_parquet(path)
    assert found["z0"].tolist() == [1.5, 2.0, 1.5, 2.0]
    before = path.read_bytes()

    def interrupted() -> None:
        with TableWriter(path) as writer:
            writer.write(part)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("name", ["z.csv", "z.parquet"])
@pytest.mark.parametrize("fails", [False, True])
def test_nothing_stays_open(tmp_path: Path, name: str, fails: bool) -> None:
    writer = TableWriter(tmp_path / name)

    def write() -> None:
        with writer:
            writer.write(pa.table({"z0": [1.5]}))
            if fails:
                raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt) if fails else nullcontext():
        write()
    assert writer._stream.closed
    assert [path.name for path in tmp_path.iterdir()] == ([] if fails else [name])


def test_a_separator_that_cannot_be_read_with_does_not_fit(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    long = "x" * (csv.field_size_limit() + 1)
    path.write_text(f"a;b\n1;2\n{long};3\n")
    assert sniff(path) == (",", True)
    path.write_text(f"a b\n{'x ' * (len(long) // 2)}\n")  # too long but where blanks separate
    assert sniff(path) == (",", True)


def test_where_nothing_can_be_written_is_told_first(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="suffix must name"):
        TableWriter(tmp_path / "z.txt")
    (tmp_path / "z.csv").mkdir()
    with pytest.raises(DataError, match="is a folder"):
        TableWriter(tmp_path / "z.csv")
    with (
        pytest.raises(DataError, match="cannot be written: No such file"),
        TableWriter(tmp_path / "nowhere" / "z.csv"),
    ):
        raise AssertionError


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("age,2020,2021,sex\n33,1.5,2.5,m\n44,2.5,3.5,f\n", (",", True)),  # a word above numbers
        ("0,1,2,3\n.5,.1,.2,.9\n", (",", True)),  # as pandas writes columns without names
        ("0,1,2,3\n1,0,0,2\n", (",", False)),  # codes
        ("0,1\n.5,.1\n", (",", False)),
        ("1.5,m\n2.5,f\n", (",", False)),
        ("?,m,3\n2.5,f,4\n", (",", False)),  # a missing number is no name
        ("n/a,m,3\n2.5,f,4\n", (",", False)),
        # words that are no values of their columns, above some that repeat; and no number among
        # those below
        ("sex,2020,2021,hired\n" + "f,high,low,no\nm,low,low,yes\n" * 3, (",", True)),
        ("sex,2020,2021,hired\n" + "f,1.5,2.5,no\nm,2.5,3.5,yes\n" * 3, (",", True)),
        ("cuba,39,male,no\n" + "italy,38,male,no\nitaly,50,female,no\n" * 3, (",", False)),
        ("cuba,39,7\n" + "italy,38,6\nitaly,50,8\n" * 3, (",", False)),
        ("anna,m,3\nmaria,f,4\nlucia,f,3\n", (",", False)),  # all words differ: names of people
        ('age;note\n33;"one,\ntwo, three\nfour"\n44;x\n' * 30, (";", True)),
        ("0.5\n1.5\n2.5\n", (",", False)),  # one column of numbers, without a name
        ("z\n1.5\n2.5\n", (",", True)),
        ('age\tnote\n33\t"a; b\n; c"\n', ("\t", True)),
    ],
)
def test_separator_and_names_are_guessed_from_whole_rows(
    text: str, found: tuple[str, bool], tmp_path: Path
) -> None:
    path = tmp_path / "some.csv"
    path.write_text(text)
    assert sniff(path) == found


def test_a_first_line_with_a_name_that_was_given_is_the_header(tmp_path: Path) -> None:
    path = tmp_path / "years.csv"
    path.write_text("sex,2020,pay\nf,low,high\nm,high,low\n")
    assert sniff(path) == (",", False)
    assert sniff(path, ["sex"]) == (",", True)
    assert sniff(path, ["gender"]) == (",", False)


def test_a_pipe_is_not_called_empty(tmp_path: Path) -> None:
    path = tmp_path / "pipe"
    os.mkfifo(path)
    with pytest.raises(DataError, match="is a pipe, which can be read only once"):
        TableStream(path, rows=2)
