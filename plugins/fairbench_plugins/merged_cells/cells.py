"""Cells of x by k-means, and the shares of the groups in them."""

from __future__ import annotations

import math

import numpy as np

from fairbench.api import Floats, Ints
from fairbench_plugins.merged_cells.joining import Array

_ROUNDS, _PATIENCE = 200, 10
"""Of the boosted trees that estimate P(s | x)."""


def find_cells(x: Floats, count: int, seed: int) -> Floats:
    """Cut x ``(n, d)`` into at most ``count`` cells by k-means; return their centres."""
    from sklearn.cluster import MiniBatchKMeans

    distinct = len(np.unique(x, axis=0))
    model = MiniBatchKMeans(
        min(count, distinct), random_state=seed, n_init=1, batch_size=8192, max_iter=50
    ).fit(x)
    return np.unique(model.cluster_centers_.astype(np.float32), axis=0)


def cross_fitted(x: Floats, s: Ints, groups: int, folds: int) -> Array:
    """Estimate P(s | x) of each row by trees that were fitted without it, ``(n, groups)``.

    Of one fold: give the row's own group a 1.
    """
    from sklearn.ensemble import HistGradientBoostingClassifier
    from threadpoolctl import threadpool_limits

    if folds == 1:
        return np.eye(groups)[s]

    fold = np.random.default_rng(0).permutation(len(x)) % folds
    shares = np.zeros((len(x), groups))
    with threadpool_limits(1):
        for k in range(folds):
            here, others = fold == k, fold != k
            if len(np.unique(s[others])) < 2:
                shares[here] = np.bincount(s[others], minlength=groups) / max(others.sum(), 1)
                continue
            model = HistGradientBoostingClassifier(
                max_iter=_ROUNDS,
                early_stopping=_can_hold_out(s[others]),
                n_iter_no_change=_PATIENCE,
                random_state=0,
            ).fit(x[others], s[others])
            shares[np.ix_(np.flatnonzero(here), model.classes_)] = model.predict_proba(x[here])
    return shares


def _can_hold_out(s: Ints) -> bool:
    """Whether trees can hold out a tenth of the rows that has rows of every group."""
    counts = np.bincount(s)
    counts = counts[counts > 0]
    return bool(counts.min() > 1 and math.ceil(0.1 * len(s)) >= len(counts))


def nearest(centres: Floats, x: Floats) -> Ints:
    """Return the nearest centre of each row, whatever rows stand beside it."""
    from scipy.spatial import cKDTree

    return np.asarray(cKDTree(centres.astype(np.float64)).query(x.astype(np.float64))[1], np.int64)


def estimated_shares(x: Floats, s: Ints, groups: int, folds: int) -> Array:
    """Estimate P(s | x) of each row, ``(n, groups)``, never quite 0."""
    # Trees can be sure of a group; a cell without any of one has no mean for it.
    shares = np.clip(cross_fitted(x, s, groups, folds), 1e-4, None)
    return np.asarray(shares / shares.sum(1, keepdims=True))
