"""Iterated nullspace projection (Ravfogel et al. 2020, "Null It Out", arXiv:2004.07667).

Round after round, a linear classifier of s is fitted to the rest of x, and the directions it uses
are projected out (their algorithm 1):

    z = x - (x - E[x]) Q Q^T,     Q an orthonormal basis of all directions so far.

The knob is the number of rounds. One fit gives all of them, so the method is single-shot: its curve
has a point for each round.

Departures: the classifier is a ridge regression on one-hot s instead of an SVM, which takes
several groups at once and has a closed form; it minimises squares, not a classification loss.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from fairbench.api import (
    Curve,
    FitContext,
    Fitted,
    Floats,
    Ints,
    Knob,
    Method,
    Params,
    Point,
    Representation,
    Shots,
    TrainingRows,
    Unit,
)
from fairbench.hookspecs import hookimpl

MAX_ROUNDS = 15

_WEAK = 1e-3
"""Directions with less than this share of a classifier's weight are left in."""


class NullspaceParams(Params):
    """Hyperparameters of nullspace."""

    ridge: float = 1e-3
    """Penalty of the regression, in variances of a standardised column."""


class Nullspace(Method):
    """Projects out the directions of linear classifiers of s, one after the other."""

    name = "nullspace"
    summary = "iterated nullspace projection: removes the directions of linear classifiers of s"
    reference = "Ravfogel et al. 2020, arXiv:2004.07667"
    shots = Shots.SINGLE
    knobs = (Knob("rounds", 0, MAX_ROUNDS, "classifiers projected out; more is fairer"),)
    Params = NullspaceParams

    def search_space(self) -> Mapping[str, Any]:
        from optuna.distributions import FloatDistribution

        return {"ridge": FloatDistribution(1e-4, 1.0, log=True)}

    def fit(
        self, train: TrainingRows, units: Sequence[Unit], context: FitContext
    ) -> Sequence[Fitted]:
        x = train.x.astype(np.float64)
        mean = x.mean(axis=0)
        target = np.eye(len(train.info.groups))[train.s]
        target -= target.mean(axis=0)
        covariance = (x - mean).T @ (x - mean) / len(x)
        cross = (x - mean).T @ target / len(x)
        bases = [np.zeros((x.shape[1], 0))]
        while len(bases) <= MAX_ROUNDS and bases[-1].shape[1] < x.shape[1]:
            context.progress(len(bases) / MAX_ROUNDS, f"round {len(bases)}")
            basis = bases[-1]
            left = np.eye(x.shape[1]) - basis @ basis.T
            penalty = self.params.ridge * np.eye(x.shape[1])
            weights = left @ np.linalg.solve(left @ covariance @ left + penalty, left @ cross)
            directions, sizes, _ = np.linalg.svd(weights, full_matrices=False)
            strong = directions[:, sizes > _WEAK * max(sizes.max(), 1.0)]
            if not strong.shape[1]:
                break
            bases.append(np.linalg.qr(np.hstack([basis, strong]))[0])
        # Nothing is drawn: all seeds share one curve.
        return [NullspaceCurve(mean, bases) for _ in units]


class NullspaceCurve(Curve):
    """All rounds of one fit.

    Parameters
    ----------
    mean : ndarray, shape (d,)
    bases : sequence of ndarray, shape (d, directions)
        Of the directions projected out after 0, 1, ... rounds.
    """

    knob = Nullspace.knobs[0]

    def __init__(self, mean: np.ndarray, bases: Sequence[np.ndarray]) -> None:
        self.mean, self.bases = mean, bases
        self.points = tuple(Point.of(rounds=done) for done in range(len(bases)))

    def at(self, point: Point) -> Projected:
        return Projected(self.mean, self.bases[min(int(point["rounds"]), len(self.bases) - 1)])


class Projected(Representation):
    """x without the directions of a basis."""

    def __init__(self, mean: np.ndarray, basis: np.ndarray) -> None:
        self.mean, self.basis = mean, basis

    def encode(
        self, x: Floats, *, s: Ints | None = None, generator: np.random.Generator | None = None
    ) -> Floats:
        z: Floats = (x - (x - self.mean) @ self.basis @ self.basis.T).astype(np.float32)
        return z


@hookimpl
def register_methods() -> Sequence[type[Method]]:
    """Nullspace."""
    return [Nullspace]
