"""The members of the audit ensemble: fitted on every view of the rows, and pooled.

Every member is trained on the auditor training set, a part of which is held out for early stopping,
calibration and the weights of the blend.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import numpy as np

from fairbench.api import Floats, Ints, Role
from fairbench.api.metric import AuditorResult, Prediction
from fairbench.auditing.auditors.blend import pool_weights, pooled
from fairbench.auditing.auditors.column_counts import MOST_ROWS, fit_column_counts
from fairbench.auditing.auditors.group_tree import GroupSplit, find_splits, fit_split_trees
from fairbench.auditing.auditors.interactions import find_products, improve_on, product_columns
from fairbench.auditing.auditors.mlp import MLPSettings, fit_weighted_classifiers
from fairbench.auditing.auditors.patterns import counting_suffices, find_patterns
from fairbench.auditing.auditors.recalibration import fit_recalibration, recalibrate
from fairbench.auditing.auditors.samples import (
    DistinctRows,
    MemberRows,
    deduplicate_rows,
    make_member_rows,
    split_held_out,
)
from fairbench.auditing.auditors.simple import (
    Classifier,
    fit_counting,
    fit_logistic,
    fit_neighbours,
    held_out_loss,
)
from fairbench.auditing.auditors.trees import Boosting, fit_soft_trees, fit_trees
from fairbench.auditing.auditors.views import View, standardised
from fairbench.auditing.config import MAX_COLUMNS, AuditConfig, Member
from fairbench.auditing.sample import AuditSample
from fairbench.auditing.wide.views import WIDE, wide_views
from fairbench.stats.scores import information, mix_in_prior
from fairbench.stats.seeds import derive_seed
from fairbench.training.freed_memory import give_back_freed_memory

_TREES = {Member.BOOSTED_TREES, Member.SOFT_TREES}
_SOFT = {Member.SOFT_MLP, Member.SOFT_TREES, Member.SOFT_COUNTING}
_COUNTING = {Member.COUNTING, Member.SOFT_COUNTING}
_FRESH = {Member.SOFT_TREES}
"""Members that learn from all draws of a stochastic encoder: others gain less than it costs."""
_HELD_OUT = "held-out"
"""Of seeds: rows that are held out, of the auditor training set."""

EVALUATION_ROLES = (Role.VALIDATION, Role.TEST)


@dataclass(frozen=True)
class MemberPrediction:
    """One member's predictions of all rows of the evaluation roles, by one view of z."""

    member: Member
    view: str
    predictions: Mapping[Role, Prediction]

    @property
    def result(self) -> AuditorResult:
        """Its estimates of I(Z;S) on the validation set and on the test set."""
        validation, test = (
            information(one.probabilities, one.labels)
            for one in (self.predictions[role] for role in EVALUATION_ROLES)
        )
        return AuditorResult(self.member.value, self.view, validation, test)


@dataclass(frozen=True)
class _Fitted:
    """One member's probabilities of held-out rows, and of the distinct rows of evaluation roles."""

    member: Member
    view: str
    held_out: Floats
    probabilities: Mapping[Role, Floats]


def strict_mlp_settings(config: AuditConfig) -> MLPSettings:
    """Settings of the strict ensemble's MLPs."""
    return MLPSettings(
        hidden=config.strict_hidden,
        epochs=config.strict_epochs,
        batch_size=config.strict_batch_size,
        learning_rate=config.strict_learning_rate,
        weight_decay=config.weight_decay,
    )


def split_auditor_rows(rows: int, seed: int) -> tuple[Ints, Ints]:
    """Return the rows of the auditor training set that an audit fits on and those it holds out."""
    return split_held_out(rows, derive_seed(seed, _HELD_OUT))


