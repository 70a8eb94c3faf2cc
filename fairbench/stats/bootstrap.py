"""Bootstrap replicates over test rows: weights that belong to people, whatever is measured on them.

In resample b a person counts Poisson(1) times: as often as in a bootstrap of a large table. The
number depends on the person's number in the table and on b alone. So figures of two points,
methods, seeds or splits can be compared in pairs, one resample at a time, where they share people;
and where they share none, as test sets of two folds, their errors are independent. The store holds
replicates as text: ``name:base64`` of little-endian float32, separated by spaces, one number per
resample.
"""

from __future__ import annotations

import base64
import binascii
import math
from collections.abc import Callable, Mapping
from functools import cache, lru_cache

import numpy as np
import numpy.typing as npt

from fairbench.api import Floats, Ints
from fairbench.errors import StoreError

RESAMPLES = 500
"""Resamples behind every confidence interval. Tests use the spread of the replicates, which 500
give to about 3%, not counts of extreme ones, which would need 40 times as many for a correction
over all pairs of 20 methods."""

_CELLS = 2_000_000
"""Most resamples times rows in memory at a time."""

_LEVELS = 2**16
"""Values of the uniform draws behind Poisson counts."""

Array = npt.NDArray[np.float64]


def resampled_means(
    columns: Array, *, row_numbers: Ints | None = None, resamples: int = RESAMPLES, seed: int = 0
) -> npt.NDArray[np.float64]:
    """Compute means of columns over resamples of their rows.

    ``columns (n, k)``. ``row_numbers (n,)``: of the rows in their table, by default 0 to n - 1; the
    same number, resample and seed give the same count. Returns ``(resamples, k)``.
    """
    n = len(columns)
    numbers = (np.arange(n) if row_numbers is None else row_numbers).astype(np.int64).tobytes()
    size = max(1, _CELLS // n)
    means = []
    for start in range(0, resamples, size):
        counts = _counts(numbers, start, min(start + size, resamples), seed).astype(np.float64)
        counts[counts.sum(axis=1) == 0] = 1.0  # a few rows, none of which was drawn
        means.append(counts @ columns / counts.sum(axis=1, keepdims=True))
    return np.concatenate(means)


# The points of a dataset have the same test rows. Each entry has at most _CELLS bytes.
@lru_cache(maxsize=16)
def _counts(row_numbers: bytes, start: int, stop: int, seed: int) -> npt.NDArray[np.uint8]:
    """How often each person, an int64, is drawn in resamples ``start`` to ``stop``, one per row."""
    numbers = np.frombuffer(row_numbers, np.int64)
    counts = np.empty((stop - start, len(numbers)), np.uint8)
    for row, resample in zip(counts, range(start, stop), strict=True):
        rng = np.random.Generator(np.random.PCG64([seed, resample]))
        uniform = rng.integers(0, _LEVELS, int(numbers.max()) + 1, dtype=np.uint16)
        row[:] = _poisson()[uniform[numbers]]
    counts.flags.writeable = False
    return counts


@cache
def _poisson() -> npt.NDArray[np.uint8]:
    """Poisson(1) counts by uniform level."""
    shares = np.cumsum([math.exp(-1) / math.factorial(k) for k in range(12)])
    middles = (np.arange(_LEVELS) + 0.5) / _LEVELS
    return np.searchsorted(shares, middles).astype(np.uint8)


def one_hot(labels: Ints) -> Array:
    """Return indicator columns, whose means are the shares of the groups, ``(n, groups)``."""
    return np.eye(int(labels.max()) + 1)[labels]


def entropy_of(shares: Array) -> Array:
    """Compute the entropy, nats, of each row of shares ``(..., groups)``; 0 ln 0 is 0."""
    logs = np.log(shares, out=np.zeros_like(shares), where=shares > 0)
    entropies: Array = -(shares * logs).sum(axis=-1)
    return entropies


def bootstrap_figures(
    losses: Array,
    s: Ints,
    distortion: Array | Floats,
    right: Array | None = None,
    *,
    row_numbers: Ints | None = None,
) -> dict[str, Array]:
    """Compute replicates of I, D and accuracy of one representation, each ``(RESAMPLES,)``.

    ``losses (n,)``: -log c(s|z) of the strict auditor, nats; the mean over draws of each row.
    ``s (n,)``. ``distortion (n,)``: squared error of the strict decoder. ``right (n,)``: whether
    the main task's downstream classifier is right; the mean over draws. ``row_numbers (n,)``: of
    the rows in their table. Returns ``mutual_information`` (nats), ``distortion``, and
    ``accuracy_y`` where there is a task.
    """
    groups = one_hot(s)
    columns = [losses, distortion, *groups.T, *([] if right is None else [right])]
    together = np.column_stack(columns).astype(np.float64, copy=False)
    means = resampled_means(together, row_numbers=row_numbers)
    shares = means[:, 2 : 2 + groups.shape[1]]
    replicates = {"mutual_information": entropy_of(shares) - means[:, 0], "distortion": means[:, 1]}
    if right is not None:
        replicates["accuracy_y"] = means[:, -1]
    return replicates


def to_text(replicates: Mapping[str, npt.NDArray[np.floating]]) -> str:
    """Encode replicates as text for the store."""
    return " ".join(
        f"{name}:{base64.b64encode(np.asarray(values, '<f4').tobytes()).decode()}"
        for name, values in replicates.items()
    )


def from_text(text: str | None) -> dict[str, Array]:
    """Decode replicates from text, empty without any; StoreError if malformed."""
    replicates: dict[str, Array] = {}
    for part in (text or "").split():
        name, _, coded = part.partition(":")
        try:
            values = np.frombuffer(base64.b64decode(coded, validate=True), "<f4")
        except (binascii.Error, ValueError):
            values = np.empty(0)
        if not name or not len(values) or not np.isfinite(values).all():
            raise StoreError(
                f"The replicates of a record cannot be read: {part[:20]!r}.",
                "They are names with base64 of float32; import an undamaged export.",
            )
        replicates[name] = values.astype(np.float64)
    return replicates


def rename_replicates(text: str, new_name: Callable[[str], str]) -> str:
    """Return stored replicates with their names changed; text that is none stays as it is."""
    parts = (part.partition(":") for part in text.split(" "))
    return " ".join(f"{new_name(name)}{colon}{coded}" for name, colon, coded in parts)
