"""Rows of published boards as a table of a page.

A page names boards and rows, ``<!-- rows of BOARD BOARD: METHOD, METHOD (LABEL) -->``. Of one board
the table has three figures, of several the area on each.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from fairbench.leaderboard.board_file import read_board
from fairbench.leaderboard.build import Tables, build_tables
from fairbench.leaderboard.ranking import RankedRow
from fairbench.metrics.rows import DEFAULT
from fairbench.registry import load_registry
from fairbench.report.format import format_interval, format_share

FOLDER = Path(__file__).parents[1] / "leaderboards" / "fairbench_boards"
BLOCK = re.compile(
    r"(?P<start><!-- rows of (?P<boards>[\w -]+): (?P<rows>[^>]+) -->\n\n).*?"
    r"(?P<end>\n<!-- end of rows -->)",
    re.DOTALL,
)
_NAMED = re.compile(r"^(?P<method>[\w-]+)(?: \((?P<label>[\w-]+)\))?$")
_FIGURES = {
    "certified": "aufdc_certified",
    "A_y where a tenth of I(X;S) leaks": "accuracy_y_at_leakage_10",
}


def rewrite_rows(text: str) -> str:
    """Write all such tables of a page."""

    def table(block: re.Match[str]) -> str:
        names = [name.strip() for name in block["rows"].split(",")]
        return block["start"] + format_rows(block["boards"].split(), names) + block["end"]

    return BLOCK.sub(table, text)


def format_rows(boards: Sequence[str], names: Sequence[str]) -> str:
    """Format rows of boards, by area on the first of them."""
    tables = [read_rows(board) for board in boards]
    ordered = sorted(names, key=lambda name: tables[0][name].row.figures["aufdc"] or 0.0)
    heads = [f"AUFDC, `{board}`" for board in boards]
    if len(boards) == 1:
        heads = ["AUFDC", *_FIGURES]
    lines = [f"| | {' | '.join(heads)} |", f"|---|{'---|' * len(heads)}"]
    for name in ordered:
        cells = [_area(table[name]) for table in tables]
        if len(boards) == 1:
            cells += [_figure(tables[0][name], column) for column in _FIGURES.values()]
        lines.append(f"| {show_name(name)} | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


@functools.cache
def read_table(board: str) -> Tables:
    """Read a published board, once; callers must not change it."""
    (table,) = build_tables(read_board(FOLDER / f"{board}.board").records(), load_registry())
    return table


def read_rows(board: str) -> Mapping[str, RankedRow]:
    """Return the ranked rows of a board by ``METHOD``, or ``METHOD (LABEL)`` where not default."""
    return {
        entry.row.method
        if entry.row.params == DEFAULT
        else f"{entry.row.method} ({entry.row.label})": entry
        for entry in read_table(board).entries
        if entry.row.replicated
    }


def _area(entry: RankedRow) -> str:
    figures = entry.row.figures
    return format_interval(figures["aufdc"] or 0.0, *(entry.row.interval("aufdc") or (None, None)))


def _figure(entry: RankedRow, column: str) -> str:
    value = entry.row.figures.get(column)
    return "none" if value is None or entry.row.is_none(column) else format_share(value)


def show_name(name: str) -> str:
    """Return a row's name as pages show it."""
    found = _NAMED.match(name)
    assert found is not None, name
    label = f" ({found['label']})" if found["label"] else ""
    return f"`{found['method']}`{label}"
