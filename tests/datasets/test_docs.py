"""The page of datasets: every table that ships is on it, with what it declares."""

from pathlib import Path

import pytest

from fairbench.api.dataset import Dataset
from fairbench_datasets import acs_income, adults, compas, german

PAGE = (Path(__file__).parents[2] / "docs" / "datasets.md").read_text(encoding="utf-8")

DATASETS = [
    d for module in (adults, compas, german, acs_income) for d in module.register_datasets()
]


@pytest.mark.parametrize("dataset", DATASETS, ids=lambda dataset: dataset.name)
def test_every_table_is_on_the_page(dataset: type[Dataset]) -> None:
    row = next(line for line in PAGE.splitlines() if f"`{dataset.name}`" in line)
    assert all(f"(`{alias}`)" in row for alias in dataset.aliases)
    assert row.startswith("| `")
    assert dataset.citation
    assert dataset.licence
    assert dataset.url.startswith("https://")
    assert all(len(file.sha256) == 64 and file.size > 0 for file in dataset.files)
