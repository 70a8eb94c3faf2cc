"""Measure one encoded representation: audits, downstream classifiers, distortion."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from fairbench.api import AUDIT_ROLES, Access, Floats, Ints, Role
from fairbench.api.metric import PointEvaluation, Prediction
from fairbench.auditing.certificate import certify
from fairbench.auditing.config import AuditConfig
from fairbench.auditing.decoder import refit_decoder
from fairbench.auditing.ensemble import EnsembleAudit, Reading, audit, paper_audit
from fairbench.auditing.members import sides
from fairbench.auditing.queries import read_queries
from fairbench.auditing.sample_size import extrapolate
from fairbench.auditing.tasks import classify_tasks, classify_unseen_tasks
from fairbench.auditing.with_y import read_with_y
from fairbench.data.prepare import Prepared
from fairbench.stats.bootstrap import replicated
from fairbench.stats.scores import accuracy, log_loss
from fairbench.stats.seeds import derive_seed

_STANDARD_ERRORS = 5.0
"""Between distortions of two sets of rows, beyond which a decoder does not treat them alike."""


@dataclass(frozen=True)
class OwnDecoder:
    """Reconstructions of the audit roles by a method's own decoder."""

    # (n, width), draws as z: the reconstructions for all groups, which auditors see
    shown: Mapping[Role, Floats]
    # (n,): squared error of the reconstruction for a row's own group, summed over columns; mean
    # over draws
    squares: Mapping[Role, Floats]

    def is_consistent(self) -> bool:
        """Whether it treats the auditor training set as it treats the other rows.

        The rows of all roles are equally new to the encoder. One that knows which rows auditors are
        trained on could show them something else.
        """
        train = self.squares[Role.AUDITOR_TRAIN].astype(np.float64)
        others = np.concatenate([self.squares[Role.VALIDATION], self.squares[Role.TEST]])
        error = np.sqrt(train.var() / len(train) + others.var(dtype=np.float64) / len(others))
        return bool(abs(train.mean() - others.mean(dtype=np.float64)) <= _STANDARD_ERRORS * error)


@dataclass(frozen=True)
class EncodedPoint:
    """One representation of the audit roles: all of a trained model that measuring needs."""

    # (n, k): of the three audit roles. n is a multiple of a role's rows where a stochastic encoder
    # was drawn from several times, draw after draw.
    z: Mapping[Role, Floats]
    own: OwnDecoder | None  # the method's own decoder
    # Mean squared error of the own decoder on the test set with z permuted across rows
    permuted_distortion: float | None
    rate: float | None  # the method's own code length on the test set, nats
    # (m n, k): m further draws of the auditor training set
    fresh: Floats | None = None
    # Whether repeated queries and the number of rows are examined: three points of a curve are
    detailed: bool = False
    # (n, 2 k) by role: mean and standard deviation over so many draws; empty for a deterministic
    # encoder
    queries: Mapping[Access, Mapping[Role, Floats]] = field(default_factory=dict)


@dataclass(frozen=True)
class _Distortion:
    """Squared errors of x by decoder, and which of them counts: the better on validation."""

    # (n,) of the test set: ``refitted``, ``own`` where it is consistent, and the better as
    # ``strict``
    by_decoder: Mapping[str, Floats]
    on_validation: float  # the mean of the better one's
    shown: Mapping[Role, Floats] | None  # what the own decoder shows auditors, if it is the better

    @classmethod
    def of(cls, refitted: Mapping[Role, Floats], own: OwnDecoder | None) -> _Distortion:
        """Choose between the refitted decoder, of which the squares are given, and the own."""
        squares = {"refitted": refitted}
        if own is not None and own.is_consistent():
            squares["own"] = own.squares
        on_validation = {name: float(by[Role.VALIDATION].mean()) for name, by in squares.items()}
        better = min(on_validation, key=lambda name: on_validation[name])
        by_decoder = {name: by[Role.TEST] for name, by in squares.items()}
        by_decoder["strict"] = by_decoder[better]
        shown = own.shown if own is not None and better == "own" else None
        return cls(by_decoder, on_validation[better], shown)


