"""Options that would have no effect are refused, not ignored."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from fairbench.cli.calibrate import calibrate_command
from fairbench.cli.model_card import model_card_command
from fairbench.cli.plot import plot
from fairbench.cli.recommend import recommend_command
from fairbench.cli.report import report
from fairbench.errors import ConfigError


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"attacks": True}, "need a dataset"),
        ({"attacks": True, "channels": "empty"}, "it uses no channels"),
        ({"attacks": True, "rows": 500}, "it uses no channels"),
        ({"attacks": True, "seeds": 2}, "it uses no channels"),
        ({"dataset": "compas"}, "they have no dataset"),
        ({"quick": True}, "no quick audit"),
        ({"data_root": Path()}, "they have no dataset"),
    ],
)
def test_calibrate_takes_options_of_channels_or_of_attacks(
    options: dict[str, Any], says: str
) -> None:
    with pytest.raises(ConfigError, match=says):
        calibrate_command(**options)


def test_a_dataset_of_the_page_needs_a_board(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="names the board of --against"):
        report(results=tmp_path, dataset="compas")


def test_a_collection_is_of_the_figure_across_tables(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="not with curves"):
        plot("curves", results=tmp_path, collection="tabular-v1")


@pytest.mark.parametrize("command", [model_card_command, recommend_command])
def test_a_model_card_does_not_replace_a_dataset_card(command: Any, tmp_path: Path) -> None:
    card = tmp_path / "people.yaml"
    card.write_text("name: people")
    options = {"output": card} if command is model_card_command else {"card": card}
    more = {} if command is model_card_command else {"max_leakage": 0.1}
    with pytest.raises(ConfigError, match=r"people\.md"):
        command(**options, **more)
    assert card.read_text() == "name: people"
