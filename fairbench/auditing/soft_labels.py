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
from fairbench.data.prepare import Prepared

_MOST_COLUMNS = 512
"""Columns of x beyond which trees take minutes: images."""
_ROUNDS = 200
_PATIENCE = 10


def soft_labels(data: Prepared) -> Floats | None:
    """Estimate P(s | x) of the auditor training set from the encoder training set, ``(n, groups)``.

    None for images, and where the encoder training set has one group alone.
    """
    train, rows = data.roles[Role.ENCODER_TRAIN], data.roles[Role.AUDITOR_TRAIN]
    if train.pixels is not None or train.stored.shape[1] > _MOST_COLUMNS:
        return None
    if len(np.unique(train.s)) < 2:
        return None
    return estimate(train.x, train.s, rows.x, groups=len(data.info.groups))


def estimate(x: Floats, s: Ints, rows: Floats, *, groups: int) -> Floats:
    """Fit boosted trees to x ``(n, d)`` and s ``(n,)``; return P(s | x) of ``rows (m, d)``.

    An MLP takes their place where it predicts held-out rows better, though the trees were fitted
    to these as well: trees learn nothing of s where no single column tells of it, as of a parity.
    """
    # Here, as the driver of a run imports this module and needs neither of these libraries.
    from sklearn.ensemble import HistGradientBoostingClassifier
    from threadpoolctl import threadpool_limits

    from fairbench.auditing.auditors.mlp import fit_weighted_classifiers
    from fairbench.auditing.auditors.samples import training
    from fairbench.auditing.auditors.simple import held_out_loss
    from fairbench.auditing.config import AuditConfig
    from fairbench.auditing.members import strict_mlp_settings

    model = HistGradientBoostingClassifier(
        max_iter=_ROUNDS, early_stopping=True, n_iter_no_change=_PATIENCE, random_state=0
    )
    parts = training(x, s, classes=groups, seed=0)

    def by_trees(rows: Floats) -> Floats:
        out = np.zeros((len(rows), groups), np.float32)
        out[:, model.classes_] = model.predict_proba(rows)
        return out

    # One thread: .3 s. Two that wait for each other beside busy jobs take a hundred times as long.
    with threadpool_limits(1):
        model.fit(x, s)
        by_mlp = fit_weighted_classifiers(
            parts, settings=strict_mlp_settings(AuditConfig()), seeds=[0]
        )
        candidates: list[Callable[[Floats], Floats]] = [by_trees, lambda rows: by_mlp(rows)[0]]
        best = min(candidates, key=lambda one: held_out_loss(one(parts.held.x), parts.held))
        return best(rows)
