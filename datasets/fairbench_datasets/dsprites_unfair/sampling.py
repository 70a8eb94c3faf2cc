"""Sampling of DSprites-Unfair: all factors uniform, but the shape depends on the orientation.

The SoFaiR paper (appendix, "DSprites-Unfair"): given the class i_o of orientation, a shape of class
i_s has weight 1 + 10 ((i_o / 40)^3 + (i_s / 3)^3). S is the quadrant of the orientation, i_o // 10.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from fairbench.api import Ints, Role
from fairbench_datasets.dsprites_unfair.render import FACTORS

CLASSES = tuple(FACTORS.values())
"""Classes of each factor, in the original's order."""

DRAWS = {
    Role.ENCODER_TRAIN: 600_000,
    Role.AUDITOR_TRAIN: 60_000,
    Role.VALIDATION: 20_000,
    Role.TEST: 20_000,
}
"""Images per role."""

SEED = 20_211


def all_latents() -> npt.NDArray[np.int64]:
    """Every combination of factors, ``(737280, 6)``, in the original's order: y varies fastest."""
    return np.stack([axis.ravel() for axis in np.indices(CLASSES)], axis=1)


def shape_given_orientation() -> npt.NDArray[np.float64]:
    """P(shape | orientation), ``(40, 3)``."""
    orientation, shape = np.arange(CLASSES[3])[:, None], np.arange(CLASSES[1])[None]
    weight = 1 + 10 * ((orientation / CLASSES[3]) ** 3 + (shape / CLASSES[1]) ** 3)
    share: npt.NDArray[np.float64] = weight / weight.sum(axis=1, keepdims=True)
    return share


def image_ids(packed: npt.NDArray[np.uint8]) -> Ints:
    """A number for each distinct image of packed rows ``(n, 512)``, ``(n,)``.

    Orientation classes 0 and 39 are the same angle, and squares and small ellipses coincide at
    others too: of the 737,280 rendered images 715,772 are distinct.
    Rows are compared by a 64-bit hash: two of a million distinct ones collide with a chance of one
    in fifty million, and would only be put into the same role.
    """
    words = np.ascontiguousarray(packed).view(np.uint64)
    factors = np.random.default_rng(SEED).integers(0, 2**64, words.shape[1], np.uint64) | 1
    digest = np.zeros(len(words), np.uint64)
    for column, factor in zip(words.T, factors, strict=True):
        mixed = (column ^ (column >> np.uint64(29))) * factor
        digest += mixed ^ (mixed >> np.uint64(32))
    return np.unique(digest, return_inverse=True)[1]


def draw(ids: Ints, latents: Ints) -> Mapping[Role, Ints]:
    """Row numbers of ``latents`` for each role: distinct images are dealt first, then drawn from.

    ``ids (n,)``: which distinct image each row of latents shows. ``latents (n, 6)``. Rows are
    drawn with replacement, by the unfair weights; no image is in two roles.
    """
    rng = np.random.default_rng(SEED)
    distinct = int(ids.max()) + 1
    order = rng.permutation(distinct)
    total = sum(DRAWS.values())
    ends = np.cumsum([round(distinct * n / total) for n in DRAWS.values()])
    role_of = np.empty(distinct, np.int64)
    role_of[order] = np.minimum(np.searchsorted(ends, np.arange(distinct), side="right"), 3)
    chance = shape_given_orientation()[latents[:, 3], latents[:, 1]]
    drawn: dict[Role, Ints] = {}
    for number, (role, count) in enumerate(DRAWS.items()):
        pool = np.flatnonzero(role_of[ids] == number)
        share = chance[pool] / chance[pool].sum()
        drawn[role] = rng.choice(pool, size=count, p=share)
    return drawn
