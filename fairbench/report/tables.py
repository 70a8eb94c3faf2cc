"""Leaderboards as text for other programs: CSV, JSON, and tables for Markdown and LaTeX."""

from __future__ import annotations

import enum
import json
from collections.abc import Sequence
from typing import TYPE_CHECKING

from fairbench.report.format import format_cell, format_figure
from fairbench.report.headings import NOT_REPLICATED, PAPER, headed
from fairbench.report.markdown import escape
from fairbench.report.verdicts import note_intervals, note_limits

if TYPE_CHECKING:
    from fairbench.leaderboard.build import Tables
    from fairbench.metrics.rows import LeaderboardRow
    from fairbench.report.panels import Panel


class TableFormat(enum.StrEnum):
    """How ``fairbench leaderboard`` prints."""

    TABLE = "table"
    """For people, on a terminal."""
    CSV = "csv"
    """Every column of every dataset."""
    JSON = "json"
    """The same as a list of objects; numbers in full."""
    MARKDOWN = "markdown"
    """The main columns, one table per ranking."""
    LATEX = "latex"
    """The same, for a paper with the booktabs package."""


def render(tables: Sequence[Tables], form: TableFormat) -> str:
    """Return all leaderboards in one of the formats, ending in a newline."""
    from fairbench.leaderboard.frames import to_csv, to_frame
    from fairbench.report.panels import panels

    rows = [row.cells() for table in tables for row in table.leaderboard]
    if form is TableFormat.CSV:
        return to_csv(to_frame(rows))
    if form is TableFormat.JSON:
        return json.dumps(rows, indent=1) + "\n"
    shown = [panel for table in tables for panel in panels(table)]
    draw = _markdown if form is TableFormat.MARKDOWN else _latex
    return "\n".join(draw(panel) for panel in shown)


def _cells(panel: Panel) -> list[dict[str, str]]:
    names, shown = panel.names, headed(PAPER)
    if not panel.ranked:
        del shown["rank"]

    def cells(rows: Sequence[LeaderboardRow]) -> list[dict[str, str]]:
        return [
            {head: _cell(names[row.variant], row, column) for column, head in shown.items()}
            for row in rows
        ]

    rows = cells(panel.ranked)
    if panel.ranked and panel.not_replicated:
        rows.append(dict.fromkeys(shown.values(), "") | {shown["method"]: NOT_REPLICATED})
    return rows + cells(panel.not_replicated)


def _cell(name: str, row: LeaderboardRow, column: str) -> str:
    if column == "method":
        return name
    if row.no_point_within_limit(column):
        return "none"
    text = format_cell(row.value(column), empty="") + row.limit_mark(column)
    ends = row.interval(column) if column == "aufdc" else None
    return text if ends is None else f"{text} [{format_figure(ends[0])}, {format_figure(ends[1])}]"


def _markdown(panel: Panel) -> str:
    from tabulate import tabulate

    cells = [
        {
            head: f"*{text}*" if text == NOT_REPLICATED else escape(text)
            for head, text in row.items()
        }
        for row in _cells(panel)
    ]
    words = tabulate(cells, headers="keys", tablefmt="github", disable_numparse=True)
    return "\n\n".join([f"**{escape(panel.title)}**", words, *_notes(panel)]) + "\n"


def _latex(panel: Panel) -> str:
    from tabulate import tabulate

    cells = _cells(panel)
    words = tabulate(
        cells,
        headers="keys",
        tablefmt="latex_booktabs",
        # Figures are text: as numbers they would lose their last zeros.
        disable_numparse=True,
        colalign=["left" if head == "method" else "right" for head in cells[0]] if cells else None,
    )
    # Whatever ends a line would end the comment.
    comments = [f"% {line}" for line in (" ".join(panel.title.split()), *_notes(panel))]
    return "\n".join([*comments, words]) + "\n"


def _notes(panel: Panel) -> list[str]:
    return note_intervals(panel.ranked, panel.not_replicated) + note_limits(panel.rows, PAPER)
