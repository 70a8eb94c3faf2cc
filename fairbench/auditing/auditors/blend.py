"""Blend all members of a family, and say what a member adds, on held-out rows."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.special import softmax

from fairbench.api import Floats
from fairbench.auditing.auditors.samples import LabelledRows, Weights
from fairbench.auditing.auditors.simple import held_out_loss

_RIDGE = 10.0
"""Strength of the pull towards the best single member, in rows."""
_SURE = 3.5
"""By which an auditor must add to another: in standard errors, by likelihood."""


def pooled(members: Sequence[Floats], weights: Weights, prior: Weights) -> Floats:
    """Pool log-linearly: prior * product of (p_m / prior)^w_m, normalised; ``(n, classes)``."""
    score = np.log(prior) + sum(
        w * _evidence(p, prior) for w, p in zip(weights, members, strict=True)
    )
    return np.asarray(softmax(score, axis=1), dtype=np.float32)


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
        p = softmax(np.tensordot(weights, evidence, axes=1) + np.log(prior), axis=1)
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
