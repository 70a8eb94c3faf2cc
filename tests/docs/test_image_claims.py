"""Claims about images: one replicate decides nothing about the order of methods."""

import pytest

from board_rows import read_table
from claims import UNDECIDED
from image_claims import ImageBoard, make_claims


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
    assert {claim.verdict for claim in [order, *fronts]} == {UNDECIDED}


def test_claims_need_the_rows_that_they_are_about(board: ImageBoard) -> None:
    without = ImageBoard(board.table)
    del without.rows["msfair"]
    assert list(make_claims(without)) == []
