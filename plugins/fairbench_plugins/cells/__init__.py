"""Cells: k-means, and the privacy funnel, which merges cells that differ in their shares of s.

Both deal the rows into cells and release the same vector for all rows of a cell, so what z says of
s can be certified. The decoder gives the mean of x by cell and group, shrunk to the cell's mean as
if each group had one more row there.

k-means: the cells of Lloyd's algorithm (Lloyd 1982, "Least squares quantization in PCM",
doi:10.1109/TIT.1982.1056489), from a k-means++ start. It sees no s; with fewer cells less is said
of anything. z is the cell's centre.

funnel: start from the cells of k-means, and merge pairs of them until one is left, each time the
pair that adds least to D per nat that it takes off I(S;Z), where

    D = E ||x - E[x | z, s]||^2 + w E ||x - E[x | z]||^2,

by the counts and means of the training set. The path of merges is the curve: every point is a
coarsening of the ones before. z is the mean of x in the merged cell. The privacy funnel asks for
the most information on x that goes with little on s (Makhdoumi et al. 2014, "From the Information
Bottleneck to the Privacy Funnel", doi:10.1109/ITW.2014.6970882, who merge pairs greedily). Merging
by I(S;Z) - lambda I(X;Z) is of Ding and Sadeghi 2019, "A Submodularity-based Agglomerative
Clustering Algorithm for the Privacy Funnel", arXiv:1901.06629.

Departures from Ding and Sadeghi:

* D in place of -I(X;Z), which would count all values of a number as equally far from each other.
  The first term of D is the suite's distortion. With it alone a cell of one group would join any
  cell of the other for nothing; w = .1 makes it join a near one, whose few rows of the other group
  are decoded better.
* The cells at the start are those of k-means, not the values of x, which has numbers in it.
* The ratio in place of a fixed lambda: one path gives the whole curve, theirs one point.
* Pairs are merged, as by Makhdoumi et al.; they show how to find the best subset of any size.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
from pydantic import Field

from fairbench.api import (
    Coding,
    Curve,
    DatasetInfo,
    FitContext,
    Fitted,
    Floats,
    Ints,
    Knob,
    Method,
    Params,
    Point,
    Representation,
    Shots,
    TrainingRows,
    Unit,
)
from fairbench.hookspecs import hookimpl
from fairbench_plugins.cells.merging import Moments, Path, merge_path

Array = npt.NDArray[np.float64]

COUNTS = (1024, 512, 256, 128, 64, 32, 16, 8, 4, 2)
"""Points of k-means."""

MAX_CELLS = 1024
"""z of more cells no longer takes few values."""

_ROWS_AT_ONCE = 8192

_POINTS = 16
"""Points of the funnel's curve."""


class CellParams(Params):
    """Hyperparameters of k-means."""

    rows: int = Field(100_000, ge=1)
    """Most training rows that centres are fitted on, drawn at random; means are of all."""
    steps: int = Field(100, ge=1)
    """Most steps of Lloyd's algorithm."""


class FunnelParams(CellParams):
    """Hyperparameters of the funnel."""

    cells: int = Field(MAX_CELLS, ge=2, le=MAX_CELLS)
    """Cells of k-means to start from; at most half as many as there are training rows."""
    blind: float = Field(0.1, ge=0, allow_inf_nan=False)
    """w, the weight of the distortion of those who do not know s."""


class _CellMethod(Method):
    coding = Coding.QUANTISED
    has_decoder = True
    most_features = 512  # distances to all centres are computed column by column


