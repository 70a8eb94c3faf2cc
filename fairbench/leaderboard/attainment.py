"""Attainment surfaces over replicates: of strict curves, and of Pareto fronts.

A replicate is a split and a seed. It attains a point (D, I) if its curve passes through or below
it; the surface of level q bounds what q percent of them attain: 50 is the median curve. Curves are
the strict hulls, chords included, read at evenly spaced D and at all vertices: a staircase through
the vertices alone would deny what AUFDC grants.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

LEVELS = (25, 50, 75)
"""Percent of the replicates that attain a surface."""

STEPS = 100
"""Number of steps of D from 0 to D_max."""


class Surface(NamedTuple):
    """What ``level`` percent of the replicates attain: points ``(n,)`` by rising x."""

    level: float
    x: Array
    y: Array


def compute_surfaces(
    curves: Sequence[tuple[Array, Array]], *, d_max: float, levels: Sequence[float] = LEVELS
) -> list[Surface]:
    """Compute attainment surfaces of curves, one per replicate.

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
    list of Surface
        D and I of points that no other of the surface beats, by rising d.
    """
    vertices = [np.minimum(d, d_max) for d, _ in curves]
    grid = np.unique(np.concatenate([np.linspace(0.0, d_max, STEPS + 1), *vertices]))
    points = np.concatenate(
        [np.column_stack([grid, np.interp(grid, d, i)]) for d, i in curves], axis=0
    )
    owner = np.repeat(np.arange(1, len(curves) + 1), len(grid))
    return _attained(points, owner, levels)


def compute_fronts(
    measured: Sequence[tuple[Array, Array]], *, levels: Sequence[float] = LEVELS
) -> list[Surface]:
    """Compute attainment surfaces of Pareto fronts, one per replicate: A_y (higher) by A_s (lower).

    No chords here: two accuracies are not mixed by releasing one of two representations. A
    replicate attains what one of its points has both lower in A_s and higher in A_y.

    Parameters
    ----------
    measured : sequence of (a_s, a_y), each ndarray of shape (points,)
        Of each replicate, in any order.
    levels : sequence of float
        Percent of the replicates that attain the surface.

    Returns
    -------
    list of Surface
        A_s and A_y of corners by rising A_s, to be joined by steps.
    """
    points = np.concatenate([np.column_stack([a_s, -a_y]) for a_s, a_y in measured])
    owner = np.repeat(np.arange(1, len(measured) + 1), [len(a_s) for a_s, _ in measured])
    return [Surface(one.level, one.x, -one.y) for one in _attained(points, owner, levels)]


def _attained(points: Array, owner: NDArray[np.int64], levels: Sequence[float]) -> list[Surface]:
    """Surfaces of points (lower is better in both columns), each by its first column."""
    import moocore

    attained = moocore.eaf(points, owner, percentiles=list(levels))
    surfaces = []
    for level in levels:
        own = attained[attained[:, 2] == level]
        own = own[np.argsort(own[:, 0])]
        surfaces.append(Surface(float(level), own[:, 0], own[:, 1]))
    return surfaces
