"""The simulated twin of the UCI Adult table: what it draws, without the real table at hand."""

from __future__ import annotations

import hashlib
import subprocess
import sys
from importlib.resources import files

import numpy as np
import pandas as pd
import pytest

from fairbench_datasets.adults_twin import simulate

COLUMNS = [
    "workclass",
    "education",
    "education-num",
    "marital-status",
    "occupation",
    "relationship",
    "race",
    "sex",
    "capital-gain",
    "capital-loss",
    "hours-per-week",
    "income",
]
NUMBERS = {  # the least and the largest value in the official files
    "education-num": (1, 16),
    "capital-gain": (0, 99_999),
    "capital-loss": (0, 4_356),
    "hours-per-week": (1, 99),
}
CATEGORIES = {  # as listed in adult.names, with ? for unknown
    "workclass": "Private Self-emp-not-inc Self-emp-inc Federal-gov Local-gov State-gov "
    "Without-pay Never-worked ?",
    "education": "Bachelors Some-college 11th HS-grad Prof-school Assoc-acdm Assoc-voc 9th 7th-8th "
    "12th Masters 1st-4th 10th Doctorate 5th-6th Preschool",
    "marital-status": "Married-civ-spouse Divorced Never-married Separated Widowed "
    "Married-spouse-absent Married-AF-spouse",
    "occupation": "Tech-support Craft-repair Other-service Sales Exec-managerial Prof-specialty "
    "Handlers-cleaners Machine-op-inspct Adm-clerical Farming-fishing Transport-moving "
    "Priv-house-serv Protective-serv Armed-Forces ?",
    "relationship": "Wife Own-child Husband Not-in-family Other-relative Unmarried",
    "race": "White Asian-Pac-Islander Amer-Indian-Eskimo Other Black",
    "sex": "Female Male",
    "income": "<=50K >50K",
}
ROWS = 48_842  # of the official files together, as the next counts
COUNTS: dict[tuple[str, ...], dict[tuple[str, ...], int]] = {
    ("sex",): {("Male",): 32_650, ("Female",): 16_192},
    ("race",): {
        ("White",): 41_762,
        ("Black",): 4_685,
        ("Asian-Pac-Islander",): 1_519,
        ("Amer-Indian-Eskimo",): 470,
        ("Other",): 406,
    },
    ("sex", "race"): {("Female", "Black"): 2_308, ("Male", "Black"): 2_377},
    ("income",): {("<=50K",): 37_155, (">50K",): 11_687},
    ("sex", "income"): {("Female", ">50K"): 1_769, ("Male", ">50K"): 9_918},
    ("sex", "relationship"): {("Female", "Wife"): 2_328, ("Male", "Husband"): 19_715},
}


@pytest.fixture(scope="module")
def twin() -> pd.DataFrame:
    return simulate()


def test_default_has_the_shape_of_the_official_files(twin: pd.DataFrame) -> None:
    assert twin.shape == (ROWS, 12)
    assert list(twin.columns) == COLUMNS
    assert not twin.isna().to_numpy().any()


@pytest.mark.parametrize("column", CATEGORIES)
def test_categories_are_those_of_the_official_files(twin: pd.DataFrame, column: str) -> None:
    known = set(CATEGORIES[column].split())
    drawn = set(twin[column])
    assert drawn <= known
    # Only the classes with a few dozen rows of 48,842 may be missed by chance.
    assert known - drawn <= {"Never-worked", "Armed-Forces", "Without-pay"}


@pytest.mark.parametrize("column", NUMBERS)
def test_numbers_are_integers_in_their_range(twin: pd.DataFrame, column: str) -> None:
    least, largest = NUMBERS[column]
    assert twin[column].dtype == np.int64
    assert twin[column].between(least, largest).all()


def test_education_and_its_number_agree(twin: pd.DataFrame) -> None:
    pairs = twin[["education", "education-num"]].drop_duplicates()
    assert len(pairs) == 16
    assert dict(pairs.to_numpy().tolist())["HS-grad"] == 9
    assert dict(pairs.to_numpy().tolist())["Doctorate"] == 16


@pytest.mark.parametrize("columns", COUNTS)
def test_shares_of_groups_are_the_published_ones(
    twin: pd.DataFrame, columns: tuple[str, ...]
) -> None:
    drawn = twin.groupby(list(columns)).size()
    for group, count in COUNTS[columns].items():
        share = count / ROWS
        # Five standard errors of a share, and a hundredth of it for what the model gets wrong.
        tolerance = 5 * np.sqrt(share * (1 - share) / ROWS) + 0.01 * share
        assert drawn[group if len(group) > 1 else group[0]] / ROWS == pytest.approx(
            share, abs=tolerance
        )


def test_gain_and_loss_exclude_each_other(twin: pd.DataFrame) -> None:
    # No official row has both; independent draws of the two would give about 190 such rows.
    assert ((twin["capital-gain"] > 0) & (twin["capital-loss"] > 0)).sum() <= 10


@pytest.mark.parametrize("rows", [0, 1, 4_096, 5_000])
def test_rows_are_respected_and_begin_the_longer_draw(twin: pd.DataFrame, rows: int) -> None:
    pd.testing.assert_frame_equal(simulate(rows=rows), twin.head(rows), check_dtype=rows > 0)


def test_seeds_differ() -> None:
    assert not simulate(rows=100, seed=1).equals(simulate(rows=100, seed=2))


def test_another_process_draws_the_same_rows() -> None:
    script = (
        "import hashlib; from fairbench_datasets.adults_twin import simulate;"
        "print(hashlib.sha256(simulate(rows=5000, seed=7).to_csv().encode()).hexdigest())"
    )
    command = [sys.executable, "-c", script]
    there = subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    here = hashlib.sha256(simulate(rows=5000, seed=7).to_csv().encode()).hexdigest()
    assert there == here


@pytest.mark.parametrize("wrong", [{"rows": -1}, {"seed": -1}])
def test_negative_arguments_are_refused(wrong: dict[str, int]) -> None:
    with pytest.raises(ValueError, match="0 or more"):
        simulate(**wrong)


def test_listing_the_twin_loads_neither_numpy_nor_pandas() -> None:
    script = (
        "import sys, fairbench_datasets.adults_twin;"
        "print(sorted({'numpy', 'pandas', 'torch'} & set(sys.modules)))"
    )
    command = [sys.executable, "-c", script]
    answer = subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    assert answer == "[]"


def test_parameters_stay_small() -> None:
    path = files("fairbench_datasets.adults_twin").joinpath("parameters.npz")
    assert len(path.read_bytes()) <= 100_000
