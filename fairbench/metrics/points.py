"""Metrics of one representation: distortion, information, accuracies, rate."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

import numpy as np

from fairbench.api.metric import Metric, PointEvaluation
from fairbench.stats.scores import accuracy, auc, balanced_accuracy, information


class Distortion(Metric):
    """How much of x is lost."""

    name = "distortion"
    summary = "squared error of x reconstructed from (z, s), summed over columns"
    level = "point"
    direction = "lower"
    unit = "squared standardised units"
    columns: ClassVar[Mapping[str, str]] = {
        "d": "D on test, by the better of own and refitted decoder on selection (strict)",
        "d_selection": "the same decoder's D on selection",
        "d_own": "D on test by the method's own decoder; empty without one",
        "d_refitted": "D on test by the decoder refitted on auditor-train",
        "d_permuted": "own decoder's D on test with z permuted across rows",
    }

    def compute(self, evaluation: PointEvaluation) -> Mapping[str, float | None]:
        found = {name: float(rows.mean()) for name, rows in evaluation.distortion.items()}
        return {
            "d": found["strict"],
            "d_selection": evaluation.selection["distortion"],
            "d_own": found.get("own"),
            "d_refitted": found["refitted"],
            "d_permuted": evaluation.permuted_distortion,
        }


class Information(Metric):
    """How much z tells of s: lower bounds on I(Z;S)."""

    name = "information"
    summary = "I(Z;S) by auditors: H(S) minus cross-entropy, a lower bound"
    level = "point"
    direction = "lower"
    unit = "nats"
    columns: ClassVar[Mapping[str, str]] = {
        "i": "I on test by the strict auditor chosen on selection; may be below 0",
        "i_low": "lower end of its 95% bootstrap interval over test rows (of the bound)",
        "i_high": "upper end of the same interval",
        "i_selection": "the same auditor's I on selection",
        "i_paper": "I on test by the average cross-entropy of the paper's MLPs",
    }

    def compute(self, evaluation: PointEvaluation) -> Mapping[str, float | None]:
        low, high = np.quantile(evaluation.replicates["i"], [0.025, 0.975])
        paper = [information(p.probabilities, p.labels) for p in evaluation.paper_audits]
        return {
            "i": information(evaluation.audit.probabilities, evaluation.s),
            "i_low": float(low),
            "i_high": float(high),
            "i_selection": evaluation.selection["information"],
            "i_paper": float(np.mean(paper)),
        }


class AuditorAccuracy(Metric):
    """How well s can be predicted from z."""

    name = "auditor-accuracy"
    summary = "A_s: accuracy, balanced accuracy and AUC of auditors that predict s"
    level = "point"
    direction = "lower"
    columns: ClassVar[Mapping[str, str]] = {
        "a_s": "accuracy of the strict auditor on test",
        "a_s_selection": "its accuracy on selection",
        "a_s_balanced": "its balanced accuracy: mean of the groups' recalls",
        "a_s_auc": "its AUC; one-versus-rest, averaged over groups, beyond two groups",
        "a_s_paper": "mean accuracy of the paper's MLPs on test",
    }

    def compute(self, evaluation: PointEvaluation) -> Mapping[str, float | None]:
        paper = [accuracy(prediction) for prediction in evaluation.paper_audits]
        return {
            "a_s": accuracy(evaluation.audit),
            "a_s_selection": evaluation.selection["accuracy"],
            "a_s_balanced": balanced_accuracy(evaluation.audit),
            "a_s_auc": auc(evaluation.audit),
            "a_s_paper": float(np.mean(paper)),
        }


class Downstream(Metric):
    """How useful z is for tasks the encoder knew nothing of."""

    name = "downstream"
    summary = "A_y: accuracy, balanced accuracy and AUC of downstream classifiers, by task"
    level = "point"
    direction = "higher"
    columns: ClassVar[Mapping[str, str]] = {
        "a_y": "accuracy on test of the downstream classifier of the main task",
        "a_y_balanced": "its balanced accuracy",
        "a_y_auc": "its AUC",
        "i_y_selection": "its I(Z;Y) on selection, nats: points are chosen by it, never by a_y",
        "a_y_selection": "its accuracy on selection",
        "a_y_{task}": "accuracy for each further task",
        "a_y_balanced_{task}": "balanced accuracy for each further task",
        "a_y_auc_{task}": "AUC for each further task",
    }

    def compute(self, evaluation: PointEvaluation) -> Mapping[str, float | None]:
        found: dict[str, float | None] = {}
        for i, (task, prediction) in enumerate(evaluation.downstream.items()):
            suffix = f"_{task}" if i else ""
            found[f"a_y{suffix}"] = accuracy(prediction)
            found[f"a_y_balanced{suffix}"] = balanced_accuracy(prediction)
            found[f"a_y_auc{suffix}"] = auc(prediction)
            if not i:
                found["i_y_selection"] = evaluation.selection.get("downstream")
                found["a_y_selection"] = evaluation.selection.get("downstream_accuracy")
        return found


class Rate(Metric):
    """How long the code is."""

    name = "rate"
    summary = "H(Z): the method's own code length, and the plug-in entropy of the released codes"
    level = "point"
    direction = "none"
    unit = "nats"
    columns: ClassVar[Mapping[str, str]] = {
        "rate": "mean code length on test by the method's own coder; empty without one",
        "rate_plugin": "plug-in entropy of the distinct codes on test (at most ln of its rows)",
        "distinct": "distinct codes on test",
    }

    def compute(self, evaluation: PointEvaluation) -> Mapping[str, float | None]:
        one_draw = evaluation.z[: len(evaluation.z) // evaluation.draws]
        counts = np.unique(one_draw, axis=0, return_counts=True)[1]
        share = counts / counts.sum()
        return {
            "rate": evaluation.rate,
            "rate_plugin": float(-(share * np.log(share)).sum()),
            "distinct": float(len(counts)),
        }
