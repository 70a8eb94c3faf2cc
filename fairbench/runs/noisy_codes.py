"""Whether draws of the same rows are of the same code, as far as their noise lets one say."""

from __future__ import annotations

import math

import numpy as np

from fairbench.stats.rounding import most_difference

_SIGMAS = 6.0
"""Standard errors by which means of draws may differ."""


def share_of_moved_means(before: np.ndarray, after: np.ndarray) -> float:
    """Return the share of rows whose mean over draws has moved.

    ``before``, ``after (draws, n, k)``: draws of the same n rows.
    """
    gap = np.abs(before.mean(axis=0) - after.mean(axis=0))
    error = np.sqrt((before.var(axis=0) + after.var(axis=0)) / len(before))
    return float(
        (gap > _SIGMAS * error + most_difference(before[0].astype(np.float64))).any(axis=1).mean()
    )


def share_beyond(known: np.ndarray, new: np.ndarray) -> float:
    """Return the share of rows of which more draws lie beyond those known than there must be.

    Beyond: farther from the range of a row's known draws than that is wide. The last of them, as
    many as are new, say how many are by chance.

    Parameters
    ----------
    known : ndarray, shape (draws, n, k)
    new : ndarray, shape (fewer draws, n, k)
    """
    range_of, control = known[: -len(new)], known[-len(new) :]
    found, chance = (_beyond(range_of, drawn) for drawn in (new, control))
    error = math.sqrt((found + chance) / known.shape[1])
    return max(0.0, found - chance - 3 * error)


def _beyond(known: np.ndarray, new: np.ndarray) -> float:
    low, high = known.min(axis=0), known.max(axis=0)
    room = (high - low) + most_difference(known[0].astype(np.float64))
    return float(((new < low - room) | (new > high + room)).any(axis=(0, 2)).mean())
