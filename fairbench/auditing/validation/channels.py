"""Channels whose I(Z;S) is known, to calibrate the audit against.

Each channel draws rows (z, s) from a law of its own and knows its mutual information in nats, in
closed form or by numerical integration of the formula it prints.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from fairbench.api import Floats, Ints

Array = npt.NDArray[np.float64]

Draw = Callable[[np.random.Generator, int], tuple[Array, Ints] | tuple[Array, Ints, Array]]
"""Maps a generator and a number of rows n to z ``(n, k)`` and s ``(n,)``; and to x ``(n, d)``,
standardised, where the auditors are given the x that z was made from."""

FLIP = 0.1
"""Noise of the channels that show a bit: s is that bit, flipped in a tenth of all rows."""
BITS = 64
"""Fair bits among which a parity is hidden."""


class ChannelRows(NamedTuple):
    """Rows of a channel; ``x (n, d)``: what z was made from, where auditors are given it."""

    z: Floats  # (n, k)
    s: Ints  # (n,)
    x: Floats | None


@dataclass(frozen=True)
class Channel:
    """A law of (z, s) with known information."""

    name: str
    classes: int  # values of s
    formula: str  # the law, and where its information comes from
    draw: Draw  # draws n rows by a generator
    truth: Callable[[], float]  # returns I(Z;S) in nats; integrals are computed at the first call
    # Whether the ensemble is known to miss this channel; shown, without a target
    limit: bool = False

    def rows(self, seed: int | Sequence[int], n: int) -> ChannelRows:
        """Draw rows by a seed of their own."""
        drawn = self.draw(np.random.default_rng(seed), n)
        x = drawn[2].astype(np.float32) if len(drawn) == 3 else None
        return ChannelRows(drawn[0].astype(np.float32), drawn[1].astype(np.int64), x)


def bit_information(flip: float = FLIP) -> float:
    """ln 2 - h(flip): a fair bit seen through a symmetric channel, nats."""
    return math.log(2) + flip * math.log(flip) + (1 - flip) * math.log(1 - flip)


def location_information(
    density: Callable[[Array], Array],
    shifts: Sequence[float],
    shares: Sequence[float],
) -> float:
    """I(Z;S) in nats of z = shift of s + noise, by quadrature of H(S) - E[H(S|z)].

    ``density``: density of the noise, symmetric about 0. ``shifts``, ``shares``: location and
    probability of each group.
    """
    from scipy import integrate

    def lost(t: float) -> float:
        """p(z) times the entropy of s given z, in t = tan(...): the line folded to (-1, 1)."""
        z = math.tan(t * math.pi / 2)
        weight = math.pi / 2 * (1 + z * z)
        joint = np.asarray(shares) * density(z - np.asarray(shifts))
        total = joint.sum()
        if total <= 0 or not math.isfinite(weight):
            return 0.0
        posterior = joint[joint > 0] / total
        return float(-weight * total * (posterior * np.log(posterior)).sum())

    knots = np.linspace(-1, 1, 41)
    left = sum(integrate.quad(lost, a, b, limit=200)[0] for a, b in pairwise(knots))
    p = np.asarray(shares)
    return float(-(p * np.log(p)).sum() - left)


def normal_density(x: Array) -> Array:
    """Density of N(0, 1)."""
    return np.exp(-0.5 * x * x) / math.sqrt(2 * math.pi)


def cauchy_density(x: Array) -> Array:
    """Density of the standard Cauchy distribution."""
    return 1 / (math.pi * (1 + x * x))


def table_information(table: Array) -> float:
    """I in nats of a joint table p(s, z), which sums to 1."""
    independent = table.sum(axis=1, keepdims=True) * table.sum(axis=0, keepdims=True)
    cells = table > 0
    return float((table[cells] * np.log(table[cells] / independent[cells])).sum())


def flipped(rng: np.random.Generator, bit: npt.NDArray[np.generic]) -> Ints:
    return np.asarray(bit).astype(np.int64) ^ (rng.random(len(bit)) < FLIP)


def define(
    name: str,
    classes: int,
    formula: str,
    truth: Callable[[], float] = bit_information,
    *,
    limit: bool = False,
) -> Callable[[Draw], Channel]:
    """Decorate the function that draws a channel's rows."""
    return lambda draw: Channel(name, classes, formula, draw, truth, limit)


def _gaussian(shift: float) -> Channel:
    @define(
        f"gaussian-{shift:g}",
        2,
        f"z = {shift:g} s + N(0, 1), s a fair coin; quadrature",
        cache(lambda: location_information(normal_density, (0, shift), (0.5, 0.5))),
    )
    def channel(rng: np.random.Generator, n: int) -> tuple[Array, Ints]:
        s = rng.integers(0, 2, n)
        return (rng.normal(size=n) + shift * s)[:, None], s

    return channel


@define("xor", 2, "s the XOR of the signs of two columns N(0, 1), a tenth flipped; ln 2 - h(.1)")
def _xor(rng: np.random.Generator, n: int) -> tuple[Array, Ints]:
    z = rng.normal(size=(n, 2))
    return z, flipped(rng, (z[:, 0] > 0) ^ (z[:, 1] > 0))


def _rescaled(scale: float) -> Channel:
    @define(
        f"rescaled-{scale:.0e}".replace("e-0", "e-"),
        2,
        f"s with a tenth flipped, times {scale:g}, between two columns N(0, 1); ln 2 - h(.1)",
    )
    def channel(rng: np.random.Generator, n: int) -> tuple[Array, Ints]:
        z = rng.normal(size=(n, 3))
        bit = rng.integers(0, 2, n)
        z[:, 1] = scale * bit
        return z, flipped(rng, bit)

    return channel


