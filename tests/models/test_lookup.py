"""Which stored model is meant, and where it can be read."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from fairbench.api import Point
from fairbench.data.prepared import Prepared
from fairbench.errors import ConfigError, FairbenchError, StoreError
from fairbench.models.bits import find_explained_model
from fairbench.models.lookup import StoredModel, find_model
from fairbench.models.points import find_neighbours, parse_point, resolve_point
from fairbench.models.query import ModelQuery, ResultsLocation, dataset_cards
from fairbench.models.results import StoredResults
from fairbench.models.select import KEY_DIGITS
from fairbench.models.stored_data import Cards, Source, find_source
from fairbench.store.encoders import path_of
from fairbench.store.records import RunRecord
from tests.support.stored_models import REGISTRY, store_model

POINTS = {"beta=0.2": {"mutual_information": 0.03}, f"beta={1 / 3:.6g}": {}, "beta=0.9": {}}


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory, prepared: Prepared) -> Path:
    folder = tmp_path_factory.mktemp("results")
    store_model(folder, prepared, "sofair", POINTS)
    for gamma in (0.5, 2.0):
        point = Point.of(gamma=gamma)
        store_model(folder, prepared, "latfr", {point.label: {}}, point=point)
    store_model(folder, prepared, "identity", {"-": {}}, point=Point())
    store_model(folder, prepared, "identity", {"-": {}}, point=Point(), seed=4)
    return folder


@pytest.fixture
def folder(made: Path, tmp_path: Path) -> Path:
    """A copy of the results for each test."""
    shutil.copytree(made, tmp_path, dirs_exist_ok=True)
    return tmp_path


def find(folder: Path, method: str | None = None, **query: Any) -> StoredModel:
    return find_model(ModelQuery(method, **query), ResultsLocation(folder), REGISTRY)


def changed(model: StoredModel, **fields: Any) -> StoredModel:
    """The same model with other fields in its unit's record."""
    return replace(model, unit=model.unit.replace(**fields))


def test_what_is_left_out_is_the_only_or_first_one(folder: Path) -> None:
    unit = find(folder, "sofair").unit
    assert (unit.method, unit.seed) == ("sofair", 0)
    latfr = find(folder, "latfr", dataset="adults-gender", seed=0, point="gamma=2").unit
    assert latfr.point == "gamma=2"
    assert find(folder, "identity").unit.seed == 0
    assert find(folder, "identity", seed=4).unit.seed == 4
    assert find(folder, unit=latfr.key[:12]).unit == latfr


@pytest.mark.parametrize(
    ("query", "says"),
    [
        (ModelQuery(), "Methods here: identity, latfr, sofair"),
        (ModelQuery("sofiar"), "Did you mean 'sofair'"),
        (
            ModelQuery("leace"),
            r"no fitted model of leace.\nMethods here: identity, latfr, sofair. Run it first: "
            r"fairbench run --methods leace --dataset adults-gender --results \S+$",
        ),
        (ModelQuery("sofair", "adults-race"), "There are no results on 'adults-race'"),
        (ModelQuery("sofair", seed=7), "no fitted model of seed 7"),
        (ModelQuery("latfr"), r"--point is missing.\n  gamma=0.5: I = 0.010 nats"),
        (ModelQuery("latfr", point="gamma=1"), "there is no model at gamma=1.\n  gamma=0.5"),
        (
            ModelQuery("latfr", point="gama=2"),
            "Unknown knob of latfr 'gama'.\nDid you mean 'gamma'",
        ),
        (ModelQuery("latfr", point="x=2"), "Unknown knob of latfr 'x'.\nKnown: gamma."),
        (ModelQuery("latfr", point="lots"), "no setting of knobs"),
        (ModelQuery(unit="zz"), "No fitted model has a key that starts with 'zz'"),
    ],
)
def test_a_query_without_a_match_lists_the_choices(
    folder: Path, query: ModelQuery, says: str
) -> None:
    with pytest.raises(FairbenchError, match=says):
        find_model(query, ResultsLocation(folder), REGISTRY)


def test_several_models_that_fit_are_listed_by_key(folder: Path, prepared: Prepared) -> None:
    params = {"learning_rate": 0.01}
    key = store_model(folder, prepared, "sofair", POINTS, params=params)
    with pytest.raises(
        FairbenchError, match=r"2 models of sofair match\. Choose one with --unit"
    ) as said:
        find(folder, "sofair")
    assert f"--unit {key[:KEY_DIGITS]}  hidden=[16] latent=3 learning_rate=0.01" in str(said.value)
    model = find(folder, unit=key[:KEY_DIGITS])
    words = model.encode_command(model.points[0])
    assert words[-6:-2] == ["--unit", key[:KEY_DIGITS], "--point", "beta=0.2"]
    assert words[-2:] == ["--results", str(folder)]


