"""QLEACE (Quirke and Belrose 2025, "Slowing Learning by Erasing Simple Features").

arXiv:2502.02820. Each group is carried to one mean and one covariance by the optimal transport of
Gaussians, so that no quadratic function tells the groups apart,

    z = E[x] + A_s (x - E[x|s]),     A_s = C^{1/2} (C^{1/2} C_s C^{1/2})^{-1/2} C^{1/2},

where C is the Wasserstein barycentre of the groups' covariances C_s with their shares as weights,
by the fixed-point iteration of Alvarez-Esteban et al. 2016 (doi:10.1016/j.jmaa.2016.04.045). It is
the least change of x, in squares, that does this. The encoder has to know s: aware track. The
decoder inverts it. It can add information on s that is not quadratic: of values on a lattice, each
group gets a lattice of its own. Departures: C_s is estimated as if the group had one more row, with
the pooled covariance, so that A_s exists for small groups; so covariances are equal up to one part
in so many rows, but for directions in which a group does not vary at all, where no linear map can
make it vary. Directions in which no group varies are dropped.

Nothing is drawn.
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
    Representation,
    Track,
    TrainingRows,
    Unit,
)
from fairbench_plugins.erasure.common import (
    RANK,
    Array,
    Erasure,
    Flags,
)

_MAX_STEPS = 200
"""Of the barycentre's iteration, which takes some ten."""


class QLEACE(Erasure):
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
        axes = axes[:, values > RANK * max(values.max(), 1e-12)]
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
            gone=left < RANK * (centred**2).mean(axis=0),
        )
        return [fitted for _ in units]  # nothing is drawn: seeds share it

    def restore(self, state: Mapping[str, Any], unit: Unit, info: DatasetInfo) -> Representation:
        return _Transported(**state)


def find_barycentre(covariances: Array, weights: Array) -> Array:
    """The Wasserstein barycentre of Gaussians with one mean, ``(k, k)``."""
    mean: Array = np.einsum("g,gij->ij", weights, covariances)
    for _ in range(_MAX_STEPS):
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
