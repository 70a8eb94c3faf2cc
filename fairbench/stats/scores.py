"""I(Z;S) from classifiers: H(S) minus cross-entropy, a lower bound (the paper's equation 6)."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from numpy.typing import NDArray

from fairbench.api import Floats, Ints
from fairbench.api.metric import Prediction
from fairbench.stats.bootstrap import entropy_of, one_hot, resampled_means
from fairbench.stats.intervals import unbiased_interval

_SMOOTHING = 1e-4
"""Share of the prior mixed into every prediction, so that no loss is infinite."""


def entropy_of_counts(counts: npt.NDArray[np.number]) -> float:
    """Compute the plug-in entropy, nats, of how often each value was seen ``(values,)``."""
    share = counts[counts > 0] / counts.sum()
    return float(-(share * np.log(share)).sum())


def entropy(labels: Ints) -> float:
    """Compute the plug-in entropy H(S) of the labels, nats."""
    return entropy_of_counts(np.bincount(labels))


def mix_in_prior(probabilities: npt.ArrayLike, prior: npt.NDArray[np.float64]) -> Floats:
    """Mix a little of the prior ``(classes,)`` into predictions ``(n, classes)``.

    Rows without a finite prediction (of an MLP on values of 1e30) get the prior alone.
    """
    p = np.asarray(probabilities, dtype=np.float64)
    p = np.where(np.isfinite(p).all(axis=1, keepdims=True), p, prior)
    return ((1 - _SMOOTHING) * p + _SMOOTHING * prior).astype(np.float32)


def log_loss(probabilities: Floats, labels: Ints) -> npt.NDArray[np.float64]:
    """Compute -log p(label) of each row, nats, ``(n,)``."""
    chosen = probabilities[np.arange(len(labels)), labels].astype(np.float64)
    return -np.log(np.maximum(chosen, 1e-12))


def information(probabilities: Floats, labels: Ints) -> float:
    """Compute H(S) - E[-log c(s|z)] on these rows, nats; negative for a poor classifier."""
    return entropy(labels) - float(log_loss(probabilities, labels).mean())


def plug_in_information(cells: Ints, labels: Ints) -> float:
    """Estimate I(cell; label) by Miller-Madow, nats: from counted shares, corrected for bias.

    Each entropy of counted shares is too small by about (values seen - 1) / 2n. The estimate is not
    a bound; it is good where cells have several rows each.
    """

    def corrected(values: Ints) -> float:
        counts = np.unique(values, return_counts=True)[1]
        return entropy_of_counts(counts) + (len(counts) - 1) / (2 * len(values))

    both = cells * (int(labels.max()) + 1) + labels
    return corrected(cells) + corrected(labels) - corrected(both)


def bootstrap_information(
    losses: npt.NDArray[np.float64], labels: Ints, *, resamples: int, seed: int = 0
) -> npt.NDArray[np.float64]:
    """Bootstrap the bound over rows: H(S) and the mean loss are both computed on each resample.

    The same seed and number of rows give the same resamples, so that two representations of the
    same rows can be compared in pairs.

    ``losses (n,)``: -log c(s|z) per row, nats. ``labels (n,)``: s. Returns ``(resamples,)``: the
    bound, H(S) - E[loss], of each resample.
    """
    columns = np.column_stack([losses, one_hot(labels)])
    means = resampled_means(columns, resamples=resamples, seed=seed)
    return entropy_of(means[:, 1:]) - means[:, 0]


def interval(prediction: Prediction, *, resamples: int) -> tuple[float, float]:
    """Compute the 95% bootstrap confidence interval over test rows of one auditor's bound, nats.

    It is an interval for this classifier's bound; it covers I only as far as the bound is tight.
    The entropy of resampled labels is too small by about (groups - 1) / 2n, so the interval is
    moved by the bias of the replicates.
    """
    losses = log_loss(prediction.probabilities, prediction.labels)
    found = bootstrap_information(losses, prediction.labels, resamples=resamples)
    return unbiased_interval(found, information(prediction.probabilities, prediction.labels))


def accuracy(prediction: Prediction) -> float:
    """Compute the share of rows whose most probable class is the true one."""
    return float((prediction.probabilities.argmax(axis=1) == prediction.labels).mean())


def balanced_accuracy(prediction: Prediction) -> float:
    """Compute the mean recall over the classes that occur."""
    right = prediction.probabilities.argmax(axis=1) == prediction.labels
    classes = np.unique(prediction.labels)
    return float(np.mean([right[prediction.labels == c].mean() for c in classes]))


def auc(prediction: Prediction) -> float:
    """Compute the area under the ROC curve; the mean of one-versus-rest beyond two classes."""
    p, labels = prediction.probabilities, prediction.labels
    classes = [c for c in range(p.shape[1]) if 0 < (labels == c).sum() < len(labels)]
    if p.shape[1] == 2:
        classes = [c for c in classes if c == 1]
    if not classes:
        return 0.5
    return float(np.mean([_two_class_auc(p[:, c], labels == c) for c in classes]))


def _two_class_auc(score: Floats, positive: NDArray[np.bool_]) -> float:
    from sklearn.metrics import roc_auc_score

    return float(roc_auc_score(positive, score))
