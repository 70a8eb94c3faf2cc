"""The table of what each part of this project's methods is worth, from a board of its own."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import published_figures
from board_rows import (
    TASK,
    estimate_gap,
    get_figure,
    name_row,
    order_figure,
    read_table,
    show_area,
    show_figure,
)
from fairbench.leaderboard.ranking import LeaderboardEntry
from fairbench.metrics.rows import DEFAULT
from fairbench.report.format import format_interval
from fairbench.stats.intervals import Estimate
from markdown_parts import make_table

BOARD, FOLDER = "own-method-parts", "experiments"

_ALIKE = ("audit_version", "fingerprint")
"""What two rows must have in common for their difference to mean something."""


def format_parts() -> str:
    """Format the table: a row for each change, with the difference to the method as it is."""
    heads = (
        *("method", "changed", "AUFDC", "more than the method as it is"),
        "A_y where a tenth leaks",
    )
    return make_table(heads, _rows())


def read_parts() -> list[LeaderboardEntry]:
    """Read the rows with something changed, those of one method together."""
    entries = read_table(BOARD, FOLDER).entries
    changed = [e for e in entries if e.row.replicated and e.row.params != DEFAULT]
    return sorted(changed, key=lambda e: (e.row.method, order_figure(get_figure(e, "aufdc"))))


def compare_part(part: LeaderboardEntry, whole: Mapping[str, LeaderboardEntry]) -> Estimate:
    """Estimate how much more area a changed method has than the method as it is.

    ``whole`` are the methods as they are, by name. ValueError where the two cannot be paired: the
    rows are of two boards, which may have been measured differently.
    """
    row, name = part.row, f"{name_row(part)} of {BOARD}"
    if row.method not in whole:
        raise ValueError(
            f"{name} has nothing to be compared with: {published_figures.BOARD} has no ranked row "
            f"{row.method} with default hyperparameters."
        )
    other = whole[row.method]
    for field in _ALIKE:
        here, there = (getattr(one, field) for one in (row, other.row))
        if here != there:
            raise ValueError(
                f"{name} has the {field.replace('_', ' ')} {here}, {row.method} of "
                f"{published_figures.BOARD} has {there}: they cannot be compared. Make the older "
                "rows again with: python leaderboards/make.py"
            )
    return estimate_gap(part, other, "aufdc", names=f"{name} and {row.method}")


def _rows() -> Iterator[tuple[str, ...]]:
    whole = published_figures.read_published().rows
    for part in read_parts():
        gap = compare_part(part, whole)
        yield (
            f"`{part.row.method}`",
            f"{part.row.label}: `{part.row.params}`",
            show_area(part),
            format_interval(gap.value, *gap.interval()),
            show_figure(part, TASK),
        )
