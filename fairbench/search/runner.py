"""Training and measuring the trials of a search: what its store lacks of them, by jobs."""

from __future__ import annotations

import itertools
import statistics
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager

from fairbench.api import Params, Shots
from fairbench.api.method import Method
from fairbench.data.prepared import Prepared
from fairbench.errors import ConfigError, FairbenchError, StoreError
from fairbench.registry import Registry
from fairbench.runs.driver import drive
from fairbench.runs.executors import make_executor
from fairbench.runs.executors.base import Event, Executor
from fairbench.runs.job import Job
from fairbench.runs.plan import Budget, Plan, PlannedReference, PlannedUnit, units_of
from fairbench.runs.training import TrainingRun
from fairbench.search.config import Objective, SearchConfig
from fairbench.search.trials import (
    RunningTrial,
    TrialMeasurements,
    TrialOutcome,
    measure_trial,
    validation_area,
)
from fairbench.store import files
from fairbench.store.database import Store
from fairbench.store.records import ReferenceRecord, UnitRecord

COST_POINTS = 16
"""Points of the curve whose training is the objective ``cost``."""

Watch = Callable[[Sequence[Job]], AbstractContextManager[Callable[[Event], None]]]
"""Shows what becomes of some jobs."""


class TrialRunner:
    """Runs trials against a store, and holds an executor for the whole search once it needs one.

    ``splits`` are the splits of the dataset that every trial is trained on. ``command`` is what was
    typed, for the records.
    """

    def __init__(
        self,
        config: SearchConfig,
        registry: Registry,
        method: type[Method],
        splits: Sequence[Prepared],
        store: Store,
        device: str,
        *,
        command: str,
    ) -> None:
        self.config, self.registry, self.method = config, registry, method
        self.splits, self.store, self.device, self.command = splits, store, device, command
        self._counted: set[str] = set()
        self._ended: set[str] = set()  # keys of units that this process has dealt with
        self._executor: Executor | None = None

    def stop(self) -> None:
        """Stop the executor, if there is one."""
        if self._executor is not None:
            self._executor.stop()

    @property
    def splits_and_seeds(self) -> list[tuple[Prepared, int]]:
        """Data and seed of each curve of a trial."""
        return list(itertools.product(self.splits, self.config.run.seeds))

    def run(self, batch: Sequence[RunningTrial], watch: Watch, budget: Budget) -> None:
        """Run the units of some trials, and write into the trials what they gave.

        Raises
        ------
        StoreError
            Something of a trial could not be measured, and nothing says why it never can.
        FairbenchError
            No area can be computed on these data.
        """
        going = [trial for trial in batch if trial.outcome is None]
        units = [self._units(trial.params, budget) for trial in going if trial.params is not None]
        # Trials of a small space share parameters: what failed is tried again in one batch alone.
        planned = {one.key: one for own in units for one in own if one.key not in self._ended}
        plan = Plan(list(planned.values()))
        for data, seed in self.splits_and_seeds:
            plan.references.append(PlannedReference(data, seed, budget.audit))
        for trial, own in zip(going, units, strict=True):
            again = self.config.run.rerun is not None and any(one.key in planned for one in own)
            stored = measure_trial(own, self.store, budget.audit)
            trial.replayed &= not stored.pending and not (again and stored.problem is not None)
        run = TrainingRun(self.config.run, self.registry, plan, self.store, self.device, trial=True)
        if jobs := run.jobs():
            with watch(jobs) as observe:
                run.begin(self.command)
                drive(run, self._running_executor(), observe)
        failures = [one for one in run.summary.failures if one.earlier_stands]
        errors = {one.unit: f"{one.status.value}: {one.error}" for one in failures}
        for trial, own in zip(going, units, strict=True):
            for data, seed in self.splits_and_seeds:
                curve = [unit for unit in own if unit.data is data and unit.unit.seed == seed]
                measured = measure_trial(curve, self.store, budget.audit)
                if measured.problem is None and measured.pending:
                    why = [errors[unit.key] for unit in curve if unit.key in errors]
                    raise _not_whole(trial, why)
                self._take(trial, measured, self._reference(data, seed, budget))
        self._drop_representations(plan.units)
        self._ended |= planned.keys()
        for trial in batch:
            trial.outcome = trial.outcome or TrialOutcome.COMPLETE

    def _units(self, params: Params, budget: Budget) -> list[PlannedUnit]:
        """All units of a trial."""
        each = [
            units_of(self.method, params, data, budget, self.config.run) for data in self.splits
        ]
        return list(itertools.chain(*each))

    def _running_executor(self) -> Executor:
        """The executor, started when there is something to do and kept for the whole search."""
        if self._executor is None:
            self._executor = make_executor(self.config.run)
        return self._executor

    def _take(
        self, trial: RunningTrial, measured: TrialMeasurements, reference: Mapping[str, float]
    ) -> None:
        # Trials may share a setting, in a small space: its models are trained once.
        trial.seconds += sum(
            seconds for key, seconds in measured.seconds.items() if key not in self._counted
        )
        self._counted |= measured.seconds.keys()
        trial.points += len(measured.points)
        if measured.problem is not None:
            if trial.outcome is not TrialOutcome.FAILED:
                trial.outcome, trial.error = measured.problem
            return
        trial.areas.append(validation_area([point.figures for point in measured.points], reference))
        if Objective.COST in self.config.objectives:
            if not measured.flops:
                raise ConfigError(
                    f"{self.method.name} does not tell its floating-point operations, so its cost "
                    "cannot be searched.",
                    "Use --objective aufdc.",
                )
            single = self.method.shots is Shots.SINGLE or not self.method(trial.params).knobs
            models = 1 if single else COST_POINTS
            trial.costs.append(models * statistics.fmean(measured.flops))

    def _reference(self, data: Prepared, seed: int, budget: Budget) -> Mapping[str, float]:
        key = PlannedReference(data, seed, budget.audit).key
        reference = self.store.find(ReferenceRecord, [key])[key]
        if not reference.done:
            raise FairbenchError(
                f"{data.title}: x itself could not be audited ({reference.error}), so no "
                "area can be computed.",
                "Try again with --rerun failed.",
            )
        if reference.figures["mutual_information_max_validation"] <= 0:
            raise ConfigError(
                f"{data.title}: auditors of x find no information about S, so there is no "
                "area to minimise.",
                "See: fairbench data describe " + data.info.name,
            )
        return reference.figures

    def _drop_representations(self, units: Sequence[PlannedUnit]) -> None:
        """Delete what trials encoded, once it is measured: fifty curves would fill disks."""
        mine = {planned.key for planned in units}
        stored = self.store.records(UnitRecord)
        shared = {u.artefact for u in stored if u.key not in mine or not u.of_a_trial}
        for unit in stored:
            if unit.key in mine and unit.artefact and unit.artefact not in shared:
                files.drop(self.config.run.results, unit.artefact)


def _not_whole(trial: RunningTrial, why: Sequence[str]) -> StoreError:
    """The error of a trial with something left to measure; ``why``: errors of its models.

    Whatever the sampler learnt of it would make this search another one.
    """
    text = f"Trial {trial.optuna_trial.number} was not measured whole"
    if why:  # what was trained before stands in the store, and there is no error of it
        return StoreError(
            f"{text}: its representations are gone, and training it again gave nothing ({why[0]}).",
            "The same command tries again. It may need more time (--timeout) or memory.",
        )
    return StoreError(
        f"{text}: another run on this store may be at it.",
        "The same command goes on once that has ended.",
    )
