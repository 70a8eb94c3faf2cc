"""PNG files that say what they show, so that one that is out of date can be found."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from fairbench.report.style import styled

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_KEY = "Description"
_DECIMALS = 3
"""Of what is compared: another processor may compute the next ones differently."""


def write_png(figure: Figure, path: Path, *, dpi: int) -> None:
    """Write a figure, with the digest of what it shows and without the version of matplotlib."""
    with styled():
        figure.savefig(path, dpi=dpi, metadata={"Software": None, _KEY: digest(figure)})


def digest(figure: Figure) -> str:
    """Return a digest of the words, lines and marks of a figure, not of how they look."""
    from matplotlib.collections import PathCollection
    from matplotlib.lines import Line2D
    from matplotlib.text import Text

    shown = hashlib.sha256()
    with styled():  # which ticks there are depends on the size of letters
        artists = figure.findobj()
    for artist in artists:
        if isinstance(artist, Text):
            shown.update(artist.get_text().encode())
        elif isinstance(artist, Line2D | PathCollection):
            points = artist.get_xydata() if isinstance(artist, Line2D) else artist.get_offsets()
            places = np.asarray(points, np.float64).round(_DECIMALS) + 0.0  # no -0
            shown.update(places.tobytes())
    return shown.hexdigest()
