"""New rows are encoded as those of the dataset were, however the file is cut into parts."""

from __future__ import annotations

import csv
import re
import unicodedata
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from fairbench.api import Coding, Floats, Ints, Role
from fairbench.api.method import Representation
from fairbench.config import split_names
from fairbench.data.column_values import Decimal
from fairbench.data.prepared import Prepared
from fairbench.data.preprocessing import Preprocessing
from fairbench.data.unknown import Unknown
from fairbench.errors import DataError
from fairbench.models.encode import EncodingSummary, RowEncoder
from tests.support.small_table import make_table


class Doubled(Representation):
    """x twice, and noise where there is a generator."""

    def encode(
        self, x: Floats, *, s: Ints | None = None, generator: np.random.Generator | None = None
    ) -> Floats:
        noise = 0.0 if generator is None else generator.normal(size=x.shape)
        return (2 * x + noise).astype(np.float32)


@pytest.fixture
def encoder(prepared: Prepared) -> RowEncoder:
    assert prepared.preprocessing is not None
    return RowEncoder(Doubled(), prepared.preprocessing, Coding.DETERMINISTIC)


def counts(done: EncodingSummary) -> dict[str, int]:
    """How many values were replaced, by column."""
    return {name: values.count for name, values in done.replaced.items()}


@pytest.fixture
def people(tmp_path: Path) -> Path:
    """The rows that the dataset was made of, and an id."""
    frame = make_table().x.assign(id=[f"{i:04}" for i in range(2000)])
    frame.to_csv(tmp_path / "people.csv", index=False)
    frame.to_parquet(tmp_path / "people.parquet")
    return tmp_path / "people.csv"


@pytest.mark.thorough
def test_parts_and_formats_make_no_difference(
    encoder: RowEncoder, people: Path, prepared: Prepared
) -> None:
    found = {}
    for name, rows in (("people.csv", 7), ("people.csv", 5000), ("people.parquet", 300)):
        target = people.parent / f"z{len(found)}.parquet"
        done = encoder.encode_file(people.parent / name, target, keep=["id"], rows=rows)
        assert (done.rows, done.dimensions, done.replaced) == (2000, 3, {})
        found[target] = pd.read_parquet(target)
    first, *others = found.values()
    assert list(first.columns) == ["z0", "z1", "z2", "id"]
    assert first["id"].tolist() == [f"{i:04}" for i in range(2000)]
    for other in others:
        pd.testing.assert_frame_equal(first, other)
    every = np.concatenate([2 * prepared.roles[role].x for role in Role])
    z = first[["z0", "z1", "z2"]].to_numpy()
    np.testing.assert_array_equal(z[np.lexsort(z.T)], every[np.lexsort(every.T)])


class Kept(Representation):
    """The first column of x."""

    def encode(
        self, x: Floats, *, s: Ints | None = None, generator: np.random.Generator | None = None
    ) -> Floats:
        return x[:, :1].copy()

    def input_columns(self) -> Sequence[int]:
        return [0]


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_columns_that_the_encoder_does_not_read_may_be_absent_or_unknown(
    prepared: Prepared, people: Path, ending: str
) -> None:
    assert prepared.preprocessing is not None
    encoder = RowEncoder(Kept(), prepared.preprocessing, Coding.DETERMINISTIC)
    assert encoder.used.unused == ("noise", "colour")
    frame = make_table().x
    changed = frame.assign(colour="violet", noise=None)
    for name, table in (("all", frame), ("one", frame[["shifted"]]), ("changed", changed)):
        source = people.parent / f"{name}.{ending}"
        table.to_csv(source, index=False) if ending == "csv" else table.to_parquet(source)
        encoder.encode_file(source, people.parent / f"z-{name}.parquet")
    z = [pd.read_parquet(people.parent / f"z-{name}.parquet") for name in ("all", "one", "changed")]
    pd.testing.assert_frame_equal(z[0], z[1])
    pd.testing.assert_frame_equal(z[0], z[2])
    frame[["noise"]].to_csv(people.parent / "other.csv", index=False)
    with pytest.raises(DataError, match="no column 'shifted'"):
        encoder.encode_file(people.parent / "other.csv", people.parent / "z.parquet")


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_columns_may_be_in_another_unicode_form(
    encoder: RowEncoder, people: Path, ending: str
) -> None:
    accented = {"shifted": "de\u0301cale\u0301", "id": "nume\u0301ro"}
    composed = {name: unicodedata.normalize("NFC", text) for name, text in accented.items()}
    features = tuple(
        replace(one, source=composed.get(one.source, one.source))
        for one in encoder.preprocessing.features
    )
    renamed = replace(encoder, preprocessing=replace(encoder.preprocessing, features=features))
    source = people.parent / f"accented.{ending}"
    frame = make_table().x.assign(id=[f"{i:04}" for i in range(2000)]).rename(columns=accented)
    frame.to_csv(source, index=False) if ending == "csv" else frame.to_parquet(source)
    renamed.encode_file(source, people.parent / "a.parquet", keep=[composed["id"]])
    encoder.encode_file(people, people.parent / "b.parquet", keep=["id"])
    a, b = (pd.read_parquet(people.parent / f"{name}.parquet") for name in "ab")
    pd.testing.assert_frame_equal(a.rename(columns={composed["id"]: "id"}), b)


