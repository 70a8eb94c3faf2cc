"""The ensemble of the strict audit, the paper's MLPs, and the choice among their predictions.

Every member is trained on the auditor training set, a part of which is held out for early stopping,
calibration and the weights of the blend. The strict audit reports, on the test set, the member with
the lowest log loss on the validation set. The cross-entropy of any classifier gives a lower bound
on I(Z;S), so a larger ensemble can only come closer to the truth, up to the cost of the choice.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from fairbench.api import Floats, Ints, Role
from fairbench.api.metric import AuditorResult, Prediction
from fairbench.auditing.auditors.blend import calibrated, calibration, pool_weights, pooled
from fairbench.auditing.auditors.group_tree import GroupSplit, find_splits, fit_split_trees
from fairbench.auditing.auditors.interactions import find_products, improve_on, product_columns
from fairbench.auditing.auditors.mlp import MLPSettings, fit_classifiers, fit_weighted_classifiers
from fairbench.auditing.auditors.reconstruction import reconstruction
from fairbench.auditing.auditors.samples import (
    Distinct,
    Training,
    distinct,
    prior_of,
    sides_of,
    training,
)
from fairbench.auditing.auditors.simple import (
    Classifier,
    fit_counting,
    fit_logistic,
    fit_neighbours,
    held_out_loss,
)
from fairbench.auditing.auditors.trees import fit_trees
from fairbench.auditing.auditors.views import View, views_of
from fairbench.auditing.config import AuditConfig, Member
from fairbench.stats.scores import information, log_loss, plug_in_information, smoothed
from fairbench.stats.seeds import derive_seed

_MOST_COLUMNS = 512
"""Columns beyond which trees, neighbours and interactions take minutes and are left out."""

_TREES = {Member.BOOSTED_TREES, Member.DEEP_TREES}
_TREE_PATIENCE = 3
"""Boosting waits this many times as long as MLPs do."""

Losses = npt.NDArray[np.float64]
"""-log p(label) of each row of the dataset, nats, ``(rows,)``; a mean over draws of z."""

_ROWS_PER_CELL = 10
"""Mean rows per cell from which the plug-in estimate is reported."""

_EVALUATION_ROLES = (Role.VALIDATION, Role.TEST)


@dataclass(frozen=True)
class EnsembleAudit:
    """The result of an audit by the ensemble."""

    results: tuple[AuditorResult, ...]  # the estimate of each member on each view
    # The one with the lowest log loss on the validation set; the prior, unless it is beaten by a
    # standard error
    chosen: AuditorResult
    # prediction, validation_prediction: of the chosen one, on the test set and on the validation
    # set
    prediction: Prediction
    validation_prediction: Prediction
    # Miller-Madow estimate of I(Z;S) on the test set, nats, where z is a code of few cells. It is
    # neither a classifier nor a bound, so it is never chosen; the difference shows how much the
    # ensemble may miss.
    plug_in: float | None = None


@dataclass(frozen=True)
class _MemberPrediction:
    """One member's probabilities on held-out rows, and on the distinct rows of evaluation roles."""

    member: Member
    view: str
    held_out: Floats
    probabilities: Mapping[Role, Floats]


def strict_mlp_settings(config: AuditConfig) -> MLPSettings:
    """Settings of the strict ensemble's MLPs."""
    return MLPSettings(
        hidden=config.strict_hidden,
        epochs=config.strict_epochs,
        patience=config.strict_epochs,
        batch_size=config.strict_batch_size,
        learning_rate=config.strict_learning_rate,
        weight_decay=config.weight_decay,
        one_cycle=True,
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
    x: Floats | None = None,
    draws: int = 1,
) -> EnsembleAudit:
    """Train the ensemble on representations and choose a member on the validation set.

    Parameters
    ----------
    z, labels : mapping of Role to arrays
        Of the three audit roles.
    classes : int
        Number of values of the labels.
    config : AuditConfig
    seed : int
        Source of all auditors' randomness.
    mlps : int, optional
        MLPs that are averaged; default: the configuration's.
    views : callable
        Makes the views of z, fitted on the auditor training set.
    x : ndarray, shape (n, d), optional
        The auditor training set, standardised, without draws. Given, the members also see x as
        reconstructed from z.
    draws : int
        Draws of each row in z, draw after draw.
    """
    train = z[Role.AUDITOR_TRAIN]
    held_out = derive_seed(seed, "held-out")
    rows = training(train, labels[Role.AUDITOR_TRAIN], classes=classes, seed=held_out, draws=draws)
    seen = {role: distinct(z[role]) for role in _EVALUATION_ROLES}
    ensemble = _Ensemble(rows, seen, config, seed, mlps or config.mlps)
    members = [ensemble.prior(), *ensemble.fit_views(views(train))]
    if x is not None and config.reconstruction and len(members) > 1:
        rebuilt = reconstruction(
            train,
            x,
            sides_of(len(x), held_out)[0],
            config=config,
            seed=derive_seed(seed, "reconstruction"),
            draws=draws,
        )
        members += ensemble.fit_view(rebuilt)
    if Member.BLEND in config.members:
        members.append(_blend(members, rows))
    predictions: list[dict[Role, Prediction]] = []
    for one in members:
        p = {role: one.probabilities[role][seen[role].inverse] for role in _EVALUATION_ROLES}
        predictions.append(
            {role: Prediction(smoothed(p[role], rows.prior), labels[role]) for role in p}
        )
    results = [
        AuditorResult(
            # information on the validation set, then on the test set
            one.member.value,
            one.view,
            *(information(p[role].probabilities, p[role].labels) for role in _EVALUATION_ROLES),
        )
        for one, p in zip(members, predictions, strict=True)
    ]
    on_validation = [p[Role.VALIDATION] for p in predictions]
    losses = [log_loss(p.probabilities, p.labels) for p in on_validation]
    # Draws of one row are not independent: their mean counts once.
    best = _choose([loss.reshape(draws, -1).mean(axis=0) for loss in losses])
    chosen = predictions[best]
    return EnsembleAudit(
        results=tuple(results),
        chosen=results[best],
        prediction=chosen[Role.TEST],
        validation_prediction=chosen[Role.VALIDATION],
        plug_in=_plug_in(seen[Role.TEST], labels[Role.TEST], draws),
    )


