"""I(Z;S) from classifiers: H(S) minus cross-entropy, a lower bound (the paper's equation 6)."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from numpy.typing import NDArray

from fairbench.api import Floats, Ints
from fairbench.api.metric import Prediction
from fairbench.stats.bootstrap import entropy_of, one_hot, resampled_means

_SMOOTHING = 1e-4
"""Share of the prior mixed into every prediction: one confident mistake cannot cost infinity."""


def entropy(labels: Ints) -> float:
    """H(S) in nats of the labels at hand (plug-in)."""
    share = np.bincount(labels) / len(labels)
    share = share[share > 0]
    return float(-(share * np.log(share)).sum())


def smoothed(probabilities: npt.ArrayLike, prior: npt.NDArray[np.float64]) -> Floats:
    """Mix a little of the prior ``(classes,)`` into predictions ``(n, classes)``.

    Rows that a classifier has no finite answer for (an MLP on values of 1e30) get the prior alone.
    """
    p = np.asarray(probabilities, dtype=np.float64)
    p = np.where(np.isfinite(p).all(axis=1, keepdims=True), p, prior)
    return ((1 - _SMOOTHING) * p + _SMOOTHING * prior).astype(np.float32)


def log_loss(probabilities: Floats, labels: Ints) -> npt.NDArray[np.float64]:
    """-log p(label) of each row, nats, ``(n,)``."""
    chosen = probabilities[np.arange(len(labels)), labels].astype(np.float64)
    return -np.log(np.maximum(chosen, 1e-12))


def information(probabilities: Floats, labels: Ints) -> float:
    """H(S) - E[-log c(s|z)] in nats on these rows; may be negative for a poor classifier."""
    return entropy(labels) - float(log_loss(probabilities, labels).mean())


def plug_in_information(cells: Ints, labels: Ints) -> float:
    """Miller-Madow estimate of I(cell; label) in nats: of counted shares, less the mean bias.

    Each entropy of counted shares is too small by about (values seen - 1) / 2n. An estimate on both
    sides of the truth and no bound; good where cells have several rows each.
    """

    def corrected(values: Ints) -> float:
        counts = np.unique(values, return_counts=True)[1]
        share = counts / len(values)
        return float(-(share * np.log(share)).sum()) + (len(counts) - 1) / (2 * len(values))

    both = cells * (int(labels.max()) + 1) + labels
    return corrected(cells) + corrected(labels) - corrected(both)


def bootstrap_information(
    losses: npt.NDArray[np.float64], labels: Ints, *, resamples: int, seed: int = 0
) -> npt.NDArray[np.float64]:
    """Bootstrap of the bound over rows: H(S) and the mean loss are both taken on each resample.

    The same seed and number of rows give the same resamples, so that two representations of the
    same rows can be compared in pairs.

    Parameters
    ----------
    losses : ndarray, shape (n,)
        -log c(s|z) a row, nats.
    labels : ndarray of int64, shape (n,)
        s.
    resamples : int
    seed : int

    Returns
    -------
    ndarray, shape (resamples,)
        The bound, H(S) - E[loss], of each resample.
    """
    columns = np.column_stack([losses, one_hot(labels)])
    means = resampled_means(columns, resamples=resamples, seed=seed)
    return entropy_of(means[:, 1:]) - means[:, 0]


def interval(prediction: Prediction, *, resamples: int) -> tuple[float, float]:
    """95% bootstrap interval over test rows of the bound by one auditor, nats.

    It speaks of the classifier at hand, not of I: it holds I as well only as far as this classifier
    comes close to it.
    """
    losses = log_loss(prediction.probabilities, prediction.labels)
    low, high = np.quantile(
        bootstrap_information(losses, prediction.labels, resamples=resamples), [0.025, 0.975]
    )
    return float(low), float(high)


def accuracy(prediction: Prediction) -> float:
    """Share of rows whose likeliest class is the true one."""
    return float((prediction.probabilities.argmax(axis=1) == prediction.labels).mean())


def balanced_accuracy(prediction: Prediction) -> float:
    """Mean over the classes at hand of the share of each that is recognised."""
    right = prediction.probabilities.argmax(axis=1) == prediction.labels
    classes = np.unique(prediction.labels)
    return float(np.mean([right[prediction.labels == c].mean() for c in classes]))


def auc(prediction: Prediction) -> float:
    """Area under the ROC curve; one-versus-rest, averaged over classes, beyond two."""
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