def test_a_curve_is_read_anywhere_in_its_range(folder: Path) -> None:
    model = find(folder, "sofair")
    measured = model.points
    # A label is rounded: what was audited is the number behind it.
    third = model.resolve_point(f"beta={1 / 3:.6g}")
    assert third is not None
    assert third["beta"] == measured[1].knobs["beta"]
    between = model.resolve_point("beta=0.5")
    assert between == Point.of(beta=0.5)
    neighbours = find_neighbours(between, measured)
    assert [point.label for point in neighbours] == ["beta=0.333333", "beta=0.9"]
    assert [p.label for p in find_neighbours(Point.of(beta=1.0), measured)] == ["beta=0.9"]
    for text, says in (
        (None, r"name one with --point \"beta=NUMBER\". Audited:\n  beta=0.2: I = 0.030 nats"),
        ("beta=9", "goes from 0 to 1.25, not to 9"),
        ("beta=nan", "not to nan"),
        ("gamma=1", "Unknown knob of sofair 'gamma'"),
        ("-", "Unknown knob"),
    ):
        with pytest.raises(FairbenchError, match=says):
            model.resolve_point(text)


def test_a_curve_with_points_of_its_own_is_read_at_those(
    tmp_path: Path, prepared: Prepared
) -> None:
    quick = {"search_rows": 300, "search_trees": 2, "trees": 2}
    store_model(tmp_path, prepared, "drop-features", {"dropped=1": {}}, params=quick)
    encoder = find(tmp_path, "drop-features").encoder
    assert resolve_point(encoder, "dropped=2", []) == Point.of(dropped=2)
    with pytest.raises(FairbenchError, match="at these points alone: dropped=1, dropped=2"):
        resolve_point(encoder, "dropped=1.5", [])
    with pytest.raises(FairbenchError) as said:
        find(tmp_path, "drop-features").resolve_point(None)
    assert "can be read at 2 values of dropped" in str(said.value)
    assert "Audited:\n  dropped=1: I = 0.010" in str(said.value)
    assert "Others: dropped=2" in str(said.value)


def test_results_of_a_plugin_that_is_gone_name_its_package(folder: Path) -> None:
    model = find(folder, "sofair")
    gone = model.unit.replace(method="energy-code", plugin="energy-code 0.2.0")
    model.results.store.put([gone])
    says = "'energy-code' were made by energy-code 0.2.0, which is not installed"
    with pytest.raises(StoreError, match=says):
        find(folder, "energy-code")
    with pytest.raises(StoreError, match=says):
        _ = find(folder, unit=gone.key).encoder
    with pytest.raises(StoreError, match=says):
        find_explained_model(
            ModelQuery("energy-code"), StoredResults.open(ResultsLocation(folder), REGISTRY)
        )


def test_where_no_method_has_bits_it_is_said(tmp_path: Path, prepared: Prepared) -> None:
    store_model(tmp_path, prepared, "identity", {"-": {}}, point=Point())
    with pytest.raises(StoreError, match=r"model of sofair.\nMethods here with bits: none. Run"):
        find_explained_model(
            ModelQuery("sofair"), StoredResults.open(ResultsLocation(tmp_path), REGISTRY)
        )


def test_a_model_without_an_encoder_says_why(folder: Path) -> None:
    model = find(folder, "sofair")
    for change, says in (
        ({"encoder": None}, "by a version that did not store encoders yet"),
        ({"encoder": None, "error": "encoder not kept: it broke"}, "not kept: it broke"),
        ({"encoder": None, "run": "trial-1"}, "it was trained in a search"),
        ({"encoder": None, "method": "conditional-quantile"}, "no form that could be stored"),
        ({"encoder": f"{'0' * 64}.safetensors"}, "fairbench clean deleted it"),
    ):
        with pytest.raises(FairbenchError, match=says):
            _ = changed(model, **change).encoder


def test_a_damaged_encoder_is_named(folder: Path) -> None:
    model = find(folder, "sofair")
    assert model.unit.encoder is not None
    path = path_of(folder, model.unit.encoder)
    content = bytearray(path.read_bytes())
    content[-1] ^= 1
    path.write_bytes(content)
    with pytest.raises(FairbenchError, match="is damaged"):
        _ = model.encoder


def test_figures_of_a_model_that_was_trained_again_are_past(folder: Path) -> None:
    model = find(folder, "sofair")
    old, new = model.points, changed(model, read_points=model.unit.points[1:]).points
    assert len(old) == 3
    assert [point.label for point in new] == [point.label for point in old][1:]


