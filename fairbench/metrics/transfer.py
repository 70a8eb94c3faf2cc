"""Unseen tasks: how much of what x tells of labels that nobody had named is left in z.

A representation is made before its tasks are known. So a dataset can keep columns back as labels of
unseen tasks. Of each, accuracy is measured as a share of the way from a constant guess (0) to the
same classifiers on x itself (1); of these shares the mean and the worst are given.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

import numpy as np

from fairbench.api.metric import CurveEvaluation, Metric, PointEvaluation
from fairbench.metrics.operating import LIMITS, leakage_limit

TEST, VALIDATION = "transfer_accuracy_", "transfer_validation_"
"""Starts of columns of a point, and of the same figures of x in a reference, before the task."""

CONSTANT = {TEST: "transfer_constant_", VALIDATION: "transfer_constant_validation_"}
"""Starts of a reference's accuracies of a constant guess."""

MIN_GAIN = 0.01
"""Accuracy by which x must beat a constant guess, or a task tells methods apart by noise alone."""


class Transfer(Metric):
    """Accuracy on each unseen task."""

    name = "transfer"
    summary = "accuracy on unseen tasks, by task"
    level = "point"
    direction = "higher"
    columns: ClassVar[Mapping[str, str]] = {
        "transfer_accuracy_{task}": (
            "accuracy of the downstream classifier of each unseen task on the test set"
        ),
        "transfer_validation_{task}": "its accuracy on the validation set",
    }

    def compute(self, evaluation: PointEvaluation) -> Mapping[str, float | None]:
        test = {f"{TEST}{task}": one.test for task, one in evaluation.transfer.items()}
        return test | {
            f"{VALIDATION}{task}": one.validation for task, one in evaluation.transfer.items()
        }


class TransferAtLeakage(Metric):
    """Accuracy on unseen tasks that a limit of leakage allows, relative to that of x."""

    name = "transfer-at-limit"
    summary = "accuracy on unseen tasks relative to x, at a limit of I"
    level = "curve"
    direction = "higher"
    columns: ClassVar[Mapping[str, str]] = {
        "transfer_at_leakage_10": (
            "mean over unseen tasks of the accuracy on the test set, as a share of the way from a "
            "constant guess (0) to the accuracy from x (1); of the point with the highest such "
            "mean on the validation set among those with mutual_information_validation of at most "
            "10% of mutual_information_max_validation; 0 without any such point"
        ),
        "transfer_worst_at_leakage_10": "the least of these shares, at the same point",
        "transfer_at_leakage_25": (
            "as transfer_at_leakage_10, at 25% of mutual_information_max_validation"
        ),
        "transfer_worst_at_leakage_25": "the least of these shares, at the same point",
    }

    def compute(self, evaluation: CurveEvaluation) -> Mapping[str, float | None]:
        values: dict[str, float | None] = dict.fromkeys(self.columns)
        reference = evaluation.reference
        if not any(relative_transfer(point, reference) for point in evaluation.points):
            return values
        for percent in LIMITS:
            limit = leakage_limit(reference, percent / 100)
            allowed = [
                point
                for point in evaluation.points
                if point["mutual_information_validation"] <= limit
                and relative_transfer(point, reference, VALIDATION)
            ]
            shares = [0.0]
            if allowed:
                by_use = [np.mean(relative_transfer(p, reference, VALIDATION)) for p in allowed]
                shares = relative_transfer(allowed[int(np.argmax(by_use))], reference)
            values[f"transfer_at_leakage_{percent}"] = float(np.mean(shares))
            values[f"transfer_worst_at_leakage_{percent}"] = float(np.min(shares))
        return values


def relative_transfer(
    figures: Mapping[str, float | None], reference: Mapping[str, float], of: str = TEST
) -> list[float]:
    """Return a point's accuracy on each unseen task, 0 for a constant guess and 1 for x.

    Tasks on which x beats a constant guess by less than :data:`MIN_GAIN` on the test set are left
    out. ``of``: :data:`TEST` or :data:`VALIDATION`. Empty where nothing was measured.
    """
    shares = []
    for name, accuracy_of_x in reference.items():
        task = name.removeprefix(TEST)
        reached = figures.get(f"{of}{task}")
        if task == name or reached is None:
            continue
        if accuracy_of_x - reference[f"{CONSTANT[TEST]}{task}"] < MIN_GAIN:
            continue
        constant = reference[f"{CONSTANT[of]}{task}"]
        gain = max(reference[f"{of}{task}"] - constant, MIN_GAIN)
        shares.append((reached - constant) / gain)
    return shares


def transfer_figures(
    figures: Mapping[str, float | None], reference: Mapping[str, float]
) -> dict[str, float | None]:
    """Return the columns of a point that are relative to x; empty without unseen tasks."""
    test = relative_transfer(figures, reference)
    if not test:
        return {}
    return {
        "transfer_mean": float(np.mean(test)),
        "transfer_worst": float(np.min(test)),
        "transfer_mean_validation": float(
            np.mean(relative_transfer(figures, reference, VALIDATION))
        ),
    }
