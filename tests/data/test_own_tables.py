"""Own tables as other programs write them: values are read as they were meant, or refused."""

from __future__ import annotations

import json
import warnings
from decimal import Decimal
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from fairbench.api import Feature
from fairbench.data.array_checks import check_features, check_matrix
from fairbench.data.array_files import parse_source, read_sources
from fairbench.data.card_dataset import dataset_from_card
from fairbench.data.csv_files import index_column
from fairbench.data.in_memory import named
from fairbench.data.loading import load_dataset
from fairbench.data.prepared import Prepared
from fairbench.data.preprocessing import Preprocessing
from fairbench.data.shift import shifted
from fairbench.data.tables import TableStream, read_table
from fairbench.data.unknown import Replaced, Unknown
from fairbench.errors import DataError, UnknownValueError
from fairbench.files.paths import split_paths


def people(n: int = 900) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    return pd.DataFrame(
        {
            "age": rng.integers(18, 80, n),
            "job": rng.choice(["cook", "driver", "clerk"], n),
            "sex": rng.choice(["f", "m"], n),
            "race": rng.choice(["black", "white"], n),
            "hired": rng.choice(["no", "yes"], n),
        }
    )


def prepared(folder: Path, table: pd.DataFrame, card: str, ending: str = "parquet") -> Prepared:
    file = folder / f"people.{ending}"
    table.to_parquet(file) if ending == "parquet" else table.to_csv(file, index=False)
    text = f"file: {file.name}\nlabels: hired\n{card}\n"
    (folder / "people.yaml").write_text(text, encoding="utf-8")
    return load_dataset(dataset_from_card(folder / "people.yaml"))


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_marks_of_missing_values_are_found_among_numbers(ending: str, tmp_path: Path) -> None:
    table = people()
    table.loc[:99, "age"] = -999
    card = 'sensitive: sex\nmissing: drop\nmissing_values: ["-999", "?"]'
    data = prepared(tmp_path, table, card, ending)
    assert data.table_rows == 800
    assert any("no cell is '?', which `missing_values` names" in note for note in data.notes)
    assert not any("-999" in note for note in data.notes)


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_marks_of_missing_values_are_those_of_new_rows_too(ending: str, tmp_path: Path) -> None:
    table = people()
    table.loc[:99, "age"] = -999
    table.loc[100:199, "job"] = "?"
    card = 'sensitive: sex\nmissing: drop\nmissing_values: ["-999", "?"]'
    preprocessing = prepared(tmp_path, table, card, ending).preprocessing
    assert preprocessing is not None
    kept = Preprocessing.from_json(json.loads(json.dumps(preprocessing.to_json())))
    for row, column in ((99, "age"), (100, "job")):
        stream = TableStream(tmp_path / f"people.{ending}")
        (new,) = stream.frames(kept.sources)
        with pytest.raises(UnknownValueError, match=f"row {row + 1}: {column} (has|is) no value"):
            kept.apply(new.iloc[[row]], where="new")
        _, replaced = kept.apply(new, where="new", unknown=Unknown.COMMON)
        assert replaced == {"age": Replaced(100, missing=100), "job": Replaced(100, missing=100)}


def test_all_columns_with_unknown_values_are_named_at_once() -> None:
    features = (
        Feature("job", "job", ("clerk", "cook")),
        Feature("age", "age"),
        Feature("town", "town", ("Bern",)),
    )
    common = {"job": "cook", "town": "Bern"}
    kept = Preprocessing(features, np.zeros(3), np.ones(3), common)
    new = pd.DataFrame({"job": ["cook", "pilot"], "age": [None, 30.0], "town": ["Bern", "Bern"]})
    with pytest.raises(UnknownValueError, match=r"job is .pilot.*or missing values: age\.\n"):
        kept.apply(new, where="new")
    with pytest.raises(UnknownValueError, match=r"row 1: age has no value\.\n"):
        kept.apply(new.iloc[:1], where="new")


@pytest.mark.parametrize("half", [2.5, 3.0])
@pytest.mark.parametrize("known", [("1", "2", "3"), ("1.0", "2.0", "3.0")])
def test_a_code_is_known_whatever_stands_in_other_rows(known: tuple[str, ...], half: float) -> None:
    """Codes may be floating-point numbers, all of them whole in one file and not in another."""
    feature = Feature("zip", "zip", known)
    kept = Preprocessing((feature,), np.zeros(1), np.ones(1), {"zip": known[2]})
    new = pd.DataFrame({"zip": [1.0, 2.0, half]})
    x, replaced = kept.apply(new, where="new", unknown=Unknown.COMMON)
    assert x[:, 0].tolist() == [0, 1, 2]
    assert replaced == ({} if half == 3.0 else {"zip": Replaced(1, example="2.5")})


