"""LEACE (Belrose et al. 2023, "LEACE: Perfect linear concept erasure in closed form").

The least change of x, in expected squares, after which no linear classifier predicts s better than
a constant does (theorem 4.3):

    z = x - W^+ P W (x - E[x])

with W = (cov(x)^{1/2})^+ the whitening of x and P the orthogonal projection onto the column space
of W cov(x, onehot(s)). Fitted on moments alone: nothing is trained, and there is no knob. Nonlinear
classifiers are not bounded by it; the audits use them.

Where s has as many contrasts as x has dimensions, nothing of x is left but rounding errors, and an
auditor that rescales columns can read them. So a column of z with less than 1e-6 of the variance of
its column of x is released as exactly 0, its mean up to rounding: x is standardised. For the same
reason directions of x with less than 1e-6 of the largest variance, which W leaves out, have their
mean in z.

No other departure: the method is unsupervised in y as published. It has no decoder; the suite's is
used.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from fairbench.api import (
    DatasetInfo,
    FitContext,
    Fitted,
    Floats,
    Ints,
    Method,
    Representation,
    TrainingRows,
    Unit,
)
from fairbench.hookspecs import hookimpl

_MAX_CELLS = 100_000_000
"""Rows times features that moments are computed from."""

_RANK = 1e-6
"""Eigenvalues of cov(x) below this share of the largest count as zero."""


class LEACE(Method):
    """Linear erasure."""

    name = "leace"
    summary = "closed form: the least change of x that blinds every linear classifier of s"
    reference = "Belrose et al. 2023, arXiv:2306.03819"

    def fit(
        self, train: TrainingRows, units: Sequence[Unit], context: FitContext
    ) -> Sequence[Fitted]:
        every = max(1, train.x.size // _MAX_CELLS)  # of images, moments of a part
        x = train.x[::every].astype(np.float64)
        mean = x.mean(axis=0)
        centred = x - mean
        s = np.eye(len(train.info.groups))[train.s[::every]]
        covariance = centred.T @ centred / len(x)
        values, vectors = np.linalg.eigh(covariance)
        alive = values > _RANK * values.max()
        root = np.sqrt(values[alive])
        whiten = vectors[:, alive] / root  # W = whiten @ whiten's basis; kept in eigenbasis
        cross = whiten.T @ (centred.T @ (s - s.mean(axis=0)) / len(x))
        left, singular, _ = np.linalg.svd(cross, full_matrices=False)
        left = left[:, singular > _RANK * max(singular.max(), 1.0)]
        # P W (x - E[x]) in the eigenbasis, then back by W^+.
        erase = (whiten @ left) @ (left.T * root) @ vectors[:, alive].T
        erase += vectors[:, ~alive] @ vectors[:, ~alive].T
        keep = np.eye(len(erase)) - erase
        left_over = (keep * (covariance @ keep)).sum(axis=0)  # variances of z
        gone = left_over < _RANK * np.diag(covariance)
        return [_Erased(mean, erase, gone) for _ in units]

    def restore(self, state: Mapping[str, Any], unit: Unit, info: DatasetInfo) -> Representation:
        gone = state.get("gone", np.zeros(len(state["mean"]), bool))  # not stored by version 0.1
        return _Erased(state["mean"], state["erase"], gone)


class _Erased(Representation):
    """z = x - (x - mean) @ erase, and 0 in columns of which nothing is left."""

    def __init__(self, mean: np.ndarray, erase: np.ndarray, gone: np.ndarray) -> None:
        self.mean, self.erase, self.gone = mean, erase, gone

    def encode(
        self, x: Floats, *, s: Ints | None = None, generator: np.random.Generator | None = None
    ) -> Floats:
        z: Floats = (x - (x - self.mean) @ self.erase).astype(np.float32)
        z[:, self.gone] = 0.0
        return z

    def state(self) -> Mapping[str, Any]:
        return {"mean": self.mean, "erase": self.erase, "gone": self.gone}


@hookimpl
def register_methods() -> Sequence[type[Method]]:
    """LEACE."""
    return [LEACE]
