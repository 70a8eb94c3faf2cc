"""Concept erasure beside LEACE: INLP, R-LACE, and QLEACE, which sees s.

INLP (Ravfogel et al. 2020, "Null It Out: Guarding Protected Attributes by Iterative Nullspace
Projection", arXiv:2004.07667, algorithm 1). Round after round, logistic regression predicts s from
what is left of x, and the directions that it uses are projected out:

    z = x - Q Q^T (x - E[x]),     Q: an orthonormal basis of the directions of all rounds so far.

It ends where no linear classifier is better than the prior, by ``least`` nats of cross-entropy on
the training set. One fit gives all rounds. Departures: logistic regression for the authors' SVM; of
several groups a round takes the strongest ``directions`` = 1 of the classifier's and not all of
them, which would often be all columns of a table.

R-LACE (Ravfogel et al. 2022, "Linear Adversarial Concept Erasure", arXiv:2201.12091). A
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

QLEACE (Quirke and Belrose 2025, "Slowing Learning by Erasing Simple Features", arXiv:2502.02820):
each group is carried to one mean and one covariance by the optimal transport of Gaussians, so that
no quadratic function tells the groups apart,

    z = E[x] + A_s (x - E[x|s]),     A_s = C^{1/2} (C^{1/2} C_s C^{1/2})^{-1/2} C^{1/2},

where C is the Wasserstein barycentre of the groups' covariances C_s with their shares as weights,
by the fixed-point iteration of Alvarez-Esteban et al. 2016 (doi:10.1016/j.jmaa.2016.04.045). It is
the least change of x, in squares, that does this. The encoder has to know s: aware track. The
decoder inverts it. It can add information on s that is not quadratic: of values on a lattice, each
group gets a lattice of its own. Departures: C_s is estimated as if the group had one more row, with
the pooled covariance, so that A_s exists for small groups; so covariances are equal up to one part
in so many rows, but for directions in which a group does not vary at all, where no linear map can
make it vary. Directions in which no group varies are dropped.

INLP and QLEACE draw nothing. A column of which less than 1e-6 of the variance is left is released
as exactly its mean: an auditor that rescales columns could read the rounding errors.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
from pydantic import Field

from fairbench.api import (
    Curve,
    DatasetInfo,
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
    Track,
    TrainingRows,
    Unit,
)
from fairbench.hookspecs import hookimpl

Array = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]

RANKS = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32)
"""Points of R-LACE."""

_MOST_FEATURES = 512
_MOST_FEATURES_OF_A_GAME = 256
"""Each step of the game decomposes a matrix of features by features."""

_MOST_ROWS = 100_000
"""Rows that the classifiers of INLP are fitted on: every second, third, ... of more."""

_POINTS = 16
"""Most points of INLP's curve."""

_MOST_STEPS = 200
"""Of the barycentre's iteration, which takes some ten."""

_RANK = 1e-6
"""Eigenvalues below this share of the largest count as zero."""


class _Erasure(Method):
    most_features: ClassVar[int] = _MOST_FEATURES

    def supports(self, info: DatasetInfo) -> str | None:
        count = len(info.features)
        if count > self.most_features:
            return f"it takes at most {self.most_features} features; {info.name} has {count}"
        return None


class INLPParams(Params):
    """Hyperparameters of INLP."""

    rounds: int = Field(32, ge=1)
    """Most classifiers."""
    directions: int = Field(1, ge=1)
    """Most directions of one classifier that are projected out; of two groups there is one."""
    least: float = Field(1e-4, gt=0, allow_inf_nan=False)
    """Nats by which a classifier must beat the prior to go on."""


