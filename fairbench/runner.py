"""Drive a run: plan, execute what the store lacks, write what comes back."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from fairbench import artefacts, checkpoints
from fairbench.api import Metric
from fairbench.auditing.config import AuditConfig
from fairbench.config import Rerun, RunConfig
from fairbench.cost import versions
from fairbench.estimate import audit_seconds, fit_seconds
from fairbench.executors.base import Broke, Elsewhere, Event, Executor, Finished, Started
from fairbench.jobs import AuditJob, FitJob, Job, PointResult, ReferenceJob, UnitResult
from fairbench.plan import Plan, PlannedUnit, bytes_of, point_key, stacks
from fairbench.registry import Registry
from fairbench.seeds import derive_seed
from fairbench.sizing import device_memory, gpu_share
from fairbench.status import Status
from fairbench.store import Row, Store, now
from fairbench.versions import AUDIT_VERSION, PROTOCOL_VERSION

POINTS_A_JOB = 3
"""Points audited by one job: few, so that no core idles at the end; not one, for the start-up."""


@dataclass
class Summary:
    """What a run did."""

    done: int = 0
    reused: int = 0
    broken: list[tuple[str, Status, str]] = field(default_factory=list)


class Run:
    """One run against a store.

    Parameters
    ----------
    config : RunConfig
    registry : Registry
    plan : Plan
    store : Store
    device : str
        ``cpu`` or ``cuda``, resolved.
    """

    def __init__(
        self, config: RunConfig, registry: Registry, plan: Plan, store: Store, device: str
    ) -> None:
        self.config, self.plan, self.store, self.device = config, plan, store, device
        self.metrics: tuple[type[Metric], ...] = tuple(
            m for m in registry.metrics.classes.values() if m.level == "point"
        )
        self.memory = device_memory(device)
        self.id = uuid.uuid4().hex
        self.by_key = {planned.key: planned for planned in plan.units}
        self.summary = Summary()
        self._kept: set[str] = set()
        self._wanted: dict[str, list[PlannedUnit]] = {}
        self._rows: dict[str, Row] = {}
        self._units = {row["key"]: row for row in store.rows("units")}
        self._points = store.statuses("points")
        self._references = store.statuses("references")

    # ---- what is missing -------------------------------------------------------------------

    def jobs(self) -> list[Job]:
        """Jobs that can start now: references, missing fits, and audits of what is fitted."""
        to_fit = [planned for planned in self.plan.units if self._must_fit(planned)]
        fits = self._fit_jobs(to_fit)
        fitting = {planned.key for planned in to_fit}
        audits: list[Job] = []
        for planned in self.plan.units:
            if planned.key not in fitting and planned.skipped is None:
                audits += self._audit_jobs(planned, self._units[planned.key])
        skipped = sum(1 for planned in self.plan.units if planned.skipped)
        self.summary.reused = len(self.plan.units) - len(fitting) - skipped
        return [*fits, *self._reference_jobs(), *audits]

    def _must_fit(self, planned: PlannedUnit) -> bool:
        row = self._units.get(planned.key)
        if planned.skipped is not None:
            return False
        if row is None or self.config.rerun is Rerun.ALL:
            return True
        status = Status(row["status"])
        if status is not Status.DONE:
            return not status.bad or self.config.rerun is Rerun.FAILED
        # Fitted; its representations are needed again only if a point is still to be audited.
        # A damaged file is as good as none.
        missing = self._missing_points(planned, row)
        return bool(missing) and artefacts.load(self.config.results, row["artefact"]) is None

    def _missing_points(self, planned: PlannedUnit, row: Row) -> list[tuple[int, str, str]]:
        """Number, label and key of points without a result."""
        missing = []
        for number, point in enumerate(row["read_points"] or []):
            key = point_key(planned.key, point["label"], planned.budget.audit)
            status = self._points.get(key)
            retried = self.config.rerun is Rerun.FAILED
            if status is not Status.DONE and (status is None or not status.bad or retried):
                missing.append((number, point["label"], key))
        return missing

    def earlier_failures(self) -> list[tuple[str, Status, str]]:
        """Failures that this request would meet again and does not retry: title, status, error."""
        found: list[tuple[str, Status, str]] = []
        if self.config.rerun is not None:
            return found
        for planned in self.plan.units:
            row = self._units.get(planned.key)
            if row is None:
                continue
            if Status(row["status"]).bad:
                found.append((_title(planned), Status(row["status"]), row["error"] or ""))
            for point in row["read_points"] or ():
                key = point_key(planned.key, point["label"], planned.budget.audit)
                status = self._points.get(key)
                if status is not None and status.bad:
                    found.append((f"audit of {_title(planned)}", status, point["label"]))
        return found

    def skipped(self) -> list[tuple[str, str]]:
        """What a method does not support: title and reason, one a method and dataset."""
        found = {(u.method.name, u.data.info.name): u.skipped for u in self.plan.units if u.skipped}
        return [(f"{method} on {data}", reason) for (method, data), reason in found.items()]

    def _stacks(self, to_fit: Sequence[PlannedUnit]) -> list[list[PlannedUnit]]:
        """Stacks as recorded by an interrupted run, so that a resumed one is bitwise the same.

        Where one model is wanted because its file is damaged, its whole stack trains again: sums in
        floating point depend on what a model is stacked with.
        """
        recorded: dict[str, list[PlannedUnit]] = {}
        fresh = []
        for planned in to_fit:
            row = self._units.get(planned.key)
            packing = row["packing"] if row else None
            if row and packing and not Status(row["status"]).bad and self._knows(packing):
                recorded["\x1f".join(packing)] = [self.by_key[key] for key in packing]
            elif packing:
                recorded.setdefault("\x1f".join(packing), []).append(planned)
            else:
                fresh.append(planned)
        return [*recorded.values(), *stacks(fresh, self.device, self.memory)]

    def _knows(self, packing: Sequence[str]) -> bool:
        """Whether all of a stack is of this request, and none of it failed."""
        for key in packing:
            row = self._units.get(key)
            if key not in self.by_key or (row is not None and Status(row["status"]).bad):
                return False
        return True

    # ---- jobs ------------------------------------------------------------------------------

    def _fit_jobs(self, to_fit: Sequence[PlannedUnit]) -> list[Job]:
        """Jobs that train what is wanted, the longest first."""
        wanted = {planned.key for planned in to_fit}
        jobs: list[Job] = []
        for stack in self._stacks(to_fit):
            job = self._fit_job(stack)
            self._wanted[job.id] = [planned for planned in stack if planned.key in wanted]
            jobs.append(job)
        return sorted(jobs, key=lambda job: -job.estimate)

    def _fit_job(self, stack: Sequence[PlannedUnit]) -> FitJob:
        first = stack[0]
        models = f"{len(stack)} models" if len(stack) > 1 else "1 model"
        return FitJob(
            id=uuid.uuid4().hex,
            title=f"fit {first.method.name} on {first.data.info.name} ({models})",
            estimate=fit_seconds(first.method, len(stack), first.budget, self._units.values()),
            point_estimate=audit_seconds(first.budget.audit),
            method=first.method,
            params=first.params,
            data=first.data,
            keys=tuple(planned.key for planned in stack),
            units=tuple(planned.unit for planned in stack),
            iterations=first.budget.iterations,
            device=self.device,
            curve_points=first.curve_points,
            timeout=self.config.timeout,
            audits=tuple(
                key
                for planned in stack
                if (row := self._units.get(planned.key)) is not None
                for _, _, key in self._missing_points(planned, row)
            ),
            gpus=self._gpus(stack),
            checkpoint=checkpoints.path_of(
                self.config.results, [planned.key for planned in stack], self.device
            ),
            checkpoint_every=self.config.checkpoint_every,
        )

    def _gpus(self, stack: Sequence[PlannedUnit]) -> float:
        """The share of a GPU that a stack needs; nothing on the CPU."""
        if not self.memory:
            return 0.0
        return gpu_share(bytes_of(stack, stack[0].data), min(total for _, total in self.memory))

    def _audit_jobs(self, planned: PlannedUnit, row: Row) -> list[Job]:
        missing = self._missing_points(planned, row)
        arrays = artefacts.load(self.config.results, row["artefact"]) if missing else None
        return [] if arrays is None else self._audit_jobs_of(planned, missing, arrays)

    def _audit_jobs_of(
        self,
        planned: PlannedUnit,
        missing: Sequence[tuple[int, str, str]],
        arrays: Mapping[str, np.ndarray],
    ) -> list[Job]:
        jobs: list[Job] = []
        for start in range(0, len(missing), POINTS_A_JOB):
            chunk = missing[start : start + POINTS_A_JOB]
            wanted = {str(number) for number, _, _ in chunk}
            label = chunk[0][1] if len(chunk) == 1 else f"{len(chunk)} points from {chunk[0][1]}"
            name = planned.method.name
            row, seed = self._units[planned.key], planned.unit.seed
            for number, _, key in chunk:
                self._rows[key] = self._point_row(planned, row, number, key)
            jobs.append(
                AuditJob(
                    id=uuid.uuid4().hex,
                    title=f"audit {name} on {planned.data.info.name}, seed {seed} ({label})",
                    estimate=audit_seconds(planned.budget.audit) * len(chunk),
                    data=planned.data.audited(),
                    keys=tuple(key for _, _, key in chunk),
                    seeds=tuple(
                        derive_seed("audit", name, planned.unit.seed, label)
                        for _, label, _ in chunk
                    ),
                    numbers=tuple(number for number, _, _ in chunk),
                    arrays={k: a for k, a in arrays.items() if k.split("/")[0] in wanted},
                    config=planned.budget.audit,
                    metrics=self.metrics,
                )
            )
        return jobs

    def _reference_jobs(self) -> list[Job]:
        jobs: list[Job] = []
        for key, (data, seed, audit) in self.plan.references.items():
            status = self._references.get(key)
            if status is not Status.DONE or self.config.rerun is Rerun.ALL:
                jobs.append(
                    ReferenceJob(
                        id=uuid.uuid4().hex,
                        title=f"audit x itself on {data.info.name}, seed {seed}",
                        estimate=audit_seconds(audit),
                        data=data.audited(),
                        key=key,
                        seed=derive_seed("reference", seed),
                        config=audit,
                    )
                )
        return jobs

    # ---- execution -------------------------------------------------------------------------

    def execute(
        self,
        jobs: Sequence[Job],
        executor: Executor,
        observe: Callable[[Event], None],
        command: str,
    ) -> None:
        """Run jobs, and the audits that follow from fits, writing results as they come."""
        self.summary.broken += self.earlier_failures()
        self.store.add_run(
            {
                "id": self.id,
                "started": now(),
                "command": command,
                "config": self.config.model_dump(mode="json"),
                "versions": versions(),
            }
        )
        self._write_planned(jobs)
        for job in jobs:
            executor.submit(job)
        for event in executor.events():
            if isinstance(event, Started) and isinstance(event.job, FitJob):
                self._mark_running(event.job)
            elif isinstance(event, Finished):
                for job in self._finish(event.job, event.result):
                    executor.submit(job)
            elif isinstance(event, Broke):
                self._break(event)
            elif isinstance(event, Elsewhere):
                for job in self._left_of(event.job):
                    executor.submit(job)
            observe(event)

    def _write_planned(self, jobs: Sequence[Job]) -> None:
        """Write units as PENDING with their packing before anything starts.

        What is DONE and trained again keeps its old result until there is a new one; what another
        run wrote since this one looked is left alone.
        """
        rows = [u.row(self.id) for u in self.plan.units if u.skipped and u.key not in self._units]
        for job in jobs:
            if isinstance(job, FitJob):
                for planned in self._wanted[job.id]:
                    row = planned.row(self.id) | {"packing": list(job.keys)}
                    old = self._units.get(planned.key)
                    if old is not None and old["status"] == Status.DONE:
                        self._kept.add(planned.key)
                    else:
                        rows.append(row)
                    self._units[planned.key] = row
        self.store.add("units", rows)

    # ---- other runs on the same store --------------------------------------------------------

    def settled(self, job: Job) -> bool:
        """Whether another run did some of a job since this one planned it."""
        if self.config.rerun is Rerun.ALL:
            return False
        if isinstance(job, ReferenceJob):
            found = self.store.find("references", [job.key])
            return any(row["status"] == Status.DONE for row in found.values())
        planned = self._planned_of(job)
        self._points = self.store.statuses("points")
        if isinstance(job, AuditJob):
            return len(self._still_missing(job)) < len(job.keys)
        before = {unit.key: self._units[unit.key] for unit in planned}
        self._units |= self.store.find("units", list(before))
        for unit in planned:
            # Trained by a run that keeps its file elsewhere, and audits it: that is to be waited
            # for, by claiming its points as well.
            missing = self._missing_points(unit, self._units[unit.key])
            if not self._must_fit(unit) or any(key not in job.audits for _, _, key in missing):
                return True
        self._units |= before
        return False

    def _left_of(self, job: Job) -> list[Job]:
        """What is left to do of a job that another run did some of."""
        if isinstance(job, ReferenceJob):
            return []
        if isinstance(job, AuditJob):
            (unit,) = self._planned_of(job)
            for key in job.keys:
                if (status := self._points.get(key)) is not None and status.bad:
                    self.summary.broken.append((job.title, status, "in another run"))
            return self._audit_jobs_of(unit, self._still_missing(job), job.arrays)
        jobs: list[Job] = []
        to_fit = []
        for unit in self._planned_of(job):
            row = self._units[unit.key]
            if self._must_fit(unit):
                to_fit.append(unit)
            elif Status(row["status"]).bad:
                self.summary.broken.append((_title(unit), Status(row["status"]), row["error"]))
            else:
                self.summary.reused += 1
                jobs += self._audit_jobs(unit, row)
        fits = self._fit_jobs(to_fit)
        self._write_planned(fits)
        return [*fits, *jobs]

    def _planned_of(self, job: FitJob | AuditJob) -> list[PlannedUnit]:
        if isinstance(job, FitJob):
            return self._wanted[job.id]
        return [self.by_key[self._rows[job.keys[0]]["unit"]]]

    def _still_missing(self, job: AuditJob) -> list[tuple[int, str, str]]:
        (unit,) = self._planned_of(job)
        missing = self._missing_points(unit, self._units[unit.key])
        return [found for found in missing if found[2] in job.keys]

    def _mark_running(self, job: FitJob) -> None:
        running = {"status": Status.RUNNING.value}
        keys = [planned.key for planned in self._wanted[job.id]]
        rows = [self._units[key] | running for key in keys if key not in self._kept]
        self.store.put("units", rows)

    def _finish(self, job: Job, result: object) -> list[Job]:
        if isinstance(job, FitJob):
            assert isinstance(result, list)
            wanted = {planned.key for planned in self._wanted[job.id]}
            follow = self._finish_units([unit for unit in result if unit.key in wanted])
            if job.checkpoint is not None:
                checkpoints.drop(job.checkpoint)
            return follow
        if isinstance(job, AuditJob):
            assert isinstance(result, list)
            self._finish_points(result)
            return []
        assert isinstance(result, tuple)
        self._put_reference(job, Status.DONE, values=result[0], seconds=result[1])
        return []

    def _finish_units(self, results: Sequence[UnitResult]) -> list[Job]:
        """Write a whole stack in one transaction: a part of one would be resumed as another."""
        units, points, follow = [], [], []
        for result in results:
            planned = self.by_key[result.key]
            if result.status is not Status.DONE:
                error = result.error or ""
                units.append(self._broken_unit(planned, result.status, error, result.traceback))
                continue
            row, missing = self._finish_unit(planned, result)
            units.append(row)
            points += [self._point_row(planned, row, n, key) for n, _, key in missing]
            follow += self._audit_jobs_of(planned, missing, result.arrays)
        self.store.put_all({"units": units, "points": points})
        return follow

    def _finish_unit(
        self, planned: PlannedUnit, result: UnitResult
    ) -> tuple[Row, list[tuple[int, str, str]]]:
        """The row of a fitted unit, and which of its points are to be audited."""
        row = self._units[result.key] | {
            "status": Status.DONE.value,
            "error": None,
            "traceback": None,
            "read_points": [{"label": p.label, "knobs": dict(p.values)} for p in result.points],
            "costs": dict(result.costs),
            "hardware": dict(result.hardware),
            "versions": dict(result.versions),
            "artefact": artefacts.save(self.config.results, result.arrays),
            "finished": now(),
        }
        self._units[result.key] = row
        if self.config.rerun is Rerun.ALL:
            # Everything measured of the old model is of the past.
            for point in row["read_points"]:
                key = point_key(result.key, point["label"], planned.budget.audit)
                self._points.pop(key, None)
        self.summary.done += 1
        return row, self._missing_points(planned, row)

    def _point_row(self, planned: PlannedUnit, row: Row, number: int, key: str) -> Row:
        point = row["read_points"][number]
        audit: AuditConfig = planned.budget.audit
        return {
            "key": key,
            "unit": planned.key,
            "number": number,
            "status": Status.PENDING.value,
            "error": None,
            "traceback": None,
            "label": point["label"],
            "knobs": point["knobs"],
            "audit": audit.preset.value,
            "audit_config": audit.as_dict(),
            "values": None,
            "auditors": None,
            "seconds": None,
            "finished": None,
            "audit_version": AUDIT_VERSION,
            "replicates": None,
        }

    def _finish_points(self, results: Sequence[PointResult]) -> None:
        rows = [
            self._rows[result.key]
            | {
                "status": Status.DONE.value,
                "error": None,
                "traceback": None,
                "values": dict(result.values),
                "auditors": [dict(auditor) for auditor in result.auditors],
                "seconds": result.seconds,
                "finished": now(),
            }
            for result in results
        ]
        self.store.put("points", rows)

    # ---- failures --------------------------------------------------------------------------

    def _break(self, event: Broke) -> None:
        job = event.job
        if isinstance(job, FitJob):
            rows = [
                self._broken_unit(planned, event.status, event.error, event.traceback)
                for planned in self._wanted[job.id]
            ]
            self.store.put("units", rows)
            # What was killed may go on with more time or memory; what raised would raise again.
            if event.status is Status.FAILED and job.checkpoint is not None:
                checkpoints.drop(job.checkpoint)
        elif isinstance(job, AuditJob):
            self.summary.broken.append((job.title, event.status, event.error))
            change = {
                "status": event.status.value,
                "error": event.error,
                "traceback": event.traceback,
                "finished": now(),
            }
            self.store.put("points", [self._rows[key] | change for key in job.keys])
        else:
            self.summary.broken.append((job.title, event.status, event.error))
            self._put_reference(job, event.status, error=event.error, traceback=event.traceback)

    def _broken_unit(
        self, planned: PlannedUnit, status: Status, error: str, traceback: str | None
    ) -> Row:
        """The row of a unit that gave nothing."""
        self.summary.broken.append((_title(planned), status, error))
        row = self._units[planned.key]
        change = {"status": status.value, "error": error, "traceback": traceback}
        self._units[planned.key] = row | change | {"finished": now()}
        return self._units[planned.key]

    def _put_reference(
        self,
        job: ReferenceJob,
        status: Status,
        *,
        values: Mapping[str, float] | None = None,
        seconds: float | None = None,
        error: str | None = None,
        traceback: str | None = None,
    ) -> None:
        _, seed, audit = self.plan.references[job.key]
        row = {
            "key": job.key,
            "status": status.value,
            "error": error,
            "traceback": traceback,
            "dataset": job.data.info.name,
            "fingerprint": job.data.fingerprint,
            "protocol": PROTOCOL_VERSION,
            "seed": seed,
            "audit": audit.preset.value,
            "values": dict(values) if values is not None else None,
            "seconds": seconds,
            "finished": now(),
            "audit_version": AUDIT_VERSION,
            "replicates": None,
        }
        self.store.put("references", [row])


def _title(planned: PlannedUnit) -> str:
    point = f", {planned.unit.point.label}" if planned.unit.point else ""
    return f"{planned.method.name} on {planned.data.info.name}, seed {planned.unit.seed}{point}"
