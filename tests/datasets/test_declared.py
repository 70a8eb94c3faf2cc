"""Declared tables: what becomes of columns, what is refused, and the variant for unseen tasks."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pandas as pd
import pytest

from fairbench.api.dataset import DataFile
from fairbench.errors import DataError
from fairbench_datasets.declared import (
    ByCut,
    ByMeaning,
    Category,
    DeclaredTable,
    Label,
    Number,
)


class Shoes(DeclaredTable):
    name = "shoes"
    summary = "people and their shoes"
    url = "https://example.org/shoes"
    files = (DataFile("shoes.parquet"),)
    columns: ClassVar[Mapping[str, Number | Category]] = {
        "size": Number(20, 50),
        "height": Number(0.5, 2.5, whole=False),
        "colour": Category({9: "red", 1: "blue", 4: "other", 5: "other"}),
        "lace": Category({"n": "without", "y": "with"}),
        "price": Number(0, 1000),
    }
    features = ("size", "height", "colour", "lace")
    attributes: ClassVar[Mapping[str, ByMeaning | ByCut]] = {
        "colour": ByMeaning("colour"),
        "bright": ByMeaning("colour", {"red": "bright", "blue": "dark", "other": "dark"}),
        "tall": ByCut("height", 1.8, "small", "tall"),
    }
    sensitive = ("bright",)
    labels = (Label("dear", "price", "above 100", above=100),)
    unseen = (Label("laced", "lace", "with laces", ("y",)),)
    domains = ("tall",)


class ShoesUnseen(Shoes):
    name = "shoes-unseen"
    is_unseen = True


GOOD: Mapping[str, Sequence[Any]] = {
    "size": [40, 41, 42],
    "height": [1.7, 1.8, 1.9],
    "colour": [9, 1, 5],
    "lace": ["n", "y", "y"],
    "price": [100, 101, 5],
}


def written(folder: Path, **changes: Sequence[Any] | None) -> Path:
    columns = {name: values for name, values in {**GOOD, **changes}.items() if values is not None}
    pd.DataFrame(columns).to_parquet(folder / "shoes.parquet")
    return folder


def test_what_s_is_made_of_is_not_in_x_and_codes_keep_their_order(tmp_path: Path) -> None:
    table = Shoes().load(written(tmp_path))
    assert list(table.x) == ["size", "height", "lace"]
    assert [table.groups[k] for k in table.s] == ["bright", "dark", "dark"]
    assert list(table.x["lace"]) == ["01 without", "02 with", "02 with"]
    assert table.x["height"].tolist() == [1.7, 1.8, 1.9]
    assert table.y["dear"].tolist() == [0, 1, 0]
    assert table.domains["tall"].tolist() == ["small", "tall", "tall"]
    assert not table.transfer


def test_unseen_tasks_are_asked_of_columns_that_are_not_in_x(tmp_path: Path) -> None:
    table = ShoesUnseen().load(written(tmp_path))
    assert list(table.x) == ["size", "height"]
    assert table.transfer["laced"].tolist() == [0, 1, 1]
    assert list(table.y) == ["dear"]


def test_what_else_tells_an_unseen_task_leaves_x_with_it(tmp_path: Path) -> None:
    class Told(ShoesUnseen):
        unseen = (Label("laced", "lace", "with laces", ("y",), also=("height",)),)

    assert list(Told().load(written(tmp_path)).x) == ["size"]
    Told.is_unseen = False
    assert list(Told().load(written(tmp_path)).x) == ["size", "height", "lace"]


def test_codes_of_equal_meaning_are_one_category() -> None:
    column = Shoes.columns["colour"]
    assert list(column.coded(np.array([4, 5, 9]))) == ["03 other", "03 other", "01 red"]


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"size": [40, 51, 42]}, "row 2: size is 51, not a whole number from 20 to 50"),
        ({"size": [40, 40.5, 42]}, "row 2: size is 40.5, not a whole number"),
        ({"size": ["40", "big", "42"]}, "row 2: size is 'big', not a whole number"),
        ({"height": [1.7, np.nan, 1.9]}, "row 2: height is missing"),
        ({"colour": [9, 1, 2]}, "row 3: colour is 2, a code without a meaning"),
        ({"lace": ["n", None, "y"]}, "row 2: lace is missing"),
        ({"lace": ["n", "?" * 80, "y"]}, "row 2: lace is '" + "?" * 40 + "', a code"),
        ({"lace": None}, "the column 'lace' is missing"),
    ],
)
def test_a_bad_cell_is_named(
    tmp_path: Path, changes: Mapping[str, Sequence[Any] | None], told: str
) -> None:
    with pytest.raises(DataError) as raised:
        Shoes().load(written(tmp_path, **changes))
    assert told in str(raised.value)
    assert raised.value.hint == "Get the original file again: https://example.org/shoes"


def test_files_that_are_not_parquet_or_empty_are_told(tmp_path: Path) -> None:
    (tmp_path / "shoes.parquet").write_text("size,height\n1,2\n")
    with pytest.raises(DataError, match="cannot be read as Parquet"):
        Shoes().load(tmp_path)
    pd.DataFrame(GOOD)[:0].to_parquet(tmp_path / "shoes.parquet")
    with pytest.raises(DataError, match="has no rows"):
        Shoes().load(tmp_path)
