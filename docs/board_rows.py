"""Rows of published boards as a table of a page.

A page names boards and rows, ``<!-- rows of BOARD BOARD: METHOD, METHOD (LABEL) -->``. Of one board
the table has three figures, of several the area on each. ``areas of BOARD: ...`` has the area and
that of the paper's formula, ``fronts of BOARD: ...`` A_y at three limits of A_s, and ``misses of
BOARD: ...`` the point of each method at which the paper's auditors miss most.
"""

from __future__ import annotations

import functools
import math
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from fairbench.leaderboard.board_file import read_board
from fairbench.leaderboard.build import Tables, build_tables
from fairbench.leaderboard.ranking import RankedRow
from fairbench.metrics.rows import DEFAULT
from fairbench.registry import load_registry
from fairbench.report.format import format_interval, format_share

LEADERBOARDS = Path(__file__).parents[1] / "leaderboards"
BLOCK = re.compile(
    r"(?P<start><!-- (?P<kind>rows|areas|fronts|misses) of "
    r"(?P<boards>[\w -]+): (?P<rows>[^>]+) -->\n)"
    r"(?:(?!<!--).)*(?P<end><!-- end of rows -->)",
    re.DOTALL,
)
_NAMED = re.compile(r"^(?P<method>[\w-]+)(?: \((?P<label>[\w-]+)\))?$")
_FIGURES = {
    "rows": {
        "certified": "aufdc_certified",
        "A_y where a tenth of I(X;S) leaks": "accuracy_y_at_leakage_10",
    },
    "areas": {"by the paper's formula": "aufdc_paper"},
    # By how far A_s goes from a constant guess to that of x.
    "fronts": {f"A_y at {share}%": f"accuracy_y_at_accuracy_s_{share}" for share in (10, 25, 50)},
}
"""Headings and columns of a table of one board, by its kind."""
_PAPER, _STRICT = "mutual_information_paper", "mutual_information"


def rewrite_rows(text: str) -> str:
    """Write all such tables of a page."""

    def table(block: re.Match[str]) -> str:
        names = [name.strip() for name in block["rows"].split(",")]
        boards = block["boards"].split()
        if block["kind"] == "misses":
            made = format_misses(boards[0], names)
        else:
            made = format_rows(boards, names, kind=block["kind"])
        return f"{block['start']}\n{made}\n{block['end']}"

    return BLOCK.sub(table, text)


def format_rows(boards: Sequence[str], names: Sequence[str], *, kind: str = "rows") -> str:
    """Format rows of boards: by area on the first of them, fronts by A_y at the least limit."""
    tables = [read_rows(board) for board in boards]
    figures = _FIGURES[kind] if len(boards) == 1 else {}
    heads = ["AUFDC"] if len(boards) == 1 else [f"AUFDC, `{board}`" for board in boards]
    if kind == "fronts":
        heads = []
        least = next(iter(figures.values()))
        ordered = sorted(names, key=lambda name: -(tables[0][name].row.figures[least] or 0.0))
    else:
        ordered = sorted(names, key=lambda name: tables[0][name].row.figures["aufdc"] or 0.0)
    lines = [f"| | {' | '.join([*heads, *figures])} |"]
    lines += [f"|---|{'---|' * (len(heads) + len(figures))}"]
    for name in ordered:
        cells = [show_area(table[name]) for table in tables[: len(heads)]]
        cells += [_figure(tables[0][name], column) for column in figures.values()]
        lines.append(f"| {show_name(name)} | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def format_misses(board: str, names: Sequence[str]) -> str:
    """Format where the paper's auditors miss most, of all splits; the largest gap first.

    Estimates below 0 are shown, and count as 0.
    """
    found = []
    for name in names:
        row = read_rows(board)[name].row
        measured = [
            (point, point.figures[_PAPER], point.figures[_STRICT])
            for point in read_table(board).points
            if point.variant == row.variant and point.counted and point.figures
        ]
        found.append((name, *max(measured, key=lambda one: one[2] - max(0.0, one[1]))))
    found.sort(key=lambda one: max(0.0, one[2]) - one[3])
    lines = [
        "| point | split | I by the paper's MLPs | I by the strict auditors | of I(X;S) | D |",
        "|---|---|---|---|---|---|",
    ]
    for name, point, paper, strict in found:
        share = strict / (point.mutual_information_max or math.nan)
        cells = [*map(format_share, (paper, strict)), f"{share:.0%}"]
        cells.append(format_share(point.figures["distortion"]))
        label = "" if point.point in (None, "-") else f", {point.point}"
        lines.append(f"| {show_name(name)}{label} | {point.split} | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


@functools.cache
def read_table(board: str, folder: str = "fairbench_boards") -> Tables:
    """Read a board of a folder of leaderboards/, once; callers must not change it."""
    path = LEADERBOARDS / folder / f"{board}.board"
    (table,) = build_tables(read_board(path).records(), load_registry())
    return table


def read_rows(board: str) -> Mapping[str, RankedRow]:
    """Return the rows of a board by ``METHOD``, or ``METHOD (LABEL)`` where not default.

    Where some are ranked, the ranked ones alone.
    """
    entries = read_table(board).entries
    ranked = [entry for entry in entries if entry.row.replicated] or entries
    return {name_row(entry): entry for entry in ranked}


def name_row(entry: RankedRow) -> str:
    """Return ``METHOD``, or ``METHOD (LABEL)`` where the hyperparameters are not the default."""
    row = entry.row
    return row.method if row.params == DEFAULT else f"{row.method} ({row.label})"


def show_area(entry: RankedRow) -> str:
    """Return a row's area and its interval as pages show them."""
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