def fit_members(
    sample: AuditSample,
    *,
    config: AuditConfig,
    seed: int,
    views: Callable[[Floats], list[View]],
    reconstruction: View | None = None,
    wide: bool = False,
) -> list[MemberPrediction]:
    """Fit all members on every view of z, and predict all rows of the evaluation roles.

    ``reconstruction``: a view for the members that gain by it, fitted to rows of
    :func:`split_auditor_rows` alone. ``wide``: whether to look for rules of more kinds. The first
    is the prior.
    """
    train = sample.z[Role.AUDITOR_TRAIN]
    rows = make_member_rows(
        train,
        sample.labels[Role.AUDITOR_TRAIN],
        classes=sample.classes,
        seed=derive_seed(seed, _HELD_OUT),
        draws=sample.draws,
        soft=sample.soft,
    )
    seen = {role: deduplicate_rows(sample.z[role]) for role in EVALUATION_ROLES}
    ensemble = _Ensemble(rows, _with_fresh_draws(rows, sample, seed), seen, config, seed)
    members = [ensemble.prior(), *ensemble.fit_views(views(train))]
    if reconstruction is not None and len(members) > 1:
        members += ensemble.fit_view(reconstruction)
    if wide and len(members) > 1:
        members += ensemble.search_widely(members)
    if Member.BLEND in config.members:
        members.append(_blend(members, rows))

    def predicted(one: _Fitted, role: Role) -> Prediction:
        probabilities = one.probabilities[role][seen[role].inverse]
        return Prediction(mix_in_prior(probabilities, rows.prior), sample.labels[role])

    return [
        MemberPrediction(
            one.member, one.view, {role: predicted(one, role) for role in EVALUATION_ROLES}
        )
        for one in members
    ]


def _with_fresh_draws(rows: MemberRows, sample: AuditSample, seed: int) -> MemberRows:
    """Return the rows with all draws of a stochastic encoder, for :data:`_FRESH`."""
    if sample.fresh is None:
        return rows
    labels = sample.once().labels[Role.AUDITOR_TRAIN]
    return rows.with_draws(sample.fresh, labels, split_auditor_rows(len(labels), seed)[0])


