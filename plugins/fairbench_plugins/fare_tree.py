"""A fair tree after FARE's, which it is not: it sees no y, and keeps x in squared error.

FARE is Jovanovic et al. 2023, "FARE: Provably Fair Representation Learning with Practical
Certificates", a tree for one task y. Its figures are not FARE's.

A tree splits x into cells; all rows of a cell are released as one and the same vector. Leaves are
split best first, up to ``leaves``, by the largest fall of

    (1 - gamma) * V(cell) + gamma * F(cell),      F = G_max - Gini(s in cell)

summed over cells by their shares of the rows: FARE's fair Gini (section 5.1), where a cell whose
rows are mixed over the groups as evenly as can be has F = 0. V stands in for FARE's Gini impurity
of y, in the SoFaiR paper's unsupervised repurposing: the squared error of x around the cell's mean,
as a share of that of all rows, so that V and F are of one size. F is scaled likewise by its most,
G_max = 1 - 1/groups.

Departures: y is not used; the released vector is the cell's mean of x (FARE: its medians); the
decoder gives the mean of x by cell and group. The properties that FARE's certificate needs hold:
the cells are few, and fixed before any other row is seen.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from pydantic import Field

from fairbench.api import (
    Coding,
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
    TrainingRows,
    Unit,
)
from fairbench.hookspecs import hookimpl

GAMMAS = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99)


class FareTreeParams(Params):
    """Hyperparameters of the tree."""

    leaves: int = Field(200, ge=2)
    """Most cells."""
    rows_a_leaf: int = Field(20, ge=1)
    """Least training rows in a cell."""
    bins: int = Field(64, ge=2, le=255)
    """Most candidate thresholds per feature: quantiles of the training set."""


class FareTree(Method):
    """Cells of a tree that is rewarded for cells with mixed groups."""

    name = "fare-tree"
    summary = (
        "our tree after FARE's, not FARE: sees no y; cells of small squared error, mixed groups"
    )
    reference = "after Jovanovic et al. 2023, arXiv:2210.07213; squared error of x for y"
    coding = Coding.QUANTISED
    has_decoder = True
    knobs = (Knob("gamma", 0.0, 1.0, "weight of mixed groups; more is fairer", limits=(0.0, 1.0)),)
    most_features = 512  # histograms sum all features by every feature
    Params: ClassVar[type[Params]] = FareTreeParams

    def points(self) -> tuple[Point, ...]:
        """Twelve."""
        return tuple(Point.of(gamma=gamma) for gamma in GAMMAS)

    def search_space(self) -> Mapping[str, Any]:
        from optuna.distributions import IntDistribution

        return {
            "leaves": IntDistribution(8, 1024, log=True),
            "rows_a_leaf": IntDistribution(5, 200, log=True),
        }

    def fit(
        self, train: TrainingRows, units: Sequence[Unit], context: FitContext
    ) -> Sequence[Fitted]:
        groups = len(train.info.groups)
        fitted: dict[float, _Cells] = {}
        for done, unit in enumerate(units):
            assert unit.point is not None
            gamma = unit.point["gamma"]
            if gamma not in fitted:  # nothing is random: seeds share a tree
                fitted[gamma] = _grow(train.x, train.s, groups, gamma, self.params)
            context.progress((done + 1) / len(units), unit.point.label)
        return [fitted[unit.point["gamma"]] for unit in units if unit.point is not None]

    def restore(self, state: Mapping[str, Any], unit: Unit, info: DatasetInfo) -> Representation:
        return _Cells(**state)


@dataclass
class _Cells(Representation):
    """A grown tree.

    Parameters
    ----------
    feature, threshold, left, right : arrays, one entry a node
        Rows with ``x[feature] <= threshold`` go left; feature -1 is a leaf.
    cell : ndarray
        Number of each leaf node.
    released : ndarray, shape (cells, d)
    decoded : ndarray, shape (cells, groups, d)
    """

    feature: Ints
    threshold: Floats
    left: Ints
    right: Ints
    cell: Ints
    released: Floats
    decoded: Floats

    def encode(
        self, x: Floats, *, s: Ints | None = None, generator: np.random.Generator | None = None
    ) -> Floats:
        node = np.zeros(len(x), np.int64)
        while True:
            feature = self.feature[node]
            inner = np.flatnonzero(feature >= 0)
            if not len(inner):
                return self.released[self.cell[node]]
            here = node[inner]
            goes_left = x[inner, feature[inner]] <= self.threshold[here]
            node[inner] = np.where(goes_left, self.left[here], self.right[here])

    def decode(self, z: Floats, s: Ints) -> Floats:
        from scipy.spatial import KDTree

        # The released vectors are distinct, so the nearest one, of z as released, names its cell.
        decoded: Floats = self.decoded[KDTree(self.released).query(z)[1], s]
        return decoded

    def state(self) -> Mapping[str, Any]:
        return vars(self)


@dataclass
class _Leaf:
    node: int
    rows: Ints
    gain: float = -np.inf
    feature: int = -1
    bin: int = -1


def _grow(x: Floats, s: Ints, groups: int, gamma: float, params: Any) -> _Cells:
    wide = x.astype(np.float64)
    edges = [_edges(x[:, j], params.bins) for j in range(x.shape[1])]
    binned = np.stack(
        [np.searchsorted(edge, x[:, j], side="left") for j, edge in enumerate(edges)], axis=1
    )
    spread = ((wide - wide.mean(axis=0)) ** 2).sum() or 1.0
    # What is summed over the rows of a bin: columns of x and indicators of s.
    sums = np.hstack([wide, np.eye(groups)[s]])
    best = _Splitter(binned, sums, edges, spread, len(s), groups, gamma, params.rows_a_leaf)
    feature, threshold, left, right = [-1], [0.0], [-1], [-1]
    leaves = [best.look(_Leaf(0, np.arange(len(s))))]
    while len(leaves) < params.leaves:
        leaf = max(leaves, key=lambda leaf: leaf.gain)
        if leaf.gain <= 1e-12:
            break
        leaves.remove(leaf)
        goes_left = binned[leaf.rows, leaf.feature] <= leaf.bin
        feature[leaf.node] = leaf.feature
        threshold[leaf.node] = float(edges[leaf.feature][leaf.bin])
        left[leaf.node], right[leaf.node] = len(feature), len(feature) + 1
        for rows in (leaf.rows[goes_left], leaf.rows[~goes_left]):
            leaves.append(best.look(_Leaf(len(feature), rows)))
            feature.append(-1)
            threshold.append(0.0)
            left.append(-1)
            right.append(-1)
    return _cells(wide, s, groups, leaves, feature, threshold, left, right)


def _cells(
    x: np.ndarray,
    s: Ints,
    groups: int,
    leaves: Sequence[_Leaf],
    feature: list[int],
    threshold: list[float],
    left: list[int],
    right: list[int],
) -> _Cells:
    cell = np.zeros(len(feature), np.int64)
    released = np.empty((len(leaves), x.shape[1]), np.float32)
    decoded = np.empty((len(leaves), groups, x.shape[1]), np.float32)
    for number, leaf in enumerate(leaves):
        cell[leaf.node] = number
        mean = x[leaf.rows].mean(axis=0)
        released[number] = mean
        for group in range(groups):
            own = leaf.rows[s[leaf.rows] == group]
            # The mean of a group of few rows is noisy: shrink it towards the cell's.
            decoded[number, group] = (x[own].sum(axis=0) + mean) / (len(own) + 1)
    return _Cells(
        feature=np.array(feature),
        threshold=np.array(threshold, np.float32),
        left=np.array(left),
        right=np.array(right),
        cell=cell,
        released=released,
        decoded=decoded,
    )


def _edges(column: Floats, bins: int) -> Floats:
    """Candidate thresholds of a column: quantiles, each a value of it."""
    values = np.unique(column)
    if len(values) > bins:
        values = np.unique(np.quantile(column, np.linspace(0, 1, bins + 1), method="lower"))
    return values[:-1]


@dataclass
class _Splitter:
    """Finds the best split of a leaf from histograms."""

    binned: Ints
    sums: np.ndarray
    edges: list[Floats]
    spread: float
    total: int
    groups: int
    gamma: float
    least: int

    def look(self, leaf: _Leaf) -> _Leaf:
        """Fill in the leaf's best split and what it gains."""
        rows = leaf.rows
        if len(rows) < 2 * self.least:
            return leaf
        sums, binned = self.sums[rows], self.binned[rows]
        whole = self._impurity(np.array([len(rows)]), sums.sum(axis=0)[None])[0]
        for j, edge in enumerate(self.edges):
            if not len(edge):
                continue
            counts = np.bincount(binned[:, j], minlength=len(edge) + 1)
            # Sums by bin: sort once, then differences of running sums.
            order = np.argsort(binned[:, j], kind="stable")
            running = np.vstack([np.zeros(sums.shape[1]), sums[order].cumsum(axis=0)])
            below = counts.cumsum()[:-1]
            left = running[below]
            right = running[-1] - left
            gain = whole - self._impurity(below, left) - self._impurity(len(rows) - below, right)
            gain[(below < self.least) | (len(rows) - below < self.least)] = -np.inf
            k = int(gain.argmax())
            if gain[k] > leaf.gain:
                leaf.gain, leaf.feature, leaf.bin = float(gain[k]), j, k
        return leaf

    def _impurity(self, count: np.ndarray, sums: np.ndarray) -> np.ndarray:
        """The objective's share of cells with ``count`` rows and these sums, up to a constant."""
        at_least_one = np.maximum(count, 1)
        # sum |x - mean|^2 = sum |x|^2 - |sum x|^2 / n, and the first term is common to all splits.
        squares = (sums[:, : -self.groups] ** 2).sum(axis=1) / at_least_one
        shares = sums[:, -self.groups :] / at_least_one[:, None]
        gini = 1 - (shares**2).sum(axis=1)
        most = 1 - 1 / self.groups
        unfair = count / self.total * (most - gini) / most
        both: np.ndarray = -(1 - self.gamma) * squares / self.spread + self.gamma * unfair
        return both


@hookimpl
def register_methods() -> Sequence[type[Method]]:
    """The tree."""
    return [FareTree]
