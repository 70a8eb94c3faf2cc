"""What auditors look at: z as it is, z on a common scale, and, where z is a code, its bits.

A view is fitted on auditor-train alone. Whether z is a code is read off z itself, never off what
the method says of itself: an auditor that can be told not to look is none.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from fairbench.api import Floats

_MOST_BITS = 16
"""Finest grid, 2^-16, and widest range, 2^16 steps, at which a column counts as a code."""

_CHUNK = 8192
"""Rows scaled at once."""


@dataclass(frozen=True)
class View:
    """A way of looking at representations.

    Parameters
    ----------
    name : str
        ``raw``, ``standardised`` or ``bit-planes``.
    apply : callable
        Maps ``(n, k)`` to ``(n, features of the view)``.
    """

    name: str
    apply: Callable[[Floats], Floats]


def views_of(z: Floats) -> list[View]:
    """The strict family's views of representations like z, ``(n, k)``, of auditor-train."""
    found = [standardised(z)]
    bits = bit_planes(z)
    return found if bits is None else [*found, bits]


def raw() -> View:
    """z as released: what the paper's auditors see."""
    return View("raw", lambda z: z)


def standardised(z: Floats) -> View:
    """Each column to mean 0 and variance 1, so that a small scale hides nothing."""
    mean, scale = z.mean(axis=0, dtype=np.float64), z.std(axis=0, dtype=np.float64)
    # Rounding alone spreads a constant column by about eps * |mean|: leave such a column at 0.
    alive = scale > 1e-12 * np.maximum(np.abs(mean), 1e-30)
    factor = np.divide(1.0, scale, out=np.zeros_like(scale), where=alive)

    def apply(rows: Floats) -> Floats:
        out = np.empty(rows.shape, np.float32)
        for start in range(0, len(rows), _CHUNK):  # double precision, but not of all rows at once
            part = slice(start, start + _CHUNK)
            out[part] = (rows[part].astype(np.float64) - mean) * factor
        return out

    return View("standardised", apply)


def bit_planes(z: Floats) -> View | None:
    """The binary digits of the columns that are codes, and the other columns standardised.

    A column is a code where all its values lie on a grid 2^-g, g <= 16, within 2^16 steps, and it
    is not constant. None where no column is, or none of more than one bit: the standardised view
    shows single bits as well.
    """
    planes = [_planes(z[:, column]) for column in range(z.shape[1])]
    if all(plane is None or plane(z[:1, 0]).shape[1] == 1 for plane in planes):
        return None
    others = [column for column, plane in enumerate(planes) if plane is None]
    rest = standardised(z[:, others])

    def apply(rows: Floats) -> Floats:
        found = [plane(rows[:, c]) for c, plane in enumerate(planes) if plane is not None]
        return np.hstack([*found, rest.apply(rows[:, others])])

    return View("bit-planes", apply)


def _planes(column: Floats) -> Callable[[Floats], Floats] | None:
    """Maps values ``(n,)`` of one column to their digits ``(n, width)``; None: not a code."""
    wide = column.astype(np.float64)
    grid = next((g for g in range(_MOST_BITS + 1) if _on_grid(wide, g)), None)
    if grid is None:
        return None
    steps = np.round(wide * 2**grid)
    # Count from 0 where the code does, so that planes are the digits the encoder wrote.
    low, high = min(steps.min(), 0.0), steps.max()
    if high - low >= 2**_MOST_BITS or steps.min() == high:
        return None
    width = int(high - low).bit_length()
    powers = np.arange(width - 1, -1, -1)

    def apply(values: Floats) -> Floats:
        code = np.round(values.astype(np.float64) * 2**grid) - low
        code = np.clip(code, 0, 2**width - 1).astype(np.int64)
        digits: Floats = ((code[:, None] >> powers) & 1).astype(np.float32)
        return digits

    return apply


def _on_grid(column: npt.NDArray[np.float64], grid: int) -> bool:
    scaled = column * 2**grid
    return bool(np.all(scaled == np.round(scaled)))
