"""Panels as frames: one of all rows; or, where rows are many, a small one for each family.

The notes under each panel say whether the data are simulated, which rows are not complete, and
what lines and bands show where there are several seeds.
"""

from __future__ import annotations

import textwrap
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from fairbench.metrics.rows import DEFAULT, LeaderboardRow, Variant
from fairbench.report.format import format_share
from fairbench.report.panels import Panel, looks_of
from fairbench.report.style import QUIET, Look, empty_figure, styled

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure, SubFigure

_WIDTH, _HEIGHT = 5.4, 3.6

SEVERAL = "Lines: the median over splits and seeds, {count} curves at most. Bands: {bands}."
"""A note where there are several curves."""
_BANDS = "what 25% to 75% of them attain"
_FEW_BANDS = "from the best of them to the worst"

_FEW = 3
"""Curves of which a quarter is one, and three quarters are all."""

_WRAP = 105
"""Characters of a line of notes."""

_MAX_SHORTFALLS = 4
"""Rows that are not complete whose missing points are told below a figure."""

_LINE = 0.18
"""Height of a line of a legend, inches: a panel is as tall as its legend, or that runs over."""

_MAX_ROWS = 7
"""Rows beside baselines that one frame holds; of more there are small frames, one per family."""

_COLUMNS, _SMALL_HEIGHT = 3, 2.3
"""Small frames of a row, and their height, inches."""

_SMALL_LEGEND: Any = {
    "fontsize": 6.5,
    "handlelength": 1.6,
    "borderaxespad": 0.1,
    "frameon": True,
    "facecolor": "white",
    "edgecolor": "none",
    "framealpha": 0.75,
}

_NOTE = 0.125
"""Height of a line of notes, inches."""

Drawn = Callable[["Axes", Panel, Mapping[Variant, Look], "Frame"], None]
"""Draws the rows that a frame is about, and the others faintly."""


@dataclass(frozen=True)
class Frame:
    """Axes of a panel, and the rows that they are about; the others are faint."""

    title: str
    rows: frozenset[Variant]
    small: bool = False

    def mark(self, row: LeaderboardRow, style: Look) -> dict[str, Any]:
        """A row's marks: filled where it is complete."""
        face = style.colour if row.complete else "none"
        size = {"markersize": 2.5} if self.small else {}
        return {"marker": style.marker, "color": style.colour, "markerfacecolor": face, **size}


def _frames(panel: Panel) -> list[Frame]:
    """One frame of all rows; where they are many, one of the best and one for each family."""
    methods = [row for row in panel.rows if "baseline" not in row.tags.split()]
    baselines = [row for row in panel.rows if "baseline" in row.tags.split()]
    # What others are tested against stands in every frame.
    tested = [row for row in baselines if row.method in panel.identities.references]
    nearest = [row.variant for row in (tested or baselines)[:1]]
    if panel.highlighted:
        own = [row.variant for row in panel.rows if row.method in panel.highlighted]
        return [Frame(panel.title, frozenset([*own, *nearest]))]
    if len(methods) <= _MAX_ROWS:
        return [Frame(panel.title, frozenset(row.variant for row in panel.rows))]
    families: dict[str, list[LeaderboardRow]] = {}
    for row in methods:
        families.setdefault(panel.identities.family(row.method), []).append(row)
    # Rows are in the order of the leaderboard, so the first of a family is its best.
    best = [rows[0] for rows in families.values()][: _MAX_ROWS - 1]
    groups = [(f"the best of {len(best)} families", best), *families.items()]
    if baselines:
        groups.append(("baselines", baselines))
    return [
        Frame(title, frozenset([*(row.variant for row in rows), *nearest]), small=True)
        for title, rows in groups
    ]


def draw_panels(
    shown: Sequence[Panel],
    draw: Drawn,
    x: str,
    y: str,
    *,
    legend: str,
    several: str,
    corner: str = "upper right",
) -> Figure:
    """Draw each panel in one frame, or in small ones; ``corner`` of these is free for names."""
    look = looks_of(shown)
    # One point is no curve and no front.
    shown = [panel for panel in shown if panel.most_points > 1] or shown[:1]
    with styled():
        frames = [_frames(panel) for panel in shown]
        heights = [_height(panel, own) for panel, own in zip(shown, frames, strict=True)]
        figure = empty_figure(_WIDTH + 1.9, sum(heights))
        parts = figure.subfigures(len(shown), squeeze=False, height_ratios=heights)[:, 0]
        for part, panel, own in zip(parts, shown, frames, strict=True):
            count = panel.most_curves
            bands = _BANDS if count > _FEW else _FEW_BANDS
            note = several.format(count=count, bands=bands) if count > 1 else ""
            if len(own) > 1:
                note = note.partition(" Bands:")[0]  # they would cover each other
                _small_multiples(part, panel, own, look, draw, (x, y), note, legend, corner)
                continue
            axes = part.subplots()
            draw(axes, panel, look, own[0])
            axes.set(title=panel.title, xlabel=x, ylabel=y)
            _name_rows(axes, loc="center left", bbox_to_anchor=(1.0, 0.5), title=legend)
            draw_notes(axes, panel, note, 34)
    return figure


