"""Quantities of a row that s may depend on: of a column, of two columns, or of the whole row.

A ratio, an angle or the length of a row is a simple rule, and yet trees and MLPs do not find that
s repeats along it. So each is computed, and screened as if it were a column of z.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from fairbench.api import Floats

_Values = npt.NDArray[np.float64]
_Formula = Callable[[_Values, _Values], _Values]

_LARGEST, _LARGEST_WHOLE = 1e30, 2.0**52
_DIGITS = 16
"""Decimal digits of a number; all of those below 2^52 have no more."""
_MAX_PAIRED = 24
"""Columns of which all pairs are formed; of wider rows, none but the first ones."""
_MAX_CELLS_SHARE = 0.4
"""Most different pairs of values, as a share of rows, that are taken for categories."""


def _angle(a: _Values, b: _Values) -> _Values:
    return np.asarray(np.arctan2(b, a))


def _equal_pairs(z: _Values) -> _Values:
    later = (z[:, column + 1 :] == z[:, column : column + 1] for column in range(z.shape[1] - 1))
    return np.asarray(np.sum([equal.sum(axis=1) for equal in later], axis=0), np.float64)


def _digits(values: _Values) -> _Values:
    """Return the digits of whole numbers, the last one first, ``(n, 16)``."""
    whole = np.minimum(np.abs(np.round(values)), _LARGEST_WHOLE).astype(np.int64)
    return (whole[:, None] // 10 ** np.arange(_DIGITS) % 10).astype(np.float64)


def _digit_sum(values: _Values) -> _Values:
    return np.asarray(_digits(values).sum(axis=1))


def _tripled(digits: _Values) -> _Values:
    """The sum of digits ``(n, k)``, the last one first, every second one three times."""
    return digits @ (1.0 + 2 * (np.arange(digits.shape[1]) % 2))


def _doubled(digits: _Values) -> _Values:
    """The sum with every second digit doubled, less 9 where that is above (Luhn)."""
    made = digits * (1.0 + np.arange(digits.shape[1]) % 2)
    return np.asarray((made - 9 * (made > 9)).sum(axis=1))


def _by_place(digits: _Values) -> _Values:
    """The sum of the digits times their places, from 1."""
    return digits @ np.arange(1.0, digits.shape[1] + 1)


def _entropy(z: _Values) -> _Values:
    shares = np.abs(z) / np.abs(z).sum(axis=1, keepdims=True)
    return np.asarray(-np.nansum(shares * np.log(shares), axis=1))


_CHECK_SUMS: dict[str, Callable[[_Values], _Values]] = {
    "tripled digit sum": _tripled,
    "doubled digit sum": _doubled,
    "digit sum by place": _by_place,
}
"""Sums by which check digits are chosen: of article numbers (EAN, ISBN-13), cards, books (ISBN-10).
"""

_OF_ONE: dict[str, Callable[[_Values], _Values]] = {
    "value": lambda a: a,
    "logarithm": lambda a: np.log(np.abs(a)),
    "fraction": lambda a: a - np.floor(a),
    "power of two": lambda a: np.frexp(a)[1].astype(np.float64),
    "digit sum": _digit_sum,
    **{name: lambda a, of=of: of(_digits(a)) for name, of in _CHECK_SUMS.items()},  # type: ignore[misc]
    "mantissa": lambda a: np.frexp(a)[0],
}
_OF_TWO: dict[str, _Formula] = {
    "sum": np.add,
    "difference": np.subtract,
    "product": np.multiply,
    "ratio": np.divide,
    "reverse ratio": lambda a, b: b / a,
    "ratio to square": lambda a, b: a / b**2,
    "reverse ratio to square": lambda a, b: b / a**2,
    "angle": _angle,
    "length": np.hypot,
    "logarithm of length": lambda a, b: np.log(np.hypot(a, b)),
    # Different for each two values: a category, of no order.
    "cell": lambda a, b: a * 1414.2135 + b * 0.7391,
}
_OF_ROW: dict[str, Callable[[_Values], _Values]] = {
    "sum": lambda z: z.sum(axis=1),
    "length": lambda z: np.sqrt((z**2).sum(axis=1)),
    "sum of sizes": lambda z: np.abs(z).sum(axis=1),
    "entropy": _entropy,
    "spread": lambda z: z.std(axis=1),
    "largest": lambda z: z.max(axis=1),
    "least": lambda z: z.min(axis=1),
    "range": lambda z: np.ptp(z, axis=1),
    "zeros": lambda z: (z == 0).sum(axis=1).astype(np.float64),
    "different values": lambda z: (np.diff(np.sort(z, axis=1), axis=1) != 0).sum(axis=1) + 1.0,
    "equal pairs": _equal_pairs,
    # Where each column is a digit, the last one in the last column.
    **{name: lambda z, of=of: of(z[:, ::-1]) for name, of in _CHECK_SUMS.items()},  # type: ignore[misc]
}


@dataclass(frozen=True)
class Quantity:
    """A number computed of each row of z."""

    formula: str
    columns: tuple[int, ...]  # one, two, or none: the whole row
    scaled: bool = False  # of columns at mean 0 and variance 1, not of z as released

    def of(self, z: _Values, scaled: _Values) -> _Values:
        """Compute it from rows ``(n, k)`` and the same ones scaled; return ``(n,)``, finite."""
        rows = scaled if self.scaled else z
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            if not self.columns:
                made = _OF_ROW[self.formula](rows)
            elif len(self.columns) == 1:
                made = _OF_ONE[self.formula](rows[:, self.columns[0]])
            else:
                first, second = self.columns
                made = _OF_TWO[self.formula](rows[:, first], rows[:, second])
        return np.clip(np.nan_to_num(made), -_LARGEST, _LARGEST)


def quantities(z: Floats) -> Iterator[Quantity]:
    """Yield all quantities of rows like ``z (n, k)``; of many columns not all pairs."""
    columns = z.shape[1]
    many_valued = [c for c in range(columns) if len(np.unique(z[:, c])) > 2]
    for column in many_valued:
        yield from (Quantity(formula, (column,)) for formula in _OF_ONE)
    if columns > 1:
        for scaled in (False, True):
            yield from (Quantity(formula, (), scaled) for formula in _OF_ROW)
    paired = many_valued[:_MAX_PAIRED]
    for at, first in enumerate(paired):
        for second in paired[at + 1 :]:
            cells = len(np.unique(z[:, [first, second]], axis=0)) <= _MAX_CELLS_SHARE * len(z)
            for scaled in (False, True):
                for formula in _OF_TWO:
                    if formula != "cell" or (cells and not scaled):
                        yield Quantity(formula, (first, second), scaled)
