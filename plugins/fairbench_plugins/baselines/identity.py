"""Identity: release x as it is. D = 0, I = I(X; S): the informative end of every curve."""

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
