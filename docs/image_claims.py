"""Figures of the board of DSprites-Unfair, and the paper's claims about it.

One replicate compares models, not methods: intervals are over test images alone. So a claim about
the order of methods stays undecided, and says what these models show; one about the curve of one
model is tested.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence

from board_rows import (
    MISSING,
    TASK,
    get_figure,
    name_rows,
    order_figure,
    read_table,
    show_area,
    show_figure,
    show_name,
    show_seconds,
)
from claims import (
    OTHERS,
    UNDECIDED,
    Claim,
    describe_falls,
    describe_rises,
    judge_order,
    table_of_claims,
)
from fairbench.api import Shots
from fairbench.leaderboard.build import Tables
from fairbench.leaderboard.ranking import difference
from fairbench.metrics.rows import PointRow
from fairbench.registry import load_registry
from fairbench.report.format import format_interval, format_share
from fairbench.store.status import Status
from markdown_parts import make_table
from published_figures import count_falls, count_rises, deviation

BOARD, QUICK, FOLDER = "dsprites", "dsprites-quick", "experiments"
OWN = ("sofair", "msfair", "sofair-nos")
"""The paper's methods, with the hyperparameters that the board has for images."""
REFERENCES = ("identity", "constant")
"""References, whose area is .5 by definition or nearly so."""


class ImageBoard:
    """The rows of a board by name, and their points in the order of the knob."""

    def __init__(self, table: Tables) -> None:
        self.table = table
        complete = (entry for entry in table.entries if entry.row.complete)
        self.rows = name_rows(complete, table.dataset)

    def named(self, method: str) -> list[str]:
        """Names of the rows of a method, by their hyperparameters."""
        return [name for name, entry in self.rows.items() if entry.row.method == method]

    def points(self, name: str) -> list[PointRow]:
        """Measured points of a row."""
        variant = self.rows[name].row.variant
        own = [p for p in self.table.points if p.variant == variant and p.counted]
        done = [p for p in own if p.status == Status.DONE.value]
        return sorted(done, key=lambda point: point.point_number or 0)

    def along(self, name: str, column: str) -> list[float]:
        """A figure of each point in the order of the knob, from its end of least D."""
        points = self.points(name)
        ends = [_figure(point, "distortion") for point in (points[0], points[-1])]
        if ends[0] > ends[1]:
            points = points[::-1]
        return [_figure(point, column) for point in points]


def read_images(name: str = BOARD) -> ImageBoard:
    """Read a board."""
    return ImageBoard(read_table(name, FOLDER))


def format_images(name: str = BOARD) -> str:
    """Format the rows by area: the ranges of D, I and the accuracy of the shape over the points."""
    board = read_images(name)
    shown = [name for name in board.rows if name not in REFERENCES]
    shown.sort(key=lambda name: order_figure(get_figure(board.rows[name], "aufdc")))
    heads = (
        *("method", "AUFDC", "D, least to most", "I, most to least", "A_y of the shape"),
        "training, s a model",
    )
    return make_table(heads, (_cells(board, name) for name in shown))


def _cells(board: ImageBoard, name: str) -> tuple[str, ...]:
    entry = board.rows[name]
    d, i, y = (
        board.along(name, column) for column in ("distortion", "mutual_information", "accuracy_y")
    )
    seconds = get_figure(entry, "train_seconds")
    single = load_registry().methods[entry.row.method].shots is Shots.SINGLE
    models = 1 if single else len(d)
    return (
        show_name(name),
        show_area(entry),
        _show_range(d, lambda value: f"{value:.1f}"),
        _show_range(i, format_share, falling=True),
        _show_range(y, format_share, falling=True),
        show_seconds(None if seconds is None else seconds / models),
    )


def _show_range(
    figures: Sequence[float], show: Callable[[float], str], *, falling: bool = False
) -> str:
    """Show the ends of a figure over the points; none where a point lacks it."""
    if any(map(math.isnan, figures)):
        return MISSING
    return " to ".join(map(show, sorted((min(figures), max(figures)), reverse=falling)))


def format_quick_images() -> str:
    """Format those of the quick budget."""
    return format_images(QUICK)


def format_claims_of_images() -> str:
    """Format the table of claims."""
    return table_of_claims("one replicate", make_claims(read_images()))


def make_claims(board: ImageBoard) -> Iterator[Claim]:
    """All claims whose methods are on the board."""
    if all(name in board.rows for name in OWN):
        yield _order(board)
        yield _along_one_curve(board)
        others = (name for other in OTHERS for name in board.named(other))
        yield from (_ahead(board, name) for name in others)


def _order(board: ImageBoard) -> Claim:
    """Table 1: the areas of the paper's three methods."""
    paper = {"msfair": ".14", "sofair": ".21", "sofair-nos": ".25"}
    words = ", ".join(f"`{name}` {area}" for name, area in paper.items())
    by_formula = {name: board.rows[name].row.figures["aufdc_paper"] for name in paper}
    formula = ", ".join(
        f"`{name}` {format_share(area)}" for name, area in by_formula.items() if area is not None
    )
    figures = ", ".join(f"`{name}` {show_area(board.rows[name])}" for name in paper)
    gaps = [_gap(board, "msfair", "sofair"), _gap(board, "sofair", "sofair-nos")]
    return Claim(
        f"DSprites-Unfair, Table 1: this order of areas, by the paper's formula: {words}",
        f"by the paper's formula {formula}; AUFDC {figures}; differences of AUFDC of one to the "
        f"next {' and '.join(gaps)}",
        UNDECIDED,
    )


def _along_one_curve(board: ImageBoard) -> Claim:
    """Figure 3: a larger beta never releases more nor keeps more, by the rule of claims.py."""
    d, i = (board.along("sofair", name) for name in ("distortion", "mutual_information"))
    low, high = (board.along("sofair", f"mutual_information_{end}") for end in ("low", "high"))
    d_max = board.points("sofair")[0].distortion_max or math.nan
    rises = count_rises([(i, list(map(deviation, low, high)))])
    falls = count_falls([[value / d_max for value in d]])
    return Claim(
        "DSprites-Unfair, Figure 3: SoFaiR moves along one curve, from low D and high I to high D "
        "and low I",
        f"D from {d[0]:.1f} to {d[-1]:.1f} of 144, I from {format_share(i[0])} to "
        f"{format_share(i[-1])} nats; {describe_rises(rises)}; {describe_falls(falls)}",
        judge_order(rises, falls),
    )


def _ahead(board: ImageBoard, other: str) -> Claim:
    """RQ2: the fronts of SoFaiR and MSFaiR, by area and by what they keep of the shape."""
    names = ("sofair", "msfair")
    gaps = "; ".join(
        f"`{name}` less {show_name(other)} {_gap(board, name, other)}" for name in names
    )
    kept = ", ".join(
        f"{show_name(name)} {show_figure(board.rows[name], TASK)}" for name in (*names, other)
    )
    return Claim(
        "DSprites-Unfair, RQ2: the fronts of `sofair` and `msfair` are ahead of that of "
        f"{show_name(other)}",
        f"by area {gaps}; A_y of the shape where a tenth of I(X;S) is left: {kept}",
        UNDECIDED,
    )


def _gap(board: ImageBoard, a: str, b: str) -> str:
    gap = difference(board.rows[a], board.rows[b], "aufdc")
    if gap is None:
        return "unknown"
    return format_interval(gap.value, *gap.interval())


def _figure(point: PointRow, column: str) -> float:
    value = point.figures[column]
    return math.nan if value is None else float(value)
