"""Views of z: as it is, on a common scale, by ranks and, where z is a code, by its bits.

A view is fitted on the auditor training set alone. Whether z is a code is decided from z itself,
never from what the method declares: a method must not be able to switch an auditor off.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from fairbench.api import Floats

_Values = npt.NDArray[np.float64]

_MAX_BITS = 16
"""Finest grid, 2^-16, and widest range, 2^16 steps, of a column that counts as a code."""

_MAX_LEVELS = 256
"""Most distinct values of a column off any grid that counts as a code: its sorted levels."""
_ROUNDING = 0.1
"""Largest distance from a grid that is taken for rounding, in steps."""

_HEAVY = 15.0
"""Standard deviations from the mean at which a tail is heavy."""

FARTHEST = 1e6
"""Standard deviations to which rows are moved that lie farther out than any of the training set."""

_MERGED = 0.05
"""Share of rows of a column from which it counts that a common scale makes different values equal.
"""
_LOOKED_AT = 4_000
"""Rows among which that is looked for."""

_CHUNK = 8192
"""Rows scaled at once."""


@dataclass(frozen=True)
class View:
    """A transformation of representations that auditors are fitted on."""

    # ``standardised``, ``ranks``, ``bit-planes``, ``interactions``, ``patterns``,
    # ``reconstruction``, or of a wide search
    name: str
    apply: Callable[[Floats], Floats]  # maps ``(n, k)`` to ``(n, features of the view)``


def views_of(z: Floats) -> list[View]:
    """Fit the strict ensemble's views on z of the auditor training set, ``(n, k)``."""
    common = standardised(z)
    others = (ranks(z, common), bit_planes(z))
    return [common, *(view for view in others if view is not None)]


def standardised(z: Floats) -> View:
    """Fit the view of columns at mean 0 and variance 1, so that a small scale hides nothing.

    A few values of 1e25 would leave no difference among the others: columns in which different
    values become equal are shown by ranks, as normal scores.
    """
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
            out[part] = np.clip((rows[part] / unit - mean) * factor, -FARTHEST, FARTHEST)
        return out

    some = z[:: -(-len(z) // _LOOKED_AT)] if len(z) else z
    merged = _merged(some, apply(some))
    if not len(merged):
        return View("standardised", apply)
    ordered = np.sort(z[:, merged], axis=0)

    def apply_ranked(rows: Floats) -> Floats:
        out = apply(rows)
        out[:, merged] = _normal_scores(ordered, rows[:, merged])
        return out

    return View("standardised", apply_ranked)


def _merged(z: Floats, scaled: Floats) -> npt.NDArray[np.intp]:
    """Numbers of the columns in which rows of different z are equal when scaled."""
    shares = []
    for raw, seen in zip(z.T, scaled.T, strict=True):
        _, first, value = np.unique(raw, return_index=True, return_inverse=True)
        _, place, count = np.unique(seen[first], return_inverse=True, return_counts=True)
        shares.append((count[place][value] > 1).mean() if len(raw) else 0.0)
    return np.flatnonzero(np.array(shares) > _MERGED)


def ranks(z: Floats, common: View) -> View | None:
    """Fit the view of each column's ranks, as normal scores; None where no tail is heavy.

    A few extreme values take all of a column's variance: standardised, the differences among the
    other rows shrink to nothing. Trees depend on the order of values alone, which that view keeps.
    """
    if not len(z) or np.abs(common.apply(z)).max(initial=0.0) < _HEAVY:
        return None
    ordered = np.sort(z, axis=0)
    return View("ranks", lambda rows: _normal_scores(ordered, rows))


def _normal_scores(ordered: Floats, rows: Floats) -> Floats:
    """Normal scores of the places of ``rows (m, k)`` among ``ordered (n, k)``, by column."""
    from scipy.special import ndtri

    out = np.empty(rows.shape, np.float32)
    for column in range(rows.shape[1]):
        known = ordered[:, column]
        order = np.argsort(rows[:, column])
        ascending = rows[order, column]  # searched three times as fast
        # The middle of where equal values stand.
        place = sum(np.searchsorted(known, ascending, side) for side in ("left", "right"))
        out[order, column] = ndtri((place + 1) / (2 * len(known) + 2))
    return out


def bit_planes(z: Floats) -> View | None:
    """Fit the view of the binary digits of columns that are codes, and the others standardised.

    A column is a code where it is not constant and all its values lie on a grid 2^-g, g <= 16, or
    on an even grid of any other step, within 2^16 steps; or else has few levels, numbered in order.
    None where no column is a code, or none of more than one bit: the standardised view shows single
    bits as well.
    """
    planes = [_planes(z[:, column]) for column in range(z.shape[1])]
    if all(plane is None or plane(z[:1, 0]).shape[1] == 1 for plane in planes):
        return None
    others = [column for column, plane in enumerate(planes) if plane is None]
    rest = standardised(z[:, others])

    def apply(rows: Floats) -> Floats:
        digits = [plane(rows[:, c]) for c, plane in enumerate(planes) if plane is not None]
        return np.hstack([*digits, rest.apply(rows[:, others])])

    return View("bit-planes", apply)


def _planes(column: Floats) -> Callable[[Floats], Floats] | None:
    """Return a map of one column ``(n,)`` to its digits ``(n, width)``; None if it is no code."""
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
    """Return a map to steps of a grid 2^-g: the code of an encoder of binary digits."""
    scales = (2**g for g in range(_MAX_BITS + 1))
    scale = next((n for n in scales if np.all(wide * n == np.round(wide * n))), None)
    if scale is None:
        return None
    steps = np.round(wide * scale)
    # Count from 0 where the code does, so that planes are the digits of the encoder.
    low, high = min(steps.min(), 0.0), steps.max()
    if high - low >= 2**_MAX_BITS:
        return None
    return lambda values: np.round(values * scale) - low


def _even(wide: _Values) -> Callable[[_Values], _Values] | None:
    """Return a map to steps of any even grid from the lowest value up, as of a rescaled code."""
    values = np.unique(wide)
    low, span = values[0], values[-1] - values[0]
    step = np.diff(values).min()
    if not span < step * 2**_MAX_BITS:
        return None
    step = span / np.round(span / step)
    steps = (values - low) / step
    if np.abs(steps - np.round(steps)).max() > _ROUNDING:
        return None
    return lambda new: np.round((new - low) / step)


def _levels(wide: _Values) -> Callable[[_Values], _Values] | None:
    """Return a map to the numbers of the levels of a column that has few and repeats them."""
    values, counts = np.unique(wide, return_counts=True)
    if len(values) > _MAX_LEVELS or counts.mean() < 5:
        return None
    middle = values[:-1] / 2 + values[1:] / 2
    return lambda new: np.searchsorted(middle, new).astype(np.float64)
