"""Drive a run: plan, execute what the store lacks, write what comes back."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from fairbench import artefacts
from fairbench.audits import Audits, Missing, Target, point_metrics
from fairbench.config import Rerun, RunConfig
from fairbench.cost import versions
from fairbench.estimate import audit_seconds, fit_seconds
from fairbench.executors.base import Broke, Event, Executor, Finished, Started
from fairbench.jobs import FitJob, Job, UnitResult
from fairbench.plan import Plan, PlannedUnit, stacks
from fairbench.registry import Registry
from fairbench.status import Status
from fairbench.store import TRIAL, Row, Store, now, of_a_trial


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
        self.id = (TRIAL if trial else "") + uuid.uuid4().hex
        self.by_key = {planned.key: planned for planned in plan.units}
        self.summary = Summary()
        self._kept: set[str] = set()
        self._units = {row["key"]: row for row in store.rows("units")}
        self.audits = Audits(store, point_metrics(registry), retry=config.rerun is Rerun.FAILED)

    # ---- what is missing -------------------------------------------------------------------

    def jobs(self) -> list[Job]:
        """Jobs that can start now: references, missing fits, and audits of what is fitted."""
        to_fit = [planned for planned in self.plan.units if self._must_fit(planned)]
        fits: list[Job] = [self._fit_job(stack) for stack in self._stacks(to_fit)]
        fits.sort(key=lambda job: -job.estimate)
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
        """Stacks as recorded by an interrupted run, so that a resumed one is bitwise the same."""
        recorded: dict[str, list[PlannedUnit]] = {}
        fresh = []
        for planned in to_fit:
            row = self._units.get(planned.key)
            packing = row["packing"] if row else None
            if packing:
                recorded.setdefault("\x1f".join(packing), []).append(planned)
            else:
                fresh.append(planned)
        return [*recorded.values(), *stacks(fresh, self.device)]

    # ---- jobs ------------------------------------------------------------------------------

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
        )

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
        self.store.put("units", self._adopted())
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
            observe(event)

    def _write_planned(self, jobs: Sequence[Job]) -> None:
        """Write units as PENDING with their packing before anything starts.

        What is DONE and trained again keeps its old result until there is a new one.
        """
        rows = [u.row(self.id) for u in self.plan.units if u.skipped and u.key not in self._units]
        for job in jobs:
            if isinstance(job, FitJob):
                for key in job.keys:
                    old = self._units.get(key)
                    row = self.by_key[key].row(self._owner(old)) | {"packing": list(job.keys)}
                    self._units[key] = row
                    if old is None or old["status"] != Status.DONE:
                        rows.append(row)
                    else:
                        self._kept.add(key)
        self.store.put("units", rows)

    def _owner(self, old: Row | None) -> str:
        """The run whose unit this is: a trial takes nothing from the run that asked before it."""
        if old is not None and self._is_trial and not of_a_trial(old):
            return str(old["run"])
        return self.id

    def _adopted(self) -> list[Row]:
        """What a search has trained and this run asks for: from now on it is the run's."""
        if self._is_trial:
            return []
        found = [self._units[u.key] for u in self.plan.units if u.key in self._units]
        adopted = {row["key"]: row | {"run": self.id} for row in found if of_a_trial(row)}
        self._units |= adopted
        return list(adopted.values())

    def _mark_running(self, job: FitJob) -> None:
        running = {"status": Status.RUNNING.value}
        keys = [key for key in job.keys if key not in self._kept]
        self.store.put("units", [self._units[key] | running for key in keys])

    def _finish(self, job: Job, result: object) -> list[Job]:
        if not isinstance(job, FitJob):
            self.audits.finish(job, result)
            return []
        assert isinstance(result, list)
        return [follow for unit in result for follow in self._finish_unit(unit)]

    def _finish_unit(self, result: UnitResult) -> list[Job]:
        planned = self.by_key[result.key]
        if result.status is not Status.DONE:
            self._break_unit(planned, result.status, result.error or "", result.traceback)
            return []
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
        target, read = _target(planned), row["read_points"]
        if self.config.rerun is Rerun.ALL:
            # Everything measured of the old model is of the past.
            self.audits.forget(target, read)
        missing = self.audits.missing(target, read)
        points = [self.audits.row(target, read, point) for point in missing]
        self.store.put_all({"units": [row], "points": points})
        self.summary.done += 1
        return self.audits.jobs(target, read, missing, result.arrays)

    # ---- failures --------------------------------------------------------------------------

    def _break(self, event: Broke) -> None:
        job = event.job
        if isinstance(job, FitJob):
            for key in job.keys:
                self._break_unit(self.by_key[key], event.status, event.error, event.traceback)
        else:
            self.summary.broken.append((job.title, event.status, event.error))
            self.audits.broke(job, event)

    def _break_unit(
        self, planned: PlannedUnit, status: Status, error: str, traceback: str | None
    ) -> None:
        self.summary.broken.append((_title(planned), status, error))
        row = self._units[planned.key]
        change = {"status": status.value, "error": error, "traceback": traceback}
        self._units[planned.key] = row | change | {"finished": now()}
        self.store.put("units", [self._units[planned.key]])


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
