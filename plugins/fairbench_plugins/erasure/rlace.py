"""R-LACE (Ravfogel et al. 2022, "Linear Adversarial Concept Erasure", arXiv:2201.12091). A
game over the projection P of rank k that is taken out of x, against a linear classifier theta:

    min_theta  max_P  E[-log softmax(theta^T (I - P) (x - E[x]) + b)_s],
    P in the Fantope {0 <= P <= I, trace P = k},

a relaxation of the projections of rank k. Both sides take gradient steps on batches; after each, P
is projected back: the eigenvalues are shifted and clipped to [0, 1] until they sum to k. At the end
of it P is rounded to its k leading eigenvectors. Of the P along the way the one is used after which
linear regression explains least of s; the authors use a classifier's accuracy on held-out rows. A
k as large as the number of columns leaves nothing. Departures: steps are normalised by the
gradients' running size (RMSprop without momentum, one number for each side), since one rate has to
suit all tables; P starts at (k / d) I.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
from pydantic import Field

from fairbench.api import (
    DatasetInfo,
    FitContext,
    Fitted,
    Knob,
    Params,
    Point,
    Representation,
    TrainingRows,
    Unit,
)
from fairbench_plugins.erasure.common import (
    RANK,
    Array,
    Erasure,
    Projected,
    gone_columns,
)

RANKS = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32)
"""Points of R-LACE."""


class RLACEParams(Params):
    """Hyperparameters of R-LACE."""

    steps: int = Field(2000, ge=1)
    """Steps of each side."""
    batch_size: int = Field(1024, ge=1)
    """Rows per step."""
    rate: float = Field(0.03, gt=0, allow_inf_nan=False)
    """Size of a step of theta; it falls to zero along a half cosine."""
    projection_rate: float = Field(0.03, gt=0, allow_inf_nan=False)
    """Size of a step of P, likewise."""
    decay: float = Field(1e-3, ge=0, allow_inf_nan=False)
    """Price of squared weights of theta."""


class RLACE(Erasure):
    """Plays for the projection after which the best linear classifier is worst."""

    name = "rlace"
    summary = "linear adversarial erasure: a game over the projection of rank k that is removed"
    reference = "Ravfogel et al. 2022, arXiv:2201.12091"
    knobs = (
        Knob(
            "rank",
            1,
            RANKS[-1],
            "dimensions removed; more is fairer",
            limits=(1, math.inf),
            whole=True,
        ),
    )
    Params: ClassVar[type[Params]] = RLACEParams
    most_features = 256  # each step of the game decomposes a matrix of features by features

    def points(self) -> tuple[Point, ...]:
        """Ten."""
        return tuple(Point.of(rank=rank) for rank in RANKS)

    def search_space(self) -> Mapping[str, Any]:
        from optuna.distributions import FloatDistribution

        return {
            "rate": FloatDistribution(3e-3, 0.3, log=True),
            "projection_rate": FloatDistribution(3e-3, 0.3, log=True),
        }

    def fit(
        self, train: TrainingRows, units: Sequence[Unit], context: FitContext
    ) -> Sequence[Fitted]:
        mean = train.x.mean(axis=0, dtype=np.float64)
        centred = train.x - mean
        onehot = np.eye(len(train.info.groups))[train.s]
        variances = (centred**2).mean(axis=0)
        fitted = []
        for done, unit in enumerate(units):
            assert unit.point is not None
            rank = min(int(unit.point["rank"]), centred.shape[1])
            rng = np.random.default_rng([unit.seed, rank])
            basis = _play(centred, onehot, rank, self.params, rng)
            fitted.append(Projected(mean, basis, gone_columns(centred, basis, variances)))
            context.progress((done + 1) / len(units), unit.point.label)
        return fitted

    def restore(self, state: Mapping[str, Any], unit: Unit, info: DatasetInfo) -> Representation:
        return Projected(**state)


def _play(x: Array, onehot: Array, rank: int, params: Any, rng: np.random.Generator) -> Array:
    """Directions to remove, ``(d, rank)``."""
    rows, width = x.shape
    if rank == width:
        return np.eye(width)
    groups = onehot.shape[1]
    explained = _Explained(x, onehot)
    projection = np.eye(width) * rank / width
    theta, bias = np.zeros((width, groups)), np.log(onehot.mean(axis=0) + 1e-12)
    sizes = [0.0, 0.0]
    best, least = np.eye(width)[:, :rank], np.inf
    looks = np.unique(np.linspace(0, params.steps, 41).astype(int)[1:]) - 1
    for step in range(params.steps):
        batch = rng.integers(0, rows, min(params.batch_size, rows))
        part = x[batch]
        seen = part - part @ projection
        error = _softmax(seen @ theta + bias) - onehot[batch]
        error /= len(batch)
        to_theta = seen.T @ error + params.decay * theta
        to_projection = part.T @ error @ theta.T  # minus the gradient of the loss: it is raised
        to_projection = -(to_projection + to_projection.T) / 2
        falling = 0.5 * (1 + np.cos(np.pi * step / params.steps))
        moves = []
        for side, gradient in enumerate((to_theta, to_projection)):
            sizes[side] = 0.99 * sizes[side] + 0.01 * float((gradient**2).sum())
            size = np.sqrt(sizes[side] / (1 - 0.99 ** (step + 1)))
            moves.append(falling * gradient / max(size, 1e-12))
        theta = theta - params.rate * moves[0]
        bias = bias - params.rate * falling * error.sum(axis=0)
        projection = to_fantope(projection + params.projection_rate * moves[1], rank)
        if step in looks:
            leading = np.linalg.eigh(projection)[1][:, width - rank :]
            if (share := explained.after(leading)) < least:
                best, least = leading, share
    return best


def _softmax(logits: Array) -> Array:
    powers = np.exp(logits - logits.max(axis=1, keepdims=True))
    out: Array = powers / powers.sum(axis=1, keepdims=True)
    return out


def to_fantope(matrix: Array, rank: int) -> Array:
    """The nearest symmetric matrix with eigenvalues in [0, 1] that sum to ``rank``.

    Its eigenvectors are the matrix's own, its eigenvalues clip(values - shift, 0, 1) (Vu et al.
    2013, "Fantope Projection and Selection"). The sum falls with the shift, piecewise
    linearly, so the shift is found between the kinks.
    """
    values, vectors = np.linalg.eigh(matrix)
    kinks = np.sort(np.concatenate([values, values - 1]))
    sums = np.clip(values - kinks[:, None], 0, 1).sum(axis=1)
    shift = np.interp(-rank, -sums, kinks)
    out: Array = (vectors * np.clip(values - shift, 0, 1)) @ vectors.T
    return out


class _Explained:
    """Share of s that linear regression explains, from moments."""

    def __init__(self, x: Array, onehot: Array) -> None:
        target = onehot - onehot.mean(axis=0)
        self.covariance = x.T @ x / len(x)
        self.cross = x.T @ target / len(x)
        self.total = max(float((target**2).mean(axis=0).sum()), 1e-12)

    def after(self, removed: Array) -> float:
        """After the projection onto some directions is removed."""
        keep = np.eye(len(removed)) - removed @ removed.T
        values, vectors = np.linalg.eigh(keep @ self.covariance @ keep)
        alive = values > RANK * np.trace(self.covariance)
        seen = vectors[:, alive].T @ self.cross
        return float((seen**2 / values[alive][:, None]).sum()) / self.total
