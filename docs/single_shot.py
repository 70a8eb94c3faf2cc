"""The table of single-shot twins against their methods, from the board of that experiment."""

from __future__ import annotations

from collections.abc import Iterator

from board_rows import read_table
from fairbench.leaderboard.ranking import RankedRow, compare
from fairbench.report.format import format_interval, format_share

SUFFIX = "-ss"
"""What the name of a twin ends in."""

_HEADS = (
    *("method", "AUFDC", "of the twin", "twin - method", "training, s", "of the twin"),
    *("share", "monotonicity", "of the twin"),
)


def format_single_shot() -> str:
    """Format the table; a row for each method that is on the board with its twin."""
    rule = "|".join(["", "---", *["---:"] * (len(_HEADS) - 1), ""])
    return "\n".join([_line(_HEADS), rule, *map(_line, _rows())]) + "\n"


def _line(cells: tuple[str, ...]) -> str:
    return f"| {' | '.join(cells)} |"


def read_pairs() -> tuple[list[RankedRow], list[tuple[RankedRow, RankedRow]]]:
    """Return all rows of the board, and each method with its twin."""
    rows = read_table("single-shot", "experiments").entries
    entries = {entry.row.method: entry for entry in rows if entry.row.complete}
    twins = [name for name in sorted(entries) if name + SUFFIX in entries]
    return rows, [(entries[name], entries[name + SUFFIX]) for name in twins]


def _rows() -> Iterator[tuple[str, ...]]:
    entries, pairs = read_pairs()
    for method, twin in pairs:
        yield _cells(entries, method, twin)


def _cells(entries: list[RankedRow], method: RankedRow, twin: RankedRow) -> tuple[str, ...]:
    (gap,) = (
        one for one in compare(entries, twin.row.method, method.row.method) if one.column == "aufdc"
    )
    difference = ""
    if gap.difference is not None:
        difference = format_interval(gap.difference.value, *gap.difference.interval())
    seconds = [entry.row.figures["train_seconds"] or 0.0 for entry in (method, twin)]

    def figure(entry: RankedRow, column: str) -> str:
        value = entry.row.figures.get(column)
        return "" if value is None else format_share(value)

    return (
        f"`{method.row.method}`",
        figure(method, "aufdc"),
        figure(twin, "aufdc"),
        difference,
        f"{seconds[0]:,.0f}",
        f"{seconds[1]:,.0f}",
        f"{seconds[1] / seconds[0]:.2f}" if seconds[0] else "",
        figure(method, "monotonicity"),
        figure(twin, "monotonicity"),
    )
