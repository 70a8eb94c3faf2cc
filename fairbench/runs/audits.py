"""Audits of encoded representations: which are missing, their jobs, their rows in the store.

A run audits what it has just fitted, and what an earlier one fitted and has not measured with the
present auditors; ``fairbench audit --results`` measures all that a store holds. Both go through
here, so a figure does not depend on which of the two measured it.
"""

from __future__ import annotations

import itertools
import math
import uuid
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from fairbench.api.metric import Metric
from fairbench.auditing.config import AuditConfig
from fairbench.data.prepared import Prepared
from fairbench.registry import Registry
from fairbench.runs.audit_job import AuditJob, Measurement, ReferenceJob, StoredArrays
from fairbench.runs.estimate import audit_seconds
from fairbench.runs.executors.base import Failed
from fairbench.runs.job import Job
from fairbench.runs.plan import PlannedReference, point_key
from fairbench.runs.shared_labels import SharedLabels
from fairbench.stats.seeds import derive_seed
from fairbench.store.database import Store, now
from fairbench.store.records import PointRecord, ReadPoint, ReferenceRecord
from fairbench.store.status import Status
from fairbench.versions import AUDIT_VERSION, PROTOCOL_VERSION

_POINTS_PER_JOB = 3
"""Most points audited by one job: not one alone, for the start-up."""


@dataclass(frozen=True)
class AuditTarget:
    """A fitted unit whose points are to be audited; ``unit`` is its key."""

    unit: str
    method: str
    seed: int
    points: tuple[ReadPoint, ...]
    data: Prepared
    config: AuditConfig
    blind: bool  # whether its encoder saw x alone
    stochastic: bool  # whether its z is a sample


@dataclass(frozen=True)
class MissingPoint:
    """A point without a result: its number among those of its unit, label and key."""

    number: int
    label: str
    key: str


def points_per_job(points: int) -> list[int]:
    """Split points among jobs: ever fewer points in one, so that cores end together."""
    sizes = []
    while points:
        sizes.append(min(_POINTS_PER_JOB, math.ceil(points / 3)))
        points -= sizes[-1]
    return sizes


def point_metrics(registry: Registry) -> tuple[type[Metric], ...]:
    """Metrics of single representations, by which audits measure."""
    return tuple(m for m in registry.metrics.classes.values() if m.level == "point")


def audit_seed(seed: int) -> int:
    """Seed of all audits of one seed's models, and of x itself.

    Equal representations get equal figures, so releasing x reads exactly I_max; and methods are
    compared by auditors whose training varies alike.
    """
    return derive_seed("audit", seed)


REFERENCE_FIGURES = frozenset(
    {
        "mutual_information_max",
        "mutual_information_max_validation",
        "mutual_information_max_paper",
        "distortion_max",
        "distortion_max_validation",
        "accuracy_s",
        "accuracy_s_constant",
    }
)
"""What every reference holds: one that an older fairbench measured without some is measured again,
as points are for a metric that has come since."""


