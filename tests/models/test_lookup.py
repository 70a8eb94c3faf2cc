"""Which kept model is meant, and where it can be read."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from fairbench.api import Point
from fairbench.data.prepare import Prepared
from fairbench.errors import FairbenchError
from fairbench.models.lookup import (
    KEY_DIGITS,
    Place,
    Wanted,
    audited,
    beside,
    card_of,
    encode_words,
    find_unit,
    parse_point,
    read_encoder,
    resolve_point,
)
from fairbench.store.database import Store
from fairbench.store.encoders import path_of
from tests.support.stored_models import REGISTRY, keep_model

POINTS = {"beta=0.2": {"mutual_information": 0.03}, f"beta={1 / 3:.6g}": {}, "beta=0.9": {}}


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory, prepared: Prepared) -> Path:
    folder = tmp_path_factory.mktemp("results")
    keep_model(folder, prepared, "sofair", POINTS)
    for gamma in (0.5, 2.0):
        point = Point.of(gamma=gamma)
        keep_model(folder, prepared, "latfr", {point.label: {}}, point=point)
    keep_model(folder, prepared, "identity", {"-": {}}, point=Point())
    keep_model(folder, prepared, "identity", {"-": {}}, point=Point(), seed=4)
    return folder


@pytest.fixture
def store(made: Path, tmp_path: Path) -> Store:
    """In ``tmp_path``, each test its own."""
    shutil.copytree(made, tmp_path, dirs_exist_ok=True)
    return Store.in_folder(tmp_path)


def test_what_is_left_out_is_what_there_is(store: Store) -> None:
    found = find_unit(store, REGISTRY, Wanted("sofair"))
    assert (found["method"], found["seed"]) == ("sofair", 0)
    latfr = find_unit(store, REGISTRY, Wanted("latfr", "adults-gender", 0, "gamma=2"))
    assert latfr["point"] == "gamma=2"
    assert find_unit(store, REGISTRY, Wanted("identity"))["seed"] == 0
    assert find_unit(store, REGISTRY, Wanted("identity", seed=4))["seed"] == 4
    assert find_unit(store, REGISTRY, Wanted(unit=latfr["key"][:12])) == latfr


@pytest.mark.parametrize(
    ("wanted", "says"),
    [
        (Wanted(), "Methods here: identity, latfr, sofair"),
        (Wanted("sofiar"), "Did you mean 'sofair'"),
        (Wanted("leace"), "no fitted model of leace"),
        (Wanted("sofair", "adults-race"), "holds nothing of 'adults-race'"),
        (Wanted("sofair", seed=7), "no fitted model of seed 7"),
        (Wanted("latfr"), r"--point is missing.\n  gamma=0.5: I = 0.010 nats"),
        (Wanted("latfr", point="gamma=1"), "there is no model at gamma=1.\n  gamma=0.5"),
        (Wanted("latfr", point="lots"), "no setting of knobs"),
        (Wanted(unit="zz"), "No fitted model has a key that starts with 'zz'"),
    ],
)
def test_what_there_is_not_is_told_with_what_there_is(
    store: Store, wanted: Wanted, says: str
) -> None:
    with pytest.raises(FairbenchError, match=says):
        find_unit(store, REGISTRY, wanted)


def test_several_models_that_fit_are_listed_by_key(
    store: Store, tmp_path: Path, prepared: Prepared
) -> None:
    params = {"learning_rate": 0.01}
    key = keep_model(tmp_path, prepared, "sofair", POINTS, params=params)
    with pytest.raises(
        FairbenchError, match="2 models of sofair fit: name one with --unit"
    ) as said:
        find_unit(store, REGISTRY, Wanted("sofair"))
    assert f"--unit {key[:KEY_DIGITS]}  hidden=[16] latent=3 learning_rate=0.01" in str(said.value)
    unit = find_unit(store, REGISTRY, Wanted(unit=key[:KEY_DIGITS]))
    words = encode_words(unit, audited(store, [unit])[0], store, REGISTRY, Place())
    assert words[-4:] == ["--unit", key[:KEY_DIGITS], "--point", "beta=0.2"]


def test_a_curve_is_read_anywhere_in_its_range(store: Store, tmp_path: Path) -> None:
    unit = find_unit(store, REGISTRY, Wanted("sofair"))
    encoder = read_encoder(unit, store, REGISTRY, Place(tmp_path))
    measured = audited(store, [unit])
    # A label is rounded: what was audited is the number behind it.
    third = resolve_point(encoder, f"beta={1 / 3:.6g}", measured)
    assert third is not None
    assert third["beta"] == measured[1]["knobs"]["beta"]
    between = resolve_point(encoder, "beta=0.5", measured)
    assert between == Point.of(beta=0.5)
    assert [row["label"] for row in beside(between, measured)] == ["beta=0.333333", "beta=0.9"]
    assert [row["label"] for row in beside(Point.of(beta=1.0), measured)] == ["beta=0.9"]
    for text, says in (
        (None, r"name one with --point \"beta=NUMBER\". Audited:\n  beta=0.2: I = 0.030 nats"),
        ("beta=9", "goes from 0 to 1.25, not to 9"),
        ("beta=nan", "not to nan"),
        ("gamma=1", "Unknown knob of sofair 'gamma'"),
        ("-", "Unknown knob"),
    ):
        with pytest.raises(FairbenchError, match=says):
            resolve_point(encoder, text, measured)


def test_a_curve_with_points_of_its_own_is_read_at_those(
    tmp_path: Path, prepared: Prepared
) -> None:
    quick = {"search_rows": 300, "search_trees": 2, "trees": 2}
    keep_model(tmp_path, prepared, "drop-features", {"dropped=1": {}}, params=quick)
    store = Store.in_folder(tmp_path)
    unit = find_unit(store, REGISTRY, Wanted("drop-features"))
    encoder = read_encoder(unit, store, REGISTRY, Place(tmp_path))
    assert resolve_point(encoder, "dropped=2", []) == Point.of(dropped=2)
    with pytest.raises(FairbenchError, match="at these points alone: dropped=1, dropped=2"):
        resolve_point(encoder, "dropped=1.5", [])


def test_a_model_without_an_encoder_says_why(store: Store, tmp_path: Path) -> None:
    unit = find_unit(store, REGISTRY, Wanted("sofair"))
    for change, says in (
        ({"encoder": None}, "by a version that did not keep encoders yet"),
        ({"encoder": None, "error": "encoder not kept: it broke"}, "not kept: it broke"),
        ({"encoder": None, "run": "trial-1"}, "it was trained in a search"),
        ({"encoder": None, "method": "conditional-quantile"}, "no form that could be kept"),
        ({"encoder": "gone.safetensors"}, "fairbench clean deleted it"),
    ):
        with pytest.raises(FairbenchError, match=says):
            read_encoder(unit | change, store, REGISTRY, Place(tmp_path))


def test_a_damaged_encoder_is_told(store: Store, tmp_path: Path) -> None:
    unit = find_unit(store, REGISTRY, Wanted("sofair"))
    path = path_of(tmp_path, unit["encoder"])
    content = bytearray(path.read_bytes())
    content[-1] ^= 1
    path.write_bytes(content)
    with pytest.raises(FairbenchError, match="is damaged"):
        read_encoder(unit, store, REGISTRY, Place(tmp_path))


def test_figures_of_a_model_that_was_trained_again_are_past(store: Store) -> None:
    unit = find_unit(store, REGISTRY, Wanted("sofair"))
    now = unit | {"read_points": unit["read_points"][1:]}
    old, new = audited(store, [unit]), audited(store, [now])
    assert len(old) == 3
    assert [row["label"] for row in new] == [row["label"] for row in old][1:]


def test_points_are_written_as_they_are_shown() -> None:
    assert parse_point("-") == Point()
    assert parse_point("gamma=1, beta=0.5") == Point.of(beta=0.5, gamma=1.0)


def test_points_of_several_knobs_have_no_neighbours_on_a_line(store: Store) -> None:
    measured = audited(store, [find_unit(store, REGISTRY, Wanted("sofair"))])
    assert beside(Point.of(beta=0.5, gamma=1.0), measured) == []
    assert beside(Point(), measured) == []


def test_how_to_get_an_encoder_is_the_run_that_trained_it(store: Store, tmp_path: Path) -> None:
    unit = find_unit(store, REGISTRY, Wanted("sofair")) | {"encoder": "gone.safetensors"}
    unit |= {"curve_points": 7, "params": {"bits": 3, "latent": 4}, "params_label": "bits=3"}
    with pytest.raises(FairbenchError) as said:
        read_encoder(unit, store, REGISTRY, Place(tmp_path))
    assert said.value.hint.endswith(
        "fairbench run --methods sofair --dataset adults-gender --seed-list 0 --budget quick "
        f"--points 7 --params params.yaml --results {tmp_path} --rerun all "
        '(params.yaml: {"sofair": {"bits": 3}})'
    )


def test_the_card_of_a_model_is_the_one_with_its_datasets_name(
    store: Store, tmp_path: Path
) -> None:
    table = "file: people.csv\nsensitive: sex\nlabels: {column: y, positive: 1}\n"
    (tmp_path / "hiring.yaml").write_text(f"name: hiring\n{table}")
    (tmp_path / "adults.yaml").write_text(f"name: my-adults\n{table}")
    cards = [str(tmp_path / "hiring.yaml"), str(tmp_path / "adults.yaml")]
    store.add_run(
        {
            "id": "two-cards",
            "started": "2026-01-01T00:00:00+00:00",
            "command": "fairbench run",
            "config": {"datasets": cards},
            "versions": {},
        }
    )
    unit = find_unit(store, REGISTRY, Wanted("sofair")) | {"run": "two-cards"}
    assert card_of(unit | {"dataset": "my-adults"}, store, REGISTRY) == cards[1]
    assert card_of(unit | {"dataset": "hiring"}, store, REGISTRY) == cards[0]
    assert card_of(unit | {"dataset": "lending"}, store, REGISTRY) is None