def test_csv_holds_what_parquet_holds(encoder: RowEncoder, people: Path) -> None:
    for ending in ("csv", "parquet"):
        encoder.encode_file(people, people.parent / f"z.{ending}", keep=["id"])
    csv = pd.read_csv(people.parent / "z.csv", dtype={"id": str}).astype(
        {"z0": "float32", "z1": "float32", "z2": "float32"}
    )
    pd.testing.assert_frame_equal(csv, pd.read_parquet(people.parent / "z.parquet"))


def test_kept_columns_stand_as_in_a_csv(encoder: RowEncoder, people: Path) -> None:
    ids = ["NA", "null", " a ", "007", "", "1.50"]
    frame = pd.read_csv(people, dtype=str).head(len(ids)).assign(id=ids)
    frame.loc[1, "noise"] = "NA"
    frame.to_csv(people, index=False, quoting=csv.QUOTE_ALL)
    common = RowEncoder(Doubled(), encoder.preprocessing, encoder.coding, Unknown.COMMON)
    done = common.encode_file(people, people.parent / "z.parquet", keep=["id", "noise"], rows=4)
    assert counts(done) == {"noise": 1}  # missing to the encoder, and yet kept
    found = pd.read_parquet(people.parent / "z.parquet")
    assert found["id"].tolist() == ids
    assert found["noise"].tolist() == frame["noise"].tolist()
    common.encode_file(people, people.parent / "z.csv", keep=["id"])
    again = pd.read_csv(people.parent / "z.csv", dtype=str, keep_default_na=False)
    assert again["id"].tolist() == ids


def test_kept_columns_stand_as_in_a_parquet_file(encoder: RowEncoder, people: Path) -> None:
    frame = make_table().x.head(4)
    table = pa.Table.from_pandas(frame, preserve_index=False)
    kept = {
        "score": pa.array([float("nan"), None, 1.5, 2.0]),
        "id": pa.array(["NA", " a", None, ""]),
        "n": pa.array([2**60 + 1, None, 3, 4]),
        "kind": pa.array(["x", None, "y", "x"]).dictionary_encode(),
        "when": pa.array([1, 2, None, 4], pa.timestamp("us")),
        "many": pa.array([[1, 2], None, [], [3]]),
    }
    for name, column in kept.items():
        table = table.append_column(name, column)
    source, target = people.parent / "kept.parquet", people.parent / "z.parquet"
    pq.write_table(table, source)
    encoder.encode_file(source, target, keep=list(kept), rows=3)
    found = pq.read_table(target)
    for name, column in kept.items():
        assert str(found[name].to_pylist()) == str(column.to_pylist()), name  # nan is no equal


def test_a_column_that_a_csv_cannot_hold_is_named(encoder: RowEncoder, people: Path) -> None:
    table = pa.Table.from_pandas(make_table().x.head(2), preserve_index=False)
    source = people.parent / "lists.parquet"
    pq.write_table(table.append_column("many", pa.array([[1], [2]])), source)
    before = set(people.parent.iterdir())
    with pytest.raises(DataError, match=r"z.csv cannot be written: .*list") as said:
        encoder.encode_file(source, people.parent / "z.csv", keep=["many"])
    assert "out of --keep" in said.value.hint
    assert set(people.parent.iterdir()) == before


