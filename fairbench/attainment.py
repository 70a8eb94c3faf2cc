"""Attainment surfaces of strict curves over seeds.

A point (D, I) is attained by a seed whose curve passes through or below it; the surface of level q
bounds what q percent of the seeds attain: 50 is the median curve. Curves are the strict hulls,
chords included, read at evenly spaced D: a staircase through the vertices alone would deny what
AUFDC grants.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

LEVELS = (25, 50, 75)
"""Percent of seeds that attain a surface."""

STEPS = 100
"""Parts that D from 0 to D_max is cut into."""


def surfaces(
    curves: Sequence[tuple[Array, Array]], *, d_max: float, levels: Sequence[float] = LEVELS
) -> list[tuple[float, Array, Array]]:
    """Attainment surfaces of curves, one a seed.

    Parameters
    ----------
    curves : sequence of (d, i), each ndarray of shape (vertices,)
        By rising d; read on the straight lines between vertices.
    d_max : float
        Where the surfaces end.
    levels : sequence of float
        Percent of the curves that attain the surface.

    Returns
    -------
    list of (level, d, i)
        Points that no other of the surface beats, by rising d.
    """
    import moocore

    grid = np.linspace(0.0, d_max, STEPS + 1)
    points = np.concatenate(
        [np.column_stack([grid, np.interp(grid, d, i)]) for d, i in curves], axis=0
    )
    owner = np.repeat(np.arange(1, len(curves) + 1), len(grid))
    found = moocore.eaf(points, owner, percentiles=list(levels))
    out = []
    for level in levels:
        own = found[found[:, 2] == level]
        own = own[np.argsort(own[:, 0])]
        out.append((float(level), own[:, 0], own[:, 1]))
    return out
