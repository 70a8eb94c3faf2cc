"""A model card says what store and files say, and says nothing it does not know."""

from __future__ import annotations

import html
import re
from dataclasses import replace
from pathlib import Path

import pytest

from fairbench.api import Point
from fairbench.api.metric import Certificate
from fairbench.cli.model_card import facts_of
from fairbench.data.prepare import Prepared
from fairbench.models.lookup import Place
from fairbench.models.recommend import field_of
from fairbench.report.model_card import Certified, Facts, model_card
from fairbench.store.database import Store
from tests.support.stored_models import REGISTRY, keep_model

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


@pytest.fixture(scope="module")
def facts(tmp_path_factory: pytest.TempPathFactory, prepared: Prepared) -> Facts:
    tmp_path = tmp_path_factory.mktemp("results")
    keep_model(tmp_path, prepared, "sofair", {"beta=0.2": FIGURES}, params={"learning_rate": 0.01})
    store = Store.in_folder(tmp_path)
    (candidate,) = field_of(store, REGISTRY).candidates
    found = facts_of(candidate, store, REGISTRY, Place(tmp_path))
    return replace(
        found,
        data=prepared,
        reference={"mutual_information_max": 0.345, "accuracy_y_constant": 0.55},
    )


def test_it_says_what_is_known(facts: Facts) -> None:
    card = model_card(facts)
    assert card.startswith("# sofair on adults-gender, beta=0.2\n")
    for said in (
        "I(Z;S) = .012 [.010, .020] nats; x itself tells 0.345",
        "| source | simulated twin |",
        f"| test | {len(facts.data.roles['test'].s):,} |",  # type: ignore[index,union-attr]
        "| shifted | number | mean ",
        "| colour | category, integer codes | 3: blue, green, red |",
        "| mlp | raw | 0.010 | 0.020 | chosen |",
        "| task | 0.810 |  | 0.900 | 0.050 |",
        "| other | 0.720 |  | 0.730 | 0.090 |",
        "Always guessing the commonest class of the main task: 0.550.",
        "learning_rate = 0.01",
        "sofair:\n  hidden: [16]\n  latent: 3\n  learning_rate: 0.01",
        "--seed-list 0 --budget quick --params params.yaml",
        "fairbench encode --method sofair --dataset adults-gender-simulated --seed 0 --point "
        f"beta=0.2 --results {facts.encode[-1]} --input new.csv --output z.parquet",
    ):
        assert said in card, said
    assert card == model_card(facts)


def test_it_warns_of_what_it_rests_on(facts: Facts) -> None:
    card = model_card(facts)
    assert "**Simulated data.**" in card
    assert "The audit was a quick one" in card
    assert "lower bound" in card
    assert "attributes that were not audited" in card
    real = replace(facts, unit=facts.unit | {"data_source": "real", "budget": "full"})
    card = model_card(replace(real, point=facts.point | {"audit": "strict"}))
    for absent in ("Simulated", "simulated twin", "quick one", "not at the full"):
        assert absent not in card


def test_a_certificate_says_for_how_many_it_holds(facts: Facts) -> None:
    assert "None: z takes too many values" in model_card(facts)
    own = {"certified_parity_gap": 0.2, "certified_mutual_information": 0.03}
    own |= {"certified_codes": 9.0, "certified_overflow": 0.0}
    alone = replace(facts, point=facts.point | {"values": {**facts.values, **own}})
    assert "at most 0.0300 nats" in model_card(alone)
    assert "not for one that was chosen among many" in model_card(alone)
    bound = Certificate(0.3, 0.04, 0.999, 9, 0.01, 500)
    chosen = model_card(replace(alone, certified=Certified(bound, 0.05, 50)))
    assert "at most 0.0400 nats" in chosen
    assert "for all 50 points it was chosen among" in chosen
    assert "1 - 0.05/50" in chosen


def test_what_is_not_to_be_had_is_left_out(facts: Facts) -> None:
    bare = replace(
        facts, data=None, encoder=None, method=None, dataset=None, reference={}, certified=None
    )
    card = model_card(bare)
    assert "The data are not at hand" in card
    assert "fairbench encode" not in card
    assert "None" not in card.replace("None: z takes", "")
    assert "nan" not in card


def test_commands_name_the_results_that_were_named(tmp_path: Path, prepared: Prepared) -> None:
    keep_model(tmp_path, prepared, "identity", {"-": {}}, point=Point())
    store = Store.in_folder(tmp_path)
    (candidate,) = field_of(store, REGISTRY).candidates
    place = Place(tmp_path, f"sqlite:///{tmp_path}/fairbench.sqlite")
    found = facts_of(candidate, store, REGISTRY, place)
    for words in (found.run, found.encode):
        assert words[-4:] == ["--results", str(tmp_path), "--store", place.store]
    # Without them the encoder is not in the default folder, and nothing is named.
    assert "--results" not in facts_of(candidate, store, REGISTRY, Place()).run


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
def test_names_show_as_they_are(facts: Facts, name: str) -> None:
    assert facts.encoder is not None
    info = replace(facts.encoder.info, groups=(name, "other"))
    wild = replace(
        facts,
        unit=facts.unit | {"dataset": name},
        encoder=replace(facts.encoder, info=info),
    )
    card = model_card(wild).split("## How to do it again")[0]
    lines = [line for line in card.splitlines() if "2 groups" in line or line.startswith("# ")]
    lines.append(next(line for line in card.splitlines() if line.startswith("An encoder")))
    for line in lines:
        assert re.search(r"(?<!\\)(\\\\)*[`*~]|<|&(?!(amp|lt);)", line) is None, line
        shown = html.unescape(re.sub(r"\\([!-/:-@\[-`{-~])", r"\1", line))
        assert name in shown, line
    assert len(lines) == 3
    row = next(line for line in lines if line.startswith("|"))
    assert len(re.findall(r"(?<!\\)(?:\\\\)*\|", row)) == 3


def test_every_table_is_a_table(facts: Facts) -> None:
    wild = replace(facts, unit=facts.unit | {"params": {"a": "x|y\nz"}})
    tables = [part for part in model_card(wild).split("\n\n") if part.startswith("|")]
    assert len(tables) > 5
    for table in tables:
        head, rule, *rows = table.replace("\\|", "").splitlines()
        assert rows
        assert set(rule) == set("|- ")
        assert {row.count("|") for row in (rule, *rows)} == {head.count("|")}