def _plug_in(test: Distinct, labels: Ints, draws: int) -> float | None:
    rows = len(labels) // draws
    if rows < _ROWS_PER_CELL * len(test.rows):
        return None
    return plug_in_information(test.inverse[:rows], labels[:rows])


def _choose(losses: list[Losses]) -> int:
    """Return the index of the lowest mean validation loss; 0, the prior, unless it gains clearly.

    The best of a dozen members that learned noise beats the prior on the validation set by chance,
    and is worse on the test set: the gain must exceed its standard error.
    """
    best = int(np.argmin([loss.mean() for loss in losses]))
    gain = losses[0] - losses[best]
    return best if gain.mean() > gain.std() / math.sqrt(len(gain)) else 0


@dataclass(frozen=True)
class _Ensemble:
    """Fits members on training rows and predicts the distinct rows of the evaluation roles."""

    rows: Training
    seen: Mapping[Role, Distinct]
    config: AuditConfig
    seed: int
    mlps: int

    def prior(self) -> _MemberPrediction:
        """Predict the class prior everywhere: an estimate of 0, up to how shares differ by role."""

        def tiled(rows: int) -> Floats:
            return np.tile(self.rows.prior.astype(np.float32), (rows, 1))

        by_role = {role: tiled(len(unique.rows)) for role, unique in self.seen.items()}
        return _MemberPrediction(Member.PRIOR, "none", tiled(len(self.rows.held.labels)), by_role)

    def fit_views(self, views: list[View]) -> list[_MemberPrediction]:
        """Fit the members of each view, then those of interactions of the last view's columns."""
        if len(np.unique(self.rows.fit.labels)) < 2:
            return []  # one class alone: nothing to learn
        members = [one for view in views for one in self.fit_view(view)]
        if members and self.config.interactions:
            rows = self.rows.seen_through(views[-1].apply)
            if rows.fit.x.shape[1] <= _MOST_COLUMNS:
                members += self._fit_interactions(views[-1], rows, members)
        return members

    def fit_view(self, view: View) -> list[_MemberPrediction]:
        """Fit the members of one view."""
        rows = self.rows.seen_through(view.apply)
        return self._fit_members(view, rows, derive_seed(self.seed, view.name))

    def _members(self, view: str, columns: int) -> list[Member]:
        """Return the members that are fitted on a view.

        No member sees z as released: trees and counting lose nothing by the common scale, and the
        others gain. Trees do not depend on ranks, nor counting on any view. Distances in bits would
        weigh the lowest bit as much as the highest. Products of columns are for members that do not
        find them by themselves.
        """
        left_out = {
            "ranks": {*_TREES, Member.COUNTING},
            "bit-planes": {Member.KNN, Member.COUNTING},
            "interactions": set(Member) - {Member.BOOSTED_TREES, Member.LOGISTIC},
            "reconstruction": {Member.KNN, Member.COUNTING},
        }.get(view, set())
        if columns > _MOST_COLUMNS:
            left_out = left_out | {*_TREES, Member.KNN}
        fit = self.rows.fit
        if len(fit.labels) == fit.total:  # no two rows are equal
            left_out = left_out | {Member.COUNTING}
        left_out = left_out | {Member.PRIOR, Member.BLEND}
        return [member for member in self.config.members if member not in left_out]

    def _fit_members(self, view: View, rows: Training, seed: int) -> list[_MemberPrediction]:
        """Fit the members of a view on rows seen through it, and calibrate their predictions."""
        evaluated = {role: view.apply(unique.rows) for role, unique in self.seen.items()}
        members = self._members(view.name, rows.fit.x.shape[1])
        splits = _split_groups(rows, self.config, seed) if _TREES & {*members} else None
        predictions = []
        for member in members:
            classify = self._fit_member(member, rows, seed, splits)
            held = classify(rows.held.x)
            power, share = calibration(held, rows.held, rows.prior)
            by_role = {
                role: calibrated(classify(x), rows.prior, power, share)
                for role, x in evaluated.items()
            }
            held = calibrated(held, rows.prior, power, share)
            predictions.append(_MemberPrediction(member, view.name, held, by_role))
        return predictions

    def _fit_member(
        self, member: Member, rows: Training, seed: int, splits: GroupSplit | int | None
    ) -> Classifier:
        config = self.config
        if member is Member.MLP:
            predict = fit_weighted_classifiers(
                rows,
                settings=strict_mlp_settings(config),
                seeds=[derive_seed(seed, "mlp", i) for i in range(self.mlps)],
            )
            return lambda x: predict(x).mean(axis=0)
        if member is Member.LOGISTIC:
            return fit_logistic(rows)
        if member is Member.KNN:
            return fit_neighbours(rows, seed=derive_seed(seed, "knn"))
        if member is Member.COUNTING:
            return fit_counting(rows)
        return _fit_trees(rows, splits, config, seed, deep=member is Member.DEEP_TREES)

    def _fit_interactions(
        self, view: View, rows: Training, members: list[_MemberPrediction]
    ) -> list[_MemberPrediction]:
        """Fit members on products of columns, if any explain what the best member missed.

        Columns are those of the last view: bits where z is a code, else ranks, else z standardised.
        """
        seed = derive_seed(self.seed, "interactions")
        linear = fit_logistic(rows)
        residual = np.eye(rows.classes, dtype=np.float32)[rows.fit.labels] - linear(rows.fit.x)
        products, signs = find_products(rows, residual, seed=seed)
        best = min(members, key=lambda one: held_out_loss(one.held_out, rows.held))
        if not products or not improve_on(products, signs, rows.held, best.held_out):
            return []
        join = product_columns(products, signs)
        joined = View("interactions", lambda z: join(view.apply(z)))
        return self._fit_members(joined, rows.seen_through(join), seed)


