"""A model card says what store and files say, and nothing that is not known."""

from __future__ import annotations

import html
import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from fairbench.api import Point, Role
from fairbench.api.dataset import Table
from fairbench.api.metric import Certificate
from fairbench.data.prepared import Prepared
from fairbench.models.certify import SelectedCertificate
from fairbench.models.lookup import StoredPoint, find_model
from fairbench.models.query import ModelQuery, ResultsLocation
from fairbench.registry import Registry
from fairbench.report.model_card import model_card
from fairbench.store.database import Store
from fairbench.store.records import ReferenceRecord, UnitRecord
from fairbench.store.status import Status
from fairbench.versions import AUDIT_VERSION
from fairbench_datasets.adults import AdultsGender
from tests.support.small_table import make_table
from tests.support.stored_models import REGISTRY, store_model

FIGURES = {
    "mutual_information": 0.0123,
    "mutual_information_low": 0.01,
    "mutual_information_high": 0.02,
    "balanced_accuracy_s": 0.61,
    "auc_s": 0.7,
    "accuracy_y": 0.81,
    "auc_y": 0.9,
    "demographic_parity_gap": 0.05,
    "accuracy_y_other": 0.72,
    "auc_y_other": 0.73,
    "demographic_parity_gap_other": 0.09,
}


class SmallAdults(AdultsGender):
    """The table that the models of these tests are trained on."""

    def simulate(self) -> Table:
        return make_table()


def registry() -> Registry:
    """The installed methods, and the small table by the name of its models' dataset."""
    datasets = replace(REGISTRY.datasets, classes={SmallAdults.name: SmallAdults})
    return replace(REGISTRY, datasets=datasets)


def stored_point(folder: Path, method: str = "sofair") -> StoredPoint:
    model = find_model(ModelQuery(method), ResultsLocation(folder), registry())
    return model.measured_point(None)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory, prepared: Prepared) -> Path:
    folder = tmp_path_factory.mktemp("results")
    key = store_model(
        folder, prepared, "sofair", {"beta=0.2": FIGURES}, params={"learning_rate": 0.01}
    )
    store = Store.in_folder(folder)
    unit = store.find(UnitRecord, [key])[key]
    store.put(
        [
            ReferenceRecord(
                key="reference",
                status=Status.DONE,
                dataset=unit.dataset,
                fingerprint=unit.fingerprint,
                audit="quick",
                protocol=unit.protocol,
                seed=0,
                values={"mutual_information_max": 0.345, "accuracy_y_constant": 0.55},
                audit_version=AUDIT_VERSION,
            )
        ]
    )
    return folder


@pytest.fixture
def stored(folder: Path) -> StoredPoint:
    return stored_point(folder)


def with_unit(stored: StoredPoint, **fields: object) -> StoredPoint:
    model = replace(stored.model, unit=stored.unit.replace(**fields))
    return replace(stored, model=model)


def with_point(stored: StoredPoint, **fields: object) -> StoredPoint:
    return replace(stored, point=stored.point.replace(**fields))


def test_columns_that_are_not_read_are_named(tmp_path: Path, prepared: Prepared) -> None:
    quick = {"search_rows": 300, "search_trees": 2, "trees": 2}
    store_model(tmp_path, prepared, "drop-features", {"dropped=2": FIGURES}, params=quick)
    stored = stored_point(tmp_path, "drop-features")
    assert len(stored.unused_columns) == 2
    assert set(stored.unused_columns) < {"shifted", "noise", "colour"}
    named = ", ".join(stored.unused_columns)
    assert f"the encoder does not read: {named}. New rows need not hold" in model_card(stored)


def test_it_says_what_is_known(stored: StoredPoint, folder: Path) -> None:
    card = model_card(stored)
    assert "does not read" not in card
    assert card.startswith("# sofair on adults-gender, beta=0.2\n")
    for said in (
        "I(Z;S) = .012 [.010, .020] nats; I(X;S) of x itself: 0.345",
        "| source | simulated twin |",
        f"| test | {len(stored.model.data.roles[Role.TEST].s):,} |",
        "| shifted | number | mean ",
        "| colour | category, integer codes | 3: blue, green, red |",
        "| mlp | raw | 0.010 | 0.020 | chosen |",
        "| task | 0.810 |  | 0.900 | 0.050 |",
        "| other | 0.720 |  | 0.730 | 0.090 |",
        "Always predicting the largest class of the main task: 0.550.",
        "learning_rate = 0.01",
        "sofair:\n  hidden: [16]\n  latent: 3\n  learning_rate: 0.01",
        "--seed-list 0 --budget quick --params params.yaml",
        "fairbench encode --method sofair --dataset adults-gender-simulated --seed 0 --point "
        f"beta=0.2 --results {folder} --input new.csv --output z.parquet",
    ):
        assert said in card, said
    assert card == model_card(stored_point(folder))


