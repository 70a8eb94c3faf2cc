"""Area under the unfairness-distortion curve: strict, for ranking, and as the paper computes it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

import numpy as np

from fairbench.api.metric import CurveEvaluation, Metric
from fairbench.metrics.hull import Array, curve_of, normalised_area, resampled_areas, strict_curve


def strict_area(
    points: Sequence[tuple[float, float]],
    validation: Sequence[tuple[float, float]],
    *,
    i_max: float,
    d_max: float,
    i_max_validation: float,
    d_max_validation: float,
) -> float:
    """Compute the normalised area under the hull of the validation set, measured on the test set.

    The ends (0, I_max): release x, and (D_max, 0): release nothing, are always included, so a curve
    gains nothing by stopping short; a chord is reached by releasing the representation of one of
    its ends for a share of the rows and the other's for the rest. The straight line between the
    ends scores .5; lower is better.

    ``points``, ``validation``: of each point, on the test and on the validation set, in the same
    order. ``i_max``, ``d_max``, ``i_max_validation``, ``d_max_validation``: of the dataset, on the
    test and on the validation set.
    """
    test = np.array(points, dtype=np.float64).reshape(-1, 2)
    d, i = strict_curve(
        test[:, 0],
        test[:, 1],
        np.array(validation, dtype=np.float64).reshape(-1, 2),
        i_max=i_max,
        d_max=d_max,
        i_max_validation=i_max_validation,
        d_max_validation=d_max_validation,
    )
    return float(normalised_area(d, i, i_max=i_max, d_max=d_max))


def paper_area(points: Sequence[tuple[float, float]], *, i_max: float, d_max: float) -> float:
    """Compute the paper's AUFDC (its appendix, section "Additional Details on Area under ...").

    Points with both more distortion and more information than another are dropped; trapezoids
    over the rest; ``I_min (D_max - D_min)`` is added on the right; divided by ``D_max I_max``.
    No area is counted left of the first point, so a curve that stops short scores too well, and a
    constant encoder scores 0, the best. So it is shown beside the strict area and never ranks.
    """
    kept = [
        (d, max(i, 0.0))
        for d, i in points
        if not any(other_d < d and other_i < i for other_d, other_i in points)
    ]
    kept.sort(key=lambda point: (point[0], -point[1]))
    d, i = np.array(kept, dtype=np.float64).T
    area = np.trapezoid(i, d) + i[-1] * max(d_max - d[-1], 0.0)
    return float(area / (d_max * i_max))


class Aufdc(Metric):
    """Strict AUFDC, which ranks leaderboards."""

    name = "aufdc"
    summary = "area under the lower hull of the unfairness-distortion curve; .5 is trivial"
    level = "curve"
    direction = "lower"
    columns: ClassVar[Mapping[str, str]] = {
        "aufdc": (
            "AUFDC: hull of the validation set, area on the test set, as a share of D_max I_max"
        ),
        "aufdc_low": "lower end of its 95% confidence interval; see interval_over",
        "aufdc_high": "upper end of the same interval",
        "distortion_min": "lowest D of a point on the test set",
        "mutual_information_min": "lowest I of a point on the test set, nats",
    }

    def compute(self, evaluation: CurveEvaluation) -> Mapping[str, float | None]:
        reference, area = evaluation.reference, None
        if (curve := curve_of(evaluation)) is not None:
            d, i = curve
            i_max, d_max = reference["mutual_information_max"], reference["distortion_max"]
            area = float(normalised_area(d, i, i_max=i_max, d_max=d_max))
        return {
            "aufdc": area,
            "distortion_min": min(p["distortion"] for p in evaluation.points),
            "mutual_information_min": min(p["mutual_information"] for p in evaluation.points),
        }

    def resampled(self, evaluation: CurveEvaluation) -> Mapping[str, Array]:
        areas = resampled_areas(evaluation)
        return {} if areas is None else {"aufdc": areas}


class AufdcPaper(Metric):
    """AUFDC as the paper computes it, with its weaknesses."""

    name = "aufdc-paper"
    summary = "the paper's AUFDC: its MLPs, own decoders, D_max by permuted z; does not rank"
    level = "curve"
    direction = "lower"
    columns: ClassVar[Mapping[str, str]] = {
        "aufdc_paper": "AUFDC by the paper's formula, auditors and decoder",
        "distortion_max_paper": (
            "the paper's D_max: D of the most compressed point with z permuted across rows"
        ),
        "distortion_min_paper": "lowest D of a point by the method's own decoder",
        "mutual_information_min_paper": "lowest I of a point by the paper's MLPs, nats",
    }

    def compute(self, evaluation: CurveEvaluation) -> Mapping[str, float | None]:
        points = [(_own(p), p["mutual_information_paper"]) for p in evaluation.points]
        # "The most compressed point": the largest D by the method's own decoder.
        compressed = max(evaluation.points, key=_own)
        permuted = compressed.get("distortion_permuted")
        d_max = permuted if permuted is not None else evaluation.reference["distortion_max"]
        i_max = evaluation.reference["mutual_information_max_paper"]
        return {
            "aufdc_paper": paper_area(points, i_max=i_max, d_max=d_max) if i_max > 0 else None,
            "distortion_max_paper": d_max,
            "distortion_min_paper": min(d for d, _ in points),
            "mutual_information_min_paper": min(i for _, i in points),
        }


def _own(point: Mapping[str, float]) -> float:
    own = point.get("distortion_own_decoder")
    return own if own is not None else point["distortion_refitted_decoder"]
