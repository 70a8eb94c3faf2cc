"""Boosted trees cut at their best round: auditors, and regressors of the refitted decoder.

scikit-learn's histogram gradient boosting stops some rounds after the best and keeps them all; on a
small table these overfit. Here predictions use the rounds up to the best alone.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import islice
from typing import Any

import numpy as np

from fairbench.api import Floats
from fairbench.auditing.auditors.samples import Training, Weights
from fairbench.auditing.config import FAST_ROUNDS

_REGRESSION_RATE = 0.2
"""Learning rate of a decoder's trees; with one model per column of x, rounds must be few."""

_FEW_ROUNDS = 30


def fit_trees(
    training: Training, *, rounds: int, patience: int, seed: int
) -> Callable[[Floats], Floats]:
    """Fit boosted trees.

    Returns a callable that maps ``(n, d)`` to probabilities ``(n, classes)``.
    """
    from sklearn.ensemble import HistGradientBoostingClassifier

    fit, held = training.fit, training.held
    model = HistGradientBoostingClassifier(
        max_iter=rounds,
        learning_rate=_rate(rounds),
        early_stopping=True,
        n_iter_no_change=patience,
        random_state=seed % 2**32,
    )
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


def fit_soft_trees(
    training: Training, *, rounds: int, patience: int, seed: int
) -> Callable[[Floats], Floats]:
    """Fit boosted trees to soft labels by squared error, one model per class, of two but one.

    Rounds are chosen on held-out rows by their hard labels. Returns a callable that maps
    ``(n, d)`` to probabilities ``(n, classes)``.
    """
    fit, held = training.fit, training.held
    if fit.soft is None:
        raise ValueError("no soft labels")
    rows = fit.repeated()
    models = [
        fit_tree_regressor(
            fit.x[rows],
            fit.soft[rows, k],
            (held.x, (held.labels == k).astype(np.float32)),
            rounds=rounds,
            patience=patience,
            seed=seed,
            rate=_rate(rounds),
            held_weights=held.weights,
        )
        for k in range(1 if training.classes == 2 else training.classes)
    ]

    def classify(rows: Floats) -> Floats:
        share = np.column_stack([model(rows) for model in models])
        if len(models) == 1:
            share = np.hstack([share, 1 - share])
        share = np.clip(share, 1e-4, 1)
        return np.asarray(share / share.sum(axis=1, keepdims=True), np.float32)

    return classify


def fit_tree_regressor(
    x: Floats,
    target: Floats,
    held: tuple[Floats, Floats],
    *,
    rounds: int,
    patience: int,
    seed: int,
    rate: float = _REGRESSION_RATE,
    held_weights: Weights | None = None,
) -> Callable[[Floats], Floats]:
    """Fit boosted trees to one column ``(n,)`` by squared error.

    ``held`` are rows ``(m, d)`` and their targets ``(m,)`` for early stopping, which may have
    weights ``(m,)``.

    Returns a callable that maps ``(n, d)`` to ``(n,)``.
    """
    from sklearn.ensemble import HistGradientBoostingRegressor

    model = HistGradientBoostingRegressor(
        max_iter=rounds,
        learning_rate=rate,
        early_stopping=True,
        n_iter_no_change=patience,
        random_state=seed % 2**32,
    ).fit(x, target, X_val=held[0], y_val=held[1], sample_weight_val=held_weights)
    best = int(np.argmax(model.validation_score_))
    mean = float(target.mean())

    def predict(rows: Floats) -> Floats:
        if best == 0:
            return np.full(len(rows), mean, np.float32)
        predicted: Floats = _at_round(model.staged_predict(rows), best).astype(np.float32)
        return predicted

    return predict


def _rate(rounds: int) -> float:
    """Learning rate of auditors' trees: few rounds need large steps."""
    if rounds > FAST_ROUNDS:
        return 0.1
    return 0.2 if rounds > _FEW_ROUNDS else 0.25


def _at_round(staged: Any, best: int) -> Any:
    return next(islice(staged, best - 1, None))