def test_a_number_beyond_single_precision_gives_no_warning() -> None:
    kept = Preprocessing((Feature("age", "age"),), np.zeros(1), np.ones(1), {})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        x, _ = kept.apply(pd.DataFrame({"age": [1e300]}), where="new")
    assert np.isinf(x).all()


def test_a_card_may_lie_in_a_folder_with_a_comma(tmp_path: Path) -> None:
    folder = tmp_path / "staff, 2024"
    folder.mkdir()
    (folder / "staff.yaml").touch()
    names = f"adults, {folder / 'staff.yaml'},compas"
    assert split_paths(names) == ("adults", str(folder / "staff.yaml"), "compas")


def test_infinity_may_be_a_mark_too(tmp_path: Path) -> None:
    table = people().assign(pay=np.random.default_rng(1).random(900))
    table.loc[:9, "pay"] = np.inf
    card = 'sensitive: sex\nmissing: drop\nmissing_values: ["inf"]'
    assert prepared(tmp_path, table, card).table_rows == 890


def test_text_of_parquet_is_read_like_that_of_csv(tmp_path: Path) -> None:
    table = people()
    table["job"] = np.resize(["cook ", " cook", "NA", "", "clerk"], 900)
    for name, written in (("plain", table), ("coded", table.astype({"job": "category"}))):
        file = tmp_path / f"{name}.parquet"
        written.to_parquet(file)
        expected = ["cook", "cook", None, None, "clerk"]
        assert read_table(file)["job"][:5].replace({np.nan: None}).tolist() == expected
        (part,) = TableStream(file).frames(["job"])
        assert part["job"].astype(object)[:5].replace({np.nan: None}).tolist() == expected
    with pytest.raises(DataError, match="'job' has no value"):
        prepared(tmp_path, table, "sensitive: sex")


def test_large_whole_numbers_beside_missing_ones_stay_apart(tmp_path: Path) -> None:
    table = people()
    ids = np.resize([2**60 + 1, 2**60 + 2, None], 900)
    table["office"] = pd.array(ids, dtype="Int64")
    data = prepared(tmp_path, table, "sensitive: office\nmissing: category")
    assert data.info.groups == (str(2**60 + 1), str(2**60 + 2), "missing")


def test_a_copy_of_one_part_of_an_intersection_is_refused(tmp_path: Path) -> None:
    table = people()
    table["code"] = (table["sex"] == "f").astype(int)
    card = "sensitive: [sex, race]"
    with pytest.raises(DataError, match="'code' determines the sensitive column 'sex'"):
        prepared(tmp_path, table, card)
    allowed = prepared(tmp_path, table, f"{card}\nallowed_copies: [code]")
    assert any("100% of the information of the sensitive column" in n for n in allowed.notes)


def test_several_rows_of_the_same_people_are_noted(tmp_path: Path) -> None:
    """Equal rows of people who differ are not, nor where a column tells s of everybody."""

    def noted(table: pd.DataFrame, more: str = "") -> bool:
        notes = prepared(tmp_path, table, f"sensitive: sex{more}").notes
        return any("equal to another one, with the same s" in note for note in notes)

    table = people().assign(income=np.random.default_rng(1).normal(size=900))
    assert not noted(people())
    assert not noted(table)
    twice = pd.concat([table, table])
    assert noted(twice)
    copied = people().assign(code=lambda frame: (frame["sex"] == "f").astype(int))
    assert not noted(copied, "\nallowed_copies: [code]")


def test_a_column_that_tells_people_with_several_rows_apart_is_noted(tmp_path: Path) -> None:
    """Another column varies from visit to visit, so no two rows are equal."""
    patients = people().assign(patient=np.arange(900))
    visits = pd.concat([patients] * 3, ignore_index=True)
    visits["pulse"] = np.random.default_rng(2).normal(size=len(visits))
    (note,) = (n for n in prepared(tmp_path, visits, "sensitive: sex").notes if "people" in n)
    assert note.startswith("rows with one value of 'patient' have one s")
    without = prepared(tmp_path, visits.drop(columns="patient"), "sensitive: sex")
    assert not any("people" in note for note in without.notes)


def test_an_index_of_rows_is_no_column(tmp_path: Path) -> None:
    table = people().sort_values("sex")
    table.to_parquet(tmp_path / "people.parquet")
    assert list(read_table(tmp_path / "people.parquet")) == list(table)
    table.to_csv(tmp_path / "people.csv")
    assert index_column(read_table(tmp_path / "people.csv")) == "column-1"
    z = {"z": parse_source("z", str(tmp_path / "people.csv"))}
    with pytest.raises(DataError, match=r"no name and holds whole numbers(?s:.)*people.csv:age"):
        read_sources(z)
    named_ = {"z": parse_source("z", f"{tmp_path / 'people.csv'}:column-1,age")}
    assert list(read_sources(named_)["z"]) == ["column-1", "age"]


