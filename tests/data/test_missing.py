"""Missing values by the policy of the card, and what is said of them."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from fairbench.data.card_dataset import dataset_from_card
from fairbench.data.loading import load_dataset
from fairbench.data.prepared import Prepared
from fairbench.errors import DataError
from tests.data.test_card import CARD, people


def load(folder: Path, frame: pd.DataFrame, text: str = CARD) -> Prepared:
    frame.to_csv(folder / "people.csv", index=False)
    (folder / "people.yaml").write_text(text)
    return load_dataset(dataset_from_card(folder / "people.yaml"))


def test_rows_left_out_are_counted_by_column(tmp_path: Path) -> None:
    frame = people()
    frame.loc[:9, "job"] = None
    frame.loc[5:11, "score"] = None
    (note,) = load(tmp_path, frame, CARD + "missing: drop").notes
    assert note == (
        "12 of 600 rows are left out, as the card says `missing: drop`. Missing values by column: "
        "score (7), job (10)."
    )
    assert load(tmp_path, people(), CARD + "missing: drop").notes == ()


@pytest.mark.parametrize("mark", ["", "NA", "n/a", "#N/A", "<NA>", "null"])
def test_what_programs_write_for_nothing_is_missing(mark: str, tmp_path: Path) -> None:
    frame = people().astype({"score": object})
    frame.loc[:6, "score"] = mark
    (note,) = load(tmp_path, frame, CARD + "missing: drop").notes
    assert "Missing values by column: score (7)." in note


def test_missing_values_are_a_category_where_they_can_be_and_else_rows_are_left_out(
    tmp_path: Path,
) -> None:
    frame = people()
    frame.loc[:59, ["job", "sex"]] = None
    frame.loc[5:11, "score"] = None
    with pytest.raises(DataError, match="column 'score' has no value") as error:
        load(tmp_path, frame, CARD + "missing: category")
    assert "`missing: category-or-drop` (leaves such rows out)" in error.value.hint
    with pytest.raises(DataError) as error:
        load(tmp_path, frame)
    assert "`missing: category-or-drop`" in error.value.hint
    data = load(tmp_path, frame, CARD + "missing: category-or-drop")
    assert sum(len(rows.s) for rows in data.roles.values()) == 593
    assert "missing" in data.info.groups
    (jobs,) = (f.categories for f in data.info.features if f.source == "job")
    assert "missing" in jobs
    assert data.preprocessing is not None
    assert "job" in data.preprocessing.missing
    note, changes = data.notes
    assert note == (
        "7 of 600 rows are left out, as the card says `missing: category-or-drop`. Missing values "
        "by column: score (7)."
    )
    assert "missing from 10.0% to 8.9%" in changes


def test_groups_whose_share_changes_are_named(tmp_path: Path) -> None:
    frame = people(1000).assign(sex=["f"] * 500 + ["m"] * 500)
    frame.loc[:249, "job"] = None
    frame.loc[[999], "sex"] = None
    _, changes = load(tmp_path, frame, CARD + "missing: drop").notes
    assert "f from 50.1% to 33.4%, m from 49.9% to 66.6%" in changes


@pytest.mark.parametrize(
    ("column", "card", "category", "leave_out"),
    [
        ("job", CARD, True, True),
        ("score", CARD, False, True),
        ("sex", CARD, True, False),
        ("age", CARD.replace("sex", "{column: age, bins: [40]}"), False, False),
        ("income", CARD, False, False),
    ],
)
def test_what_is_proposed_helps(
    tmp_path: Path, column: str, card: str, category: bool, leave_out: bool
) -> None:
    frame = people()
    frame.loc[3, column] = None
    with pytest.raises(DataError, match=f"row 4: the column '{column}' has no value") as error:
        load(tmp_path, frame, card)
    assert "missing: drop" in error.value.hint
    assert ("`missing: category`" in error.value.hint) is category
    assert "category-or-drop" not in error.value.hint
    assert ("leave the column out" in error.value.hint) is leave_out
    if category:
        frame.loc[:99, column] = None
        load(tmp_path, frame, card + "missing: category")
    else:
        with pytest.raises(DataError, match="has no value"):
            load(tmp_path, frame, card + "missing: category")


@pytest.mark.parametrize(
    ("column", "card", "says", "hint"),
    [
        ("job", CARD, "has no value in any row.", "card: drop: [job]"),
        ("job", CARD + "drop: [town]\n", "has no value in any row.", "card: drop: [town, job]"),
        (
            "job",
            CARD + "features: [job, age]\n",
            "in any row.",
            "of `features` in the card: job",
        ),
        ("sex", CARD, "in any row: it cannot be the sensitive attribute", "under `sensitive`"),
        ("income", CARD, "in any row: it cannot be a label", "under `labels`"),
    ],
)
@pytest.mark.parametrize("policy", ["error", "drop", "category"])
def test_a_column_without_any_value_is_named_whatever_the_policy(
    tmp_path: Path, column: str, card: str, says: str, hint: str, policy: str
) -> None:
    with pytest.raises(DataError, match=f"the column '{column}' has no value") as error:
        load(tmp_path, people().assign(**{column: None}), f"{card}missing: {policy}")
    assert says in error.value.message
    assert hint in error.value.hint
    assert "missing: drop" not in str(error.value)


def test_the_emptiest_columns_are_named_where_no_row_is_full(tmp_path: Path) -> None:
    frame = people()
    frame.loc[:589, "job"] = None
    frame.loc[590:, "town"] = None
    frame.loc[:3, "age"] = None
    card = CARD + "missing: drop"
    with pytest.raises(DataError, match="leaves none") as error:
        load(tmp_path, frame, card)
    assert "job (in 590 of 600 rows), town (in 10 of 600 rows), age (in 4" in error.value.message
    assert error.value.hint.endswith("drop: [job] (586 rows are left then)")
    assert load(tmp_path, frame, f"{card}\ndrop: [job]").table_rows == 586
    # Where it is S and Y that are never known together, leaving out columns of X does not help.
    frame = people()
    frame.loc[:299, "sex"] = None
    frame.loc[300:, "income"] = None
    with pytest.raises(DataError, match=r"sex \(in 300 of 600 rows\), income \(in 300") as error:
        load(tmp_path, frame, card)
    assert "name other columns under `sensitive` and `labels`" in error.value.hint


def test_other_columns_with_missing_values_are_named(tmp_path: Path) -> None:
    frame = people()
    frame.loc[3, ["score", "job", "sex"]] = None
    with pytest.raises(DataError, match=r"in 1 of 600 rows; also missing: values of job, sex\)"):
        load(tmp_path, frame)
