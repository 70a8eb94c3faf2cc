"""Claims about images: one replicate decides nothing about the order of methods."""

from types import SimpleNamespace
from typing import cast

import pytest

import image_claims
from board_rows import read_table
from claims import UNDECIDED
from fairbench.leaderboard.build import Tables
from fairbench.leaderboard.ranking import LeaderboardEntry
from fairbench.metrics.rows import PointRow, Variant
from fairbench.store.status import Status
from image_claims import ImageBoard, format_images, make_claims
from tests.support.rows import a_row


@pytest.fixture(scope="module")
def board() -> ImageBoard:
    return ImageBoard(read_table("dsprites", "experiments"))


def test_points_stand_from_the_end_of_least_distortion(board: ImageBoard) -> None:
    distortion = board.along("sofair", "distortion")
    assert len(distortion) > 2
    assert distortion == sorted(distortion)


def test_the_order_of_methods_stays_undecided(board: ImageBoard) -> None:
    order, curve, *fronts = make_claims(board)
    assert "msfair" in order.figures
    assert "I rises at" in curve.figures
    assert "D falls at" in curve.figures
    assert {claim.verdict for claim in [order, *fronts]} == {UNDECIDED}


def test_claims_need_the_rows_that_they_are_about(board: ImageBoard) -> None:
    without = ImageBoard(board.table)
    del without.rows["msfair"]
    assert list(make_claims(without)) == []


def test_a_figure_that_is_not_known_is_none_and_no_zero(monkeypatch: pytest.MonkeyPatch) -> None:
    points = [
        SimpleNamespace(
            variant=Variant("pca", "default"),
            counted=True,
            status=Status.DONE.value,
            point_number=number,
            figures={"distortion": d, "mutual_information": i, "accuracy_y": y},
        )
        for number, (d, i, y) in enumerate([(1.0, 0.3, 0.8), (2.0, 0.1, None)])
    ]
    rows = [LeaderboardEntry(a_row("pca", 0.2, train_seconds=None))]
    table = Tables("images", rows, cast(list[PointRow], points))
    monkeypatch.setattr(image_claims, "read_table", lambda name, folder: table)
    line = format_images().splitlines()[-1]
    assert line == "| `pca` | .200 | 1.0 to 2.0 | .300 to .100 | none | none |"
