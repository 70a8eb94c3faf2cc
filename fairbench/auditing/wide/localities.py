"""What rows near each other in two columns have in common: shapes of any kind in a plane.

The mean residual of a row's nearest rows, by two columns alone. In all columns together the nearest
rows are far away; in two, twelve thousand rows show rings about any centre.
"""

from __future__ import annotations

import itertools

import numpy as np
import numpy.typing as npt

from fairbench.api import Floats
from fairbench.auditing.auditors.samples import Columns

_Values = npt.NDArray[np.float64]

_MAX_COLUMNS = 12
_MAX_ROWS = 20_000
_NEAREST = (8, 24)
_MAX_PAIRS = 6
"""Pairs of columns that are kept."""
_SURE = 2.0
"""By which the correlation must exceed the largest of noise, in standard errors."""


def local_means(z: Floats, scaled: Columns, residual: _Values) -> Columns | None:
    """Return a map of rows to means of a residual among the nearest rows, for the best pairs.

    ``z (n, k)`` as released; ``scaled`` maps it to a common scale; ``residual (n, classes)``, of
    mean 0. None: no pair of columns explains it.
    """
    from scipy.spatial import KDTree

    rows = scaled(z).astype(np.float64)
    every = -(-len(rows) // _MAX_ROWS)
    known, target = rows[::every], residual[::every]
    columns = [c for c in range(rows.shape[1]) if len(np.unique(rows[:, c])) > 2][:_MAX_COLUMNS]
    pairs = list(itertools.combinations(columns, 2))
    if not pairs or len(known) < 4 * max(_NEAREST):
        return None
    half = np.arange(len(known)) % 2

    def means(pair: tuple[int, int], new: _Values, side: npt.NDArray[np.bool_]) -> _Values:
        _, order = KDTree(known[side][:, pair]).query(new[:, pair], max(_NEAREST))
        near = target[side][order]
        return np.hstack([near[:, :k].mean(axis=1) for k in _NEAREST])

    def of_others(pair: tuple[int, int]) -> _Values:
        """Means of known rows, each among rows of the other half: not of itself."""
        made = np.empty((len(known), len(_NEAREST) * target.shape[1]))
        for side in (0, 1):
            made[half == side] = means(pair, known[half == side], half != side)
        return made

    limit = np.sqrt(2 * np.log(len(pairs) * target.shape[1])) + _SURE
    scores = []
    for pair in pairs:
        made = of_others(pair)[:, -target.shape[1] :]
        products = (made * target).sum(axis=0)
        error = np.sqrt(((made * target) ** 2).sum(axis=0))
        scores.append(float(np.max(products / np.maximum(error, 1e-12))))
    best = [pairs[at] for at in np.argsort(scores)[::-1][:_MAX_PAIRS] if scores[at] > limit]
    if not best:
        return None
    fitted = np.hstack([of_others(pair) for pair in best])
    everyone = np.ones(len(known), bool)

    def apply(new: Floats) -> Floats:
        wide = scaled(new).astype(np.float64)
        made = np.hstack([means(pair, wide, everyone) for pair in best])
        if new is z:
            made[::every] = fitted
        return made.astype(np.float32)

    return apply
