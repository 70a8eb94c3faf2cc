"""What cannot stand on a board is told before anything is trained for it."""

from dataclasses import replace
from pathlib import Path

import pytest

from fairbench.cli.against import follow_board
from fairbench.config import RunConfig
from fairbench.errors import ConfigError
from fairbench.leaderboard.board import Board
from fairbench.leaderboard.board_file import to_bytes
from fairbench.registry import load_registry
from fairbench.versions import AUDIT_VERSION, PROTOCOL_VERSION
from tests.leaderboard.test_board import board_of, folded


@pytest.fixture(scope="module")
def board(tmp_path_factory: pytest.TempPathFactory) -> Board:
    """A board by this version's audit."""
    made = board_of(tmp_path_factory.mktemp("board"), folded)
    info = made.info.model_copy(
        update={"audit_version": AUDIT_VERSION, "protocol": PROTOCOL_VERSION}
    )
    points = [point.replace(audit_version=AUDIT_VERSION) for point in made.points]
    references = [one.replace(audit_version=AUDIT_VERSION) for one in made.references]
    units = [unit.replace(protocol=PROTOCOL_VERSION) for unit in made.units]
    return replace(made, info=info, units=units, points=points, references=references)


def written(board: Board, folder: Path) -> str:
    path = folder / "some-1.board"
    path.write_bytes(to_bytes(board))
    return str(path)


def config(against: str, *methods: str) -> RunConfig:
    return RunConfig(methods=methods, datasets=("adults-gender",), against=against)


def test_a_run_has_the_splits_of_the_board_and_real_data(board: Board, tmp_path: Path) -> None:
    followed, _ = follow_board(config(written(board, tmp_path), "sofair"), load_registry())
    assert followed.splits == 5
    assert followed.budget == "quick"
    assert followed.require_real_data


def test_a_board_of_another_version_is_refused(board: Board, tmp_path: Path) -> None:
    earlier = board.info.model_copy(update={"audit_version": AUDIT_VERSION - 1})
    points = [point.replace(audit_version=AUDIT_VERSION - 1) for point in board.points]
    path = written(replace(board, info=earlier, points=points), tmp_path)
    with pytest.raises(ConfigError, match=f"version {AUDIT_VERSION - 1} of the audit"):
        follow_board(config(path, "sofair"), load_registry())


def test_baselines_alone_are_refused(board: Board, tmp_path: Path) -> None:
    path = written(board, tmp_path)
    with pytest.raises(ConfigError, match="baselines on a board stay as published"):
        follow_board(config(path, "pca", "drop-features"), load_registry())
    assert follow_board(config(path, "pca", "sofair"), load_registry())
