"""The table of methods tuned alike, from the searches in leaderboards/experiments/tuned."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd
import yaml

from board_rows import (
    LEADERBOARDS,
    estimate_gap,
    order_figure,
    read_rows,
    show_area,
    show_share,
)
from fairbench.leaderboard.ranking import LeaderboardEntry
from fairbench.registry import load_registry
from fairbench.report.format import format_interval
from markdown_parts import make_table

SEARCHES = LEADERBOARDS / "experiments/tuned"

_HEADS = (
    *("method", "trials", "default", "best trial", "tuned setting"),
    *("AUFDC, default", "AUFDC, tuned", "gain"),
)


def format_tuned(datasets: Sequence[str], boards: Sequence[str]) -> str:
    """Format the searches on one dataset, and the rows they gave on its board.

    ``default`` and ``best trial`` are areas on the validation sets with the budget of the trials;
    ``gain`` is the area with the defaults less that with the tuned setting, paired over splits.
    """
    (dataset,), (board,) = datasets, boards
    rows = read_rows(board)
    lines: list[tuple[float, list[str]]] = []
    for file in sorted((SEARCHES / dataset).glob("*.yaml")):
        method = file.stem
        trials = pd.read_csv(file.with_suffix(".csv"))
        tuned = yaml.safe_load(file.read_text(encoding="utf-8"))[method]
        defaults = read_defaults(method)
        default, best = find_default(trials, tuned, defaults), float(trials["aufdc"].min())
        if are_defaults(tuned, defaults):
            # Nothing was better: the board has no other row.
            setting, names = "the default", (method, method)
        else:
            setting = ", ".join(f"{name} {value}" for name, value in tuned.items())
            names = (method, f"{method} (tuned)")
        found = [rows.get(name) for name in names]
        areas = ["not yet" if row is None else show_area(row) for row in found]
        shown = [str(len(trials)), show_share(default), show_share(best)]
        cells = [f"`{method}`", *shown, setting, *areas, _gain(*found, names=names)]
        lines.append((order_figure(best), cells))
    lines.sort(key=lambda line: line[0])
    return make_table(_HEADS, (cells for _, cells in lines))


def _gain(
    default: LeaderboardEntry | None, tuned: LeaderboardEntry | None, *, names: Sequence[str]
) -> str:
    """Return by how much the area is smaller when tuned; nothing where there are no two rows."""
    if default is None or tuned is None or default is tuned:
        return ""
    found = estimate_gap(default, tuned, "aufdc", names=" and ".join(names))
    return format_interval(found.value, *found.interval())


def read_defaults(method: str) -> Mapping[str, Any]:
    """Return the default hyperparameters of a method on tables, as plain values."""
    return load_registry().methods[method].Params().model_dump(mode="json")


def find_default(
    trials: pd.DataFrame, tuned: Mapping[str, Any], defaults: Mapping[str, Any]
) -> float | None:
    """Return the area of the trial of the defaults; None where a search did not try them.

    It does not where they lie outside of its space. What is in ``tuned`` and not among the columns
    was the same in all trials.
    """
    columns = [str(name) for name in trials.columns]
    searched = columns[1 : columns.index("aufdc")]  # what stands after the number
    for trial in trials.to_dict("records"):
        if are_defaults({**tuned, **{name: trial[name] for name in searched}}, defaults):
            return float(trial["aufdc"])
    return None


def are_defaults(values: Mapping[str, Any], defaults: Mapping[str, Any]) -> bool:
    """Whether hyperparameters, as files have them, are a method's defaults."""
    return all(name in defaults and _same(value, defaults[name]) for name, value in values.items())


def _same(value: Any, default: Any) -> bool:
    if isinstance(value, int | float) and isinstance(default, int | float):
        return math.isclose(value, default)  # a file may have fewer digits
    missing = value is None or (isinstance(value, float) and math.isnan(value))
    return missing if default is None else bool(value == default)
