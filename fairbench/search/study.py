"""Hyperparameters by Optuna: trials of one method on one dataset, judged on validation sets.

The study lives in memory and is filled anew each time, while what a trial costs, its
models and audits, are ordinary units in the store. As every choice depends only on the sampler's
seed, the trial's number and the values before, a search that was interrupted finds its old
trials in the store and goes on as if nothing had happened. Test figures are never looked at.
"""

from __future__ import annotations

import itertools
import statistics
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from typing import Any, Self

from fairbench.api import Params, Shots
from fairbench.data.prepared import Prepared
from fairbench.errors import ConfigError, FairbenchError, StoreError
from fairbench.registry import Registry
from fairbench.runs.driver import drive
from fairbench.runs.executors import make_executor
from fairbench.runs.executors.base import Event, Executor
from fairbench.runs.hyperparameters import params_on
from fairbench.runs.job import Job
from fairbench.runs.method_answers import ask
from fairbench.runs.plan import (
    Budget,
    Plan,
    PlannedReference,
    PlannedUnit,
    make_budget,
    units_of,
)
from fairbench.runs.training import TrainingRun
from fairbench.search.config import Objective, SearchConfig
from fairbench.search.sampler import make_sampler, make_study
from fairbench.search.space import count_settings, held_params, search_space, shortened
from fairbench.search.trials import (
    RunningTrial,
    Trial,
    TrialMeasurements,
    TrialOutcome,
    measure_trial,
    validation_area,
)
from fairbench.store import files
from fairbench.store.database import Store
from fairbench.store.records import ReferenceRecord, UnitRecord

FIRST_SEED = 1000
"""Trials train on seeds from here on, which ``run --seeds`` never uses: what a run then reports of
the best parameters is of other models than those that were chosen, partly by chance.
"""

COST_POINTS = 16
"""Points of the curve whose training is the objective ``cost``."""

REPEATS = 20
"""Trials in a row that repeat earlier ones, after which a search ends: they cost nothing, so that
with ``work`` it would go on as if there were more to find.
"""

Watch = Callable[[Sequence[Job]], AbstractContextManager[Callable[[Event], None]]]
"""Shows what becomes of some jobs."""


