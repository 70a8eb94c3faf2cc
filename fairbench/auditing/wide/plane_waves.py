"""Waves across several columns at once: boards, slanted stripes, check digits and long parities.

A periodogram over a grid of all values of a few columns: Fourier's transform of the residual, in as
many dimensions as there are columns. Whole numbers lie on a grid of their remainders, which the
transform covers exactly: a sum of columns modulo m, or a parity of twenty bits, is one peak.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from fairbench.api import Floats
from fairbench.auditing.auditors.samples import Columns
from fairbench.auditing.auditors.waves import Place, scale_by_rank, scale_by_value
from fairbench.auditing.wide.digits import ColumnDigits, number_of
from fairbench.auditing.wide.quantities import Quantity

_Values = npt.NDArray[np.float64]
_Ints = npt.NDArray[np.int64]

_MAX_ROWS = 20_000
"""Rows that are screened."""
_MAX_POINTS = 2**20
"""Most points of a grid."""
_LARGEST_MODULUS = 16
_MAX_WINDOWS = 8
_MAX_BITS = 20
"""Lowest digits of a number."""
_MAX_NUMBERS = 24
"""Columns whose digits are looked at; of wider rows the first ones."""
_FEW = 0.05
"""Share of rows that must have a column's most common value, and that must not."""
_SIDES = {2: 128, 3: 64}
"""Points along each column of a grid of two or of three columns."""
_MAX_GRIDS = {2: 300, 3: 60}
_CHANCE = 5.0
"""-log of the expected number of peaks where there is nothing."""
_PEAKS = 6
"""Most waves of a grid and a group."""
_MAX_WAVES = 48


@dataclass(frozen=True)
class _Grid:
    """Quantities whose values are mapped to points of a grid of ``side`` points along each."""

    quantities: tuple[Quantity, ...]
    side: int
    places: tuple[Place, ...] | None  # None: remainders of whole numbers

    def positions(self, z: _Values, scaled: _Values) -> _Values:
        """Map rows to positions ``(n, quantities)``, in grid points."""
        values = [quantity.of(z, scaled) for quantity in self.quantities]
        if self.places is None:
            return np.column_stack(values) % self.side
        placed = (place(one) for place, one in zip(self.places, values, strict=True))
        return np.column_stack([np.clip(one, 0, 1) * self.side for one in placed])


@dataclass(frozen=True)
class _Wave:
    grid: _Grid
    frequency: _Ints  # (quantities,): waves along each


