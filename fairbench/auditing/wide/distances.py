"""Distances of a row to its nearest rows: whether it lies in a dense place, or out of it."""

from __future__ import annotations

import numpy as np

from fairbench.api import Floats
from fairbench.auditing.auditors.samples import Columns

_NEAREST = (1, 4, 16, 64)
"""Which of the nearest rows the distance is taken to."""
_MAX_ROWS = 20_000
"""Rows among which they are looked for."""
_MAX_COLUMNS = 64
_MIN_DISTANCE = 1e-6
_CHUNK = 2_048


def distances(common: Floats) -> Columns | None:
    """Logarithms of distances to the nearest rows and to their middle, of rows on a common scale.

    Noise around a codeword is wide or narrow by the distance to the middle of its rows.
    """
    from sklearn.neighbors import NearestNeighbors

    every = -(-len(common) // _MAX_ROWS)
    known = common[::every]
    most = max(_NEAREST)
    if len(known) <= most + 1 or common.shape[1] > _MAX_COLUMNS:
        return None
    search = NearestNeighbors().fit(known)

    def apply(rows: Floats) -> Floats:
        own = np.arange(len(rows)) % every == 0 if rows is common else np.zeros(len(rows), bool)
        made = []
        for start in range(0, len(rows), _CHUNK):
            part = slice(start, start + _CHUNK)
            away, order = search.kneighbors(rows[part], most + 1)
            mine = own[part]  # a row is not its own neighbour
            away[mine, :-1], order[mine, :-1] = away[mine, 1:], order[mine, 1:]
            middle = known[order[:, :most]].mean(axis=1, dtype=np.float64)
            to_middle = np.linalg.norm(rows[part] - middle, axis=1)
            made.append(np.column_stack([away[:, [k - 1 for k in _NEAREST]], to_middle]))
        near = np.log(np.maximum(np.concatenate(made), _MIN_DISTANCE))
        return np.hstack([near, np.diff(near, axis=1)]).astype(np.float32)

    return apply
