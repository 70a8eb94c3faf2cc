"""What the store knows of the units of a plan: which must be fitted, and in which stacks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from fairbench.config import Rerun, RunConfig
from fairbench.runs.audits import AuditLedger, AuditTarget, MissingPoint
from fairbench.runs.cost import processor_seconds, with_earlier_attempts
from fairbench.runs.declared import declared
from fairbench.runs.failures import Failure
from fairbench.runs.plan import Plan, PlannedUnit, most_in_stack, stacks
from fairbench.store import files
from fairbench.store.database import Store, now
from fairbench.store.records import UnitRecord
from fairbench.store.status import Status


class UnitLedger:
    """Records of planned units, as the store had them when last looked at.

    ``run`` is the id of this run. A ``trial`` of a search takes nothing from an earlier run.
    """

    def __init__(
        self,
        plan: Plan,
        store: Store,
        audits: AuditLedger,
        config: RunConfig,
        *,
        run: str,
        trial: bool,
    ) -> None:
        self.plan, self.store, self.audits = plan, store, audits
        self.results, self.rerun = config.results, config.rerun
        self.run, self.trial = run, trial
        self.by_key = {planned.key: planned for planned in plan.units}
        self.records = {unit.key: unit for unit in store.records(UnitRecord)}
        self._earlier: dict[str, UnitRecord] = {}

    def must_fit(self, planned: PlannedUnit) -> bool:
        """Whether a unit has to be trained, by what the store holds of it."""
        unit = self.records.get(planned.key)
        if planned.skipped is not None:
            return False
        if unit is None or self.rerun is Rerun.ALL:
            return True
        if not unit.done:
            # A model that failed elsewhere may do here: memory and time limits differ.
            elsewhere = unit.origin is not None
            return not unit.status.is_failure or elsewhere or self.rerun is Rerun.FAILED
        # Fitted; its representations are needed again only if a point is still to be audited.
        # A damaged file is as good as none.
        return bool(self.missing_points(planned)) and self.representations(unit) is None

    def representations(self, unit: UnitRecord) -> Mapping[str, np.ndarray] | None:
        """Encoded arrays of a unit; None where its file is gone or damaged."""
        return None if unit.artefact is None else files.load(self.results, unit.artefact)

    def missing_points(self, planned: PlannedUnit) -> list[MissingPoint]:
        """Points of a fitted unit without a result."""
        return self.audits.missing(self.target(planned))

    def target(self, planned: PlannedUnit) -> AuditTarget:
        """What the audits need to know of a unit."""
        return AuditTarget(
            unit=planned.key,
            method=planned.method.name,
            seed=planned.unit.seed,
            points=self.records[planned.key].points,
            data=planned.data,
            config=planned.budget.audit,
            blind=not declared(planned.method).aware,
            stochastic=declared(planned.method).stochastic,
        )

    def points_to_audit(self, planned: Sequence[PlannedUnit]) -> tuple[str, ...]:
        """Keys of the points of what has been fitted that are without a result."""
        return tuple(
            point.key
            for unit in planned
            if unit.key in self.records
            for point in self.missing_points(unit)
        )

    def earlier_failures(self) -> list[Failure]:
        """Failures that this request would meet again and does not retry."""
        if self.rerun is not None:
            return []
        failures: list[Failure] = []
        for planned in self.plan.units:
            unit = self.records.get(planned.key)
            if unit is None:
                continue
            if unit.status.is_failure and not self.must_fit(planned):
                failures.append(planned.failure(unit.status, unit.error or ""))
            for point in self.audits.failures(self.target(planned)):
                # The title has the point of a multi-shot method.
                place = "" if planned.unit.point else f", {point.label}"
                title = f"audit of {planned.title}{place}"
                failures.append(Failure(title, point.status, point.error or ""))
        return failures

    def stacks(
        self, to_fit: Sequence[PlannedUnit], device: str, free_bytes: Sequence[float]
    ) -> list[list[PlannedUnit]]:
        """Stacks as recorded by an interrupted run, so that a resumed one is bitwise the same.

        Where one model is needed because its file is damaged, its whole stack trains again: sums in
        floating point depend on what a model is stacked with. A stack that is too large for this
        device is divided as if it were new, and one that ran out of memory into halves.
        """
        recorded: dict[tuple[str, ...], list[PlannedUnit]] = {}
        fresh = []
        for planned in to_fit:
            unit = self.records.get(planned.key)
            packing = unit.packing if unit else None
            if not packing or len(packing) > most_in_stack(planned, device, free_bytes):
                fresh.append(planned)
            elif unit and not unit.status.is_failure and self._knows(packing):
                recorded[tuple(packing)] = [self.by_key[key] for key in packing]
            else:
                recorded.setdefault(tuple(packing), []).append(planned)
        parts = (part for stack in recorded.values() for part in self._that_fit(stack))
        return [*parts, *stacks(fresh, device, free_bytes)]

    def _that_fit(self, stack: Sequence[PlannedUnit]) -> list[list[PlannedUnit]]:
        units = [self.records.get(planned.key) for planned in stack]
        if not any(unit is not None and unit.status is Status.OOM for unit in units):
            return [list(stack)]
        half = (len(stack) + 1) // 2
        return [list(part) for part in (stack[:half], stack[half:]) if part]

    def _knows(self, packing: Sequence[str]) -> bool:
        """Whether all of a stack is of this request, and none of it failed."""
        units = [self.records.get(key) for key in packing]
        failed = any(unit is not None and unit.status.is_failure for unit in units)
        return set(packing) <= set(self.by_key) and not failed

    def write_planned(self, stacked: Sequence[tuple[PlannedUnit, Sequence[str]]]) -> None:
        """Write units as PENDING with their packing before anything starts.

        What is DONE and trained again keeps its old result until there is a new one; what another
        run wrote since this one looked is left alone.
        """
        new = [
            planned.record(self.run)
            for planned in self.plan.units
            if planned.skipped and planned.key not in self.records
        ]
        for planned, packing in stacked:
            old = self.records.get(planned.key)
            record = planned.record(self._owner(old)).replace(
                packing=list(packing), costs=self._spent_before(old)
            )
            if old is not None and old.done:
                self._earlier[planned.key] = old
            else:
                new.append(record)
            self.records[planned.key] = record
        self.store.add(new)

    def _spent_before(self, old: UnitRecord | None) -> dict[str, float] | None:
        """Costs of earlier attempts at a unit that is tried again: searches count them too.

        A model that is trained anew for another reason costs what its last training did.
        """
        if old is None or old.origin is not None:
            return None
        if old.done and self.rerun is not Rerun.FAILED:
            return None
        seconds = processor_seconds(old.costs or {})
        return {"processor_seconds": seconds} if seconds else None

    def total_costs(self, key: str, costs: Mapping[str, float]) -> dict[str, float]:
        """Costs of an attempt at a unit, with the time of those before it."""
        before = processor_seconds(self.records[key].costs or {})
        return with_earlier_attempts(costs, before)

    def write_running(self, planned: Sequence[PlannedUnit]) -> None:
        """Write that units are being trained."""
        self.store.put(
            self.records[unit.key].replace(status=Status.RUNNING)
            for unit in planned
            if unit.key not in self._earlier
        )

    def is_another_model(self, unit: UnitRecord) -> bool:
        """Whether a unit that was trained again gives other codes than it did before.

        It does on another machine, or by other versions: figures of both make no curve.
        """
        before = self._earlier.get(unit.key)
        # Files are named by their content.
        return self.rerun is Rerun.ALL or (before is not None and before.artefact != unit.artefact)

    def make_failure_record(
        self,
        planned: PlannedUnit,
        status: Status,
        error: str,
        traceback: str | None,
        costs: Mapping[str, float],
    ) -> list[UnitRecord]:
        """The record of a unit that gave nothing, unless an earlier result of it stands.

        ``costs``: what was spent on it this time.
        """
        if planned.key in self._earlier:
            self.records[planned.key] = self._earlier[planned.key]
            return []
        broken = self.records[planned.key].replace(
            status=status,
            error=error,
            traceback=traceback,
            costs=self.total_costs(planned.key, costs) or None,
            finished=now(),
        )
        self.records[planned.key] = broken
        return [broken]

    def refresh(self, keys: Sequence[str]) -> None:
        """Take in what other runs have written of some units since."""
        self.records |= self.store.find(UnitRecord, keys)
        self.audits.refresh()

    def adopt(self, planned: Sequence[PlannedUnit]) -> None:
        """Make units that only searches have trained so far this run's own, and label them."""
        if self.trial:
            return
        units = [self.records[unit.key] for unit in planned if unit.key in self.records]
        adopted = {unit.key: unit.replace(run=self.run) for unit in units if unit.of_a_trial}
        self.store.adopt(list(adopted), self.run)
        self.records |= adopted
        self._label(planned)

    def _label(self, planned: Sequence[PlannedUnit]) -> None:
        """Give the hyperparameters of known units the label that this run has for them."""
        keys: dict[str, list[str]] = {}
        for unit in planned:
            known = self.records.get(unit.key)
            if known is not None and unit.label not in (None, known.label):
                self.records[unit.key] = known.replace(label=unit.label)
                keys.setdefault(str(unit.label), []).append(unit.key)
        for label, own in keys.items():
            self.store.label(own, label)

    def _owner(self, old: UnitRecord | None) -> str:
        """The run whose unit this is: a trial takes nothing from an earlier run."""
        if old is not None and self.trial and not old.of_a_trial:
            return str(old.run)
        return self.run
