"""INLP (Ravfogel et al. 2020, "Null It Out: Guarding Protected Attributes by Iterative Nullspace
Projection", arXiv:2004.07667, algorithm 1). Round after round, logistic regression predicts s from
what is left of x, and the directions that it uses are projected out:

    z = x - Q Q^T (x - E[x]),     Q: an orthonormal basis of the directions of all rounds so far.

It ends where no linear classifier is better than the prior, by ``least`` nats of cross-entropy on
the training set. One fit gives all rounds. Departures: logistic regression for the authors' SVM; of
several groups a round takes the strongest ``directions`` = 1 of the classifier's and not all of
them, which would often be all columns of a table.

Nothing is drawn. A column of which less than 1e-6 of the variance is left is released as exactly
its mean: an auditor that rescales columns could read the rounding errors.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
from pydantic import Field

from fairbench.api import (
    Curve,
    DatasetInfo,
    FitContext,
    Fitted,
    Ints,
    Knob,
    Params,
    Point,
    Representation,
    Shots,
    TrainingRows,
    Unit,
)
from fairbench_plugins.erasure.common import (
    Array,
    Erasure,
    Flags,
    Projected,
    gone_columns,
    without,
)

_MAX_ROWS = 100_000
"""Rows that the classifiers of INLP are fitted on: every second, third, ... of more."""

_POINTS = 16
"""Most points of INLP's curve."""


class INLPParams(Params):
    """Hyperparameters of INLP."""

    rounds: int = Field(32, ge=1)
    """Most classifiers."""
    directions: int = Field(1, ge=1)
    """Most directions of one classifier that are projected out; of two groups there is one."""
    least: float = Field(1e-4, gt=0, allow_inf_nan=False)
    """Nats by which a classifier must beat the prior to go on."""


class INLP(Erasure):
    """Projects out the directions of linear classifiers, one after the other."""

    name = "inlp"
    summary = "iterated nullspace projection: removes the directions of linear classifiers of s"
    reference = "Ravfogel et al. 2020, arXiv:2004.07667"
    shots = Shots.SINGLE
    knobs = (Knob("rounds", 0, 512, "classifiers projected out; more is fairer", whole=True),)
    Params: ClassVar[type[Params]] = INLPParams

    def search_space(self) -> Mapping[str, Any]:
        from optuna.distributions import IntDistribution

        return {"directions": IntDistribution(1, 4)}

    def fit(
        self, train: TrainingRows, units: Sequence[Unit], context: FitContext
    ) -> Sequence[Fitted]:
        every = -(-len(train.x) // _MAX_ROWS)
        mean = train.x.mean(axis=0, dtype=np.float64)
        x, s = train.x[::every] - mean, train.s[::every]
        width, params = x.shape[1], self.params
        basis, ends = np.zeros((width, 0)), [0]
        while len(ends) <= params.rounds and basis.shape[1] < width:
            context.progress(len(ends) / (params.rounds + 1), f"round {len(ends)}")
            left = without(x, basis)
            weights, gain = _classifier(left, s)
            if gain < params.least:
                break
            weights = without(weights, basis)
            _, sizes, rows = np.linalg.svd(weights, full_matrices=False)
            most = min(params.directions, width - basis.shape[1])
            strong = rows[:most][sizes[:most] > 1e-3 * sizes[0]]
            if not len(strong):
                break
            basis = np.linalg.qr(np.hstack([basis, strong.T]))[0]
            ends.append(basis.shape[1])
        variances = ((train.x - mean) ** 2).mean(axis=0)
        gone = [gone_columns(x, basis[:, :end], variances) for end in ends]
        curve = _RoundsCurve(mean, basis, np.array(ends), np.array(gone))
        return [curve for _ in units]  # nothing is drawn: seeds share it

    def restore(self, state: Mapping[str, Any], unit: Unit, info: DatasetInfo) -> Curve:
        return _RoundsCurve(**state)


def _classifier(x: Array, s: Ints) -> tuple[Array, float]:
    """Weights (classes, d) of logistic regression, and nats by which it beats the prior."""
    from scipy.special import log_softmax
    from sklearn.linear_model import LogisticRegression

    known, s = np.unique(s, return_inverse=True)
    if len(known) == 1:
        return np.zeros((1, x.shape[1])), 0.0
    model = LogisticRegression(max_iter=500).fit(x, s)
    share = np.bincount(s) / len(s)
    scores = model.decision_function(x)
    if scores.ndim == 1:  # of two classes: the second's, the first's being 0
        scores = np.column_stack([np.zeros(len(s)), scores])
    # Of the scores: the probability of a row far out is 0 in floating point.
    log_p = log_softmax(scores, axis=1)[np.arange(len(s)), s]
    return np.asarray(model.coef_, np.float64), float((log_p - np.log(share[s])).mean())


class _RoundsCurve(Curve):
    """All rounds of INLP.

    Parameters
    ----------
    mean : ndarray, shape (d,)
    basis : ndarray, shape (d, directions)
        In the order in which they were projected out.
    ends : ndarray, shape (rounds + 1,)
        Directions that are gone after each number of rounds.
    gone : ndarray of bool, shape (rounds + 1, d)
        Columns of which nothing is left.
    """

    knob = INLP.knobs[0]

    def __init__(self, mean: Array, basis: Array, ends: Ints, gone: Flags) -> None:
        self.mean, self.basis, self.ends, self.gone = mean, basis, ends, gone
        rounds = np.unique(np.linspace(0, len(ends) - 1, _POINTS).round().astype(int))
        self.points = tuple(Point.of(rounds=int(done)) for done in rounds)

    def at(self, point: Point) -> Representation:
        done = min(int(point["rounds"]), len(self.ends) - 1)
        return Projected(self.mean, self.basis[:, : self.ends[done]], self.gone[done])

    def state(self) -> Mapping[str, Any]:
        return {name: getattr(self, name) for name in ("mean", "basis", "ends", "gone")}
