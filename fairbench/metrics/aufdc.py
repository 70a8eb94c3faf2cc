"""Area under the unfairness-distortion curve: strict, which ranks, and as the paper computes it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

import numpy as np

from fairbench.api.metric import CurveEvaluation, Metric
from fairbench.metrics.hull import Array, curve_of, resampled_areas, strict_curve


def strict_area(
    points: Sequence[tuple[float, float]],
    validation: Sequence[tuple[float, float]],
    *,
    i_max: float,
    d_max: float,
    i_max_validation: float,
    d_max_validation: float,
) -> float:
    """Normalised area under the hull: vertices chosen on validation, area measured on test.

    The ends (0, I_max): release x, and (D_max, 0): release nothing, are always there, so a curve
    gains nothing by stopping short; every chord is reached by releasing one end's representation
    for a share of the people and the other's for the rest. The straight line between the ends
    scores .5; lower is better.

    Parameters
    ----------
    points, validation : sequence of (d, i)
        Of each point, on test and on validation, in the same order.
    i_max, d_max, i_max_validation, d_max_validation : float
        Of the dataset, on either role.
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
    return float(np.trapezoid(i, d) / (d_max * i_max))


def paper_area(points: Sequence[tuple[float, float]], *, i_max: float, d_max: float) -> float:
    """The paper's AUFDC (its appendix, section "Additional Details on Area under ...").

    Points with both more distortion and more information than another are dropped; trapezoids
    over the rest; ``I_min (D_max - D_min)`` is added on the right; divided by ``D_max I_max``.
    Nothing is counted left of the first point, so a curve that stops short scores too well, and a
    constant encoder scores 0, the best: shown beside the strict area, never ranked by.
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
    """Strict AUFDC: what leaderboards rank by."""

    name = "aufdc"
    summary = "area under the lower hull of the unfairness-distortion curve; .5 is trivial"
    level = "curve"
    direction = "lower"
    columns: ClassVar[Mapping[str, str]] = {
        "aufdc": "strict AUFDC: vertices chosen on validation, area on test, D_max I_max = 1",
        "aufdc_low": "lower end of its 95% interval; see interval_over",
        "aufdc_high": "upper end of the same interval",
        "distortion_min": "coverage: least D of a point on test",
        "mutual_information_min": "coverage: least I of a point on test, nats",
    }

    def compute(self, evaluation: CurveEvaluation) -> Mapping[str, float | None]:
        points = [(p["distortion"], p["mutual_information"]) for p in evaluation.points]
        coverage = {
            "distortion_min": min(d for d, _ in points),
            "mutual_information_min": min(i for _, i in points),
        }
        curve = curve_of(evaluation)
        if curve is None:
            return {"aufdc": None, **coverage}
        d, i = curve
        scale = (
            evaluation.reference["distortion_max"] * evaluation.reference["mutual_information_max"]
        )
        return {"aufdc": float(np.trapezoid(i, d) / scale), **coverage}

    def resampled(self, evaluation: CurveEvaluation) -> Mapping[str, Array]:
        areas = resampled_areas(evaluation)
        return {} if areas is None else {"aufdc": areas}


class AufdcPaper(Metric):
    """AUFDC as the paper computes it, with its weaknesses."""

    name = "aufdc-paper"
    summary = "the paper's AUFDC: its MLPs, own decoders, D_max by permuted z; not ranked by"
    level = "curve"
    direction = "lower"
    columns: ClassVar[Mapping[str, str]] = {
        "aufdc_paper": "AUFDC by the paper's formula, auditors and decoder",
        "distortion_max_paper": "its D_max: D of the most compressed point with z permuted across rows",
        "distortion_min_paper": "its coverage: least D of a point by the method's own decoder",
        "mutual_information_min_paper": "its coverage: least I of a point by the paper's MLPs, nats",
    }

    def compute(self, evaluation: CurveEvaluation) -> Mapping[str, float | None]:
        points = [(_own(p), p["mutual_information_paper"]) for p in evaluation.points]
        # "The most compressed point": where the permuted codes say least, the largest own D.
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
