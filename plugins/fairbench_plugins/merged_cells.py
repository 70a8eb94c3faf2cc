"""Merged cells: cells of x are joined into codes, at a price on what codes say of s.

A method of this project; docs/own-method.md says how it was found and where it fails. For a price
lambda, in units of distortion per nat, it looks for a map c from cells of x to codes with the least

    D + lambda I(S; C),      D = E ||x - E[x | c(x), s]||^2

where D is that of the decoder which knows s, so that people of different groups may share a code at
no cost: a code of half of one cell's men and half of another's women says little about s, and is
decoded for each group by its own mean. That is the privacy funnel (Makhdoumi et al. 2014,
arXiv:1402.1774) with the distortion for I(X;Z), given s.

1. **Cells**: k-means of encoder-train.
2. **Shares of the groups** in each cell: means of P(s | x) as boosted trees estimate it, each row
   by trees that have not seen it. Counts of s in cells of ten rows are mostly chance, and the
   search below would join cells whose chances cancel.
3. **Merging**: the pair with the least distortion added per nat removed is joined, until one code
   is left (the rule of Ding and Sadeghi, ITW 2019, arXiv:1901.06629, for this distortion). The path
   up to a price is where the search at that price begins.
4. **Exchange**: cells move to the code where the sum above falls most, until no move lowers it.

With dn = n_as n_bs / (n_as + n_bs), joining a and b adds sum_s dn ||mu_as - mu_bs||^2 / n to D. All
prices are searched in one fit, so the method is single-shot; but codes of different prices need not
be nested. Codes are released as the mean of x in them. They are few and fixed beforehand, so they
can be certified.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
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

Array = npt.NDArray[np.float64]

LOW, HIGH = 0.5, 4000.0
"""Prices: at the lowest hardly anything is joined, at the highest nothing is left of s."""

_MOST_FEATURES = 512
_NOTHING = 1e-9
_ROUNDS, _PATIENCE = 200, 10
"""Of the boosted trees that estimate P(s | x)."""


class MergedCellsParams(Params):
    """Hyperparameters of merged cells."""

    cells: int = Field(1500, ge=2)
    """Most cells of k-means."""
    rows_a_cell: int = Field(10, ge=1)
    """Training rows per cell: with few rows there are fewer cells."""
    prices: int = Field(32, ge=2)
    """Prices that are searched, evenly spread in their logarithm."""
    sweeps: int = Field(4, ge=0)
    """Most sweeps of exchange over all cells."""
    folds: int = Field(5, ge=2)
    """Parts of the training set for cross-fitting P(s | x)."""


class MergedCells(Method):
    """Codes that are cells of x, joined where that hides most of s for the least distortion."""

    name = "merged-cells"
    summary = (
        "joins cells of k-means into codes: least distortion given s plus a price on I(S;code)"
    )
    reference = "this project, docs/own-method.md; after the privacy funnel, arXiv:1402.1774"
    coding = Coding.QUANTISED
    shots = Shots.SINGLE
    has_decoder = True
    knobs = (
        Knob(
            "price",
            LOW,
            HIGH,
            "distortion paid per nat of I(S;code); more is fairer",
            logarithmic=True,
        ),
    )
    Params: ClassVar[type[Params]] = MergedCellsParams

    def search_space(self) -> Mapping[str, Any]:
        from optuna.distributions import IntDistribution

        return {
            "cells": IntDistribution(200, 3000, log=True),
            "rows_a_cell": IntDistribution(4, 40, log=True),
        }

    def supports(self, info: DatasetInfo) -> str | None:
        count = len(info.features)
        if count > _MOST_FEATURES:
            return f"its cells take at most {_MOST_FEATURES} features; {info.name} has {count}"
        return None

    def fit(
        self, train: TrainingRows, units: Sequence[Unit], context: FitContext
    ) -> Sequence[Fitted]:
        groups = len(train.info.groups)
        shares = cross_fitted(train.x, train.s, groups, self.params.folds)
        fitted: list[Fitted] = []
        for done, unit in enumerate(units):
            context.progress(done / len(units), f"seed {unit.seed}")
            fitted.append(self._fit_one(train, shares, unit.seed))
        return fitted

    def _fit_one(self, train: TrainingRows, shares: Array, seed: int) -> MergedCurve:
        from sklearn.cluster import MiniBatchKMeans

        p = self.params
        count = max(2, min(p.cells, len(train.x) // p.rows_a_cell))
        distinct = len(np.unique(train.x, axis=0))
        model = MiniBatchKMeans(
            min(count, distinct), random_state=seed, n_init=1, batch_size=8192, max_iter=50
        ).fit(train.x)
        centres = np.unique(model.cluster_centers_.astype(np.float32), axis=0)
        cells = nearest(centres, train.x)
        sums = CellSums.of(cells, len(centres), train.x.astype(np.float64), shares)
        prices = np.geomspace(LOW, HIGH, p.prices)
        codes = np.stack(list(search(sums, prices, p.sweeps)))
        means = sums.means_by_code(codes)
        return MergedCurve(centres, prices, codes.astype(np.int32), *means)

    def restore(self, state: Mapping[str, Any], unit: Unit, info: DatasetInfo) -> Curve:
        return MergedCurve(**state)


@dataclass(frozen=True)
class CellSums:
    """Sums over the rows of cells, or of codes, by group."""

    n: Array  # (cells, groups): rows, by P(s | x)
    x: Array  # (cells, groups, d): sums of x

    @classmethod
    def of(cls, cells: Ints, count: int, x: Array, shares: Array) -> CellSums:
        """Sum up rows x ``(n, d)`` with shares of groups ``(n, groups)`` by cell ``(n,)``."""
        n = np.zeros((count, shares.shape[1]))
        sums = np.zeros((count, shares.shape[1], x.shape[1]))
        np.add.at(n, cells, shares)
        for group in range(shares.shape[1]):
            np.add.at(sums[:, group], cells, shares[:, [group]] * x)
        return cls(n, sums)

    def joined(self, codes: Ints) -> CellSums:
        """Return the sums of codes ``(cells,)``, numbered from 0."""
        count = int(codes.max()) + 1
        n, x = np.zeros((count, self.n.shape[1])), np.zeros((count, *self.x.shape[1:]))
        np.add.at(n, codes, self.n)
        np.add.at(x, codes, self.x)
        return CellSums(n, x)

    def means_by_code(self, codes: Ints) -> tuple[Floats, Floats]:
        """Return what codes ``(prices, cells)`` release and decode to.

        ``(prices, cells, d)`` and ``(prices, cells, groups, d)``, for the code of each cell.
        """
        released, decoded = [], []
        by_group = self.x.sum(0) / np.maximum(self.n.sum(0), _NOTHING)[:, None]
        shift = by_group - self.x.sum((0, 1)) / self.n.sum()
        for one in codes:
            sums = self.joined(one)
            mean = sums.x.sum(1) / np.maximum(sums.n.sum(1), _NOTHING)[:, None]
            # A code with next to nobody of a group decodes to its mean, moved as the group is.
            guess = mean[:, None] + shift
            weight = sums.n[..., None]
            means = (sums.x + guess) / (weight + 1.0)
            released.append(mean[one])
            decoded.append(means[one])
        return np.array(released, np.float32), np.array(decoded, np.float32)


def cross_fitted(x: Floats, s: Ints, groups: int, folds: int) -> Array:
    """Estimate P(s | x) of each row by trees that were fitted without it, ``(n, groups)``."""
    from sklearn.ensemble import HistGradientBoostingClassifier
    from threadpoolctl import threadpool_limits

    fold = np.random.default_rng(0).permutation(len(x)) % folds
    shares = np.zeros((len(x), groups))
    with threadpool_limits(1):
        for k in range(folds):
            here, others = fold == k, fold != k
            if len(np.unique(s[others])) < 2:
                shares[here] = np.bincount(s[others], minlength=groups) / max(others.sum(), 1)
                continue
            model = HistGradientBoostingClassifier(
                max_iter=_ROUNDS, early_stopping=True, n_iter_no_change=_PATIENCE, random_state=0
            ).fit(x[others], s[others])
            shares[np.ix_(np.flatnonzero(here), model.classes_)] = model.predict_proba(x[here])
    return shares


def nearest(centres: Floats, x: Floats) -> Ints:
    """Return the nearest centre of each row, whatever rows stand beside it."""
    from scipy.spatial import cKDTree

    return np.asarray(cKDTree(centres.astype(np.float64)).query(x.astype(np.float64))[1], np.int64)


def information(n: Array) -> Array:
    """Return sum_s n_s log(n_s / sum n) of each code ``(..., groups)``: rows times -H(S | code)."""
    total = n.sum(-1)
    return np.asarray(_xlogx(n).sum(-1) - _xlogx(total))


def _xlogx(n: Array) -> Array:
    safe = np.maximum(n, _NOTHING)
    return np.where(n > _NOTHING, n * np.log(safe), 0.0)


def explained(n: Array, x: Array) -> Array:
    """Return sum_s ||sum of x||^2 / n_s of each code: what its means explain of the squares."""
    return np.asarray(((x**2).sum(-1) / np.maximum(n, _NOTHING)).sum(-1))


def search(sums: CellSums, prices: Array, sweeps: int) -> list[Ints]:
    """Return the code of each cell at each price, numbered from 0 by the first cell of each."""
    joins, rates = merge(sums)
    found = []
    for price in prices:
        codes = cut(len(sums.n), joins, int(np.searchsorted(rates, price)))
        codes = exchange(sums, codes, float(price), sweeps)
        found.append(np.unique(codes, return_inverse=True)[1])
    return found


def merge(sums: CellSums) -> tuple[list[tuple[int, int]], Array]:
    """Join the pair that adds least distortion per nat removed, until one code is left.

    Returns the pairs, the second joined to the first, and the highest rate up to each.
    """
    n, x = sums.n.copy(), sums.x.copy()
    count, rows = len(n), n.sum()
    rate = np.full((count, count), np.inf, np.float32)

    def rates(code: int, others: Ints) -> Array:
        both_n, both_x = n[code] + n[others], x[code] + x[others]
        lost = explained(n[[code]], x[[code]]) + explained(n[others], x[others])
        lost = np.maximum(lost - explained(both_n, both_x), 0.0)
        hidden = information(n[[code]]) + information(n[others]) - information(both_n)
        return np.asarray(lost / np.maximum(hidden, _NOTHING * rows))

    for code in range(count - 1):
        others = np.arange(code + 1, count)
        rate[code, others] = rate[others, code] = rates(code, others)
    partner = rate.argmin(axis=1)
    best = rate[np.arange(count), partner]
    alive = np.ones(count, bool)
    joins: list[tuple[int, int]] = []
    paid = []
    for _ in range(count - 1):
        a = int(best.argmin())
        b = int(partner[a])
        joins.append((a, b))
        paid.append(float(best[a]))
        n[a] += n[b]
        x[a] += x[b]
        alive[b] = False
        rate[b, :] = rate[:, b] = best[b] = np.inf
        others = np.flatnonzero(alive)
        others = others[others != a]
        if not len(others):
            break
        fresh = rates(a, others).astype(np.float32)
        rate[a, others] = rate[others, a] = fresh
        partner[a], best[a] = others[fresh.argmin()], fresh.min()
        stale = others[(partner[others] == a) | (partner[others] == b)]
        partner[stale] = rate[stale].argmin(axis=1)
        best[stale] = rate[stale, partner[stale]]
        nearer = others[fresh < best[others]]
        partner[nearer], best[nearer] = a, rate[a, nearer]
    return joins, np.maximum.accumulate(np.array(paid))


def cut(count: int, joins: Sequence[tuple[int, int]], many: int) -> Ints:
    """Return the code of each cell after so many joins."""
    parent = np.arange(count)
    for a, b in joins[:many]:
        parent[b] = a
    while (above := parent[parent]).tolist() != parent.tolist():
        parent = above
    return np.unique(parent, return_inverse=True)[1]


def exchange(sums: CellSums, codes: Ints, price: float, sweeps: int) -> Ints:
    """Move single cells to the code where D + price I falls most, until no move lowers it."""
    joined, codes = sums.joined(codes), codes.copy()
    n, x = joined.n, joined.x

    def cost(n: Array, x: Array) -> Array:
        return price * information(n) - explained(n, x)

    costs = cost(n, x)
    for _ in range(sweeps):
        moved = 0
        for cell in range(len(codes)):
            own_n, own_x, old = sums.n[cell], sums.x[cell], codes[cell]
            left_n, left_x = np.maximum(n[old] - own_n, 0.0), x[old] - own_x
            change = cost(n + own_n, x + own_x) - costs
            change += cost(left_n, left_x) - costs[old]
            change[old] = 0.0
            new = int(change.argmin())
            if change[new] < -_NOTHING * len(codes):
                n[old], x[old] = left_n, left_x
                n[new] += own_n
                x[new] += own_x
                codes[cell] = new
                costs[old], costs[new] = cost(n[old], x[old]), cost(n[new], x[new])
                moved += 1
        if not moved:
            break
    return codes


@dataclass
class MergedCurve(Curve):
    """The codes of all prices.

    Parameters
    ----------
    centres : ndarray, shape (cells, d)
    prices : ndarray, shape (prices,)
    codes : ndarray, shape (prices, cells)
    released : ndarray, shape (prices, cells, d)
    decoded : ndarray, shape (prices, cells, groups, d)
    """

    centres: Floats
    prices: Array
    codes: Ints
    released: Floats
    decoded: Floats

    knob = MergedCells.knobs[0]

    def __post_init__(self) -> None:
        # Evenly in the price: most points lie where the curve bends.
        self.points = tuple(Point.of(price=float(price)) for price in self.prices[::2])

    def at(self, point: Point) -> Representation:
        """Return the codes of the nearest price that was searched."""
        k = int(np.abs(np.log(self.prices / point["price"])).argmin())
        return _Codes(self.centres, self.released[k], self.decoded[k])

    def state(self) -> Mapping[str, Any]:
        """All arrays."""
        return {one.name: getattr(self, one.name) for one in fields(self)}


@dataclass
class _Codes(Representation):
    """The codes of one price; arrays as in the curve, for each cell."""

    centres: Floats
    released: Floats
    decoded: Floats

    def encode(
        self, x: Floats, *, s: Ints | None = None, generator: np.random.Generator | None = None
    ) -> Floats:
        return self.released[nearest(self.centres, x)]

    def decode(self, z: Floats, s: Ints) -> Floats:
        # Cells of one code release the same vector: any of them decodes it.
        codes, first = np.unique(self.released, axis=0, return_index=True)
        return self.decoded[first[nearest(codes, z)], s]


@hookimpl
def register_methods() -> Sequence[type[Method]]:
    """Merged cells."""
    return [MergedCells]
