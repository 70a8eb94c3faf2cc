"""Calibrate each member's probabilities, and blend all members, on held-out rows.

An overconfident classifier gives too low an estimate, and one that learned only noise gives a
negative one. Both are corrected on the held-out part of the auditor training set, never on the
validation or test set.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from fairbench.api import Floats
from fairbench.auditing.auditors.samples import LabelledRows, Weights
from fairbench.auditing.auditors.simple import held_out_loss

_POWERS = (0.0, 0.25, 0.5, 0.7, 0.85, 1.0, 1.15, 1.3)
"""Exponents of a member: 0 is the prior alone, 1 the member as it is, above 1 sharper."""
_SHARES = (0.001, 0.01, 0.05)
"""Shares of the prior mixed in."""
_RIDGE = 10.0
"""Strength of the pull towards the best single member, in rows."""
_SURE = 3.5
"""By which an auditor must add to another: in standard errors, by likelihood."""


def calibrated(p: Floats, prior: Weights, power: float, share: float) -> Floats:
    """Return prior (p / prior)^power, normalised, mixed with some of the prior; ``(n, classes)``.

    Rows without a finite prediction get the prior.
    """
    p = np.where(np.isfinite(p).all(axis=1, keepdims=True), p, prior)
    score = power * (np.log(np.maximum(p, 1e-9)) - np.log(prior)) + np.log(prior)
    score -= score.max(axis=1, keepdims=True)
    out = np.exp(score)
    out /= out.sum(axis=1, keepdims=True)
    return np.asarray((1 - share) * out + share * prior, dtype=np.float32)


def calibration(p: Floats, held: LabelledRows, prior: Weights) -> tuple[float, float]:
    """Return the power and the share with the lowest log loss on held-out rows."""
    rows = np.arange(len(held.labels))
    losses = []
    for power in _POWERS:
        sharp = calibrated(p, prior, power, 0.0)[rows, held.labels].astype(np.float64)
        for share in _SHARES:
            mixed = (1 - share) * sharp + share * prior[held.labels]
            losses.append((-float(np.average(np.log(mixed), weights=held.weights)), power, share))
    _, power, share = min(losses)
    return power, share


def pooled(members: Sequence[Floats], weights: Weights, prior: Weights) -> Floats:
    """Pool log-linearly: prior * product of (p_m / prior)^w_m, normalised; ``(n, classes)``."""
    score = np.log(prior) + sum(
        w * _evidence(p, prior) for w, p in zip(weights, members, strict=True)
    )
    score -= score.max(axis=1, keepdims=True)
    out = np.exp(score)
    return np.asarray(out / out.sum(axis=1, keepdims=True), dtype=np.float32)


def pool_weights(members: Sequence[Floats], held: LabelledRows, prior: Weights) -> Weights:
    """Fit the weights of a log-linear pool, none negative, by log loss on held-out rows.

    A ridge penalty pulls them to the best single member, more so with fewer held-out rows.
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

    result = minimize(loss, start, jac=True, method="L-BFGS-B", bounds=[(0, None)] * len(start))
    return np.asarray(result.x, dtype=np.float64)


def adds(q: Floats, p: Floats, held: LabelledRows, prior: Weights) -> bool:
    """Whether probabilities q add to an auditor's p on held-out rows, by 3.5 standard errors.

    By a likelihood-ratio test: of the pool of both against that auditor alone.
    """
    alone, both = (
        held_out_loss(pooled(members, pool_weights(members, held, prior), prior), held)
        for members in ([p], [p, q])
    )
    return (alone - both) * held.total > _SURE**2 / 2


def _evidence(p: Floats, prior: Weights) -> Weights:
    return np.log(np.maximum(p.astype(np.float64), 1e-6)) - np.log(prior)
