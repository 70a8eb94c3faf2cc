"""The table of single-shot twins against their methods, from the board of that experiment."""

from __future__ import annotations

import math

from board_rows import read_table
from fairbench.leaderboard.ranking import LeaderboardEntry, compare
from fairbench.report.format import format_interval, format_share
from fairbench.stats.intervals import Estimate
from markdown_parts import list_names, make_table

SUFFIX = "-ss"
"""What the name of a twin ends in."""

MARGIN = 0.01
"""Area that a twin may lose and still be as good as its method."""

CHEAP = 0.25
"""Largest share of its method's training time."""

_HEADS = (
    *("method", "AUFDC", "of the twin", "twin - method", "training, s", "of the twin"),
    *("share", "monotonicity", "of the twin"),
)


def format_single_shot() -> str:
    """Format the table; a row for each method that is on the board with its twin."""
    entries, pairs = read_pairs()
    rows = (_cells(entries, method, twin) for method, twin in pairs)
    return f"{make_table(_HEADS, rows, rule='---:')}\n\n{_verdict(entries, pairs)}"


def _verdict(
    entries: list[LeaderboardEntry], pairs: list[tuple[LeaderboardEntry, LeaderboardEntry]]
) -> str:
    """Say which twins are as good as their method, which are not, and which may be either."""
    alike, worse, undecided = list[str](), list[str](), list[str]()
    for method, twin in pairs:
        gap = _gap(entries, method, twin)
        low, high = (math.nan, math.nan) if gap is None else gap.interval()
        place = alike if high <= MARGIN else worse if low > MARGIN else undecided
        place.append(twin.row.method)
    cheap = sum(training_share(*pair) <= CHEAP for pair in pairs)
    lines = (
        "lose at most .01 of area, by the 95% interval of the difference: ",
        "lose more: ",
        "undecided: ",
    )
    found = [
        f"- {line}{list_names(names)}"
        for line, names in zip(lines, (alike, worse, undecided), strict=True)
    ]
    found.append(
        f"- take at most a fourth of their method's training time: {cheap} of {len(pairs)}"
    )
    return "\n".join(["Of the twins:", "", *found])


def read_pairs() -> tuple[list[LeaderboardEntry], list[tuple[LeaderboardEntry, LeaderboardEntry]]]:
    """Return all rows of the board, and each method with its twin."""
    rows = read_table("single-shot", "experiments").entries
    entries = {entry.row.method: entry for entry in rows if entry.row.complete}
    twins = [name for name in sorted(entries) if name + SUFFIX in entries]
    return rows, [(entries[name], entries[name + SUFFIX]) for name in twins]


def _gap(
    entries: list[LeaderboardEntry], method: LeaderboardEntry, twin: LeaderboardEntry
) -> Estimate | None:
    """Return the area of a twin less that of its method."""
    (gap,) = (
        one for one in compare(entries, twin.row.method, method.row.method) if one.column == "aufdc"
    )
    return gap.difference


def training_share(method: LeaderboardEntry, twin: LeaderboardEntry) -> float:
    """Return a twin's training time as a share of its method's; NaN where one is not known."""
    whole, of_twin = (one.row.figures["train_seconds"] or math.nan for one in (method, twin))
    return of_twin / whole


def _cells(
    entries: list[LeaderboardEntry], method: LeaderboardEntry, twin: LeaderboardEntry
) -> tuple[str, ...]:
    gap = _gap(entries, method, twin)
    difference = "" if gap is None else format_interval(gap.value, *gap.interval())
    seconds = [entry.row.figures["train_seconds"] or 0.0 for entry in (method, twin)]

    def figure(entry: LeaderboardEntry, column: str) -> str:
        value = entry.row.figures.get(column)
        return "" if value is None else format_share(value)

    return (
        f"`{method.row.method}`",
        figure(method, "aufdc"),
        figure(twin, "aufdc"),
        difference,
        f"{seconds[0]:,.0f}",
        f"{seconds[1]:,.0f}",
        f"{training_share(method, twin):.2f}",
        figure(method, "monotonicity"),
        figure(twin, "monotonicity"),
    )
