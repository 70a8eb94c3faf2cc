"""Digits of the numbers in z: decimal and binary ones, and the bits in memory of other numbers.

s may be in the last digit of a number, which is nothing beside the number itself.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from fairbench.api import Floats
from fairbench.auditing.auditors.samples import Columns

_Values = npt.NDArray[np.float64]

_MAX_DIGITS = 1_024
"""Most digits, of all columns."""
_FEWEST = 3
"""Fewest digits of a column, with its sign."""
_MAX_DECIMALS = 12
"""Most decimals of a column that counts as a decimal number; of one below 1, from its first on."""
_SINGLE_BITS, _DOUBLE_BITS = 32, 52
_TENS, _LARGEST = 16, 2.0**52
"""Decimal digits of a number, and the largest one of which all digits are exact."""


@dataclass(frozen=True)
class ColumnDigits:
    """How the digits of a column are read."""

    column: int
    decimals: int | None  # None: not decimal numbers, whose bits in memory are read
    single: bool  # all values are of single precision

    def digits(self, values: _Values, most: int) -> Floats:
        """Return binary digits, decimal ones and the sign of values ``(n,)``, ``(n, digits)``.

        ``most``: how many at most; of more the lowest of both kinds.
        """
        bits, left = self.bits(values), most - 1
        parts = [np.signbit(values)[:, None]]
        if self.decimals is not None:
            tens = self.tens(values)[:, : max(left // 2, left - bits.shape[1])]
            parts.insert(0, tens)
            left -= tens.shape[1]
        return np.hstack([bits[:, :left], *parts]).astype(np.float32)

    def tens(self, values: _Values) -> Floats:
        """Return the decimal digits of decimal numbers ``(n,)``, the lowest first."""
        return (self._whole(values)[:, None] // 10 ** np.arange(_TENS) % 10).astype(np.float32)

    def _whole(self, values: _Values) -> npt.NDArray[np.int64]:
        with np.errstate(over="ignore"):
            scaled = np.abs(np.round(values * 10.0 ** (self.decimals or 0)))
        return np.minimum(scaled, _LARGEST).astype(np.int64)

    def bits(self, values: _Values) -> Floats:
        """Return the binary digits of values ``(n,)``, the lowest first."""
        if self.decimals is not None:
            return ((self._whole(values)[:, None] >> np.arange(_DOUBLE_BITS)) & 1).astype(
                np.float32
            )
        memory: npt.NDArray[np.unsignedinteger] = (
            values.astype(np.float32).view(np.uint32) if self.single else values.view(np.uint64)
        )
        places = np.arange(_SINGLE_BITS if self.single else _DOUBLE_BITS, dtype=memory.dtype)
        return ((memory[:, None] >> places) & 1).astype(np.float32)


def digits(z: Floats) -> Columns | None:
    """Decimal and binary digits of decimal numbers, and the bits in memory of other numbers."""
    numbers: list[ColumnDigits] = []
    for column in range(z.shape[1]):
        values = z[:, column].astype(np.float64)
        if len(np.unique(values)) > 2:
            numbers.append(number_of(values, column))
    if not numbers:
        return None
    # Of many columns few digits each, rather than all of some: the lowest are where s would be.
    numbers = numbers[: _MAX_DIGITS // _FEWEST]
    most = _MAX_DIGITS // len(numbers)

    def apply(rows: Floats) -> Floats:
        wide = rows.astype(np.float64)
        return np.hstack([one.digits(wide[:, one.column].copy(), most) for one in numbers])

    return apply


def number_of(values: _Values, column: int) -> ColumnDigits:
    """Return how the digits of a column ``(n,)`` are read."""
    with np.errstate(over="ignore"):
        single = bool(np.all(values == values.astype(np.float32)))
    return ColumnDigits(column, _decimals(values, single), single)


def _decimals(values: _Values, single: bool) -> int | None:
    """Number of decimals of all values, up to rounding; None where they are not decimal numbers."""
    rounding = 2.0**-23 if single else 2.0**-51
    largest = float(np.abs(values).max(initial=0.0))
    if not largest > 1e-290:
        return None
    # Before that decimal all would be rounded to 0.
    first = max(0, math.floor(-math.log10(largest)))
    for decimals in range(first, first + _MAX_DECIMALS + 1):
        with np.errstate(over="ignore"):
            scaled = values * 10.0**decimals
        if np.abs(scaled).max() > _LARGEST:
            return None
        away = np.abs(scaled - np.round(scaled))
        if np.all(away <= np.minimum(rounding * np.abs(scaled) + 1e-9, 0.1)):
            return decimals
    return None
