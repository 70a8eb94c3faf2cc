"""Rows of published boards as tables of a page, by the names of boards and rows."""

from __future__ import annotations

import functools
import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from fairbench.leaderboard.board_file import read_board
from fairbench.leaderboard.build import Tables, build_tables
from fairbench.leaderboard.folds import rank_over_folds
from fairbench.leaderboard.ranking import LeaderboardEntry, difference
from fairbench.metrics.limits import LIMIT_NOTE, PARTLY
from fairbench.metrics.rows import DEFAULT, PointRow
from fairbench.registry import load_registry
from fairbench.report.comparisons import describe_differences
from fairbench.report.format import format_interval, format_share
from fairbench.stats.intervals import LEVEL, Estimate
from markdown_parts import list_names, make_paragraph, make_table

LEADERBOARDS = Path(__file__).parents[1] / "leaderboards"
FOLDER = "fairbench_boards"
"""Of the boards that the package has."""
MISSING = "none"
"""What stands for a figure that a row does not have."""
TASK = "accuracy_y_at_leakage_10"
"""A_y where a tenth of I(X;S) leaks."""
_NAMED = re.compile(r"^(?P<method>[\w-]+)(?: \((?P<label>.+)\))?$")
_KEPT = {
    "certified": "aufdc_certified",
    "A_y where a tenth of I(X;S) leaks": TASK,
}
_BY_FORMULA = {"by the paper's formula": "aufdc_paper"}
_FRONT = {f"A_y at {share}%": f"accuracy_y_at_accuracy_s_{share}" for share in (10, 25, 50)}
"""By how far A_s goes from a constant guess to that of x."""
_PAPER, _STRICT = "mutual_information_paper", "mutual_information"


def format_rows(boards: Sequence[str], names: Sequence[str]) -> str:
    """Format rows of one board with two figures beside the area, of several the area on each."""
    if len(boards) == 1:
        return _format_one(boards, names, _KEPT)
    tables = [read_rows(board) for board in boards]
    rows = (
        [show_name(name), *(show_area(table[name]) for table in tables)]
        for name in _by_area(tables[0], names)
    )
    return make_table([None, *(f"AUFDC, `{board}`" for board in boards)], rows)


def format_areas(boards: Sequence[str], names: Sequence[str]) -> str:
    """Format rows of one board with the area, and that of the paper's formula."""
    return _format_one(boards, names, _BY_FORMULA)


def _format_one(boards: Sequence[str], names: Sequence[str], figures: Mapping[str, str]) -> str:
    """Format rows by area; ``figures`` are headings and columns beside it."""
    (board,) = boards
    table = read_rows(board)
    rows = (
        [show_name(name), show_area(table[name]), *_figures(table[name], figures)]
        for name in _by_area(table, names)
    )
    return _explained(make_table([None, "AUFDC", *figures], rows))


def format_fronts(boards: Sequence[str], names: Sequence[str]) -> str:
    """Format A_y of rows of one board at three limits of A_s, the best at the least limit first."""
    (board,) = boards
    table = read_rows(board)
    least = next(iter(_FRONT.values()))
    ordered = sorted(
        names, key=lambda name: order_figure(get_figure(table[name], least), highest_first=True)
    )
    rows = ([show_name(name), *_figures(table[name], _FRONT)] for name in ordered)
    return _explained(make_table([None, *_FRONT], rows))


def _explained(table: str) -> str:
    """A table, and what its marks stand for."""
    return f"{table}\n\n{LIMIT_NOTE}" if PARTLY in table else table


def format_comparison(boards: Sequence[str], names: Sequence[str]) -> str:
    """Format what ``leaderboard --compare`` prints of the default rows of two methods."""
    (board,) = boards
    a, b = (f"{name}:{DEFAULT}" for name in names)
    (compared,) = describe_differences([read_table(board)], a, b)
    return "\n".join(["```text", compared.heading, *compared.lines, "```"])


@dataclass(frozen=True)
class RankComparison:
    """Names of default rows that the ranks put ahead of one row, behind it, and neither."""

    ahead: list[str]
    behind: list[str]
    level: list[str]


def compare_by_ranks(board: str, reference: str) -> RankComparison:
    """Compare the default rows of a board's track with one of them, by area.

    As rank sets do: at 2.5% for each direction, so that the whole is wrong in at most 5% of tables,
    adjusted over all pairs that the one row is in (:mod:`fairbench.stats.ranks`).
    """
    table = read_rows(board)
    track = table[reference].row.track
    ranked = {name: entry for name, entry in table.items() if entry.row.track == track}
    figures = np.stack([entry.folds["aufdc"] for entry in ranked.values()])

    def find(*, better: bool) -> list[str]:
        found = rank_over_folds(
            figures, reference=list(ranked).index(reference), lower_is_better=better
        )
        p_values = {n: one.p_reference for n, one in zip(ranked, found, strict=True)}
        return [n for n, p in p_values.items() if p is not None and p < (1 - LEVEL) / 2]

    ahead, behind = (
        [name for name in find(better=better) if ranked[name].row.params == DEFAULT]
        for better in (True, False)
    )
    defaults = [name for name, entry in ranked.items() if entry.row.params == DEFAULT]
    level = [name for name in defaults if name not in {*ahead, *behind, reference}]
    return RankComparison(ahead, behind, level)


def format_told(boards: Sequence[str], names: Sequence[str]) -> str:
    """Format which default rows of one board the ranks put ahead of one row and which behind."""
    (board,), (reference,) = boards, names
    found = compare_by_ranks(board, reference)
    return make_paragraph(
        f"By area, with default hyperparameters, {list_names(found.ahead)} are clearly ahead of",
        f"{show_name(reference)}, and {list_names(found.behind)} clearly behind it;",
        f"{list_names(found.level)} do not differ significantly from it.",
    )


