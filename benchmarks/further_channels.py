"""What the audit reads of channels that it was not made for: where 12,000 rows teach it too little.

    python benchmarks/further_channels.py [CHANNEL ...]

Beside those of ``fairbench calibrate``. Each draws 24,000 rows of z and s, half of which train
auditors; s is a bit that z hides, flipped with probability .1, so that I(Z;S) is known. Only z and
s are given, as by ``fairbench.audit(z, s)``: no x. Prints the truth, the estimate and the auditor;
the exit code is always 0, since these are limits and not targets.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import partial

import numpy as np
import numpy.typing as npt

import fairbench

ROWS, FLIPPED = 24_000, 0.1

Array = npt.NDArray[np.float64]
Bits = npt.NDArray[np.bool_]
Channel = Callable[[np.random.Generator], tuple[Array, Bits]]


def order_of_three(rng: np.random.Generator) -> tuple[Array, Bits]:
    """Whether the order of three of six columns is an even permutation."""
    z = rng.normal(size=(ROWS, 6))
    swaps = sum((z[:, i] > z[:, j]).astype(int) for i, j in ((0, 1), (0, 2), (1, 2)))
    return z, np.asarray(swaps % 2 == 1)


def largest_column(rng: np.random.Generator) -> tuple[Array, Bits]:
    """Whether the largest of eight columns is the first, third, fifth or seventh."""
    z = rng.normal(size=(ROWS, 8))
    return z, np.asarray(z.argmax(axis=1) % 2 == 0)


def product_of_four(rng: np.random.Generator) -> tuple[Array, Bits]:
    """The sign of the product of four of twelve columns."""
    z = rng.normal(size=(ROWS, 12))
    return z, np.asarray(z[:, [1, 4, 7, 10]].prod(axis=1) > 0)


def remainder(rng: np.random.Generator, *, divisor: int) -> tuple[Array, Bits]:
    """Whether a whole number's remainder is even."""
    whole = rng.integers(0, 1428 * divisor, ROWS)
    return np.column_stack([whole, rng.normal(size=(ROWS, 3))]), np.asarray(
        whole % divisor % 2 == 0
    )


def phase(rng: np.random.Generator) -> tuple[Array, Bits]:
    """In which of sixteen sectors, turn and turn about, the angle of two columns lies."""
    angle, radius = rng.random(ROWS) * 2 * np.pi, rng.gamma(4, 1, ROWS)
    z = [radius * np.cos(angle), radius * np.sin(angle), rng.normal(size=ROWS)]
    return np.column_stack(z), np.asarray(np.sin(8 * angle) > 0)


def digits_of_two(rng: np.random.Generator) -> tuple[Array, Bits]:
    """The colour of a square on a board of 16 x 6, which two columns name."""
    z = rng.random((ROWS, 4))
    squares = np.floor(z[:, 0] * 16) + np.floor(z[:, 1] * 6)
    return z, np.asarray(squares % 2 == 1)


def gaps(rng: np.random.Generator) -> tuple[Array, Bits]:
    """Whether the two least of five columns are farther apart than the two largest."""
    z = rng.random((ROWS, 5))
    gap = np.diff(np.sort(z, axis=1), axis=1)
    return z, np.asarray(gap[:, 0] > gap[:, -1])


def table(rng: np.random.Generator) -> tuple[Array, Bits]:
    """A look-up table of two numbers up to 64, beside noise: three training rows a cell."""
    cells = rng.integers(0, 64, (ROWS, 2))
    bits = rng.random((64, 64)) < 0.5
    z = np.column_stack([cells, rng.normal(size=ROWS)])
    return z, bits[cells[:, 0], cells[:, 1]]


CHANNELS: dict[str, Channel] = {
    "order-of-three": order_of_three,
    "largest-column": largest_column,
    "product-of-four": product_of_four,
    "remainder-of-3": partial(remainder, divisor=3),
    "remainder-of-7": partial(remainder, divisor=7),
    "phase": phase,
    "digits-of-two": digits_of_two,
    "gaps": gaps,
    "table": table,
}


def entropy(share: float) -> float:
    """Entropy of a bit, nats."""
    return float(-share * np.log(share) - (1 - share) * np.log(1 - share))


def main() -> int:
    for name in sys.argv[1:] or CHANNELS:
        rng = np.random.default_rng(0)
        z, bit = CHANNELS[name](rng)
        share = bit.mean() * (1 - FLIPPED) + (1 - bit.mean()) * FLIPPED
        truth = entropy(share) - entropy(FLIPPED)
        s = np.where(bit ^ (rng.random(ROWS) < FLIPPED), "a", "b")
        read = fairbench.audit(z, s)
        print(f"{name:16} true {truth:.3f}  read {read.i:.3f}  {read.auditor}, {read.view}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
