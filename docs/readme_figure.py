"""Draw the README's figure, the ranks of a published board: ``python docs/readme_figure.py``."""

from __future__ import annotations

from pathlib import Path

from fairbench.leaderboard.boards import find_board
from fairbench.registry import load_registry
from fairbench.report.gather import gather_boards
from fairbench.report.ranks_figure import ranks_figure
from fairbench.report.style import styled

BOARD = "adults-gender-5"
TARGET = Path(__file__).parents[1] / "leaderboards" / "figures" / "readme-ranks.png"


def main() -> None:
    """Draw the ranks of the blind track."""
    registry = load_registry()
    report = gather_boards([find_board(BOARD, registry)], registry)
    figure = ranks_figure([p for p in report.datasets[0].panels if p.group.track == "blind"])
    with styled():
        figure.savefig(TARGET, dpi=150, metadata={"Software": None})


if __name__ == "__main__":
    main()
