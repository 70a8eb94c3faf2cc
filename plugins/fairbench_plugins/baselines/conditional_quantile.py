"""Conditional-quantile: where the encoder sees s, z can be independent of s and lossless.

Column after column, z_j is the randomised conditional quantile of x_j given the columns before it
and s,

    z_j = F(x_j - | x_<j, s) + U_j P(x_j | x_<j, s),     U_j ~ U[0, 1],

uniform on [0, 1] whatever x_<j and s are, hence independent of s; and (z, s) give x back, column
after column, by the inverse of F. It shows why the aware track is ranked apart: where the encoder
sees s, D and I can both be near 0, without a trade-off. How near depends on the estimate of F.

F is estimated on the training set: values of a column are binned, boosted trees give the
probabilities of the bins given x_<j and s, and frequencies by group those of the values within a
bin. What is lost is what is rounded down: columns with more than 1,024 distinct values to 1,024 of
these, at even ranks among them, and new rows' values to those seen in training.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
from pydantic import Field

from fairbench.api import (
    Coding,
    FitContext,
    Fitted,
    Floats,
    Ints,
    Method,
    Params,
    Representation,
    Track,
    TrainingRows,
    Unit,
)

_MAX_VALUES = 1024

_MAX_KEPT = 2_000_000
"""Intervals that are kept for further draws of the same rows."""

_FLOOR = 1e-3
"""Weight of the marginal in every conditional: no value is impossible."""


class ConditionalQuantileParams(Params):
    """Hyperparameters of conditional-quantile."""

    bins: int = Field(64, ge=2, le=128)
    """Bins of a column that trees distinguish."""
    trees: int = Field(200, ge=1)
    """Most boosting rounds per column."""


class ConditionalQuantile(Method):
    """z_j is the randomised quantile of x_j given x_<j and s."""

    name = "conditional-quantile"
    summary = "baseline of the aware track: randomised quantiles given s and the columns before"
    reference = "Rosenblatt 1952, Remarks on a multivariate transformation"
    track = Track.AWARE
    coding = Coding.STOCHASTIC
    has_decoder = True
    baseline = True
    most_features = 128  # one classifier per column
    Params: ClassVar[type[Params]] = ConditionalQuantileParams

    def fit(
        self, train: TrainingRows, units: Sequence[Unit], context: FitContext
    ) -> Sequence[Fitted]:
        groups = len(train.info.groups)
        fitted = []
        for done, unit in enumerate(units):
            columns: list[_Column] = []
            before = np.eye(groups, dtype=np.float32)[train.s]
            for j in range(train.x.shape[1]):
                x = train.x[:, j]
                column = _Column(x, before, train.s, groups, self.params, unit.seed)
                columns.append(column)
                before = np.column_stack([before, column.values[column.code(x)]])
                share = (j + 1) / train.x.shape[1]
                context.progress((done + share) / len(units), f"column {j + 1}")
            fitted.append(_Quantiles(columns, groups))
        return fitted


class _Quantiles(Representation):
    def __init__(self, columns: Sequence[_Column], groups: int) -> None:
        self.columns, self.groups = columns, groups
        self._known: dict[bytes, tuple[np.ndarray, np.ndarray]] = {}

    def __getstate__(self) -> dict[str, Any]:
        """What is kept for further draws is of people: it is in no copy and no pickle."""
        return self.__dict__ | {"_known": {}}

    def encode(
        self, x: Floats, *, s: Ints | None = None, generator: np.random.Generator | None = None
    ) -> Floats:
        assert s is not None
        rng = generator if generator is not None else np.random.default_rng()
        low, width = self._intervals(x, s)
        z = np.empty(x.shape, np.float32)
        for j in range(len(self.columns)):
            z[:, j] = low[:, j] + rng.random(len(x)) * width[:, j]
        return z

    def _intervals(self, x: Floats, s: Ints) -> tuple[np.ndarray, np.ndarray]:
        """Lower ends and widths of F over each row's values, ``(n, d)`` each.

        Those of the last rows are kept: audits draw z of the same rows some hundred times, and the
        trees behind an interval take a thousand times as long as a draw.
        """
        content = hashlib.sha256(np.ascontiguousarray(x).tobytes() + s.tobytes()).digest()
        if content not in self._known:
            before = np.eye(self.groups, dtype=np.float32)[s]
            parts = []
            for j, column in enumerate(self.columns):
                code = column.code(x[:, j])
                parts.append(column.interval(code, before, s))
                before = np.column_stack([before, column.values[code]])
            if sum(low.size for low, _ in self._known.values()) > _MAX_KEPT:
                self._known.clear()
            lows, widths = zip(*parts, strict=True)
            self._known[content] = np.column_stack(lows), np.column_stack(widths)
        return self._known[content]

    def decode(self, z: Floats, s: Ints) -> Floats:
        before = np.eye(self.groups, dtype=np.float32)[s]
        x_hat = np.empty_like(z)
        for j, column in enumerate(self.columns):
            x_hat[:, j] = column.values[column.invert(z[:, j], before, s)]
            before = np.column_stack([before, x_hat[:, j]])
        return x_hat


class _Column:
    """The conditional distribution of one column over its values.

    Parameters
    ----------
    x : ndarray, shape (n,)
    before : ndarray, shape (n, groups + j)
        One-hot s and the columns before.
    s : ndarray, shape (n,)
    groups : int
    params : ConditionalQuantileParams
    seed : int
    """

    def __init__(
        self, x: Floats, before: Floats, s: Ints, groups: int, params: Any, seed: int
    ) -> None:
        values = np.unique(x)
        if len(values) > _MAX_VALUES:
            grid = np.linspace(0, 1, _MAX_VALUES)
            values = np.unique(np.quantile(values, grid, method="lower"))
        self.values: Floats = values
        code = self.code(x)
        counts = np.bincount(code, minlength=len(values)).astype(np.float64)
        # A value belongs to the bin in which its cumulated share begins.
        start = (counts.cumsum() - counts) / counts.sum()
        _, self.bin_of = np.unique((start * params.bins).astype(int), return_inverse=True)
        self.bins = int(self.bin_of.max()) + 1
        in_bin = np.bincount(self.bin_of, weights=counts)
        self.marginal = in_bin / in_bin.sum()
        # Within a bin: frequencies by group, shrunk towards those of all groups.
        own = np.zeros((groups, len(values)))
        np.add.at(own, (s, code), 1.0)
        everyone = np.maximum(counts, 1e-9) / np.maximum(in_bin, 1e-9)[self.bin_of]
        own += 5.0 * everyone
        totals = np.stack([np.bincount(self.bin_of, weights=row) for row in own])
        self.within = own / totals[:, self.bin_of]
        running = self.within.cumsum(axis=1)
        first = np.concatenate([[0], np.flatnonzero(np.diff(self.bin_of)) + 1])
        self.first = first
        offset = np.concatenate([np.zeros((len(own), 1)), running], axis=1)[:, first]
        self.below = running - self.within - offset[:, self.bin_of]
        self.model = self._fit(before, self.bin_of[code], params, seed)

    def _fit(self, before: Floats, bins: Ints, params: Any, seed: int) -> Any:
        from sklearn.ensemble import HistGradientBoostingClassifier

        if self.bins == 1:
            return None
        held_out = np.random.default_rng(seed).random(len(bins)) < 0.1
        # A bin seen only there could not be learned.
        held_out &= np.bincount(bins[~held_out], minlength=self.bins)[bins] > 0
        counts = np.bincount(bins)[bins]
        if not held_out.any() and counts.max() > 1:
            held_out[counts.argmax()] = True
        # Of very few rows each is alone in its bin: all are learned, and nothing tells when to end.
        ends_early = bool(held_out.any())
        model = HistGradientBoostingClassifier(
            max_iter=params.trees,
            learning_rate=0.08,
            max_leaf_nodes=31,
            early_stopping=ends_early,
            n_iter_no_change=10,
            scoring="loss",
            random_state=seed,
        )
        known = ~held_out
        if not ends_early:
            return model.fit(before, bins)
        return model.fit(before[known], bins[known], X_val=before[held_out], y_val=bins[held_out])

    def code(self, x: Floats) -> Ints:
        """Index of the largest known value not above x; the smallest where there is none."""
        index = np.searchsorted(self.values, x, side="right") - 1
        return np.maximum(index, 0)

    def interval(self, code: Ints, before: Floats, s: Ints) -> tuple[np.ndarray, np.ndarray]:
        """Lower end and width of F over each row's value."""
        p = self._bin_probabilities(before)
        rows, bins = np.arange(len(code)), self.bin_of[code]
        width = p[rows, bins]
        low = p.cumsum(axis=1)[rows, bins] - width
        return low + width * self.below[s, code], width * self.within[s, code]

    def invert(self, z: Floats, before: Floats, s: Ints) -> Ints:
        """The value in whose interval z lies."""
        p = self._bin_probabilities(before)
        top = p.cumsum(axis=1)
        rows = np.arange(len(z))
        bins = np.minimum((z[:, None] >= top).sum(axis=1), self.bins - 1)
        inside = (z - (top[rows, bins] - p[rows, bins])) / p[rows, bins]
        code: Ints = self.first[bins]
        last = np.append(self.first[1:], len(self.values))[bins] - 1
        for group in np.unique(s):
            for b in np.unique(bins[s == group]):
                here = np.flatnonzero((s == group) & (bins == b))
                ends = (self.below + self.within)[group, self.first[b] : last[here[0]] + 1]
                step = np.searchsorted(ends, inside[here], side="right")
                code[here] = np.minimum(self.first[b] + step, last[here])
        return code

    def _bin_probabilities(self, before: Floats) -> np.ndarray:
        """Probabilities of the bins, ``(n, bins)``."""
        if self.model is None:
            return np.ones((len(before), 1))
        p = np.zeros((len(before), self.bins))
        p[:, self.model.classes_] = self.model.predict_proba(before)
        mixed: np.ndarray = (1 - _FLOOR) * p + _FLOOR * self.marginal
        return mixed
