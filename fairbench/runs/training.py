"""A training run: what the store lacks of a plan, as jobs, and what becomes of them."""

from __future__ import annotations

import copy
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from fairbench.config import Rerun, RunConfig
from fairbench.errors import UnstorableError
from fairbench.leaderboard.select import USED
from fairbench.registry import Registry
from fairbench.runs.audit_job import StoredArrays
from fairbench.runs.audits import AuditLedger, point_metrics
from fairbench.runs.cost import versions
from fairbench.runs.declared import declared
from fairbench.runs.driver import JobSource
from fairbench.runs.estimate import fit_seconds
from fairbench.runs.executors.base import Failed
from fairbench.runs.failures import Failure
from fairbench.runs.fit_job import FitJob
from fairbench.runs.isolation import Isolation
from fairbench.runs.job import Job
from fairbench.runs.plan import Plan, PlannedUnit, bytes_of_models, bytes_of_rows
from fairbench.runs.unit_ledger import UnitLedger
from fairbench.runs.unit_result import UnitResult
from fairbench.store import encoders, files
from fairbench.store.database import Store, now
from fairbench.store.records import TRIAL, PointRecord, ReadPoint, RunRecord, UnitRecord
from fairbench.store.status import Status
from fairbench.training import checkpoint_files
from fairbench.training.stack_size import free_device_bytes, gpu_share

_CHECKPOINTS_IN_LIMIT = 4
"""Checkpoints at least within a limit of time (``--timeout``)."""


@dataclass
class RunSummary:
    """What a run did; ``done`` and ``reused`` count units trained now and taken from the store."""

    done: int = 0
    reused: int = 0
    failures: list[Failure] = field(default_factory=list)
    not_stored: list[tuple[str, str]] = field(default_factory=list)
    """Title and error of units whose encoder could not be stored."""


