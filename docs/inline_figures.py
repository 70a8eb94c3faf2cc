"""Figures of published boards inside sentences, each between two marks that a page does not show.

``<!-- figure: adults-gender-5: sofair: aufdc -->.255<!-- end of figure -->``: what :data:`KINDS`
has by this name writes what stands between. Rows are named as in tables, ``METHOD`` or ``METHOD
(LABEL)``; a board that is not among the published ones by its folder, ``experiments/dsprites``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from board_rows import FOLDER, estimate_gap, get_figure, pick_rows, read_table
from fairbench.api.metric import CurveEvaluation
from fairbench.leaderboard.measured import mean_of
from fairbench.leaderboard.ranking import LeaderboardEntry
from fairbench.metrics.aufdc import Aufdc
from fairbench.metrics.rows import PointRow
from fairbench.report.format import format_interval, format_share
from fairbench.store.returned_values import is_finite_number
from fairbench.store.status import Status
from markdown_parts import split_lists
from rank_ranges import show_ranks

_T = TypeVar("_T")

MARKED = re.compile(
    r"(?P<start><!-- (?P<name>[a-z]+)(?P<lists>(?:: [^:>\n]+)*) -->)"
    r"[^<\n]*(?P<end><!-- end of (?P=name) -->)"
)
"""A generated figure."""

_LINE_START = re.compile(r"[\s>]*(?:(?:[-*+]|\d+[.)])\s*)?")
_REFERENCE = tuple(
    f"{name}_max{of}" for name in ("mutual_information", "distortion") for of in ("", "_validation")
)
"""What a curve is normalised by."""


def rewrite_figures(text: str) -> str:
    """Return the text of a page with the figures in its sentences brought up to date."""
    return MARKED.sub(_write, text)


def _write(part: re.Match[str]) -> str:
    try:
        before = part.string[part.string.rfind("\n", 0, part.start()) + 1 : part.start()]
        if _LINE_START.fullmatch(before):
            raise ValueError("A mark that begins a line ends the paragraph: put a word before it.")
        write = _find(KINDS, part["name"], "kind of figure")
        return f"{part['start']}{write(*split_lists(part['lists']))}{part['end']}"
    except Exception as error:
        error.add_note(f"of the mark {part['start']}")
        raise


def _figure(
    boards: Sequence[str], names: Sequence[str], columns: Sequence[str], *digits: Sequence[str]
) -> str:
    """A column of a row, by default with three decimals."""
    (name,), (column,) = names, columns
    return _show(_read(boards).figure(name, column), digits)


def _interval(boards: Sequence[str], names: Sequence[str], columns: Sequence[str]) -> str:
    """A column of a row, and its 95% interval."""
    (name,), (column,) = names, columns
    board = _read(boards)
    return format_interval(board.figure(name, column), *board.interval(name, column))


def _gap(boards: Sequence[str], names: Sequence[str], columns: Sequence[str]) -> str:
    """By how much one row exceeds another, paired over splits, and the 95% interval."""
    (a, b), (column,) = names, columns
    board = _read(boards)
    for name in names:
        board.figure(name, column)  # which says what is wrong
    found = estimate_gap(board.row(a), board.row(b), column, names=f"{a} and {b} of {board.name}")
    return format_interval(found.value, *found.interval())


def _width(boards: Sequence[str], names: Sequence[str], columns: Sequence[str]) -> str:
    """How many times as wide the interval of one row is as that of another."""
    (a, b), (column,) = names, columns
    board = _read(boards)
    ends = (board.interval(name, column) for name in (a, b))
    wide, narrow = (high - low for low, high in ends)
    return f"{wide / narrow:.0f}"


def _rank(boards: Sequence[str], names: Sequence[str]) -> str:
    """The ranks of a row, among how many."""
    (name,) = names
    board = _read(boards)
    row = board.row(name).row
    if not row.replicated:
        raise ValueError(f"{name} of {board.name} has no rank.")
    among = sum(entry.row.group == row.group for entry in board.rows.values())
    return f"{show_ranks(row)} among {among}"


def _count(boards: Sequence[str]) -> str:
    """Number of the rows of a board."""
    return str(len(_read(boards).entries))


def _models(
    boards: Sequence[str], names: Sequence[str], columns: Sequence[str], *digits: Sequence[str]
) -> str:
    """The least and the most of a column over the single models of one or several rows.

    There is one for each split and seed; where a method trains one model for each point, these
    together count as one.
    """
    (column,) = columns
    board = _read(boards)
    found = [
        _number(_find(model, column, f"column of a model of {board.name}"), column)
        for name in names
        for model in _make_models(board.points(name))
    ]
    return f"{_show(min(found), digits)} to {_show(max(found), digits)}"


def _make_models(points: Iterable[PointRow]) -> Iterator[Mapping[str, float | None]]:
    """Yield the figures of each single model by column."""
    of_model: dict[tuple[str, int], list[PointRow]] = {}
    for point in points:
        of_model.setdefault((point.split, point.seed), []).append(point)
    for curve in of_model.values():
        reference = {name: getattr(curve[0], name) for name in _REFERENCE}
        evaluation = CurveEvaluation(points=[p.figures for p in curve], reference=reference)
        yield {**Aufdc().compute(evaluation), **reference}


def _point(
    boards: Sequence[str], names: Sequence[str], columns: Sequence[str], *digits: Sequence[str]
) -> str:
    """A column of one point of a row: mean over the splits, or of the split that is named third."""
    (name, label, *split), (column,) = names, columns
    board = _read(boards)
    points = board.points(name, *split)
    at = [point for point in points if point.point == label]
    if not at:
        known = dict.fromkeys(str(point.point) for point in points)
        raise ValueError(_unknown(f"point of {name} of {board.name}", label, known))
    values = (
        mean_of(board.at(point, column) for point in at if point.split == one)
        for one in dict.fromkeys(point.split for point in at)
    )
    return _show(_number(mean_of(values), column), digits)


def _excess(boards: Sequence[str], names: Sequence[str], columns: Sequence[str]) -> str:
    """By how much one column exceeds another at most, over all points of a row.

    What is below 0 counts as 0: both are of information.
    """
    (name,), (more, less) = names, columns
    board = _read(boards)
    gaps = [
        max(0.0, board.at(point, more)) - max(0.0, board.at(point, less))
        for point in board.points(name)
    ]
    return format_share(max(gaps))


KINDS: Mapping[str, Callable[..., str]] = {
    "figure": _figure,
    "interval": _interval,
    "gap": _gap,
    "width": _width,
    "rank": _rank,
    "count": _count,
    "models": _models,
    "point": _point,
    "excess": _excess,
}
"""What writes a figure, by its name: a function of the lists after the name."""


@dataclass(frozen=True)
class _Board:
    """A board, whose lookups name what is wrong and what there is."""

    name: str
    entries: Sequence[LeaderboardEntry]
    rows: Mapping[str, LeaderboardEntry]
    all_points: Sequence[PointRow]

    def row(self, name: str) -> LeaderboardEntry:
        return _find(self.rows, name, f"row of {self.name}")

    def figure(self, name: str, column: str) -> float:
        """Return a column of a row that is a number."""
        entry = self.row(name)
        value = _find(entry.row.cells(), column, f"column of {self.name}")
        known = get_figure(entry, column) if column in entry.row.figures else value
        return _number(known, f"{column} of {name} of {self.name}")

    def interval(self, name: str, column: str) -> tuple[float, float]:
        self.figure(name, column)
        ends = self.row(name).row.interval(column)
        if ends is None:
            raise ValueError(f"{column} of {name} of {self.name} has no interval.")
        return ends

    def points(self, name: str, split: str | None = None) -> list[PointRow]:
        """Return the measured points of a row: those that its figures are of, or of one split."""
        variant = self.row(name).row.variant
        own = [p for p in self.all_points if p.variant == variant and p.status == Status.DONE.value]
        if split is None:
            return [point for point in own if point.counted]
        found = [point for point in own if point.split == split]
        if not found:
            splits = dict.fromkeys(point.split for point in own)
            raise ValueError(_unknown(f"split of {name} of {self.name}", split, splits))
        return found

    def at(self, point: PointRow, column: str) -> float:
        """Return a column of a point that is a number."""
        value = _find(point.figures, column, f"column of the points of {self.name}")
        return _number(value, f"{column} of {point.method} at {point.point} of {self.name}")


def _read(boards: Sequence[str]) -> _Board:
    (board,) = boards
    folder, _, name = board.rpartition("/")
    table = read_table(name, folder or FOLDER)
    return _Board(board, table.entries, pick_rows(table, board), table.points)


def _find(known: Mapping[str, _T], name: str, what: str) -> _T:
    if name not in known:
        raise ValueError(_unknown(what, name, known))
    return known[name]


def _unknown(what: str, name: str, known: Iterable[str]) -> str:
    return f"{name!r} is no {what}. There are: {', '.join(known)}."


def _number(value: Any, what: str) -> float:
    if not is_finite_number(value):
        raise ValueError(f"There is no {what}: it is {value!r}.")
    return float(value)


def _show(value: float, digits: Sequence[Sequence[str]]) -> str:
    """Show a figure as pages do; ``digits`` may have how many decimals."""
    if not digits:
        return format_share(value)
    ((places,),) = digits
    text = f"{round(value, int(places)) + 0.0:,.{int(places)}f}"
    return text.replace("0.", ".", 1) if abs(value) < 1 else text
