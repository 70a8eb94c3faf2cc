"""Reconstructions by a method's own decoder: their distortion, and what auditors see of them.

The decoder is called once for each group, with that group for all rows; the reconstruction of a row
is the one for its own group. Whoever has the reconstructions for all groups, and s, has that
distortion. So auditors see all of them: what they cannot find there, nobody needs to reveal for the
distortion that a method is credited with, however z itself is encrypted.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from fairbench.api import Floats, Ints
from fairbench.api.method import Representation
from fairbench.auditing.axes import image_axes, principal_axes
from fairbench.auditing.config import DECODED_COLUMNS, DECODED_DECIMALS
from fairbench.runs.contract import ContractError

_ROWS_FOR_AXES = 4_000


@dataclass(frozen=True)
class Decoded:
    """Reconstructions of n rows."""

    # (n, groups * d): for all groups, side by side; (n, d) where they do not depend on the group;
    # see fairbench.auditing.axes where they are wider than 512 columns
    shown: Floats
    squares: Floats  # (n,): squared errors for each row's own group, summed over columns


def decode_rows(
    representation: Representation,
    z: Floats,
    s: Ints,
    features: Callable[[Ints], Floats],
    parts: Sequence[Ints],
    *,
    groups: int,
    name: str,
    image: tuple[int, int, int] | None = None,
) -> Decoded | None:
    """Decode rows, a part at a time; None: there is no decoder.

    Parameters
    ----------
    z, s : arrays
        Codes ``(n, k)`` and sensitive attribute ``(n,)``.
    features : callable
        Returns x of rows, by their numbers.
    parts : sequence of arrays
        Numbers of all rows, in the parts that are decoded at once.
    groups : int
        Number of groups.
    name : str
        The method's, for errors.
    image : tuple of int, optional
        Channels, height and width, where x is an image.

    Raises
    ------
    ContractError
        The decoder returned another shape than that of x, or values that are not finite.
    """
    squares = np.empty(len(z), np.float32)
    shown: list[Floats] = []
    width = features(parts[0][:1]).shape[1]
    wide = groups * width > DECODED_COLUMNS
    project = None
    if wide:
        some = z[parts[0][:_ROWS_FOR_AXES]]
        first = _for_all_groups(representation, some, groups, width, name)
        project = None if first is None else _axes(np.hstack(first), image)
    for rows in parts:
        by_group = _for_all_groups(representation, z[rows], groups, width, name)
        if by_group is None:
            return None
        x = features(rows)
        for group, reconstructed in enumerate(by_group):
            own = s[rows] == group
            squares[rows[own]] = ((reconstructed[own] - x[own]) ** 2).sum(axis=1)
        together = np.hstack(by_group)
        shown.append(together if project is None else project(together))
    order = np.empty(len(z), np.int64)
    order[np.concatenate(parts)] = np.arange(len(z))
    return Decoded(_without_copies(np.concatenate(shown)[order], width, wide), squares)


def _for_all_groups(
    representation: Representation, z: Floats, groups: int, width: int, name: str
) -> list[Floats] | None:
    reconstructions = []
    for group in range(groups):
        x_hat = representation.decode(z, np.full(len(z), group, np.int64))
        if x_hat is None:
            return None
        if np.shape(x_hat) != (len(z), width):
            raise ContractError(
                f"{name}.decode returned shape {np.shape(x_hat)}; x has {(len(z), width)}."
            )
        rounded = np.asarray(x_hat, np.float32).round(DECODED_DECIMALS)
        if not np.isfinite(rounded).all():
            raise ContractError(f"{name}.decode returned values that are not finite.")
        reconstructions.append(rounded)
    return reconstructions


def _axes(sample: Floats, image: tuple[int, int, int] | None) -> Callable[[Floats], Floats]:
    axes = principal_axes(sample) if image is None else image_axes(sample, image)
    return lambda rows: axes.project(rows).round(DECODED_DECIMALS)


def _without_copies(shown: Floats, width: int, wide: bool) -> Floats:
    """Keep one of the reconstructions where those for all groups are the same."""
    if wide:
        return shown
    copies = shown.reshape(len(shown), -1, width)
    return shown[:, :width].copy() if (copies == copies[:, :1]).all() else shown
