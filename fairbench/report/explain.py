"""What the bits of a code say: their disparity, and what comes back as the constraint loosens."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from fairbench.api import DatasetInfo, Floats, Ints

Bits = npt.NDArray[np.int8]
"""``(n, k, bits)``: 0, 1, or -1 where masked."""

_TOLD = 3
"""Features that a sentence names."""

_NEAR_NOTHING = 0.1
"""Correlation below which a feature is not said to come back."""


@dataclass(frozen=True)
class BitTable:
    """The bits of one point of a curve.

    Parameters
    ----------
    label : str
        Setting of the knobs.
    kept : ndarray, shape (k, bits)
        Share of test rows at which the bit is released.
    ones : ndarray, shape (k, bits)
        Share of test rows at which it is released and 1.
    disparity : ndarray, shape (k, bits)
        ``max_s |P(b=1 | S=s) - P(b=1 | S!=s)|``, a masked bit counting as 0 (section 5 of the
        paper): the demographic disparity of a classifier that returns the bit.
    """

    label: str
    kept: npt.NDArray[np.float64]
    ones: npt.NDArray[np.float64]
    disparity: npt.NDArray[np.float64]

    @property
    def bits_a_row(self) -> float:
        """Bits released a row, on average."""
        return float(self.kept.sum())


@dataclass(frozen=True)
class Step:
    """What a code gains from one setting of the knob to the next, looser one.

    Parameters
    ----------
    before, after : str
        The two settings.
    bits : float
        Newly released bits a row, on average.
    correlation : mapping of str to float
        Of each column of the raw table with the first principal component of the newly released
        bits, absolute; of the one-hot columns of a category the largest.
    """

    before: str
    after: str
    bits: float
    correlation: Mapping[str, float]

    def sentence(self, i_before: float | None, i_after: float | None) -> str:
        """The step in words, with I in nats of both points where they were audited."""
        order = sorted(self.correlation, key=lambda name: -self.correlation[name])
        told = [n for n in order[:_TOLD] if self.correlation[n] >= _NEAR_NOTHING]
        what = ", ".join(f"{name} ({self.correlation[name]:.2f})" for name in told)
        gained = f"{self.bits:.2f} more bits a row" if self.bits >= 0.005 else "hardly a bit more"
        goes = f"; what comes back goes with {what}" if told and self.bits >= 0.005 else ""
        leak = ""
        if i_before is not None and i_after is not None:
            leak = f" I(Z;S) goes from {i_before:.3f} to {i_after:.3f} nats."
        return f"From {self.before} to {self.after}: {gained}{goes}.{leak}"


def bit_table(label: str, bits: Bits, s: Ints) -> BitTable:
    """Shares and disparities of the bits of one point.

    Parameters
    ----------
    label : str
    bits : ndarray of int8, shape (n, k, bits)
    s : ndarray of int64, shape (n,)
    """
    ones = (bits == 1).reshape(len(bits), -1).astype(np.float64)
    overall, n = ones.sum(axis=0), len(s)
    disparity = np.zeros(ones.shape[1])
    for group in np.unique(s):
        member = s == group
        inside = ones[member].sum(axis=0)
        outside = (overall - inside) / max(n - member.sum(), 1)
        disparity = np.maximum(disparity, np.abs(inside / member.sum() - outside))
    return BitTable(
        label,
        kept=(bits >= 0).mean(axis=0),
        ones=(bits == 1).mean(axis=0),
        disparity=disparity.reshape(bits.shape[1:]),
    )


def step(before: str, after: str, tight: Bits, loose: Bits, x: Floats, info: DatasetInfo) -> Step:
    """Compare the bits of two settings of one model, the tighter first (the paper's Figure 6).

    Parameters
    ----------
    before, after : str
        Labels of the settings.
    tight, loose : ndarray of int8, shape (n, k, bits)
    x : ndarray, shape (n, d)
        Features of the same rows.
    info : DatasetInfo
        Names the features.
    """
    new = (tight < 0) & (loose >= 0)
    # Signs, not zeros and ones: a bit that is still masked says nothing either way.
    values = np.where(new, np.where(loose == 1, 1.0, -1.0), 0.0).reshape(len(x), -1)
    values = values[:, new.reshape(len(x), -1).any(axis=0)]
    component = _first_component(values)
    correlation: dict[str, float] = {}
    for feature, column in zip(info.features, x.T, strict=True):
        found = _correlation(component, column.astype(np.float64))
        correlation[feature.source] = max(correlation.get(feature.source, 0.0), found)
    return Step(before, after, float(new.sum() / len(x)), correlation)


def _first_component(values: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    centred = values - values.mean(axis=0)
    if not centred.any():
        return np.zeros(len(values))
    _, vectors = np.linalg.eigh(centred.T @ centred)
    component: npt.NDArray[np.float64] = centred @ vectors[:, -1]
    return component


def _correlation(a: npt.NDArray[np.float64], b: npt.NDArray[np.float64]) -> float:
    a, b = a - a.mean(), b - b.mean()
    size = np.sqrt((a @ a) * (b @ b))
    return float(abs(a @ b) / size) if size > 0 else 0.0


def rows_of(tables: Sequence[BitTable]) -> list[dict[str, object]]:
    """The tables as rows: point, dimension and bit from 1, shares, disparity."""
    return [
        {
            "point": table.label,
            "dimension": dimension + 1,
            "bit": bit + 1,
            "kept": float(table.kept[dimension, bit]),
            "ones": float(table.ones[dimension, bit]),
            "disparity": float(table.disparity[dimension, bit]),
        }
        for table in tables
        for dimension, bit in np.ndindex(table.kept.shape)
    ]
