"""Numbers, dates and durations that are written otherwise than ``19.8``."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from fairbench.api import Role
from fairbench.data.card_dataset import dataset_from_card
from fairbench.data.column_values import (
    Notation,
    are_dates,
    find_grouped_by_points,
    find_notation,
)
from fairbench.data.loading import load_dataset
from fairbench.data.prepared import Prepared
from fairbench.data.preprocessing import Preprocessing
from fairbench.data.tables import TableStream
from fairbench.errors import DataError
from tests.data.test_card import CARD, people


def load(folder: Path, frame: pd.DataFrame, text: str = CARD, **how: str) -> Prepared:
    frame.to_csv(folder / "people.csv", index=False, **how)  # type: ignore[call-overload]
    (folder / "people.yaml").write_text(text)
    return load_dataset(dataset_from_card(folder / "people.yaml"))


def with_commas(frame: pd.DataFrame) -> pd.DataFrame:
    return frame.assign(score=frame["score"].astype(str).str.replace(".", ","))


def test_a_table_with_decimal_commas_gives_what_one_with_points_gives(tmp_path: Path) -> None:
    points = load(tmp_path, people())
    commas = load(tmp_path, with_commas(people()), CARD + 'decimal: ","\n')
    for role in Role:
        np.testing.assert_array_equal(commas.roles[role].x, points.roles[role].x)
    whole_file = load(
        tmp_path, people(), CARD + 'decimal: ","\nseparator: ";"\n', sep=";", decimal=","
    )
    np.testing.assert_array_equal(whole_file.roles[Role.TEST].x, points.roles[Role.TEST].x)


def test_cuts_and_limits_are_of_numbers_with_a_decimal_comma_too(tmp_path: Path) -> None:
    text = """
