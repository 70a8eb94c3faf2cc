"""The provisional leaderboard of a run under way: the curves that are complete so far."""

from __future__ import annotations

import math
import time
from collections.abc import Collection
from typing import TYPE_CHECKING

from rich.table import Table
from rich.text import Text

from fairbench.leaderboard.build import build
from fairbench.metrics.rows import named
from fairbench.report.format import format_cell, format_interval

if TYPE_CHECKING:
    from fairbench.metrics.rows import LeaderboardRow
    from fairbench.registry import Registry
    from fairbench.store.database import Store

_PAUSE, _LATER_PAUSE = 10.0, 60.0
"""Least seconds between two looks at the store, before and after the first complete curve."""
_SHARE = 0.03
"""Most of the time that looks may take: meanwhile no job starts, and no result is written."""


class ProvisionalTable:
    """Reads complete curves from the store, now and then.

    Parameters
    ----------
    store : Store
        Of the run.
    registry : Registry
        Metrics that make the rows.
    names : collection of str
        Names of the leaderboards that the run adds to.
    """

    def __init__(self, store: Store, registry: Registry, names: Collection[str]) -> None:
        self._store, self._registry, self._names = store, registry, names
        self._looked, self._pause = -math.inf, 0.0
        self._rows: list[tuple[str, LeaderboardRow]] = []

    def refresh(self) -> bool:
        """Read the store, unless it was read just now; return whether there are more rows."""
        started = time.monotonic()
        if started - self._looked < max(_LATER_PAUSE if self._rows else _PAUSE, self._pause):
            return False
        before = len(self._rows)
        self._rows = [
            (table.dataset, row)
            for table in build(self._store, self._registry)
            if table.dataset in self._names
            for row in table.leaderboard
            if row.complete
        ]
        self._looked = time.monotonic()
        self._pause = (self._looked - started) / _SHARE
        return len(self._rows) > before

    def table(self) -> Table | None:
        """Return the table by dataset, the smallest area first; None before there is a row."""
        if not self._rows:
            return None
        table = Table(title="so far (provisional)", title_justify="left", box=None)
        table.add_column("dataset", no_wrap=True)
        table.add_column("method", no_wrap=True)
        for heading in ("area (AUFDC)", "lowest I", "points"):
            table.add_column(heading, justify="right", no_wrap=True)
        for dataset, row in sorted(self._rows, key=lambda one: (one[0], _area(one[1]))):
            low, high = row.interval("aufdc") or (None, None)
            value = row.figures.get("aufdc")
            cells = (
                dataset,
                named(row.variant, row.label),
                "" if value is None else format_interval(value, low, high),
                format_cell(row.figures.get("mutual_information_min")),
                format_cell(row.points),
            )
            table.add_row(*map(Text, cells))
        return table


def _area(row: LeaderboardRow) -> float:
    value = row.figures.get("aufdc")
    return math.inf if value is None else value
