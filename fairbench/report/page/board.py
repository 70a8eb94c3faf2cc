"""Rows of a board: their order, names and families, which are in colour."""

from __future__ import annotations

from collections.abc import Sequence
from urllib.parse import quote

from fairbench.api import DataSource
from fairbench.metrics.rows import LeaderboardRow, RankingGroup, Variant
from fairbench.report.gather import DatasetReport
from fairbench.report.identity import Identities
from fairbench.report.panels import Panel

MAX_LIT, _FAMILIES = 12, 6
"""Most rows of a chart that are all in colour; of more, so many families' best rows are."""


def in_order(datasets: Sequence[DatasetReport]) -> list[DatasetReport]:
    """Boards, the main one first: that with most ranked rows, then with most rows."""

    def size(dataset: DatasetReport) -> tuple[bool, int, int]:
        ranked = sum(len(panel.ranked) for panel in dataset.panels)
        rows = sum(len(panel.rows) for panel in dataset.panels)
        return DataSource.SIMULATED in dataset.data_source, -ranked, -rows

    return sorted(datasets, key=size)


def name_rows(dataset: DatasetReport) -> dict[tuple[Variant, RankingGroup], tuple[str, bool]]:
    """Name of each row of a dataset's boards, and whether it is ranked.

    Tables beside the leaderboard follow the choice of methods by them.
    """
    return {
        (row.variant, panel.group): (panel.names[row.variant], row.replicated)
        for panel in dataset.panels
        for row in panel.rows
    }


def families(datasets: Sequence[DatasetReport], identities: Identities) -> dict[str, list[str]]:
    """Methods of all boards by family; baselines are one, and the last."""
    found: dict[str, dict[str, None]] = {}
    baselines: dict[str, None] = {}
    rows = [row for dataset in datasets for panel in dataset.panels for row in panel.rows]
    for row in sorted(rows, key=lambda row: row.method):
        if "baseline" in row.tags.split():
            baselines[row.method] = None
        else:
            found.setdefault(identities.family(row.method), {})[row.method] = None
    named = {name: list(members) for name, members in sorted(found.items())}
    return named | ({"baselines": list(baselines)} if baselines else {})


def lit_rows(panel: Panel) -> list[LeaderboardRow]:
    """Rows that charts have in colour at first, the others grey behind them; empty: all.

    Where there are many rows, the best row of each of some families, and what others are tested
    against.
    """
    own = [row for row in panel.rows if row.method in panel.highlighted]
    tested = [row for row in panel.rows if row.method in panel.identities.references]
    if own:
        return [*own, *tested]
    if len(panel.rows) <= MAX_LIT:
        return []
    best: dict[str, LeaderboardRow] = {}
    for row in panel.rows:  # in the order of the leaderboard
        if "baseline" not in row.tags.split():
            best.setdefault(panel.identities.family(row.method), row)
    return [*list(best.values())[:_FAMILIES], *tested]


def address(text: str) -> str:
    """Return a text as a part of an address."""
    return quote(text, safe="/")
