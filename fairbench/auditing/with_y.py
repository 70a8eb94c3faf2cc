"""I(Z, Y; S): what z tells of s to those who know a person's label y as well.

A cheap lower bound. Logistic regression joins y with two classifiers of s: the strict auditor, of
z, and boosted trees, of z and y. It is fitted on the validation set. Soft labels P(s | x) are not
used: given x, y may still tell of s.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from fairbench.api import Floats, Ints, Role
from fairbench.auditing.auditors.samples import prior_of
from fairbench.auditing.auditors.views import standardised
from fairbench.auditing.config import MAX_COLUMNS, AuditConfig
from fairbench.auditing.ensemble import AuditorPredictions
from fairbench.auditing.members import EVALUATION_ROLES, fit_boosted_trees
from fairbench.auditing.sample import AuditSample
from fairbench.stats.scores import information, log_loss, mix_in_prior

_FOLDS = 5


def estimate_with_y(
    strict: AuditorPredictions,
    sample: AuditSample,
    y: Mapping[Role, Ints],
    *,
    config: AuditConfig,
    seed: int,
) -> float:
    """Estimate I(Z, Y; S) on the test set, nats; not below z or y alone on the validation set.

    ``strict``: by the strict auditor of z. ``sample``: of one draw. ``y (n,)``: of the same rows.
    """
    s, groups = sample.labels, sample.classes
    rows = {role: len(s[role]) for role in EVALUATION_ROLES}
    of_z = {
        role: by.probabilities[: rows[role]]
        for role, by in ((Role.VALIDATION, strict.validation), (Role.TEST, strict.test))
    }
    of_y = _shares(s, y, groups)
    scores = [of_z]
    if sample.z[Role.TEST].shape[1] <= MAX_COLUMNS:
        scores.append(_trees(sample, y, config, seed))
    inputs = {
        role: _products([score[role] for score in scores], y[role], _classes(y))
        for role in EVALUATION_ROLES
    }
    labels = s[Role.VALIDATION]
    crossed = np.empty((len(labels), groups), np.float32)
    fold = np.random.default_rng(seed).permutation(len(labels)) % _FOLDS
    for number in np.unique(fold):  # fewer folds than rows, where these are few
        out = fold == number
        crossed[out] = _joined(
            inputs[Role.VALIDATION][~out], labels[~out], inputs[Role.VALIDATION][out], groups
        )
    together = _joined(inputs[Role.VALIDATION], labels, inputs[Role.TEST], groups)
    candidates = [
        (of_z[Role.VALIDATION], of_z[Role.TEST]),
        (of_y[Role.VALIDATION], of_y[Role.TEST]),
        (crossed, together),
    ]
    _, test = min(candidates, key=lambda pair: float(log_loss(pair[0], labels).mean()))
    return information(test, s[Role.TEST])


def _classes(y: Mapping[Role, Ints]) -> int:
    return 1 + max(int(labels.max()) for labels in y.values())


def _shares(s: Mapping[Role, Ints], y: Mapping[Role, Ints], groups: int) -> dict[Role, Floats]:
    """Return the shares of the groups among auditor training rows with the same y."""
    counts = np.full((_classes(y), groups), 0.5)
    np.add.at(counts, (y[Role.AUDITOR_TRAIN], s[Role.AUDITOR_TRAIN]), 1.0)
    counts /= counts.sum(axis=1, keepdims=True)
    return {role: counts[y[role]].astype(np.float32) for role in EVALUATION_ROLES}


def _trees(
    sample: AuditSample, y: Mapping[Role, Ints], config: AuditConfig, seed: int
) -> dict[Role, Floats]:
    view, classes = standardised(sample.z[Role.AUDITOR_TRAIN]), _classes(y)
    rows = {
        role: np.hstack([view.apply(z), _one_hot(y[role], classes)]) for role, z in sample.z.items()
    }
    classify = fit_boosted_trees(
        rows[Role.AUDITOR_TRAIN],
        sample.labels[Role.AUDITOR_TRAIN],
        classes=sample.classes,
        config=config.with_fast_trees(),
        seed=seed,
    )
    return {role: mix_in_prior(classify(rows[role]), sample.prior) for role in EVALUATION_ROLES}


def _one_hot(labels: Ints, classes: int) -> Floats:
    return np.eye(classes, dtype=np.float32)[labels]


def _products(scores: list[Floats], y: Ints, classes: int) -> Floats:
    """Return y one-hot, and the products of each of its columns with each score's log odds."""
    known = _one_hot(y, classes)
    odds = np.hstack([np.log(p[:, 1:]) - np.log(p[:, :1]) for p in scores])
    return np.hstack([known, *(known * column[:, None] for column in odds.T)])


def _joined(x: Floats, labels: Ints, rows: Floats, groups: int) -> Floats:
    """Fit logistic regression, and return the probabilities of ``rows``."""
    from sklearn.linear_model import LogisticRegression

    prior = prior_of(labels, groups)
    out = np.zeros((len(rows), groups), np.float32)
    present = np.unique(labels)
    if len(present) < 2:
        out[:] = prior
        return out
    model = LogisticRegression(C=1.0, max_iter=200).fit(x, labels)
    out[:, present] = model.predict_proba(rows)
    return np.asarray(mix_in_prior(out, prior), np.float32)
