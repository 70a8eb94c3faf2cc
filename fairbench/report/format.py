"""Format figures, intervals, durations and counts as text."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from fairbench.metrics.rows import LeaderboardRow, RankingGroup, Variant


def format_figure(
    value: float | None, *, decimals: int = 3, signed: bool = False, empty: str = "-"
) -> str:
    """``0.232``, ``21.594``, ``197``: whole from 100 on; ``+0.012`` where signed."""
    if value is None:
        return empty
    places = decimals if abs(value) < 100 else 0
    rounded = round(value, places) + 0.0  # no minus before zero
    return f"{rounded:+.{places}f}" if signed else f"{rounded:.{places}f}"


def format_share(value: float) -> str:
    """``.232``: three decimals, without the zero before the point."""
    return format_figure(value).replace("0.", ".", 1) if abs(value) < 1 else format_figure(value)


def format_p(value: float) -> str:
    """``0.031``, ``<0.001``: a p-value is never zero."""
    return "<0.001" if value < 0.0005 else format_figure(value)


def format_interval(value: float, low: float | None, high: float | None) -> str:
    """``.232 [.221, .243]``, or ``.232`` where there is no interval."""
    text = format_share(value)
    if low is None or high is None:
        return text
    return f"{text} [{format_share(low)}, {format_share(high)}]"


def format_cell(value: object, *, empty: str = "-") -> str:
    """Any value of a table: figures as above, words as they are."""
    if value is None or isinstance(value, float):
        return format_figure(value, empty=empty)
    return str(value)


def format_seconds(seconds: float) -> str:
    """``45 s``, ``6 min``, ``2.5 h``."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    if seconds < 5400:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.1f} h"


def format_seconds_between(low: float, high: float) -> str:
    """``8 to 15 min``, ``50 s to 2 min``; one duration where both read the same."""
    ends = format_seconds(low), format_seconds(high)
    if ends[0] == ends[1]:
        return ends[0]
    (first, unit), (_, last_unit) = (end.split(" ") for end in ends)
    return f"{first if unit == last_unit else ends[0]} to {ends[1]}"


def format_count(number: int, noun: str) -> str:
    """``1 point``, ``2,107 points``."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def settings_of(rows: Sequence[LeaderboardRow]) -> dict[Variant, str]:
    """Return hyperparameters of rows in short: by no label that two rows of a method share."""
    named = Counter((row.method, row.settings) for row in rows)
    return {
        row.variant: row.settings if named[row.method, row.settings] == 1 else row.params
        for row in rows
    }


def group_heading(title: str, group: RankingGroup) -> str:
    """Return ``dataset · track · budget · audit``."""
    return f"{title} · {group.track} track · budget {group.budget} · {group.audit} audit"