def find_plane_waves(z: Floats, scaled: Columns, residual: _Values) -> Columns | None:
    """Return a map of rows to sines and cosines along which a residual repeats; None: of none.

    ``z (n, k)`` as released; ``scaled`` maps it to a common scale; ``residual (n, classes)``, of
    mean 0.
    """
    every = -(-len(z) // _MAX_ROWS)
    rows, rows_scaled = z[::every].astype(np.float64), scaled(z[::every]).astype(np.float64)
    residual = residual[::every]
    grids = [
        *_of_remainders(rows),
        *_of_bits(rows),
        *_of_low_bits(rows),
        *_of_values(rows, rows_scaled),
    ]
    points = sum(grid.side ** len(grid.quantities) for grid in grids)
    found: list[tuple[float, _Wave]] = []
    for grid in grids:
        at = np.minimum(grid.positions(rows, rows_scaled).astype(np.int64), grid.side - 1)
        for k in range(residual.shape[1]):
            found += _peaks(grid, at, residual[:, k], np.log(max(points, 1) * residual.shape[1]))
    if not found:
        return None
    found.sort(key=lambda one: -one[0])
    waves = [wave for _, wave in found[:_MAX_WAVES]]

    def apply(new: Floats) -> Floats:
        rows, rows_scaled = new.astype(np.float64), scaled(new).astype(np.float64)
        positions = {
            grid: grid.positions(rows, rows_scaled) for grid in {wave.grid for wave in waves}
        }
        made = []
        for wave in waves:
            turns = positions[wave.grid] @ wave.frequency / wave.grid.side
            made += [np.sin(2 * np.pi * turns), np.cos(2 * np.pi * turns)]
        return np.column_stack(made).astype(np.float32)

    return apply


def _of_remainders(rows: _Values) -> Iterator[_Grid]:
    """Yield grids of whole numbers' remainders: of all such columns, or of as many as fit."""
    whole = [
        c
        for c in range(rows.shape[1])
        if np.ptp(rows[:, c]) > 0 and np.all(rows[:, c] == np.round(rows[:, c]))
    ]
    for modulus in range(2, _LARGEST_MODULUS + 1):
        alive = [c for c in whole if np.ptp(rows[:, c] % modulus) > 0]
        for columns in _windows(alive, modulus):
            yield _Grid(tuple(Quantity("value", (c,)) for c in columns), modulus, None)


def _of_bits(rows: _Values) -> Iterator[_Grid]:
    """Yield grids of one bit a column: above the median or not, the most common value or not."""
    for bit in (_above_median, _most_common):
        made = {c: bit(rows[:, c]) for c in range(rows.shape[1])}
        places = {c: place for c, place in made.items() if place is not None}
        for columns in _windows(list(places), 2):
            of = tuple(Quantity("value", (c,)) for c in columns)
            yield _Grid(of, 2, tuple(places[c] for c in columns))


def _of_low_bits(rows: _Values) -> Iterator[_Grid]:
    """Yield a grid of the lowest binary digits of each column, or bits in memory."""
    many = [c for c in range(rows.shape[1]) if len(np.unique(rows[:, c])) > _MAX_BITS]
    for column in many[:_MAX_NUMBERS]:
        number = number_of(rows[:, column], column)
        bits = number.bits(rows[:, column])
        alive = np.flatnonzero(np.ptp(bits, axis=0) > 0)[:_MAX_BITS]
        if len(alive) > 1:
            of = (Quantity("value", (column,)),) * len(alive)
            yield _Grid(of, 2, tuple(_bit(number, place) for place in alive.tolist()))


def _bit(number: ColumnDigits, place: int) -> Place:
    return lambda new: number.bits(new)[:, place] / 2


def _above_median(values: _Values) -> Place | None:
    middle = np.median(values)
    if not 0 < (values > middle).mean() < 1:
        return None
    return lambda new: (new > middle) / 2


def _most_common(values: _Values) -> Place | None:
    levels, counts = np.unique(values, return_counts=True)
    most = levels[counts.argmax()]
    if not _FEW * len(values) < counts.max() < (1 - _FEW) * len(values):
        return None
    return lambda new: (new == most) / 2


def _windows(columns: list[int], side: int) -> Iterator[list[int]]:
    """Yield all columns, or overlapping windows of as many as a grid holds."""
    fit = int(np.log2(_MAX_POINTS) / np.log2(side) + 1e-9)
    step = max(1, fit // 2)
    for start in range(0, max(len(columns) - fit, 0) + step, step)[:_MAX_WINDOWS]:
        if len(columns[start : start + fit]) > 1:
            yield columns[start : start + fit]


def _of_values(rows: _Values, scaled: _Values) -> Iterator[_Grid]:
    """Yield grids of two and of three columns, by value and by rank, and of angle and length."""
    many = [c for c in range(rows.shape[1]) if len(np.unique(rows[:, c])) > 2]
    for size, side in _SIDES.items():
        for columns in itertools.islice(itertools.combinations(many, size), _MAX_GRIDS[size]):
            of = tuple(Quantity("value", (c,)) for c in columns)
            yield from _placed(of, side, (scale_by_value, scale_by_rank), rows, scaled)
    for columns in itertools.islice(itertools.combinations(many, 2), _MAX_GRIDS[2]):
        for length in ("length", "logarithm of length"):
            of = Quantity("angle", columns), Quantity(length, columns)
            yield from _placed(of, _SIDES[2], (_by_turn,), rows, scaled)


def _by_turn(values: _Values) -> Place | None:
    """The place of an angle on the circle, and of another quantity by value."""
    if np.abs(values).max() <= np.pi + 1e-6 and np.ptp(values) > 1.9 * np.pi:
        return lambda new: new / (2 * np.pi) % 1
    return scale_by_value(values)


def _placed(
    of: tuple[Quantity, ...],
    side: int,
    kinds: tuple[Callable[[_Values], Place | None], ...],
    rows: _Values,
    scaled: _Values,
) -> Iterator[_Grid]:
    for kind in kinds:
        places = tuple(kind(quantity.of(rows, scaled)) for quantity in of)
        if all(place is not None for place in places):
            yield _Grid(of, side, tuple(place for place in places if place is not None))


def _hadamard(sums: _Values) -> _Values:
    """Fourier's transform of a grid of two points along each axis, several times as fast."""
    flat = sums.ravel()
    for axis in range(sums.ndim):
        pairs = flat.reshape(2**axis, 2, -1)
        flat = np.stack([pairs[:, 0] + pairs[:, 1], pairs[:, 0] - pairs[:, 1]], axis=1).ravel()
    return flat.reshape(sums.shape)


def _peaks(
    grid: _Grid, at: _Ints, residual: _Values, log_tried: float
) -> list[tuple[float, _Wave]]:
    """Return the strongest waves of a grid, with their power as a multiple of noise's."""
    shape = (grid.side,) * len(grid.quantities)
    flat = np.ravel_multi_index(tuple(at.T), shape)
    summed = np.bincount(flat, residual, int(np.prod(shape))).astype(np.float64, copy=False)
    sums = summed.reshape(shape)
    transform = _hadamard(sums) if grid.side == 2 else np.fft.rfftn(sums)
    power = np.abs(transform) ** 2 / (residual**2).sum()
    power.flat[0] = 0.0
    count = min(_PEAKS, power.size)
    strongest = np.argpartition(power, -count, axis=None)[-count:]
    found = []
    for place in strongest[power.flat[strongest] > log_tried + _CHANCE]:
        frequency = np.array(np.unravel_index(place, power.shape))
        # Waves of one point up, one down, have no phase: the power of noise varies twice as much.
        alternating = np.all(2 * frequency % grid.side == 0)
        if alternating and power.flat[place] <= 2 * (log_tried + _CHANCE):
            continue
        frequency = np.where(frequency > grid.side // 2, frequency - grid.side, frequency)
        found.append((float(power.flat[place]), _Wave(grid, frequency)))
    return found
