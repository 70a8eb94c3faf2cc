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
can be certified. A certificate over n rows pays (groups - 1) / 2n nats for each code, and so can
the search: ``code_cost``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, ClassVar

import numpy as np
from pydantic import Field

from fairbench.api import (
    Coding,
    Curve,
    DatasetInfo,
    FitContext,
    Fitted,
    Floats,
    Ints,
    Method,
    Params,
    Point,
    Representation,
    Shots,
    TrainingRows,
    Unit,
)
from fairbench_plugins.merged_cells.cells import cross_fitted, find_cells, nearest
from fairbench_plugins.merged_cells.joining import Array, CellSums, search
from fairbench_plugins.merged_cells.prices import nearest_price, price_knob

LOW, HIGH = 0.5, 4000.0
"""Prices: at the lowest hardly anything is joined, at the highest nothing is left of s."""


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
    code_cost: float = Field(0.0, ge=0, le=1e6)
    """Penalty per code, in nats times training rows, added to the leakage. A certificate pays
    (groups - 1) / 2 times training rows per certifying row for each code."""
    folds: int = Field(5, ge=1)
    """Parts of the training set for cross-fitting P(s | x). 1: no estimate, the groups of rows are
    counted; to compare."""


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
    knobs = (price_knob(LOW, HIGH),)
    most_features = 512
    Params: ClassVar[type[Params]] = MergedCellsParams

    def search_space(self) -> Mapping[str, Any]:
        from optuna.distributions import IntDistribution

        return {
            "cells": IntDistribution(200, 3000, log=True),
            "rows_a_cell": IntDistribution(4, 40, log=True),
        }

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
        p = self.params
        centres = find_cells(train.x, max(2, min(p.cells, len(train.x) // p.rows_a_cell)), seed)
        # A cell without rows would cost nothing to join with any code.
        known, cells = np.unique(nearest(centres, train.x), return_inverse=True)
        centres = centres[known]
        sums = CellSums.of(cells, len(centres), train.x.astype(np.float64), shares)
        prices = np.geomspace(LOW, HIGH, p.prices)
        codes = np.stack(list(search(sums, prices, p.sweeps, p.code_cost)))
        means = sums.means_by_code(codes)
        return MergedCurve(centres, prices, codes.astype(np.int32), *means)

    def restore(self, state: Mapping[str, Any], unit: Unit, info: DatasetInfo) -> Curve:
        return MergedCurve(**state)


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
        k = nearest_price(self.prices, point)
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
