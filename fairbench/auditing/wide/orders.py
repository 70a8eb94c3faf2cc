"""Which column of a row is larger than which, which are equal, and the sorted row."""

from __future__ import annotations

import numpy as np

from fairbench.api import Floats
from fairbench.auditing.auditors.samples import Columns

_MAX_SORTED = 64
"""Most columns of a row that are sorted."""
_MAX_PAIRS = 256
"""Most pairs of columns that are compared, and most that are compared for being equal."""
_WIDEST = 1e30
_SOME = 0.01
"""Share of rows in which a comparison must be true, and false."""


def orders(z: Floats) -> Columns | None:
    """Which column is larger of each two and whether they are equal, and the sorted row."""
    columns = z.shape[1]
    if not 2 <= columns <= _MAX_SORTED:
        return None
    first, second = np.triu_indices(columns, 1)
    equal = np.array([(z[:, a] == z[:, b]).mean() for a, b in zip(first, second, strict=True)])
    larger = np.array([(z[:, a] > z[:, b]).mean() for a, b in zip(first, second, strict=True)])
    alive = np.flatnonzero((larger > _SOME) & (larger < 1 - _SOME))[:_MAX_PAIRS]
    repeated = np.flatnonzero((equal > _SOME) & (equal < 1 - _SOME))[:_MAX_PAIRS]

    def apply(rows: Floats) -> Floats:
        ascending = np.sort(rows.astype(np.float64), axis=1)
        return np.hstack(
            [
                rows[:, first[alive]] > rows[:, second[alive]],
                rows[:, first[repeated]] == rows[:, second[repeated]],
                ascending,
                np.clip(np.diff(ascending, axis=1), 0, _WIDEST),
                np.argsort(rows, axis=1, kind="stable"),
            ]
        ).astype(np.float32)

    return apply
