"""Splits of a dataset: the official one, and folds whose test sets are disjoint."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Self

from fairbench.config import MAX_FOLDS
from fairbench.errors import DataError


@dataclass(frozen=True, order=True)
class Split:
    """One way to deal the rows of a dataset to the roles; without arguments the official one.

    The official split is less than folds, and these are ordered by their numbers. In the official
    split the test set is the dataset's own; where it has none, a third of the rows,
    always the same. In a fold the test set is one of ``folds`` equal parts of all rows.

    Parameters
    ----------
    fold, folds : int
        Number of the fold, from 1, and how many there are; 0: the official split.
    """

    fold: int = 0
    folds: int = 0

    @property
    def name(self) -> str:
        """``official``, or ``fold 1 of 5``."""
        return f"fold {self.fold} of {self.folds}" if self.folds else "official"

    @classmethod
    def parse(cls, name: str) -> Self:
        """Return the split of a name; DataError where it is none."""
        match = re.fullmatch(r"fold ([1-9][0-9]{0,8}) of ([1-9][0-9]{0,8})", name)
        # One fold would be tested on all rows, and trained on none.
        if match and int(match[1]) <= int(match[2]) <= MAX_FOLDS and int(match[2]) > 1:
            return cls(int(match[1]), int(match[2]))
        if name != OFFICIAL.name:
            raise DataError(f"{name!r} is no split.", "Splits are 'official' or 'fold 1 of 5'.")
        return cls()


OFFICIAL = Split()
"""The split of a run without ``--splits``."""


def rotating(folds: int) -> list[Split]:
    """Return all folds."""
    return [Split(fold, folds) for fold in range(1, folds + 1)]
