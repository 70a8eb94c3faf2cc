"""Draw the README's figure, the ranks of a published board: ``python docs/readme_figure.py``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from fairbench.leaderboard.boards import find_board
from fairbench.metrics.rows import DEFAULT, LeaderboardRow
from fairbench.registry import load_registry
from fairbench.report.figure_files import write_png
from fairbench.report.gather import gather_boards
from fairbench.report.ranks_figure import ranks_figure
from single_shot import SUFFIX

if TYPE_CHECKING:
    from matplotlib.figure import Figure

BOARD = "adults-gender-5"
TARGET = Path(__file__).parents[1] / "leaderboards" / "figures" / "readme-ranks.png"


def main() -> None:
    """Write the file."""
    write_png(draw(), TARGET, dpi=150)


def draw() -> Figure:
    """Draw the ranks of methods of the blind track with their default hyperparameters.

    Single-shot twins have a page of their own. Ranks are those among all rows of the board.
    """
    registry = load_registry()
    report = gather_boards([find_board(BOARD, registry)], registry)
    blind = (panel for panel in report.datasets[0].panels if panel.group.track == "blind")
    return ranks_figure([replace(panel, rows=defaults(panel.rows)) for panel in blind])


def defaults(rows: Sequence[LeaderboardRow]) -> tuple[LeaderboardRow, ...]:
    """Return the rows with default hyperparameters, without single-shot twins."""
    return tuple(row for row in rows if row.params == DEFAULT and not row.method.endswith(SUFFIX))


if __name__ == "__main__":
    main()
