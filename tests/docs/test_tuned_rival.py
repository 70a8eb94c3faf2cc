"""On how many tables methods are ahead of a tuned one, behind it, or neither."""

from pathlib import Path

import pytest
import tuned_rival
from tuned_rival import format_rival

from fairbench.leaderboard.ranking import LeaderboardEntry
from tests.support.rows import with_folds


def rows(own: list[float], tuned: list[float], label: str) -> dict[str, LeaderboardEntry]:
    other = with_folds("other", tuned, params="width=3", label=label, replicated=True)
    return {"own": with_folds("own", own, replicated=True), f"other ({label})": other}


@pytest.fixture
def boards(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> dict[str, object]:
    tuned = [0.3, 0.31, 0.3]
    boards = {
        "ahead-5": rows([0.1, 0.1, 0.11], tuned, "tuned"),
        "behind-5": rows([0.5, 0.5, 0.51], tuned, "transferred"),
        # Tuned on its own table too: that is another setting.
        "open-5": rows([0.1, 0.6, 0.3], tuned, "transferred")
        | rows([0.1, 0.6, 0.3], [0.9, 0.9, 0.9], "tuned"),
        "without-5": {"own": with_folds("own", tuned, replicated=True)},
    }
    (tmp_path / "fairbench_boards").mkdir()
    for name in boards:
        (tmp_path / "fairbench_boards" / f"{name}.board").touch()
    monkeypatch.setattr(tuned_rival, "LEADERBOARDS", tmp_path)
    monkeypatch.setattr(tuned_rival, "read_rows", boards.__getitem__)
    return boards


def test_tables_are_counted_by_the_intervals_of_paired_differences(
    boards: dict[str, object],
) -> None:
    text = " ".join(format_rival(["other"], ["own"]).split())
    assert "| `ahead` | .303" in text
    ahead = "`own` is ahead of `other` (interval below 0) on 1 of 3 tables, behind it on 1"
    assert ahead in text
    assert "(`behind`), and on 1 (`open`) the interval holds 0." in text


def test_tables_without_the_tuned_row_are_not_counted(boards: dict[str, object]) -> None:
    assert "without" not in format_rival(["other"], ["own"])
