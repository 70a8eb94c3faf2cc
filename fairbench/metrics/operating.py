"""Operating points: I at a given D, D at a given I, and A_y at a limit of I or of A_s."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

import numpy as np

from fairbench.api.metric import CurveEvaluation, Metric
from fairbench.metrics.hull import Array, curve_of
from fairbench.metrics.limits import reached_column

SHARES = (25, 50)
"""Percentages of D_max, or of I_max, at which strict curves are evaluated."""

LIMITS = (10, 25)
"""Percentages of I_max that a point may leak; relative, because datasets' I_max differ tenfold.
Below a tenth the auditors' noise decides which points stay under the limit."""

_LEAKAGE = "mutual_information_validation"

AUDITOR_LIMITS = (10, 25, 50)
"""Highest A_s, as percentages of the way from a constant guess of s to the auditors' accuracy on x:
relative, as the largest group is a tenth of one dataset and two thirds of another."""


def i_at(d: Array, i: Array, target: float) -> float:
    """Return I of a curve at D = target, on the chord between two vertices ``(vertices,)``."""
    return float(np.interp(target, d, i))


def d_at(d: Array, i: Array, target: float) -> float:
    """Return the least D at which a curve reaches I = target; its last vertex has I = 0."""
    below = int(np.argmax(i <= target))
    if below == 0:
        return float(d[0])
    share = (i[below - 1] - target) / (i[below - 1] - i[below])
    return float(d[below - 1] + share * (d[below] - d[below - 1]))


class TradeOff(Metric):
    """The strict curve at round values of D and I."""

    name = "trade-off"
    summary = "I at fixed D and D at fixed I, on the strict curve"
    level = "curve"
    direction = "lower"
    unit = "nats, squared standardised units"
    columns: ClassVar[Mapping[str, str]] = {
        "mutual_information_at_distortion_25": (
            "I on the test set where the strict curve reaches 25% of distortion_max, nats"
        ),
        "mutual_information_at_distortion_50": "the same at 50% of distortion_max, nats",
        "distortion_at_leakage_25": (
            "lowest D on the test set where the strict curve is at 25% of mutual_information_max"
        ),
        "distortion_at_leakage_50": "the same at 50% of mutual_information_max",
    }

    def compute(self, evaluation: CurveEvaluation) -> Mapping[str, float | None]:
        curve = curve_of(evaluation)
        if curve is None:
            return dict.fromkeys(self.columns)
        d_max = evaluation.reference["distortion_max"]
        i_max = evaluation.reference["mutual_information_max"]
        values: dict[str, float | None] = {}
        for share in SHARES:
            values[f"mutual_information_at_distortion_{share}"] = i_at(*curve, share / 100 * d_max)
            values[f"distortion_at_leakage_{share}"] = d_at(*curve, share / 100 * i_max)
        return values


class AccuracyAtLeakage(Metric):
    """The best downstream accuracy that a limit of leakage allows."""

    name = "accuracy-at-limit"
    summary = "A_y at a limit of I, which ranks the aware track"
    level = "curve"
    direction = "higher"
    columns: ClassVar[Mapping[str, str]] = {
        "accuracy_y_at_leakage_10": (
            "accuracy_y of the point with the highest mutual_information_y_validation among those "
            "with mutual_information_validation of at most 10% of "
            "mutual_information_max_validation; without any such point, the accuracy of a constant "
            "guess"
        ),
        "accuracy_y_at_leakage_10_low": (
            "lower end of its 95% confidence interval; see interval_over"
        ),
        "accuracy_y_at_leakage_10_high": "upper end of the same interval",
        "accuracy_y_at_leakage_25": "the same at 25% of mutual_information_max_validation",
        "reached_leakage_10": (
            "share of splits and seeds on which a point keeps the limit of "
            "accuracy_y_at_leakage_10; on the others its figures are a constant guess's"
        ),
        "reached_leakage_25": "the same of the limit of accuracy_y_at_leakage_25",
    }

    def compute(self, evaluation: CurveEvaluation) -> Mapping[str, float | None]:
        chosen = {limit: chosen_within(evaluation, limit / 100) for limit in LIMITS}
        values = {f"accuracy_y_at_leakage_{n}": _a_y(evaluation, at) for n, at in chosen.items()}
        return values | {
            reached_column(f"leakage_{n}"): float(at is not None) for n, at in chosen.items()
        }

    def resampled(self, evaluation: CurveEvaluation) -> Mapping[str, Array]:
        rows = _a_y_rows(evaluation, chosen_within(evaluation, LIMITS[0] / 100))
        return {f"accuracy_y_at_leakage_{LIMITS[0]}": rows} if len(rows) else {}