class TrainingRun(JobSource):
    """One run of a plan against a store, on the device ``cpu`` or ``cuda``.

    Leaderboards leave the units of a ``trial`` of a search out until a run needs them too.
    ``isolation``: of a verification, which trains where there are the training rows alone. It
    measures the points that it has drawn; of a unit that gives other codes than before, others are
    not measured anew.
    """

    def __init__(
        self,
        config: RunConfig,
        registry: Registry,
        plan: Plan,
        store: Store,
        device: str,
        *,
        trial: bool = False,
        isolation: Isolation | None = None,
    ) -> None:
        self.config, self.plan, self.store, self.device = config, plan, store, device
        self.results = config.results
        self.free_bytes = free_device_bytes(device)
        self.id = (TRIAL if trial else "") + uuid.uuid4().hex
        self.summary = RunSummary()
        self.audits = AuditLedger(
            store, point_metrics(registry), retry=config.rerun is Rerun.FAILED
        )
        self.units = UnitLedger(plan, store, self.audits, config, run=self.id, trial=trial)
        self._is_trial, self._isolation = trial, isolation
        self._fits: dict[str, list[PlannedUnit]] = {}
        self._planned = self._plan_jobs()

    def jobs(self) -> list[Job]:
        """Jobs that can start now: missing fits, references, and audits of what is fitted."""
        return self._planned

    def _plan_jobs(self) -> list[Job]:
        to_fit = [planned for planned in self.plan.units if self.units.must_fit(planned)]
        fits = self._fit_jobs(to_fit)
        fitting = {planned.key for planned in to_fit}
        audits: list[Job] = []
        for planned in self.plan.units:
            if planned.key not in fitting and planned.skipped is None:
                audits += self._audit_jobs(planned)
                self.summary.reused += not self.units.records[planned.key].status.is_failure
        # References first: they are short, and estimate soft labels for all audits.
        return [*self._reference_jobs(), *fits, *audits]

    def methods_with_changed_code(self) -> list[str]:
        """Methods whose code has changed since their stored models were trained."""
        codes: dict[tuple[object, ...], set[str]] = {}
        for unit in self.units.records.values():
            if unit.done and unit.origin is None:
                codes.setdefault(unit.training_identity, set()).add(unit.code)
        fresh = (planned.record("") for planned in self.plan.units if self.units.must_fit(planned))
        return sorted(
            {u.method for u in fresh if u.code not in codes.get(u.training_identity, {u.code})}
        )

    def skipped(self) -> list[tuple[str, str]]:
        """Title and reason of what a method does not support, one per method and dataset."""
        reasons = {
            (unit.method.name, unit.data.info.name): unit.skipped
            for unit in self.plan.units
            if unit.skipped
        }
        return [(f"{method} on {data}", reason) for (method, data), reason in reasons.items()]

    def _fit_jobs(self, to_fit: Sequence[PlannedUnit]) -> list[FitJob]:
        """Jobs that train some units, the longest first."""
        keys = {planned.key for planned in to_fit}
        past: dict[tuple[str, str], list[UnitRecord]] = {}
        for unit in self.units.records.values():
            past.setdefault((unit.method, unit.dataset), []).append(unit)
        jobs = []
        for stack in self.units.stacks(to_fit, self.device, self.free_bytes):
            needed = [planned for planned in stack if planned.key in keys]
            alike = (stack[0].method.name, stack[0].data.info.name)
            job = self._fit_job(stack, needed, past.get(alike, ()))
            self._fits[job.id] = needed
            jobs.append(job)
        return sorted(jobs, key=lambda job: -job.estimate)

    def _fit_job(
        self,
        stack: Sequence[PlannedUnit],
        needed: Sequence[PlannedUnit],
        past: Sequence[UnitRecord],
    ) -> FitJob:
        first = stack[0]
        models = f"{len(stack)} models" if len(stack) > 1 else "1 model"
        keys = tuple(planned.key for planned in stack)
        device = first.method.device(self.device)
        return FitJob(
            id=uuid.uuid4().hex,
            title=f"fit {first.method.name} on {first.data.title} ({models})",
            estimate=fit_seconds(
                first.method(first.params),
                len(stack),
                first.budget,
                first.data,
                [unit for unit in past if (unit.hardware or {}).get("device") == device],
                points=len(stack) * (first.curve_points or 1),
            ),
            point_estimate=self.audits.seconds(
                first.budget.audit,
                first.data,
                first.method.name,
                stochastic=declared(first.method).stochastic,
            ),
            method=first.method,
            declared=declared(first.method),
            params=first.params,
            data=first.data,
            keys=keys,
            units=tuple(planned.unit for planned in stack),
            iterations=first.budget.iterations,
            device=device,
            curve_points=first.curve_points,
            timeout=self.config.timeout,
            audits=self.units.points_to_audit(needed),
            detailed=frozenset(planned.key for planned in stack if planned.detailed),
            rows=first.budget.audit.rows,
            gpus=self._gpus(stack),
            checkpoint=checkpoint_files.path_of(self.config.results, keys, device),
            checkpoint_every=self._checkpoint_every(),
            isolation=self._isolation,
        )

    def _checkpoint_every(self) -> float:
        """Seconds between checkpoints; several within a limit of time, so that a retry goes on."""
        every, limit = self.config.checkpoint_every, self.config.timeout
        return every if limit is None else min(every, limit / _CHECKPOINTS_IN_LIMIT)

    def _gpus(self, stack: Sequence[PlannedUnit]) -> float:
        """The share of a GPU's free memory that a stack needs, as others may use the rest of it."""
        if not self.free_bytes or not stack[0].method.uses_gpu:
            return 0.0
        needed = bytes_of_models(stack) + bytes_of_rows(stack[0].data)
        return gpu_share(needed, min(self.free_bytes))

    def _audit_jobs(self, planned: PlannedUnit) -> list[Job]:
        missing = self.units.missing_points(planned)
        unit = self.units.records[planned.key]
        if not missing or unit.artefact is None or self.units.representations(unit) is None:
            return []
        arrays = StoredArrays(self.results, unit.artefact)
        return self.audits.jobs(self.units.target(planned), missing, arrays)

    def _reference_jobs(self) -> list[Job]:
        again = self.config.rerun is Rerun.ALL
        jobs = [
            self.audits.reference_job(reference, again=again) for reference in self.plan.references
        ]
        return [job for job in jobs if job is not None]

    def begin(self, command: str) -> None:
        """Record the run and what it is going to do; ``command`` is what was typed."""
        self.summary.failures += [
            Failure(title, Status.FAILED, error) for title, error in self.plan.failed.items()
        ]
        self.summary.failures += self.units.earlier_failures()
        config = self.config.model_dump(mode="json")
        if not self._is_trial:
            records = [planned.record(self.id) for planned in self.plan.units]
            used = {value for record in records for value in (record.fingerprint, record.code)}
            config[USED] = sorted(used)
        self.store.add_run(RunRecord(self.id, now(), command, config, versions()))
        checkpoint_files.make_folder(self.config.results)
        self.units.adopt(self.plan.units)
        self._write_planned([job for job in self._planned if isinstance(job, FitJob)])

    def start(self, job: Job) -> None:
        if isinstance(job, FitJob):
            self.units.write_running(self._fits[job.id])

    def finish(self, job: Job, result: Any) -> list[Job]:
        if not isinstance(job, FitJob):
            self.audits.finish(result)
            return []
        keys = {planned.key for planned in self._fits[job.id]}
        follow = self._finish_units([unit for unit in result if unit.key in keys])
        # What ran out of memory may go on with more.
        if all(unit.status is not Status.OOM for unit in result):
            checkpoint_files.drop(job.checkpoint)
        return follow

    def fail(self, event: Failed) -> list[Job]:
        job = event.job
        if not isinstance(job, FitJob):
            parts = self.audits.fail(event)
            if not parts:
                stands = self.audits.stands(job)
                self.summary.failures.append(
                    Failure(
                        job.title,
                        event.status,
                        event.error,
                        traceback=event.traceback,
                        earlier_stands=stands,
                    )
                )
            return parts
        broken: list[UnitRecord] = []
        # Searches count what failed, too. Of a job that died nothing but the time is known.
        costs = {"processor_seconds": event.seconds / len(job.keys)}
        for planned in self._fits[job.id]:
            broken += self._record_failure(
                planned, event.status, event.error, event.traceback, costs
            )
        self.store.put(broken)
        # What was killed may go on with more time or memory; what raised would raise again.
        if event.status is Status.FAILED:
            checkpoint_files.drop(job.checkpoint)
        return []

    def is_settled(self, job: Job) -> bool:
        if self.config.rerun is Rerun.ALL:
            if isinstance(job, FitJob):
                # Here, before it is first submitted: restarted, a job goes on with its checkpoint.
                checkpoint_files.drop(job.checkpoint)
            return False
        if not isinstance(job, FitJob):
            return self.audits.is_settled(job)
        planned = self._fits[job.id]
        before = {unit.key: self.units.records[unit.key] for unit in planned}
        # Twice: searches drop what they have measured, so what is gone is measured by now.
        for _ in range(2):
            self.units.refresh(list(before))
            fitted = any(not self.units.must_fit(unit) for unit in planned)
            # What another run fitted where this one cannot read it, that one audits.
            if fitted or self.units.points_to_audit(planned) != job.audits:
                return True
        self.units.records |= before
        return False

    def remaining_jobs(self, job: Job) -> list[Job]:
        if not isinstance(job, FitJob):
            remaining, bad = self.audits.remaining_jobs(job)
            self.summary.failures += [
                Failure(job.title, status, "in another run") for status in bad
            ]
            return remaining
        jobs: list[Job] = []
        to_fit, fitted = [], []
        for planned in self._fits[job.id]:
            if self.units.must_fit(planned):
                to_fit.append(planned)
                continue
            fitted.append(planned)
            unit = self.units.records[planned.key]
            if unit.status.is_failure:
                self.summary.failures.append(planned.failure(unit.status, unit.error or ""))
            else:
                self.summary.reused += 1
                jobs += self._audit_jobs(planned)
        self.units.adopt(fitted)
        fits = self._fit_jobs(to_fit)
        self._write_planned(fits)
        return [*fits, *jobs]

    def _write_planned(self, fits: Sequence[FitJob]) -> None:
        self.units.write_planned(
            [(planned, job.keys) for job in fits for planned in self._fits[job.id]]
        )

    def _finish_units(self, results: Sequence[UnitResult]) -> list[Job]:
        """Write a whole stack in one transaction: a part of one would be resumed as another."""
        before = {result.key: self.units.records[result.key] for result in results}
        summary = copy.deepcopy(self.summary)
        records: list[UnitRecord | PointRecord] = []
        follow: list[Job] = []
        retrained: list[str] = []
        # Points that are examined closely take longest: begun first, they do not end alone.
        for result in sorted(results, key=lambda one: not self.units.by_key[one.key].detailed):
            planned = self.units.by_key[result.key]
            if result.status is not Status.DONE:
                error = result.error or ""
                records += self._record_failure(
                    planned, result.status, error, result.traceback, result.costs
                )
                continue
            unit = self._finish_unit(planned, result)
            if self._isolation is None and self.units.is_another_model(unit):
                # Everything measured of the old model is of the past, and deleted with it.
                retrained.append(unit.key)
                self.audits.forget(self.units.target(planned))
            missing = self.units.missing_points(planned)
            target = self.units.target(planned)
            records.append(unit)
            records += [self.audits.record(target, point) for point in missing]
            arrays = StoredArrays(self.results, str(unit.artefact))
            follow += self.audits.jobs(target, missing, arrays)
        try:
            self.store.put(records, retrained=retrained)
        except UnstorableError:
            self.units.records |= before
            self.summary = summary
            raise
        return follow

    def _finish_unit(self, planned: PlannedUnit, result: UnitResult) -> UnitRecord:
        """The record of a fitted unit."""
        content = None if self._is_trial else result.encoder
        unit = self.units.records[result.key].replace(
            status=Status.DONE,
            error=None if result.not_stored is None else f"encoder not kept: {result.not_stored}",
            traceback=None,
            read_points=tuple(ReadPoint(p.label, dict(p.values)) for p in result.points),
            costs=self.units.total_costs(result.key, result.costs),
            hardware=dict(result.hardware),
            versions=dict(result.versions),
            artefact=files.save(self.config.results, result.arrays),
            encoder=encoders.save(self.config.results, content) if content else None,
            finished=now(),
        )
        self.units.records[result.key] = unit
        self.summary.done += 1
        if result.not_stored is not None:
            self.summary.not_stored.append((planned.title, result.not_stored))
        return unit

    def _record_failure(
        self,
        planned: PlannedUnit,
        status: Status,
        error: str,
        traceback: str | None,
        costs: Mapping[str, float],
    ) -> list[UnitRecord]:
        """The record of a unit that gave nothing, unless an earlier result of it stands."""
        records = self.units.make_failure_record(planned, status, error, traceback, costs)
        failure = planned.failure(status, error, traceback, earlier_stands=not records)
        self.summary.failures.append(failure)
        return records
