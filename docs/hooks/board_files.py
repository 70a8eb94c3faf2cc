"""What the site shows of a published board: its page, its figures, and the page of charts."""

from __future__ import annotations

import io
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.figure import Figure

    from fairbench.leaderboard.board import Board
    from fairbench.report.panels import Panel

_TEMPLATE = Path(__file__).with_name("board.md.j2")
_FIGURES = {
    "curves": "Leakage against distortion",
    "fronts": "Usefulness against the auditor's accuracy",
}
"""Figures below the table, and their headings."""


def make_board_files(path: Path) -> dict[str, str | bytes]:
    """Make the files of a board, by name."""
    from fairbench.leaderboard.board_file import read_board
    from fairbench.registry import load_registry
    from fairbench.report.figures import curves_figure, fronts_figure
    from fairbench.report.gather import gather_boards
    from fairbench.report.page import page
    from fairbench.report.ranks_figure import ranks_figure

    board = read_board(path)
    name = board.info.name
    report = gather_boards([board], load_registry())
    panels = report.datasets[0].panels
    figures = {"ranks": ranks_figure, "curves": curves_figure, "fronts": fronts_figure}
    return {
        f"{name}.md": _markdown(board, panels),
        f"{name}-page.html": page(report),
        **{f"{name}-{kind}.svg": _svg(draw(panels)) for kind, draw in figures.items()},
    }


def _markdown(board: Board, panels: Sequence[Panel]) -> str:
    import jinja2

    from fairbench.report.format import format_figure, format_interval, format_share
    from fairbench.report.markdown import escape

    environment = jinja2.Environment(
        undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    return environment.from_string(_TEMPLATE.read_text("utf-8")).render(
        title=board.info.title.removeprefix("board "),
        info=board.info,
        panels=panels,
        figures=_FIGURES,
        name=lambda panel, row: escape(panel.names[row.variant]),
        figure=lambda value: "" if value is None else format_share(value),
        seconds=lambda value: format_figure(value, decimals=1, empty=""),
        interval=lambda row: (
            ""
            if row.figures.get("aufdc") is None
            else format_interval(row.figures["aufdc"], *(row.interval("aufdc") or (None, None)))
        ),
    )


def _svg(figure: Figure) -> bytes:
    from fairbench.report.style import styled

    file = io.BytesIO()
    with styled():
        figure.savefig(file, format="svg", metadata={"Date": None})
    return file.getvalue()
