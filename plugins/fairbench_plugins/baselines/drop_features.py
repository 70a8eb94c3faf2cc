"""Drop-features: release some columns of x and drop the rest; the strongest simple baseline.

Of a table with at most 12 columns all subsets are compared (subsets.py): for each number of columns
dropped, the subset nearest to the lower convex hull of all subsets' (D, I). Of a wider table,
columns are dropped greedily: each step drops the column that removes most leakage per unit of
distortion added,

    argmax_c  (I(x_K; s) - I(x_{K - c}; s)) / D(c | K - c),

with I by a boosted-tree classifier of s, and D the squared error of a boosted-tree regression of
column c on the other kept ones and s. Both are measured on held-out rows of the training set; no
other rows are used. One fit gives the whole curve: a point is a number of columns dropped. The
one-hot columns of a category go together; in the greedy search of a wide table several columns go
at a step, so that a curve has at most 16 points.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
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
from fairbench_plugins.baselines.subsets import MAX_SUBSETS, Split, best_of_each_size

_MAX_SOURCES = 128
"""Columns of the raw table."""

_MAX_POINTS = 16
"""Steps of the search: as many as a single-shot curve has points."""

_PATIENCE = 5
"""Rounds without progress on held-out rows before a final decoder stops: a third of the time of
100 rounds, and .01 less distortion on Adults-Gender."""

_MAX_SEARCH_TREES = 240
"""Trees of one classifier in the search: boosting grows one per class and round."""


class DropFeaturesParams(Params):
    """Hyperparameters of drop-features."""

    search_rows: int = Field(9_000, ge=100)
    """Training rows used by the search; two thirds fit, one third measures."""
    search_trees: int = Field(40, ge=1)
    """Boosting rounds while searching."""
    trees: int = Field(100, ge=1)
    """Most boosting rounds of the final decoders."""
    decoder_rows: int = Field(20_000, ge=100)
    """Most training rows that the final decoders are fitted on."""
    candidates: int = Field(12, ge=1)
    """Columns tried at each step of the greedy search: those whose last ratio was best."""


class DropFeatures(Method):
    """Column dropping."""

    name = "drop-features"
    summary = "baseline: drops the columns that leak most for what they cost; all subsets, if few"
    shots = Shots.SINGLE
    has_decoder = True
    baseline = True
    tested_against = True
    knobs = (Knob("dropped", 0.0, np.inf, "columns dropped; more is fairer", whole=True),)
    Params = DropFeaturesParams

    def supports(self, info: DatasetInfo) -> str | None:
        count = len({feature.source for feature in info.features})
        if count > _MAX_SOURCES:
            return f"it drops one column after another, at most {_MAX_SOURCES}; here are {count}"
        if count < 2:
            return f"it drops some columns and keeps others; {info.name} has one"
        return None

    def fit(
        self, train: TrainingRows, units: Sequence[Unit], context: FitContext
    ) -> Sequence[Fitted]:
        fitted = []
        for done, unit in enumerate(units):

            def progress(fraction: float, note: str, done: int = done) -> None:
                context.progress((done + fraction) / len(units), note)

            fitted.append(_fit(train, self.params, unit.seed, progress))
        return fitted

    def restore(self, state: Mapping[str, Any], unit: Unit, info: DatasetInfo) -> Curve:
        counts = [int(n) for n in state["counts"]]
        if "columns" in state:  # of version 0.1: one order for all points
            parts = np.split(state["columns"], np.cumsum(state["sizes"])[:-1])
            gone = {n: [int(c) for part in parts[:n] for c in part] for n in counts}
        else:
            gone = {
                n: np.flatnonzero(row).tolist()
                for n, row in zip(counts, state["dropped"], strict=True)
            }
        return _DropCurve(gone, len(info.features), len(info.groups), {})


def _fit(train: TrainingRows, params: Any, seed: int, progress: Any) -> _DropCurve:
    columns, groups = _columns_by_source(train), len(train.info.groups)
    search = _Search(train, columns, params, seed)
    gone = search.dropped(lambda fraction: progress(0.7 * fraction, "comparing columns"))
    columns_gone = {
        n: sorted(c for s in sources for c in columns[s]) for n, sources in gone.items()
    }
    curve = _DropCurve(columns_gone, train.x.shape[1], groups, {})
    rows = np.random.default_rng(seed).permutation(len(train.s))[: params.decoder_rows]
    inputs_s = _onehot(train.s[rows], groups)
    for done, n in enumerate(gone, start=1):
        kept, dropped = curve.split(n)
        inputs = np.hstack([train.x[rows][:, kept], inputs_s])
        curve.decoders[n] = {
            column: _regressor(params.trees, seed, patience=_PATIENCE).fit(
                inputs, train.x[rows, column]
            )
            for column in dropped
        }
        progress(0.7 + 0.3 * done / len(gone), "fitting decoders")
    return curve


class _DropCurve(Curve):
    """The columns that are gone at each point, and a decoder for each.

    Parameters
    ----------
    gone : dict of int to list of int
        By number of sources dropped, the columns of x that are gone.
    width : int
        Columns of x.
    groups : int
    decoders : dict of int to dict
        By number of sources dropped, a regressor of each column gone; a restored curve has none.
    """

    knob = DropFeatures.knobs[0]

    def __init__(
        self,
        gone: dict[int, list[int]],
        width: int,
        groups: int,
        decoders: dict[int, dict[int, Any]],
    ) -> None:
        self.gone, self.width, self.groups, self.decoders = gone, width, groups, decoders
        self.points = tuple(Point.of(dropped=n) for n in gone)

    def split(self, n: int) -> tuple[list[int], list[int]]:
        """Columns kept and columns dropped where n sources are gone."""
        dropped = sorted(self.gone[n])
        return sorted(set(range(self.width)) - set(dropped)), dropped

    def at(self, point: Point) -> Representation:
        n = int(point["dropped"])
        kept, dropped = self.split(n)
        return _Dropped(kept, dropped, self.decoders.get(n), self.groups)

    def state(self) -> Mapping[str, Any]:
        """Arrays for encoding alone; the decoders are boosted trees, which only pickle stores."""
        dropped = np.zeros((len(self.gone), self.width), bool)
        for row, columns in zip(dropped, self.gone.values(), strict=True):
            row[columns] = True
        return {"dropped": dropped, "counts": np.array(list(self.gone))}


class _Dropped(Representation):
    def __init__(
        self, kept: list[int], dropped: list[int], decoders: dict[int, Any] | None, groups: int
    ) -> None:
        self.kept, self.dropped, self.decoders, self.groups = kept, dropped, decoders, groups

    def encode(
        self, x: Floats, *, s: Ints | None = None, generator: np.random.Generator | None = None
    ) -> Floats:
        return x[:, self.kept].copy()

    def input_columns(self) -> Sequence[int]:
        return self.kept

    def decode(self, z: Floats, s: Ints) -> Floats | None:
        if self.decoders is None:
            return None
        x_hat = np.empty((len(z), len(self.kept) + len(self.dropped)), np.float32)
        x_hat[:, self.kept] = z
        # The fewer columns are kept, the more decoders there are, and the fewer distinct rows.
        inputs, of_row = np.unique(
            np.hstack([z, _onehot(s, self.groups)]), axis=0, return_inverse=True
        )
        for column, model in self.decoders.items():
            x_hat[:, column] = model.predict(inputs)[of_row.ravel()]
        return x_hat


class _Search:
    """Finds which sources are dropped at each point."""

    def __init__(
        self, train: TrainingRows, columns: dict[str, list[int]], params: Any, seed: int
    ) -> None:
        rng = np.random.default_rng(seed)
        rows = rng.permutation(len(train.s))[: params.search_rows]
        cut = 2 * len(rows) // 3
        self.fit_rows, self.measure_rows = rows[:cut], rows[cut:]
        self.train, self.columns, self.params, self.seed = train, columns, params, seed
        self.s_onehot = _onehot(train.s, len(train.info.groups))

    def dropped(self, progress: Any) -> dict[int, list[str]]:
        """Sources to drop, by their number."""
        if 2 ** len(self.columns) > MAX_SUBSETS:
            order, counts = self.greedy_order(progress)
            return {n: order[:n] for n in counts}
        x, s, names = self.train.x, self.train.s, list(self.columns)
        fit, measure = self.fit_rows, self.measure_rows
        groups = len(self.train.info.groups)
        split = Split(x[fit], s[fit], x[measure], s[measure], [*self.columns.values()], groups)

        def leakage(gone: tuple[int, ...]) -> float:
            return self.leakage([name for i, name in enumerate(names) if i not in gone])

        chosen = best_of_each_size(split, leakage, progress)
        return {len(gone): [names[i] for i in gone] for gone in chosen}

    def greedy_order(self, progress: Any) -> tuple[list[str], list[int]]:
        """Sources in the order in which they go, and how many are gone at each point."""
        kept, gone, counts = list(self.columns), list[str](), list[int]()
        steps = min(_MAX_POINTS, len(kept) - 1)
        leakage = self.leakage(kept)
        # Until a column is tried among the others, its promise is its leakage on its own.
        nothing = self.leakage([])
        promise = {c: self.leakage([c]) - nothing for c in kept}
        for c in kept:
            promise[c] /= max(self.variance(c), 1e-6)
        for step in range(steps):
            going = round((len(self.columns) - 1) * (step + 1) / steps) - len(gone)
            most = max(self.params.candidates, going)
            tried = sorted(kept, key=lambda c: -promise[c])[:most]
            for source in tried:
                rest = [c for c in kept if c != source]
                lost = leakage - self.leakage(rest)
                promise[source] = lost / max(self.error(source, rest), 1e-6)
            for source in sorted(tried, key=lambda c: -promise[c])[:going]:
                kept.remove(source)
                gone.append(source)
            leakage = self.leakage(kept)
            counts.append(len(gone))
            progress((step + 1) / steps)
        return gone + kept, counts

    def leakage(self, kept: list[str]) -> float:
        """Minus the log loss of s given the kept columns: I up to a constant."""
        from sklearn.ensemble import HistGradientBoostingClassifier
        from sklearn.metrics import log_loss

        s, groups = self.train.s, len(self.train.info.groups)
        p = np.zeros((len(self.measure_rows), groups))
        if not kept:
            share = np.bincount(s[self.fit_rows], minlength=groups)
            p[:] = share / share.sum()
            return -float(log_loss(s[self.measure_rows], p, labels=np.arange(groups)))
        rounds = min(self.params.search_trees, _MAX_SEARCH_TREES // groups)
        x = self._inputs(kept)
        model = HistGradientBoostingClassifier(
            max_iter=max(rounds, 10),
            learning_rate=0.15,
            early_stopping=False,
            random_state=self.seed,
        ).fit(x[self.fit_rows], s[self.fit_rows])
        # A very rare group may have no row among those that it is fitted to.
        p[:, model.classes_] = model.predict_proba(x[self.measure_rows])
        return -float(log_loss(s[self.measure_rows], p, labels=np.arange(groups)))

    def error(self, source: str, kept: list[str]) -> float:
        """Squared error of a source's columns, regressed on the kept ones and s."""
        inputs = np.hstack([self._inputs(kept), self.s_onehot])
        total = 0.0
        for column in self.columns[source]:
            target = self.train.x[:, column]
            model = _regressor(self.params.search_trees, self.seed)
            model.fit(inputs[self.fit_rows], target[self.fit_rows])
            guess = model.predict(inputs[self.measure_rows])
            total += float(((guess - target[self.measure_rows]) ** 2).mean())
        return total

    def variance(self, source: str) -> float:
        """Sum of the variances of a source's columns."""
        return float(self.train.x[self.fit_rows][:, self.columns[source]].var(axis=0).sum())

    def _inputs(self, kept: list[str]) -> Floats:
        return self.train.x[:, [c for source in kept for c in self.columns[source]]]


def _columns_by_source(train: TrainingRows) -> dict[str, list[int]]:
    columns: dict[str, list[int]] = {}
    for i, feature in enumerate(train.info.features):
        columns.setdefault(feature.source, []).append(i)
    return columns


def _regressor(trees: int, seed: int, *, patience: int | None = None) -> Any:
    from sklearn.ensemble import HistGradientBoostingRegressor

    return HistGradientBoostingRegressor(
        max_iter=trees,
        learning_rate=0.15,
        early_stopping=patience is not None,
        n_iter_no_change=patience or 1,
        random_state=seed,
    )


def _onehot(s: Ints, groups: int) -> Floats:
    return np.eye(groups, dtype=np.float32)[s]
