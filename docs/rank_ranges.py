"""The ranks of rows of a board in a sentence, and which other rows reach among them."""

from __future__ import annotations

from collections.abc import Sequence

from board_rows import read_rows, show_name
from fairbench.metrics.rows import LeaderboardRow
from markdown_parts import make_paragraph


def format_ranks(boards: Sequence[str], names: Sequence[str]) -> str:
    """Format the ranks of rows of one board, and the other rows that may be ahead of the last."""
    (board,) = boards
    rows = {name: entry.row for name, entry in read_rows(board).items()}
    track = rows[names[0]].track
    last = max(_ends(rows[name])[1] for name in names)
    others = [
        name
        for name, row in rows.items()
        if row.track == track and name not in names and _ends(row)[0] < last
    ]
    shown = [f"{show_name(name)} {show_ranks(rows[name])}" for name in names]
    except_for = [f"{show_name(name)} ({show_ranks(rows[name])})" for name in others]
    return make_paragraph(
        f"Ranks, each corrected for all pairs of its row: {_join(shown)}.",
        f"All other ranks of the {track} track begin at {last} or later"
        + (f", except those of {_join(except_for)}." if others else "."),
    )


def _ends(row: LeaderboardRow) -> tuple[int, int]:
    assert row.rank_low is not None, row
    assert row.rank_high is not None, row
    return row.rank_low, row.rank_high


def show_ranks(row: LeaderboardRow) -> str:
    """Return the ranks of a ranked row: ``1 to 4``."""
    low, high = _ends(row)
    return f"{low}" if low == high else f"{low} to {high}"


def _join(parts: Sequence[str]) -> str:
    return " and ".join(filter(None, [", ".join(parts[:-1]), parts[-1]]))
