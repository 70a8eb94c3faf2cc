"""The table of what each part of this project's methods is worth, from a board of its own."""

from __future__ import annotations

from collections.abc import Iterator

from board_rows import read_table
from fairbench.leaderboard.ranking import LeaderboardEntry, difference
from fairbench.metrics.rows import DEFAULT
from fairbench.report.format import format_interval, format_share
from markdown_parts import make_table
from published_figures import read_published

_AREA, _TASK = "aufdc", "accuracy_y_at_leakage_10"


def format_parts() -> str:
    """Format the table: a row for each change, with the difference to the method as it is."""
    heads = (
        *("method", "changed", "AUFDC", "more than the method as it is"),
        "A_y where a tenth leaks",
    )
    return make_table(heads, _rows())


def read_parts() -> list[LeaderboardEntry]:
    """Read the rows with something changed, those of one method together."""
    entries = read_table("own-method-parts", "experiments").entries
    changed = [e for e in entries if e.row.replicated and e.row.params != DEFAULT]
    return sorted(changed, key=lambda e: (e.row.method, e.row.figures[_AREA] or 0.0))


def _rows() -> Iterator[tuple[str, ...]]:
    whole = read_published()
    for part in read_parts():
        row = part.row
        gap = difference(part, whole.rows[row.method], _AREA)
        assert gap is not None
        yield (
            f"`{row.method}`",
            f"{row.label}: `{row.params}`",
            format_interval(row.figures[_AREA] or 0.0, *(row.interval(_AREA) or (None, None))),
            format_interval(gap.value, *gap.interval()),
            format_share(row.figures[_TASK] or 0.0),
        )
