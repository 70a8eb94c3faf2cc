"""Metrics of who may look: leakage by what an auditor may use, and what a release adds."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

import numpy as np

from fairbench.api.metric import Access, Metric, PointEvaluation
from fairbench.stats.scores import plug_in_information

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


class AddedInformation(Metric):
    """What a release adds to what is said of a person anyway."""

    name = "added-information"
    summary = "I(Y_hat;S) of the downstream prediction alone, and I(Z,Y;S) for those who know y"
    level = "point"
    direction = "lower"
    unit = "nats"
    columns: ClassVar[Mapping[str, str]] = {
        "mutual_information_prediction": (
            "I(Y_hat;S) of the main task's downstream prediction (the class, not its probability) "
            "on the test set, nats: plug-in, bias-corrected (Miller-Madow); empty without a task. "
            "Access: the prediction alone"
        ),
        "mutual_information_with_y": (
            "I(Z,Y;S) on the test set for those who know the main task's label y, nats; a lower "
            "bound by a cheap fit; empty without a task. Access: `decoder` and y"
        ),
    }

    def compute(self, evaluation: PointEvaluation) -> Mapping[str, float | None]:
        main = next(iter(evaluation.downstream.values()), None)
        prediction = None
        if main is not None:
            # Each draw is a release of its own; together they would look like more people.
            shape = (evaluation.draws, -1)
            classes = main.probabilities.argmax(axis=1).reshape(shape)
            pairs = zip(classes, evaluation.s.reshape(shape), strict=True)
            prediction = float(np.mean([plug_in_information(y, s) for y, s in pairs]))
        return {
            "mutual_information_prediction": prediction,
            "mutual_information_with_y": evaluation.with_y,
        }


class NumberOfRows(Metric):
    """Whether auditors would find more information with more rows."""

    name = "number-of-rows"
    summary = "I(Z;S) extrapolated to infinitely many auditor training rows, at three points"
    level = "point"
    direction = "lower"
    unit = "nats"
    columns: ClassVar[Mapping[str, str]] = {
        "mutual_information_extrapolated": (
            "I(Z;S) on the test set extrapolated from an eighth, a quarter, half and all of the "
            "auditor training set, nats; not below mutual_information. At the first, middle and "
            "last point of a curve. Access: `decoder`"
        ),
        "mutual_information_extrapolated_low": "lower end of its 95% interval",
        "mutual_information_extrapolated_high": "upper end of the same interval",
        "needs_more_rows": (
            "1 where the extrapolation is clearly above mutual_information (by the interval of the "
            "difference), and by more than .005 nats and a tenth of it: there are too few rows to "
            "read this representation; else 0"
        ),
    }

    def compute(self, evaluation: PointEvaluation) -> Mapping[str, float | None]:
        found = evaluation.sample_size
        if found is None:
            return dict.fromkeys(self.columns)
        return {
            "mutual_information_extrapolated": found.extrapolated,
            "mutual_information_extrapolated_low": found.low,
            "mutual_information_extrapolated_high": found.high,
            "needs_more_rows": float(found.needs_more_rows),
        }
