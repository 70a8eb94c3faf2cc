"""Bootstrap replicates over test rows: the same resamples for every figure of one test role.

Resample b of n rows is the same whatever is measured on it, so figures of two points, methods or
seeds that share their test rows can be compared in pairs, one resample at a time. The store holds
replicates as text: ``name:base64`` of little-endian float32, separated by spaces, one number per
resample.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable, Mapping

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

Array = npt.NDArray[np.float64]


def resampled_means(
    columns: Array, *, resamples: int = RESAMPLES, seed: int = 0
) -> npt.NDArray[np.float64]:
    """Compute means of columns over resamples of their rows, drawn with replacement.

    ``columns (n, k)``. ``seed``: the same seed and n give the same resamples. Returns
    ``(resamples, k)``.
    """
    n = len(columns)
    rng = np.random.default_rng(seed)
    size = max(1, _CELLS // n)
    means = []
    for start in range(0, resamples, size):
        count = min(size, resamples - start)
        drawn = rng.integers(0, n, (count, n))
        drawn += n * np.arange(count)[:, None]
        weights = np.bincount(drawn.ravel(), minlength=count * n).reshape(count, n)
        means.append(weights.astype(np.float64) @ columns / n)
    return np.concatenate(means)


def one_hot(labels: Ints) -> Array:
    """Return indicator columns, whose means are the shares of the groups, ``(n, groups)``."""
    return np.eye(int(labels.max()) + 1)[labels]


def entropy_of(shares: Array) -> Array:
    """Compute the entropy, nats, of each row of shares ``(..., groups)``; 0 ln 0 is 0."""
    logs = np.log(shares, out=np.zeros_like(shares), where=shares > 0)
    entropies: Array = -(shares * logs).sum(axis=-1)
    return entropies


def replicated(
    losses: Array, s: Ints, distortion: Array | Floats, right: Array | None = None
) -> dict[str, Array]:
    """Compute replicates of I, D and accuracy of one representation, each ``(RESAMPLES,)``.

    ``losses (n,)``: -log c(s|z) of the strict auditor, nats; the mean over draws of each row.
    ``s (n,)``. ``distortion (n,)``: squared error of the strict decoder. ``right (n,)``: whether
    the main task's downstream classifier is right; the mean over draws. Returns
    ``mutual_information`` (nats), ``distortion``, and ``accuracy_y`` where there is a task.
    """
    groups = one_hot(s)
    columns = [losses, distortion, *groups.T, *([] if right is None else [right])]
    means = resampled_means(np.column_stack(columns).astype(np.float64, copy=False))
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
