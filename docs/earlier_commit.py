"""The table of whole runs against an earlier commit, from what benchmarks/against.py measured."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

from markdown_parts import make_table

MEASURED = Path(__file__).parents[1] / "benchmarks" / "measured" / "against-all-methods.json"

_LEAST_SECONDS = 1.0
"""Of training at the earlier commit: below it, a ratio says nothing."""

_WHAT = ("wall", "training", "audits", "points")

Spent = Mapping[str, float]
"""What a run took: ``wall``, ``training`` and ``audits`` in seconds, ``points``."""


def format_against_commit() -> str:
    """Format a row for each method, and their sums."""
    measured: dict[str, tuple[Spent, Spent]] = json.loads(MEASURED.read_text(encoding="utf-8"))
    names = {name: f"`{name}`" for name in measured} | {"baselines": "the baselines"}
    rows = [_row(names[name], *both) for name, both in measured.items()]
    sums = (_sum([both[side] for both in measured.values()]) for side in (0, 1))
    rows.append(_row("all of these", *sums))
    heads = ("method", "points", "wall time, before and now", "ratio", "training", "audits")
    return make_table(heads, rows)


def _sum(runs: Sequence[Spent]) -> Spent:
    return {what: sum(run[what] for run in runs) for what in _WHAT}


def _row(name: str, before: Spent, now: Spent) -> list[str]:
    trained = before["training"] >= _LEAST_SECONDS
    return [
        name,
        f"{now['points']:.0f}",
        f"{before['wall']:,.0f} s, {now['wall']:,.0f} s",
        _ratio(now["wall"] / before["wall"]),
        _ratio(now["training"] / before["training"]) if trained else "-",
        # A point's: the grids are the same, but where one has fewer points this evens it out.
        _ratio(now["audits"] / now["points"] / (before["audits"] / before["points"])),
    ]


def _ratio(value: float) -> str:
    return f"{value:.2f}".removeprefix("0")
