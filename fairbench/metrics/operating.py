"""Operating points: I at a given D, D at a given I, and A_y at a limit of I."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

import numpy as np

from fairbench.api import CurveEvaluation, Metric
from fairbench.metrics.hull import Array, curve_of

SHARES = (25, 50)
"""Percent of D_max, or of I_max, at which strict curves are read."""

LIMITS = (10, 25)
"""Percent of I_max that a point may leak; shares, because I_max of datasets differs tenfold. Below
a tenth the auditors' own noise decides who stays under the limit."""


def i_at(d: Array, i: Array, target: float) -> float:
    """I of a curve at D = target, on the chord between two vertices ``(vertices,)``."""
    return float(np.interp(target, d, i))


def d_at(d: Array, i: Array, target: float) -> float:
    """The least D at which a curve comes down to I = target; its last vertex has I = 0."""
    below = int(np.argmax(i <= target))
    if below == 0:
        return float(d[0])
    share = (i[below - 1] - target) / (i[below - 1] - i[below])
    return float(d[below - 1] + share * (d[below] - d[below - 1]))


class Trade(Metric):
    """The strict curve at round settings."""

    name = "trade-off"
    summary = "I at fixed D and D at fixed I, on the strict curve"
    level = "curve"
    direction = "lower"
    unit = "nats, squared standardised units"
    columns: ClassVar[Mapping[str, str]] = {
        "i_at_d25": "I on test where D is 25% of D_max, on the strict curve (chords count), nats",
        "i_at_d50": "the same at 50% of D_max",
        "d_at_i25": "least D on test where I is 25% of I_max, on the strict curve",
        "d_at_i50": "the same at 50% of I_max",
    }

    def compute(self, evaluation: CurveEvaluation) -> Mapping[str, float | None]:
        curve = curve_of(evaluation)
        if curve is None:
            return dict.fromkeys(self.columns)
        d_max, i_max = evaluation.reference["d_max"], evaluation.reference["i_max"]
        found: dict[str, float | None] = {}
        for share in SHARES:
            found[f"i_at_d{share}"] = i_at(*curve, share / 100 * d_max)
            found[f"d_at_i{share}"] = d_at(*curve, share / 100 * i_max)
        return found


class Limited(Metric):
    """The best downstream accuracy that a limit of leakage allows."""

    name = "accuracy-at-limit"
    summary = "A_y at a limit of I: what the aware track ranks by"
    level = "curve"
    direction = "higher"
    columns: ClassVar[Mapping[str, str]] = {
        "a_y_at_i10": (
            "a_y of the point that selection finds most useful (i_y_selection) among those with "
            "i_selection of at most 10% of I_max; without any, of releasing nothing"
        ),
        "a_y_at_i10_low": "lower end of its 95% interval; see interval_over",
        "a_y_at_i10_high": "upper end of the same interval",
        "a_y_at_i25": "the same at 25% of I_max",
    }

    def compute(self, evaluation: CurveEvaluation) -> Mapping[str, float | None]:
        found: dict[str, float | None] = {}
        for limit in LIMITS:
            chosen = chosen_within(evaluation, limit / 100)
            found[f"a_y_at_i{limit}"] = (
                evaluation.reference.get("a_y_constant")
                if chosen is None
                else evaluation.points[chosen].get("a_y")
            )
        return found

    def resampled(self, evaluation: CurveEvaluation) -> Mapping[str, Array]:
        chosen = chosen_within(evaluation, LIMITS[0] / 100)
        kept: Mapping[str, Array] = {}
        if chosen is None:
            kept = {"a_y": evaluation.reference_replicates.get("a_y_constant", np.empty(0))}
        elif evaluation.replicates:
            kept = evaluation.replicates[chosen]
        rows = kept.get("a_y", np.empty(0))
        return {f"a_y_at_i{LIMITS[0]}": rows} if len(rows) else {}


def chosen_within(evaluation: CurveEvaluation, share: float) -> int | None:
    """The most useful point that leaks at most a share of I_max, all by selection; None: no point.

    Useful is what tells of y; of records that lack that figure, what keeps most of s.
    """
    limit = share * evaluation.reference["i_max_selection"]
    useful = {
        number: _useful(point)
        for number, point in enumerate(evaluation.points)
        if point["i_selection"] <= limit
    }
    return max(useful, key=lambda number: useful[number]) if useful else None


def _useful(point: Mapping[str, float]) -> float:
    told = point.get("i_y_selection")
    return point["i_selection"] if told is None else told