def _parity(order: int, *, limit: bool = False) -> Channel:
    formula = f"s the parity of {order} of {BITS} fair bits, a tenth flipped; ln 2 - h(.1)"

    @define(f"parity-{order}", 2, formula, limit=limit)
    def channel(rng: np.random.Generator, n: int) -> tuple[Array, Ints]:
        bits = rng.integers(0, 2, (n, BITS))
        places = np.linspace(5, BITS - 7, order).astype(int)
        return bits.astype(np.float64), flipped(rng, bits[:, places].sum(axis=1) & 1)

    return channel


@define(
    "lowest-bit", 2, "s the lowest of 7 bits of one of three codes, a tenth flipped; ln 2 - h(.1)"
)
def _lowest_bit(rng: np.random.Generator, n: int) -> tuple[Array, Ints]:
    code = rng.integers(0, 128, size=(n, 3))
    return code / 128, flipped(rng, code[:, 1] & 1)


_SHARES = np.array([0.3, 0.2, 0.14, 0.1, 0.08, 0.06, 0.05, 0.04, 0.02, 0.01])
_PLACES = np.array([0.0, 2.0, -2.0, 4.0, -4.0, 1.0, -1.0, 3.0, 6.0, -6.0])


@define(
    "many-classes",
    10,
    "ten groups, shares .3 to .01, at ten places of one column, + N(0, 1), three columns of "
    "noise; quadrature",
    cache(lambda: location_information(normal_density, _PLACES.tolist(), _SHARES.tolist())),
)
def _many_classes(rng: np.random.Generator, n: int) -> tuple[Array, Ints]:
    s = rng.choice(len(_SHARES), size=n, p=_SHARES)
    z = rng.normal(size=(n, 4))
    z[:, 2] += _PLACES[s]
    return z, s


_RARE = np.array([0.85, 0.07, 0.05, 0.02, 0.01])


@define(
    "crossed-groups",
    10,
    "ten groups: the s of xor crossed with five values, shares .85 to .01, that z does not "
    "tell; four columns of noise; ln 2 - h(.1)",
)
def _crossed(rng: np.random.Generator, n: int) -> tuple[Array, Ints]:
    z, bit, *_ = _xor.draw(rng, n)
    return np.hstack([z, rng.normal(size=(n, 4))]), 5 * bit + rng.choice(5, size=n, p=_RARE)


_DIMENSIONS = 128


@cache
def _shift_of_a_tenth() -> float:
    """Distance of two unit Gaussians between which a fair coin has I = .1 nats."""
    from scipy import optimize

    def excess(shift: float) -> float:
        return location_information(normal_density, (0, shift), (0.5, 0.5)) - 0.1

    return float(optimize.brentq(excess, 0.5, 1.5, xtol=1e-6))


@define(
    "high-dimension",
    2,
    f"z = m s + N(0, 1) in {_DIMENSIONS} columns alike, |m| such that quadrature gives .1",
    lambda: 0.1,
)
def _high_dimension(rng: np.random.Generator, n: int) -> tuple[Array, Ints]:
    s = rng.integers(0, 2, n)
    step = _shift_of_a_tenth() / math.sqrt(_DIMENSIONS)
    return rng.normal(size=(n, _DIMENSIONS)) + step * s[:, None], s


def _independent(classes: int) -> Channel:
    formula = f"eight columns N(0, 1), {classes} equal groups; 0"

    @define(f"independent-{classes}", classes, formula, lambda: 0.0)
    def channel(rng: np.random.Generator, n: int) -> tuple[Array, Ints]:
        return rng.normal(size=(n, 8)), rng.integers(0, classes, n)

    return channel


@define(
    "heavy-tails",
    2,
    "four columns of Cauchy noise, 3 s added to one; quadrature",
    cache(lambda: location_information(cauchy_density, (0, 3), (0.5, 0.5))),
)
def _heavy_tails(rng: np.random.Generator, n: int) -> tuple[Array, Ints]:
    s = rng.integers(0, 2, n)
    z = rng.standard_cauchy(size=(n, 4))
    z[:, 1] += 3 * s
    return z, s


_CODES = np.array(
    [
        [0.20, 0.05, 0.04, 0.03, 0.06, 0.05, 0.04, 0.03],
        [0.01, 0.05, 0.02, 0.01, 0.02, 0.05, 0.06, 0.08],
        [0.01, 0.02, 0.06, 0.04, 0.01, 0.02, 0.02, 0.02],
    ]
)
"""p(s, z) of three groups and eight codes."""


@define(
    "few-codes",
    3,
    "eight codes, three groups, a given table p(s, z); sum over its cells",
    lambda: table_information(_CODES),
)
def _few_codes(rng: np.random.Generator, n: int) -> tuple[Array, Ints]:
    cell = rng.choice(_CODES.size, size=n, p=_CODES.ravel())
    s, code = np.divmod(cell, _CODES.shape[1])
    return np.column_stack([code >> 1, code & 1]) / 4, s


CHANNELS_OF_Z: tuple[Channel, ...] = (
    *(_gaussian(shift) for shift in (0.5, 1.5, 3.0)),
    _xor,
    *(_rescaled(scale) for scale in (1e-3, 1e-6)),
    *(_parity(order) for order in (2, 3, 4)),
    _parity(5, limit=True),
    _lowest_bit,
    _many_classes,
    _high_dimension,
    _heavy_tails,
    _crossed,
    _few_codes,
    *(_independent(classes) for classes in (2, 10)),
)
"""Channels whose auditors see z alone."""
