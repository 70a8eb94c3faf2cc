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
    assert ("missing: category" in error.value.hint) is category
    assert ("leave the column out" in error.value.hint) is leave_out
    if category:
        frame.loc[:99, column] = None
        load(tmp_path, frame, card + "missing: category")
    else:
        with pytest.raises(DataError, match="has no value"):
            load(tmp_path, frame, card + "missing: category")


def test_other_columns_with_missing_values_are_named(tmp_path: Path) -> None:
    frame = people()
    frame.loc[3, ["score", "job", "sex"]] = None
    with pytest.raises(DataError, match=r"in 1 of 600 rows; also missing: values of job, sex\)"):
        load(tmp_path, frame)
