"""The ranking plot of a board: each row's figure with its interval, on one scale, as SVG.

Each row is a list item of the page with an SVG of its own. So a row hides, moves up and is a link
without a script, and names stay text of the page on every width. Places are percentages.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from fairbench.metrics.rows import LeaderboardRow, Variant
from fairbench.report.format import format_figure, format_share
from fairbench.report.page.colours import colour_class
from fairbench.report.panels import Panel
from fairbench.report.style import Look

_MARGIN = 2.0
"""Percent of the width left and right of the scale, so that marks at its ends are whole."""

_STEPS_OF_AREAS, _STEPS = 6, 4
"""Most steps between the numbers of a scale; areas have short ones, and .5 among them."""

_NOTHING = 0.5
"""AUFDC of releasing x, or nothing."""


@dataclass(frozen=True)
class Ranking:
    """A board's ranking plot.

    Parameters
    ----------
    column : str
        What ranks.
    better : str
        Which values are better: ``lower`` or ``higher``.
    marks : mapping of Variant to str
        SVG of each row that has a figure.
    axis : str
        SVG of the scale, for below the rows.
    intervals, certified, nothing : bool
        Whether there are intervals, certified areas, and the line of releasing x or nothing.
    """

    column: str
    better: str
    marks: Mapping[Variant, str]
    axis: str
    intervals: bool
    certified: bool
    nothing: bool


@dataclass(frozen=True)
class _Scale:
    low: float
    high: float
    ticks: tuple[float, ...]

    def at(self, value: float) -> str:
        """Place of a value, percent of the width."""
        share = (min(max(value, self.low), self.high) - self.low) / (self.high - self.low)
        return f"{_MARGIN + share * (100 - 2 * _MARGIN):.1f}%"


def draw_ranking(
    panel: Panel, looks: Mapping[Variant, Look], directions: Mapping[str, str]
) -> Ranking:
    """Draw the rows of a board; of highlighted rows and others, the others are grey.

    ``directions``: which values of a column are better, ``lower`` or ``higher``.
    """
    column = (panel.rows[0].ranked_by if panel.rows else None) or "aufdc"
    of_area = column == "aufdc"
    certified = {
        row.variant: area
        for row in panel.rows
        if of_area and (area := row.figures.get("aufdc_certified")) is not None
    }
    scale = _scale(panel, column, [*certified.values(), *([_NOTHING] if of_area else [])])
    rail = _rail(scale, nothing=of_area)
    marks = {}
    for row in panel.rows:
        value = row.figures.get(column)
        if value is not None and not row.no_point_within_limit(column):
            grey = bool(panel.highlighted) and row.method not in panel.highlighted
            own = _marks(row, column, value, certified.get(row.variant), scale)
            name = "grey" if grey else colour_class(looks[row.variant])
            words = _words(value, row.interval(column), certified.get(row.variant))
            marks[row.variant] = (
                f'<svg class="marks {name}" role="img" aria-label="{words}">'
                f"<title>{words}</title>{rail}{own}</svg>"
            )
    return Ranking(
        column=column,
        better=directions.get(column, "lower"),
        marks=marks,
        axis=_axis(scale),
        intervals=any(row.interval(column) for row in panel.rows),
        certified=bool(certified),
        nothing=of_area,
    )


def _scale(panel: Panel, column: str, more: Sequence[float]) -> _Scale:
    """The scale of all rows and their intervals; areas start at 0."""
    from matplotlib.ticker import MaxNLocator

    known = [value for row in panel.rows if (value := row.figures.get(column)) is not None]
    known += [end for row in panel.rows for end in row.interval(column) or ()]
    known += more
    steps = [1, 2, 5, 10]
    if column == "aufdc":
        low, high = 0.0, max(known)
        found = MaxNLocator(_STEPS_OF_AREAS, steps=steps).tick_values(low, high)
        ticks = [tick for tick in found if low <= tick <= high + 1e-9]
    else:
        lowest = min(known, default=0.0)
        highest = max([lowest + 0.02, *known])
        ticks = list(MaxNLocator(_STEPS, steps=steps).tick_values(lowest, highest))
        low, high = ticks[0], ticks[-1]
    return _Scale(float(low), float(high), tuple(map(float, ticks)))


def _rail(scale: _Scale, *, nothing: bool) -> str:
    """What each row has behind its marks, so that rows together have lines from top to bottom."""
    lines = [(scale.at(tick), "tick") for tick in scale.ticks]
    lines += [(scale.at(_NOTHING), "nothing")] if nothing else []
    return "".join(
        f'<line class="{name}" x1="{at}" x2="{at}" y1="0" y2="100%"/>' for at, name in lines
    )


def _marks(
    row: LeaderboardRow, column: str, value: float, certified: float | None, scale: _Scale
) -> str:
    """The interval, the certified area as a hollow diamond, and the figure as a dot."""
    parts = []
    ends = row.interval(column)
    if ends is not None:
        parts.append(
            f'<line class="interval" x1="{scale.at(ends[0])}" x2="{scale.at(ends[1])}" '
            'y1="50%" y2="50%"/>'
        )
    if certified is not None:
        parts.append(
            f'<svg class="certified" x="{scale.at(certified)}" y="50%">'
            '<path d="M0-5.5l5.5 5.5-5.5 5.5-5.5-5.5z"/></svg>'
        )
    kind = "figure" if row.complete else "figure incomplete"
    parts.append(f'<circle class="{kind}" cx="{scale.at(value)}" cy="50%" r="4.5"/>')
    return "".join(parts)


def _axis(scale: _Scale) -> str:
    """The numbers below the rows."""
    most = max((_decimals(tick) for tick in scale.ticks), default=0)
    labels = "".join(
        f'<text x="{scale.at(tick)}" y="12">{_label(tick, most)}</text>' for tick in scale.ticks
    )
    return f'<svg class="axis" aria-hidden="true">{labels}</svg>'


def _decimals(tick: float) -> int:
    return len(f"{tick:.6f}".rstrip("0").partition(".")[2])


def _label(tick: float, decimals: int) -> str:
    text = format_figure(tick, decimals=decimals if tick else 0)
    return text.replace("0.", ".", 1) if abs(tick) < 1 and decimals else text


def _words(value: float, ends: tuple[float, float] | None, certified: float | None) -> str:
    """What a row's marks say."""
    words = format_share(value)
    if ends is not None:
        words += f", 95% interval {format_share(ends[0])} to {format_share(ends[1])}"
    return words if certified is None else f"{words}, certified {format_share(certified)}"
