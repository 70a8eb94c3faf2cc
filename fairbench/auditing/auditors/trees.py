"""Boosted trees of labels, hard or soft, cut at their best round.

scikit-learn's histogram gradient boosting stops some rounds after the best and keeps them all; on a
small table these overfit. Here predictions use the rounds up to the best alone.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np

from fairbench.api import Floats
from fairbench.auditing.auditors.samples import LabelledRows, MemberRows
from fairbench.auditing.config import FAST_ROUNDS

_FEW_ROUNDS = 30


@dataclass(frozen=True)
class Boosting:
    """How many trees are boosted.

    Parameters
    ----------
    rounds : int
        Largest number of rounds.
    patience : int
        Rounds without progress on held-out rows after which boosting stops.
    seed : int
    """

    rounds: int
    patience: int
    seed: int

    @property
    def rate(self) -> float:
        """Learning rate: few rounds need large steps."""
        if self.rounds > FAST_ROUNDS:
            return 0.1
        return 0.2 if self.rounds > _FEW_ROUNDS else 0.25

    def model(self, kind: type[Any]) -> Any:
        """Make a model of one of scikit-learn's classes, which stops early."""
        return kind(
            max_iter=self.rounds,
            learning_rate=self.rate,
            early_stopping=True,
            n_iter_no_change=self.patience,
            random_state=self.seed % 2**32,
        )


def fit_trees(training: MemberRows, boosting: Boosting) -> Callable[[Floats], Floats]:
    """Fit boosted trees.

    Returns a callable that maps ``(n, d)`` to probabilities ``(n, classes)``.
    """
    from sklearn.ensemble import HistGradientBoostingClassifier

    fit, held = training.fit, training.held
    model = boosting.model(HistGradientBoostingClassifier)
    # Not the grouped rows with weights: the minimum rows of a leaf are counted without weights.
    rows = fit.repeated()
    model.fit(
        fit.x[rows],
        fit.labels[rows],
        X_val=held.x,
        y_val=held.labels,
        sample_weight_val=held.weights,
    )
    best = int(np.argmax(model.validation_score_))

    def classify(rows: Floats) -> Floats:
        out = np.zeros((len(rows), training.classes), np.float32)
        if best == 0:
            out[:] = training.prior
        else:
            out[:, model.classes_] = _at_round(model.staged_predict_proba(rows), best)
        return out

    return classify


def fit_soft_trees(training: MemberRows, boosting: Boosting) -> Callable[[Floats], Floats]:
    """Fit boosted trees to soft labels by squared error, one model per class, of two but one.

    Rounds are chosen on held-out rows by their hard labels. Returns a callable that maps
    ``(n, d)`` to probabilities ``(n, classes)``.
    """
    fit, held = training.fit, training.held
    if fit.soft is None:
        raise ValueError("no soft labels")
    rows = fit.repeated()
    models = [
        _fit_regressor(fit.x[rows], fit.soft[rows, k], held, k, boosting)
        for k in range(1 if training.classes == 2 else training.classes)
    ]

    def classify(rows: Floats) -> Floats:
        share = np.column_stack([model(rows) for model in models])
        if len(models) == 1:
            share = np.hstack([share, 1 - share])
        share = np.clip(share, 1e-4, 1)
        return np.asarray(share / share.sum(axis=1, keepdims=True), np.float32)

    return classify


def _fit_regressor(
    x: Floats, target: Floats, held: LabelledRows, label: int, boosting: Boosting
) -> Callable[[Floats], Floats]:
    """Fit boosted trees to the probability ``(n,)`` of a label by squared error.

    Returns a callable that maps ``(n, d)`` to ``(n,)``.
    """
    from sklearn.ensemble import HistGradientBoostingRegressor

    model = boosting.model(HistGradientBoostingRegressor)
    model.fit(
        x,
        target,
        X_val=held.x,
        y_val=(held.labels == label).astype(np.float32),
        sample_weight_val=held.weights,
    )
    best = int(np.argmax(model.validation_score_))
    mean = float(target.mean())

    def predict(rows: Floats) -> Floats:
        if best == 0:
            return np.full(len(rows), mean, np.float32)
        predicted: Floats = _at_round(model.staged_predict(rows), best).astype(np.float32)
        return predicted

    return predict


def _at_round(staged: Any, best: int) -> Any:
    return next(islice(staged, best - 1, None))
