"""Boards of the committed run, for tests of submissions to them."""

import pytest

from fairbench.leaderboard.board import Board
from tests.support.runs import five_folds
from tests.support.submissions import board_of


@pytest.fixture(scope="module")
def board(tmp_path_factory: pytest.TempPathFactory) -> Board:
    """A board of the official split."""
    return board_of(tmp_path_factory.mktemp("official"))


@pytest.fixture(scope="module")
def folded(tmp_path_factory: pytest.TempPathFactory) -> Board:
    """A board over five folds; its rows have the official split besides."""
    return board_of(tmp_path_factory.mktemp("folded"), five_folds)
