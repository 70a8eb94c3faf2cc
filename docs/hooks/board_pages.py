"""A page for each published board that ships: its table, its figures, and the page of charts."""

from __future__ import annotations

import io
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mkdocs.structure.files import File, Files

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from matplotlib.figure import Figure

    from fairbench.leaderboard.board import Board
    from fairbench.registry import Registry
    from fairbench.report.panels import Panel

_FOLDER = "boards"
_TEMPLATE = Path(__file__).with_name("board.md.j2")
_FIGURES = {
    "curves": "Leakage against distortion",
    "fronts": "Usefulness against the auditor's accuracy",
}
"""Figures below the table, and their headings."""


def on_config(config: Any) -> Any:
    """Put the pages below the published leaderboards."""
    from fairbench.registry import load_registry

    pages = [
        {board.info.name: f"{_FOLDER}/{board.info.name}.md"} for board in _boards(load_registry())
    ]
    for section in config.nav:
        for entries in section.values():
            if isinstance(entries, list):
                at = next((i for i, e in enumerate(entries) if "Published leaderboards" in e), None)
                if at is not None:
                    entries[at] = {"Published leaderboards": [{"All": "published.md"}, *pages]}
    return config


def on_files(files: Files, *, config: Any) -> Files:
    """Add the pages and what they show."""
    from fairbench.registry import load_registry

    registry = load_registry()
    for board in _boards(registry):
        for name, content in _content(board, registry):
            files.append(File.generated(config, f"{_FOLDER}/{name}", content=content))
    return files


def _boards(registry: Registry) -> list[Board]:
    from fairbench.leaderboard.board_file import read_board

    return [read_board(one.path) for one in registry.boards.values() if one.path is not None]


def _content(board: Board, registry: Registry) -> Iterator[tuple[str, str | bytes]]:
    """Files of a board by name."""
    from fairbench.report.figures import curves_figure, fronts_figure
    from fairbench.report.gather import gather_boards
    from fairbench.report.page import page
    from fairbench.report.ranks_figure import ranks_figure

    name = board.info.name
    report = gather_boards([board], registry)
    panels = report.datasets[0].panels
    yield f"{name}.md", _markdown(board, panels)
    yield f"{name}-page.html", page(report)
    for kind, draw in (
        ("ranks", ranks_figure),
        ("curves", curves_figure),
        ("fronts", fronts_figure),
    ):
        yield f"{name}-{kind}.svg", _svg(draw(panels))


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
