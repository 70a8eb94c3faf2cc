"""The page of datasets: every table that ships is on it, with what it declares."""

from pathlib import Path

import pytest

from fairbench.api.dataset import Dataset
from fairbench.registry import load_registry
from tables import format_datasets

PAGE = (Path(__file__).parents[2] / "docs" / "datasets.md").read_text(encoding="utf-8")

DATASETS = [
    dataset
    for dataset in load_registry().datasets.classes.values()
    if dataset.__module__.startswith("fairbench_datasets.") and not dataset.optional
]


def test_the_table_of_datasets_is_of_this_version() -> None:
    part = f"<!-- datasets -->\n\n{format_datasets()}\n\n<!-- end of datasets -->"
    assert part in PAGE, "run `python docs/tables.py`"


@pytest.mark.parametrize("dataset", DATASETS, ids=lambda dataset: dataset.name)
def test_every_table_is_on_the_page(dataset: type[Dataset]) -> None:
    row = next(line for line in PAGE.splitlines() if f"`{dataset.name}`" in line)
    assert all(f"(`{alias}`)" in row for alias in dataset.aliases)
    assert row.startswith("| `")
    assert dataset.citation
    assert dataset.licence
    assert dataset.url.startswith("https://")
    # Of Health Heritage and of what lies in an archive no checksum of the file itself is known.
    for file in dataset.files:
        assert file.sha256 is None or (len(file.sha256) == 64 and file.size)