class KMeans(_CellMethod):
    """The centres of k-means."""

    name = "k-means"
    summary = "cells of k-means, released as their centres; sees no s"
    reference = "Lloyd 1982, doi:10.1109/TIT.1982.1056489"
    knobs = (
        Knob(
            "cells",
            1,
            MAX_CELLS,
            "number of cells; fewer is fairer",
            limits=(1, math.inf),
            whole=True,
        ),
    )
    Params: ClassVar[type[Params]] = CellParams

    def points(self) -> tuple[Point, ...]:
        """Ten, from many cells to two."""
        return tuple(Point.of(cells=count) for count in COUNTS)

    def fit(
        self, train: TrainingRows, units: Sequence[Unit], context: FitContext
    ) -> Sequence[Fitted]:
        fitted = []
        for done, unit in enumerate(units):
            assert unit.point is not None
            count = int(unit.point["cells"])
            centres = _centres(train.x, count, unit.seed, self.params)
            cells = _Cells(centres, np.arange(len(centres)), centres.astype(np.float32))
            moments = _moments(train, cells.cell_of(train.x), len(centres))
            fitted.append(cells.decoded_by(moments))
            context.progress((done + 1) / len(units), unit.point.label)
        return fitted

    def restore(self, state: Mapping[str, Any], unit: Unit, info: DatasetInfo) -> Representation:
        return _Cells(**state)


