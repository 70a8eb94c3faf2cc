"""The certificate as columns: upper bounds for every classifier of z."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from fairbench.api.metric import Metric, PointEvaluation


class CertificateBounds(Metric):
    """Finite-sample upper bounds on the unfairness of every classifier of z."""

    name = "certificate"
    summary = "95% upper bounds on any classifier's demographic-parity gap and on I(Z;S)"
    level = "point"
    direction = "lower"
    columns: ClassVar[Mapping[str, str]] = {
        "certified_parity_gap": (
            "95% upper bound on the demographic-parity gap of any classifier of z; "
            "1 is vacuous; empty where z takes too many values"
        ),
        "certified_mutual_information": (
            "95% upper bound on I(Z;S), nats; empty where z takes too many values"
        ),
        "certified_codes": "distinct codes of the auditor training set, the certificate's cells",
        "certified_overflow": "share of test rows with any other code; they count as unfair",
    }

    def compute(self, evaluation: PointEvaluation) -> Mapping[str, float | None]:
        certificate = evaluation.certificate
        if certificate is None:
            return dict.fromkeys(self.columns)
        return {
            "certified_parity_gap": certificate.gap,
            "certified_mutual_information": certificate.information,
            "certified_codes": float(certificate.cells),
            "certified_overflow": certificate.overflow,
        }