def test_groups_with_one_name_are_not_merged(tmp_path: Path) -> None:
    table = people()
    table["start"] = np.resize([20200101, 20200110, 20200120, 20200140], 900)
    card = "sensitive: {column: start, bins: [20200102, 20200116, 20200132]}"
    assert len(prepared(tmp_path, table, card).info.groups) == 4
    table["race"] = np.resize(["black", "black african"], 900)
    table["church"] = np.resize(["african church", "church", "church"], 900)
    with pytest.raises(DataError, match="would be one group, 'black african church'"):
        prepared(tmp_path, table, "sensitive: [race, church]")


def test_an_unseen_task_is_neither_s_nor_the_main_task(tmp_path: Path) -> None:
    for column, key in (("sex", "sensitive"), ("hired", "labels")):
        with pytest.raises(DataError, match=f"'{column}' under `{key}` and under `unseen`"):
            prepared(tmp_path, people(), f"sensitive: sex\nunseen: [{column}]")


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("sep=;\nage;sex\n1;f\n", "'sep=;', as Excel writes it"),
        ("age\tsex\n1\t20\tf\n2\t30\tm\n", "one name fewer than the other lines have fields"),
        ("age\n1\n", "only one column if its fields"),
    ],
)
def test_a_first_line_that_does_not_fit_is_told(text: str, says: str, tmp_path: Path) -> None:
    (tmp_path / "people.csv").write_text(text)
    with pytest.raises(DataError, match=says):
        read_table(tmp_path / "people.csv")


def test_the_remedy_for_two_columns_of_one_name_is_one_that_the_reader_has(tmp_path: Path) -> None:
    (tmp_path / "people.csv").write_text("age,sex,age\n1,f,2\n")
    with pytest.raises(DataError, match="2 columns called 'age'") as error:
        read_table(tmp_path / "people.csv")
    assert "in a card, name all columns with `columns:`" in error.value.hint
    # New rows that are encoded have no card.
    with pytest.raises(DataError, match="2 columns called 'age'") as error:
        TableStream(tmp_path / "people.csv")
    assert error.value.hint == "Rename them in the file."


def test_shifts_from_different_values_have_different_names(tmp_path: Path) -> None:
    people().to_csv(tmp_path / "people.csv", index=False)
    card = "file: people.csv\nsensitive: sex\nlabels: hired\ndomains: [{column: age, bins: [40]}]\n"
    (tmp_path / "people.yaml").write_text(card)
    dataset = dataset_from_card(tmp_path / "people.yaml")
    names = {shifted(dataset, f"age={value}").name for value in ("age<40", "age>=40")}
    assert len(names) == 2
    assert shifted(dataset, "race=white").name == "people-shift-race-from-white"
    assert shifted(dataset, "race=Asian American").name == "people-shift-race-from-asian-american"


def test_a_domain_that_is_too_small_is_named(tmp_path: Path) -> None:
    table = people()
    table["part"] = np.where((table["sex"] == "m") & (table.index < 300), "new", "old")
    table.loc[table.index[table["sex"] == "f"][:3], "part"] = "new"
    table.to_csv(tmp_path / "people.csv", index=False)
    card = "file: people.csv\nsensitive: sex\nlabels: hired\ndomains: part\n"
    (tmp_path / "people.yaml").write_text(card)
    dataset = shifted(dataset_from_card(tmp_path / "people.yaml"), "part=old")
    with pytest.raises(DataError, match=r"In the target of the shift: (?s:.)*cut the domains"):
        load_dataset(dataset)


def test_a_number_of_z_is_written_in_one_way(tmp_path: Path) -> None:
    """How it is written could tell s, and auditors see its value alone."""
    (tmp_path / "z.csv").write_text("z0,z1\n0.5,7\n0.50,7\n")
    sources = {name: parse_source(name, f"{tmp_path / 'z.csv'}:z0") for name in ("z", "x")}
    read = read_sources(sources)
    with pytest.raises(DataError, match=r"as '0.5' and '0.50'"):
        check_matrix(read["z"], "z")
    assert check_features(read["x"], "x").tolist() == [[0.5], [0.5]]  # x is not handed out


def test_decimals_of_databases_are_numbers() -> None:
    frame = pd.DataFrame({"pay": [Decimal("1.5"), None, Decimal("-2")], "job": ["a", "b", "c"]})
    held = named(frame, ["pay", "job"])
    assert held["pay"].dtype == float
    assert held["job"].dtype.kind not in "iuf"


def test_a_number_beyond_all_others_is_refused_by_name(tmp_path: Path) -> None:
    table = people().astype({"age": float})
    table.loc[4, "age"] = 1e300
    with pytest.raises(DataError, match=r"'age' holds 1e\+300, so far from its other") as error:
        prepared(tmp_path, table, "sensitive: sex", "csv")
    assert "`missing_values`" in error.value.hint
    data = prepared(tmp_path, table, 'sensitive: sex\nmissing: drop\nmissing_values: ["1e+300"]')
    assert data.table_rows == 899
