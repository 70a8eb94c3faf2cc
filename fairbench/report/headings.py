"""Columns that are shown in each place, and their headings; the CSV has every column."""

from __future__ import annotations

HEADINGS = {
    "rank": "rank",
    "may_be_best": "may be best",
    "splits": "splits",
    "method": "method",
    "params": "params",
    "aufdc": "AUFDC",
    "aufdc_certified": "cert.",
    "aufdc_paper": "paper's AUFDC",
    "accuracy_y_at_leakage_10": "A_y at I<10%",
    "accuracy_y_at_accuracy_s_25": "A_y at A_s<25%",
    "transfer_at_leakage_10": "unseen tasks at I<10%",
    "transfer_worst_at_leakage_10": "worst of them",
    "shift_points_within": "I within",
    "shift_points_above": "I above",
    "shift_leakage_change": "I change",
    "shift_certificates_held": "cert. held",
    "shift_accuracy_y_change": "A_y change",
    "shift_gap_change": "gap change",
    "distortion_min": "min D",
    "mutual_information_min": "min I",
    "front_hypervolume": "front area",
    "points": "points",
    "points_missing": "missing",
    "seeds": "seeds",
    "train_seconds": "train s",
    "train_seconds_4": "train s, 4 points",
    "train_seconds_8": "train s, 8 points",
    "train_seconds_16": "train s, 16 points",
    "milliseconds_per_model_step": "ms per model step",
    "encode_seconds": "encode s",
    "audit_seconds": "audit s",
    "trainable_parameters": "trainable parameters",
    "peak_memory_mb": "peak MB",
    "peak_device_memory_mb": "device MB",
    "energy_joules": "energy J",
    "device": "device",
}
"""Columns that are shown somewhere, and their headings everywhere."""

NOT_REPLICATED = "not replicated"
"""Heads the rows of a table that have no ranks."""

NO_POINT = "no point leaks so little"
"""Stands in place of a figure at a limit of leakage that no point keeps."""

SHIFT = (
    *("shift_points_within", "shift_points_above", "shift_leakage_change"),
    *("shift_certificates_held", "shift_accuracy_y_change", "shift_gap_change"),
)
"""Columns of distribution shift, where a run has one."""

TERMINAL = (
    *("rank", "method", "params", "aufdc", "aufdc_certified", "accuracy_y_at_leakage_10"),
    *("transfer_at_leakage_10", *SHIFT),
    *("distortion_min", "mutual_information_min", "points_missing", "seeds"),
    *("train_seconds",),
)
"""Columns of the terminal: few enough for 80 characters."""

PAPER = (
    *("rank", "method", "aufdc", "aufdc_certified", "accuracy_y_at_leakage_10", "aufdc_paper"),
    *("distortion_min", "mutual_information_min"),
    *("front_hypervolume", "seeds", "points", "train_seconds"),
)
"""Columns of tables for Markdown and LaTeX."""

PAGE = (
    *("rank", "may_be_best", "method", "aufdc", "aufdc_certified"),
    *("accuracy_y_at_leakage_10", "accuracy_y_at_accuracy_s_25"),
    *("transfer_at_leakage_10", "transfer_worst_at_leakage_10", *SHIFT),
    *("distortion_min", "mutual_information_min"),
    *("front_hypervolume", "aufdc_paper", "splits", "seeds", "points", "points_missing"),
)
"""Columns of the page's leaderboards."""

PAGE_COST = (
    *("method", "milliseconds_per_model_step"),
    *("train_seconds_4", "train_seconds_8", "train_seconds_16"),
    *("encode_seconds", "audit_seconds", "trainable_parameters"),
    *("peak_memory_mb", "peak_device_memory_mb", "energy_joules", "device"),
)
"""Columns of the page's tables of costs."""


def name_measure(column: str) -> str:
    """Name what rows are ranked by or compared in, where no other column stands beside it."""
    return "certified AUFDC" if column == "aufdc_certified" else HEADINGS.get(column, column)


def headed(columns: tuple[str, ...]) -> dict[str, str]:
    """Return columns with their headings, in order."""
    return {column: HEADINGS[column] for column in columns}