def evaluate(
    encoded: EncodedPoint,
    data: Prepared,
    *,
    config: AuditConfig,
    seed: int,
    soft: Floats | None = None,
    progress: Callable[[float, str], None] = lambda share, note: None,
) -> tuple[PointEvaluation, EnsembleAudit]:
    """Run every audit and measure of a point; ``seed`` is the source of all their randomness.

    ``soft``: soft labels of the auditor training set, see :mod:`fairbench.auditing.soft_labels`.
    ``progress`` is told the share that is done, and what comes next.
    """
    progress(0.0, "decoder of x")
    draws = len(encoded.z[Role.TEST]) // len(data.roles[Role.TEST].s)
    roles = {role: data.roles[role] for role in AUDIT_ROLES}
    s = {role: np.tile(rows.s, draws) for role, rows in roles.items()}
    x = {role: rows.x for role, rows in roles.items()}
    groups = len(data.info.groups)
    auditor_seed = derive_seed(seed, "auditors")
    refitted = refit_decoder(
        encoded.z,
        s,
        x,
        sides(len(x[Role.AUDITOR_TRAIN]), auditor_seed),
        groups=groups,
        config=config,
        seed=derive_seed(seed, "decoder"),
        draws=draws,
        image=data.info.architecture.image,
    )
    distortion = _Distortion.of(refitted.squares, encoded.own)
    progress(0.2, "auditors of s")
    strict = audit(
        encoded.z,
        s,
        classes=groups,
        config=config,
        seed=auditor_seed,
        reconstruction=refitted.reconstruction,
        decoded=distortion.shown,
        soft=soft,
        draws=draws,
        fresh=encoded.fresh,
    )
    progress(0.6, "the paper's auditors")
    paper = paper_audit(
        encoded.z,
        s,
        classes=groups,
        config=config,
        seed=derive_seed(seed, "paper-auditors"),
        draws=draws,
    )
    # One draw per row where rows must be independent, or one draw is enough.
    first_draw = {role: encoded.z[role][: len(rows.s)] for role, rows in roles.items()}
    progress(0.7, "tasks")
    downstream = classify_tasks(encoded.z, roles, config, derive_seed(seed, "downstream"), draws)
    main = next(iter(downstream.values()), None)
    validation = {
        "information": strict.chosen.validation_information,
        "accuracy": accuracy(strict.validation_prediction),
        "distortion": distortion.on_validation,
    }
    if main is not None:
        validation["downstream"] = main.chosen.validation_information
        validation["downstream_accuracy"] = accuracy(main.validation_prediction)
    by_access = {
        Access.RELEASE: strict.release.information,
        Access.DECODER: strict.chosen.test_information,
    }
    once = {role: rows.s for role, rows in roles.items()}
    sample_size = None
    progress(0.85, "repeated queries" if encoded.detailed else "certificate")
    if encoded.detailed:
        by_access |= read_queries(
            strict.release,
            encoded.queries,
            once,
            classes=groups,
            config=config,
            seed=derive_seed(seed, "queries"),
            soft=soft,
        )
        sample_size = extrapolate(
            _beside(first_draw, distortion.shown),
            once,
            strict.chosen.test_information,
            classes=groups,
            config=config,
            seed=derive_seed(seed, "sample-size"),
            soft=soft,
        )
    with_y = None
    if main is not None:
        with_y = read_with_y(
            Reading(strict.prediction, strict.validation_prediction),
            first_draw,
            once,
            {role: rows.y[next(iter(downstream))] for role, rows in roles.items()},
            groups=groups,
            config=config,
            seed=derive_seed(seed, "with-y"),
        )
    evaluation = PointEvaluation(
        z=encoded.z[Role.TEST],
        s=s[Role.TEST],
        y={task: np.tile(labels, draws) for task, labels in roles[Role.TEST].y.items()},
        x=x[Role.TEST],
        audits=strict.results,
        audit=strict.prediction,
        paper_audits=paper,
        downstream={task: result.prediction for task, result in downstream.items()},
        distortion=distortion.by_decoder,
        validation=validation,
        permuted_distortion=encoded.permuted_distortion,
        rate=encoded.rate,
        draws=draws,
        certificate=certify(
            first_draw[Role.AUDITOR_TRAIN], first_draw[Role.TEST], roles[Role.TEST].s, groups=groups
        ),
        replicates=_replicates(
            strict.prediction,
            distortion.by_decoder["strict"],
            main.prediction if main else None,
            draws,
            roles[Role.TEST].numbers,
        ),
        by_access=by_access,
        with_y=with_y,
        sample_size=sample_size,
        transfer=classify_unseen_tasks(
            encoded.z, data, config=config, seed=derive_seed(seed, "transfer"), draws=draws
        ),
    )
    return evaluation, strict


def _beside(z: Mapping[Role, Floats], decoded: Mapping[Role, Floats] | None) -> dict[Role, Floats]:
    """Return z, one draw of each row, with the reconstructions of the same draw beside it."""
    if decoded is None:
        return dict(z)
    return {role: np.hstack([rows, decoded[role][: len(rows)]]) for role, rows in z.items()}


def _replicates(
    sensitive: Prediction,
    distortion: Floats,
    task: Prediction | None,
    draws: int,
    people: Ints,
) -> dict[str, npt.NDArray[np.float64]]:
    """Bootstrap a point's figures; rows are resampled, not their draws."""
    n = len(sensitive.labels) // draws
    losses = log_loss(sensitive.probabilities, sensitive.labels)
    right = None
    if task is not None:
        right = (task.probabilities.argmax(axis=1) == task.labels).reshape(draws, n).mean(axis=0)
    losses = losses.reshape(draws, n).mean(axis=0)
    return replicated(losses, sensitive.labels[:n], distortion, right, people=people)
