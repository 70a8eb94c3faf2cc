"""Random-projection and PCA: release fewer dimensions of x, whatever s is.

A fit gives the whole curve: a point is a number of dimensions kept, five of them, spread
geometrically. Each set contains the smaller ones. They have no decoder: the suite's, which need not
be linear, is the same for all.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from fairbench.api import (
    Curve,
    DatasetInfo,
    FitContext,
    Fitted,
    Floats,
    Ints,
    Knob,
    Method,
    Point,
    Representation,
    Shots,
    TrainingRows,
    Unit,
)

_MAX_POINTS = 5


class _Projection(Method):
    shots = Shots.SINGLE
    baseline = True
    knobs = (Knob("dimensions", 1.0, np.inf, "dimensions kept; fewer is fairer", whole=True),)

    def restore(self, state: Mapping[str, Any], unit: Unit, info: DatasetInfo) -> Curve:
        return _ProjectionCurve(state["axes"], len(state["axes"]))


class RandomProjection(_Projection):
    """z = x on the first k axes of a random rotation."""

    name = "random-projection"
    summary = "baseline: keeps x on k random orthogonal axes"

    def fit(
        self, train: TrainingRows, units: Sequence[Unit], context: FitContext
    ) -> Sequence[Fitted]:
        features = train.x.shape[1]
        kept = min(features, _MAX_DIMENSIONS)
        curves = []
        for unit in units:
            normal = np.random.default_rng(unit.seed).normal(size=(features, kept))
            axes, triangle = np.linalg.qr(normal)
            # Without the signs the first axis would always point the same way.
            curves.append(_ProjectionCurve(axes * np.sign(np.diag(triangle)), features))
        return curves


class PCA(_Projection):
    """z = x on its first k principal components."""

    name = "pca"
    summary = "baseline: keeps the first k principal components of x"

    def fit(
        self, train: TrainingRows, units: Sequence[Unit], context: FitContext
    ) -> Sequence[Fitted]:
        from sklearn.decomposition import PCA as Components

        features = train.x.shape[1]
        # The components of images are computed from a part of them.
        x = train.x[:: max(1, train.x.size // _MAX_CELLS)].astype(np.float32)
        kept = min(features, len(x), _MAX_DIMENSIONS)
        solver = "full" if features <= _MAX_DIMENSIONS else "randomized"
        curves = []
        for unit in units:
            model = Components(n_components=kept, svd_solver=solver, random_state=unit.seed)
            curves.append(_ProjectionCurve(model.fit(x).components_.T, features))
        return curves


_MAX_CELLS = 100_000_000
"""Rows times features that principal components are computed from."""

_MAX_DIMENSIONS = 256
"""Most axes, of images and other wide tables."""


class _ProjectionCurve(Curve):
    """Axes ``(features, k)`` in the order in which they are kept."""

    knob = _Projection.knobs[0]

    def __init__(self, axes: np.ndarray, features: int) -> None:
        self.axes = axes.astype(np.float32)
        # All of the axes of a rotation are x itself, which is the baseline identity.
        most = axes.shape[1] - (axes.shape[1] == features)
        kept = np.unique(np.geomspace(max(most, 1), 1, _MAX_POINTS).round().astype(int))[::-1]
        self.points = tuple(Point.of(dimensions=int(k)) for k in kept)

    def at(self, point: Point) -> Representation:
        return _Projected(self.axes[:, : int(point["dimensions"])])

    def state(self) -> Mapping[str, Any]:
        return {"axes": self.axes}


class _Projected(Representation):
    def __init__(self, axes: Floats) -> None:
        self.axes = axes

    def encode(
        self, x: Floats, *, s: Ints | None = None, generator: np.random.Generator | None = None
    ) -> Floats:
        return x @ self.axes
