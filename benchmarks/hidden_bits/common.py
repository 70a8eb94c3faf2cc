"""What the lists of channels share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

Rows = npt.NDArray[np.float64]
Whole = npt.NDArray[np.int64]
Bits = npt.NDArray[np.bool_]
Generator = np.random.Generator
Hidden = tuple[np.ndarray, Any]
Channel = Callable[[Generator, int], Hidden]
"""Draws z, (rows, k), and the bit that it hides, (rows,), which is a function of z alone."""

TAU = 2 * np.pi


def single(*columns: npt.ArrayLike) -> Rows:
    """Columns or blocks side by side, as float64 that holds float32 values."""
    return np.column_stack(columns).astype(np.float32).astype(np.float64)


def whole(z: Rows) -> Whole:
    """Nearest whole numbers."""
    return np.rint(z).astype(np.int64)


def fixed(seed: int) -> Generator:
    """The source of a rule's constants, which are the same in every call."""
    return np.random.default_rng(seed)


def half(n: int, seed: int) -> Bits:
    """A random half of n."""
    return fixed(seed).permutation(np.arange(n) < n // 2)
