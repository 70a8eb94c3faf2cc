"""The strict family of auditors and the paper's MLPs, and the choice among them.

Every member is trained on auditor-train, a part of which is held out to stop early, to calibrate
and to blend by; the strict audit is the member with the lowest log loss on validation; it is
reported on test. Cross-entropy of any classifier gives a lower bound on I(Z;S), so a larger family
can only come closer to the truth, up to what the choice itself costs.
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
from fairbench.auditing.auditors.interactions import find_products, product_columns, tell_more
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
from fairbench.auditing.auditors.views import View, raw, views_of
from fairbench.auditing.config import AuditConfig, Member
from fairbench.stats.scores import information, log_loss, plug_in_information, smoothed
from fairbench.stats.seeds import derive_seed

_MOST_COLUMNS = 512
"""Beyond, raw pixels for one, trees, neighbours and interactions take minutes: the rest runs."""

_TREES = {Member.BOOSTED_TREES, Member.DEEP_TREES}
_TREE_PATIENCE = 3
"""Boosting waits so many times as long as MLPs do."""

Losses = npt.NDArray[np.float64]
"""-log p(label) of each person, nats, ``(people,)``."""

_ROWS_A_CELL = 10
"""Mean rows of a cell from which its counts are worth a plug-in estimate."""

_CHOOSING = (Role.VALIDATION, Role.TEST)


@dataclass(frozen=True)
class Audited:
    """What a family of classifiers found.

    Parameters
    ----------
    results : tuple of AuditorResult
        Each member's own figure.
    chosen : AuditorResult
        The one with the lowest log loss on validation; the prior, unless that beats it by a standard
        error.
    prediction, validation_prediction : Prediction
        Of the chosen one on test, and on validation.
    plug_in : float or None
        Miller-Madow estimate of I(Z;S) on test, nats, where z is a code of few cells. No classifier
        and no bound, so never chosen; beside the family's figure it tells how much that may miss.
    """

    results: tuple[AuditorResult, ...]
    chosen: AuditorResult
    prediction: Prediction
    validation_prediction: Prediction
    plug_in: float | None = None


@dataclass(frozen=True)
class _Heard:
    """What one member says of held-out rows and of the (distinct) rows of validation and test."""

    member: Member
    view: str
    held: Floats
    says: Mapping[Role, Floats]


def mlp_settings(config: AuditConfig) -> MLPSettings:
    """The paper's MLPs in an audit's configuration."""
    return MLPSettings(
        hidden=config.hidden,
        epochs=config.epochs,
        patience=config.patience,
        batch_size=config.batch_size,
        learning_rate=config.learning_rate,
        weight_decay=0.0,
    )


def strict_mlp_settings(config: AuditConfig) -> MLPSettings:
    """The strict family's MLPs."""
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
) -> Audited:
    """Run the family on representations of the three audit roles.

    Parameters
    ----------
    z, labels : mapping of Role to arrays
        Of auditor-train, validation and test.
    classes : int
        Number of values of the labels.
    config : AuditConfig
    seed : int
        All auditors' randomness comes from it.
    mlps : int, optional
        MLPs in the ensemble; the configuration's unless given.
    views : callable
        Ways of looking at z, fitted on auditor-train.
    x : ndarray, shape (n, d), optional
        Of auditor-train, standardised, a row a person. With it auditors also look at what z tells
        of x.
    draws : int
        Draws of each row that z holds, draw after draw.
    """
    train = z[Role.AUDITOR_TRAIN]
    held_out = derive_seed(seed, "held-out")
    rows = training(train, labels[Role.AUDITOR_TRAIN], classes=classes, seed=held_out, draws=draws)
    seen = {role: distinct(z[role]) for role in _CHOOSING}
    family = _Family(rows, seen, config, seed, mlps or config.mlps)
    heard = [family.prior(), *family.listen(views(train))]
    if x is not None and config.reconstruction and len(heard) > 1:
        read = reconstruction(
            train,
            x,
            sides_of(len(x), held_out)[0],
            config=config,
            seed=derive_seed(seed, "reconstruction"),
            draws=draws,
        )
        heard += family.look(read)
    if Member.BLEND in config.members:
        heard.append(_blend(heard, rows))
    results: list[AuditorResult] = []
    losses: list[Losses] = []
    predictions: list[dict[Role, Floats]] = []
    for one in heard:
        p = {role: smoothed(one.says[role][seen[role].inverse], rows.prior) for role in _CHOOSING}
        results.append(
            AuditorResult(
                auditor=one.member.value,
                view=one.view,
                validation_information=information(p[Role.VALIDATION], labels[Role.VALIDATION]),
                test_information=information(p[Role.TEST], labels[Role.TEST]),
            )
        )
        # Of people, not of their draws.
        lost = log_loss(p[Role.VALIDATION], labels[Role.VALIDATION]).reshape(draws, -1).mean(axis=0)
        losses.append(lost)
        predictions.append(p)
    best = _choose(losses)
    chosen = {role: Prediction(predictions[best][role], labels[role]) for role in _CHOOSING}
    return Audited(
        results=tuple(results),
        chosen=results[best],
        prediction=chosen[Role.TEST],
        validation_prediction=chosen[Role.VALIDATION],
        plug_in=_plug_in(seen[Role.TEST], labels[Role.TEST], draws),
    )


