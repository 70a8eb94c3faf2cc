"""Metrics of one representation: distortion, information, accuracies, rate."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

import numpy as np

from fairbench.api.metric import Metric, PointEvaluation
from fairbench.stats.intervals import percentile_interval
from fairbench.stats.scores import accuracy, auc, balanced_accuracy, entropy_of_counts, information


class Distortion(Metric):
    """Distortion: the part of x that is lost."""

    name = "distortion"
    summary = "squared error of x reconstructed from (z, s), summed over columns"
    level = "point"
    direction = "lower"
    unit = "squared standardised units"
    columns: ClassVar[Mapping[str, str]] = {
        "distortion": (
            "D on the test set, by the own or the refitted decoder, whichever is better on the "
            "validation set"
        ),
        "distortion_validation": "D on the validation set by the same decoder",
        "distortion_own_decoder": (
            "D on the test set by the method's own decoder; empty without one"
        ),
        "distortion_refitted_decoder": "D on the test set by the refitted decoder",
        "distortion_permuted": "D on the test set by the own decoder with z permuted across rows",
    }

    def compute(self, evaluation: PointEvaluation) -> Mapping[str, float | None]:
        squares = evaluation.distortion
        return {
            "distortion": float(squares.strict.mean()),
            "distortion_validation": evaluation.validation.distortion,
            "distortion_own_decoder": None if squares.own is None else float(squares.own.mean()),
            "distortion_refitted_decoder": float(squares.refitted.mean()),
            "distortion_permuted": evaluation.permuted_distortion,
        }


class Information(Metric):
    """Mutual information of z and s: lower bounds by auditors."""

    name = "information"
    summary = "I(Z;S) by auditors: H(S) minus cross-entropy, a lower bound"
    level = "point"
    direction = "lower"
    unit = "nats"
    columns: ClassVar[Mapping[str, str]] = {
        "mutual_information": (
            "I(Z;S) on the test set by the auditor chosen on the validation set, nats; a "
            "lower bound, may be below 0. Access: `decoder`"
        ),
        "mutual_information_low": (
            "lower end of its 95% bootstrap confidence interval over test rows"
        ),
        "mutual_information_high": (
            "upper end of the same interval; where no auditor is clearly better than the class "
            "prior, the upper end of the best auditor's interval if that is higher"
        ),
        "mutual_information_validation": "I(Z;S) on the validation set by the same auditor, nats",
        "mutual_information_paper": (
            "I(Z;S) on the test set by the mean cross-entropy of the paper's MLPs, nats. Access: "
            "`release`"
        ),
    }

    def compute(self, evaluation: PointEvaluation) -> Mapping[str, float | None]:
        estimate = information(evaluation.audit.probabilities, evaluation.s)
        found = evaluation.replicates["mutual_information"]
        # The entropy of resampled labels is too small by about (groups - 1) / 2n.
        bias = found.mean() - estimate
        low, high = percentile_interval(found - bias)
        if evaluation.rejected_replicates is not None:
            # No auditor is clearly better than the prior, but I(Z;S) may still be above 0.
            high = max(high, percentile_interval(evaluation.rejected_replicates - bias)[1])
        paper = [information(p.probabilities, p.labels) for p in evaluation.paper_audits]
        return {
            "mutual_information": estimate,
            "mutual_information_low": low,
            "mutual_information_high": high,
            "mutual_information_validation": evaluation.validation.mutual_information,
            "mutual_information_paper": float(np.mean(paper)),
        }


class AuditorAccuracy(Metric):
    """Accuracy of predicting s from z."""

    name = "auditor-accuracy"
    summary = "A_s: accuracy, balanced accuracy and AUC of auditors that predict s"
    level = "point"
    direction = "lower"
    columns: ClassVar[Mapping[str, str]] = {
        "accuracy_s": "accuracy of the chosen auditor on the test set",
        "accuracy_s_validation": "its accuracy on the validation set",
        "balanced_accuracy_s": "its balanced accuracy: mean of the groups' recalls",
        "auc_s": "its AUC; the mean of one-versus-rest beyond two groups",
        "accuracy_s_paper": "mean accuracy of the paper's MLPs on the test set",
    }

    def compute(self, evaluation: PointEvaluation) -> Mapping[str, float | None]:
        paper = [accuracy(prediction) for prediction in evaluation.paper_audits]
        return {
            "accuracy_s": accuracy(evaluation.audit),
            "accuracy_s_validation": evaluation.validation.accuracy_s,
            "balanced_accuracy_s": balanced_accuracy(evaluation.audit),
            "auc_s": auc(evaluation.audit),
            "accuracy_s_paper": float(np.mean(paper)),
        }


class Downstream(Metric):
    """Accuracy of downstream tasks that the encoder did not see."""

    name = "downstream"
    summary = "A_y: accuracy, balanced accuracy and AUC of downstream classifiers, by task"
    level = "point"
    direction = "higher"
    columns: ClassVar[Mapping[str, str]] = {
        "accuracy_y": "accuracy of the main task's downstream classifier on the test set",
        "balanced_accuracy_y": "its balanced accuracy",
        "auc_y": "its AUC",
        "mutual_information_y_validation": (
            "its I(Z;Y) on the validation set, nats; points are chosen by it, never by accuracy_y"
        ),
        "accuracy_y_validation": "its accuracy on the validation set",
        "accuracy_y_{task}": "accuracy for each further task",
        "balanced_accuracy_y_{task}": "balanced accuracy for each further task",
        "auc_y_{task}": "AUC for each further task",
    }

    def compute(self, evaluation: PointEvaluation) -> Mapping[str, float | None]:
        values: dict[str, float | None] = {}
        for i, (task, prediction) in enumerate(evaluation.downstream.items()):
            suffix = f"_{task}" if i else ""
            values[f"accuracy_y{suffix}"] = accuracy(prediction)
            values[f"balanced_accuracy_y{suffix}"] = balanced_accuracy(prediction)
            values[f"auc_y{suffix}"] = auc(prediction)
            if not i:
                known = evaluation.validation
                values["mutual_information_y_validation"] = known.mutual_information_y
                values["accuracy_y_validation"] = known.accuracy_y
        return values


class Rate(Metric):
    """Length of the code."""

    name = "rate"
    summary = "H(Z): the method's own code length, and the plug-in entropy of the released codes"
    level = "point"
    direction = "none"
    unit = "nats"
    columns: ClassVar[Mapping[str, str]] = {
        "rate": (
            "mean code length on the test set by the method's own coder, nats; empty without one"
        ),
        "plug_in_rate": (
            "plug-in entropy of the codes on the test set, nats; at most ln of its rows"
        ),
        "distinct_codes": "number of distinct codes on the test set",
    }

    def compute(self, evaluation: PointEvaluation) -> Mapping[str, float | None]:
        one_draw = evaluation.z[: len(evaluation.z) // evaluation.draws]
        counts = np.unique(one_draw, axis=0, return_counts=True)[1]
        return {
            "rate": evaluation.rate,
            "plug_in_rate": entropy_of_counts(counts),
            "distinct_codes": float(len(counts)),
        }
