"""What is left of images along a curve: originals beside reconstructions, one row per method."""

from __future__ import annotations

import base64
import io
import textwrap
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from fairbench.models.reconstructions import Pictures, Reconstructed
from fairbench.report.style import empty_figure, styled

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

SHOWN = {"own": "decoded for its group", "same": "for the same group"}
"""Lines of each method: what an image is decoded for."""
_CELL = 0.95
"""Width of a setting's images, inches."""
_NAMES, _LABEL = 1.2, 0.25
"""Width of methods' names and height of a setting's label, inches."""
_GAP, _LINE = 1, 70
"""Pixels around each image, and how bright they are of 255."""
_INK = "gray_r"
"""Bright pixels are dark: paper is white."""


def mosaic(pictures: Pictures) -> Pictures:
    """Put images ``(k, height, width)`` into rows as even as can be, with lines between them."""
    k, height, width = pictures.shape
    across = int(np.ceil(np.sqrt(k)))
    down = -(-k // across)
    tall, wide = height + _GAP, width + _GAP
    out = np.full((down * tall + _GAP, across * wide + _GAP), _LINE, np.uint8)
    for i, picture in enumerate(pictures):
        row, column = divmod(i, across)
        top, left = row * tall + _GAP, column * wide + _GAP
        out[top : top + height, left : left + width] = picture
    return out


def reconstructions_figure(rows: Sequence[Reconstructed], title: str) -> Figure:
    """Draw originals and reconstructions; the most informative setting is on the left.

    Each method has two lines: decoded for the group of each image, and for the same group.
    """
    columns = 1 + max(len(one.settings) for one in rows)
    height, width = mosaic(rows[0].originals).shape
    tall = _CELL * height / width + _LABEL
    with styled():
        figure = empty_figure(_CELL * columns + _NAMES, 2 * tall * len(rows) + _LABEL)
        grid = figure.subplots(2 * len(rows), columns, squeeze=False)
        for axes in grid.flat:
            axes.set_axis_off()
        for i, one in enumerate(rows):
            for line, what in zip(grid[2 * i : 2 * i + 2], SHOWN, strict=True):
                name = one.name if what == "own" else ""
                line[0].text(
                    *(-0.08, 0.5, textwrap.fill(name, 16) + f"\n{SHOWN[what]}".rstrip()),
                    transform=line[0].transAxes,
                    fontsize=7,
                    ha="right",
                    va="center",
                )
                if what == "own":
                    _draw(line[0], one.originals, "original")
                for axes, setting in zip(line[1:], one.settings, strict=False):
                    _draw(axes, getattr(setting, what), setting.label if what == "own" else "")
        figure.suptitle(title, fontsize=10)
    return figure


def _draw(axes: Axes, pictures: Pictures, title: str) -> None:
    axes.imshow(mosaic(pictures), cmap=_INK, vmin=0, vmax=255)
    axes.set_title(title.replace(",", "\n"), fontsize=7, pad=2)  # a line for each knob


def as_png(pictures: Pictures) -> str:
    """Return images as the address of a PNG that a page holds itself."""
    from matplotlib.image import imsave

    buffer = io.BytesIO()
    imsave(buffer, mosaic(pictures), cmap=_INK, vmin=0, vmax=255, format="png", metadata={})
    return "data:image/png;base64," + base64.b64encode(buffer.getvalue()).decode()