def _plug_in(test: Distinct, labels: Ints, draws: int) -> float | None:
    people = len(labels) // draws
    if people < _ROWS_A_CELL * len(test.rows):
        return None
    return plug_in_information(test.inverse[:people], labels[:people])


def _choose(losses: list[Losses]) -> int:
    """The lowest mean loss on validation; the first, the prior, unless that beats it clearly.

    Of a dozen members that learned noise the luckiest looks better than the prior on validation, and
    is worse on test: it must be better by a standard error of the difference.
    """
    best = int(np.argmin([lost.mean() for lost in losses]))
    gain = losses[0] - losses[best]
    return best if gain.mean() > gain.std() / math.sqrt(len(gain)) else 0


@dataclass(frozen=True)
class _Family:
    """Fits members on rows and asks them about the distinct rows of validation and test."""

    rows: Training
    seen: Mapping[Role, Distinct]
    config: AuditConfig
    seed: int
    mlps: int

    def prior(self) -> _Heard:
        """What to fall back on: reads zero, up to how the shares of groups differ by role."""

        def says(rows: int) -> Floats:
            return np.tile(self.rows.prior.astype(np.float32), (rows, 1))

        answers = {role: says(len(found.rows)) for role, found in self.seen.items()}
        return _Heard(Member.PRIOR, "none", says(len(self.rows.held.labels)), answers)

    def listen(self, views: list[View]) -> list[_Heard]:
        """Each member's answers on each view that tells it something new."""
        if len(np.unique(self.rows.fit.labels)) < 2:
            return []  # one class alone: nothing to learn
        heard = [one for view in views for one in self.look(view)]
        if heard and self.config.interactions:
            rows = self.rows.seen_through(views[-1].apply)
            if rows.fit.x.shape[1] <= _MOST_COLUMNS:
                heard += self._interactions(views[-1], rows, heard)
        return heard

    def look(self, view: View) -> list[_Heard]:
        """What each member that looks at a view says."""
        rows = self.rows.seen_through(view.apply)
        return self._ask_all(view, rows, derive_seed(self.seed, view.name))

    def _members(self, view: str, columns: int) -> list[Member]:
        """Who looks at a view.

        Nobody looks at z as released, where trees and counting see what they see on the common
        scale, and the others less. Ranks do not change what a tree can say, nor any view what a
        cell of a code is. Nearest neighbours in bits would count the lowest bit as much as the
        highest. Products of columns are for those that are bad at finding them.
        """
        left_out = {
            "ranks": {Member.BOOSTED_TREES, Member.DEEP_TREES, Member.COUNTING},
            "bit-planes": {Member.KNN, Member.COUNTING},
            "interactions": set(Member) - {Member.BOOSTED_TREES, Member.LOGISTIC},
            "reconstruction": {Member.KNN, Member.COUNTING},
        }.get(view, set())
        if columns > _MOST_COLUMNS:
            left_out = left_out | {Member.BOOSTED_TREES, Member.DEEP_TREES, Member.KNN}
        fit = self.rows.fit
        if len(fit.labels) == fit.total:  # no two rows are equal
            left_out = left_out | {Member.COUNTING}
        left_out = left_out | {Member.PRIOR, Member.BLEND}
        return [member for member in self.config.members if member not in left_out]

    def _ask_all(self, view: View, rows: Training, seed: int) -> list[_Heard]:
        """Fit who looks at this view on rows seen through it, and calibrate what they say."""
        asked = {role: view.apply(found.rows) for role, found in self.seen.items()}
        members = self._members(view.name, rows.fit.x.shape[1])
        splits = _splits(rows, self.config, seed) if _TREES & {*members} else None
        heard = []
        for member in members:
            classify = self._fit(member, rows, seed, splits)
            held = classify(rows.held.x)
            power, share = calibration(held, rows.held, rows.prior)
            answers = {
                role: calibrated(classify(x), rows.prior, power, share) for role, x in asked.items()
            }
            held = calibrated(held, rows.prior, power, share)
            heard.append(_Heard(member, view.name, held, answers))
        return heard

    def _fit(
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
        return _trees(rows, splits, config, seed, deep=member is Member.DEEP_TREES)

    def _interactions(self, view: View, rows: Training, heard: list[_Heard]) -> list[_Heard]:
        """Products of columns that tell what the best of the others missed, if there are any.

        Of the last view: bits where z is a code, else ranks, else z on the common scale.
        """
        seed = derive_seed(self.seed, "interactions")
        linear = fit_logistic(rows)
        residual = np.eye(rows.classes, dtype=np.float32)[rows.fit.labels] - linear(rows.fit.x)
        products, split = find_products(rows, residual, seed=seed)
        best = min(heard, key=lambda one: held_out_loss(one.held, rows.held))
        if not products or not tell_more(products, split, rows.held, best.held):
            return []
        join = product_columns(products, split)
        joined = View("interactions", lambda z: join(view.apply(z)))
        return self._ask_all(joined, rows.seen_through(join), seed)


def _splits(rows: Training, config: AuditConfig, seed: int) -> GroupSplit | int | None:
    """How trees tell more than two groups apart; None where there are but two."""
    if rows.classes <= 2:
        return None
    patience = config.patience * _TREE_PATIENCE
    return find_splits(rows, rounds=config.trees, patience=patience, seed=seed)


def _trees(
    rows: Training, splits: GroupSplit | int | None, config: AuditConfig, seed: int, *, deep: bool
) -> Classifier:
    rounds, patience = config.trees, config.patience * _TREE_PATIENCE
    if splits is None:
        return fit_trees(rows, rounds=rounds, patience=patience, seed=seed, deep=deep)
    return fit_split_trees(rows, splits, rounds=rounds, patience=patience, seed=seed, deep=deep)


def _blend(heard: list[_Heard], rows: Training) -> _Heard:
    weights = pool_weights([one.held for one in heard], rows.held, rows.prior)
    kept = [i for i, weight in enumerate(weights) if weight > 0] or [0]

    def mixed(parts: list[Floats]) -> Floats:
        return pooled([parts[i] for i in kept], weights[kept], rows.prior)

    return _Heard(
        Member.BLEND,
        "all",
        mixed([one.held for one in heard]),
        {role: mixed([one.says[role] for one in heard]) for role in _CHOOSING},
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
    """The paper's auditors: MLPs on z as released, each one's predictions on test."""
    seeds = [derive_seed(seed, "paper", i) for i in range(config.mlps)]
    train = z[Role.AUDITOR_TRAIN]
    predict = fit_classifiers(
        raw().apply(train),
        labels[Role.AUDITOR_TRAIN],
        classes=classes,
        settings=mlp_settings(config),
        seeds=seeds,
        draws=draws,
    )
    prior = prior_of(labels[Role.AUDITOR_TRAIN], classes)
    return tuple(Prediction(smoothed(p, prior), labels[Role.TEST]) for p in predict(z[Role.TEST]))


def boosted_trees(
    x: Floats, labels: Ints, *, classes: int, config: AuditConfig, seed: int
) -> Classifier:
    """Fit the family's boosted trees on rows ``(n, d)`` and their labels ``(n,)``."""
    rows = training(x, labels, classes=classes, seed=derive_seed(seed, "held-out"))
    return _trees(rows, _splits(rows, config, seed), config, seed, deep=False)