class INLP(_Erasure):
    """Projects out the directions of linear classifiers, one after the other."""

    name = "inlp"
    summary = "iterated nullspace projection: removes the directions of linear classifiers of s"
    reference = "Ravfogel et al. 2020, arXiv:2004.07667"
    shots = Shots.SINGLE
    knobs = (Knob("rounds", 0, 512, "classifiers projected out; more is fairer"),)
    Params: ClassVar[type[Params]] = INLPParams

    def search_space(self) -> Mapping[str, Any]:
        from optuna.distributions import IntDistribution

        return {"directions": IntDistribution(1, 4)}

    def fit(
        self, train: TrainingRows, units: Sequence[Unit], context: FitContext
    ) -> Sequence[Fitted]:
        every = -(-len(train.x) // _MOST_ROWS)
        mean = train.x.mean(axis=0, dtype=np.float64)
        x, s = train.x[::every] - mean, train.s[::every]
        width, params = x.shape[1], self.params
        basis, ends = np.zeros((width, 0)), [0]
        while len(ends) <= params.rounds and basis.shape[1] < width:
            context.progress(len(ends) / (params.rounds + 1), f"round {len(ends)}")
            left = _without(x, basis)
            weights, gain = _classifier(left, s)
            if gain < params.least:
                break
            weights = _without(weights, basis)
            _, sizes, rows = np.linalg.svd(weights, full_matrices=False)
            most = min(params.directions, width - basis.shape[1])
            strong = rows[:most][sizes[:most] > 1e-3 * sizes[0]]
            if not len(strong):
                break
            basis = np.linalg.qr(np.hstack([basis, strong.T]))[0]
            ends.append(basis.shape[1])
        variances = ((train.x - mean) ** 2).mean(axis=0)
        gone = [_gone(x, basis[:, :end], variances) for end in ends]
        curve = _RoundsCurve(mean, basis, np.array(ends), np.array(gone))
        return [curve for _ in units]  # nothing is drawn: seeds share it

    def restore(self, state: Mapping[str, Any], unit: Unit, info: DatasetInfo) -> Curve:
        return _RoundsCurve(**state)


def _without(x: Array, basis: Array) -> Array:
    out: Array = x - (x @ basis) @ basis.T
    return out


def _gone(centred: Array, basis: Array, variances: Array) -> Flags:
    """Columns of which nothing is left."""
    left = (_without(centred, basis) ** 2).mean(axis=0)
    gone: Flags = left < _RANK * variances
    return gone


def _classifier(x: Array, s: Ints) -> tuple[Array, float]:
    """Weights (classes, d) of logistic regression, and nats by which it beats the prior."""
    from sklearn.linear_model import LogisticRegression

    known, s = np.unique(s, return_inverse=True)
    if len(known) == 1:
        return np.zeros((1, x.shape[1])), 0.0
    model = LogisticRegression(max_iter=500).fit(x, s)
    share = np.bincount(s) / len(s)
    log_p = model.predict_log_proba(x)[np.arange(len(s)), s]
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
        return _Projected(self.mean, self.basis[:, : self.ends[done]], self.gone[done])

    def state(self) -> Mapping[str, Any]:
        return {name: getattr(self, name) for name in ("mean", "basis", "ends", "gone")}


class _Projected(Representation):
    """x without the directions of a basis, and the mean in columns of which nothing is left."""

    def __init__(self, mean: Array, basis: Array, gone: Flags) -> None:
        self.mean, self.basis, self.gone = mean, basis, gone

    def encode(
        self, x: Floats, *, s: Ints | None = None, generator: np.random.Generator | None = None
    ) -> Floats:
        z: Floats = (x - ((x - self.mean) @ self.basis) @ self.basis.T).astype(np.float32)
        z[:, self.gone] = self.mean[self.gone]
        return z

    def state(self) -> Mapping[str, Any]:
        return vars(self)


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


class RLACE(_Erasure):
    """Plays for the projection after which the best linear classifier is worst."""

    name = "rlace"
    summary = "linear adversarial erasure: a game over the projection of rank k that is removed"
    reference = "Ravfogel et al. 2022, arXiv:2201.12091"
    knobs = (Knob("rank", 1, RANKS[-1], "dimensions removed; more is fairer"),)
    Params: ClassVar[type[Params]] = RLACEParams
    most_features = _MOST_FEATURES_OF_A_GAME

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
            fitted.append(_Projected(mean, basis, _gone(centred, basis, variances)))
            context.progress((done + 1) / len(units), unit.point.label)
        return fitted

    def restore(self, state: Mapping[str, Any], unit: Unit, info: DatasetInfo) -> Representation:
        return _Projected(**state)


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
            leading = np.linalg.eigh(projection)[1][:, -rank:]
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
        alive = values > _RANK * np.trace(self.covariance)
        seen = vectors[:, alive].T @ self.cross
        return float((seen**2 / values[alive][:, None]).sum()) / self.total


class QLEACE(_Erasure):
    """Gives all groups the same mean and covariance."""

    name = "qleace"
    summary = "closed form: the least change, given s, to one mean and covariance of all groups"
    reference = "Quirke and Belrose 2025, arXiv:2502.02820"
    track = Track.AWARE
    has_decoder = True

    def fit(
        self, train: TrainingRows, units: Sequence[Unit], context: FitContext
    ) -> Sequence[Fitted]:
        groups = len(train.info.groups)
        mean = train.x.mean(axis=0, dtype=np.float64)
        centred = train.x - mean
        onehot = np.eye(groups)[train.s]
        count = onehot.sum(axis=0)
        centres = onehot.T @ centred / np.maximum(count, 1)[:, None]
        within = centred - centres[train.s]
        pooled = within.T @ within / len(within)
        values, axes = np.linalg.eigh(pooled)
        axes = axes[:, values > _RANK * max(values.max(), 1e-12)]
        pooled = axes.T @ pooled @ axes
        own = [within[train.s == group] @ axes for group in range(groups)]
        covariances = np.stack(
            [(x.T @ x + pooled) / (n + 1) for x, n in zip(own, count, strict=True)]
        )
        barycentre = find_barycentre(covariances, count / count.sum())
        maps = transport_maps(covariances, barycentre)
        left = ((axes @ barycentre) * axes).sum(axis=1)  # variances of z
        fitted = _Transported(
            mean=mean,
            centres=mean + centres,
            axes=axes,
            forward=maps,
            back=np.linalg.inv(maps).astype(np.float64),
            gone=left < _RANK * (centred**2).mean(axis=0),
        )
        return [fitted for _ in units]  # nothing is drawn: seeds share it

    def restore(self, state: Mapping[str, Any], unit: Unit, info: DatasetInfo) -> Representation:
        return _Transported(**state)


def find_barycentre(covariances: Array, weights: Array) -> Array:
    """The Wasserstein barycentre of Gaussians with one mean, ``(k, k)``."""
    mean: Array = np.einsum("g,gij->ij", weights, covariances)
    for _ in range(_MOST_STEPS):
        root, inverse = _roots(mean)
        middle = np.einsum("g,gij->ij", weights, _roots(root @ covariances @ root)[0])
        before, mean = mean, inverse @ middle @ middle @ inverse
        if np.abs(mean - before).max(initial=0.0) <= 1e-12 * np.abs(mean).max(initial=0.0):
            break
    return mean


def transport_maps(covariances: Array, target: Array) -> Array:
    """Optimal maps of centred Gaussians to one of them, symmetric, ``(groups, k, k)``."""
    root, _ = _roots(target)
    maps: Array = root @ _roots(root @ covariances @ root)[1] @ root
    return maps


def _roots(matrices: Array) -> tuple[Array, Array]:
    """Square roots of symmetric positive matrices, and the inverses of these."""
    values, vectors = np.linalg.eigh(matrices)
    root = np.sqrt(np.maximum(values, 1e-300))[..., None, :]
    turned = np.swapaxes(vectors, -1, -2)
    return (vectors * root) @ turned, (vectors / root) @ turned


class _Transported(Representation):
    """Groups carried to one mean and covariance.

    Parameters
    ----------
    mean : ndarray, shape (d,)
    centres : ndarray, shape (groups, d)
        E[x|s].
    axes : ndarray, shape (d, k)
        Directions in which x varies within groups.
    forward, back : ndarray, shape (groups, k, k)
        A_s on these axes, and its inverse.
    gone : ndarray of bool, shape (d,)
        Columns of which nothing is left.
    """

    def __init__(
        self, mean: Array, centres: Array, axes: Array, forward: Array, back: Array, gone: Flags
    ) -> None:
        self.mean, self.centres, self.axes = mean, centres, axes
        self.forward, self.back, self.gone = forward, back, gone

    def encode(
        self, x: Floats, *, s: Ints | None = None, generator: np.random.Generator | None = None
    ) -> Floats:
        assert s is not None
        z = np.empty(x.shape, np.float32)
        for group in np.unique(s):
            own = s == group
            carried = (x[own] - self.centres[group]) @ self.axes @ self.forward[group]
            z[own] = self.mean + carried @ self.axes.T
        z[:, self.gone] = self.mean[self.gone]
        return z

    def decode(self, z: Floats, s: Ints) -> Floats:
        x_hat = np.empty(z.shape, np.float32)
        for group in np.unique(s):
            own = s == group
            carried = (z[own] - self.mean) @ self.axes @ self.back[group]
            x_hat[own] = self.centres[group] + carried @ self.axes.T
        return x_hat

    def state(self) -> Mapping[str, Any]:
        return vars(self)


@hookimpl
def register_methods() -> Sequence[type[Method]]:
    """INLP, R-LACE and QLEACE."""
    return [INLP, RLACE, QLEACE]