class Search:
    """A search against a store; a context manager, as it may hold an executor.

    ``splits`` are the splits of the dataset that every trial is trained on. ``command`` is what was
    typed, for the records and files of the search.

    Raises
    ------
    UnknownNameError, ConfigError, CheckError
        There is no such method, it has nothing to search, or what it declares cannot be used.
    """

    def __init__(
        self,
        config: SearchConfig,
        registry: Registry,
        splits: Sequence[Prepared],
        store: Store,
        device: str,
        *,
        workers: int,
        command: str,
    ) -> None:
        self.command = command
        self.config, self.registry, self.store = config, registry, store
        self.splits, self.data = splits, splits[0]
        self.device, self.workers = device, workers
        self.method = registry.methods[registry.methods.resolve(config.run.methods[0])]
        self.held = held_params(config.run.params, self.method, registry)
        self.space = search_space(self.method, self.held)
        self.settings = count_settings(self.space)
        reason = ask(
            self.method, params_on(self.method, self.held, self.data.info), self.data.info
        ).refusal
        if reason is not None:
            raise ConfigError(f"{self.method.name} cannot run on {self.data.info.name}: {reason}.")
        self.budget = make_budget(config.run.budget, self.data)
        self.final_budget = make_budget(config.final_budget, self.data)
        self.trials: list[Trial] = []
        self.finals: list[Trial] = []
        self._counted: set[str] = set()
        self._ended: set[str] = set()  # keys of units that this process has dealt with
        self.study = make_study(config)
        self.defaults = self._enqueue_defaults()
        self._executor: Executor | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._executor is not None:
            self._executor.stop()

    @property
    def best(self) -> Trial | None:
        """The complete trial of the least area, the first of equals; None: all failed.

        Of the finalists, once one of them is complete.
        """
        return next(iter(_by_area(self.finals) or _by_area(self.trials)), None)

    @property
    def trial_of_defaults(self) -> Trial | None:
        """What the best is compared with: the defaults in the same budget; None: not complete."""
        alike = self.finals if self.best is not None and self.best.final else self.trials
        complete = (trial for trial in alike if trial.number == 0 and trial.values)
        return next(complete, None) if self.defaults else None

    @property
    def front(self) -> list[Trial]:
        """Complete trials that no other beats in all objectives, by their area."""
        numbers = {trial.number for trial in self.study.best_trials}
        trials: dict[str, Trial] = {}
        for trial in self.trials:
            if trial.number in numbers:
                trials.setdefault(repr(trial.params), trial)
        return sorted(trials.values(), key=lambda trial: trial.values)

    @property
    def splits_and_seeds(self) -> list[tuple[Prepared, int]]:
        """Data and seed of each curve of a trial."""
        return list(itertools.product(self.splits, self.config.run.seeds))

    def full_params(self, trial: Trial) -> dict[str, Any]:
        """All that ``run --params`` needs to train what the trial trained."""
        return {**self.held, **trial.params}

    def run(self, watch: Watch, report: Callable[[Trial], None]) -> None:
        """Run all trials, ``parallel`` at a time; ``report`` is called for each."""
        while (size := self._next_batch()) > 0:
            done = len(self.trials)
            batch = [self._ask(number) for number in range(done, done + size)]
            self._run_batch(batch, watch, self.budget)
            for trial in batch:
                self.trials.append(self._finish(trial))
                report(self.trials[-1])
        finalists = [
            RunningTrial(
                self.study.trials[trial.number],
                params_on(self.method, self.full_params(trial), self.data.info),
                dict(trial.params),
            )
            for trial in self._finalists()
        ]
        if finalists:
            self._run_batch(finalists, watch, self.final_budget)
            self.finals = [replace(self._summed_up(trial), final=True) for trial in finalists]
            for final in self.finals:
                report(final)

    def _finalists(self) -> list[Trial]:
        """The best trials, each set of hyperparameters once, and the defaults beside them.

        With a longer training the defaults may be better than what was better with a short one.
        """
        distinct: dict[str, Trial] = {}
        for trial in _by_area(self.trials):
            distinct.setdefault(repr(trial.params), trial)
        best = list(distinct.values())[: self.config.finalists]
        if best and self.defaults and all(trial.number for trial in best):
            # First: of equals, the defaults are the result.
            return [self.trials[0], *best]
        return best

    @property
    def most_finalists(self) -> int:
        """How many trials are trained once more at most: the defaults come beside the best."""
        return self.config.finalists + self.defaults if self.config.finalists else 0

    @property
    def seconds(self) -> float:
        """What all trials so far took, on one core."""
        return sum(trial.seconds for trial in self.trials)

    @property
    def exhausted(self) -> str | None:
        """Why more trials would bring nothing new; None: they may."""
        tried = [repr(trial.params) for trial in self.trials]
        if self.settings is not None and len(set(tried)) >= self.settings:
            return f"every setting of the search space ({self.settings}) has been tried"
        if tried and set(tried[-REPEATS:]) <= set(tried[:-REPEATS]):
            return f"the last {REPEATS} trials repeated earlier ones"
        return None

    def _next_batch(self) -> int:
        """Return how many trials start next; 0: the search has ended."""
        if self.exhausted or (self.config.work is not None and self.seconds >= self.config.work):
            return 0
        return min(self.config.parallel, self.config.most_trials - len(self.trials))

    def _enqueue_defaults(self) -> bool:
        """Make the defaults trial 0, where they lie in the space: what is found is no worse."""
        import optuna

        params = params_on(self.method, self.held, self.data.info)
        defaults = {name: getattr(params, name) for name in self.space}
        try:
            optuna.trial.create_trial(value=0.0, params=defaults, distributions=self.space)
        except ValueError:
            return False
        self.study.enqueue_trial(defaults)
        return True

    def _ask(self, number: int) -> RunningTrial:
        # A sampler of its own for every trial: what it draws must not depend on how many trials
        # this process has seen.
        self.study.sampler = make_sampler(self.config, number)
        trial = self.study.ask(self.space)
        drawn = dict(trial.params)
        if number > 0 or not self.defaults:
            drawn = {name: shortened(self.space[name], drawn[name]) for name in self.space}
        try:
            params = params_on(self.method, {**self.held, **drawn}, self.data.info)
            refusal = ask(self.method, params, self.data.info).refusal
        except FairbenchError as error:
            return RunningTrial(trial, None, drawn, TrialOutcome.FAILED, error.message)
        if refusal is not None:
            return RunningTrial(trial, None, drawn, TrialOutcome.FAILED, refusal)
        plain = params.model_dump(mode="json")
        return RunningTrial(trial, params, {name: plain[name] for name in self.space})

    def _run_batch(self, batch: Sequence[RunningTrial], watch: Watch, budget: Budget) -> None:
        """Run the units of some trials, and take in what they gave."""
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
        kept = {title for title, _ in run.summary.kept}
        errors = {title: f"{s.value}: {e}" for title, s, e in run.summary.broken if title in kept}
        for trial, own in zip(going, units, strict=True):
            for data, seed in self.splits_and_seeds:
                curve = [unit for unit in own if unit.data is data and unit.unit.seed == seed]
                measured = measure_trial(curve, self.store, budget.audit)
                if measured.problem is None and measured.pending:
                    why = [errors[unit.title] for unit in curve if unit.title in errors]
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

    def _finish(self, trial: RunningTrial) -> Trial:
        """Give the sampler what a trial gave."""
        from optuna.trial import TrialState

        summed_up = self._summed_up(trial)
        if summed_up.outcome is TrialOutcome.COMPLETE:
            self.study.tell(trial.optuna_trial, values=summed_up.values)
        else:
            failed = summed_up.outcome is TrialOutcome.FAILED
            state = TrialState.FAIL if failed else TrialState.PRUNED
            self.study.tell(trial.optuna_trial, state=state)
        return summed_up

    def _summed_up(self, trial: RunningTrial) -> Trial:
        """Return what a trial that has ended gave, means over its curves."""
        assert trial.outcome is not None
        values: tuple[float, ...] = ()
        if trial.outcome is TrialOutcome.COMPLETE:
            measured = {Objective.AUFDC: trial.areas, Objective.COST: trial.costs}
            values = tuple(statistics.fmean(measured[each]) for each in self.config.objectives)
        return Trial(
            number=trial.optuna_trial.number,
            params=trial.drawn,
            outcome=trial.outcome,
            values=values,
            error=trial.error,
            seconds=trial.seconds,
            curves=len(trial.areas),
            points=trial.points,
            replayed=trial.replayed,
        )

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


def _by_area(trials: Sequence[Trial]) -> list[Trial]:
    """The complete ones of some trials, the least area first and the first of equals."""
    complete = [trial for trial in trials if trial.outcome is TrialOutcome.COMPLETE]
    return sorted(complete, key=lambda trial: trial.values[0])
