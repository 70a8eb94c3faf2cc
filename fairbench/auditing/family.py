"""The strict family of auditors and the paper's MLPs, and the choice among them.

Every member is trained on auditor-train; the strict audit is the member with the lowest log loss on
selection; it is reported on test. Cross-entropy of any classifier gives a lower bound on I(Z;S), so
a larger family can only come closer to the truth, up to what the choice itself costs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from fairbench.api import AuditorResult, Floats, Ints, Prediction, Role
from fairbench.auditing.config import AuditConfig
from fairbench.auditing.information import information, log_loss, smoothed
from fairbench.auditing.mlp import MLPSettings, fit_classifiers
from fairbench.auditing.views import View, raw, views_of
from fairbench.seeds import derive_seed

_MOST_COLUMNS_FOR_TREES = 512
"""Beyond, raw pixels for one, a tree looks at every column of every row for minutes."""

Classifier = Callable[[Floats], Floats]
"""Maps ``(n, features)`` to probabilities ``(n, classes)``."""


@dataclass(frozen=True)
class Audited:
    """What a family of classifiers found.

    Parameters
    ----------
    results : tuple of AuditorResult
        Each member's own figure.
    chosen : AuditorResult
        The one with the lowest log loss on selection.
    prediction : Prediction
        Of the chosen one on test.
    """

    results: tuple[AuditorResult, ...]
    chosen: AuditorResult
    prediction: Prediction


def mlp_settings(config: AuditConfig, *, weight_decay: float) -> MLPSettings:
    """The MLP part of an audit's configuration."""
    return MLPSettings(
        hidden=config.hidden,
        epochs=config.epochs,
        patience=config.patience,
        batch_size=config.batch_size,
        learning_rate=config.learning_rate,
        weight_decay=weight_decay,
    )


def audit(
    z: Mapping[Role, Floats],
    labels: Mapping[Role, Ints],
    *,
    classes: int,
    config: AuditConfig,
    seed: int,
    mlps: int | None = None,
    views: Callable[[Floats], list[View]] = views_of,
    draws: int = 1,
) -> Audited:
    """Run the family on representations of the three audit roles.

    Parameters
    ----------
    z, labels : mapping of Role to arrays
        Of auditor-train, selection and test.
    classes : int
        Number of values of the labels.
    config : AuditConfig
    seed : int
        All auditors' randomness comes from it.
    mlps : int, optional
        MLPs in the ensemble; the configuration's unless given.
    views : callable
        Ways of looking at z, fitted on auditor-train.
    draws : int
        Draws of each row that z holds, draw after draw.
    """
    train = z[Role.AUDITOR_TRAIN]
    prior = np.bincount(labels[Role.AUDITOR_TRAIN], minlength=classes) / len(train)
    results: list[AuditorResult] = []
    best: tuple[float, AuditorResult, Prediction] | None = None
    for view in views(train):
        seen = {role: view.apply(rows) for role, rows in z.items()}
        view_seed = derive_seed(seed, view.name)
        columns = seen[Role.TEST].shape[1]
        members = _members(classes, config, view_seed, mlps or config.mlps, draws, columns)
        for name, fit in members.items():
            classify = fit(seen[Role.AUDITOR_TRAIN], labels[Role.AUDITOR_TRAIN])
            p = {r: smoothed(classify(seen[r]), prior) for r in (Role.SELECTION, Role.TEST)}
            result = AuditorResult(
                auditor=name,
                view=view.name,
                selection_information=information(p[Role.SELECTION], labels[Role.SELECTION]),
                test_information=information(p[Role.TEST], labels[Role.TEST]),
            )
            results.append(result)
            loss = float(log_loss(p[Role.SELECTION], labels[Role.SELECTION]).mean())
            if best is None or loss < best[0]:
                best = (loss, result, Prediction(p[Role.TEST], labels[Role.TEST]))
    assert best is not None
    return Audited(tuple(results), best[1], best[2])


def paper_audit(
    z: Mapping[Role, Floats],
    labels: Mapping[Role, Ints],
    *,
    classes: int,
    config: AuditConfig,
    seed: int,
    draws: int = 1,
) -> tuple[Prediction, ...]:
    """The paper's auditors: MLPs on z as released, each one's predictions on test."""
    seeds = [derive_seed(seed, "paper", i) for i in range(config.mlps)]
    train = z[Role.AUDITOR_TRAIN]
    predict = fit_classifiers(
        raw().apply(train),
        labels[Role.AUDITOR_TRAIN],
        classes=classes,
        settings=mlp_settings(config, weight_decay=0.0),
        seeds=seeds,
        draws=draws,
    )
    prior = np.bincount(labels[Role.AUDITOR_TRAIN], minlength=classes) / len(train)
    return tuple(Prediction(smoothed(p, prior), labels[Role.TEST]) for p in predict(z[Role.TEST]))


def _members(
    classes: int, config: AuditConfig, seed: int, mlps: int, draws: int, columns: int
) -> dict[str, Callable[[Floats, Ints], Classifier]]:
    def mlp(x: Floats, labels: Ints) -> Classifier:
        predict = fit_classifiers(
            x,
            labels,
            classes=classes,
            settings=mlp_settings(config, weight_decay=config.weight_decay),
            seeds=[derive_seed(seed, "mlp", i) for i in range(mlps)],
            draws=draws,
        )
        return lambda rows: predict(rows).mean(axis=0)

    def trees(x: Floats, labels: Ints) -> Classifier:
        return boosted_trees(x, labels, classes=classes, config=config, seed=seed)

    def logistic(x: Floats, labels: Ints) -> Classifier:
        from sklearn.linear_model import LogisticRegression

        return _aligned(LogisticRegression(max_iter=300).fit(x, labels), classes)

    members: dict[str, Callable[[Floats, Ints], Classifier]] = {"mlp": mlp}
    if columns <= _MOST_COLUMNS_FOR_TREES:
        members["boosted-trees"] = trees
    # A linear auditor gains nothing from the planes that it has not from the sum they make up,
    # except a free weight for each bit, which is what makes it worth running there too.
    if config.logistic:
        members["logistic"] = logistic
    return members


def boosted_trees(
    x: Floats, labels: Ints, *, classes: int, config: AuditConfig, seed: int
) -> Classifier:
    """Fit the family's boosted trees on rows ``(n, d)`` and their labels ``(n,)``."""
    from sklearn.ensemble import HistGradientBoostingClassifier

    return _aligned(
        HistGradientBoostingClassifier(
            max_iter=config.trees,
            early_stopping=True,
            validation_fraction=0.1,
            n_iter_no_change=config.patience * 3,
            random_state=seed % 2**32,
        ).fit(x, labels),
        classes,
    )


def _aligned(model: Any, classes: int) -> Classifier:
    """Probabilities over all classes, also those that the training rows lack."""

    def classify(rows: Floats) -> Floats:
        found = model.predict_proba(rows)
        out = np.zeros((len(rows), classes), np.float32)
        out[:, model.classes_] = found
        return out

    return classify