@dataclass(frozen=True)
class _Ensemble:
    """Fits members on training rows and predicts the distinct rows of the evaluation roles."""

    rows: MemberRows
    # The same with all draws of z, for the members that learn from them
    rows_with_fresh_draws: MemberRows
    seen: Mapping[Role, DistinctRows]
    config: AuditConfig
    seed: int

    def prior(self) -> _Fitted:
        """Predict the class prior everywhere: an estimate of 0, up to how shares differ by role."""

        def tiled(rows: int) -> Floats:
            return np.tile(self.rows.prior.astype(np.float32), (rows, 1))

        by_role = {role: tiled(len(unique.rows)) for role, unique in self.seen.items()}
        return _Fitted(Member.PRIOR, "none", tiled(len(self.rows.held.labels)), by_role)

    def fit_views(self, views: list[View]) -> list[_Fitted]:
        """Fit the members of each view, then of interactions of the last one, and of patterns."""
        if len(np.unique(self.rows.fit.labels)) < 2:
            return []  # one class alone: nothing to learn
        members = [one for view in views for one in self.fit_view(view)]
        if members and self.config.interactions:
            rows = self.rows.seen_through(views[-1].apply)
            if rows.fit.x.shape[1] <= MAX_COLUMNS:
                members += self._fit_interactions(views[-1], rows, members)
            if self.rows.fit.x.shape[1] <= MAX_COLUMNS:
                members += self._fit_patterns(members)
            members += self._count_columns()
        return members

    def fit_view(self, view: View) -> list[_Fitted]:
        """Fit the members of one view."""
        columns = view.apply(self.rows.fit.x[:1]).shape[1]
        if not self._members(view.name, columns):
            return []  # before all rows are looked at
        rows = self.rows.seen_through(view.apply)
        members = self._fit_members(view, rows, derive_seed(self.seed, view.name))
        give_back_freed_memory()
        return members

    def search_widely(self, members: list[_Fitted]) -> list[_Fitted]:
        """Fit the members of views of a wide search that explain what the best one missed."""
        if counting_suffices(self.rows.fit):
            return []
        rows = self.rows.ungrouped()
        single = replace(self, rows=rows, rows_with_fresh_draws=rows)
        views = wide_views(rows, self._best(members).held_out, seed=self.seed)
        return [one for view in views for one in single.fit_view(view)]

    def _members(self, view: str, columns: int) -> list[Member]:
        """Return the members that are fitted on a view.

        No member sees z as released: trees and counting lose nothing by the common scale, and the
        others gain. Trees do not depend on ranks, nor counting on any view. Distances in bits would
        weigh the lowest bit as much as the highest. Products of columns are for members that do not
        find them by themselves.

        Where soft labels are known, trees of labels are fitted to one view, in case the soft ones
        are poor. Neighbours and MLPs of labels find less than these, and a second MLP on top of
        the one that made a reconstruction finds less than trees do.
        """
        left_out = {
            "ranks": _TREES | _COUNTING,
            "bit-planes": {Member.KNN} | _COUNTING,
            **dict.fromkeys(
                ("interactions", "patterns", *WIDE),
                set(self.config.members) - {*_TREES, Member.LOGISTIC},
            ),
            "reconstruction": {Member.KNN} | _COUNTING,
        }.get(view, set())
        if columns > MAX_COLUMNS:
            left_out = left_out | {*_TREES, Member.KNN}
        fit = self.rows.fit
        if len(fit.labels) == fit.total:  # no two rows are equal
            left_out = left_out | _COUNTING
        if fit.soft is None:
            left_out = left_out | _SOFT
        else:
            left_out = left_out | {Member.KNN, Member.MLP}
            if view == "reconstruction" or not (
                view == "standardised" or self.config.mlps_of_all_views
            ):
                left_out = left_out | {Member.SOFT_MLP}
            if view != "standardised" or not self.config.hard_labels:
                left_out = left_out | {Member.BOOSTED_TREES}
        left_out = left_out | {Member.PRIOR, Member.BLEND}
        return [member for member in self.config.members if member not in left_out]

    def _fit_members(self, view: View, rows: MemberRows, seed: int) -> list[_Fitted]:
        """Fit the members of a view on rows seen through it, and calibrate their predictions."""
        evaluated = {role: view.apply(unique.rows) for role, unique in self.seen.items()}
        members = self._members(view.name, rows.fit.x.shape[1])
        splits = None
        if Member.BOOSTED_TREES in members:
            splits = _split_groups(rows, self._of_labels(rows), seed)
        predictions = []
        for member in members:
            mine = rows
            if member in _FRESH and self.rows_with_fresh_draws is not self.rows:
                mine = self.rows_with_fresh_draws.seen_through(view.apply)
            classify = self._fit_member(member, mine, seed, splits)
            held = classify(rows.held.x)
            power, share = fit_recalibration(held, rows.held, rows.prior)
            by_role = {
                role: recalibrate(classify(x), rows.prior, power, share)
                for role, x in evaluated.items()
            }
            held = recalibrate(held, rows.prior, power, share)
            predictions.append(_Fitted(member, view.name, held, by_role))
        return predictions

    def _fit_member(
        self, member: Member, rows: MemberRows, seed: int, splits: GroupSplit | int | None
    ) -> Classifier:
        config = self.config
        if member in {Member.MLP, Member.SOFT_MLP}:
            predict = fit_weighted_classifiers(
                rows,
                settings=strict_mlp_settings(config),
                seeds=[derive_seed(seed, "mlp", i) for i in range(config.strict_mlps)],
                soft=member is Member.SOFT_MLP,
            )
            return lambda x: predict(x).mean(axis=0)
        if member is Member.LOGISTIC:
            return fit_logistic(rows)
        if member is Member.KNN:
            return fit_neighbours(rows, seed=derive_seed(seed, "knn"))
        if member in _COUNTING:
            return fit_counting(rows, soft=member is Member.SOFT_COUNTING)
        if member is Member.SOFT_TREES:
            return fit_soft_trees(rows, _boosting(config, seed))
        return _fit_trees(rows, splits, self._of_labels(rows), seed)

    def _of_labels(self, rows: MemberRows) -> AuditConfig:
        """Settings of boosted trees of labels: quicker ones where they only back up soft labels."""
        return self.config if rows.fit.soft is None else self.config.with_fast_trees()

    def _best(self, members: list[_Fitted]) -> _Fitted:
        return min(members, key=lambda one: held_out_loss(one.held_out, self.rows.held))

    def _fit_interactions(
        self, view: View, rows: MemberRows, members: list[_Fitted]
    ) -> list[_Fitted]:
        """Fit members on products of columns, if any explain what the best member missed.

        Columns are those of the last view: bits where z is a code, else ranks, else z standardised.
        """
        seed = derive_seed(self.seed, "interactions")
        linear = fit_logistic(rows)
        residual = np.eye(rows.classes, dtype=np.float32)[rows.fit.labels] - linear(rows.fit.x)
        products, signs = find_products(rows, residual, seed=seed)
        best = self._best(members)
        if not products or not improve_on(products, signs, rows.held, best.held_out):
            return []
        join = product_columns(products, signs)
        joined = View("interactions", lambda z: join(view.apply(z)))
        return self._fit_members(joined, rows.seen_through(join), seed)

    def _fit_patterns(self, members: list[_Fitted]) -> list[_Fitted]:
        """Fit members on z and patterns of its columns, if any explain what the best one missed."""
        best = self._best(members)
        common = standardised(self.rows.fit.x)
        columns = find_patterns(self.rows, common.apply, best.held_out)
        if columns is None:
            return []
        view = View("patterns", columns)
        seed = derive_seed(self.seed, view.name)
        return self._fit_members(view, self.rows.seen_through(columns), seed)

    def _count_columns(self) -> list[_Fitted]:
        """Count s by the values of one column, on small tables and for codes of one draw."""
        rows = self.rows
        if Member.COUNTING not in self.config.members or rows.draws > 1:
            return []
        if rows.fit.total + rows.held.total > MOST_ROWS:
            return []
        counted = fit_column_counts(rows)
        if counted is None:
            return []
        by_role = {role: counted(unique.rows) for role, unique in self.seen.items()}
        return [_Fitted(Member.COLUMN_COUNTS, "standardised", counted.held_out, by_role)]