class Funnel(_CellMethod):
    """Merges the pair of cells that costs least distortion per nat of s."""

    name = "funnel"
    summary = "privacy funnel: merges cells by least distortion per nat of I(S;Z) saved"
    reference = "after Ding and Sadeghi 2019, arXiv:1901.06629; squared error of x, pairs"
    shots = Shots.SINGLE
    knobs = (Knob("merges", 0, MAX_CELLS - 1, "cells merged away; more is fairer", whole=True),)
    Params: ClassVar[type[Params]] = FunnelParams

    def search_space(self) -> Mapping[str, Any]:
        from optuna.distributions import FloatDistribution, IntDistribution

        return {
            "cells": IntDistribution(64, MAX_CELLS, log=True),
            "blind": FloatDistribution(0.01, 1.0, log=True),
        }

    def fit(
        self, train: TrainingRows, units: Sequence[Unit], context: FitContext
    ) -> Sequence[Fitted]:
        curves = []
        for done, unit in enumerate(units):
            count = min(self.params.cells, max(len(train.x) // 2, 1))
            centres = _centres(train.x, count, unit.seed, self.params)
            start = _Cells(centres, np.arange(len(centres)), centres.astype(np.float32))
            moments = _moments(train, start.cell_of(train.x), len(centres))
            context.progress((done + 0.5) / len(units), "merging cells")
            path = merge_path(moments, self.params.blind)
            curves.append(FunnelCurve(centres, moments, path))
            context.progress((done + 1) / len(units), "merged")
        return curves

    def restore(self, state: Mapping[str, Any], unit: Unit, info: DatasetInfo) -> Curve:
        moments = Moments(state["counts"], state["sums"])
        path = Path(state["pairs"], state["distortion"], state["information"])
        return FunnelCurve(state["centres"], moments, path)


class FunnelCurve(Curve):
    """The path of merges, read after any number of them.

    Its points are spread evenly over the length of the path in the plane of D and I(S;Z), each as a
    share of its range.

    Parameters
    ----------
    centres : ndarray, shape (cells, d)
        Of the cells at the start.
    moments : Moments
        At the start.
    path : Path
    """

    knob = Funnel.knobs[0]

    def __init__(self, centres: Array, moments: Moments, path: Path) -> None:
        self.centres, self.moments, self.path = centres, moments, path
        spans = [np.diff(c) / max(np.ptp(c), 1e-12) for c in (path.distortion, path.information)]
        length = np.concatenate([[0.0], np.hypot(*spans).cumsum()])
        wanted = np.linspace(0, length[-1], _POINTS)
        merges = np.unique([int(np.abs(length - place).argmin()) for place in wanted])
        self.points = tuple(Point.of(merges=int(done)) for done in merges)

    def at(self, point: Point) -> Representation:
        into = self.merged(int(point["merges"]))
        moments = self.moments.merged(into, int(into.max()) + 1)
        total = np.maximum(moments.counts.sum(axis=1), 1)[:, None]
        means = (moments.sums.sum(axis=1) / total).astype(np.float32)
        return _Cells(self.centres, into, means).decoded_by(moments)

    def merged(self, merges: int) -> Ints:
        """The number, from 0, that each cell of the start has after so many merges."""
        into = np.arange(len(self.centres))
        for a, b in self.path.pairs[: max(merges, 0)]:
            into[into == b] = a
        numbered: Ints = np.unique(into, return_inverse=True)[1].ravel()
        return numbered

    def state(self) -> Mapping[str, Any]:
        return {"centres": self.centres, **vars(self.moments), **vars(self.path)}


class _Cells(Representation):
    """The nearest centre, and what its cell is released as.

    Parameters
    ----------
    centres : ndarray of float64, shape (starts, d)
    into : ndarray, shape (starts,)
        The cell of each.
    released : ndarray, shape (cells, d)
    decoded : ndarray, shape (cells, groups, d), optional
    """

    def __init__(
        self, centres: Array, into: Ints, released: Floats, decoded: Floats | None = None
    ) -> None:
        self.centres, self.into, self.released = centres, into, released
        self.decoded = decoded

    def decoded_by(self, moments: Moments) -> _Cells:
        """The same with a decoder: means by cell and group."""
        prior = self.released[:, None].astype(np.float64)
        means = (moments.sums + prior) / (moments.counts[:, :, None] + 1)
        return _Cells(self.centres, self.into, self.released, means.astype(np.float32))

    def cell_of(self, x: Floats) -> Ints:
        """The cell of each row."""
        return self.into[_nearest(x, self.centres)]

    def encode(
        self, x: Floats, *, s: Ints | None = None, generator: np.random.Generator | None = None
    ) -> Floats:
        return self.released[self.cell_of(x)]

    def decode(self, z: Floats, s: Ints) -> Floats:
        assert self.decoded is not None
        cell = _nearest(z, self.released.astype(np.float64))
        decoded: Floats = self.decoded[cell, s]
        return decoded

    def state(self) -> Mapping[str, Any]:
        return vars(self)


def _nearest(x: Floats, centres: Array) -> Ints:
    """Number of the nearest centre of each row; in float64, so that other rows change nothing."""
    norms = (centres**2).sum(axis=1)
    nearest = np.empty(len(x), np.int64)
    for start in range(0, len(x), _ROWS_AT_ONCE):
        rows = slice(start, start + _ROWS_AT_ONCE)
        part = x[rows].astype(np.float32).astype(np.float64)
        nearest[rows] = (norms - 2 * part @ centres.T).argmin(axis=1)
    return nearest


def _centres(x: Floats, count: int, seed: int, params: CellParams) -> Array:
    """Distinct centres of k-means; fewer than ``count`` where x has fewer distinct rows."""
    from sklearn.cluster import KMeans as Lloyd
    from sklearn.exceptions import ConvergenceWarning
    from threadpoolctl import threadpool_limits

    rng = np.random.default_rng([seed, count])
    if len(x) > params.rows:
        x = x[np.sort(rng.choice(len(x), params.rows, replace=False))]
    model = Lloyd(
        min(count, len(x)),
        n_init=1,
        max_iter=params.steps,
        random_state=int(rng.integers(2**31)),
    )
    # One thread: several add up their sums in the order in which they finish.
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(x.astype(np.float64))
    # As they are released: two that are the same there are one cell.
    distinct: Array = np.unique(model.cluster_centers_.astype(np.float32), axis=0)
    return distinct.astype(np.float64)


def _moments(train: TrainingRows, cell: Ints, cells: int) -> Moments:
    groups = len(train.info.groups)
    place = cell * groups + train.s
    counts = np.bincount(place, minlength=cells * groups).astype(np.float64)
    sums = np.empty((cells * groups, train.x.shape[1]))
    for j, column in enumerate(train.x.T):
        sums[:, j] = np.bincount(place, weights=column, minlength=cells * groups)
    return Moments(counts.reshape(cells, groups), sums.reshape(cells, groups, -1))


@hookimpl
def register_methods() -> Sequence[type[Method]]:
    """k-means and the funnel."""
    return [KMeans, Funnel]
