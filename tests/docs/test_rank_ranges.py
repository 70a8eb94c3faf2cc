"""The sentence of ranks names every other row that may be among those that it is about."""

import dataclasses

import pytest

import rank_ranges
from fairbench.leaderboard.ranking import LeaderboardEntry
from rank_ranges import format_ranks
from tests.support.rows import a_row


def ranked(method: str, low: int, high: int, track: str = "blind") -> LeaderboardEntry:
    row = a_row(method, 0.1, track=track, replicated=True)
    return LeaderboardEntry(dataclasses.replace(row, rank_low=low, rank_high=high))


@pytest.fixture
def board(monkeypatch: pytest.MonkeyPatch) -> dict[str, LeaderboardEntry]:
    rows = {
        "first": ranked("first", 1, 1),
        "second": ranked("second", 2, 3),
        "wide": ranked("wide", 2, 9),
        "later": ranked("later", 3, 4),
        "aware": ranked("aware", 1, 1, track="aware"),
    }
    monkeypatch.setattr(rank_ranges, "read_rows", lambda board: rows)
    return rows


def test_a_row_whose_ranks_begin_before_the_last_one_end_is_an_exception(
    board: dict[str, LeaderboardEntry],
) -> None:
    text = " ".join(format_ranks(["d-1"], ["first", "second"]).split())
    assert "of its row: `first` 1 and `second` 2 to 3." in text
    assert text.endswith("of the blind track begin at 3 or later, except those of `wide` (2 to 9).")


def test_without_such_rows_there_is_no_exception(board: dict[str, LeaderboardEntry]) -> None:
    del board["wide"]
    text = " ".join(format_ranks(["d-1"], ["first", "second"]).split())
    assert text.endswith("All other ranks of the blind track begin at 3 or later.")
