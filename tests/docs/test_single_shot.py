"""Methods beside their single-shot twins, in cases that are known."""

import math
from typing import Any

import pytest

import single_shot
from fairbench.leaderboard.build import Tables
from fairbench.leaderboard.ranking import LeaderboardEntry
from single_shot import format_single_shot, training_share
from tests.support.rows import one_split


def trained(method: str, area: float, seconds: float | None, **more: Any) -> LeaderboardEntry:
    machine = {"device": "cpu", "processor": "one"}
    return one_split(method, 1, aufdc=area, train_seconds=seconds, **(machine | more))


def cells(monkeypatch: pytest.MonkeyPatch, *rows: LeaderboardEntry) -> list[list[str]]:
    """Lines of the table of a board with these rows."""
    table = Tables("d", list(rows))
    monkeypatch.setattr(single_shot, "read_table", lambda board, folder: table)
    lines = [line for line in format_single_shot().splitlines() if line.startswith("| `")]
    return [line.strip("| ").split(" | ") for line in lines]


@pytest.mark.parametrize(
    ("twin", "share"),
    [
        ({}, 0.2),
        ({"processor": "another"}, math.nan),
        ({"device": "cuda"}, math.nan),
        ({"seconds": None}, math.nan),
    ],
)
def test_times_of_one_machine_alone_are_compared(twin: dict[str, Any], share: float) -> None:
    seconds = twin.get("seconds", 10.0)
    machine = {name: value for name, value in twin.items() if name != "seconds"}
    found = training_share(trained("cvib", 0.3, 50.0), trained("cvib-ss", 0.3, seconds, **machine))
    assert found == pytest.approx(share, nan_ok=True)


def test_times_of_several_machines_are_not_compared() -> None:
    pair = [trained(name, 0.3, 50.0, processor="mixed") for name in ("cvib", "cvib-ss")]
    assert math.isnan(training_share(*pair))


def test_an_unknown_share_is_no_small_one(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [trained("cvib", 0.3, 50.0), trained("cvib-ss", 0.31, 10.0, processor="another")]
    ((_, area, of_twin, gap, _, seconds, share, *_),) = cells(monkeypatch, *rows)
    assert (area, of_twin, seconds, share) == (".300", ".310", "10", "none")
    assert gap.startswith(".010 [")
    assert format_single_shot().endswith("training time: 0 of 0")


def test_rows_with_other_hyperparameters_make_no_pair(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [
        trained("cvib", 0.1, 50.0, params="width=9", label="wide"),
        trained("cvib", 0.3, 50.0),
        trained("cvib-ss", 0.31, 10.0),
        trained("cvib-ss", 0.2, 10.0, params="width=9", label="wide"),
    ]
    ((name, area, of_twin, *_),) = cells(monkeypatch, *rows)
    assert (name, area, of_twin) == ("`cvib`", ".300", ".310")
