"""Three gaps between groups of a downstream classifier, measured on the test set.

A gap is the largest difference of a rate between two groups, so noise can only widen it: a rate of
few rows is left out, and a gap of .05 between groups of a few hundred rows may be noise. These are
figures of one classifier; the certificate bounds the gap of every classifier of z.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fairbench.api import Ints
from fairbench.api.metric import Metric, PointEvaluation, Prediction

GAPS = ("demographic_parity_gap", "equalized_odds_gap", "equal_opportunity_gap")
"""Columns, in the order of :func:`gaps_of`."""

MIN_ROWS = 30
"""Fewest rows of a rate that counts: with fewer, its standard error can exceed .09. Which rates are
left out depends on the dataset alone, so that methods are compared on the same ones."""


class GroupGaps(Metric):
    """Gaps between groups of the downstream classifiers behind A_y.

    A group of fewer than 30 rows (for equalized odds and equal opportunity: fewer than 30 with
    that label) is left out of that rate; where fewer than two groups are left there is no gap.
    """

    name = "group-gaps"
    summary = "demographic parity, equalized odds and equal opportunity gaps of downstream tasks"
    level = "point"
    direction = "lower"
    columns: ClassVar[Mapping[str, str]] = {
        "demographic_parity_gap": (
            "demographic parity gap of the main task's classifier on the test set: largest "
            "difference between groups of 30 rows or more in the share predicted as a class"
        ),
        "equalized_odds_gap": (
            "equalized odds gap: largest such difference among rows of one true label"
        ),
        "equal_opportunity_gap": (
            "equal opportunity gap: largest difference in true positive rates; binary tasks only"
        ),
        "demographic_parity_gap_{task}": "demographic parity gap for each further task",
        "equalized_odds_gap_{task}": "equalized odds gap for each further task",
        "equal_opportunity_gap_{task}": "equal opportunity gap for each further task",
    }

    def compute(self, evaluation: PointEvaluation) -> Mapping[str, float | None]:
        gaps: dict[str, float | None] = {}
        for i, (task, prediction) in enumerate(evaluation.downstream.items()):
            suffix = f"_{task}" if i else ""
            measured = gaps_of(prediction, evaluation.s, draws=evaluation.draws)
            for name, gap in zip(GAPS, measured, strict=True):
                gaps[f"{name}{suffix}"] = gap
        return gaps


class Gaps(NamedTuple):
    """The three gaps of one classifier; None where too few rows of two groups are left.

    ``opportunity`` is None of more than two classes, too.
    """

    parity: float | None
    odds: float | None
    opportunity: float | None


def gaps_of(prediction: Prediction, s: Ints, *, draws: int = 1) -> Gaps:
    """Compute the gaps of one classifier, over rates of enough rows.

    ``s (n,)``: groups of the predicted rows. ``draws``: draws of each row of the dataset; they do
    not count as further rows.
    """
    least = MIN_ROWS * draws
    predicted, y = prediction.probabilities.argmax(axis=1), prediction.labels
    binary = prediction.probabilities.shape[1] == 2
    return Gaps(
        parity_gap(predicted, s, least=least),
        odds_gap(predicted, y, s, least=least),
        opportunity_gap(predicted, y, s, least=least) if binary else None,
    )


def parity_gap(predicted: Ints, s: Ints, *, least: int = 1) -> float | None:
    """Compute the demographic parity gap of predicted classes.

    ``predicted``, ``s (n,)``: predicted classes and groups. ``least``: groups of fewer rows, and
    always those without any, are left out. Returns max over classes of (max over groups - min over
    groups) of P(predicted = class | group); None where fewer than two groups are left.
    """
    return _widest(predicted, s, np.ones(len(s), np.bool_), least)


def odds_gap(predicted: Ints, y: Ints, s: Ints, *, least: int = 1) -> float | None:
    """Compute the equalized odds gap: the widest parity gap among rows of one label of y ``(n,)``.

    For a binary task, the larger of the differences in true and in false positive rates. A group
    with fewer than ``least`` rows of a label is left out for that label; None where no label has
    two groups left.
    """
    gaps = [_widest(predicted, s, y == label, least) for label in np.unique(y)]
    return max((gap for gap in gaps if gap is not None), default=None)


def opportunity_gap(predicted: Ints, y: Ints, s: Ints, *, least: int = 1) -> float | None:
    """Compute the equal opportunity gap of a binary task: the difference in true positive rates.

    A group with fewer than ``least`` positives, or none, is left out; None where fewer than two
    groups are left.
    """
    return _widest((predicted == 1).astype(np.int64), s, y == 1, least)


def _widest(predicted: Ints, s: Ints, rows: NDArray[np.bool_], least: int) -> float | None:
    """Return the widest difference between groups of a class's share among some rows."""
    if not rows.any():
        return None
    classes = int(predicted.max()) + 1
    table = np.bincount(s[rows] * classes + predicted[rows], minlength=(int(s.max()) + 1) * classes)
    table = table.reshape(-1, classes)
    size = table.sum(axis=1)
    kept = size >= max(least, 1)
    if kept.sum() < 2:
        return None
    rates = table[kept] / size[kept][:, None]
    return float(np.ptp(rates, axis=0).max())
