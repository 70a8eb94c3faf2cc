"""Measure one encoded representation: audits, downstream classifiers, distortion."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from fairbench.api import AUDIT_ROLES, Access, Floats, Ints, Role
from fairbench.api.metric import (
    Certificate,
    Distortions,
    PointEvaluation,
    Prediction,
    SampleSize,
    ValidationFigures,
)
from fairbench.api.types import Progress
from fairbench.auditing.certificate import certify, worst_certificate
from fairbench.auditing.config import AuditConfig
from fairbench.auditing.decoder import RefittedDecoder, refit_decoder
from fairbench.auditing.encoded import EncodedPoint, OwnDecoder
from fairbench.auditing.ensemble import AuditorPredictions, EnsembleAudit, audit, paper_audit
from fairbench.auditing.members import split_auditor_rows
from fairbench.auditing.queries import estimate_with_queries
from fairbench.auditing.sample import AuditSample
from fairbench.auditing.sample_size import extrapolate
from fairbench.auditing.tasks import classify_tasks, classify_unseen_tasks
from fairbench.auditing.with_y import estimate_with_y
from fairbench.data.prepared import Prepared, Rows
from fairbench.stats.bootstrap import bootstrap_figures
from fairbench.stats.scores import accuracy, log_loss
from fairbench.stats.seeds import derive_seed


@dataclass(frozen=True)
class _Distortion:
    """Squared errors of x by decoder, and which of them counts: the better on validation."""

    on_test: Distortions
    on_validation: float  # the mean of the better one's
    # What auditors see of the own decoder, if it is the better
    reconstructions: Mapping[Role, Floats] | None

    @classmethod
    def of(cls, refitted: Mapping[Role, Floats], own: OwnDecoder | None) -> _Distortion:
        """Choose between the own decoder and the refitted one, whose errors are given."""
        test, mean = refitted[Role.TEST], float(refitted[Role.VALIDATION].mean())
        if own is None or not own.is_consistent():
            return cls(Distortions(refitted=test, own=None, strict=test), mean, None)
        test_of_own = own.squared_errors[Role.TEST]
        mean_of_own = float(own.squared_errors[Role.VALIDATION].mean())
        if mean <= mean_of_own:
            return cls(Distortions(refitted=test, own=test_of_own, strict=test), mean, None)
        both = Distortions(refitted=test, own=test_of_own, strict=test_of_own)
        return cls(both, mean_of_own, own.reconstructions)


@dataclass(frozen=True)
class _PointAudit:
    """What all measures of a point are computed from, and one method per measure."""

    encoded: EncodedPoint
    data: Prepared
    config: AuditConfig
    seed: int
    soft: Floats | None  # soft labels of the auditor training set

    def seed_of(self, use: str) -> int:
        return derive_seed(self.seed, use)

    @property
    def roles(self) -> Mapping[Role, Rows]:
        return {role: self.data.roles[role] for role in AUDIT_ROLES}

    @property
    def draws(self) -> int:
        """How often each row stands in z."""
        return len(self.encoded.z[Role.TEST]) // len(self.data.roles[Role.TEST].s)

    @cached_property
    def x(self) -> Mapping[Role, Floats]:
        return {role: rows.x for role, rows in self.roles.items()}

    @cached_property
    def sample(self) -> AuditSample:
        """All draws of z, with s as labels."""
        return AuditSample(
            self.encoded.z,
            {role: np.tile(rows.s, self.draws) for role, rows in self.roles.items()},
            len(self.data.info.groups),
            self.draws,
            self.soft,
            self.encoded.fresh,
        )

    def decoder(self) -> RefittedDecoder:
        """Fit a decoder to z and s."""
        return refit_decoder(
            self.sample,
            self.x,
            split_auditor_rows(len(self.x[Role.AUDITOR_TRAIN]), self.seed_of("auditors")),
            config=self.config,
            seed=self.seed_of("decoder"),
            image=self.data.info.architecture.image,
        )

    def auditors(
        self, decoder: RefittedDecoder, reconstructions: Mapping[Role, Floats] | None
    ) -> EnsembleAudit:
        """Read s from z, or from what the decoders make of it."""
        return audit(
            self.sample,
            config=self.config,
            seed=self.seed_of("auditors"),
            reconstruction=decoder.reconstruction,
            decoded=reconstructions,
        )

    def queries(self, release: AuditorPredictions) -> Mapping[Access, float]:
        """Read s from many draws of the same person; nothing where the point is not detailed."""
        if not self.encoded.detailed:
            return {}
        return estimate_with_queries(
            release,
            self.encoded.queries,
            self.sample.once(),
            config=self.config,
            seed=self.seed_of("queries"),
        )

    def sample_size(
        self, read: Prediction, reconstructions: Mapping[Role, Floats] | None
    ) -> SampleSize | None:
        """Extrapolate I(Z;S) to infinitely many rows; None where the point is not detailed."""
        if not self.encoded.detailed:
            return None
        once = self.sample.once()
        return extrapolate(
            once if reconstructions is None else once.seen_as(_beside(once.z, reconstructions)),
            read,
            config=self.config,
            seed=self.seed_of("sample-size"),
        )

    def certificate(self) -> Certificate | None:
        """Certify every draw: the worst bounds, as the distortion is a mean over the draws.

        A release is one of the draws, drawn by chance: it has this distortion, and I(Z;S) is at
        most the mean over the draws, so no more than the largest bound.
        """
        draws = (self.sample.once(draw) for draw in range(self.draws))
        return worst_certificate(
            certify(
                once.z[Role.AUDITOR_TRAIN],
                once.z[Role.TEST],
                once.labels[Role.TEST],
                groups=once.classes,
            )
            for once in draws
        )

    def with_y(self, audited: EnsembleAudit, task: str | None) -> float | None:
        """Read s from z and the labels of the main task; None where there is no task."""
        if task is None:
            return None
        return estimate_with_y(
            audited.strict,
            self.sample.once(),
            {role: rows.y[task] for role, rows in self.roles.items()},
            config=self.config,
            seed=self.seed_of("with-y"),
        )


def evaluate(
    encoded: EncodedPoint,
    data: Prepared,
    *,
    config: AuditConfig,
    seed: int,
    soft: Floats | None = None,
    progress: Progress = lambda share, note: None,
) -> tuple[PointEvaluation, EnsembleAudit]:
    """Run every audit and measure of a point; ``seed`` is the source of all their randomness.

    ``soft``: soft labels of the auditor training set, see :mod:`fairbench.auditing.soft_labels`.
    ``progress`` is told the share that is done, and what comes next.
    """
    point = _PointAudit(encoded, data, config, seed, soft)
    draws, test = point.draws, data.roles[Role.TEST]
    progress(0.0, "decoder of x")
    decoder = point.decoder()
    distortion = _Distortion.of(decoder.squared_errors, encoded.own)
    progress(0.2, "auditors of s")
    audited = point.auditors(decoder, distortion.reconstructions)
    progress(0.6, "the paper's auditors")
    paper = paper_audit(point.sample, config=config, seed=point.seed_of("paper-auditors"))
    progress(0.7, "tasks")
    downstream = classify_tasks(encoded.z, point.roles, config, point.seed_of("downstream"), draws)
    task, main = next(iter(downstream.items()), (None, None))
    progress(0.85, "repeated queries" if encoded.detailed else "certificate")
    evaluation = PointEvaluation(
        z=encoded.z[Role.TEST],
        s=point.sample.labels[Role.TEST],
        y={name: np.tile(labels, draws) for name, labels in test.y.items()},
        x=point.x[Role.TEST],
        audits=audited.results,
        audit=audited.strict.test,
        paper_audits=paper,
        downstream={name: result.strict.test for name, result in downstream.items()},
        distortion=distortion.on_test,
        validation=_on_validation(audited, distortion, main),
        permuted_distortion=encoded.permuted_distortion,
        rate=encoded.rate,
        draws=draws,
        certificate=point.certificate(),
        rejected_replicates=_rejected(audited, draws, test.numbers),
        replicates=_replicates(
            audited.strict.test,
            distortion.on_test.strict,
            main.strict.test if main else None,
            draws,
            test.numbers,
        ),
        by_access={
            Access.RELEASE: audited.release.information,
            Access.DECODER: audited.chosen.test_information,
            **point.queries(audited.release),
        },
        with_y=point.with_y(audited, task),
        sample_size=point.sample_size(audited.strict.test, distortion.reconstructions),
        transfer=classify_unseen_tasks(
            encoded.z, data, config=config, seed=point.seed_of("transfer"), draws=draws
        ),
    )
    return evaluation, audited


def _on_validation(
    audited: EnsembleAudit, distortion: _Distortion, main: EnsembleAudit | None
) -> ValidationFigures:
    return ValidationFigures(
        mutual_information=audited.chosen.validation_information,
        accuracy_s=accuracy(audited.strict.validation),
        distortion=distortion.on_validation,
        mutual_information_y=None if main is None else main.chosen.validation_information,
        accuracy_y=None if main is None else accuracy(main.strict.validation),
    )


def _beside(z: Mapping[Role, Floats], decoded: Mapping[Role, Floats]) -> dict[Role, Floats]:
    """Return z, one draw of each row, with the reconstructions of the same draw beside it."""
    return {role: np.hstack([rows, decoded[role][: len(rows)]]) for role, rows in z.items()}


def _rejected(
    audited: EnsembleAudit, draws: int, row_numbers: Ints
) -> npt.NDArray[np.float64] | None:
    """Bootstrap I by an auditor that was not clearly better than the prior, where there is one."""
    if audited.rejected is None:
        return None
    unused = np.zeros(len(row_numbers), np.float32)  # in place of the distortion
    found = _replicates(audited.rejected.test, unused, None, draws, row_numbers)
    return found["mutual_information"]


def _replicates(
    sensitive: Prediction,
    distortion: Floats,
    task: Prediction | None,
    draws: int,
    row_numbers: Ints,
) -> dict[str, npt.NDArray[np.float64]]:
    """Bootstrap a point's figures; rows are resampled, not their draws."""
    n = len(sensitive.labels) // draws
    losses = log_loss(sensitive.probabilities, sensitive.labels)
    right = None
    if task is not None:
        right = (task.probabilities.argmax(axis=1) == task.labels).reshape(draws, n).mean(axis=0)
    losses = losses.reshape(draws, n).mean(axis=0)
    return bootstrap_figures(
        losses, sensitive.labels[:n], distortion, right, row_numbers=row_numbers
    )
