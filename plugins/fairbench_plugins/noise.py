"""Noise: whitened columns of x plus Gaussian noise, and the same after linear erasure.

    z = A (x - E[x]) + sigma e,     e ~ N(0, I)

``noise``: A whitens x, A cov(x) A^T = I (principal components, each divided by its standard
deviation). So sigma is the noise of every column in standard deviations of that column, and under a
Gaussian model each of them keeps 1/2 ln(1 + 1 / sigma^2) nats of x.

``leace-noise``: A first removes the directions in which the means of the groups differ, by the
least change of x that does (Belrose et al. 2023, "LEACE: Perfect linear concept erasure in closed
form", arXiv:2306.03819, theorem 4.3), and whitens what is left. No linear classifier finds s,
whatever sigma is; the noise is for the others.

Fitted on moments alone: one fit gives the curve, and nothing is random but the noise of ``encode``.

The decoder is the posterior mean of x under a Gaussian model of each group,

    E[x | z, s] = E[x|s] + cov(x, Ax | s) (cov(Ax | s) + sigma^2 I)^{-1} (z - E[Ax | s]),

the best linear one. A group's covariance is estimated as if it had as many more rows as z has
columns, with the covariance that all groups have around their own means; its mean as if it had one
more row, at the mean of all. Small groups need both.

Directions of x with less than 1e-6 of the variance of the largest are left out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from fairbench.api import (
    Coding,
    Curve,
    DatasetInfo,
    FitContext,
    Fitted,
    Floats,
    Ints,
    Knob,
    Method,
    Point,
    Representation,
    Shots,
    TrainingRows,
    Unit,
)
from fairbench.hookspecs import hookimpl

Array = npt.NDArray[np.float64]

_RANK = 1e-6
"""Eigenvalues of cov(x) below this share of the largest count as zero."""

_FLOOR = 1e-6
"""Least variance of a column given z's other columns, where all have variance 1: without noise the
decoder would divide by zero."""


class Noise(Method):
    """Whitened columns of x plus noise."""

    name = "noise"
    summary = "closed form: whitened columns of x plus Gaussian noise"
    coding = Coding.STOCHASTIC
    shots = Shots.SINGLE
    has_decoder = True
    knobs = (Knob("noise", 0.0, 10.0, "noise, in standard deviations of a column; more is fairer"),)
    most_features = 512  # the decoder has a matrix of features by features for each group
    erases: ClassVar[bool] = False
    """Whether the directions of the group means are removed first."""

    def fit(
        self, train: TrainingRows, units: Sequence[Unit], context: FitContext
    ) -> Sequence[Fitted]:
        curve = _NoiseCurve(_channel(train.x, train.s, len(train.info.groups), self.erases))
        return [curve for _ in units]  # nothing is drawn: seeds share it

    def restore(self, state: Mapping[str, Any], unit: Unit, info: DatasetInfo) -> Curve:
        return _NoiseCurve(_Channel(**state))


class LeaceNoise(Noise):
    """The same after linear erasure."""

    name = "leace-noise"
    summary = "closed form: linear erasure (leace), then whitened columns plus Gaussian noise"
    reference = "after Belrose et al. 2023, arXiv:2306.03819"
    erases = True


@dataclass(frozen=True)
class _Channel:
    """All that encoders and decoders of every sigma need; d features, k columns of z.

    Parameters
    ----------
    mean : ndarray, shape (d,)
    forward : ndarray, shape (d, k)
        A, transposed.
    centres : ndarray, shape (groups, d)
        E[x|s].
    axes, variances : ndarray, shape (groups, k, k) and (groups, k)
        Eigenvectors, as columns, and eigenvalues of cov(Ax | s).
    back : ndarray, shape (groups, k, d)
        cov(axes of Ax, x | s).
    """

    mean: Array
    forward: Array
    centres: Array
    axes: Array
    variances: Array
    back: Array


def _channel(x: Floats, s: Ints, groups: int, erases: bool) -> _Channel:
    mean = x.mean(axis=0, dtype=np.float64)
    centred = x - mean
    onehot = np.eye(groups)[s]
    forward = _whitening(centred, onehot if erases else None)
    count = onehot.sum(axis=0)
    gaps = onehot.T @ centred / np.maximum(count, 1)[:, None]  # (groups, d)
    within = centred - gaps[s]
    k = forward.shape[1]
    pooled = within.T @ within / len(x)
    axes, variances, back = [], [], []
    for group in range(groups):
        own = within[s == group]
        covariance = (own.T @ own + k * pooled) / (len(own) + k) if k else pooled
        seen, turned = np.linalg.eigh(forward.T @ covariance @ forward)
        axes.append(turned)
        variances.append(np.maximum(seen, 0.0))
        back.append(turned.T @ forward.T @ covariance)
    return _Channel(
        mean=mean,
        forward=forward,
        centres=mean + gaps * (count / (count + 1))[:, None],
        axes=np.stack(axes),
        variances=np.stack(variances),
        back=np.stack(back),
    )


def _whitening(centred: Array, onehot: Array | None) -> Array:
    """Columns of A^T: principal axes of (erased) x over their standard deviations."""
    values, vectors = np.linalg.eigh(centred.T @ centred / len(centred))
    alive = values > _RANK * values.max()
    root = np.sqrt(values[alive])
    whiten: Array = vectors[:, alive] / root
    if onehot is None:
        return whiten[:, ::-1]
    # In whitened coordinates the least change is orthogonal: what is left are all directions that
    # are orthogonal to cov(whitened x, s).
    cross = whiten.T @ (centred.T @ (onehot - onehot.mean(axis=0)) / len(centred))
    left, singular, _ = np.linalg.svd(cross, full_matrices=True)
    rest = left[:, int((singular > _RANK * max(singular.max(), 1.0)).sum()) :]
    # Turned to the principal axes of the erased x, as where nothing is erased.
    _, _, turned = np.linalg.svd(root[:, None] * rest, full_matrices=False)
    forward: Array = whiten @ rest @ turned.T
    return forward


class _NoiseCurve(Curve):
    """One fit, read at any noise."""

    knob = Noise.knobs[0]

    def __init__(self, channel: _Channel) -> None:
        self.channel = channel

    def at(self, point: Point) -> Representation:
        return _Noisy(self.channel, point["noise"])

    def state(self) -> Mapping[str, Any]:
        return vars(self.channel)


class _Noisy(Representation):
    """The channel at one noise.

    Where nothing is left of x, z is a column of zeros.
    """

    def __init__(self, channel: _Channel, noise: float) -> None:
        self.channel, self.noise = channel, noise

    def encode(
        self, x: Floats, *, s: Ints | None = None, generator: np.random.Generator | None = None
    ) -> Floats:
        rng = generator if generator is not None else np.random.default_rng()
        forward = self.channel.forward
        if not forward.shape[1]:
            return np.zeros((len(x), 1), np.float32)
        z = (x - self.channel.mean) @ forward
        return (z + self.noise * rng.standard_normal(z.shape)).astype(np.float32)

    def decode(self, z: Floats, s: Ints) -> Floats:
        c = self.channel
        x_hat = np.empty((len(z), len(c.mean)), np.float32)
        for group in np.unique(s):
            own = s == group
            x_hat[own] = c.centres[group]
            if c.forward.shape[1]:
                seen = (z[own] - (c.centres[group] - c.mean) @ c.forward) @ c.axes[group]
                gain = 1 / (c.variances[group] + self.noise**2 + _FLOOR)
                x_hat[own] += (seen * gain) @ c.back[group]
        return x_hat


@hookimpl
def register_methods() -> Sequence[type[Method]]:
    """Noise, without and with linear erasure."""
    return [Noise, LeaceNoise]
