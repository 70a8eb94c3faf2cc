"""Auditing stored representations again: present auditors and metrics, nothing trained.

It covers the units that leaderboards show. Of each, the stored representation is audited where the
present version of the audit has not done so, or where a metric has come since.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from fairbench.api import Coding, Metric, Track
from fairbench.auditing.config import PRESETS, AuditPreset
from fairbench.data.prepared import Prepared
from fairbench.registry import Registry, declared_columns
from fairbench.runs.audit_job import AuditJob, ReferenceJob, StoredArrays
from fairbench.runs.audit_rows import is_larger
from fairbench.runs.audits import (
    AuditLedger,
    AuditTarget,
    MissingPoint,
    point_metrics,
    points_per_job,
)
from fairbench.runs.cost import versions
from fairbench.runs.driver import JobSource
from fairbench.runs.executors.base import Failed
from fairbench.runs.failures import Failure
from fairbench.runs.fit_job import FitJob
from fairbench.runs.job import Job
from fairbench.runs.plan import PlannedReference
from fairbench.store import files
from fairbench.store.database import Store, now
from fairbench.store.records import PointRecord, RunRecord, UnitRecord
from fairbench.versions import AUDIT_VERSION


@dataclass(frozen=True)
class PointsToMeasure:
    """Points of one unit that are to be measured, and the file of its representations."""

    target: AuditTarget
    artefact: str
    missing: Sequence[MissingPoint]


@dataclass
class ReauditSummary:
    """What a re-audit did."""

    measured: set[str] = field(default_factory=set)
    """Keys of points."""
    elsewhere: set[str] = field(default_factory=set)
    """Keys of points that another run measured meanwhile."""
    gone: set[str] = field(default_factory=set)
    """Keys of units whose representation is not on disk, or damaged: their figures stay."""
    failures: list[Failure] = field(default_factory=list)


class Reaudit(JobSource):
    """One audit of the representations of ``units`` that the folder ``results`` holds.

    ``datasets`` are by fingerprint. ``audit`` says how hard to audit; None: as each unit's points
    were. With ``again``, what the present auditors have measured is measured too.
    """

    def __init__(
        self,
        store: Store,
        results: Path,
        registry: Registry,
        units: Sequence[UnitRecord],
        datasets: Mapping[str, Prepared],
        *,
        audit: AuditPreset | None = None,
        again: bool = False,
    ) -> None:
        self.store, self.results, self.datasets = store, results, datasets
        self.audits = AuditLedger(store, point_metrics(registry), retry=True)
        self.id = uuid.uuid4().hex
        self.summary = ReauditSummary()
        self.known = 0
        """Points that need nothing."""
        self._again = again
        self._work: list[PointsToMeasure] = []
        self._references: list[ReferenceJob] = []
        points: dict[str, list[PointRecord]] = {}
        for point in store.records(PointRecord):
            points.setdefault(point.unit, []).append(point)
        for unit in units:
            own = points.get(unit.key, [])
            if files.exists(results, unit.artefact):
                for preset in _presets(unit, own, audit):
                    self._plan(unit, own, preset)
            else:
                self.summary.gone.add(unit.key)

    def _plan(self, unit: UnitRecord, points: Sequence[PointRecord], preset: AuditPreset) -> None:
        data = self.datasets[unit.fingerprint]
        config = PRESETS[preset]
        target = AuditTarget(
            unit=unit.key,
            method=unit.method,
            seed=unit.seed,
            points=unit.points,
            data=data,
            config=config,
            blind=unit.track != Track.AWARE,
            stochastic=Coding.STOCHASTIC in unit.tags,
        )
        tasks = any(rows.y for rows in data.roles.values())
        columns = plain_columns(self.audits.metrics, tasks=tasks)
        stale = {
            point.key: point.finished
            for point in points
            # A measured point has an error where a metric raised: it lacks that metric's columns.
            if point.done and (self._again or point.error or not columns <= set(point.figures))
        }
        self.audits.measure_again(stale)
        missing = self.audits.missing(target)
        self.known += len(unit.points) - len(missing)
        if missing and unit.artefact is not None:
            self._work.append(PointsToMeasure(target, unit.artefact, missing))
        reference = self.audits.reference_job(
            PlannedReference(data, unit.seed, config), again=self._again
        )
        if reference is not None:
            self._references.append(reference)

    @property
    def estimate(self) -> float:
        """Seconds of work, on one core."""
        return sum(job.estimate for job in self._references) + sum(
            len(work.missing)
            * self.audits.seconds(
                work.target.config,
                work.target.data,
                work.target.method,
                stochastic=work.target.stochastic,
            )
            for work in self._work
        )

    @property
    def job_count(self) -> int:
        """Number of jobs that measure them."""
        chunks = sum(len(points_per_job(len(work.missing))) for work in self._work)
        return len(self._references) + chunks

    def to_measure(self) -> set[str]:
        """Keys of the points to measure."""
        return {point.key for work in self._work for point in work.missing}

    def begin(self, command: str) -> None:
        """Record the re-audit; ``command`` is what was typed."""
        config = {"again": self._again, "audit_version": AUDIT_VERSION}
        self.store.add_run(RunRecord(self.id, now(), command, config, versions()))

    def jobs(self) -> Iterator[Job]:
        """All jobs; whether a representation is whole is seen when its turn has come."""
        yield from self._references
        for work in self._work:
            if files.load(self.results, work.artefact) is None:
                self.summary.gone.add(work.target.unit)
            else:
                stored = StoredArrays(self.results, work.artefact)
                yield from self.audits.jobs(work.target, work.missing, stored)

    def is_settled(self, job: Job) -> bool:
        assert not isinstance(job, FitJob)
        return self.audits.is_settled(job)

    def remaining_jobs(self, job: Job) -> list[Job]:
        assert not isinstance(job, FitJob)
        remaining, _ = self.audits.remaining_jobs(job)
        if isinstance(job, AuditJob):
            left = {key for other in remaining for key in other.claimed}
            self.summary.elsewhere |= set(job.keys) - left
        return remaining

    def finish(self, job: Job, result: Any) -> list[Job]:
        self.audits.finish(result)
        if isinstance(job, AuditJob):
            self.summary.measured.update(job.keys)
        return []

    def fail(self, event: Failed) -> list[Job]:
        parts = self.audits.fail(event)
        if not parts:
            self.summary.failures.append(Failure(event.job.title, event.status, event.error))
        return parts


def plain_columns(metrics: Sequence[type[Metric]], *, tasks: bool) -> set[str]:
    """Columns that every measured point has; those by task only where there is one."""
    columns: set[str] = set()
    for declared in map(declared_columns, metrics):
        if tasks or not declared.starts:
            columns.update(declared.plain)
    return columns


def lacks_rows(unit: UnitRecord, data: Prepared, audit: AuditPreset | None) -> bool:
    """Whether the representation of a unit has fewer rows than the audit that is asked for.

    The quick budget encodes only the rows that the quick audit looks at. A stricter audit would
    measure points on these, and x, by which curves are scaled, on all.
    """
    quick = unit.budget == AuditPreset.QUICK.value and is_larger(
        data, PRESETS[AuditPreset.QUICK].rows
    )
    return quick and audit not in (None, AuditPreset.QUICK)


def _presets(
    unit: UnitRecord, points: Sequence[PointRecord], requested: AuditPreset | None
) -> list[AuditPreset]:
    """How to audit a unit's points: as requested, else as they were, else as its budget says."""
    if requested is not None:
        return [requested]
    had = sorted({point.audit for point in points})
    return [AuditPreset(name) for name in had or [unit.usual_audit]]
