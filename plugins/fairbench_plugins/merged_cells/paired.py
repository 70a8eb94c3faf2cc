"""Paired cells: the best blind encoder of cells of x, which mixes at most two cells in a code.

A method of this project; docs/own-method.md has its figures. Like merged-cells it looks for the
least D + lambda I(S; C) of an encoder of cells of k-means, but of encoders that may draw a code at
random. The best of them is found by linear programming, and mixes at most two cells in each code
(limit.py says why). A cell with too many men for one counterpart is split among several.

1. **Cells** and **shares of the groups** as in merged-cells.
2. **The programme** is solved at each price, from the columns of the price before.
3. A row draws one of the codes of its nearest cell, and a code is released as the mean of x in it.

With ``keep`` above 0, columns that tell little of s are not coded: a row releases its own values of
them, and codes mix cells of people who are alike there (strata.py).

Whoever queries the encoder for the same person again and again learns between which codes it draws,
and so the cell: one draw per person is what is audited as the release.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
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
    Method,
    Params,
    Point,
    Representation,
    RowCache,
    Shots,
    TrainingRows,
    Unit,
)
from fairbench_plugins.merged_cells.cells import estimated_shares, find_cells, nearest
from fairbench_plugins.merged_cells.joining import Array, CellSums
from fairbench_plugins.merged_cells.limit import LimitPoint, limit
from fairbench_plugins.merged_cells.prices import nearest_price, price_knob
from fairbench_plugins.merged_cells.strata import Strata, find_strata, kept_columns

LOW, HIGH = 0.5, 400.0
"""Prices: at the lowest hardly anything is mixed, at the highest nothing is left of s."""


class PairedCellsParams(Params):
    """Hyperparameters of paired cells."""

    cells: int = Field(1500, ge=2, le=3000)
    """Most cells of k-means; with ``keep`` some four times as many, as codes mix fewer pairs."""
    rows_a_cell: int = Field(10, ge=1)
    """Training rows per cell: with few rows there are fewer cells."""
    prices: int = Field(16, ge=2)
    """Prices that are solved, evenly spread in their logarithm; each is a point of the curve."""
    folds: int = Field(5, ge=1)
    """Parts of the training set for cross-fitting P(s | x), as in merged-cells."""
    keep: float = Field(0.0, ge=0, le=1)
    """Columns that alone tell less of s than this share of I(X;S) are never mixed, see strata.py:
    tasks need them. 0: all may be mixed."""
    added: ClassVar[frozenset[str]] = frozenset({"keep"})


class PairedCells(Method):
    """Codes that mix two cells of x, drawn at random: least D + price I of all of these cells."""

    name = "paired-cells"
    summary = "draws codes that mix at most two cells of k-means: the optimum of all such encoders"
    reference = "this project, docs/own-method.md; after the privacy funnel, arXiv:1402.1774"
    coding = Coding.STOCHASTIC
    shots = Shots.SINGLE
    has_decoder = True
    knobs = (price_knob(LOW, HIGH),)
    most_features = 512
    Params: ClassVar[type[Params]] = PairedCellsParams

    def search_space(self) -> Mapping[str, Any]:
        from optuna.distributions import IntDistribution

        return {
            "cells": IntDistribution(200, 2000, log=True),
            "rows_a_cell": IntDistribution(4, 40, log=True),
        }

    def fit(
        self, train: TrainingRows, units: Sequence[Unit], context: FitContext
    ) -> Sequence[Fitted]:
        p = self.params
        shares = estimated_shares(train.x, train.s, len(train.info.groups), p.folds)
        kept = kept_columns(train.x, shares, p.keep)
        prices = np.geomspace(LOW, HIGH, p.prices)
        fitted: list[Fitted] = []
        for done, unit in enumerate(units):
            context.progress(done / len(units), f"seed {unit.seed}")
            strata = cut(train.x, kept, unit.seed, cells=p.cells, rows_a_cell=p.rows_a_cell)
            fitted.append(solve(train.x, shares, strata, prices)[0])
        return fitted

    def restore(self, state: Mapping[str, Any], unit: Unit, info: DatasetInfo) -> Curve:
        return PairedCurve(**state)


def cut(
    x: Floats, kept: npt.NDArray[np.bool_], seed: int, *, cells: int, rows_a_cell: int
) -> Strata:
    """Cut rows ``(n, d)`` into cells, by the ``kept`` columns ``(d,)`` first, if there are any."""
    if kept.any():
        return find_strata(x, kept, max(rows_a_cell, len(x) // (4 * cells)), seed)
    centres = find_cells(x, max(2, min(cells, len(x) // rows_a_cell)), seed)
    whole = np.zeros(len(centres), np.int64)
    return Strata(centres, whole, np.ones(x.shape[1], np.float32))


def solve(
    x: Floats, shares: Array, strata: Strata, prices: Array
) -> tuple[PairedCurve, list[Array]]:
    """Find the best codes of cells at each price; return also their rows by group.

    ``shares (n, groups)``: P(s | x) of the rows ``x (n, d)``.
    """
    cells = nearest(strata.centres * strata.scale, x * strata.scale)
    strata = strata.taken(np.unique(cells))  # those that have rows
    cells = np.unique(cells, return_inverse=True)[1]
    wide = x.astype(np.float64)
    sums = CellSums.of(cells, len(strata.centres), wide, shares)
    points = limit(sums, float((wide**2).sum()), prices.tolist(), pairs=strata.pairs())
    curve = PairedCurve.of(strata.centres, sums, points, strata.scale)
    return curve, [point.codes.sums(sums).n for point in points]


@dataclass
class PairedCurve(Curve):
    """The codes of all prices, one price after the other.

    Parameters
    ----------
    centres : ndarray, shape (cells, d)
    prices : ndarray, shape (prices,)
    counts : ndarray, shape (prices,)
        Codes of each price.
    pairs : ndarray, shape (codes, 2)
        The two cells of each code; they may be the same.
    parts : ndarray, shape (codes, 2)
        Chance of the code, of a row of either cell.
    released : ndarray, shape (codes, d)
    decoded : ndarray, shape (codes, groups, d)
    scale : ndarray, shape (d,)
        Of the columns, where distances to centres are compared.
    """

    centres: Floats
    prices: Array
    counts: Ints
    pairs: Ints
    parts: Array
    released: Floats
    decoded: Floats
    scale: Floats = field(default_factory=lambda: np.ones(1, np.float32))

    knob = PairedCells.knobs[0]

    def __post_init__(self) -> None:
        self.points = tuple(Point.of(price=float(price)) for price in self.prices)

    @classmethod
    def of(
        cls, centres: Floats, sums: CellSums, points: Sequence[LimitPoint], scale: Floats
    ) -> PairedCurve:
        """Collect the codes of all prices."""
        means = [point.codes.sums(sums).means() for point in points]
        pairs = np.concatenate([np.column_stack([p.codes.t, p.codes.u]) for p in points])
        released = np.concatenate([mean for mean, _ in means])
        # In kept columns a row releases its own values; these are to find its code by.
        kept = scale > 1
        released[:, kept] = centres[pairs[:, 0]][:, kept]
        return cls(
            centres,
            np.array([point.price for point in points]),
            np.array([len(point.codes.t) for point in points]),
            pairs,
            np.concatenate([np.column_stack([p.codes.a, p.codes.b]) for p in points]),
            released,
            np.concatenate([by_group for _, by_group in means]),
            scale,
        )

    def at(self, point: Point) -> DrawnCodes:
        """Return the codes of the nearest price that was solved."""
        k = nearest_price(self.prices, point)
        mine = slice(int(self.counts[:k].sum()), int(self.counts[: k + 1].sum()))
        return DrawnCodes(
            self.centres,
            self.pairs[mine],
            self.parts[mine],
            self.released[mine],
            self.decoded[mine],
            self.scale,
        )

    def state(self) -> Mapping[str, Any]:
        """All arrays."""
        return {one.name: getattr(self, one.name) for one in fields(self)}


class DrawnCodes(Representation):
    """The codes of one price; arrays as in the curve."""

    def __init__(
        self,
        centres: Floats,
        pairs: Ints,
        parts: Array,
        released: Floats,
        decoded: Floats,
        scale: Floats,
    ) -> None:
        self.centres, self.released, self.decoded = centres * scale, released, decoded
        self.scale, self.kept = scale, np.broadcast_to(scale > 1, released.shape[1:])
        # Chances of the codes of each cell, one cell after the other, added up from the cell's
        # number: a row of cell c draws the first entry above c + U[0, 1).
        cells, codes = pairs.T.ravel(), np.tile(np.arange(len(pairs)), 2)
        order = np.lexsort((codes, cells))
        self.codes, chances = codes[order], np.maximum(parts.T.ravel()[order], 0.0)
        cells = cells[order]
        total = np.bincount(cells, chances, len(centres))
        chances = chances / total[cells]
        before = np.concatenate([[0.0], np.cumsum(np.bincount(cells, chances, len(centres)))])
        self.upto = cells + np.clip(np.cumsum(chances) - before[cells], 0.0, 1.0)
        last = np.append(cells[1:] != cells[:-1], True)
        self.upto[last] = cells[last] + 1.0
        self.places = released * scale  # where codes lie, to find them by
        self.cells, self.codes_of = RowCache[Ints](), RowCache[Ints]()

    def encode(
        self, x: Floats, *, s: Ints | None = None, generator: np.random.Generator | None = None
    ) -> Floats:
        rng = generator if generator is not None else np.random.default_rng()
        z = self.released[self.draw(x, rng)]
        z[:, self.kept] = x[:, self.kept]
        return z

    def draw(self, x: Floats, rng: np.random.Generator) -> Ints:
        """Draw the number of a code for each row."""
        cells = self.cells.of(x, lambda rows: nearest(self.centres, rows * self.scale))
        drawn = cells + rng.random(len(x))
        return self.codes[np.searchsorted(self.upto, drawn, side="right")]

    def decode(self, z: Floats, s: Ints) -> Floats:
        # Asked for the same codes once for each group.
        codes = self.codes_of.of(z, lambda rows: nearest(self.places, rows * self.scale))
        x = self.decoded[codes, s]
        x[:, self.kept] = z[:, self.kept]
        return x
