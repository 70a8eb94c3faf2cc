"""South German credit: what X and S are of, decoding; the real file's facts."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from fairbench.data.loading import load_dataset
from fairbench.errors import DataError
from fairbench_datasets.declared import Category
from fairbench_datasets.german import GermanAge, GermanSex
from fairbench_datasets.south_german import COLUMNS, SouthGerman
from tests.support.real_data import (
    check_prepared,
    fingerprint_elsewhere,
    group_counts,
    root_with,
    share,
)

BORROWER: Mapping[str, Any] = {
    name: next(iter(column.codes)) if isinstance(column, Category) else int(column.low)
    for name, column in COLUMNS.items()
}
"""Nobody: the first code of each column, the least number."""

STATUSES = tuple(COLUMNS["personal_status_sex"].codes)


def write(folder: Path, *changes: Mapping[str, Any]) -> Path:
    rows = pd.DataFrame([{**BORROWER, **one} for one in changes])
    rows.to_parquet(folder / "south_german_credit.parquet")
    return folder


def test_x_is_all_but_sex_and_label() -> None:
    assert set(COLUMNS) - set(SouthGerman.x_columns()) == {"personal_status_sex", "credit_risk"}


def test_one_group_are_men_alone(tmp_path: Path) -> None:
    rows = write(tmp_path, *({"personal_status_sex": status} for status in STATUSES))
    table = SouthGerman().load(rows)
    groups = dict(zip(STATUSES, (table.groups[code] for code in table.s), strict=True))
    men = {status for status, group in groups.items() if group == "man, not single"}
    assert men == {"male : divorced/separated", "male : married/widowed"}


def test_names_keep_the_order_of_the_code_list(tmp_path: Path) -> None:
    savings = COLUMNS["savings"].codes
    rows = write(tmp_path, *({"savings": code} for code in reversed(savings)))
    names = np.unique(SouthGerman().load(rows).x["savings"])
    assert [name[3:] for name in names] == list(savings.values())


def test_labels_and_a_purpose_by_the_code_lists_name(tmp_path: Path) -> None:
    table = SouthGerman().load(
        write(tmp_path, {"credit_risk": "good", "purpose": "education"}, {"credit_risk": "bad"})
    )
    assert table.y["good_credit"].tolist() == [1, 0]
    assert table.x["purpose"][0] == "08 vacation"


def test_a_code_without_a_meaning_is_named(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="row 2: housing is 'castle', a code without a meaning"):
        SouthGerman().load(write(tmp_path, {}, {"housing": "castle"}))


def test_it_is_for_demonstration_as_german_credit_is() -> None:
    assert all(dataset.demonstration for dataset in (SouthGerman, GermanSex, GermanAge))


def test_facts_of_the_real_file() -> None:
    root = root_with(SouthGerman)
    data = load_dataset(SouthGerman, root=root)
    assert group_counts(data) == {"man, not single": 598, "woman or single man": 402}
    assert share(data, "good_credit") == pytest.approx(0.7)
    assert len(data.info.features) == 19
    check_prepared(data)
    assert fingerprint_elsewhere(SouthGerman, root) == data.fingerprint
