"""Recalibrate a member's probabilities: temperature and a share of the prior.

An overconfident classifier gives too low an estimate, and one that learned only noise gives a
negative one. Both are corrected on the held-out part of the auditor training set, never on the
validation or test set.
"""

from __future__ import annotations

import numpy as np
from scipy.special import softmax

from fairbench.api import Floats
from fairbench.auditing.auditors.samples import LabelledRows, Weights

_POWERS = (0.0, 0.25, 0.5, 0.7, 0.85, 1.0, 1.15, 1.3)
"""Exponents of a member: 0 is the prior alone, 1 the member as it is, above 1 sharper."""
_SHARES = (0.001, 0.01, 0.05)
"""Shares of the prior mixed in."""


def recalibrate(p: Floats, prior: Weights, power: float, share: float) -> Floats:
    """Return prior (p / prior)^power, normalised, mixed with some of the prior; ``(n, classes)``.

    Rows without a finite prediction get the prior.
    """
    p = np.where(np.isfinite(p).all(axis=1, keepdims=True), p, prior)
    score = power * (np.log(np.maximum(p, 1e-9)) - np.log(prior)) + np.log(prior)
    return np.asarray((1 - share) * softmax(score, axis=1) + share * prior, dtype=np.float32)


def fit_recalibration(p: Floats, held: LabelledRows, prior: Weights) -> tuple[float, float]:
    """Return the power and the share with the lowest log loss on held-out rows."""
    rows = np.arange(len(held.labels))
    losses = []
    for power in _POWERS:
        sharp = recalibrate(p, prior, power, 0.0)[rows, held.labels].astype(np.float64)
        for share in _SHARES:
            mixed = (1 - share) * sharp + share * prior[held.labels]
            losses.append((-float(np.average(np.log(mixed), weights=held.weights)), power, share))
    _, power, share = min(losses)
    return power, share