def _small_multiples(
    part: SubFigure,
    panel: Panel,
    frames: Sequence[Frame],
    look: Mapping[Variant, Look],
    draw: Drawn,
    labels: tuple[str, str],
    note: str,
    legend: str,
    corner: str,
) -> None:
    grid = part.subplots(-(-len(frames) // _COLUMNS), _COLUMNS, squeeze=False)
    for axes in grid.flat[len(frames) :]:
        axes.set_axis_off()
    drawn = grid.flat[: len(frames)]
    for axes, frame in zip(drawn, frames, strict=True):
        draw(axes, panel, look, frame)
        axes.set_title(frame.title, fontsize=9)
        axes.tick_params(labelsize=7)
        _name_rows(axes, loc=corner, **_SMALL_LEGEND)
    x_ends = _joined([axes.get_xlim() for axes in drawn])
    y_ends = _joined([axes.get_ylim() for axes in drawn])
    for axes in drawn:
        axes.set(xlim=x_ends, ylim=y_ends)
    part.suptitle(panel.title, fontsize=10)
    part.supylabel(labels[1], fontsize=9)
    what = "Grey lines: all other rows."
    if legend:
        what = f"Beside names: {legend}. {what}"
    below = [labels[0], what, *_note_lines(panel, note), *_settings(panel)]
    part.supxlabel("\n".join(below), fontsize=7.5)


def _joined(ends: Sequence[tuple[float, float]]) -> tuple[float, float]:
    """The range that holds all ranges."""
    return min(low for low, _ in ends), max(high for _, high in ends)


def _name_rows(axes: Axes, **legend: Any) -> None:
    """Name what is drawn, or say that nothing is."""
    if axes.get_legend_handles_labels()[0]:
        axes.legend(**legend)
    else:
        axes.text(0.5, 0.5, "nothing measured yet", ha="center", transform=axes.transAxes)


def _settings(panel: Panel) -> list[str]:
    """Hyperparameters of the rows that small frames number."""
    names = _short_names(panel)
    lines = [f"{names[row.variant]}: {row.params}" for row in panel.rows if row.params != DEFAULT]
    return [textwrap.shorten(line, _WRAP, placeholder=" ...") for line in lines]


def _height(panel: Panel, frames: Sequence[Frame]) -> float:
    """Inches that a panel takes, with its title, its notes and its legend."""
    if len(frames) > 1:
        notes = len(_note_lines(panel, "")) + len(_settings(panel))
        return 1.1 + _SMALL_HEIGHT * -(-len(frames) // _COLUMNS) + _NOTE * notes
    (frame,) = frames
    names = [name for variant, name in panel.names.items() if variant in frame.rows]
    lines = sum(_fold(name).count("\n") + 1 for name in names)
    return max(_HEIGHT, _LINE * lines + 1.2)


def draw_notes(axes: Axes, panel: Panel, several: str, below: float) -> None:
    """Write notes so many points below the axes."""
    lines = _note_lines(panel, several)
    if lines:
        axes.annotate(
            "\n".join(lines),
            (0, 0),
            (0, -below),
            xycoords="axes fraction",
            textcoords="offset points",
            va="top",
            fontsize=7.5,
            color=QUIET,
        )


def _note_lines(panel: Panel, several: str) -> list[str]:
    notes = [several] if several else []
    if panel.simulated:
        notes.append("SIMULATED DATA: an embedded twin, not the real table.")
    if panel.demonstration:
        notes.append(f"For demonstration, without ranks: {panel.demonstration}.")
    if panel.ranked and panel.not_replicated:
        names = ", ".join(panel.names[row.variant] for row in panel.not_replicated)
        notes.append(f"Not replicated, so not ranked: {names}.")
    notes += shortfall_notes(panel.shortfalls)
    return [line for note in notes for line in textwrap.wrap(note, _WRAP)]


def shortfall_notes(lines: Sequence[str]) -> list[str]:
    """Return what is said of rows that are not complete; of many, only their names."""
    if len(lines) <= _MAX_SHORTFALLS:
        return [f"Not complete: {line}." for line in lines]
    names = ", ".join(line.partition(":")[0] for line in lines)
    return [f"Not complete (fairbench status says what is missing): {names}."]


def ordered(panel: Panel, look: Mapping[Variant, Look]) -> list[tuple[str, LeaderboardRow, Look]]:
    names = panel.names
    return [(names[row.variant], row, look[row.variant]) for row in panel.rows]


def _short_names(panel: Panel) -> dict[Variant, str]:
    """Names that fit into a small frame: rows without a label are numbered by method."""
    counts: Counter[str] = Counter()
    names = {}
    for row in panel.rows:
        names[row.variant] = row.method
        if row.label:
            names[row.variant] = panel.names[row.variant]
        elif row.params != DEFAULT:
            counts[row.method] += 1
            names[row.variant] = f"{row.method} [{counts[row.method]}]"
    return names


def label_of(panel: Panel, frame: Frame, row: LeaderboardRow, figure: float | None) -> str:
    """A legend's line: the name, its figure, and whether the row is complete."""
    names = _short_names(panel) if frame.small else panel.names
    name = _fold(names[row.variant])
    text = name if figure is None else f"{name}  {format_share(figure)}"
    return text if row.complete else f"{text} (incomplete)"


def _fold(name: str) -> str:
    """A name in lines of at most 32 characters, and not more than three: panels need room too."""
    return textwrap.fill(name, 32, max_lines=3, placeholder=" ...")
