"""What a search found is kept without the machine's paths, and recipes name it by its file."""

from __future__ import annotations

from pathlib import Path

import pytest
import recipe
import tune
from pydantic import ValidationError

BEST = """# fairbench search --method funnel --results /home/me/out --data-root /home/me/data
# best of 3 finalists, trial 14 of 52: area 0.0752 on the validation set
label: tuned
funnel:
  cells: 866
"""


@pytest.fixture
def found(tmp_path: Path) -> Path:
    folder = tmp_path / "search"
    folder.mkdir()
    (folder / "trials.csv").write_text("number,aufdc\n0,0.1\n")
    (folder / "best.yaml").write_text(BEST)
    return folder


def test_a_kept_search_has_the_recipes_options_and_no_paths(found: Path, tmp_path: Path) -> None:
    folder = tmp_path / "adults-gender"
    tune.keep(found, folder, "funnel", {"work": "12m", "final_budget": "full"})
    text = (folder / "funnel.yaml").read_text()
    assert text.splitlines()[0] == (
        "# fairbench search --method funnel --dataset adults-gender --work 12m --final-budget full"
    )
    assert text.splitlines()[1:] == BEST.splitlines()[1:]
    assert sorted(path.name for path in folder.iterdir()) == ["funnel.csv", "funnel.yaml"]


def test_a_row_takes_its_hyperparameters_from_a_search(
    found: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recipe, "HERE", found)
    row = recipe.Row.model_validate({"method": "funnel", "label": "tuned", "params": "best.yaml"})
    assert row.params == {"cells": 866}
    for wrong in ({"method": "sofair"}, {"params": "missing.yaml"}):
        given = {"method": "funnel", "label": "tuned", "params": "best.yaml", **wrong}
        with pytest.raises(ValidationError, match="yaml"):
            recipe.Row.model_validate(given)


def test_a_dataset_has_options_of_its_own_beside_those_of_all(tmp_path: Path) -> None:
    (tmp_path / "searches.yaml").write_text(
        "datasets:\n  adults-gender: {work: 12m}\n  law-school: {work: 4m}\n"
        "search: {splits: 2}\nmethods: [merged-cells]\n"
    )
    searches = recipe.read(recipe.Searches, tmp_path / "searches.yaml")
    assert searches.methods == ["merged-cells"]
    assert searches.options("law-school") == {"work": "4m", "splits": 2}


def test_names_beside_lines_keep_their_order_and_do_not_overlap() -> None:
    assert tune.spread([0.5, 0.1, 0.9], 0.2) == pytest.approx([0.5, 0.1, 0.9])
    assert tune.spread([0.5, 0.5, 0.9], 0.2) == pytest.approx([0.4, 0.6, 0.9])