def _split_groups(rows: Training, config: AuditConfig, seed: int) -> GroupSplit | int | None:
    """Find the order in which trees separate more than two groups; None for two groups."""
    if rows.classes <= 2:
        return None
    patience = config.patience * _TREE_PATIENCE
    return find_splits(rows, rounds=config.trees, patience=patience, seed=seed)


def _fit_trees(
    rows: Training, splits: GroupSplit | int | None, config: AuditConfig, seed: int, *, deep: bool
) -> Classifier:
    rounds, patience = config.trees, config.patience * _TREE_PATIENCE
    if splits is None:
        return fit_trees(rows, rounds=rounds, patience=patience, seed=seed, deep=deep)
    return fit_split_trees(rows, splits, rounds=rounds, patience=patience, seed=seed, deep=deep)


def _blend(members: list[_MemberPrediction], rows: Training) -> _MemberPrediction:
    """Pool all members' predictions, with weights fitted on held-out rows."""
    weights = pool_weights([one.held_out for one in members], rows.held, rows.prior)
    used = [i for i, weight in enumerate(weights) if weight > 0] or [0]

    def mixed(parts: list[Floats]) -> Floats:
        return pooled([parts[i] for i in used], weights[used], rows.prior)

    return _MemberPrediction(
        Member.BLEND,
        "all",
        mixed([one.held_out for one in members]),
        {role: mixed([one.probabilities[role] for one in members]) for role in _EVALUATION_ROLES},
    )


def paper_audit(
    z: Mapping[Role, Floats],
    labels: Mapping[Role, Ints],
    *,
    classes: int,
    config: AuditConfig,
    seed: int,
    draws: int = 1,
) -> tuple[Prediction, ...]:
    """Train the paper's MLPs on z as released; return the predictions of each on the test set."""
    settings = MLPSettings(
        hidden=config.hidden,
        epochs=config.epochs,
        patience=config.patience,
        batch_size=config.batch_size,
        learning_rate=config.learning_rate,
        weight_decay=0.0,
    )
    predict = fit_classifiers(
        z[Role.AUDITOR_TRAIN],
        labels[Role.AUDITOR_TRAIN],
        classes=classes,
        settings=settings,
        seeds=[derive_seed(seed, "paper", i) for i in range(config.mlps)],
        draws=draws,
    )
    prior = prior_of(labels[Role.AUDITOR_TRAIN], classes)
    return tuple(Prediction(smoothed(p, prior), labels[Role.TEST]) for p in predict(z[Role.TEST]))


def fit_boosted_trees(
    x: Floats, labels: Ints, *, classes: int, config: AuditConfig, seed: int
) -> Classifier:
    """Fit the ensemble's boosted trees on rows ``(n, d)`` and labels ``(n,)``."""
    rows = training(x, labels, classes=classes, seed=derive_seed(seed, "held-out"))
    return _fit_trees(rows, _split_groups(rows, config, seed), config, seed, deep=False)