def test_unknown_values_are_counted_over_all_parts(encoder: RowEncoder, people: Path) -> None:
    frame = pd.read_csv(people, dtype=str)
    frame.loc[[3, 900, 1999], "colour"] = "violet"
    frame.loc[1500, "noise"] = None
    frame.to_csv(people, index=False)
    with pytest.raises(DataError, match=r"people.csv, row 4: colour is 'violet'"):
        encoder.encode_file(people, people.parent / "z.csv", rows=100)
    assert not (people.parent / "z.csv").exists()
    common = RowEncoder(Doubled(), encoder.preprocessing, encoder.coding, Unknown.COMMON)
    done = common.encode_file(people, people.parent / "z.csv", rows=100)
    assert counts(done) == {"colour": 3, "noise": 1}
    assert (done.replaced["colour"].example, done.replaced["noise"].missing) == ("violet", 1)
    assert encoder.preprocessing.warnings_of(done.replaced, done.rows) == []


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_a_column_in_another_spelling_is_told_of_and_never_emptied_without_a_word(
    encoder: RowEncoder, people: Path, ending: str
) -> None:
    """As of truth values that Excel wrote: TRUE and FALSE."""
    frame = make_table().x
    frame["colour"] = frame["colour"].str.upper()
    source = people.parent / f"capitals.{ending}"
    frame.to_csv(source, index=False) if ending == "csv" else frame.to_parquet(source)
    with pytest.raises(DataError, match=r"\(\d+ such rows here\)") as error:
        encoder.encode_file(source, people.parent / "z.csv", rows=100)
    assert "'GREEN' is spelled 'green'" in error.value.hint
    assert "--unknown" not in error.value.hint
    common = replace(encoder, unknown=Unknown.COMMON)
    done = common.encode_file(source, people.parent / "z.csv", rows=100)
    (warning,) = encoder.preprocessing.warnings_of(done.replaced, done.rows)
    assert "colour: all 2,000 values are unknown to the encoder, such as" in warning
    assert "the column says nothing of these people any more" in warning
    assert "'GREEN' is spelled 'green'" in warning


