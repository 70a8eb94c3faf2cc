"""Honest probabilities: each member calibrated, and all of them blended, on held-out rows.

A classifier that is too sure of itself reads less than it knows, and one that learned nothing but
noise reads below zero. Both are put right on the held-out part of auditor-train, never on validation
or test.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from fairbench.api import Floats
from fairbench.auditing.auditors.samples import LabelledRows, Weights

_POWERS = (0.0, 0.25, 0.5, 0.7, 0.85, 1.0, 1.15, 1.3)
"""Trust in a member: 0 is the prior alone, 1 the member as it is, above 1 it was too timid."""
_SHARES = (0.001, 0.01, 0.05)
"""Shares of the prior mixed in."""
_RIDGE = 10.0
"""Rows that the best single member weighs for, in the pool."""


def calibrated(p: Floats, prior: Weights, power: float, share: float) -> Floats:
    """prior (p / prior)^power, normalised, with a share of the prior mixed in; ``(n, classes)``.

    Rows that a member has no finite answer for get the prior.
    """
    known = np.isfinite(p).all(axis=1, keepdims=True)
    p = np.where(known, p, prior)
    score = power * (np.log(np.maximum(p, 1e-9)) - np.log(prior)) + np.log(prior)
    score -= score.max(axis=1, keepdims=True)
    out = np.exp(score)
    out /= out.sum(axis=1, keepdims=True)
    return np.asarray((1 - share) * out + share * prior, dtype=np.float32)


def calibration(p: Floats, held: LabelledRows, prior: Weights) -> tuple[float, float]:
    """The power and the share with the lowest log loss on held-out rows."""
    rows = np.arange(len(held.labels))
    tried = []
    for power in _POWERS:
        sharp = calibrated(p, prior, power, 0.0)[rows, held.labels].astype(np.float64)
        for share in _SHARES:
            mixed = (1 - share) * sharp + share * prior[held.labels]
            tried.append((-float(np.average(np.log(mixed), weights=held.weights)), power, share))
    _, power, share = min(tried)
    return power, share


def pooled(members: Sequence[Floats], weights: Weights, prior: Weights) -> Floats:
    """prior * product of (p_m / prior)^w_m, normalised: a log-linear pool, ``(n, classes)``."""
    score = np.log(prior) + sum(
        w * _evidence(p, prior) for w, p in zip(weights, members, strict=True)
    )
    score -= score.max(axis=1, keepdims=True)
    out = np.exp(score)
    return np.asarray(out / out.sum(axis=1, keepdims=True), dtype=np.float32)


def pool_weights(members: Sequence[Floats], held: LabelledRows, prior: Weights) -> Weights:
    """Weights, none negative, of a log-linear pool with a low log loss on held-out rows.

    A ridge draws them to the best single member, the stronger the fewer the held-out rows.
    """
    from scipy.optimize import minimize

    evidence = np.stack([_evidence(p, prior) for p in members])
    share = held.weights / held.weights.sum()
    rows = np.arange(len(held.labels))
    target = np.eye(len(prior))[held.labels]
    single = [
        -float((share * np.log(np.maximum(p[rows, held.labels], 1e-9))).sum()) for p in members
    ]
    start = np.zeros(len(members))
    start[int(np.argmin(single))] = 1.0
    ridge = _RIDGE / held.total

    def loss(weights: Weights) -> tuple[float, Weights]:
        score = np.tensordot(weights, evidence, axes=1) + np.log(prior)
        score -= score.max(axis=1, keepdims=True)
        p = np.exp(score)
        p /= p.sum(axis=1, keepdims=True)
        off = weights - start
        value = -float((share * np.log(p[rows, held.labels])).sum()) + ridge * float(off @ off)
        slope = ((p - target) * share[:, None] * evidence).sum(axis=(1, 2)) + 2 * ridge * off
        return value, slope

    found = minimize(loss, start, jac=True, method="L-BFGS-B", bounds=[(0, None)] * len(start))
    return np.asarray(found.x, dtype=np.float64)


def _evidence(p: Floats, prior: Weights) -> Weights:
    return np.log(np.maximum(p.astype(np.float64), 1e-6)) - np.log(prior)
