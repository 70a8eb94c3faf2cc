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

_Values = npt.NDArray[np.float64]

_MOST_BITS = 16
"""Finest grid, 2^-16, and widest range, 2^16 steps, at which a column counts as a code."""

_MOST_LEVELS = 256
"""Values off any grid that a column may have and still be a code: its levels, in their order."""
_ROUNDING = 0.1
"""How far off a grid, in steps, rounding may put a value."""

_HEAVY = 15.0
"""Standard deviations from the mean at which a tail is heavy."""

_CHUNK = 8192
"""Rows scaled at once."""


@dataclass(frozen=True)
class View:
    """A way of looking at representations.

    Parameters
    ----------
    name : str
        ``raw``, ``standardised``, ``ranks``, ``bit-planes``, ``interactions`` or
        ``reconstruction``.
    apply : callable
        Maps ``(n, k)`` to ``(n, features of the view)``.
    """

    name: str
    apply: Callable[[Floats], Floats]


def views_of(z: Floats) -> list[View]:
    """The strict family's views of representations like z, ``(n, k)``, of auditor-train."""
    common = standardised(z)
    others = (ranks(z, common), bit_planes(z))
    return [common, *(view for view in others if view is not None)]


def raw() -> View:
    """z as released: what the paper's auditors see."""
    return View("raw", lambda z: z)


def standardised(z: Floats) -> View:
    """Each column to mean 0 and variance 1, so that a small scale hides nothing."""
    # In units of the largest value, so that no square overflows or vanishes.
    largest, least = z.max(axis=0).astype(np.float64), z.min(axis=0).astype(np.float64)
    unit = np.maximum(np.abs(largest), np.abs(least))
    unit[unit == 0] = 1.0
    parts = [slice(start, start + _CHUNK) for start in range(0, len(z), _CHUNK)]
    mean = sum((z[part] / unit).sum(axis=0) for part in parts) / len(z)
    square = sum(((z[part] / unit - mean) ** 2).sum(axis=0) for part in parts)
    scale = np.sqrt(square / len(z))
    # Rounding alone spreads a constant column by about eps * |mean|: leave such a column at 0.
    alive = scale > 1e-12 * np.maximum(np.abs(mean), 1e-30)
    factor = np.divide(1.0, scale, out=np.zeros_like(scale), where=alive)

    def apply(rows: Floats) -> Floats:
        out = np.empty(rows.shape, np.float32)
        for start in range(0, len(rows), _CHUNK):  # double precision, but not of all rows at once
            part = slice(start, start + _CHUNK)
            out[part] = (rows[part] / unit - mean) * factor
        return out

    return View("standardised", apply)


def ranks(z: Floats, common: View) -> View | None:
    """Each column by its ranks in auditor-train, as normal scores; None where no tail is heavy.

    A few values far out take all of a column's variance: on the common scale what the other rows
    tell shrinks to nothing. Trees ask for the order of values alone and need no such view.
    """
    if not len(z) or np.abs(common.apply(z)).max(initial=0.0) < _HEAVY:
        return None
    ordered = np.sort(z, axis=0)

    def apply(rows: Floats) -> Floats:
        from scipy.special import ndtri

        out = np.empty(rows.shape, np.float32)
        for column in range(rows.shape[1]):
            known = ordered[:, column]
            # The middle of where equal values stand.
            place = sum(np.searchsorted(known, rows[:, column], side) for side in ("left", "right"))
            out[:, column] = ndtri((place + 1) / (2 * len(known) + 2))
        return out

    return View("ranks", apply)


def bit_planes(z: Floats) -> View | None:
    """The binary digits of the columns that are codes, and the other columns standardised.

    A column is a code where it is not constant and all its values lie on a grid 2^-g, g <= 16, or
    on an even grid of any other step, within 2^16 steps; or else has few levels, which count in
    their order. None where no column is, or none of more than one bit: the standardised view shows
    single bits as well.
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
    if wide.min() == wide.max():
        return None
    coded = _dyadic(wide) or _even(wide) or _levels(wide)
    if coded is None:
        return None
    width = int(coded(wide).max()).bit_length()
    powers = np.arange(width - 1, -1, -1)

    def apply(values: Floats) -> Floats:
        code = np.clip(coded(values.astype(np.float64)), 0, 2**width - 1).astype(np.int64)
        digits: Floats = ((code[:, None] >> powers) & 1).astype(np.float32)
        return digits

    return apply


def _dyadic(wide: _Values) -> Callable[[_Values], _Values] | None:
    """Steps of a grid 2^-g: the code that an encoder of binary digits wrote."""
    grid = next((g for g in range(_MOST_BITS + 1) if _on_grid(wide, g)), None)
    if grid is None:
        return None
    steps = np.round(wide * 2**grid)
    # Count from 0 where the code does, so that planes are the digits the encoder wrote.
    low, high = min(steps.min(), 0.0), steps.max()
    if high - low >= 2**_MOST_BITS:
        return None
    return lambda values: np.round(values * 2**grid) - low


def _even(wide: _Values) -> Callable[[_Values], _Values] | None:
    """Steps of any even grid from the lowest value up: a code times 1e-6, or standardised."""
    values = np.unique(wide)
    low, span = values[0], values[-1] - values[0]
    step = np.diff(values).min()
    if not span < step * 2**_MOST_BITS:
        return None
    step = span / np.round(span / step)
    steps = (values - low) / step
    if np.abs(steps - np.round(steps)).max() > _ROUNDING:
        return None
    return lambda given: np.round((given - low) / step)


def _levels(wide: _Values) -> Callable[[_Values], _Values] | None:
    """Numbers of the levels of a column that has few and repeats them."""
    values, counts = np.unique(wide, return_counts=True)
    if len(values) > _MOST_LEVELS or counts.mean() < 5:
        return None
    middle = values[:-1] / 2 + values[1:] / 2
    return lambda given: np.searchsorted(middle, given).astype(np.float64)


def _on_grid(column: _Values, grid: int) -> bool:
    scaled = column * 2**grid
    return bool(np.all(scaled == np.round(scaled)))
