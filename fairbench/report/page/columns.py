"""Columns of the page's tables: which there are, in which order, and what the glossary says."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from fairbench.api import Track
from fairbench.metrics.rows import p_value_column
from fairbench.report.headings import PAGE, headed
from fairbench.report.panels import Panel

DIRECTIONS: Mapping[str, str] = {
    **dict.fromkeys(
        (
            *("rank", "points_missing"),
            *("shift_points_above", "shift_leakage_change", "shift_gap_change"),
        ),
        "lower",
    ),
    **dict.fromkeys(
        ("shift_points_within", "shift_certificates_held", "shift_accuracy_y_change"), "higher"
    ),
}
"""Which values are better, of columns that no metric says it of: the core's own, and those of a
metric that has both kinds."""

FIRST = frozenset(
    {
        *("rank", "method", "aufdc", "aufdc_low", "aufdc_certified"),
        *("accuracy_y_at_leakage_10", "transfer_at_leakage_10"),
        *("shift_points_within", "shift_leakage_change"),
    }
)
"""Columns of the leaderboard that are seen at first; a switch shows the others."""

INTERVAL = ("aufdc_low", "95% interval")
"""Stands right of AUFDC in the page's leaderboard."""

TRACKS = {
    Track.BLIND: "The encoder sees the features x alone.",
    Track.AWARE: "The encoder may also see s, so little leakage costs little: A_y at I<10% ranks.",
}
"""Tracks, explained."""

WORDS = {
    "auditor": "a classifier that is trained to predict s from z, after the method has finished",
    "baseline": "a simple method that every other should beat, drawn in grey",
    "nats": "unit of information: one yes-or-no answer is worth at most 0.69",
    "point": "one setting of a method's fairness parameter, and what was measured of it",
    "fold": "one of several splits of the rows; their test sets are disjoint",
    "seed": "a whole repetition of training and audit with other random numbers",
    "validation set, test set": "rows that choose among auditors and points; rows of the figures",
    "simulated": "drawn from published statistics because the real files were not there",
}
"""Terms of the glossary that are no columns."""

TERMS = (
    *("mutual_information", "distortion", "aufdc", "rank_low", "rank_high", "interval_over"),
    *("replicated", "accuracy_s"),
    *("accuracy_y", "seeds", "track", "budget"),
    *("audit", "params", "tags", "accuracy_y_at_accuracy_s_10", "complete", "data_source"),
)
"""Columns that the glossary explains beside those that the page shows."""


def board_columns(tested: Sequence[str], of_plugins: Sequence[str]) -> dict[str, str]:
    """The leaderboard's columns and headings, intervals and tests right of what they are of.

    Columns of plugins' metrics stand at the end, under their own names.
    """
    found: dict[str, str] = {}
    for column, heading in headed(PAGE).items():
        found[column] = heading
        if column == "rank":
            found |= {p_value_column(name): f"p, {name}" for name in tested}
        if column == "aufdc":
            found.update([INTERVAL])
    return found | {column: column for column in of_plugins}


def present(columns: Mapping[str, str], panel: Panel) -> list[tuple[str, str]]:
    """Return of the columns those in which a row of the panel has a value."""

    def has_value(column: str) -> bool:
        if column == "rank":
            return bool(panel.ranked)
        return any(row.value(column) is not None for row in panel.rows)

    return [(column, heading) for column, heading in columns.items() if has_value(column)]


def order_of(panel: Panel, directions: Mapping[str, str]) -> str:
    """How a board is sorted at first, in the words of ``aria-sort``."""
    column = panel.rows[0].ranked_by if panel.rows else None
    return "ascending" if directions.get(str(column), "lower") == "lower" else "descending"


def is_numeric(panel: Panel, column: str) -> bool:
    """Whether a column's cells are numbers, which stand to the right."""
    if column in ("rank", "aufdc_low"):
        return True
    values = [value for row in panel.rows if (value := row.value(column)) is not None]
    return any(isinstance(value, int | float) and not isinstance(value, bool) for value in values)
