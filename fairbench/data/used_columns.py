"""Preparing those columns of a table that an encoder reads, and no others."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from fairbench.api import Floats, Ints
from fairbench.data.preprocessing import Preprocessing
from fairbench.data.unknown import Replaced, Unknown

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class UsedColumns:
    """The raw columns that an encoder reads.

    Parameters
    ----------
    preprocessing : Preprocessing
        Of these columns alone.
    places : ndarray of int64, shape (k,)
        Where they stand in x.
    width : int
        Columns of x.
    unused : tuple of str
        The other columns of the raw table.
    """

    preprocessing: Preprocessing
    places: Ints
    width: int
    unused: tuple[str, ...]

    @classmethod
    def of(cls, preprocessing: Preprocessing, columns: Sequence[int] | None) -> UsedColumns:
        """Of the columns of x that an encoder reads; None: all."""
        features = preprocessing.features
        used = {features[i].source for i in (range(len(features)) if columns is None else columns)}
        places = [i for i, feature in enumerate(features) if feature.source in used]
        own = replace(
            preprocessing,
            features=tuple(features[i] for i in places),
            mean=preprocessing.mean[places],
            scale=preprocessing.scale[places],
        )
        unused = tuple(source for source in preprocessing.sources if source not in used)
        return cls(own, np.array(places), len(features), unused)

    def far(self, x: Floats, deviations: float) -> dict[str, int]:
        """Count rows of x whose number is so far from the training's mean, by column of numbers."""
        counts = (np.abs(x[:, self.places]) > deviations).sum(axis=0)
        features = self.preprocessing.features
        return {
            feature.source: int(count)
            for feature, count in zip(features, counts, strict=True)
            if count and not feature.categories
        }

    def apply(
        self, frame: pd.DataFrame, *, where: str, unknown: Unknown
    ) -> tuple[Floats, dict[str, Replaced]]:
        """Turn rows into x as :meth:`Preprocessing.apply`; columns that are not read are zero."""
        x = np.zeros((len(frame), self.width), np.float32)
        x[:, self.places], replaced = self.preprocessing.apply(frame, where=where, unknown=unknown)
        return x, replaced
