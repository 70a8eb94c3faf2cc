"""Whether equal rows of a table seem to be of the same people."""

from __future__ import annotations

import numpy as np

from fairbench.api import Ints

_ROWS_PER_VALUE = 10
"""Mean number of equal rows from which they are nothing remarkable."""
_FEWEST_MIXED, _MAX_MIXED = 10, 0.05
"""Sets of equal rows with several s, as many as there must be by chance; the share of those that
may be: 5%, for people whose s was once written wrongly."""


def seem_repeated(value: Ints, s: Ints) -> bool:
    """Return whether rows of the same value have the same s, and would not by chance.

    ``value``, ``s (n,)``: numbers of the distinct rows, and of the groups. False where many rows
    share each value, as of codes: nothing can be said of those.
    """
    size = np.bincount(value)
    if len(value) >= _ROWS_PER_VALUE * np.count_nonzero(size):
        return False
    table = np.zeros((len(size), int(s.max()) + 1))
    np.add.at(table, (value, s), 1)
    most, size = table[size > 1].max(axis=1), size[size > 1]
    shares = np.bincount(s) / len(s)
    mixed_by_chance = (1 - (shares ** size[:, None]).sum(axis=1)).sum()
    mixed = (most < size).sum()
    return bool(mixed_by_chance >= _FEWEST_MIXED and mixed <= _MAX_MIXED * mixed_by_chance)