def test_points_are_written_as_they_are_shown() -> None:
    assert parse_point("-") == Point()
    assert parse_point("gamma=1, beta=0.5") == Point.of(beta=0.5, gamma=1.0)


def test_points_of_several_knobs_have_no_neighbours_on_a_line(folder: Path) -> None:
    measured = find(folder, "sofair").points
    assert find_neighbours(Point.of(beta=0.5, gamma=1.0), measured) == []
    assert find_neighbours(Point(), measured) == []


def test_how_to_get_an_encoder_is_the_run_that_trained_it(folder: Path) -> None:
    model = changed(
        find(folder, "sofair"),
        encoder=f"{'0' * 64}.safetensors",
        curve_points=7,
        params={"bits": 3, "latent": 4},
        params_label="bits=3",
    )
    with pytest.raises(FairbenchError) as said:
        _ = model.encoder
    assert said.value.hint.endswith(
        "fairbench run --methods sofair --dataset adults-gender --seed-list 0 --budget quick "
        f"--points 7 --params params.yaml --results {folder} --rerun all "
        '(params.yaml: {"sofair": {"bits": 3}})'
    )


def test_a_run_whose_card_is_unknown_names_a_placeholder(folder: Path) -> None:
    model = changed(find(folder, "sofair"), encoder=f"{'0' * 64}.safetensors", dataset="hiring")
    with pytest.raises(FairbenchError) as said:
        _ = model.encoder
    assert "--methods sofair --dataset CARD.yaml --seed-list 0" in said.value.hint
    assert said.value.hint.endswith("; CARD.yaml: the dataset card of hiring)")


def test_the_card_of_a_model_is_the_one_with_its_datasets_name(folder: Path) -> None:
    table = "file: people.csv\nsensitive: sex\nlabels: {column: y, positive: 1}\n"
    (folder / "hiring.yaml").write_text(f"name: hiring\n{table}")
    (folder / "adults.yaml").write_text(f"name: my-adults\n{table}")
    cards = [str(folder / "hiring.yaml"), str(folder / "adults.yaml")]
    results = StoredResults.open(ResultsLocation(folder), REGISTRY)
    results.store.add_run(
        RunRecord(
            id="two-cards",
            started="2026-01-01T00:00:00+00:00",
            command="fairbench run",
            config={"datasets": cards},
            versions={},
        )
    )
    unit = find(folder, "sofair").unit.replace(run="two-cards")
    assert find_source(unit.replace(dataset="my-adults"), results) == Source(cards[1])
    assert find_source(unit.replace(dataset="hiring"), results) == Source(cards[0])
    assert find_source(unit.replace(dataset="lending"), results) == Source("lending", known=False)


def test_a_card_that_cannot_be_read_hides_no_other_of_its_run(tmp_path: Path) -> None:
    table = "file: people.csv\nsensitive: sex\nlabels: {column: y, positive: 1}\n"
    (tmp_path / "good.yaml").write_text(f"name: good\n{table}")
    (tmp_path / "bad.yaml").write_text(f"name: bad\nsensitve: sex\n{table}")
    config = {"datasets": [str(tmp_path / "bad.yaml"), str(tmp_path / "good.yaml")]}
    cards = Cards(REGISTRY, ())
    assert cards.find("good", config).name == "good"
    with pytest.raises(FairbenchError, match="sensitve"):
        cards.find("bad", config)


def test_only_a_dataset_card_is_taken_for_one() -> None:
    assert dataset_cards("people.yaml") == ("people.yaml",)
    assert dataset_cards("adults-gender") == ()
    assert dataset_cards(None) == ()


def test_a_unit_that_is_not_what_else_is_named_is_told(folder: Path) -> None:
    key = find(folder, "latfr", point="gamma=0.5").unit.key
    assert find(folder, "latfr", unit=key).unit.key == key
    for query, says in (
        ({"method": "sofair"}, "--method sofair: the model of --unit .* has method latfr"),
        ({"seed": 7}, "--seed 7: the model of --unit .* has seed 0"),
    ):
        with pytest.raises(ConfigError, match=says):
            find(folder, unit=key, **query)


def test_a_command_that_trains_again_names_the_data(folder: Path, tmp_path: Path) -> None:
    location = ResultsLocation(folder, data_root=tmp_path)
    model = find_model(ModelQuery("latfr", point="gamma=0.5"), location, REGISTRY)
    words = model.run_command()
    assert words[words.index("--data-root") + 1] == str(tmp_path)
    assert "--require-real-data" not in words, "it was trained on simulated rows"
    assert "--require-real-data" in changed(model, data_source="real").run_command()


def test_a_knob_is_set_once() -> None:
    with pytest.raises(ConfigError, match="sets beta twice"):
        parse_point("beta=1,beta=2")