def _split_groups(rows: MemberRows, config: AuditConfig, seed: int) -> GroupSplit | int | None:
    """Find the order in which trees separate more than two groups; None for two groups."""
    if rows.classes <= 2:
        return None
    return find_splits(rows, _boosting(config, seed))


def _boosting(config: AuditConfig, seed: int) -> Boosting:
    return Boosting(config.trees, config.tree_patience, seed)


def _fit_trees(
    rows: MemberRows, splits: GroupSplit | int | None, config: AuditConfig, seed: int
) -> Classifier:
    if splits is None:
        return fit_trees(rows, _boosting(config, seed))
    return fit_split_trees(rows, splits, _boosting(config, seed))


def _blend(members: list[_Fitted], rows: MemberRows) -> _Fitted:
    """Pool all members' predictions, with weights fitted on held-out rows."""
    weights = pool_weights([one.held_out for one in members], rows.held, rows.prior)
    used = [i for i, weight in enumerate(weights) if weight > 0] or [0]

    def mixed(parts: list[Floats]) -> Floats:
        return pooled([parts[i] for i in used], weights[used], rows.prior)

    return _Fitted(
        Member.BLEND,
        "all",
        mixed([one.held_out for one in members]),
        {role: mixed([one.probabilities[role] for one in members]) for role in EVALUATION_ROLES},
    )


def fit_boosted_trees(
    x: Floats, labels: Ints, *, classes: int, config: AuditConfig, seed: int
) -> Classifier:
    """Fit the ensemble's boosted trees on rows ``(n, d)`` and labels ``(n,)``."""
    rows = make_member_rows(x, labels, classes=classes, seed=derive_seed(seed, _HELD_OUT))
    return _fit_trees(rows, _split_groups(rows, config, seed), config, seed)