class AuditLedger:
    """Audit and reference jobs against a store, by point ``metrics``.

    With ``retry``, points whose audit failed are missing too.
    """

    def __init__(self, store: Store, metrics: Sequence[type[Metric]], *, retry: bool) -> None:
        self.store, self.metrics, self.retry = store, tuple(metrics), retry
        self.faults: Counter[str] = Counter()
        """What metrics of plugins raised: points that lack their columns."""
        self._points = store.statuses(PointRecord)
        self._targets: dict[str, AuditTarget] = {}
        self._pending: dict[str, PointRecord | ReferenceRecord] = {}
        self._again: dict[str, str | None] = {}
        self._soft: dict[str, SharedLabels] = {}
        self._failed_seconds = self._stored_failed_seconds()
        self._seconds: dict[tuple[str, str, str | None], float] = {}

    def _stored_failed_seconds(self) -> dict[str, float]:
        """Seconds of earlier attempts here that gave nothing, by point."""
        return {
            point.key: point.processor_seconds
            for status in set(self._points.values()) - {Status.DONE}
            for point in self.store.records(PointRecord, status=status.value)
            if point.processor_seconds is not None and point.origin is None
        }

    def failures(self, target: AuditTarget) -> list[PointRecord]:
        """Points whose audit by the present auditors failed."""
        keys = [point_key(target.unit, point.label, target.config) for point in target.points]
        bad = [key for key in keys if key in self._points and self._points[key].is_failure]
        return list(self.store.find(PointRecord, bad).values()) if bad else []

    def measure_again(self, points: Mapping[str, str | None]) -> None:
        """Take measured points for missing; ``points``: by key, when they were measured."""
        self._again.update(points)

    def missing(self, target: AuditTarget) -> list[MissingPoint]:
        """Points without a result, and those to measure again."""
        points = (
            MissingPoint(number, point.label, point_key(target.unit, point.label, target.config))
            for number, point in enumerate(target.points)
        )
        return [point for point in points if self._is_missing(point.key)]

    def _is_missing(self, key: str) -> bool:
        status = self._points.get(key)
        if status is Status.DONE:
            return key in self._again
        return status is None or not status.is_failure or self.retry

    def forget(self, target: AuditTarget) -> None:
        """Take points for missing: what they measured was another model."""
        for point in target.points:
            self._points.pop(point_key(target.unit, point.label, target.config), None)

    def refresh(self) -> None:
        """Take in what other runs have measured since."""
        self._points = self.store.statuses(PointRecord)

    def is_settled(self, job: AuditJob | ReferenceJob) -> bool:
        """Whether another run did some of a job since this one planned it."""
        if isinstance(job, ReferenceJob):
            references = self.store.find(ReferenceRecord, job.claimed)
            self._drop_measured_elsewhere(references)
            return any(r.done and key not in self._again for key, r in references.items())
        points = self.store.find(PointRecord, job.claimed)
        self._drop_measured_elsewhere(points)
        self._points |= {key: point.status for key, point in points.items()}
        return any(not self._is_missing(key) for key in job.claimed)

    def _drop_measured_elsewhere(
        self, records: Mapping[str, PointRecord | ReferenceRecord]
    ) -> None:
        """Stop measuring again what another run has measured again since."""
        for key, record in records.items():
            if key in self._again and record.finished not in (None, self._again[key]):
                del self._again[key]

    def remaining_jobs(self, job: AuditJob | ReferenceJob) -> tuple[list[Job], list[Status]]:
        """What is left to do of a job that is settled, and how points ended that gave nothing."""
        if isinstance(job, ReferenceJob):
            return [], []
        statuses = [self._points.get(key) for key in job.keys]
        target = self._targets[job.keys[0]]
        missing = [point for point in self.missing(target) if point.key in job.keys]
        bad = [s for s in statuses if s is not None and s.is_failure and not self.retry]
        assert isinstance(job.arrays, StoredArrays)
        return self.jobs(target, missing, job.arrays), bad

    def jobs(
        self, target: AuditTarget, missing: Sequence[MissingPoint], arrays: StoredArrays
    ) -> list[Job]:
        """Jobs that audit the missing points of one unit, whose encoded arrays are given."""
        jobs: list[Job] = []
        ends = list(itertools.accumulate(points_per_job(len(missing))))
        for start, end in itertools.pairwise([0, *ends]):
            chunk = missing[start:end]
            label = chunk[0].label
            title = label if len(chunk) == 1 else f"{len(chunk)} points from {label}"
            for point in chunk:
                self._targets[point.key] = target
                self._pending[point.key] = self.record(target, point)
            jobs.append(
                AuditJob(
                    id=uuid.uuid4().hex,
                    title=f"audit {target.method} on {target.data.title}, "
                    f"seed {target.seed} ({title})",
                    estimate=len(chunk)
                    * self.seconds(
                        target.config, target.data, target.method, stochastic=target.stochastic
                    ),
                    data=target.data.audited(),
                    keys=tuple(point.key for point in chunk),
                    seed=audit_seed(target.seed),
                    numbers=tuple(point.number for point in chunk),
                    arrays=arrays.of(point.number for point in chunk),
                    config=target.config,
                    metrics=self.metrics,
                    soft=self._soft_labels(target.data) if target.blind else None,
                    soft_of_target=(
                        self._soft_labels(target.data.target)
                        if target.blind and target.data.target is not None
                        else None
                    ),
                )
            )
        return jobs

    def reference_job(self, reference: PlannedReference, *, again: bool) -> ReferenceJob | None:
        """The job that audits x itself; None: what it would measure is in the store, or pending."""
        data, seed, config, key = reference.data, reference.seed, reference.audit, reference.key
        if key in self._pending:
            return None
        stored = self.store.find(ReferenceRecord, [key]).get(key)
        if stored is not None and stored.done:
            if not again and set(stored.figures) >= REFERENCE_FIGURES:
                return None
            self._again[key] = stored.finished
        self._pending[key] = ReferenceRecord(
            key=key,
            status=Status.PENDING,
            dataset=data.info.name,
            fingerprint=data.fingerprint,
            protocol=PROTOCOL_VERSION,
            seed=seed,
            audit=config.preset.value,
            audit_version=AUDIT_VERSION,
        )
        return ReferenceJob(
            id=uuid.uuid4().hex,
            title=f"audit x itself on {data.title}, seed {seed}",
            estimate=self.seconds(config, data),
            data=data,
            key=key,
            seed=audit_seed(seed),
            config=config,
            soft=self._soft_labels(data),
        )

    def seconds(
        self,
        config: AuditConfig,
        data: Prepared,
        method: str | None = None,
        *,
        stochastic: bool = False,
    ) -> float:
        """Return the estimated seconds to audit one point on one core; None: of x itself."""
        asked = (data.fingerprint, config.preset.value, method)
        if asked not in self._seconds:
            self._seconds[asked] = audit_seconds(
                config, data, self.store, method, stochastic=stochastic
            )
        return self._seconds[asked]

    def _soft_labels(self, data: Prepared) -> SharedLabels:
        """Soft labels for all jobs of a dataset, estimated by the first of them."""
        if data.fingerprint not in self._soft:
            self._soft[data.fingerprint] = SharedLabels(data)
        return self._soft[data.fingerprint]

    def record(self, target: AuditTarget, missing: MissingPoint) -> PointRecord:
        """Return a point's record before it is audited."""
        point = target.points[missing.number]
        return PointRecord(
            key=missing.key,
            unit=target.unit,
            number=missing.number,
            status=Status.PENDING,
            label=point.label,
            knobs=point.knobs,
            audit=target.config.preset.value,
            audit_config=target.config.as_dict(),
            audit_version=AUDIT_VERSION,
            processor_seconds=self._failed_seconds.get(missing.key),
        )

    def finish(self, results: Sequence[Measurement]) -> None:
        """Write what a job measured."""
        self.store.put([self._finished(result) for result in results])
        for result in results:
            if isinstance(self._pending[result.key], PointRecord):
                self.faults.update(result.faults)
            for fingerprint, labels in result.estimated.items():
                self._soft[fingerprint].set(labels)

    def _finished(self, result: Measurement) -> PointRecord | ReferenceRecord:
        pending = self._pending[result.key]
        if isinstance(pending, PointRecord):
            pending = pending.replace(
                auditors=tuple(result.auditors),
                error=" ".join(result.faults) or None,
                processor_seconds=_sum_of_known(
                    pending.processor_seconds, result.processor_seconds
                ),
            )
        return pending.replace(
            status=Status.DONE,
            values=dict(result.values),
            seconds=result.seconds,
            replicates=result.replicates,
            finished=now(),
        )

    def fail(self, event: Failed) -> list[Job]:
        """Return jobs that try the points of a job one by one: one must not cost the others.

        Of a job with one point, write that it gave nothing, and why, but for records whose earlier
        figures stand.
        """
        job = event.job
        if isinstance(job, AuditJob):
            self._add_failed_seconds(job, event.seconds)
            if len(job.keys) > 1:
                return self._one_by_one(job)
        self.store.put(
            self._pending[key].replace(
                status=event.status, error=event.error, traceback=event.traceback, finished=now()
            )
            for key in job.claimed
            if key not in self._again
        )
        return []

    def _add_failed_seconds(self, job: AuditJob, seconds: float) -> None:
        """Add what a job took that gave nothing: searches count it; more than that is not known."""
        for key in job.keys:
            spent = self._failed_seconds.get(key, 0.0) + seconds / len(job.keys)
            self._failed_seconds[key] = spent
            self._pending[key] = self._pending[key].replace(processor_seconds=spent)

    def stands(self, job: AuditJob | ReferenceJob) -> bool:
        """Whether earlier figures of a job stand where it fails."""
        return set(job.claimed) <= set(self._again)

    def _one_by_one(self, job: AuditJob) -> list[Job]:
        target = self._targets[job.keys[0]]
        points = [
            MissingPoint(number, target.points[number].label, key)
            for number, key in zip(job.numbers, job.keys, strict=True)
        ]
        assert isinstance(job.arrays, StoredArrays)
        return [alone for point in points for alone in self.jobs(target, [point], job.arrays)]


def _sum_of_known(*seconds: float | None) -> float | None:
    """The sum of what is known; None: nothing is."""
    known = [each for each in seconds if each is not None]
    return sum(known) if known else None
