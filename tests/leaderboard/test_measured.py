"""A metric of a third party that gives nonsense of curves has empty columns, and is told of."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest

from fairbench.api.metric import Metric
from fairbench.leaderboard.board import make_board
from fairbench.leaderboard.build import build_tables
from fairbench.metrics.points import Downstream
from fairbench.registry import load_registry
from fairbench.store.returned_values import checked_columns
from tests.leaderboard.test_board import folded, on_real_data, selected


class Odd(Metric):
    """Gives what it is told to."""

    name = "odd"
    summary = "gives nonsense"
    level = "curve"
    direction = "lower"
    columns: ClassVar[Mapping[str, str]] = {"odd": "nonsense", "odd_low": "nonsense"}
    given: ClassVar[Any] = None

    def compute(self, evaluation: Any) -> Any:
        return self.given

    def resampled(self, evaluation: Any) -> Any:
        return self.given


@pytest.mark.parametrize(
    ("given", "why"),
    [
        (None, "returned None"),
        ({"odd": "much"}, "returned 'much' for 'odd'"),
        ({"odd": float("nan")}, "returned nan for 'odd'"),
        ({"odd": True}, "returned True for 'odd'"),
        ({"odd": np.array([1.0])}, "returned array([1.]) for 'odd'"),
        ({"odd": 1.0, "even": 1.0}, "returned 'even', which it does not declare"),
    ],
)
def test_what_is_no_figure_leaves_the_rest_of_the_table(
    tmp_path: Path, given: object, why: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    registry = load_registry()
    monkeypatch.setattr(Odd, "given", given)
    registry.metrics.classes["odd"] = Odd
    (table,) = build_tables(selected(tmp_path, folded), registry)
    assert all(row.figures.get("odd") is None for row in table.leaderboard)
    assert any(row.replicated and row.figures["aufdc"] for row in table.leaderboard)
    # Once for all methods, and not once for each.
    said = re.compile(rf"On \S+ and \d+ other methods: The metric odd {re.escape(why)}")
    assert sum(said.match(problem) is not None for problem in table.problems) == 1
    assert len(table.problems) <= 2


@pytest.mark.parametrize("given", [None, {"odd": np.zeros(3), "aufdc": np.zeros(3)}])
def test_a_board_is_made_without_the_replicates_of_such_a_metric(
    given: object, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    registry = load_registry()
    monkeypatch.setattr(Odd, "given", given)
    registry.metrics.classes["odd"] = Odd
    records = selected(tmp_path, on_real_data)
    board = make_board(records, "adults-gender", registry, version=5, budget="quick")
    assert all("aufdc" in areas and "odd" not in areas for areas in board.curve_replicates.values())
    assert all(areas["aufdc"].any() for areas in board.curve_replicates.values())
    assert board.curve_replicates


def test_a_column_that_was_left_out_has_no_figure() -> None:
    """As if it had been measured: the next audit need not measure it again."""
    assert checked_columns(Odd, {"odd": 1.0}) == {"odd": 1.0, "odd_low": None}
    assert checked_columns(Downstream, {}) == {}  # without a task there is nothing to know
