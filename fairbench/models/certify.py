"""Certificates that hold for whichever of many points is chosen by them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from fairbench.api import Floats, Ints, Role
from fairbench.api.metric import Certificate
from fairbench.auditing.certificate import certify, worst_certificate
from fairbench.data.prepared import Prepared
from fairbench.models.lookup import StoredPoint
from fairbench.runs.audit_rows import AuditRows
from fairbench.runs.point_arrays import Kind, PointArrays


@dataclass(frozen=True)
class SelectedCertificate:
    """A certificate that holds for all of several candidates at once.

    Parameters
    ----------
    bound : Certificate
        Of the candidate that was selected.
    level : float
        Probability, over the test rows, that a bound of any candidate fails.
    candidates : int
        Number of candidates that were certified.
    """

    bound: Certificate
    level: float
    candidates: int


@dataclass(frozen=True)
class Certificates:
    """Certificates of all candidates at once.

    Parameters
    ----------
    by_point : mapping of str to Certificate
        By the point's key; each at ``1 - level / len(by_point)``.
    level : float
        Upper limit of the probability, over the test rows, that the bound of any of them fails: one
        such statement for I(Z;S), and one for the gap.
    too_many_codes : int
        Number of candidates whose z takes too many values.
    not_on_disk : int
        Number of candidates whose representation is not on disk.
    """

    by_point: Mapping[str, Certificate]
    level: float
    too_many_codes: int
    not_on_disk: int

    def certifies(self, candidate: StoredPoint, leakage: float) -> bool:
        """Whether a candidate is certified to leak at most so many nats."""
        bound = self.by_point.get(candidate.key)
        return bound is not None and bound.information <= leakage

    def selected(self, candidate: StoredPoint) -> SelectedCertificate:
        """Return the certificate of a candidate that was selected by it."""
        return SelectedCertificate(self.by_point[candidate.key], self.level, len(self.by_point))


def certify_candidates(
    candidates: Sequence[StoredPoint], data: Prepared, *, level: float
) -> Certificates:
    """Certify every candidate that can be, corrected for how many they are.

    Whether one can be is seen on the auditor training set, without the test set: so only those that
    can be count. They count whatever the limit is: with another limit, the earlier statement still
    holds. It holds for one call, on one set of candidates that was decided before anybody looked at
    the test set; a second set, chosen after the first certificates were seen, is not covered.

    Parameters
    ----------
    candidates : sequence of StoredPoint
        Of one dataset.
    data : Prepared
        That dataset.
    level : float
        See :class:`Certificates`.
    """
    # Of each draw: codes of the auditor training set, and of the test set with s.
    codes: dict[str, list[tuple[Floats, Floats, Ints]]] = {}
    too_many = missing = 0
    name: str | None = None
    arrays: Mapping[str, np.ndarray] | None = None
    groups = len(data.info.groups)
    # By file, so that each is read once and only one is held in memory.
    for candidate in sorted(candidates, key=lambda c: str(c.unit.artefact)):
        if candidate.unit.artefact != name:
            name, arrays = candidate.unit.artefact, candidate.model.load_representations()
        if arrays is None:
            missing += 1
            continue
        number = candidate.unit.number_of(candidate.point.label)
        roles = AuditRows.encoded(data, arrays).data.roles
        z = PointArrays(arrays, number).by_part(Kind.Z, (Role.AUDITOR_TRAIN, Role.TEST))
        # Rows must be independent: each draw is certified alone, one row per row of the table.
        sizes = {role: len(roles[role].s) for role in z}
        draws = len(z[Role.TEST]) // sizes[Role.TEST]
        known, new = (np.split(drawn[: draws * sizes[role]], draws) for role, drawn in z.items())
        s = roles[Role.TEST].s
        of_draws = [(*both, s) for both in zip(known, new, strict=True)]
        if any(certify(*draw, groups=groups) is None for draw in of_draws):
            too_many += 1
        else:
            codes[candidate.key] = of_draws
    confidence = 1 - level / max(len(codes), 1)
    bounds = {
        key: worst_certificate(
            certify(*draw, groups=groups, confidence=confidence) for draw in of_draws
        )
        for key, of_draws in codes.items()
    }
    certified = {key: bound for key, bound in bounds.items() if bound is not None}
    return Certificates(certified, level, too_many, missing)
