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

from fairbench.api import Floats, Ints, Role
from fairbench.api.metric import AuditorResult, Prediction
from fairbench.auditing.auditors.mlp import MLPSettings, fit_classifiers
from fairbench.auditing.auditors.samples import (
    Distinct,
    distinct,
    prior_of,
)
from fairbench.auditing.auditors.views import View, standardised, views_of
from fairbench.auditing.config import AuditConfig, Member
from fairbench.auditing.members import EVALUATION_ROLES, fit_members
from fairbench.stats.scores import information, log_loss, plug_in_information, smoothed
from fairbench.stats.seeds import derive_seed

Losses = npt.NDArray[np.float64]
"""-log p(label) of each row of the dataset, nats, ``(rows,)``; a mean over draws of z."""

_ROWS_PER_CELL = 10
"""Mean rows per cell from which the plug-in estimate is reported."""


@dataclass(frozen=True)
class Reading:
    """Predictions by one auditor: on the test set, and on the validation set, which chooses."""

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
    # The one with the lowest log loss on the validation set; the prior, unless it is beaten by a
    # standard error
    chosen: AuditorResult
    # prediction, validation_prediction: of the chosen one, on the test set and on the validation
    # set
    prediction: Prediction
    validation_prediction: Prediction
    # Of the one chosen likewise among those that saw z alone, without reconstructions by a decoder
    # of its own
    release: Reading
    # Miller-Madow estimate of I(Z;S) on the test set, nats, where z is a code of few cells. It is
    # neither a classifier nor a bound, so it is never chosen; the difference shows how much the
    # ensemble may miss.
    plug_in: float | None = None


def audit(
    z: Mapping[Role, Floats],
    labels: Mapping[Role, Ints],
    *,
    classes: int,
    config: AuditConfig,
    seed: int,
    views: Callable[[Floats], list[View]] = views_of,
    reconstruction: View | None = None,
    decoded: Mapping[Role, Floats] | None = None,
    soft: Floats | None = None,
    draws: int = 1,
    fresh: Floats | None = None,
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
    views : callable
        Makes the views of z, fitted on the auditor training set.
    reconstruction : View, optional
        x as the refitted decoder reconstructs it from z, a further view; fitted to rows of
        :func:`sides` alone.
    decoded : mapping of Role to arrays, optional
        Functions of z, row by row: the reconstructions by a decoder of its own. All members but
        slow ones see them, on a common scale: what lowers the squared error shows there.
    soft : ndarray, shape (n, classes), optional
        Soft labels of the auditor training set, without draws: P(label | x) as estimated from
        other rows. Only where z is made of x alone: then P(label | z) is their mean.
    draws : int
        Draws of each row in z and ``decoded``, draw after draw.
    fresh : ndarray, shape (m n, k), optional
        m further draws of z of the auditor training set, draw after draw, for trees of
        soft labels.
    """
    prior = prior_of(labels[Role.AUDITOR_TRAIN], classes)
    readings = fit_members(
        z, labels, views, reconstruction, draws, config, seed, prior, soft, fresh
    )
    of_z = len(readings)
    if decoded is not None:
        slow = {Member.KNN}
        if soft is not None and not config.mlps_of_all_views:
            slow |= {Member.SOFT_MLP}
        readings += [
            replace(one, view=f"decoded-{one.view}")
            for one in fit_members(
                decoded,
                labels,
                lambda rows: [standardised(rows)],
                None,
                draws,
                replace(config, members=tuple(m for m in config.members if m not in slow)),
                derive_seed(seed, "decoded"),
                prior,
                soft,
            )
            if one.member is not Member.PRIOR
        ]
    predictions = [
        {
            role: Prediction(smoothed(p, prior), labels[role])
            for role, p in one.probabilities.items()
        }
        for one in readings
    ]
    results = [
        AuditorResult(
            # information on the validation set, then on the test set
            one.member.value,
            one.view,
            *(information(p[role].probabilities, p[role].labels) for role in EVALUATION_ROLES),
        )
        for one, p in zip(readings, predictions, strict=True)
    ]
    on_validation = [p[Role.VALIDATION] for p in predictions]
    losses = [log_loss(p.probabilities, p.labels) for p in on_validation]
    # Draws of one row are not independent: their mean counts once.
    losses = [loss.reshape(draws, -1).mean(axis=0) for loss in losses]
    best = _choose(losses)
    chosen, released = predictions[best], predictions[_choose(losses[:of_z])]
    return EnsembleAudit(
        results=tuple(results),
        chosen=results[best],
        prediction=chosen[Role.TEST],
        validation_prediction=chosen[Role.VALIDATION],
        release=Reading(released[Role.TEST], released[Role.VALIDATION]),
        plug_in=_plug_in(distinct(z[Role.TEST]), labels[Role.TEST], draws),
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
