"""Channels whose auditors are also given x, from which z was made: S - X - Z is a Markov chain."""

from __future__ import annotations

import math
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt

from fairbench.api import Ints
from fairbench.auditing.validation.channels import (
    Array,
    Channel,
    define,
    flipped,
    location_information,
    normal_density,
    table_information,
)

_TURN = 3.0


def _turned(points: npt.NDArray[Any], turn: float) -> Array:
    """Points of a plane, each turned about the origin by so many radians a unit of its radius."""
    radius = np.hypot(points[:, 0], points[:, 1])
    angle = np.arctan2(points[:, 1], points[:, 0]) + turn * radius
    return np.column_stack([radius * np.cos(angle), radius * np.sin(angle)])


@define(
    "warped",
    2,
    "s by six stripes across the first of two columns of x, a tenth flipped; z is x turned by "
    "3 times its radius; ln 2 - h(.1)",
)
def _warped(rng: np.random.Generator, n: int) -> tuple[Array, Ints, Array]:
    x = rng.uniform(-1, 1, (n, 2))
    colour = np.floor(3 * x[:, 0]).astype(np.int64) % 2
    # Uniform on (-1, 1): its variance is 1/3.
    return _turned(x, _TURN), flipped(rng, colour), x * math.sqrt(3)


@define(
    "turned-parity",
    2,
    "s the parity of three columns of x, each +1 or -1, a tenth flipped; three more are N(0, 1); "
    "z is x turned by a fixed rotation; ln 2 - h(.1)",
)
def _turned_parity(rng: np.random.Generator, n: int) -> tuple[Array, Ints, Array]:
    x = rng.normal(size=(n, 6))
    x[:, :3] = np.sign(x[:, :3])
    s = flipped(rng, (x[:, :3] > 0).sum(axis=1) % 2)
    rotation = np.linalg.qr(np.random.default_rng(0).normal(size=(6, 6)))[0]
    return x @ rotation, s, x


_SHIFT = 1.5
_NOISE = 1.0


@define(
    "noisy-x",
    2,
    "x = 1.5 s + N(0, 1) beside three columns N(0, 1); z is x + N(0, 1) in every column; "
    "quadrature of a shift of 1.5 / sqrt(2)",
    cache(
        lambda: location_information(
            normal_density, (0, _SHIFT / math.hypot(1, _NOISE)), (0.5, 0.5)
        )
    ),
)
def _noisy(rng: np.random.Generator, n: int) -> tuple[Array, Ints, Array]:
    s = rng.integers(0, 2, n)
    x = rng.normal(size=(n, 4))
    x[:, 1] += _SHIFT * s
    z = x + _NOISE * rng.normal(size=x.shape)
    scale = np.array([1, math.sqrt(1 + _SHIFT**2 / 4), 1, 1])
    return z, s, (x - [0, _SHIFT / 2, 0, 0]) / scale


_SIDE = 35
_WAVES = 2
_HEIGHT = 0.38
_PLACES = np.random.default_rng(0).permutation(_SIDE * _SIDE)
"""Number of each cell of the grid in the code: neighbours have numbers that are far apart."""


def _cells() -> Array:
    """P(s, cell): the mean over each cell of a wave in either direction."""
    edges = np.linspace(0, 1, _SIDE + 1)
    turn = 2 * math.pi * _WAVES
    mean = -np.diff(np.cos(turn * edges)) / (turn / _SIDE)
    share = 0.5 + _HEIGHT * np.outer(mean, mean).ravel()
    return np.stack([1 - share, share]) / _SIDE**2


@define(
    "many-cells",
    2,
    "x uniform on the unit square, P(s = 1 | x) = .5 + .38 sin(4 pi x1) sin(4 pi x2); z is the "
    "number of x's cell of 35 x 35, numbered at random; sum over its cells",
    cache(lambda: table_information(_cells())),
)
def _many_cells(rng: np.random.Generator, n: int) -> tuple[Array, Ints, Array]:
    x = rng.random((n, 2))
    waves = np.sin(2 * math.pi * _WAVES * x).prod(axis=1)
    s = (rng.random(n) < 0.5 + _HEIGHT * waves).astype(np.int64)
    place = np.minimum((x * _SIDE).astype(np.int64), _SIDE - 1)
    cell = _PLACES[place[:, 0] * _SIDE + place[:, 1]]
    return cell[:, None] / _SIDE**2, s, (x - 0.5) * math.sqrt(12)


CHANNELS_OF_X: tuple[Channel, ...] = (_warped, _turned_parity, _noisy, _many_cells)
"""Channels whose auditors see x too."""
