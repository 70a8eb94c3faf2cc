"""Metrics of who may look: leakage by what an auditor may use."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from fairbench.api.metric import Access, Metric, PointEvaluation

BY_ACCESS = {
    Access.RELEASE: "mutual_information_release",
    Access.QUERIES_16: "mutual_information_queries_16",
    Access.QUERIES_256: "mutual_information_queries_256",
}
"""Columns of I(Z;S) by access, beside ``mutual_information``, whose access is ``decoder``."""


class InformationByAccess(Metric):
    """Mutual information of z and s by other accesses than the one that ranks."""

    name = "information-by-access"
    summary = "I(Z;S) by auditors who see z once, and by those who query a person repeatedly"
    level = "point"
    direction = "lower"
    unit = "nats"
    columns: ClassVar[Mapping[str, str]] = {
        "mutual_information_release": (
            "I(Z;S) on the test set by auditors of z alone, seen once, nats. Access: `release`"
        ),
        "mutual_information_queries_16": (
            "the same by auditors who also see mean and standard deviation of 16 draws of a "
            "person's z; of a deterministic encoder, that of `release`. At the first, middle and "
            "last point of a curve. Access: `queries-16`"
        ),
        "mutual_information_queries_256": "the same with 256 draws. Access: `queries-256`",
    }

    def compute(self, evaluation: PointEvaluation) -> Mapping[str, float | None]:
        return {column: evaluation.by_access.get(access) for access, column in BY_ACCESS.items()}
