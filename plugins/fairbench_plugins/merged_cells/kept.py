"""Kept cells: some columns are released as they are, the others coded, by what is cheaper.

A method of this project; docs/own-method.md has its figures. Paired cells pay for every column with
the scatter within cells, also for columns that tell nothing of s. Here columns are ordered by what
each alone tells of s. At a level, the first of them are kept: a row releases its own values, and
codes mix only people who are alike there (strata.py). Which level is the cheapest,

    D + lambda I(S; Z),

depends on the price lambda: few columns are coded at low prices, all at high ones.

1. **Choice.** Four fifths of the training rows make cells and codes of each level, at some prices.
   On the others D is measured, and I estimated: what the code tells of P(s | x), and not less than
   what trees read from the kept columns alone, whose values tell more than the group of people who
   are alike in them.
2. **Fit.** All rows make the codes of the chosen levels, each at the prices that it was chosen for.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
from pydantic import Field

from fairbench.api import (
    Curve,
    DatasetInfo,
    FitContext,
    Fitted,
    Floats,
    Ints,
    Params,
    Point,
    Representation,
    TrainingRows,
    Unit,
)
from fairbench_plugins.merged_cells.cells import cross_fitted, estimated_shares
from fairbench_plugins.merged_cells.joining import Array
from fairbench_plugins.merged_cells.paired import (
    PairedCells,
    PairedCurve,
    cut,
    solve,
)
from fairbench_plugins.merged_cells.prices import nearest_price, price_knob
from fairbench_plugins.merged_cells.strata import column_shares

LOW, HIGH = 0.5, 4000.0
"""Prices: at the lowest hardly anything is coded, at the highest nothing is left of s."""
_HELD_OUT = 5
"""One of so many training rows chooses between levels."""

Columns = npt.NDArray[np.bool_]


class KeptCellsParams(Params):
    """Hyperparameters of kept cells."""

    cells: int = Field(1500, ge=2, le=3000)
    """Most cells of k-means; where columns are kept some four times as many."""
    rows_a_cell: int = Field(10, ge=1)
    """Training rows per cell where no column is kept."""
    rows_a_kept_cell: int = Field(3, ge=1)
    """The same where some are: codes mix fewer pairs of cells."""
    levels: int = Field(6, ge=2)
    """Numbers of coded columns that are tried, from one to all, evenly in their logarithm."""
    prices: int = Field(32, ge=2)
    """Prices that are solved, evenly spread in their logarithm; each is a point of the curve."""
    tried: int = Field(12, ge=2)
    """Prices at which levels are compared."""
    folds: int = Field(5, ge=2)
    """Parts of the training set for cross-fitting P(s | x)."""


class KeptCells(PairedCells):
    """Paired cells of some columns; the others are released as they are, where that is cheaper."""

    name = "kept-cells"
    summary = "paired-cells of some columns; the rest are released, where that is cheaper"
    knobs = (price_knob(LOW, HIGH),)
    Params: ClassVar[type[Params]] = KeptCellsParams

    def search_space(self) -> Mapping[str, Any]:
        from optuna.distributions import IntDistribution

        return {
            **super().search_space(),
            "rows_a_kept_cell": IntDistribution(2, 20, log=True),
            "levels": IntDistribution(2, 8),
        }

    def fit(
        self, train: TrainingRows, units: Sequence[Unit], context: FitContext
    ) -> Sequence[Fitted]:
        p = self.params
        shares = estimated_shares(train.x, train.s, len(train.info.groups), p.folds)
        levels = keep_levels(column_shares(train.x, shares), p.levels)
        told = [self._told(train, shares, kept) for kept in levels]
        prices = np.geomspace(LOW, HIGH, p.prices)
        fitted: list[Fitted] = []
        for done, unit in enumerate(units):
            context.progress(done / len(units), f"seed {unit.seed}")
            chosen = self._choose(train, shares, levels, told, prices, unit.seed)
            curves = {}
            for level in np.unique(chosen).tolist():
                strata = self._cut(train.x, levels[level], unit.seed)
                mine = prices[chosen == level]
                curves[level] = solve(train.x, shares, strata, mine)[0]
            fitted.append(KeptCurve(prices, chosen, curves))
        return fitted

    def _cut(self, x: Floats, kept: Columns, seed: int) -> Any:
        p = self.params
        rows = p.rows_a_kept_cell if kept.any() else p.rows_a_cell
        return cut(x, kept, seed, cells=p.cells, rows_a_cell=rows)

    def _told(self, train: TrainingRows, shares: Array, kept: Columns) -> float:
        """Estimate what kept columns alone tell of s, nats, by trees on rows they have not seen."""
        if not kept.any():
            return 0.0
        groups = len(train.info.groups)
        read = cross_fitted(train.x[:, kept], train.s, groups, self.params.folds)
        return gained(shares, read)

    def _choose(
        self,
        train: TrainingRows,
        shares: Array,
        levels: Sequence[Columns],
        told: Sequence[float],
        prices: Array,
        seed: int,
    ) -> Ints:
        """Return the number of the cheapest level at each price, on rows that made no code."""
        rng = np.random.default_rng([seed, len(train.x)])
        held = rng.permutation(len(train.x)) % _HELD_OUT == 0
        tried = np.geomspace(LOW, HIGH, self.params.tried)
        costs = np.empty((len(levels), len(tried)))
        for level, kept in enumerate(levels):
            x, mine = train.x[~held], shares[~held]
            curve, rows = solve(x, mine, self._cut(x, kept, seed), tried)
            for k, (price, of_codes) in enumerate(zip(tried.tolist(), rows, strict=True)):
                codes = curve.at(Point.of(price=price))
                number = codes.draw(train.x[held], rng)
                lost = (train.x[held] - codes.decoded[number, train.s[held]])[:, ~kept]
                distortion = float((lost.astype(np.float64) ** 2).sum(1).mean())
                prior = mine.mean(0)
                by_code = (of_codes + prior) / (of_codes.sum(1, keepdims=True) + 1)
                leaked = max(gained(shares[held], by_code[number]), told[level])
                costs[level, k] = distortion + price * leaked
        best = costs.argmin(0)
        nearest = np.abs(np.log(prices[:, None] / tried)).argmin(1)
        return np.asarray(best[nearest], np.int64)

    def restore(self, state: Mapping[str, Any], unit: Unit, info: DatasetInfo) -> Curve:
        return KeptCurve.of(state)


def keep_levels(told: Array, count: int) -> list[Columns]:
    """Return which columns are kept at each level, ``(d,)``; none at the last.

    ``told (d,)``: what each column alone tells of s. Those that tell most are coded first.
    """
    order = np.argsort(-told, kind="stable")
    levels = []
    for coded in np.unique(np.geomspace(1, len(told), count).round().astype(int)):
        columns = np.ones(len(told), np.bool_)
        columns[order[:coded]] = False
        levels.append(columns)
    return levels


def gained(shares: Array, read: Array) -> float:
    """Estimate I, nats, that predictions ``read`` of s have of P(s | x), ``(n, groups)`` both."""
    prior = shares.mean(0)
    logs = np.log(np.maximum(read, 1e-9)) - np.log(prior)
    return max(0.0, float((shares * logs).sum(1).mean()))


@dataclass
class KeptCurve(Curve):
    """Codes of all prices, by level.

    Parameters
    ----------
    prices : ndarray, shape (prices,)
    chosen : ndarray, shape (prices,)
        Number of the level at each price.
    curves : mapping of int to PairedCurve
        By level, at the prices that it was chosen for.
    """

    prices: Array
    chosen: Ints
    curves: Mapping[int, PairedCurve]

    knob = KeptCells.knobs[0]

    def __post_init__(self) -> None:
        self.points = tuple(Point.of(price=float(price)) for price in self.prices)

    def at(self, point: Point) -> Representation:
        """Return the codes of the nearest price that was solved."""
        k = nearest_price(self.prices, point)
        return self.curves[int(self.chosen[k])].at(Point.of(price=float(self.prices[k])))

    def state(self) -> Mapping[str, Any]:
        """All arrays; those of a level are named after it."""
        return {"prices": self.prices, "chosen": self.chosen, **dict(self._arrays())}

    def _arrays(self) -> Iterator[tuple[str, Any]]:
        for level, curve in self.curves.items():
            for name, array in curve.state().items():
                yield f"{level}/{name}", array

    @classmethod
    def of(cls, state: Mapping[str, Any]) -> KeptCurve:
        """Return the curve of its state."""
        by_level: dict[int, dict[str, Any]] = {}
        for key, array in state.items():
            level, _, name = key.partition("/")
            if name:
                by_level.setdefault(int(level), {})[name] = array
        curves = {level: PairedCurve(**arrays) for level, arrays in by_level.items()}
        return cls(state["prices"], state["chosen"], curves)
