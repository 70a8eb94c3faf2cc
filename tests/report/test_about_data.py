"""What is handed on names the table, the sensitive columns, the labels and missing values."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from fairbench.data.card_dataset import dataset_from_card
from fairbench.data.loading import load_dataset
from fairbench.models.lookup import find_model
from fairbench.models.query import ModelQuery, ResultsLocation
from fairbench.registry import load_registry
from fairbench.report.about_data import column_of_s, describe_data
from fairbench.report.gather import gather
from fairbench.report.model_card import model_card
from fairbench.report.page import page
from fairbench.store.database import Store
from fairbench.store.records import RunRecord
from fairbench_datasets.adults import AdultsGender
from tests.data.test_card import people
from tests.support.stored_models import REGISTRY, store_model

CARD = """
file: people.csv
sensitive: sex
labels: [{column: income, positive: [high, middle]}, {column: score, above: 0.5}]
missing: drop
"""


def write(folder: Path, text: str = CARD) -> Path:
    frame = people()
    frame.loc[:9, "job"] = None
    frame.to_csv(folder / "people.csv", index=False)
    (folder / "people.yaml").write_text(text)
    return folder / "people.yaml"


@pytest.mark.parametrize(
    ("sensitive", "said", "column"),
    [
        ("sex", "sex", "sex"),
        ("[sex, town]", "sex, town", None),
        ("{column: age, bins: [30, 50]}", "age (cut at 30, 50)", None),
        ("{column: job, groups: {cook: other}}", "job (cook = other)", None),
    ],
)
def test_a_card_is_described(tmp_path: Path, sensitive: str, said: str, column: str) -> None:
    text = CARD.replace("sensitive: sex", f"sensitive: {sensitive}")
    dataset = dataset_from_card(write(tmp_path, text))
    assert dict(describe_data(dataset)) == {
        "table": "people.csv",
        "sensitive columns": said,
        "labels": "income (class 1: high, middle), score (class 1: above 0.5)",
        "labels of unseen tasks": "",
        "missing values": "rows with any are left out",
    }
    assert column_of_s(dataset) == column


def test_a_registered_dataset_is_described_by_its_class() -> None:
    assert dict(describe_data(AdultsGender)) == {
        "sensitive columns": "sex",
        "labels": "income, married",
        "labels of unseen tasks": "",
    }
    assert column_of_s(AdultsGender) is None, "a file of new rows need not have the groups"


def test_labels_of_all_registered_tables_are_named() -> None:
    for dataset in load_registry().datasets.classes.values():
        assert dict(describe_data(dataset))["labels"], dataset.name
    for name in ("adults-gender-unseen", "compas-unseen", "law-school-unseen"):
        about = dict(describe_data(load_registry().datasets[name]))
        labels, unseen = (about[key].split(", ") for key in ("labels", "labels of unseen tasks"))
        assert len(unseen) == 5
        assert not set(labels) & set(unseen)


def test_model_card_and_page_name_what_they_are_of(tmp_path: Path) -> None:
    path = write(tmp_path)
    data = load_dataset(dataset_from_card(path))
    results = tmp_path / "results"
    store_model(results, data, "sofair", {"beta=0.2": {}})
    store = Store.in_folder(results)
    store.add_run(RunRecord("run", "2026-01-01", "fairbench run", {"datasets": [str(path)]}, {}))
    location = ResultsLocation(results, cards=(str(path),))
    card = model_card(find_model(ModelQuery("sofair"), location, REGISTRY).measured_point(None))
    for said in (
        "| table | people.csv |",
        "| sensitive columns | sex |",
        "| labels | income (class 1: high, middle), ",
        "| missing values | rows with any are left out |",
        "10 of 600 rows are left out",
        "--s new.csv:sex",
    ):
        assert said in card, said
    assert "SENSITIVE" not in card
    shown = page(gather(store, REGISTRY))
    for said in ("Table: people.csv.", "Sensitive columns: sex.", "Missing values: rows with any"):
        assert said in shown, said
    again = f"fairbench run --methods sofair --dataset {path} --seed-list 0 --budget quick"
    assert again in re.sub("</?span>", "", shown), "a card is run by its path"
    path.unlink()
    assert "Table: people.csv" not in page(gather(store, REGISTRY))
