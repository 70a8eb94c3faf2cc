"""The ensemble of the strict audit, the paper's MLPs, and the choice among their predictions.

Every member is trained on the auditor training set, a part of which is held out for early stopping,
calibration and the weights of the blend. The strict audit reports, on the test set, the member with
the lowest log loss on the validation set. The cross-entropy of any classifier gives a lower bound
on I(Z;S), so a larger ensemble can only come closer to the truth, up to the cost of the choice.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from fairbench.api import Floats, Role
from fairbench.api.metric import AuditorResult, Prediction
from fairbench.auditing.auditors.mlp import MLPSettings, fit_classifiers
from fairbench.auditing.auditors.samples import deduplicate_rows
from fairbench.auditing.auditors.views import View, standardised, views_of
from fairbench.auditing.config import AuditConfig, Member
from fairbench.auditing.members import MemberPrediction, fit_members
from fairbench.auditing.sample import AuditSample
from fairbench.stats.scores import information, log_loss, mix_in_prior, plug_in_information
from fairbench.stats.seeds import derive_seed

Losses = npt.NDArray[np.float64]
"""-log p(label) of each row of the dataset, nats, ``(rows,)``; a mean over draws of z."""

_ROWS_PER_CELL = 10
"""Mean rows per cell from which the plug-in estimate is reported."""


@dataclass(frozen=True)
class AuditorPredictions:
    """Predictions of one auditor; the validation set chooses auditors."""

    test: Prediction
    validation: Prediction

    @property
    def information(self) -> float:
        """I(Z;S) on the test set, nats."""
        return information(self.test.probabilities, self.test.labels)

    @property
    def validation_loss(self) -> float:
        """Mean log loss on the validation set, nats."""
        return float(log_loss(self.validation.probabilities, self.validation.labels).mean())


@dataclass(frozen=True)
class EnsembleAudit:
    """The result of an audit by the ensemble."""

    results: tuple[AuditorResult, ...]  # the estimate of each member on each view
    # The one with the lowest log loss on the validation set; the class prior, unless that one beats
    # it by a standard error
    chosen: AuditorResult
    strict: AuditorPredictions  # by the chosen one
    # By the one chosen in the same way among those that saw z alone, and no reconstructions by the
    # method's own decoder
    release: AuditorPredictions
    # By the best auditor, where the prior was chosen instead of it
    rejected: AuditorPredictions | None = None
    # By all others, where the prior was chosen
    untrusted: tuple[AuditorPredictions, ...] = ()
    # Miller-Madow estimate of I(Z;S) on the test set, nats, where z is a code of few cells. It is
    # neither a classifier nor a bound, so it is never chosen; the difference shows how much the
    # ensemble may miss.
    plug_in: float | None = None


def audit(
    sample: AuditSample,
    *,
    config: AuditConfig,
    seed: int,
    views: Callable[[Floats], list[View]] = views_of,
    reconstruction: View | None = None,
    decoded: Mapping[Role, Floats] | None = None,
    wide: bool = False,
) -> EnsembleAudit:
    """Train the ensemble on representations and choose a member on the validation set.

    Parameters
    ----------
    sample : AuditSample
    config : AuditConfig
    seed : int
        Source of all auditors' randomness.
    views : callable
        Makes the views of z, fitted on the auditor training set.
    reconstruction : View, optional
        x as the refitted decoder reconstructs it from z, a further view; fitted to rows of
        :func:`split_auditor_rows` alone.
    decoded : mapping of Role to arrays, optional
        Reconstructions by the method's own decoder, draws as in z: functions of z, row by row. All
        members but slow ones see them, on a common scale: what lowers the squared error shows
        there.
    wide : bool
        Whether to look for rules of more kinds, as audits of arrays do.
    """
    of_z = fit_members(
        sample, config=config, seed=seed, views=views, reconstruction=reconstruction, wide=wide
    )
    members = of_z if decoded is None else [*of_z, *_fit_decoded(sample, decoded, config, seed)]
    # Draws of one row are not independent: their mean counts once.
    losses = [_losses(one).reshape(sample.draws, -1).mean(axis=0) for one in members]
    results = tuple(one.result for one in members)
    lowest, best = _lowest(losses), _choose(losses)
    released = _choose(losses[: len(of_z)])
    return EnsembleAudit(
        results=results,
        chosen=results[best],
        strict=_predictions_of(members[best]),
        release=_predictions_of(members[released]),
        rejected=None if lowest == best else _predictions_of(members[lowest]),
        untrusted=() if best else tuple(map(_predictions_of, members[1:])),
        plug_in=_plug_in(sample),
    )


def _predictions_of(member: MemberPrediction) -> AuditorPredictions:
    return AuditorPredictions(member.predictions[Role.TEST], member.predictions[Role.VALIDATION])


def _fit_decoded(
    sample: AuditSample, decoded: Mapping[Role, Floats], config: AuditConfig, seed: int
) -> list[MemberPrediction]:
    """Fit members to reconstructions by the method's own decoder instead of z."""
    slow = {Member.KNN}
    if sample.soft is not None and not config.mlps_of_all_views:
        slow |= {Member.SOFT_MLP}
    members = fit_members(
        sample.seen_as(decoded),
        config=replace(config, members=tuple(m for m in config.members if m not in slow)),
        seed=derive_seed(seed, "decoded"),
        views=lambda rows: [standardised(rows)],
    )
    return [
        replace(one, view=f"decoded-{one.view}")
        for one in members
        if one.member is not Member.PRIOR
    ]


def _losses(one: MemberPrediction) -> Losses:
    prediction = one.predictions[Role.VALIDATION]
    return log_loss(prediction.probabilities, prediction.labels)


def _plug_in(sample: AuditSample) -> float | None:
    test, labels = deduplicate_rows(sample.z[Role.TEST]), sample.labels[Role.TEST]
    rows = len(labels) // sample.draws
    if rows < _ROWS_PER_CELL * len(test.rows):
        return None
    return plug_in_information(test.inverse[:rows], labels[:rows])


def _lowest(losses: list[Losses]) -> int:
    return int(np.argmin([loss.mean() for loss in losses]))


def _choose(losses: list[Losses]) -> int:
    """Return the index of the lowest mean validation loss; 0, the prior, unless it gains clearly.

    The best of a dozen members that learned noise beats the prior on the validation set by chance,
    and is worse on the test set: the gain must exceed its standard error.
    """
    best = _lowest(losses)
    gain = losses[0] - losses[best]
    return best if gain.mean() > gain.std() / math.sqrt(len(gain)) else 0


def paper_audit(sample: AuditSample, *, config: AuditConfig, seed: int) -> tuple[Prediction, ...]:
    """Train the paper's MLPs on z as released; return the predictions of each on the test set."""
    settings = MLPSettings(
        hidden=config.hidden,
        epochs=config.epochs,
        batch_size=config.batch_size,
        learning_rate=config.learning_rate,
        weight_decay=0.0,
    )
    predict = fit_classifiers(
        sample.z[Role.AUDITOR_TRAIN],
        sample.labels[Role.AUDITOR_TRAIN],
        classes=sample.classes,
        settings=settings,
        seeds=[derive_seed(seed, "paper", i) for i in range(config.mlps)],
        draws=sample.draws,
    )
    labels = sample.labels[Role.TEST]
    return tuple(
        Prediction(mix_in_prior(p, sample.prior), labels) for p in predict(sample.z[Role.TEST])
    )