def test_it_warns_of_what_it_rests_on(stored: StoredPoint) -> None:
    card = model_card(stored)
    assert "**Simulated data.**" in card
    assert "The audit was a quick one" in card
    assert "lower bound" in card
    assert "attributes that were not audited" in card
    real = with_unit(stored, data_source="real", budget="full")
    card = model_card(with_point(real, audit="strict"))
    for absent in ("Simulated", "simulated twin", "quick one", "not at the full"):
        assert absent not in card


def test_a_certificate_says_for_how_many_it_holds(stored: StoredPoint) -> None:
    assert "Vacuous: z takes too many values" in model_card(stored)
    own: Mapping[str, float] = {
        "certified_parity_gap": 0.2,
        "certified_mutual_information": 0.03,
        "certified_codes": 9.0,
        "certified_overflow": 0.0,
    }
    alone = with_point(stored, values={**stored.figures, **own})
    assert "at most 0.0300 nats" in model_card(alone)
    assert "not for one that was chosen among many" in model_card(alone)
    bound = Certificate(0.3, 0.04, 0.999, 9, 0.01, 500)
    chosen = model_card(alone, SelectedCertificate(bound, 0.05, 50))
    assert "at most 0.0400 nats" in chosen
    assert "for all 50 points it was chosen among" in chosen
    assert "1 - 0.05/50" in chosen


def test_what_is_not_available_is_left_out(stored: StoredPoint) -> None:
    # No plugin is installed, so method, dataset, data and encoder cannot be had; nor a reference.
    bare = replace(stored.model.results, registry=Registry())
    model = replace(stored.model, results=bare, unit=stored.unit.replace(seed=1))
    card = model_card(replace(stored, model=model))
    assert "The data are not available" in card
    assert "fairbench encode" not in card
    assert "I(X;S)" not in card
    assert "None" not in card
    assert "nan" not in card


def test_commands_name_the_results_that_were_named(tmp_path: Path, prepared: Prepared) -> None:
    store_model(tmp_path, prepared, "identity", {"-": {}}, point=Point())
    location = ResultsLocation(tmp_path, f"sqlite:///{tmp_path}/fairbench.sqlite")
    model = find_model(ModelQuery("identity"), location, REGISTRY)
    for words in (model.run_command(), model.encode_command(model.points[0])):
        assert words[-4:] == ["--results", str(tmp_path), "--store", location.store]
    # Without them the encoder is not in the default folder, and nothing is named.
    unnamed = replace(model, results=replace(model.results, location=ResultsLocation()))
    assert "--results" not in unnamed.run_command()


@pytest.mark.parametrize(
    "name",
    [
        "<img src=x onerror=alert(1)>",
        "a|b\\|c",
        "*bold* `code` _both_ __init__ a_b ~~gone~~",
        "R&D &lt; &amp;",
        "[here](https://example.org)",
        "\\*\\<b>",
    ],
)
def test_names_show_as_they_are(tmp_path: Path, prepared: Prepared, name: str) -> None:
    info = replace(prepared.info, name=name, groups=(name, "other"))
    data = replace(prepared, info=info)
    store_model(tmp_path, data, "identity", {"-": FIGURES}, point=Point())
    card = model_card(stored_point(tmp_path, "identity")).split("## How to do it again")[0]
    lines = [line for line in card.splitlines() if "2 groups" in line or line.startswith("# ")]
    lines.append(next(line for line in card.splitlines() if line.startswith("An encoder")))
    for line in lines:
        assert re.search(r"(?<!\\)(\\\\)*[`*~]|<|&(?!(amp|lt);)", line) is None, line
        shown = html.unescape(re.sub(r"\\([!-/:-@\[-`{-~])", r"\1", line))
        assert name in shown, line
    assert len(lines) == 3
    row = next(line for line in lines if line.startswith("|"))
    assert len(re.findall(r"(?<!\\)(?:\\\\)*\|", row)) == 3


def test_every_table_is_a_table(stored: StoredPoint) -> None:
    wild = with_unit(stored, params={"a": "x|y\nz"})
    tables = [part for part in model_card(wild).split("\n\n") if part.startswith("|")]
    assert len(tables) > 5
    for table in tables:
        head, rule, *rows = table.replace("\\|", "").splitlines()
        assert rows
        assert set(rule) == set("|- ")
        assert {row.count("|") for row in (rule, *rows)} == {head.count("|")}
