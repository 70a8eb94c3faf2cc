"""Draws of (z, s) whose mutual information is known."""

from collections.abc import Callable

import numpy as np
from scipy import integrate, stats

from fairbench.api import Floats, Ints

Draw = Callable[[np.random.Generator, int], tuple[Floats, Ints]]

XOR = 0.368
"""ln 2 minus the entropy of a coin with bias .1: a bit seen through 10% of noise."""


def gaussian(shift: float) -> tuple[Draw, float]:
    """z = N(shift * s, 1), s a fair coin; I by quadrature."""

    def draw(rng: np.random.Generator, n: int) -> tuple[Floats, Ints]:
        s = rng.integers(0, 2, n)
        return (rng.normal(size=n) + shift * s)[:, None], s

    def integrand(z: float) -> float:
        p0, p1 = stats.norm.pdf(z), stats.norm.pdf(z - shift)
        mixed = (p0 + p1) / 2
        return sum(p / 2 * np.log(p / mixed) for p in (p0, p1) if p > 0)

    return draw, integrate.quad(integrand, -8, 8 + shift)[0]


def noisy_bit(rng: np.random.Generator, bit: Ints) -> Ints:
    return bit ^ (rng.random(len(bit)) < 0.1)
