"""Waves along a column: frequencies at which s repeats, such as digits of a number, or hours.

They are the peaks of the periodogram of a residual along the column.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

Values = npt.NDArray[np.float64]
Place = Callable[[Values], Values]
"""Maps values of a column to [0, 1], those beyond its ends farther out."""

BINS, _BINS_OF_DIGITS = 2**14, 2**20
"""Bins of a column in its periodogram, twice the most waves; and of a number of many digits."""
_LOWEST_FREQUENCY = 8
"""Fewest waves along a column that are looked for: trees find slower ones without help."""
_PEAKS = 4
"""Most waves of a column and a group."""
_LOG_FALSE_PEAKS = 5.0
"""-log of the expected number of peaks where there is nothing, over all columns."""


def frequencies(
    places: Values, residual: Values, energy: Values, *, bins: int, tried: float
) -> list[float]:
    """Return the frequencies at which a residual repeats along a column, in waves per unit.

    Parameters
    ----------
    places : ndarray, shape (n,)
        Values of the column, mapped to [0, 1].
    residual : ndarray, shape (n, k)
        What is to be explained, of mean 0; times the weights of rows, where they have some.
    energy : ndarray, shape (k,)
        Expected power where there is nothing: sums of squares of the residual, times the weights.
    bins : int
        Of the periodogram.
    tried : float
        Number of periodograms that are looked at: the more, the higher a peak must be.
    """
    at = np.clip(places * bins, 0, bins - 1).astype(np.int64)
    limit = np.log(tried * bins) + _LOG_FALSE_PEAKS
    found: set[float] = set()
    for k in range(len(energy)):
        power = np.abs(np.fft.rfft(np.bincount(at, residual[:, k], bins))) ** 2
        power[:_LOWEST_FREQUENCY] = 0.0
        strongest = np.argpartition(power, -_PEAKS)[-_PEAKS:]
        peaks = strongest[power[strongest] > limit * energy[k]].tolist()
        found |= {_refined(peak, places, residual[:, k]) for peak in peaks}
    return sorted(found)


def _refined(peak: int, places: Values, residual: Values) -> float:
    """The frequency near a peak at which the power is largest, to a tenth of a wave."""
    near = peak + np.linspace(-0.5, 0.5, 11)
    turned = residual * np.exp(-2j * np.pi * near[0] * places)
    step = np.exp(-2j * np.pi * (near[1] - near[0]) * places)
    power = []
    for _ in near:  # products: to take the exponential anew would be ten times the work
        power.append(np.abs(turned.sum()))
        turned = turned * step
    return float(round(near[np.argmax(power)], 1))


def choose_bin_count(values: Values) -> int:
    """Return the number of bins of the periodogram: more for numbers and money of many digits.

    ``values (n,)``: a column.
    """
    cents = values * 100
    digits = np.ptp(cents) > BINS and np.allclose(cents, np.round(cents), rtol=1e-7, atol=1e-3)
    return _BINS_OF_DIGITS if digits else BINS


def scale_by_value(values: Values, beyond: float = 0.002) -> Place | None:
    """Map values ``(n,)`` to [0, 1], linearly between quantiles ``beyond`` and 1 - ``beyond``.

    None where these are equal.
    """
    low, high = np.quantile(values, [beyond, 1 - beyond])
    return (lambda new: (new - low) / (high - low)) if high > low else None


def scale_by_rank(values: Values) -> Place | None:
    """Map values ``(n,)`` to the share of the column's values that are smaller; None: all equal."""
    ordered = np.sort(values)
    if ordered[0] == ordered[-1]:
        return None
    return lambda new: np.searchsorted(ordered, new) / len(ordered)
