"""The difference of two methods in words, on each table where both have a row."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from fairbench.errors import ConfigError
from fairbench.leaderboard import ranking
from fairbench.leaderboard.build import Tables
from fairbench.metrics.rows import named
from fairbench.report.format import format_interval, group_heading
from fairbench.stats.intervals import MIN_P


class MethodDifference(NamedTuple):
    """A heading, and the lines below it."""

    heading: str
    lines: Sequence[str]


def describe_differences(
    tables: Sequence[Tables], a: str, b: str, *, show: str = "leaderboard"
) -> list[MethodDifference]:
    """Describe the difference of two methods, wherever both have a row; ConfigError if nowhere.

    ``show``: the command that shows the tables.
    """
    ranking.check_names([entry for table in tables for entry in table.entries], a, b)
    compared = [
        MethodDifference(group_heading(table.dataset, one.group), _lines(one))
        for table in tables
        for one in ranking.compare(table.entries, a, b)
    ]
    if not compared:
        raise ConfigError(
            f"{a} and {b} have no complete rows on one dataset, track, budget and audit.",
            f"See what there is: fairbench {show}",
        )
    return compared


def _lines(comparison: ranking.MethodComparison) -> list[str]:
    """Two methods' figures, their difference, its interval and its p-value."""
    column, a, b = comparison.column, comparison.a, comparison.b
    lines = [
        f"  {named(row.variant, row.label)}: {column} "
        f"{format_interval(row.value(column), *(row.interval(column) or (None, None)))}, "
        f"{row.splits}, seeds: {row.seeds}"
        for row in (a, b)
    ]
    if comparison.obstacle is not None:
        return [*lines, f"  not compared: {comparison.obstacle}"]
    gap = a.value(column) - b.value(column)
    if comparison.difference is None:
        return [*lines, f"  difference {gap:+.4f}; no replicates, so no interval"]
    low, high = comparison.difference.interval()
    p = comparison.difference.p_value()
    if a.replicated and b.replicated:
        over = "splits"
    elif min(a.seeds, b.seeds) == 1:
        over = "test rows; one seed: of these models"
    else:
        over = "test rows, and over seeds"
    return [
        *lines,
        f"  difference {gap:+.4f} [{low:+.4f}, {high:+.4f}], "
        f"p {'=' if p > MIN_P else '<='} {p:.2g}, paired over {over}",
    ]
