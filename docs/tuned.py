"""The table of methods tuned alike, from the searches in leaderboards/experiments/tuned."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd
import yaml

from board_rows import LEADERBOARDS, read_rows, show_area
from fairbench.report.format import format_share
from markdown_parts import make_table

SEARCHES = LEADERBOARDS / "experiments/tuned"

_HEADS = (
    *("method", "trials", "splits", "default", "best trial", "tuned setting"),
    *("AUFDC, default", "AUFDC, tuned"),
)


def format_tuned(datasets: Sequence[str], boards: Sequence[str]) -> str:
    """Format the searches on one dataset, and the rows they gave on its board.

    ``splits`` are those of a trial; ``default`` and ``best trial`` are areas on the validation set
    with the budget of the trials.
    """
    (dataset,), (board,) = datasets, boards
    rows = read_rows(board)
    lines: list[tuple[float, list[str]]] = []
    for file in sorted((SEARCHES / dataset).glob("*.yaml")):
        method = file.stem
        trials = pd.read_csv(file.with_suffix(".csv"))
        default, best = trials.loc[trials["number"] == 0, "aufdc"].iloc[0], trials["aufdc"].min()
        tuned = yaml.safe_load(file.read_text(encoding="utf-8"))[method]
        setting = ", ".join(f"{name} {value}" for name, value in tuned.items())
        found = [rows.get(name) for name in (method, f"{method} (tuned)")]
        areas = ["not yet" if row is None else show_area(row) for row in found]
        # One seed each; a search on the official split alone had no column for it yet.
        splits = int(trials["curves"].iloc[0]) if "curves" in trials else 1
        shown = [str(len(trials)), str(splits), format_share(default), format_share(best)]
        lines.append((best, [f"`{method}`", *shown, setting, *areas]))
    lines.sort(key=lambda line: line[0])
    return make_table(_HEADS, (cells for _, cells in lines))
