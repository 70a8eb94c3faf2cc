"""What cannot work is told before anything is trained, and a broken board hides no other."""

from pathlib import Path

import pytest

from fairbench.api import BoardFile
from fairbench.cli.boards import board_list
from fairbench.leaderboard.board_file import from_bytes, to_bytes
from fairbench.registry import Registry, load_registry
from tests.conftest import Call
from tests.leaderboard.test_board import board_of, on_real_data, selected
from tests.support.installed_boards import installed
from tests.support.runs import change_units

SEARCH = ("search", "--method", "sofair", "--dataset", "adults", "--dry-run")


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("--output", "folder"), "is a folder"),
        (("--output", "none/best.yaml"), "there is no folder none"),
        (("--params", "latfr.yaml"), "Parameters are given for 'latfr'"),
    ],
)
def test_what_a_search_cannot_use_is_refused(
    fairbench_here: Call, tmp_path: Path, words: tuple[str, ...], says: str
) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "latfr.yaml").write_text("latfr:\n  adversary_steps: 3\n")
    done = fairbench_here(*SEARCH, *words)
    assert done.returncode == 2
    assert says in done.stderr


def test_a_verified_row_can_only_be_added_to_a_folder(fairbench_here: Call, tmp_path: Path) -> None:
    (tmp_path / "rows.csv").touch()
    done = fairbench_here("verify", "some.submission.jsonl.gz", "--add-to", "rows.csv")
    assert done.returncode == 2
    assert "--add-to rows.csv is no folder" in done.stderr


def test_a_board_that_could_not_be_read_back_is_not_written(
    fairbench_here: Call, tmp_path: Path
) -> None:
    def with_a_huge_number(records: list) -> list:  # type: ignore[type-arg]
        real = on_real_data(records)
        return change_units(real, lambda unit: unit.replace(params={"width": 10**400}))

    selected(tmp_path / "fairbench-results", with_a_huge_number)
    words = ("board", "export", "adults-gender", "--version", "9", "--budget", "quick")
    done = fairbench_here(*words)
    assert done.returncode == 2
    assert "Nothing was written: the board could not be read back" in done.stderr
    assert not list(tmp_path.glob("*.board"))


def test_boards_that_can_be_read_are_listed_beside_one_that_cannot(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    content = to_bytes(board_of(tmp_path / "made"))
    assert from_bytes(content)
    (tmp_path / "whole.board").write_bytes(content)
    (tmp_path / "broken.board").write_bytes(content[:999])

    def registry() -> Registry:
        found = load_registry()
        found.boards = installed(
            BoardFile("adults-gender", 4, tmp_path / "broken.board"),
            BoardFile("adults-gender", 5, tmp_path / "whole.board"),
        )
        return found

    monkeypatch.setattr("fairbench.cli.boards.load_plugins", registry)
    board_list()
    told = capsys.readouterr()
    assert "Warning: adults-gender-4: " in told.err
    assert "adults-gender-5" in told.out
