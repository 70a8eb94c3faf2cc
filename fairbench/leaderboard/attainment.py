"""Attainment surfaces over seeds: of strict curves, and of Pareto fronts.

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


def fronts(
    measured: Sequence[tuple[Array, Array]], *, levels: Sequence[float] = LEVELS
) -> list[tuple[float, Array, Array]]:
    """Attainment surfaces of Pareto fronts, one a seed: A_y (higher) against A_s (lower).

    No chords here: two accuracies are not mixed by releasing one of two representations. A seed
    attains what one of its points has both lower in A_s and higher in A_y.

    Parameters
    ----------
    measured : sequence of (a_s, a_y), each ndarray of shape (points,)
        Of each seed, in any order.
    levels : sequence of float
        Percent of the seeds that attain the surface.

    Returns
    -------
    list of (level, a_s, a_y)
        Corners by rising A_s, to be joined by steps.
    """
    import moocore

    points = np.concatenate([np.column_stack([a_s, -a_y]) for a_s, a_y in measured])
    owner = np.repeat(np.arange(1, len(measured) + 1), [len(a_s) for a_s, _ in measured])
    found = moocore.eaf(points, owner, percentiles=list(levels))
    out = []
    for level in levels:
        own = found[found[:, 2] == level]
        own = own[np.argsort(own[:, 0])]
        out.append((float(level), own[:, 0], -own[:, 1]))
    return out