def format_misses(boards: Sequence[str], names: Sequence[str]) -> str:
    """Format where the paper's auditors miss most, of all splits; the largest gap first.

    Estimates below 0 are shown, and count as 0.
    """
    (board,) = boards
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
    heads = (
        *("point", "split", "I by the paper's MLPs", "I by the strict auditors"),
        *("of I(X;S)", "D"),
    )
    return make_table(heads, (_miss(*one) for one in found))


def _miss(name: str, point: PointRow, paper: float, strict: float) -> tuple[str, ...]:
    share = strict / (point.mutual_information_max or math.nan)
    label = "" if point.point in (None, "-") else f", {point.point}"
    return (
        f"{show_name(name)}{label}",
        point.split,
        format_share(paper),
        format_share(strict),
        f"{share:.0%}",
        format_share(point.figures["distortion"]),
    )


@functools.cache
def read_table(board: str, folder: str = FOLDER) -> Tables:
    """Read a board of a folder of leaderboards/, once; callers must not change it."""
    path = LEADERBOARDS / folder / f"{board}.board"
    if not path.is_file():
        known = ", ".join(sorted(other.stem for other in path.parent.glob("*.board")))
        raise ValueError(
            f"There is no board {board!r} in leaderboards/{folder}. There are: {known or MISSING}."
        )
    (table,) = build_tables(read_board(path).records(), load_registry())
    return table


def read_rows(board: str) -> Mapping[str, LeaderboardEntry]:
    """Return the rows of a board by ``METHOD``, or ``METHOD (LABEL)`` where not default."""
    return pick_rows(read_table(board), board)


def pick_rows(table: Tables, board: str) -> Mapping[str, LeaderboardEntry]:
    """Return the rows that pages show of a board, by their names.

    Where some are ranked, the ranked ones alone; else those that are complete: the figures of
    others are of some of their points only.
    """
    ranked = [entry for entry in table.entries if entry.row.replicated]
    return name_rows(ranked or [entry for entry in table.entries if entry.row.complete], board)


def estimate_gap(a: LeaderboardEntry, b: LeaderboardEntry, column: str, *, names: str) -> Estimate:
    """Estimate by how much a column of a exceeds that of b, paired over splits or test rows.

    ValueError, which calls the two rows ``names``, where there is nothing to pair them over.
    """
    found = difference(a, b, column)
    if found is None:
        raise ValueError(f"{names} cannot be paired: make them again.")
    return found


def name_rows(entries: Iterable[LeaderboardEntry], board: str) -> dict[str, LeaderboardEntry]:
    """Return rows of a board by their names; ValueError where two have the same one."""
    named: dict[str, LeaderboardEntry] = {}
    for entry in entries:
        name = name_row(entry)
        if name in named:
            # A page would show one and hide the other.
            both = " and ".join(_describe(one) for one in (named[name], entry))
            raise ValueError(
                f"{board} has two rows called {name}: {both}. Give one another label in the recipe."
            )
        named[name] = entry
    return named


def _describe(entry: LeaderboardEntry) -> str:
    return f"{entry.row.params!r} ({', '.join(entry.row.group)})"


def name_row(entry: LeaderboardEntry) -> str:
    """Return ``METHOD``, or ``METHOD (LABEL)`` where the hyperparameters are not the default.

    Those without a label stand there themselves.
    """
    row = entry.row
    return row.method if row.params == DEFAULT else f"{row.method} ({row.settings})"


def get_figure(entry: LeaderboardEntry, column: str) -> float | None:
    """Return a figure of a row; None where it has none, or that of a constant guess instead."""
    value = entry.row.figures.get(column)
    missing = value is None or math.isnan(value) or entry.row.no_point_within_limit(column)
    return None if missing else value


def order_figure(value: float | None, *, highest_first: bool = False) -> float:
    """Return what figures are sorted by: what is missing comes last."""
    if value is None or math.isnan(value):
        return math.inf
    return -value if highest_first else value


def show_share(value: float | None) -> str:
    """Return a figure as pages show it; :data:`MISSING` where there is none."""
    return MISSING if value is None or math.isnan(value) else format_share(value)


def show_figure(entry: LeaderboardEntry, column: str) -> str:
    """Return a figure of a row as pages show it."""
    value = get_figure(entry, column)
    return MISSING if value is None else format_share(value) + entry.row.limit_mark(column)


def show_area(entry: LeaderboardEntry) -> str:
    """Return a row's area and its interval as pages show them."""
    area = get_figure(entry, "aufdc")
    if area is None:
        return MISSING
    return format_interval(area, *(entry.row.interval("aufdc") or (None, None)))


def show_seconds(value: float | None) -> str:
    """Return seconds as tables of costs show them: ``3,420``."""
    return MISSING if value is None or math.isnan(value) else f"{value:,.0f}"


def _by_area(table: Mapping[str, LeaderboardEntry], names: Sequence[str]) -> list[str]:
    return sorted(names, key=lambda name: order_figure(get_figure(table[name], "aufdc")))


def _figures(entry: LeaderboardEntry, columns: Mapping[str, str]) -> Iterator[str]:
    for column in columns.values():
        yield show_figure(entry, column)


def show_name(name: str) -> str:
    """Return a row's name as pages show it."""
    found = _NAMED.match(name)
    assert found is not None, name
    label = f" ({found['label']})" if found["label"] else ""
    return f"`{found['method']}`{label}"
