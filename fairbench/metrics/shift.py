"""Distribution shift: what a representation leaks, and is worth, in another domain."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

import numpy as np

from fairbench.api.metric import CurveEvaluation, Metric, PointEvaluation
from fairbench.metrics.gaps import GAPS, gaps_of
from fairbench.metrics.operating import chosen_within
from fairbench.stats.intervals import percentile_interval, without_bias
from fairbench.stats.scores import accuracy, entropy, information

_TOLERANCE = 1e-3
"""Nats: an interval of a code that says nothing of s has no width."""


class Shift(Metric):
    """Figures of one point in the target domain."""

    name = "shift"
    summary = "leakage, distortion, accuracy and gaps in another domain"
    level = "point"
    columns: ClassVar[Mapping[str, str]] = {
        "shift_mutual_information": (
            "I(Z;S) on the target's test set by auditors fitted in the target, nats; empty without "
            "--shift, as are all columns of it"
        ),
        "shift_mutual_information_low": (
            "lower end of its 95% bootstrap confidence interval over test rows"
        ),
        "shift_mutual_information_high": "upper end of the same interval",
        "shift_distortion": "D on the target's test set, by a decoder refitted there or the own",
        "shift_certificate_held": (
            "share of the bootstrap replicates of I(Z;S) in the target that are at most the bound "
            "that the source certifies; empty where that bound says nothing"
        ),
        "shift_accuracy_y": (
            "accuracy on the target's test set of the downstream classifier fitted in the source"
        ),
        "shift_accuracy_y_refitted": "accuracy there of one fitted in the target",
        "shift_demographic_parity_gap": (
            "demographic parity gap on the target's test set of the classifier of the source"
        ),
        "shift_equalized_odds_gap": "its equalized odds gap there",
        "shift_equal_opportunity_gap": "its equal opportunity gap there; binary tasks only",
    }

    def compute(self, evaluation: PointEvaluation) -> Mapping[str, float | None]:
        values: dict[str, float | None] = dict.fromkeys(self.columns)
        if evaluation.shift is None:
            return values
        there = evaluation.shift.target
        estimate = information(there.audit.probabilities, there.s)
        replicates = without_bias(there.replicates["mutual_information"], estimate)
        low, high = percentile_interval(replicates)
        values["shift_mutual_information"] = estimate
        values["shift_mutual_information_low"] = low
        values["shift_mutual_information_high"] = high
        values["shift_distortion"] = float(there.distortion.strict.mean())
        # A bound above H(S) holds anywhere, and says nothing.
        certificate = evaluation.certificate
        if certificate is not None and certificate.information < entropy(there.s):
            held = replicates <= certificate.information
            values["shift_certificate_held"] = float(held.mean())
        if evaluation.shift.moved:
            moved = next(iter(evaluation.shift.moved.values()))
            values["shift_accuracy_y"] = accuracy(moved)
            values["shift_accuracy_y_refitted"] = accuracy(next(iter(there.downstream.values())))
            gaps = gaps_of(moved, there.s, draws=there.draws)
            values |= {f"shift_{name}": gap for name, gap in zip(GAPS, gaps, strict=True)}
        return values


class ShiftOfCurve(Metric):
    """A curve in the target domain against the source."""

    name = "shift-of-curve"
    summary = "a whole curve in another domain, against its own"
    level = "curve"
    columns: ClassVar[Mapping[str, str]] = {
        "shift_points_within": (
            "share of the points whose I in the target differs from I in the source by at most the "
            "half width of the difference's 95% interval plus .001 nats"
        ),
        "shift_points_above": (
            "share of the points whose I in the target is larger by more than that"
        ),
        "shift_leakage_change": "mean over points of I in the target less I in the source, nats",
        "shift_certificates_held": (
            "mean of shift_certificate_held over the points that have it; empty where none has"
        ),
        "shift_accuracy_y_change": (
            "A_y in the target by the classifier of the source, less A_y in the source, at the "
            "point of accuracy_y_at_leakage_10; empty where no point leaks so little"
        ),
        "shift_gap_change": "the same difference of its demographic parity gap, at the same point",
    }

    def compute(self, evaluation: CurveEvaluation) -> Mapping[str, float | None]:
        values: dict[str, float | None] = dict.fromkeys(self.columns)
        points = [p for p in evaluation.points if p.get("shift_mutual_information") is not None]
        if not points:
            return values
        here, low, high = _estimates(points, "mutual_information")
        there, low_there, high_there = _estimates(points, "shift_mutual_information")
        change = there - here
        # Both are estimates: an interval of the source alone would hold 84% of equal ones.
        above = change > np.hypot(high - here, there - low_there) + _TOLERANCE
        below = -change > np.hypot(here - low, high_there - there) + _TOLERANCE
        values["shift_points_within"] = float((~above & ~below).mean())
        values["shift_points_above"] = float(above.mean())
        values["shift_leakage_change"] = float(
            (
                _column(points, "shift_mutual_information") - _column(points, "mutual_information")
            ).mean()
        )
        held = [p["shift_certificate_held"] for p in points if _has(p, "shift_certificate_held")]
        values["shift_certificates_held"] = float(np.mean(held)) if held else None
        chosen = chosen_within(evaluation, 0.1)
        if chosen is not None:
            point = evaluation.points[chosen]
            for column, figure in (
                ("shift_accuracy_y_change", "accuracy_y"),
                ("shift_gap_change", "demographic_parity_gap"),
            ):
                if _has(point, f"shift_{figure}") and _has(point, figure):
                    values[column] = point[f"shift_{figure}"] - point[figure]
        return values


def _has(point: Mapping[str, float], column: str) -> bool:
    return point.get(column) is not None


def _estimates(points: Sequence[Mapping[str, float]], name: str) -> tuple[np.ndarray, ...]:
    """Estimates of information and the ends of their intervals, at least 0."""
    columns = (name, f"{name}_low", f"{name}_high")
    return tuple(np.maximum(_column(points, column), 0.0) for column in columns)


def _column(points: Sequence[Mapping[str, float]], name: str) -> np.ndarray:
    return np.array([point[name] for point in points], np.float64)
