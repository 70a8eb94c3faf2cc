"""The two ends of every curve: identity releases x as it is, constant releases nothing.

Identity has D = 0 and I = I(X; S). Constant has I = 0; its decoder gives E[x|s], so D = D_max.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from fairbench.api import (
    DatasetInfo,
    FitContext,
    Fitted,
    Floats,
    Ints,
    Method,
    Representation,
    TrainingRows,
    Unit,
)


class Identity(Method):
    """z = x, exactly decoded."""

    name = "identity"
    summary = "baseline: releases x itself"
    has_decoder = True
    baseline = True

    def fit(
        self, train: TrainingRows, units: Sequence[Unit], context: FitContext
    ) -> Sequence[Fitted]:
        return [_Identity() for _ in units]

    def restore(self, state: Mapping[str, Any], unit: Unit, info: DatasetInfo) -> Representation:
        return _Identity()


class _Identity(Representation):
    def encode(
        self, x: Floats, *, s: Ints | None = None, generator: np.random.Generator | None = None
    ) -> Floats:
        return x.copy()

    def decode(self, z: Floats, s: Ints) -> Floats:
        return z.copy()

    def state(self) -> Mapping[str, Any]:
        return {}


class Constant(Method):
    """z = 0 for every row; decoded by the mean of each group."""

    name = "constant"
    summary = "baseline: releases nothing; decoded by group means"
    has_decoder = True
    baseline = True

    def fit(
        self, train: TrainingRows, units: Sequence[Unit], context: FitContext
    ) -> Sequence[Fitted]:
        groups = range(len(train.info.groups))
        means = np.stack([train.x[train.s == group].mean(axis=0) for group in groups])
        means = means.astype(np.float32)
        return [_Constant(means) for _ in units]

    def restore(self, state: Mapping[str, Any], unit: Unit, info: DatasetInfo) -> Representation:
        return _Constant(state["means"])


class _Constant(Representation):
    def __init__(self, means: Floats) -> None:
        self.means = means

    def encode(
        self, x: Floats, *, s: Ints | None = None, generator: np.random.Generator | None = None
    ) -> Floats:
        return np.zeros((len(x), 1), np.float32)

    def decode(self, z: Floats, s: Ints) -> Floats:
        decoded: Floats = self.means[s]
        return decoded

    def state(self) -> Mapping[str, Any]:
        return {"means": self.means}
