"""Methods beside their single-shot twins, in cases that are known."""

import math
from typing import Any

import numpy as np
import pytest

import single_shot
from fairbench.leaderboard.build import Tables
from fairbench.leaderboard.ranking import LeaderboardEntry
from published_figures import Published
from single_shot import describe_shares, format_over_splits, format_single_shot, training_share
from tests.support.rows import one_split, with_folds


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


def test_a_share_that_is_too_low_is_told_with_the_one_before(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(single_shot, "EARLIER_SHARES", {"cvib": 0.25, "fcrl": 0.1})
    told = describe_shares(["cvib", "vfae"], "{:.0%}".format)
    assert told.startswith("`cvib` was trained again after its twin")
    assert told.endswith("too low: before, it was 25%.")
    assert describe_shares(["vfae"], str) == ""


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


def folds_around(area: float, spread: float) -> list[float]:
    return [area + spread * k for k in (-2, -1, 0, 1, 2)]


@pytest.mark.parametrize(
    ("more", "spread", "verdict"),
    [
        (0.0, 0.001, "holds"),
        (0.05, 0.001, "does not hold"),
        (0.01, 0.001, "undecided"),  # as likely less as more than the margin
        (0.05, 0.05, "undecided"),
    ],
)
def test_over_splits_a_twin_is_judged_by_its_paired_difference(
    monkeypatch: pytest.MonkeyPatch, more: float, spread: float, verdict: str
) -> None:
    areas = np.array(folds_around(0.3, 0.1))  # splits differ far more than twins do
    noise = np.array([1.0, -2.0, 0.0, 2.0, -1.0]) * spread
    rows = [
        with_folds("cvib", list(areas), replicated=True),
        with_folds("cvib-ss", list(areas + more + noise), replicated=True),
        with_folds("sofair", list(areas), replicated=True),
    ]
    board = Published(Tables("d", rows))
    monkeypatch.setattr(single_shot, "read_published", lambda: board)
    *_, line = format_over_splits().splitlines()
    assert line.startswith("| `cvib` | .300 | ")
    assert line.endswith(f"| **{verdict}** |")
