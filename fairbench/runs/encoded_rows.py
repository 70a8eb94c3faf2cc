"""What an encoder and its decoder give for rows, and which rows differ from those audited."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from fairbench.api import Ints
from fairbench.auditing.config import DECODED_DECIMALS
from fairbench.stats.rounding import most_difference

_STEP = 1.5 * 10.0**-DECODED_DECIMALS
"""The step to which reconstructions are rounded, and a half."""


@dataclass(frozen=True)
class EncodedRows:
    """What an encoder gives for n rows.

    Parameters
    ----------
    z : ndarray, shape (n, draws * k)
        Codes: all draws that audits see, side by side.
    reconstructions : ndarray, shape (n, columns), or None
        What auditors see of the reconstructions of these draws by its own decoder, side by side;
        None: it has none.
    squared_errors : ndarray, or None
        Squared errors of the reconstructions, mean over draws: for each group ``(n, groups)``, or
        for that of the row ``(n,)``.
    """

    z: np.ndarray
    reconstructions: np.ndarray | None
    squared_errors: np.ndarray | None

    def in_order(self, numbers: Ints) -> EncodedRows:
        """Return those of rows that were encoded in another order: row i is ``numbers[i]``."""
        order = np.argsort(numbers)
        some = (
            None if one is None else one[order]
            for one in (self.reconstructions, self.squared_errors)
        )
        return EncodedRows(self.z[order], *some)

    def of_groups(self, s: Ints) -> EncodedRows:
        """Return them with the errors for the group of each row."""
        if self.squared_errors is None:
            return self
        return replace(self, squared_errors=self.squared_errors[np.arange(len(s)), s])

    def share_of_changed_rows(self, audited: EncodedRows) -> float:
        """Return the share of rows that are others than those that were audited."""
        return float(self.changed_rows(audited).mean())

    def changed_rows(self, audited: EncodedRows) -> npt.NDArray[np.bool_]:
        """Return of each row whether it is another than that which was audited."""
        differs = np.zeros(len(self.z), bool)
        # Reconstructions are rounded: one may be a step away, and its squared error e^2 by twice e
        # times that step.
        for mine, before, step in (
            (self.z, audited.z, 0.0),
            (self.reconstructions, audited.reconstructions, _STEP),
            (self.squared_errors, audited.squared_errors, None),
        ):
            if mine is None and before is None:
                continue
            if mine is None or before is None or mine.shape != before.shape:
                return np.ones(len(self.z), bool)
            known = before.reshape(len(before), -1).astype(np.float64)
            allowed = most_difference(known)
            allowed = allowed + (2 * _STEP * np.sqrt(known) if step is None else step)
            differs |= (np.abs(mine.reshape(known.shape) - known) > allowed).any(axis=1)
        return differs
