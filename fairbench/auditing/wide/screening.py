"""Which quantities of a row s depends on, and how: by stripes that repeat, or of any kind.

Each quantity is screened by itself. Along it, the residual of an auditor is summed in bins of equal
numbers of rows: where s has nothing to do with the quantity the sums are as uneven as chance
makes them, however fine the bins are.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from fairbench.api import Floats
from fairbench.auditing.auditors.samples import Columns
from fairbench.auditing.auditors.waves import (
    BINS,
    Place,
    frequencies,
    scale_by_rank,
    scale_by_value,
)
from fairbench.auditing.wide.quantities import Quantity, quantities

Values = npt.NDArray[np.float64]
Folds = npt.NDArray[np.int64]

_MAX_ROWS = 20_000
"""Rows that are screened."""
_FINENESS = (64, 512, 4096)
"""Numbers of bins."""
_SURE = 2.0
"""By which a quantity must be more uneven than the most uneven of noise, in standard errors."""
_MAX_QUANTITIES, _MAX_WAVES = 24, 48
_WIDTHS = (0, 8, 24)
"""Rows on each side of a value that count as near, beside those of the same value."""
_FOLDS = 5
_PRIOR_ROWS = 3.0
"""Weight of no residual, in rows."""
_MAX_GATES = 6
_CORES = (0.002, 0.02, 0.1)
"""Shares of the rows below, and above, the part of a column along which waves are looked for."""


@dataclass(frozen=True)
class Gate:
    """A column of two values, by whose sign the residual is multiplied."""

    column: int
    middle: float

    def sign(self, z: Floats) -> Values:
        """+1 above, -1 below; ``(n,)``."""
        return np.where(z[:, self.column] > self.middle, 1.0, -1.0)


@dataclass(frozen=True)
class _Along:
    """Running sums of the residual along a quantity, of all rows and of each fold."""

    quantity: Quantity
    gate: Gate | None
    ordered: Values  # (n,)
    sums: Values  # (1 + folds, n + 1, classes)
    rows: Values  # (1 + folds, n + 1)

    def means(self, values: Values, fold: Folds | None) -> Values:
        """Return mean residuals near each value, shrunk to 0; of a fold, by rows of the others.

        ``values (n,)``; returns ``(n, widths x classes)``.
        """
        first = np.searchsorted(self.ordered, values)
        last = np.searchsorted(self.ordered, values, side="right")
        made = []
        for width in _WIDTHS:
            low = np.maximum(first - width, 0)
            high = np.minimum(last + width, len(self.ordered))
            sums = self.sums[0, high] - self.sums[0, low]
            rows = self.rows[0, high] - self.rows[0, low]
            if fold is not None:
                sums -= self.sums[1 + fold, high] - self.sums[1 + fold, low]
                rows -= self.rows[1 + fold, high] - self.rows[1 + fold, low]
            made.append(sums / (rows + _PRIOR_ROWS)[:, None])
        return np.hstack(made)


@dataclass(frozen=True)
class _Wave:
    quantity: Quantity
    gate: Gate | None
    place: Place
    frequency: float


def screened(z: Floats, scaled: Columns, residual: Values) -> Columns | None:
    """Return a map of rows to columns of what explains a residual; None where nothing does.

    Parameters
    ----------
    z : ndarray, shape (n, k)
        As released.
    scaled : callable
        Maps z to columns at mean 0 and variance 1.
    residual : ndarray, shape (n, classes)
        What is to be explained, of mean 0: labels less an auditor's probabilities, of rows that it
        has not learned from; of two classes one column.
    """
    every = -(-len(z) // _MAX_ROWS)
    uneven, waves = _screen(z[::every], scaled, residual[::every])
    if not uneven and not waves:
        return None
    rows, rows_scaled = z.astype(np.float64), scaled(z).astype(np.float64)
    fold = np.random.default_rng(0).integers(0, _FOLDS, len(z))
    near = [
        _along(quantity, gate, quantity.of(rows, rows_scaled), z, residual, fold)
        for quantity, gate in uneven
    ]

    def apply(new: Floats) -> Floats:
        rows, rows_scaled = new.astype(np.float64), scaled(new).astype(np.float64)
        made = []
        for one in near:
            values = one.quantity.of(rows, rows_scaled)
            sign = 1.0 if one.gate is None else one.gate.sign(new)[:, None]
            # A row must not see its own label.
            made += [values[:, None], one.means(values, fold if new is z else None) * sign]
        for wave in waves:
            places = wave.place(wave.quantity.of(rows, rows_scaled))
            angle = 2 * np.pi * wave.frequency * places
            sign = 1.0 if wave.gate is None else wave.gate.sign(new)
            made.append(np.column_stack([np.sin(angle) * sign, np.cos(angle) * sign]))
        return np.hstack(made).astype(np.float32)

    return apply


def _screen(
    z: Floats, scaled: Columns, residual: Values
) -> tuple[list[tuple[Quantity, Gate | None]], list[_Wave]]:
    """Return the most uneven quantities of rows, and the strongest waves along any."""
    rows, rows_scaled = z.astype(np.float64), scaled(z).astype(np.float64)
    gates = _gates(z)
    candidates = list(quantities(z))
    tried = float(len(candidates) * (1 + len(gates)) * residual.shape[1])
    limit = np.sqrt(2 * np.log(tried * len(_FINENESS))) + _SURE
    uneven: list[tuple[float, Quantity, Gate | None]] = []
    waves: list[tuple[float, _Wave]] = []
    for quantity in candidates:
        values = quantity.of(rows, rows_scaled)
        for gate in (None, *gates) if len(quantity.columns) == 1 else (None,):
            part = residual if gate is None else residual * gate.sign(z)[:, None]
            score = _unevenness(values, part)
            if score > limit:
                uneven.append((score, quantity, gate))
            waves += _waves(quantity, gate, values, part, tried)
    uneven.sort(key=lambda one: -one[0])
    waves.sort(key=lambda one: -one[0])
    return (
        [(quantity, gate) for _, quantity, gate in uneven[:_MAX_QUANTITIES]],
        [wave for _, wave in waves[:_MAX_WAVES]],
    )


def _gates(z: Floats) -> list[Gate]:
    gates = []
    for column in range(z.shape[1]):
        low, high = float(z[:, column].min()), float(z[:, column].max())
        if low < high and np.isin(z[:, column], (low, high)).all():
            gates.append(Gate(column, (low + high) / 2))
    return gates[:_MAX_GATES]


def _unevenness(values: Values, residual: Values) -> float:
    """Return by how many standard errors sums in bins are too uneven, at the best fineness."""
    ordered = np.sort(values)
    place = np.searchsorted(ordered, values)
    variance = np.maximum(residual.var(axis=0), 1e-12)
    best = -np.inf
    for bins in _FINENESS:
        at = place * bins // len(values)
        rows = np.bincount(at, minlength=bins)
        alive = rows > 0
        free = alive.sum() - 1
        if free < 1 or free > len(values) / 2:
            continue
        for k in range(residual.shape[1]):
            sums = np.bincount(at, residual[:, k], bins)[alive]
            ratio = (sums**2 / rows[alive]).sum() / variance[k] / free
            # Wilson and Hilferty 1931: the cube root of chi-squared is nearly Gaussian.
            score = (np.cbrt(ratio) - (1 - 2 / (9 * free))) / np.sqrt(2 / (9 * free))
            best = max(best, float(score))
    return best


def _waves(
    quantity: Quantity, gate: Gate | None, values: Values, residual: Values, tried: float
) -> list[tuple[float, _Wave]]:
    """Return waves along a quantity, by value within its core and by rank, with their strength."""
    places = [scale_by_rank(values), scale_by_value(values, _CORES[0])]
    if len(quantity.columns) == 1 and quantity.formula == "value":
        places += [scale_by_value(values, core) for core in _CORES[1:]]
    found = []
    for place in places:
        if place is None:
            continue
        at = place(values)
        inside = (at >= 0) & (at <= 1)
        part = residual[inside]
        energy = (part**2).sum(axis=0)
        for frequency in frequencies(
            at[inside], part, energy, bins=BINS, tried=tried * len(places)
        ):
            turned = np.abs(np.exp(2j * np.pi * frequency * at[inside]) @ part) ** 2 / energy
            found.append((float(turned.max()), _Wave(quantity, gate, place, frequency)))
    return found


def _along(
    quantity: Quantity,
    gate: Gate | None,
    values: Values,
    z: Floats,
    residual: Values,
    fold: Folds,
) -> _Along:
    part = residual if gate is None else residual * gate.sign(z)[:, None]
    order = np.argsort(values, kind="stable")
    sums = np.zeros((1 + _FOLDS, len(order) + 1, part.shape[1]))
    rows = np.zeros((1 + _FOLDS, len(order) + 1))
    for of in range(1 + _FOLDS):
        mine = np.ones(len(order)) if of == 0 else (fold[order] == of - 1).astype(np.float64)
        sums[of, 1:] = np.cumsum(part[order] * mine[:, None], axis=0)
        rows[of, 1:] = np.cumsum(mine)
    return _Along(quantity, gate, values[order], sums, rows)
