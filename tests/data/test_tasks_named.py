"""Datasets name their tasks as their tables have them."""

import pytest

from fairbench.data.files import data_root, find_files
from fairbench.data.loading import load_dataset
from fairbench.registry import load_registry

REGISTRY = load_registry()
NAMED = [name for name, one in REGISTRY.datasets.classes.items() if one.tasks and one.home is None]


@pytest.mark.thorough
@pytest.mark.parametrize("name", [name for name in NAMED if not name.startswith("dsprites")])
def test_the_tasks_of_a_table_are_those_that_it_names(name: str) -> None:
    dataset = REGISTRY.datasets[name]
    if find_files(dataset, data_root(None)) is None and dataset().simulate() is None:
        pytest.skip("its files are not here, and it has no simulated twin")
    data = load_dataset(dataset)
    rows = next(iter(data.roles.values()))
    assert (tuple(rows.y), tuple(rows.transfer)) == (dataset.tasks, dataset.unseen_tasks)
