"""Drop-features: release some columns of x and drop the rest; the baseline to beat.

Columns are dropped greedily: each step drops the column that loses most leakage a unit of
distortion gained,

    argmax_c  (I(x_K; s) - I(x_{K - c}; s)) / (D(K - c) - D(K)),

with I by a boosted-tree classifier of s, and D the squared error of boosted-tree regressions of the
dropped columns on the kept ones and s. Both are measured on a part of encoder-train carved off for
it. One fit gives the whole curve: a point is a number of columns dropped. The one-hot columns of a
category go together.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from pydantic import Field

from fairbench.api import (
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

_MOST_SOURCES = 128
"""Columns of the raw table."""


class DropFeaturesParams(Params):
    """Hyperparameters of drop-features."""

    search_rows: int = Field(9_000, ge=100)
    """Rows of encoder-train used to find the order; two thirds fit, one third measures."""
    search_trees: int = Field(40, ge=1)
    """Boosting rounds while searching."""
    trees: int = Field(100, ge=1)
    """Boosting rounds of the final decoders."""
    candidates: int = Field(12, ge=1)
    """Columns tried at each step: the most promising by the step before."""


class DropFeatures(Method):
    """Greedy column dropping."""

    name = "drop-features"
    summary = "baseline: drops columns greedily by leakage lost a unit of distortion"
    shots = Shots.SINGLE
    has_decoder = True
    baseline = True
    knobs = (Knob("dropped", 0.0, np.inf, "columns dropped; more is fairer"),)
    Params = DropFeaturesParams

    def supports(self, info: DatasetInfo) -> str | None:
        count = len({feature.source for feature in info.features})
        if count > _MOST_SOURCES:
            return f"it drops one column after another, at most {_MOST_SOURCES}; here are {count}"
        return None

    def fit(
        self, train: TrainingRows, units: Sequence[Unit], context: FitContext
    ) -> Sequence[Fitted]:
        fitted = []
        for done, unit in enumerate(units):

            def progress(fraction: float, note: str, done: int = done) -> None:
                context.progress((done + fraction) / len(units), note)

            fitted.append(_DropCurve(train, self.params, unit.seed, progress))
        return fitted


class _DropCurve(Curve):
    """The order in which columns go, and a decoder for every number of them gone."""

    knob = DropFeatures.knobs[0]

    def __init__(self, train: TrainingRows, params: Any, seed: int, progress: Any) -> None:
        self.columns = _columns_by_source(train)
        self.groups = len(train.info.groups)
        search = _Search(train, self.columns, params, seed)
        self.order = search.order(lambda fraction: progress(0.7 * fraction, "ordering columns"))
        self.points = tuple(Point.of(dropped=n) for n in range(1, len(self.order)))
        self._decoders: dict[int, dict[int, Any]] = {}
        inputs_s = _onehot(train.s, self.groups)
        for n in range(1, len(self.order)):
            kept, dropped = self.split(n)
            inputs = np.hstack([train.x[:, kept], inputs_s])
            self._decoders[n] = {
                column: _regressor(params.trees, seed).fit(inputs, train.x[:, column])
                for column in dropped
            }
            progress(0.7 + 0.3 * n / len(self.order), "fitting decoders")

    def split(self, n: int) -> tuple[list[int], list[int]]:
        """Columns kept and columns dropped once n sources are gone."""
        dropped = sorted(c for source in self.order[:n] for c in self.columns[source])
        kept = sorted(c for source in self.order[n:] for c in self.columns[source])
        return kept, dropped

    def at(self, point: Point) -> Representation:
        n = int(point["dropped"])
        kept, dropped = self.split(n)
        return _Dropped(kept, dropped, self._decoders[n], self.groups)


class _Dropped(Representation):
    def __init__(
        self, kept: list[int], dropped: list[int], decoders: dict[int, Any], groups: int
    ) -> None:
        self.kept, self.dropped, self.decoders, self.groups = kept, dropped, decoders, groups

    def encode(
        self, x: Floats, *, s: Ints | None = None, generator: np.random.Generator | None = None
    ) -> Floats:
        return x[:, self.kept].copy()

    def decode(self, z: Floats, s: Ints) -> Floats:
        x_hat = np.empty((len(z), len(self.kept) + len(self.dropped)), np.float32)
        x_hat[:, self.kept] = z
        inputs = np.hstack([z, _onehot(s, self.groups)])
        for column, model in self.decoders.items():
            x_hat[:, column] = model.predict(inputs)
        return x_hat


class _Search:
    """Finds the order in which sources are dropped."""

    def __init__(
        self, train: TrainingRows, columns: dict[str, list[int]], params: Any, seed: int
    ) -> None:
        rng = np.random.default_rng(seed)
        rows = rng.permutation(len(train.s))[: params.search_rows]
        cut = 2 * len(rows) // 3
        self.fit_rows, self.measure_rows = rows[:cut], rows[cut:]
        self.train, self.columns, self.params, self.seed = train, columns, params, seed
        self.s_onehot = _onehot(train.s, len(train.info.groups))

    def order(self, progress: Any) -> list[str]:
        kept, gone = list(self.columns), []
        leakage, distortion = self.leakage(kept), 0.0
        # Before anything is measured every column is as promising as any other.
        promise = dict.fromkeys(kept, np.inf)
        while len(kept) > 1:
            tried = sorted(kept, key=lambda c: -promise[c])[: self.params.candidates]
            found = {}
            for source in tried:
                rest = [c for c in kept if c != source]
                found[source] = self.leakage(rest), self.distortion(rest)
                gained = max(found[source][1] - distortion, 1e-6)
                promise[source] = (leakage - found[source][0]) / gained
            best = max(tried, key=lambda c: promise[c])
            leakage, distortion = found[best]
            kept.remove(best)
            gone.append(best)
            progress(len(gone) / len(self.columns))
        return gone + kept

    def leakage(self, kept: list[str]) -> float:
        """Minus the log loss of s given the kept columns: I up to a constant."""
        from sklearn.ensemble import HistGradientBoostingClassifier
        from sklearn.metrics import log_loss

        x = self._inputs(kept)
        model = HistGradientBoostingClassifier(
            max_iter=self.params.search_trees,
            learning_rate=0.15,
            early_stopping=False,
            random_state=self.seed,
        ).fit(x[self.fit_rows], self.train.s[self.fit_rows])
        p = model.predict_proba(x[self.measure_rows])
        return -float(log_loss(self.train.s[self.measure_rows], p, labels=model.classes_))

    def distortion(self, kept: list[str]) -> float:
        """Squared error of the dropped columns, regressed on the kept ones and s."""
        inputs = np.hstack([self._inputs(kept), self.s_onehot])
        total = 0.0
        for source, columns in self.columns.items():
            if source in kept:
                continue
            for column in columns:
                target = self.train.x[:, column]
                model = _regressor(self.params.search_trees, self.seed)
                model.fit(inputs[self.fit_rows], target[self.fit_rows])
                guess = model.predict(inputs[self.measure_rows])
                total += float(((guess - target[self.measure_rows]) ** 2).mean())
        return total

    def _inputs(self, kept: list[str]) -> Floats:
        return self.train.x[:, [c for source in kept for c in self.columns[source]]]


def _columns_by_source(train: TrainingRows) -> dict[str, list[int]]:
    found: dict[str, list[int]] = {}
    for i, feature in enumerate(train.info.features):
        found.setdefault(feature.source, []).append(i)
    return found


def _regressor(trees: int, seed: int) -> Any:
    from sklearn.ensemble import HistGradientBoostingRegressor

    return HistGradientBoostingRegressor(
        max_iter=trees, learning_rate=0.15, early_stopping=False, random_state=seed
    )


def _onehot(s: Ints, groups: int) -> Floats:
    return np.eye(groups, dtype=np.float32)[s]
