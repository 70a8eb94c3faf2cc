"""The simple members of the ensemble: logistic regression, nearest neighbours, counting.

Each is fitted on a member's rows, and chooses its own strength of regularisation on the held-out
rows.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.special import softmax

from fairbench.api import Floats
from fairbench.auditing.auditors.samples import LabelledRows, MemberRows, index_equal_rows, row_keys
from fairbench.stats.scores import log_loss

Classifier = Callable[[Floats], Floats]
"""Maps ``(n, features)`` to probabilities ``(n, classes)``."""

_STRENGTHS = (1e-3, 1e-2, 1e-1, 1.0, 10.0)
"""Prior variances of a weight (scikit-learn's C), from strong regularisation to weak."""
_REFERENCE_ROWS = 4096
"""Most rows among which neighbours are searched: cost grows with them, accuracy slowly."""
_NEIGHBOUR_COLUMNS = 12
"""Most columns of a distance; wider rows are projected on their principal axes."""
_NEIGHBOURS = (10, 30, 100)
_PRIOR_VOTES = (1.0, 3.0, 10.0, 30.0)
"""Candidate weights of the prior, in votes."""
_PRIOR_ROWS = (0.3, 1.0, 3.0, 10.0, 30.0, 100.0)
"""Candidate weights of the prior in each cell, in rows."""


def held_out_loss(probabilities: Floats, held: LabelledRows) -> float:
    """Return the mean log loss on held-out rows, nats."""
    return float(np.average(log_loss(probabilities, held.labels), weights=held.weights))


def fit_logistic(training: MemberRows) -> Classifier:
    """Fit multinomial logistic regression with the L2 strength of the lowest held-out loss."""
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.linear_model import LogisticRegression

    fit = training.fit
    best: tuple[float, Classifier] | None = None
    model = LogisticRegression(max_iter=100, tol=1e-3, warm_start=True)
    for strength in _STRENGTHS:
        model.C = strength
        with warnings.catch_warnings():
            # Stopping before convergence regularises too.
            warnings.simplefilter("ignore", ConvergenceWarning)
            model.fit(fit.x, fit.labels, sample_weight=fit.weights)
        classify = _linear(model.coef_.copy(), model.intercept_.copy(), model.classes_, training)
        loss = held_out_loss(classify(training.held.x), training.held)
        if best is None or loss < best[0]:
            best = (loss, classify)
    assert best is not None
    return best[1]


def _linear(weights: Any, bias: Any, classes: Any, training: MemberRows) -> Classifier:
    def classify(rows: Floats) -> Floats:
        score = rows.astype(np.float64) @ weights.T + bias
        if score.shape[1] == 1:
            score = np.hstack([np.zeros_like(score), score])
        out = np.zeros((len(rows), training.classes), np.float32)
        out[:, classes] = softmax(score, axis=1)
        return out

    return classify


def fit_neighbours(training: MemberRows, *, seed: int) -> Classifier:
    """Fit votes of the k nearest rows and of the prior; both numbers by held-out loss."""
    from sklearn.neighbors import NearestNeighbors

    fit = training.fit
    rng = np.random.default_rng(seed)
    chosen = fit.repeated()
    if len(chosen) > _REFERENCE_ROWS:
        chosen = rng.choice(chosen, _REFERENCE_ROWS, replace=False)
    project = _principal(fit.x[chosen])
    votes = np.eye(training.classes, dtype=np.float32)[fit.labels[chosen]]
    search = NearestNeighbors(algorithm="brute").fit(project(fit.x[chosen]))

    def tally(rows: Floats, sizes: list[int]) -> list[Floats]:
        near = search.kneighbors(project(rows), max(sizes), return_distance=False)
        return [votes[near[:, :k]].sum(axis=1) for k in sizes]

    def share(counted: Floats, k: int, prior_votes: float) -> Floats:
        shares = (counted + prior_votes * training.prior) / (k + prior_votes)
        return np.asarray(shares, np.float32)

    sizes = [k for k in _NEIGHBOURS if k <= len(chosen)] or [len(chosen)]
    held = training.held
    losses = [
        (held_out_loss(share(counted, k, m), held), k, m)
        for k, counted in zip(sizes, tally(held.x, sizes), strict=True)
        for m in _PRIOR_VOTES
    ]
    _, k, m = min(losses)
    return lambda rows: share(tally(rows, [k])[0], k, m)


def _principal(x: Floats) -> Callable[[Floats], Floats]:
    """Return the projection on the first principal axes of x; the identity where x is narrow."""
    if x.shape[1] <= _NEIGHBOUR_COLUMNS:
        return lambda rows: rows
    axes = np.linalg.svd(x - x.mean(axis=0), full_matrices=False)[2][:_NEIGHBOUR_COLUMNS].T
    return lambda rows: rows @ axes


def fit_counting(training: MemberRows, *, soft: bool = False) -> Classifier:
    """Fit the shares of the labels in each cell of a code, shrunk towards the prior.

    With m rows of prior in a cell of n rows, each with label c n_c times, the cell predicts
    (n_c + m prior_c) / (n + m): the posterior mean under a Dirichlet prior; an unseen cell predicts
    the prior. m has the lowest held-out loss. Unlike a plug-in estimate of I(Z;S), which counting
    biases upwards by about (cells - 1)(classes - 1) / 2n, this is a lower bound on new rows.

    With ``soft``, the prior of a cell is the mean of its rows' soft labels.
    """
    fit, held = training.fit, training.held
    first, cell = index_equal_rows(fit.x)
    counts = np.zeros((len(first), training.classes))
    np.add.at(counts, (cell, fit.labels), fit.weights)
    prior = np.tile(training.prior, (len(first), 1))
    if soft and fit.soft is not None:
        prior = np.zeros((len(first), training.classes))
        np.add.at(prior, cell, fit.soft * fit.weights[:, None])
        prior /= counts.sum(axis=1, keepdims=True)
    place = {key.tobytes(): i for i, key in enumerate(row_keys(fit.x[first]))}

    def look_up(rows: Floats, prior_rows: float) -> Floats:
        at = np.array([place.get(key.tobytes(), -1) for key in row_keys(rows)])
        rows_in = counts.sum(axis=1, keepdims=True)
        shares = (counts + prior_rows * prior) / (rows_in + prior_rows)
        return np.asarray(np.vstack([shares, training.prior])[at], dtype=np.float32)

    losses = [held_out_loss(look_up(held.x, m), held) for m in _PRIOR_ROWS]
    best = _PRIOR_ROWS[int(np.argmin(losses))]
    return lambda rows: look_up(rows, best)
