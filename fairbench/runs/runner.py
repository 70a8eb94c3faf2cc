"""Drive a run: plan, execute what the store lacks, write what comes back."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from fairbench.config import Rerun, RunConfig
from fairbench.registry import Registry
from fairbench.runs.audits import Audits, Missing, Target, point_metrics
from fairbench.runs.cost import versions
from fairbench.runs.estimate import audit_seconds, fit_seconds
from fairbench.runs.executors.base import Broke, Elsewhere, Event, Executor, Finished, Started
from fairbench.runs.fit_job import FitJob, UnitResult
from fairbench.runs.job import Job
from fairbench.runs.plan import Plan, PlannedUnit, bytes_of, stacks
from fairbench.store import encoders
from fairbench.store import files as artefacts
from fairbench.store.database import TRIAL, Row, Store, now, of_a_trial
from fairbench.store.status import Status
from fairbench.training import checkpoint_files as checkpoints
from fairbench.training.stack_size import device_memory, gpu_share


@dataclass
class Summary:
    """What a run did."""

    done: int = 0
    reused: int = 0
    broken: list[tuple[str, Status, str]] = field(default_factory=list)
    not_kept: list[tuple[str, str]] = field(default_factory=list)


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
    trial : bool
        Whether a search asks: leaderboards leave its units out until a run asks for them too.
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
    ) -> None:
        self.config, self.plan, self.store, self.device = config, plan, store, device
        self._is_trial = trial
        self.memory = device_memory(device)
        self.id = (TRIAL if trial else "") + uuid.uuid4().hex
        self.by_key = {planned.key: planned for planned in plan.units}
        self.summary = Summary()
        self._kept: dict[str, Row] = {}
        self._wanted: dict[str, list[PlannedUnit]] = {}
        self._units = {row["key"]: row for row in store.rows("units")}
        self.audits = Audits(store, point_metrics(registry), retry=config.rerun is Rerun.FAILED)

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
        self.summary.reused = sum(
            planned.key not in fitting
            and planned.skipped is None
            and not Status(self._units[planned.key]["status"]).bad
            for planned in self.plan.units
        )
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

    def _missing_points(self, planned: PlannedUnit, row: Row) -> list[Missing]:
        return self.audits.missing(_target(planned), row["read_points"] or [])

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
                status = self.audits.status(_target(planned), point["label"])
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
            asked = [planned for planned in stack if planned.key in wanted]
            job = self._fit_job(stack, asked)
            self._wanted[job.id] = asked
            jobs.append(job)
        return sorted(jobs, key=lambda job: -job.estimate)

    def _fit_job(self, stack: Sequence[PlannedUnit], asked: Sequence[PlannedUnit]) -> FitJob:
        first = stack[0]
        models = f"{len(stack)} models" if len(stack) > 1 else "1 model"
        return FitJob(
            id=uuid.uuid4().hex,
            title=f"fit {first.method.name} on {first.data.info.name} ({models})",
            estimate=fit_seconds(
                first.method(first.params),
                len(stack),
                first.budget,
                first.data,
                self._units.values(),
            ),
            point_estimate=audit_seconds(first.budget.audit, first.data),
            method=first.method,
            params=first.params,
            data=first.data,
            keys=tuple(planned.key for planned in stack),
            units=tuple(planned.unit for planned in stack),
            iterations=first.budget.iterations,
            device=self.device,
            curve_points=first.curve_points,
            timeout=self.config.timeout,
            audits=self._points_to_audit(asked),
            gpus=self._gpus(stack),
            checkpoint=checkpoints.path_of(
                self.config.results, [planned.key for planned in stack], self.device
            ),
            checkpoint_every=self.config.checkpoint_every,
        )

    def _points_to_audit(self, planned: Sequence[PlannedUnit]) -> tuple[str, ...]:
        """Keys of the points of what has been fitted that are without a result."""
        return tuple(
            point.key
            for unit in planned
            if (row := self._units.get(unit.key)) is not None
            for point in self._missing_points(unit, row)
        )

    def _gpus(self, stack: Sequence[PlannedUnit]) -> float:
        """The share of a GPU that a stack needs; nothing on the CPU."""
        if not self.memory:
            return 0.0
        return gpu_share(bytes_of(stack, stack[0].data), min(total for _, total in self.memory))

    def _audit_jobs(self, planned: PlannedUnit, row: Row) -> list[Job]:
        missing = self._missing_points(planned, row)
        arrays = artefacts.load(self.config.results, row["artefact"]) if missing else None
        if arrays is None:
            return []
        return self.audits.jobs(_target(planned), row["read_points"], missing, arrays)

    def _reference_jobs(self) -> list[Job]:
        again = self.config.rerun is Rerun.ALL
        jobs = [
            self.audits.reference_job(data, seed, audit, again=again)
            for data, seed, audit in self.plan.references.values()
        ]
        return [job for job in jobs if job is not None]

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
        checkpoints.make_folder(self.config.results)
        self._adopt(self.plan.units)
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
                    old = self._units.get(planned.key)
                    row = planned.row(self._owner(old)) | {"packing": list(job.keys)}
                    if old is not None and old["status"] == Status.DONE:
                        self._kept[planned.key] = old
                    else:
                        rows.append(row)
                    self._units[planned.key] = row
        self.store.add("units", rows)

    # ---- other runs on the same store --------------------------------------------------------

    def settled(self, job: Job) -> bool:
        """Whether another run did some of a job since this one planned it."""
        if self.config.rerun is Rerun.ALL:
            return False
        if not isinstance(job, FitJob):
            return self.audits.settled(job)
        planned = self._wanted[job.id]
        before = {unit.key: self._units[unit.key] for unit in planned}
        # Twice: searches drop what they have measured, so what is gone is measured by now.
        for _ in range(2):
            self._units |= self.store.find("units", list(before))
            self.audits.refresh()
            fitted = any(not self._must_fit(unit) for unit in planned)
            # What another run fitted where this one cannot read it, that one audits.
            if fitted or self._points_to_audit(planned) != job.audits:
                return True
        self._units |= before
        return False

    def _left_of(self, job: Job) -> list[Job]:
        """What is left to do of a job that another run did some of."""
        if not isinstance(job, FitJob):
            left, bad = self.audits.left_of(job)
            self.summary.broken += [(job.title, status, "in another run") for status in bad]
            return left
        jobs: list[Job] = []
        to_fit, found = [], []
        for unit in self._wanted[job.id]:
            row = self._units[unit.key]
            if self._must_fit(unit):
                to_fit.append(unit)
                continue
            found.append(unit)
            if Status(row["status"]).bad:
                self.summary.broken.append((_title(unit), Status(row["status"]), row["error"]))
            else:
                self.summary.reused += 1
                jobs += self._audit_jobs(unit, row)
        self._adopt(found)
        fits = self._fit_jobs(to_fit)
        self._write_planned(fits)
        return [*fits, *jobs]

    def _owner(self, old: Row | None) -> str:
        """The run whose unit this is: a trial takes nothing from the run that asked before it."""
        if old is not None and self._is_trial and not of_a_trial(old):
            return str(old["run"])
        return self.id

    def _adopt(self, planned: Sequence[PlannedUnit]) -> None:
        """What a search has trained and this run asks for: from now on it is the run's."""
        if self._is_trial:
            return
        rows = [self._units[unit.key] for unit in planned if unit.key in self._units]
        adopted = {row["key"]: row | {"run": self.id} for row in rows if of_a_trial(row)}
        self.store.adopt(list(adopted), self.id)
        self._units |= adopted

    def _mark_running(self, job: FitJob) -> None:
        running = {"status": Status.RUNNING.value}
        keys = [planned.key for planned in self._wanted[job.id]]
        rows = [self._units[key] | running for key in keys if key not in self._kept]
        self.store.put("units", rows)

    def _finish(self, job: Job, result: object) -> list[Job]:
        if not isinstance(job, FitJob):
            self.audits.finish(job, result)
            return []
        assert isinstance(result, list)
        wanted = {planned.key for planned in self._wanted[job.id]}
        follow = self._finish_units([unit for unit in result if unit.key in wanted])
        if job.checkpoint is not None:
            checkpoints.drop(job.checkpoint)
        return follow

    def _finish_units(self, results: Sequence[UnitResult]) -> list[Job]:
        """Write a whole stack in one transaction: a part of one would be resumed as another."""
        units: list[Row] = []
        points: list[Row] = []
        follow: list[Job] = []
        for result in results:
            planned = self.by_key[result.key]
            if result.status is not Status.DONE:
                error = result.error or ""
                if broken := self._broken_unit(planned, result.status, error, result.traceback):
                    units.append(broken)
                continue
            row, missing = self._finish_unit(planned, result)
            units.append(row)
            target, read = _target(planned), row["read_points"]
            points += [self.audits.row(target, read, point) for point in missing]
            follow += self.audits.jobs(target, read, missing, result.arrays)
        self.store.put_all({"units": units, "points": points})
        return follow

    def _finish_unit(self, planned: PlannedUnit, result: UnitResult) -> tuple[Row, list[Missing]]:
        """The row of a fitted unit, and which of its points are to be audited."""
        row = self._units[result.key] | {
            "status": Status.DONE.value,
            "error": None if result.not_kept is None else f"encoder not kept: {result.not_kept}",
            "traceback": None,
            "read_points": [{"label": p.label, "knobs": dict(p.values)} for p in result.points],
            "costs": dict(result.costs),
            "hardware": dict(result.hardware),
            "versions": dict(result.versions),
            "artefact": artefacts.save(self.config.results, result.arrays),
            "encoder": self._keep_encoder(result),
            "finished": now(),
        }
        self._units[result.key] = row
        target, read = _target(planned), row["read_points"]
        if self.config.rerun is Rerun.ALL:
            # Everything measured of the old model is of the past.
            self.audits.forget(target, read)
        self.summary.done += 1
        if result.not_kept is not None:
            self.summary.not_kept.append((_title(planned), result.not_kept))
        return row, self.audits.missing(target, read)

    def _keep_encoder(self, result: UnitResult) -> str | None:
        """Write the trained encoder; those of a search's trials nobody asks for."""
        if result.encoder is None or self._is_trial:
            return None
        return encoders.keep(self.config.results, result.encoder)

    # ---- failures --------------------------------------------------------------------------

    def _break(self, event: Broke) -> None:
        job = event.job
        if isinstance(job, FitJob):
            rows = [
                row
                for planned in self._wanted[job.id]
                if (row := self._broken_unit(planned, event.status, event.error, event.traceback))
            ]
            self.store.put("units", rows)
            # What was killed may go on with more time or memory; what raised would raise again.
            if event.status is Status.FAILED and job.checkpoint is not None:
                checkpoints.drop(job.checkpoint)
        else:
            self.summary.broken.append((job.title, event.status, event.error))
            self.audits.broke(job, event)

    def _broken_unit(
        self, planned: PlannedUnit, status: Status, error: str, traceback: str | None
    ) -> Row | None:
        """The row of a unit that gave nothing; None where an earlier result of it stands."""
        self.summary.broken.append((_title(planned), status, error))
        if planned.key in self._kept:
            self._units[planned.key] = self._kept[planned.key]
            return None
        row = self._units[planned.key]
        change = {"status": status.value, "error": error, "traceback": traceback}
        self._units[planned.key] = row | change | {"finished": now()}
        return self._units[planned.key]


def _target(planned: PlannedUnit) -> Target:
    return Target(
        unit=planned.key,
        method=planned.method.name,
        seed=planned.unit.seed,
        data=planned.data,
        config=planned.budget.audit,
    )


def _title(planned: PlannedUnit) -> str:
    point = f", {planned.unit.point.label}" if planned.unit.point else ""
    return f"{planned.method.name} on {planned.data.info.name}, seed {planned.unit.seed}{point}"
