"""Channels that show s as plain tables do: in digits, hours, postcodes, small differences."""

from __future__ import annotations

import math
from functools import cache

import numpy as np

from fairbench.api import Ints
from fairbench.auditing.validation.channels import Array, Channel, define, flipped

_LEVELS, _COLUMNS, _WIDER = 1_000, 16, 1.5


def _beside_noise(column: Array, rng: np.random.Generator, noise: int = 2) -> Array:
    return np.column_stack([column, rng.normal(size=(len(column), noise))])


@define(
    "digit",
    2,
    "s whether the last digit of a whole number below a million is odd, beside two columns "
    "N(0, 1), a tenth flipped; ln 2 - h(.1)",
)
def _digit(rng: np.random.Generator, n: int) -> tuple[Array, Ints]:
    number = rng.integers(0, 10**6, n)
    return _beside_noise(number.astype(np.float64), rng), flipped(rng, number % 2)


@define(
    "hour",
    2,
    "s night or day of a time stamp within a year, in days, beside two columns N(0, 1), a tenth "
    "flipped; ln 2 - h(.1)",
)
def _hour(rng: np.random.Generator, n: int) -> tuple[Array, Ints]:
    day = rng.uniform(0, 365, n)
    return _beside_noise(day, rng), flipped(rng, day % 1 < 0.5)


@define(
    "postcode",
    2,
    f"s a fixed random bit of each of {_LEVELS:,} values, beside two columns N(0, 1), a tenth "
    "flipped; ln 2 - h(.1)",
)
def _postcode(rng: np.random.Generator, n: int) -> tuple[Array, Ints]:
    bits = np.random.default_rng(0).integers(0, 2, _LEVELS)
    code = rng.integers(0, _LEVELS, n)
    return _beside_noise(code.astype(np.float64), rng), flipped(rng, bits[code])


@define(
    "near-copy",
    2,
    "two columns N(0, 1) alike, but for .001 added to one of them where s is 1, a tenth flipped; "
    "ln 2 - h(.1)",
)
def _near_copy(rng: np.random.Generator, n: int) -> tuple[Array, Ints]:
    bit = rng.integers(0, 2, n)
    column = rng.normal(size=n)
    return _beside_noise(np.column_stack([column, column + 0.001 * bit]), rng, 1), flipped(rng, bit)


@cache
def _spread_information() -> float:
    """By quadrature over the squared radius, which is sufficient: chi-square, and wider."""
    from scipy import integrate, stats

    chi = stats.chi2(_COLUMNS)

    def lost(r: float) -> float:
        p, q = 0.5 * chi.pdf(r), 0.5 * chi.pdf(r / _WIDER) / _WIDER
        share = p / (p + q)
        parts = (share, 1 - share)
        return float((p + q) * -sum(one * math.log(one) for one in parts if one > 0))

    return math.log(2) - float(integrate.quad(lost, 1e-6, 150, limit=400)[0])


@define(
    "spread",
    2,
    f"{_COLUMNS} columns N(0, 1), and N(0, {_WIDER:g}) where s is 1; quadrature",
    _spread_information,
)
def _spread(rng: np.random.Generator, n: int) -> tuple[Array, Ints]:
    s = rng.integers(0, 2, n)
    return rng.normal(size=(n, _COLUMNS)) * np.sqrt(np.where(s == 1, _WIDER, 1.0))[:, None], s


CHANNELS_OF_PATTERNS: tuple[Channel, ...] = (_digit, _hour, _postcode, _near_copy, _spread)
"""Channels that auditors read by the view of patterns."""
