"""Channels beside those of the bench: other groups, and other kinds of columns."""

from __future__ import annotations

import math
from functools import cache

import numpy as np
import pytest

from fairbench.api import Ints
from fairbench.auditing.config import AuditConfig
from fairbench.auditing.tolerance import tolerance
from fairbench.auditing.validation.calibrate import audit_channel
from fairbench.auditing.validation.channels import (
    FLIP,
    Array,
    Channel,
    bit_information,
    define,
    flipped,
    location_information,
    normal_density,
)

SHARES = np.array([0.3, 0.2, 0.12, 0.1, 0.08, 0.06, 0.05, 0.04, 0.02, 0.015, 0.01, 0.005])
CENTRES = np.column_stack([f(2 * np.pi * np.arange(12) / 12) for f in (np.cos, np.sin)])
SPREAD = 0.4


def symbol_information(groups: int) -> float:
    """I of one of equally frequent groups, which is any other one in a tenth of the rows."""
    return math.log(groups) - math.log(2) + bit_information() - FLIP * math.log(groups - 1)


def replaced(rng: np.random.Generator, symbol: Ints, groups: int) -> Ints:
    """The symbol, or in a tenth of the rows any other one."""
    moved = np.where(rng.random(len(symbol)) < FLIP, rng.integers(1, groups, len(symbol)), 0)
    return (symbol + moved) % groups


@define(
    "shares-97-3",
    2,
    "z = 2 s + N(0, 1), s = 1 in 3%; quadrature",
    cache(lambda: location_information(normal_density, (0, 2), (0.97, 0.03))),
)
def _rare_group(rng: np.random.Generator, n: int) -> tuple[Array, Ints]:
    s = (rng.random(n) < 0.03).astype(np.int64)
    z = rng.normal(size=(n, 4))
    z[:, 1] += 2 * s
    return z, s


@define("remainder-3", 3, "a number below 1,000 modulo 3", lambda: symbol_information(3))
def _remainder(rng: np.random.Generator, n: int) -> tuple[Array, Ints]:
    number = rng.integers(0, 1000, n)
    return np.column_stack([number, rng.normal(size=(n, 2))]), replaced(rng, number % 3, 3)


@cache
def _circle_information() -> float:
    """Monte Carlo over 400,000 draws: its error is .002."""
    rng = np.random.default_rng(1)
    z, s = _circle.draw(rng, 400_000)[:2]
    squares = ((z[:, None] - CENTRES) ** 2).sum(axis=2)
    density = SHARES * np.exp(-squares / (2 * SPREAD**2))
    posterior = density[np.arange(len(s)), s] / density.sum(axis=1)
    return float(np.log(posterior).mean() - (SHARES * np.log(SHARES)).sum())


@define("circle-12", 12, "12 groups, shares .3 to .005, around a circle", _circle_information)
def _circle(rng: np.random.Generator, n: int) -> tuple[Array, Ints]:
    s = rng.choice(len(SHARES), size=n, p=SHARES)
    return CENTRES[s] + SPREAD * rng.normal(size=(n, 2)), s


@define("xor-12", 12, "the s of xor, crossed with six groups that z does not tell")
def _crossed(rng: np.random.Generator, n: int) -> tuple[Array, Ints]:
    z = rng.normal(size=(n, 2))
    bit = flipped(rng, (z[:, 0] > 0) ^ (z[:, 1] > 0))
    return z, bit * 6 + rng.integers(0, 6, n)


@define("rotations-3", 3, "which rotation of three sorted columns", lambda: symbol_information(3))
def _rotations(rng: np.random.Generator, n: int) -> tuple[Array, Ints]:
    rows, turn = np.sort(rng.normal(size=(n, 3)), axis=1), rng.integers(0, 3, n)
    places = (np.arange(3) + turn[:, None]) % 3
    return np.take_along_axis(rows, places, axis=1), replaced(rng, turn, 3)


@define("denormal", 2, "0 or 1e-42 between two columns N(0, 1)")
def _denormal(rng: np.random.Generator, n: int) -> tuple[Array, Ints]:
    z, bit = rng.normal(size=(n, 3)), rng.integers(0, 2, n)
    z[:, 1] = 1e-42 * bit
    return z, flipped(rng, bit)


@define("mirrored", 2, "a column and its copy, or its negative")
def _mirrored(rng: np.random.Generator, n: int) -> tuple[Array, Ints]:
    z, bit = rng.normal(size=n), rng.integers(0, 2, n)
    return np.column_stack([z, np.where(bit, z, -z)]), flipped(rng, bit)


@define("arcs-32", 2, "cosine and sine of an angle, in 32 arcs")
def _arcs(rng: np.random.Generator, n: int) -> tuple[Array, Ints]:
    turn = rng.random(n)
    angle = 2 * np.pi * turn
    return np.column_stack([np.cos(angle), np.sin(angle)]), flipped(
        rng, (32 * turn).astype(int) & 1
    )


@define("nothing-12", 12, "12 groups, shares .3 to .005, and six columns of noise", lambda: 0.0)
def _nothing(rng: np.random.Generator, n: int) -> tuple[Array, Ints]:
    return rng.normal(size=(n, 6)), rng.choice(len(SHARES), size=n, p=SHARES)


CHANNELS = {
    channel.name: channel
    for channel in (
        *(_rare_group, _remainder, _circle, _crossed, _rotations),
        *(_denormal, _mirrored, _arcs, _nothing),
    )
}


def check(channel: Channel, rows: int, times: float) -> None:
    audited = audit_channel(channel, rows=rows, seed=0, config=AuditConfig())
    gap = audited.truth - audited.estimate
    assert gap <= times * tolerance(audited.truth), (audited.estimate, audited.truth)
    assert audited.low <= audited.truth, (audited.low, audited.truth)


@pytest.mark.parametrize(
    "name",
    [
        "shares-97-3",
        *(
            pytest.param(n, marks=pytest.mark.thorough)
            for n in ("denormal", "mirrored", "nothing-12")
        ),
    ],
)
def test_a_quarter_of_the_rows_is_read_at_twice_the_tolerance(name: str) -> None:
    check(CHANNELS[name], 2500, 2)


@pytest.mark.slow
@pytest.mark.parametrize("name", CHANNELS)
def test_every_channel_is_read(name: str) -> None:
    check(CHANNELS[name], 10_000, 1)
