"""The certificate as columns: what no classifier of z can exceed."""

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
            "1 is vacuous, empty where z takes too many values"
        ),
        "certified_mutual_information": "95% upper bound on I(Z;S), nats; empty likewise",
        "certified_codes": "codes that the certificate knows, from auditor-train",
        "certified_overflow": "share of test rows with another code; they count as unfair",
    }

    def compute(self, evaluation: PointEvaluation) -> Mapping[str, float | None]:
        found = evaluation.certificate
        if found is None:
            return dict.fromkeys(self.columns)
        return {
            "certified_parity_gap": found.gap,
            "certified_mutual_information": found.information,
            "certified_codes": float(found.cells),
            "certified_overflow": found.overflow,
        }
