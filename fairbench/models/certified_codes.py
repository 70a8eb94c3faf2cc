"""The codes that a stored point's certificate counts, to tell others from where rows are encoded.

A certificate is of the codes of the rows that were audited. Who encodes new rows finds here which
of them have a code that none of those had: their share should be that of the certifying rows. Of a
stochastic encoder each draw is certified alone: codes and share are those of one, the first.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from fairbench.api import Floats, Role
from fairbench.auditing.auditors.samples import row_keys
from fairbench.models.lookup import StoredModel
from fairbench.runs.point_arrays import ArrayName, Kind
from fairbench.store import files as artefacts
from fairbench.store.records import PointRecord

_BY_CHANCE = 1e-4
"""Probability below which so large a share of other codes is taken for no chance."""


@dataclass(frozen=True)
class CertifiedCodes:
    """Distinct codes of a certificate.

    Parameters
    ----------
    codes : ndarray, shape (m, k)
        Each of them once.
    overflow : float
        Share of the certifying rows with any other code.
    certifying : int
        Number of the certifying rows.
    """

    codes: npt.NDArray[Any]
    overflow: float
    certifying: int

    def count_others(self, z: Floats) -> int:
        """Count the rows of z ``(n, k)`` with another code; codes are equal if their bytes are."""
        if z.shape[1] != self.codes.shape[1]:
            return len(z)
        # Zeros without a sign, as `encode` writes them: codes of earlier versions may have one.
        known = row_keys(self.codes.astype(z.dtype))
        return int((~np.isin(row_keys(z), known)).sum())

    def are_too_many(self, others: int, rows: int) -> bool:
        """Whether so many rows with other codes are clearly more than the overflow lets expect.

        By Fisher's exact test against the certifying rows, one-sided.
        """
        from scipy.stats import hypergeom

        if not others:
            return False
        everywhere = others + round(self.overflow * self.certifying)
        chance = hypergeom.sf(others - 1, rows + self.certifying, everywhere, rows)
        return bool(chance < _BY_CHANCE)


def read_certified_codes(model: StoredModel, point: PointRecord) -> CertifiedCodes | None:
    """Read the codes of a measured point of a model.

    None where it has no certificate, or its representations are not in the results folder.
    """
    overflow, certifying = (point.figures.get(f"certified_{name}") for name in ("overflow", "rows"))
    if overflow is None or not certifying or model.unit.artefact is None:
        return None
    number, rows = model.unit.number_of(point.label), int(certifying)
    names = [str(ArrayName(number, Kind.Z, role)) for role in (Role.AUDITOR_TRAIN, Role.TEST)]
    arrays = artefacts.load_few(model.results.folder, model.unit.artefact, names)
    if arrays is None:
        return None
    known, certified = (arrays[name] for name in names)
    draws = max(len(certified) // rows, 1)
    known = known[: len(known) // draws]
    _, first = np.unique(row_keys(known), return_index=True)
    codes = CertifiedCodes(known[first], overflow, rows)
    if draws == 1:
        return codes
    # The stored share is that of the draw with the largest bound.
    return replace(codes, overflow=codes.count_others(certified[:rows]) / rows)
