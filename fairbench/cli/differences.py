"""The difference of two methods, on each table where both have a row."""

from __future__ import annotations

from collections.abc import Sequence

from fairbench.cli.console import show_comparison
from fairbench.errors import ConfigError
from fairbench.leaderboard import build as tables_of
from fairbench.leaderboard import ranking


def show_differences(
    tables: Sequence[tables_of.Tables], a: str, b: str, *, show: str = "leaderboard"
) -> None:
    """Print the difference of two methods, wherever both have a row; ConfigError if nowhere.

    ``show``: the command that shows the tables.
    """
    ranking.check_names([entry for table in tables for entry in table.entries], a, b)
    compared = False
    for table in tables:
        for comparison in ranking.compare(table.entries, a, b):
            compared = True
            show_comparison(table.dataset, comparison)
    if not compared:
        raise ConfigError(
            f"{a} and {b} have no complete rows on one dataset, track, budget and audit.",
            f"See what there is: fairbench {show}",
        )
