"""Draw the README's figure: curves of a few methods of a board, labelled at their lines.

python docs/readme_figure.py leaderboards/archive/adults-gender-4.board
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from fairbench.errors import ConfigError, UnknownNameError
from fairbench.leaderboard.board_file import read_board
from fairbench.leaderboard.build import build_tables
from fairbench.metrics.rows import LeaderboardRow
from fairbench.registry import load_registry
from fairbench.report.figures import draw_ends
from fairbench.report.format import format_share
from fairbench.report.panels import Panel, panels
from fairbench.report.style import new_figure, styled

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Pixels = NDArray[np.float64]

TARGET = Path(__file__).parents[1] / "leaderboards" / "figures" / "readme-adults-gender.png"

SHOWN = ("sofair", "fare-tree", "beta-vae", "drop-features", "msfair", "latfr", "maxent-arl")

MOST = 8
"""Curves that can be told apart by their labels."""

_SIZE = 8.0, 4.8
"""Inches: 800 pixels wide at 100 dpi."""

_FONT = 11.0
"""Points: 15 pixels in a figure 800 pixels wide."""

_DISTANCES = (14.0, 28.0, 46.0, 70.0, 100.0)
"""Pixels between a line and its label, which a thin line joins."""

_DIRECTIONS = [np.array([np.cos(a), np.sin(a)]) for a in np.arange(0, 2 * np.pi, np.pi / 8)]


def labelled_curves_figure(panel: Panel, names: Sequence[str]) -> Figure:
    """Draw unfairness-distortion curves of some rows, with names and AUFDC at the lines.

    Over several seeds a line is the median attainment surface, and its band lies between the
    surfaces that a quarter and three quarters of the seeds attain.

    Parameters
    ----------
    names : sequence of str
        At most eight complete rows: a method, for its row with default hyperparameters, or
        ``method:params`` as in the leaderboard.

    Raises
    ------
    ConfigError
        There are more than eight names, or a row is not complete.
    UnknownNameError
        A name is of no row of the panel.
    """
    if len(names) > MOST:
        raise ConfigError(f"{len(names)} curves cannot be labelled at their lines.", "Name eight.")
    rows = [_find(panel, name) for name in names]
    look = panel.identities.looks([row.variant for row in rows])
    with styled():
        figure = new_figure(*_SIZE)
        axes = figure.axes[0]
        lines = []
        for row in rows:
            style = look[row.variant]
            d, i = panel.surface(row, 50)
            axes.plot(d, i, color=style.colour, linestyle=style.line, linewidth=2.0)
            lines.append(np.column_stack([d, i]))
            best, worst = panel.surface(row, 25), panel.surface(row, 75)
            if best[0] and worst[0]:
                grid = np.linspace(0, max(worst[0]), 200)
                low, high = np.interp(grid, *best), np.interp(grid, *worst)
                axes.fill_between(grid, low, high, color=style.colour, alpha=0.15, linewidth=0)
        if panel.ends is not None:
            draw_ends(axes, *panel.ends, size=_FONT - 1)
        axes.set_title(panel.title, fontsize=_FONT + 1)
        axes.set_xlabel("D, distortion: squared error of x", fontsize=_FONT)
        axes.set_ylabel("I(Z;S), leakage, nats", fontsize=_FONT)
        axes.tick_params(labelsize=_FONT - 1)
        texts = [_text(row) for row in rows]
        _label_lines(axes, lines, texts, [look[row.variant].colour for row in rows])
    return figure


def _find(panel: Panel, name: str) -> LeaderboardRow:
    method, _, params = name.partition(":")
    for row in panel.rows:
        if row.variant == (method, params or "default"):
            if not row.complete:
                raise ConfigError(f"{name} is not complete: it has no curve.", "Leave it out.")
            return row
    raise UnknownNameError("row", name, [row.method for row in panel.rows])


def _text(row: LeaderboardRow) -> str:
    area = row.figures.get("aufdc")
    name = row.method if row.params == "default" else f"{row.method} (tuned)"
    return name if area is None else f"{name} {format_share(area)}"


def _label_lines(
    axes: Axes, lines: Sequence[Pixels], texts: Sequence[str], colours: Sequence[str]
) -> None:
    """Write each text beside its line where it covers no other line and no other text."""
    from matplotlib.text import Text
    from scipy.spatial import KDTree

    figure = axes.get_figure(root=True)
    assert figure is not None
    figure.draw_without_rendering()  # the layout is final: data have their pixels
    figure.set_layout_engine("none")
    frame = axes.get_window_extent().get_points()
    paths = [_resample(axes.transData.transform(line)) for line in lines]
    taken = [text.get_window_extent().get_points() for text in axes.texts]
    for number, (path, text, colour) in enumerate(zip(paths, texts, colours, strict=True)):
        note = axes.annotate(
            text,
            (0, 0),
            (0, 0),
            textcoords="offset points",
            color=colour,
            fontsize=_FONT,
            fontweight="bold",
            va="center",
            ha="center",
            arrowprops={"arrowstyle": "-", "color": colour, "linewidth": 0.8},
        )
        half = np.array(Text.get_window_extent(note).size) / 2  # without the line that joins them
        # Far away, so that there always is another line.
        others = np.concatenate([p for k, p in enumerate(paths) if k != number] or [-frame])
        tree = KDTree(others)
        places = path[len(path) // 10 : -len(path) // 10 : max(len(path) // 25, 1)]
        best = np.inf
        for place, distance, direction in product(places, _DISTANCES, _DIRECTIONS):
            middle = place + direction * (distance + np.abs(direction) @ half)
            box = np.array([middle - half - 3, middle + half + 3])
            outside = bool((box[0] < frame[0]).any() or (box[1] > frame[1]).any())
            link = place + np.linspace(0.2, 1, 8)[:, None] * direction * distance
            if outside or any(_overlap(box, one) or _inside(link, one) for one in taken):
                continue
            crossed = _inside(others, box) + _inside(path, box)
            crossed += 4 * int(np.count_nonzero(tree.query(link)[0] < 4))
            cost = distance + 40 * crossed + 400 / (tree.query(place)[0] + 5)
            if cost < best:
                best, anchor, centre, joined = cost, place, middle, link
        if best == np.inf:  # no room at all: over the middle of the line
            anchor = centre = path[len(path) // 2]
            joined = centre[None, :]
        taken += [np.array([centre - half, centre + half])]
        taken += [np.array([point - 2, point + 2]) for point in joined]
        # In units that stay where they are at another resolution.
        x, y = axes.transData.inverted().transform(anchor)
        note.xy = (float(x), float(y))
        right, up = (centre - anchor) * 72 / figure.dpi
        note.set_position((float(right), float(up)))


def _resample(line: Pixels) -> Pixels:
    """Points every two pixels along a line."""
    steps = np.hypot(*np.diff(line, axis=0).T)
    way = np.concatenate([[0.0], np.cumsum(steps)])
    at = np.arange(0.0, way[-1], 2.0)
    return np.column_stack([np.interp(at, way, line[:, k]) for k in (0, 1)])


def _inside(points: Pixels, box: Pixels) -> int:
    return int(((points >= box[0]) & (points <= box[1])).all(axis=1).sum())


def _overlap(a: Pixels, b: Pixels) -> bool:
    return bool((a[0] < b[1]).all() and (b[0] < a[1]).all())


def main() -> None:
    """Draw the curves of Adults-Gender's blind track at full budget."""
    board = read_board(Path(sys.argv[1]))
    (table,) = build_tables(board.records(), load_registry())
    (panel,) = (p for p in panels(table) if p.group[:2] == ("blind", "full"))
    figure = labelled_curves_figure(panel, SHOWN)
    with styled():
        figure.savefig(TARGET, dpi=150, metadata={"Software": None})


if __name__ == "__main__":
    main()
