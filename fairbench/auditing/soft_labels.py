"""Soft labels: P(s | x), for auditors to learn instead of s.

Where the encoder sees x alone, s - x - z is a Markov chain, so P(s | z) is the mean of P(s | x)
over the rows with that z. An auditor that learns P(s | x) estimates the same as one that learns s,
with less variance. Only fits use soft labels: early stopping, calibration, the choice on the
validation set and all figures use s itself. A poor estimate of P(s | x) makes an auditor read less,
never more.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from fairbench.api import Floats, Ints, Role
from fairbench.auditing.config import MAX_COLUMNS, AuditConfig
from fairbench.data.prepared import Prepared

_ROUNDS = 200
_PATIENCE = 10
_FOLDS = 5


def has_soft_labels(data: Prepared) -> bool:
    """Whether soft labels are estimated: not of images, nor where x is of one group alone."""
    train = data.roles[Role.ENCODER_TRAIN]
    if train.pixels is not None or train.stored.shape[1] > MAX_COLUMNS:
        return False
    return len(np.unique(train.s)) > 1


def soft_labels(data: Prepared) -> Floats | None:
    """Estimate P(s | x) of the auditor training set from the encoder training set, ``(n, groups)``.

    None where :func:`has_soft_labels` says so.
    """
    if not has_soft_labels(data):
        return None
    train, rows = data.roles[Role.ENCODER_TRAIN], data.roles[Role.AUDITOR_TRAIN]
    return estimate(train.x, train.s, rows.x, groups=len(data.info.groups))


def estimate(x: Floats, s: Ints, rows: Floats, *, groups: int) -> Floats:
    """Fit classifiers to x ``(n, d)`` and s ``(n,)``; return P(s | x) of ``rows (m, d)``.

    Boosted trees and an MLP are fitted to all rows but a fifth, five times. The means of the five
    trees, of the five MLPs, and of all ten are compared by their log loss, each on the fifth that
    its parts were not fitted to; the best is used. Trees learn nothing of s where no single column
    tells of it, as of a parity; MLPs learn less of most tables; the mean is best on small ones.
    """
    # Here, as the driver of a run imports this module and needs none of it.
    from threadpoolctl import threadpool_limits

    from fairbench.auditing.auditors.mlp import fit_weighted_classifiers
    from fairbench.auditing.auditors.samples import make_member_rows
    from fairbench.auditing.auditors.trees import Boosting, fit_trees
    from fairbench.auditing.members import strict_mlp_settings
    from fairbench.stats.scores import log_loss

    settings = strict_mlp_settings(AuditConfig())
    folds = _folds(s)
    used = np.unique(folds[folds >= 0])
    losses = np.zeros(3)
    wanted = np.zeros((3, len(rows), groups), np.float32)
    # One thread: two that wait for each other beside busy jobs take a hundred times as long.
    with threadpool_limits(1):
        for fold in used:
            held = np.flatnonzero(folds == fold)
            fit_and_held_out = (np.flatnonzero(folds != fold), held)
            parts = make_member_rows(x, s, classes=groups, fit_and_held_out=fit_and_held_out)
            trees = fit_trees(parts, Boosting(_ROUNDS, _PATIENCE, int(fold)))
            mlp = fit_weighted_classifiers(parts, settings=settings, seeds=[fold])
            losses += [log_loss(p, s[held]).sum() for p in _candidates(trees, mlp, x[held])]
            wanted += _candidates(trees, mlp, rows)
    return np.asarray(wanted[int(np.argmin(losses))] / len(used), np.float32)


def _candidates(
    trees: Callable[[Floats], Floats], mlp: Callable[[Floats], Floats], rows: Floats
) -> Floats:
    """Return P(s | x) by trees, by an MLP, and their mean, ``(3, n, groups)``."""
    one, other = trees(rows), mlp(rows)[0]
    return np.stack([one, other, (one + other) / 2])


def _folds(s: Ints) -> Ints:
    """Return the fold of each row: each group has rows in all, as far as they go.

    The only row of a group is in none, -1: a classifier has to know each group it is tested on.
    """
    order = np.lexsort((np.random.default_rng(0).random(len(s)), s))
    folds = np.empty(len(s), np.int64)
    folds[order] = np.arange(len(s)) % _FOLDS
    folds[np.bincount(s)[s] < 2] = -1
    return folds