@pytest.mark.parametrize(
    ("rows", "other", "says"),
    [
        (2000, "RED ", "only spelled in another way became"),
        (2000, "7", None),
        (6, "7", "colour: 3 of 6 values are unknown .* such as '7'.* nothing of these 3 people"),
        (4, "7", None),
        (6, None, "colour: 3 of 6 values are missing, and became .* nothing of these 3 people"),
    ],
    ids=["spelling", "few values", "half of them", "too few rows", "missing"],
)
def test_a_warning_tells_of_columns_that_replacing_has_emptied(
    encoder: RowEncoder, people: Path, rows: int, other: str | None, says: str | None
) -> None:
    frame = make_table().x.head(rows)
    frame.loc[:2, "colour"] = other
    source = people.parent / "new.parquet"
    frame.to_parquet(source)
    common = replace(encoder, unknown=Unknown.COMMON)
    done = common.encode_file(source, people.parent / "z.csv", rows=max(2, rows // 20))
    told = encoder.preprocessing.warnings_of(done.replaced, done.rows)
    assert len(told) == (says is not None)
    assert says is None or re.search(says, told[0])


def test_where_most_values_are_unknown_the_advice_is_to_look_at_the_coding(
    encoder: RowEncoder, people: Path
) -> None:
    make_table().x.assign(colour="7").to_csv(people, index=False)
    with pytest.raises(DataError, match="colour is '7'") as error:
        encoder.encode_file(people, people.parent / "z.csv")
    assert error.value.hint.startswith("Is the column coded in another way?")
    assert "With --unknown common all these rows become the most common, " in error.value.hint


def test_numbers_far_from_those_of_the_training_are_counted(
    encoder: RowEncoder, people: Path
) -> None:
    """As ages in months: nothing is wrong with such a number, but much with its code."""
    frame = pd.read_csv(people)
    frame.loc[[3, 900], "noise"] = 1e4
    frame.to_csv(people, index=False)
    done = encoder.encode_file(people, people.parent / "z.csv", rows=100)
    assert done.far == {"noise": 2}
    assert done.rows == 2000


def test_an_error_late_in_the_file_leaves_nothing_and_says_the_row(
    encoder: RowEncoder, people: Path
) -> None:
    frame = pd.read_csv(people, dtype=str)
    frame.loc[1700, "noise"] = "lots"
    frame.to_csv(people, index=False)
    before = set(people.parent.iterdir())
    reported: list[int] = []
    with pytest.raises(DataError, match=r"row 1701: the column 'noise' of numbers holds 'lots'"):
        encoder.encode_file(people, people.parent / "z.parquet", rows=100, report=reported.append)
    assert reported[-1] >= 1600  # what came before had been encoded
    assert set(people.parent.iterdir()) == before


def test_an_interruption_leaves_nothing(encoder: RowEncoder, people: Path) -> None:
    def stop(done: int) -> None:
        if done >= 200:
            raise KeyboardInterrupt

    before = set(people.parent.iterdir())
    with pytest.raises(KeyboardInterrupt):
        encoder.encode_file(people, people.parent / "z.parquet", rows=100, report=stop)
    assert set(people.parent.iterdir()) == before


def test_stochastic_draws_repeat_by_their_seed_alone(encoder: RowEncoder, people: Path) -> None:
    def drawn(seed: int | None) -> pd.DataFrame:
        one = RowEncoder(Doubled(), encoder.preprocessing, Coding.STOCHASTIC, random_state=seed)
        one.encode_file(people, people.parent / "z.parquet")
        return pd.read_parquet(people.parent / "z.parquet")

    pd.testing.assert_frame_equal(drawn(1), drawn(1))
    assert not drawn(1).equals(drawn(2))
    assert not drawn(None).equals(drawn(None))


def test_a_mistake_in_the_request_is_named(encoder: RowEncoder, people: Path) -> None:
    folder = people.parent
    for source, target, keep, says in (
        (people, people, (), "is the input itself"),
        (people, folder / "z.csv", ("idd",), "no column 'idd', which --keep names"),
        (people, folder / "z.csv", ("a", "id", "b"), "no columns 'a' and 'b', which --keep names"),
        (folder / "other.csv", folder / "z.csv", (), "no file"),
    ):
        with pytest.raises(DataError, match=says):
            encoder.encode_file(source, target, keep=keep)
    renamed = pd.read_csv(people).rename(columns={"id": "z1"})
    renamed.to_csv(people, index=False)
    with pytest.raises(DataError, match="z has a column of that name"):
        encoder.encode_file(people, folder / "z.csv", keep=["z1"])
    renamed.rename(columns={"noise": "nose"}).to_csv(people, index=False)
    with pytest.raises(DataError, match=r"no column 'noise', which the encoder takes"):
        encoder.encode_file(people, folder / "z.csv")
    renamed[["shifted"]].to_csv(people, index=False)
    with pytest.raises(DataError, match=r"no columns '(noise|colour)' and '(noise|colour)', which"):
        encoder.encode_file(people, folder / "z.csv")


@pytest.mark.parametrize(
    ("decimal", "written", "says"),
    [
        (".", "3003,78", "a decimal comma, and the training rows have a decimal point: .* 3003.78"),
        (".", "3,003.78 \u20ac", "with a decimal point: without signs .* without thousands"),
        (".", "3\u202f003,78\u00a0\u20ac", "with a decimal point: without signs"),
        (".", "9,7%", "without signs"),
        (".", "3,003", "without thousands separators, and with a decimal point"),
        (",", "3.003,78", "without thousands separators, and with a decimal comma"),
        (".", "many", "^Correct it, or leave the row out"),
    ],
)
def test_numbers_in_another_notation_are_told_how_to_write(
    encoder: RowEncoder, people: Path, decimal: Decimal, written: str, says: str
) -> None:
    preprocessing = replace(encoder.preprocessing, decimal=decimal)
    make_table().x.assign(noise=written).to_csv(people, index=False)
    with pytest.raises(DataError, match="which is not a finite number") as error:
        replace(encoder, preprocessing=preprocessing).encode_file(people, people.parent / "z.csv")
    assert re.search(says, error.value.hint)


def test_codes_are_written_as_they_were_audited(encoder: RowEncoder, people: Path) -> None:
    """In single precision, zeros without a sign: auditors see no more."""

    class Detailed(Doubled):
        def encode(
            self,
            x: Floats,
            *,
            s: Ints | None = None,
            generator: np.random.Generator | None = None,
        ) -> Floats:
            return np.where(x > 0, 1.0, np.copysign(0.0, x - x.mean())) * (1 + 1e-9 * x)

    detailed = RowEncoder(Detailed(), encoder.preprocessing, Coding.QUANTISED)
    for name in ("z.csv", "z.parquet"):
        detailed.encode_file(people, people.parent / name)
    written = pd.read_parquet(people.parent / "z.parquet")
    for z in (written, pd.read_csv(people.parent / "z.csv")):
        assert set(np.unique(z)) == {0.0, 1.0}
        assert not np.signbit(z.to_numpy()).any()
    assert set(written.dtypes) == {np.dtype(np.float32)}


def test_a_kept_column_may_have_a_comma_in_its_name(encoder: RowEncoder, people: Path) -> None:
    named = pd.read_csv(people).rename(columns={"id": "id, old"})
    named.to_csv(people, index=False)
    target = people.parent / "z.csv"
    encoder.encode_file(people, target, keep=split_names("id, old"))
    assert list(pd.read_csv(target).columns)[-1] == "id, old"


def test_a_code_that_is_no_number_is_named_by_its_row(people: Path, encoder: RowEncoder) -> None:
    class Bad(Doubled):
        def encode(
            self,
            x: Floats,
            *,
            s: Ints | None = None,
            generator: np.random.Generator | None = None,
        ) -> Floats:
            z = super().encode(x)
            z[5] = np.inf
            return z

    bad = RowEncoder(Bad(), encoder.preprocessing, Coding.DETERMINISTIC)
    with pytest.raises(DataError, match=r"row 6: its z is not finite"):
        bad.encode_file(people, people.parent / "z.csv")


def test_floating_categories_are_read_alike_in_all_parts(tmp_path: Path) -> None:
    kept = Preprocessing.from_json(
        {
            "features": [{"name": "c", "source": "c", "categories": ["1.0", "1.5", "2.0"]}],
            "mean": [0.0],
            "scale": [1.0],
            "common": {"c": "1.0"},
        }
    )
    frame = pd.DataFrame({"c": [1.0, 2.0, 1.5, 1.0]})
    frame.to_parquet(tmp_path / "c.parquet")
    encoder = RowEncoder(Doubled(), kept, Coding.DETERMINISTIC)
    for rows in (2, 4):
        encoder.encode_file(tmp_path / "c.parquet", tmp_path / "z.csv", rows=rows)
        assert pd.read_csv(tmp_path / "z.csv")["z0"].tolist() == [0.0, 4.0, 2.0, 0.0]


@pytest.mark.parametrize("zone", [None, "Europe/Berlin"])
def test_times_as_categories_are_read_alike_in_all_parts(tmp_path: Path, zone: str | None) -> None:
    texts = ["2021-01-01", "2021-01-01 12:00:00", "2021-01-02 06:00:00.5", "2021-01-03"]
    times = pd.Series(pd.to_datetime(texts, format="ISO8601")).dt.tz_localize(zone)
    kept = Preprocessing.from_json(
        {
            "features": [{"name": "c", "source": "c", "categories": list(times.astype(str))}],
            "mean": [0.0],
            "scale": [1.0],
            "common": {"c": str(times.astype(str)[0])},
        }
    )
    pd.DataFrame({"c": times}).to_parquet(tmp_path / "c.parquet")
    encoder = RowEncoder(Doubled(), kept, Coding.DETERMINISTIC)
    for rows in (1, 2, 4):
        encoder.encode_file(tmp_path / "c.parquet", tmp_path / "z.csv", rows=rows)
        assert pd.read_csv(tmp_path / "z.csv")["z0"].tolist() == [0.0, 2.0, 4.0, 6.0]
    pd.DataFrame({"c": times + pd.Timedelta("1h")}).to_parquet(tmp_path / "c.parquet")
    with pytest.raises(DataError, match="such rows here"):
        encoder.encode_file(tmp_path / "c.parquet", tmp_path / "z.csv")
