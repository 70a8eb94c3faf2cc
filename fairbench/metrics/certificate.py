"""The certificate as columns, and the area under the curve that it certifies."""

from __future__ import annotations

from collections.abc import Mapping, Set
from typing import ClassVar

import numpy as np

from fairbench.api.metric import Certificate, CurveEvaluation, Metric, PointEvaluation
from fairbench.metrics.hull import is_informative, normalised_area, strict_curve
from fairbench.stats.information_bound import bound_information

ERROR = 0.05
"""Probability with which any bound of a curve's points may fail, over the test rows."""


class CertificateBounds(Metric):
    """Finite-sample upper bounds on the unfairness of every classifier of z."""

    name = "certificate"
    summary = "95% upper bounds on any classifier's demographic-parity gap and on I(Z;S)"
    level = "point"
    direction = "lower"
    columns: ClassVar[Mapping[str, str]] = {
        "certified_parity_gap": (
            "95% upper bound on the demographic-parity gap of any classifier of z; "
            "1 is vacuous; the word vacuous where z takes too many values"
        ),
        "certified_mutual_information": (
            "95% upper bound on I(Z;S), nats; the word vacuous where z takes too many values"
        ),
        "certified_codes": "distinct codes of the auditor training set, the certificate's cells",
        "certified_overflow": (
            "share of test rows whose code is not in the auditor training set; they count as if it "
            "told s"
        ),
        "certified_plug_in_information": (
            "plug-in estimate of I(Z;S) on the test set, nats; any other code counts as if it "
            "determined s. With the next three it gives the bound of I(Z;S) at any level"
        ),
        "certified_rows": "test rows that certify",
        "certified_groups": "groups of s",
        "certified_smallest_group": "certifying rows of the smallest group",
    }
    vacuous_columns: ClassVar[Set[str]] = frozenset(
        {"certified_parity_gap", "certified_mutual_information"}
    )

    def compute(self, evaluation: PointEvaluation) -> Mapping[str, float | None]:
        return self.columns_of(evaluation.certificate)

    def columns_of(self, certificate: Certificate | None) -> Mapping[str, float | None]:
        """Return the columns of a certificate; None: there is none."""
        if certificate is None:
            return dict.fromkeys(self.columns)
        return {
            "certified_parity_gap": certificate.gap,
            "certified_mutual_information": certificate.information,
            "certified_codes": float(certificate.cells),
            "certified_overflow": certificate.overflow,
            "certified_plug_in_information": certificate.plug_in,
            "certified_rows": float(certificate.rows),
            "certified_groups": certificate.groups,
            "certified_smallest_group": certificate.least_group,
        }


class AufdcCertified(Metric):
    """The area with certified upper bounds of I in place of what auditors read.

    All bounds of a curve hold at once with probability .95 over the test rows: each of its k
    certificates is worked out at level 1 - .05 / k (Bonferroni; which points have one is seen on
    the auditor training set). So the hull may be chosen by the bounds. Its D is chosen on the
    validation set and measured on the test set. A point without a certificate has I_max, which is
    never on the hull. D, D_max and I_max are estimates: they are not certified.
    """

    name = "aufdc-certified"
    summary = "AUFDC with simultaneous 95% upper bounds of I(Z;S); .5 where nothing is certified"
    level = "curve"
    direction = "lower"
    columns: ClassVar[Mapping[str, str]] = {
        "aufdc_certified": (
            "AUFDC with certified upper bounds of I, which hold for all points of a curve at once "
            "with probability .95, in place of the auditors' estimates; I_max where there is no "
            "certificate, so .5 where no point has one; D, D_max and I_max are estimates; empty "
            "where records lack certified_plug_in_information"
        ),
    }

    def compute(self, evaluation: CurveEvaluation) -> Mapping[str, float | None]:
        return {"aufdc_certified": certified_area(evaluation)}


def certified_area(evaluation: CurveEvaluation) -> float | None:
    """Compute the certified area of a curve.

    None where x has no I(X;S), and where a point's record lacks what its bound is made of.
    """
    points, reference = evaluation.points, evaluation.reference
    if not is_informative(evaluation) or not all(_is_stored(point) for point in points):
        return None
    certified = [point for point in points if point["certified_mutual_information"] is not None]
    bounds = [
        bound_information(
            point["certified_plug_in_information"],
            rows=int(point["certified_rows"]),
            groups=int(point["certified_groups"]),
            least_group=int(point["certified_smallest_group"]),
            miss=ERROR / len(certified),
        )
        for point in certified
    ]
    i_max, d_max = reference["mutual_information_max"], reference["distortion_max"]
    # A bound above I_max is never on the hull; an infinite one has no place in it.
    bound = np.minimum(np.array(bounds, dtype=np.float64), i_max)
    on_validation = np.array([point["distortion_validation"] for point in certified], np.float64)
    d, i = strict_curve(
        np.array([point["distortion"] for point in certified], dtype=np.float64),
        bound,
        np.column_stack([on_validation, bound]),
        i_max=i_max,
        d_max=d_max,
        i_max_validation=i_max,
        d_max_validation=reference["distortion_max_validation"],
    )
    return float(normalised_area(d, i, i_max=i_max, d_max=d_max))


def _is_stored(point: Mapping[str, float | None]) -> bool:
    """Return whether a point is known to have no certificate, or its bound can be worked out."""
    if "certified_mutual_information" not in point:
        return False
    without = point["certified_mutual_information"] is None
    return without or point.get("certified_plug_in_information") is not None