class AccuracyAtAuditorLimit(Metric):
    """The best downstream accuracy at limits of the auditors' accuracy."""

    name = "accuracy-at-auditor-limit"
    summary = "A_y at a limit of A_s: the Pareto front at round values"
    level = "curve"
    direction = "higher"
    columns: ClassVar[Mapping[str, str]] = {
        "accuracy_y_at_accuracy_s_10": (
            "accuracy_y of the point with the highest mutual_information_y_validation among those "
            "whose accuracy_s_validation is at most 10% of the way from the largest group's share "
            "to the accuracy of x's auditor, both on the validation set too (of older records on "
            "the test set); without any such point, the accuracy of a constant guess; empty where "
            "the auditor of x does not beat the largest group's share"
        ),
        "accuracy_y_at_accuracy_s_10_low": (
            "lower end of its 95% confidence interval; see interval_over"
        ),
        "accuracy_y_at_accuracy_s_10_high": "upper end of the same interval",
        "accuracy_y_at_accuracy_s_25": "as accuracy_y_at_accuracy_s_10, at 25% of the way",
        "accuracy_y_at_accuracy_s_25_low": "lower end of its 95% confidence interval",
        "accuracy_y_at_accuracy_s_25_high": "upper end of the same interval",
        "accuracy_y_at_accuracy_s_50": "as accuracy_y_at_accuracy_s_10, at 50% of the way",
        "accuracy_y_at_accuracy_s_50_low": "lower end of its 95% confidence interval",
        "accuracy_y_at_accuracy_s_50_high": "upper end of the same interval",
        "reached_accuracy_s_10": (
            "share of splits and seeds on which a point keeps the limit of "
            "accuracy_y_at_accuracy_s_10; on the others its figure is a constant guess's"
        ),
        "reached_accuracy_s_25": "the same of the limit of accuracy_y_at_accuracy_s_25",
        "reached_accuracy_s_50": "the same of the limit of accuracy_y_at_accuracy_s_50",
    }

    def compute(self, evaluation: CurveEvaluation) -> Mapping[str, float | None]:
        values: dict[str, float | None] = {}
        chosen = _chosen_by_share(evaluation)
        for share in AUDITOR_LIMITS:
            column, reached = _column(share), reached_column(f"accuracy_s_{share}")
            values[column] = values[reached] = None
            if share in chosen:
                values[column] = _a_y(evaluation, chosen[share])
                values[reached] = float(chosen[share] is not None)
        return values

    def resampled(self, evaluation: CurveEvaluation) -> Mapping[str, Array]:
        chosen = _chosen_by_share(evaluation)
        by_column = {_column(share): _a_y_rows(evaluation, at) for share, at in chosen.items()}
        return {column: rows for column, rows in by_column.items() if len(rows)}


def _column(share: int) -> str:
    return f"accuracy_y_at_accuracy_s_{share}"


def _chosen_by_share(evaluation: CurveEvaluation) -> dict[int, int | None]:
    """Return points chosen on the validation set by limit of A_s, a percentage.

    None where A_s of x is not above a constant guess, or a record lacks A_s on validation.
    """
    known = all(point.get("accuracy_s_validation") is not None for point in evaluation.points)
    ends = _auditor_ends(evaluation.reference)
    if not known or ends is None:
        return {}
    constant, full = ends
    return {
        share: most_useful(
            evaluation, "accuracy_s_validation", constant + share / 100 * (full - constant)
        )
        for share in AUDITOR_LIMITS
    }


def _auditor_ends(reference: Mapping[str, float]) -> tuple[float, float] | None:
    """Return A_s of a constant guess and of x on the validation set; None if x's is not above.

    References of older versions have both on the test set only: there the limit, which is the same
    for all methods, is taken from it, and the point is still chosen on the validation set.
    """
    ends = ("accuracy_s_constant_validation", "accuracy_s_validation")
    if any(reference.get(name) is None for name in ends):
        ends = ("accuracy_s_constant", "accuracy_s")
    constant, full = (reference.get(name) for name in ends)
    if constant is None or full is None or full <= constant:
        return None
    return constant, full


def chosen_within(evaluation: CurveEvaluation, share: float) -> int | None:
    """Return the number of the most useful point that leaks at most a share of I_max, or None.

    All is measured on the validation set. Usefulness is I(Z;Y); I(Z;S) in records that lack it.
    """
    return most_useful(evaluation, _LEAKAGE, leakage_limit(evaluation.reference, share))


def leakage_limit(reference: Mapping[str, float], share: float) -> float:
    """Return the highest estimate of I that a share of I_max allows.

    An estimate below 0 is noise about 0, which any limit allows.
    """
    return max(0.0, share * reference["mutual_information_max_validation"])


def most_useful(evaluation: CurveEvaluation, column: str, limit: float) -> int | None:
    """Return the number of the most useful point with a column at most at a limit, or None."""
    allowed = [n for n, point in enumerate(evaluation.points) if point[column] <= limit]
    return max(allowed, key=lambda n: _useful(evaluation.points[n]), default=None)


def _a_y(evaluation: CurveEvaluation, chosen: int | None) -> float | None:
    """Return A_y of a point; for None, of a constant representation."""
    if chosen is None:
        return evaluation.reference.get("accuracy_y_constant")
    return evaluation.points[chosen].get("accuracy_y")


def _a_y_rows(evaluation: CurveEvaluation, chosen: int | None) -> Array:
    """Return its replicates; empty where there are none."""
    if chosen is None:
        return evaluation.reference_replicates.get("accuracy_y_constant", np.empty(0))
    replicates = evaluation.replicates[chosen] if evaluation.replicates else {}
    return replicates.get("accuracy_y", np.empty(0))


def _useful(point: Mapping[str, float]) -> float:
    of_y = point.get("mutual_information_y_validation")
    return point["mutual_information_validation"] if of_y is None else of_y