file: people.csv
decimal: ","
sensitive: {column: score, bins: [0.5]}
labels: {column: rate, above: 2.5}
"""
    frame = people().assign(rate=lambda t: (t["age"] / 16).round(2).astype(str))
    numbers = frame["rate"].astype(float)
    frame["rate"] = frame["rate"].str.replace(".", ",")
    data = load(tmp_path, with_commas(frame), text)
    y = np.concatenate([rows.y["rate"] for rows in data.roles.values()])
    s = np.concatenate([rows.s for rows in data.roles.values()])
    assert y.sum() == (numbers > 2.5).sum()
    assert s.sum() == (frame["score"] >= 0.5).sum()


def test_numbers_that_would_become_categories_are_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="'score' looks like numbers with a decimal comma") as error:
        load(tmp_path, with_commas(people()))
    assert 'decimal: ","' in error.value.hint
    grouped = people().assign(pay=lambda t: (t.index + 10_000).map("{:,}".format))
    with pytest.raises(DataError, match=r"thousands separators, such as '10,000'"):
        load(tmp_path, grouped)
    assert "category (data new: --category score)" in error.value.hint
    both = grouped.assign(bonus=grouped["pay"].map("£{}".format))
    with pytest.raises(DataError, match=r"order of their text. So do 'bonus' \('£10,000'\)\."):
        load(tmp_path, both)
    # 1.234 is a number, and yet another one, where a comma is the decimal sign
    ambiguous = with_commas(people()).assign(pay=lambda t: (t.index + 10_000) / 1000)
    with pytest.raises(DataError, match="thousands separators"):
        load(
            tmp_path,
            ambiguous.assign(pay=ambiguous["pay"].map("{:.3f}".format)),
            CARD + 'decimal: ","\n',
        )


def test_what_the_card_calls_a_category_is_noted(tmp_path: Path) -> None:
    features = "features: {age: number, score: category, job: category}\n"
    (note,) = load(tmp_path, with_commas(people()), CARD + features).notes
    assert "decimal comma" in note
    assert "score: number" in note


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_new_rows_have_the_decimal_comma_of_their_table(tmp_path: Path, ending: str) -> None:
    frame = with_commas(people())
    data = load(tmp_path, frame, CARD + 'decimal: ","\n')
    assert data.preprocessing is not None
    steps = Preprocessing.from_json(data.preprocessing.to_json())
    new = tmp_path / f"new.{ending}"
    frame.to_csv(new, index=False) if ending == "csv" else frame.to_parquet(new)
    stream = TableStream(new, rows=100)
    x = np.concatenate([steps.apply(f, where="new")[0] for f in stream.frames(steps.sources)])
    numbers = data.roles[Role.TEST].numbers
    np.testing.assert_array_equal(x[numbers], data.roles[Role.TEST].x)


def test_without_a_decimal_comma_the_fingerprint_is_what_it_was(tmp_path: Path) -> None:
    steps = load(tmp_path, people()).preprocessing
    assert steps is not None
    assert "decimal" not in steps.to_json()


@pytest.mark.parametrize(
    ("values", "notation"),
    [
        (["19,8", "20", "-3,25", ",5"], Notation.COMMA),
        (["1,234", "987", "12,345,678"], Notation.GROUPED),
        (["1.234,5", "987,1", "2.000"], Notation.GROUPED),
        (["1 234", "98 765,4"], Notation.GROUPED),
        (["19.8", "20", "1.234"], None),
        (["01.02.2021", "13.12.2020"], None),
        (["cook", "clerk", "1,5"], None),
        (["1,2,3", "2,3", "1,2,4,5"], None),
    ],
)
def test_notations_are_told_apart(values: list[str], notation: Notation | None) -> None:
    found = find_notation(pd.Series(values))
    assert (found and found[0]) is notation


def test_dates_are_noted(tmp_path: Path) -> None:
    days = pd.Timestamp("2021-01-01") + pd.to_timedelta(np.arange(600) % 200, unit="D")
    (note,) = load(tmp_path, people().assign(day=days.strftime("%Y-%m-%d"))).notes
    assert "'day' holds 200 dates, each a category of its own" in note
    for text in ("31.12.2020", "2021-03-04T10:20:30", "2021/3/4", "3/4/21"):
        assert are_dates(pd.Series([text, text]))
    for text in ("Feb 14, 2020", "February 14 2020", "14 feb 2020", "14-FEB-20", "1 May 21, 9:30"):
        assert are_dates(pd.Series([text, text]))
    for text in ("cook", "12", "1-2", "555-12-99-1", "14 Marcos 2020", "Mayor 14"):
        assert not are_dates(pd.Series([text]))


def test_durations_are_refused(tmp_path: Path) -> None:
    frame = people().assign(stay=lambda t: pd.to_timedelta(t["age"], unit="D"))
    frame.to_parquet(tmp_path / "people.csv")
    (tmp_path / "people.yaml").write_text(CARD)
    with pytest.raises(DataError, match="'stay' holds durations"):
        load_dataset(dataset_from_card(tmp_path / "people.yaml"))


@pytest.mark.parametrize(
    "more", ["drop: [stay, tags, name]\n", "features: [age, score]\n"], ids=["drop", "features"]
)
def test_a_column_that_the_card_leaves_out_may_hold_anything(tmp_path: Path, more: str) -> None:
    frame = people().assign(stay=lambda t: pd.to_timedelta(t["age"], unit="D"))
    frame = frame.assign(tags=[["a", "b"]] * len(frame), name="anna")
    frame.to_parquet(tmp_path / "people.csv")
    (tmp_path / "people.yaml").write_text(CARD + more)
    data = load_dataset(dataset_from_card(tmp_path / "people.yaml"))
    assert {"stay", "tags"}.isdisjoint(feature.name for feature in data.info.features)


def test_new_rows_with_dates_for_numbers_are_refused(tmp_path: Path) -> None:
    data = load(tmp_path, people())
    assert data.preprocessing is not None
    new = people().assign(score=pd.Timestamp("2021-01-01"))
    with pytest.raises(DataError, match="'score' of numbers holds dates or durations"):
        data.preprocessing.apply(new, where="new")


@pytest.mark.parametrize(
    ("texts", "example"),
    [
        (["$31,987", "$5", "$1,200.50"], "$31,987"),
        (["9.7%", "10%", "3"], "9.7%"),
        (["\u20ac 5,20", "\u20ac 7"], "\u20ac 5,20"),
        (["-$12.50", "$3", "-$7", "$9.10"], "-$12.50"),
        (["$12.50", "($3.00)", "($1,234.56)"], "$12.50"),
    ],
)
def test_numbers_with_a_sign_are_noticed(texts: list[str], example: str) -> None:
    assert find_notation(pd.Series(texts)) == (Notation.WITH_SIGN, example)
    assert find_notation(pd.Series([*texts, "many", "few", "none"])) is None


@pytest.mark.parametrize(
    ("values", "separator", "noted"),
    [
        (["976", "6.438", "7.521"], ",", "6.438"),
        (["6.438", "7.521", "-12.000"], ";", "6.438"),
        (["6.438", "7.521"], ",", None),
        (["0.438", "7.521", "976"], ",", None),
        (["6.438", "7.52", "976"], ";", None),
        (["6.438", "7.521", "9760"], ";", None),
        (["976", "12"], ";", None),
    ],
)
def test_points_that_may_separate_thousands_are_found(
    values: list[str], separator: str, noted: str | None
) -> None:
    assert find_grouped_by_points(pd.Series(values), separator) == noted
    assert find_grouped_by_points(pd.Series(values, dtype="category"), separator) == noted
    assert find_grouped_by_points(pd.Series([float(v) for v in values]), separator) is None


def test_a_number_that_may_be_a_thousand_times_as_large_is_noted(tmp_path: Path) -> None:
    pay = people().assign(pay=lambda t: t.index * 3 + 800)
    pay["pay"] = pay["pay"].map("{:,}".format).str.replace(",", ".")
    said = "the points of the column 'pay' are read as decimal points, as in 1.001, not 1001: "
    (note,) = load(tmp_path, pay).notes
    assert note.startswith(said)
    label = CARD.replace("{column: income, positive: high}", "{column: pay, above: 500}")
    (note,) = load(tmp_path, pay, label).notes
    assert note.startswith(said), "a label that is compared with a number is one, too"
