"""Names that columns had before version 0.2, and what they are called now.

Stores, exports and CSV files of version 0.1 hold the old names; whatever reads them renames them
first. Remove this file, and what calls it, in version 0.3.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar

T = TypeVar("T")

COLUMNS: Mapping[str, str] = {
    # points
    "d": "distortion",
    "d_low": "distortion_low",
    "d_high": "distortion_high",
    "d_selection": "distortion_validation",
    "d_own": "distortion_own_decoder",
    "d_refitted": "distortion_refitted_decoder",
    "d_permuted": "distortion_permuted",
    "i": "mutual_information",
    "i_low": "mutual_information_low",
    "i_high": "mutual_information_high",
    "i_selection": "mutual_information_validation",
    "i_paper": "mutual_information_paper",
    "a_s": "accuracy_s",
    "a_s_selection": "accuracy_s_validation",
    "a_s_balanced": "balanced_accuracy_s",
    "a_s_auc": "auc_s",
    "a_s_paper": "accuracy_s_paper",
    "a_y": "accuracy_y",
    "a_y_balanced": "balanced_accuracy_y",
    "a_y_auc": "auc_y",
    "a_y_selection": "accuracy_y_validation",
    "i_y_selection": "mutual_information_y_validation",
    "gap_parity": "demographic_parity_gap",
    "gap_odds": "equalized_odds_gap",
    "gap_opportunity": "equal_opportunity_gap",
    "certificate_gap": "certified_parity_gap",
    "certificate_information": "certified_mutual_information",
    "certificate_cells": "certified_codes",
    "certificate_overflow": "certified_overflow",
    "rate_plugin": "plug_in_rate",
    "distinct": "distinct_codes",
    "number": "point_number",
    "front": "on_front",
    # references
    "i_max": "mutual_information_max",
    "i_max_selection": "mutual_information_max_validation",
    "i_max_paper": "mutual_information_max_paper",
    "d_max": "distortion_max",
    "d_max_selection": "distortion_max_validation",
    "a_s_constant": "accuracy_s_constant",
    "a_y_constant": "accuracy_y_constant",
    # curves
    "d_min": "distortion_min",
    "i_min": "mutual_information_min",
    "d_max_paper": "distortion_max_paper",
    "d_min_paper": "distortion_min_paper",
    "i_min_paper": "mutual_information_min_paper",
    "i_at_d25": "mutual_information_at_distortion_25",
    "i_at_d50": "mutual_information_at_distortion_50",
    "d_at_i25": "distortion_at_leakage_25",
    "d_at_i50": "distortion_at_leakage_50",
    "a_y_at_i10": "accuracy_y_at_leakage_10",
    "a_y_at_i10_low": "accuracy_y_at_leakage_10_low",
    "a_y_at_i10_high": "accuracy_y_at_leakage_10_high",
    "a_y_at_i25": "accuracy_y_at_leakage_25",
    "a_y_at_s10": "accuracy_y_at_accuracy_s_10",
    "a_y_at_s10_low": "accuracy_y_at_accuracy_s_10_low",
    "a_y_at_s10_high": "accuracy_y_at_accuracy_s_10_high",
    "a_y_at_s25": "accuracy_y_at_accuracy_s_25",
    "a_y_at_s25_low": "accuracy_y_at_accuracy_s_25_low",
    "a_y_at_s25_high": "accuracy_y_at_accuracy_s_25_high",
    "a_y_at_s50": "accuracy_y_at_accuracy_s_50",
    "a_y_at_s50_low": "accuracy_y_at_accuracy_s_50_low",
    "a_y_at_s50_high": "accuracy_y_at_accuracy_s_50_high",
    # costs
    "ms_step": "milliseconds_per_step",
    "ms_model_step": "milliseconds_per_model_step",
    "parameters": "trainable_parameters",
    "energy_j": "energy_joules",
}
"""Old name to new name, of columns in any table and of figures in the store."""

BY_TASK: Mapping[str, str] = {
    "a_y_balanced_": "balanced_accuracy_y_",
    "a_y_auc_": "auc_y_",
    "a_y_": "accuracy_y_",
    "gap_parity_": "demographic_parity_gap_",
    "gap_odds_": "equalized_odds_gap_",
    "gap_opportunity_": "equal_opportunity_gap_",
}
"""Beginnings of columns that end in the name of a task; the longer ones first."""


def present_name(column: str) -> str:
    """Return today's name of a column, whatever version named it."""
    if column in COLUMNS:
        return COLUMNS[column]
    for old, new in BY_TASK.items():
        if column.startswith(old):
            return new + column.removeprefix(old)
    return column


def rename(figures: Mapping[str, T]) -> dict[str, T]:
    """Return the same figures under today's names."""
    return {present_name(column): value for column, value in figures.items()}
