"""Commands that train stored models again: what they name is what ``fairbench run`` takes."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from fairbench.data.shift import shifted
from fairbench.models.commands import command_of_row
from fairbench.store.export import parse_export
from fairbench.store.records import UnitRecord
from tests.support.runs import EXPORT
from tests.support.stored_models import REGISTRY

CARD = "name: hiring\nfile: t.csv\nsensitive: sex\nlabels: {column: y, positive: 1}\n"


def unit_of(method: str, **changes: Any) -> UnitRecord:
    """A unit of a small run, changed."""
    records = parse_export(EXPORT.read_text().splitlines())
    units = (one for one in records if isinstance(one, UnitRecord) and one.method == method)
    return next(units).replace(run="run", **changes)


def command(units: list[UnitRecord], config: Mapping[str, Any] | None = None) -> str | None:
    runs = {} if config is None else {"run": config}
    found = command_of_row(units, runs, REGISTRY)
    return None if found is None else " ".join(found.words)


def test_a_card_is_named_by_its_path_and_not_by_its_name(tmp_path: Path) -> None:
    card = tmp_path / "my-hiring.yaml"
    card.write_text(CARD)
    unit = unit_of("pca", dataset="hiring")
    said = command([unit], {"datasets": ["adults-gender", str(card)]})
    assert said is not None
    assert f"--dataset {card} " in said
    assert command([unit]) is None, "nothing says where the card is"


@pytest.mark.parametrize("shift", ["age=40 or more", "Home State"])
def test_a_shift_is_spelled_as_it_was_given(shift: str) -> None:
    dataset = shifted(REGISTRY.datasets["adults-gender"], shift)
    unit = unit_of("pca", dataset=dataset.name)
    words = command_of_row(
        [unit], {"run": {"datasets": ["adults-gender"], "shift": shift}}, REGISTRY
    )
    assert words is not None
    assert words.words[4:8] == ["--dataset", "adults-gender", "--shift", shift]
    assert command([unit]) is None, "the name of a shift is no option"


def test_the_number_of_points_is_said_where_it_was_given() -> None:
    curve = unit_of("sofair", curve_points=16)
    assert "--points" not in str(command([curve], {"points": 16}))
    fewer = curve.replace(curve_points=5, read_points=curve.points[:3])
    assert "--points 5" in str(command([fewer])), "however many points were read"
    grid = unit_of("latfr")
    assert grid.curve_points is None
    assert "--points" not in str(command([grid] * 3, {"points": None}))
    assert "--points 4" in str(command([grid] * 3, {"points": 4}))
    assert "--points" not in str(command([grid] * 3)), "nothing says which part of the grid it is"


def test_all_seeds_and_folds_are_made_again() -> None:
    units = [
        unit_of("pca", seed=seed, split=f"fold {fold} of 3")
        for fold in (1, 2, 3)
        for seed in (7, 0)
    ]
    said = str(command(units))
    assert "--seed-list 0,7 " in said
    assert "--splits 3" in said


def test_hyperparameters_and_their_label_are_named() -> None:
    changes = {"params": {"bits": 3, "latent": 4}, "params_label": "bits=3", "label": "tuned"}
    found = command_of_row([unit_of("sofair", **changes)], {}, REGISTRY)
    assert found is not None
    assert "--params params.yaml --label tuned" in " ".join(found.words)
    assert found.note == 'params.yaml: {"sofair": {"bits": 3}}'
