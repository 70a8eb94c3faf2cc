"""Shared by the erasures: x without some directions, and columns of which nothing is left."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from fairbench.api import (
    Floats,
    Ints,
    Method,
    Representation,
)

Array = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]

RANK = 1e-6
"""Eigenvalues below this share of the largest count as zero."""


class Erasure(Method):
    """An erasure of tables with not too many columns."""

    most_features: ClassVar[int | None] = 512


def without(x: Array, basis: Array) -> Array:
    """Project directions ``(d, k)`` out of centred rows ``(n, d)``."""
    out: Array = x - (x @ basis) @ basis.T
    return out


def gone_columns(centred: Array, basis: Array, variances: Array) -> Flags:
    """Columns of which nothing is left."""
    left = (without(centred, basis) ** 2).mean(axis=0)
    gone: Flags = left < RANK * variances
    return gone


class Projected(Representation):
    """x without the directions of a basis, and the mean in columns of which nothing is left."""

    def __init__(self, mean: Array, basis: Array, gone: Flags) -> None:
        self.mean, self.basis, self.gone = mean, basis, gone

    def encode(
        self, x: Floats, *, s: Ints | None = None, generator: np.random.Generator | None = None
    ) -> Floats:
        z: Floats = (x - ((x - self.mean) @ self.basis) @ self.basis.T).astype(np.float32)
        z[:, self.gone] = self.mean[self.gone]
        return z

    def state(self) -> Mapping[str, Any]:
        return vars(self)
