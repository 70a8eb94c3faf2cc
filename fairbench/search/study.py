"""Hyperparameters by Optuna: trials of one method on one dataset, judged on the validation role.

The study lives in memory and is told everything anew each time, while what a trial costs, its
models and audits, are ordinary units in the store. As every choice depends only on the sampler's
seed, the trial's number and the values told before, a search that was interrupted finds its old
trials in the store and goes on as if nothing had happened. Test figures are never looked at.
"""

from __future__ import annotations

import enum
import statistics
import warnings
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Self

from fairbench.api import Shots
from fairbench.api.method import Params
from fairbench.config import Objective, SamplerName, SearchConfig
from fairbench.data.prepare import Prepared
from fairbench.errors import ConfigError, FairbenchError, StoreError
from fairbench.metrics.aufdc import strict_area
from fairbench.registry import Registry
from fairbench.runs.executors import make_executor
from fairbench.runs.executors.base import Event, Executor
from fairbench.runs.executors.shared import SharedExecutor
from fairbench.runs.job import Job
from fairbench.runs.plan import (
    Plan,
    PlannedUnit,
    make_budget,
    point_key,
    reference_key,
    units_of,
    validated,
)
from fairbench.runs.runner import Run
from fairbench.search.space import held_params, search_space, shortened
from fairbench.stats.seeds import derive_seed
from fairbench.store import files as artefacts
from fairbench.store.claims import Claims
from fairbench.store.database import Row, Store, of_a_trial
from fairbench.store.records import PointRecord, ReferenceRecord, UnitRecord
from fairbench.store.status import Status

FIRST_SEED = 1000
"""Trials train on seeds from here on, which ``run --seeds`` never uses: what a run then reports of
the best parameters is of other models than those that were chosen, partly for their luck.
"""

COST_POINTS = 16
"""Points of the curve whose training is the objective ``cost``."""

POPULATION = 16
"""Trials a generation of the genetic sampler; Optuna's 50 would leave most searches random."""

Watch = Callable[[Sequence[Job]], AbstractContextManager[Callable[[Event], None]]]
"""Shows what becomes of some jobs."""


class Outcome(enum.StrEnum):
    """How a trial ended."""

    COMPLETE = "complete"
    """All its curves are whole; it has values."""
    DIVERGED = "diverged"
    """A model of it diverged: the sampler learns to keep away."""
    FAILED = "failed"
    """A job of it failed for another reason, which the sampler learns nothing from."""


@dataclass(frozen=True)
class Trial:
    """One set of parameters and what it gave.

    Parameters
    ----------
    number : int
        From 0.
    params : mapping
        The searched hyperparameters, as plain values.
    outcome : Outcome
    values : tuple of float
        By objective, means over seeds; empty unless complete.
    error : str
        Why it is not complete.
    seconds : float
        Training, encoding and auditing it took, on one core, whenever that was.
    seeds, points : int
        Curves and points that were measured.
    replayed : bool
        Whether all of it was in the store.
    """

    number: int
    params: Mapping[str, Any]
    outcome: Outcome
    values: tuple[float, ...]
    error: str
    seconds: float
    seeds: int
    points: int
    replayed: bool


@dataclass
class _Asked:
    """A trial under way."""

    trial: Any
    params: Params | None
    used: dict[str, Any]
    outcome: Outcome | None = None
    error: str = ""
    areas: list[float] = field(default_factory=list)
    costs: list[float] = field(default_factory=list)
    seconds: float = 0.0
    points: int = 0
    replayed: bool = True


@dataclass
class _Measured:
    """What the store knows of one trial and seed."""

    points: list[Row] = field(default_factory=list)
    flops: list[float] = field(default_factory=list)
    seconds: float = 0.0
    problem: tuple[Outcome, str] | None = None
    pending: bool = False


class Search:
    """A search against a store; a context manager, as it may hold an executor.

    Parameters
    ----------
    config : SearchConfig
    registry : Registry
    data : Prepared
        Of the only dataset.
    store : Store
    device : str
        ``cpu`` or ``cuda``, resolved.
    workers : int
        Jobs at a time.
    command : str
        Command line, for the records of runs and the heads of files.

    Raises
    ------
    UnknownNameError, ConfigError, CheckError
        There is no such method, it has nothing to search, or what it declares cannot be used.
    """

    def __init__(
        self,
        config: SearchConfig,
        registry: Registry,
        data: Prepared,
        store: Store,
        device: str,
        *,
        workers: int,
        command: str = "",
    ) -> None:
        self.config, self.registry, self.data, self.store = config, registry, data, store
        self.command = command
        self.device, self.workers = device, workers
        self.method = registry.methods[registry.methods.resolve(config.run.methods[0])]
        self.held = held_params(config.run.params, self.method, registry)
        self.space = search_space(self.method, self.held)
        reason = self.method(validated(self.method, self.held)).supports(data.info)
        if reason is not None:
            raise ConfigError(f"{self.method.name} cannot run on {data.info.name}: {reason}.")
        self.budget = make_budget(config.run.budget, data)
        self.trials: list[Trial] = []
        self.study = _study(config)
        self.defaults = self._enqueue_defaults()
        self._executor: Executor | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._executor is not None:
            self._executor.stop()

    # ---- what was found --------------------------------------------------------------------

    @property
    def best(self) -> Trial | None:
        """The complete trial of the least area, the first of equals; None: all failed."""
        complete = [trial for trial in self.trials if trial.outcome is Outcome.COMPLETE]
        return min(complete, key=lambda trial: trial.values[0], default=None)

    @property
    def front(self) -> list[Trial]:
        """Complete trials that no other beats in all objectives, by their area."""
        numbers = {trial.number for trial in self.study.best_trials}
        found: dict[str, Trial] = {}
        for trial in self.trials:
            if trial.number in numbers:
                found.setdefault(repr(trial.params), trial)
        return sorted(found.values(), key=lambda trial: trial.values)

    def full_params(self, trial: Trial) -> dict[str, Any]:
        """All that ``run --params`` needs to train what the trial trained."""
        return {**self.held, **trial.params}

    # ---- trials ----------------------------------------------------------------------------

    def run(self, watch: Watch, told: Callable[[Trial], None]) -> None:
        """Ask, run and tell trials, ``parallel`` at a time; ``told`` is called for each."""
        for start in range(0, self.config.trials, self.config.parallel):
            stop = min(start + self.config.parallel, self.config.trials)
            batch = [self._ask(number) for number in range(start, stop)]
            self._run_batch(batch, watch)
            for asked in batch:
                self.trials.append(self._tell(asked))
                told(self.trials[-1])

    def _enqueue_defaults(self) -> bool:
        """Make the defaults trial 0, where they lie in the space: nothing tuned is worse."""
        import optuna

        params = validated(self.method, self.held)
        wanted = {name: getattr(params, name) for name in self.space}
        try:
            optuna.trial.create_trial(value=0.0, params=wanted, distributions=self.space)
        except ValueError:
            return False
        self.study.enqueue_trial(wanted)
        return True

    def _ask(self, number: int) -> _Asked:
        # A sampler of its own for every trial: what it draws must not depend on how many trials
        # this process has seen.
        self.study.sampler = _sampler(self.config, number)
        trial = self.study.ask(self.space)
        drawn = dict(trial.params)
        if number > 0 or not self.defaults:
            drawn = {name: shortened(self.space[name], drawn[name]) for name in self.space}
        try:
            params = validated(self.method, {**self.held, **drawn})
        except FairbenchError as error:
            return _Asked(trial, None, drawn, Outcome.FAILED, error.message)
        plain = params.model_dump(mode="json")
        return _Asked(trial, params, {name: plain[name] for name in self.space})

    def _run_batch(self, batch: Sequence[_Asked], watch: Watch) -> None:
        going = [asked for asked in batch if asked.outcome is None]
        self._run_step(going, self.config.run.seeds, watch)
        for asked in batch:
            asked.outcome = asked.outcome or Outcome.COMPLETE

    def _run_step(self, going: Sequence[_Asked], seeds: Sequence[int], watch: Watch) -> None:
        """Run the units of some seeds of some trials, and take down what they gave."""
        config = self.config.run.model_copy(update={"seeds": tuple(seeds)})
        units = [
            units_of(self.method, asked.params, self.data, self.budget, config)
            for asked in going
            if asked.params is not None
        ]
        # Two trials may have the same parameters, where the space is small.
        plan = Plan(list({planned.key: planned for own in units for planned in own}.values()))
        for seed in seeds:
            key = reference_key(self.data, seed, self.budget.audit)
            plan.references[key] = (self.data, seed, self.budget.audit)
        for asked, own in zip(going, units, strict=True):
            asked.replayed &= not self._measured(own).pending
        run = Run(config, self.registry, plan, self.store, self.device, trial=True)
        jobs = run.jobs()
        if jobs:
            with Claims(self.store, run.id) as claims, watch(jobs) as observe:
                executor = SharedExecutor(self._executing(), claims, run.settled)
                run.execute(jobs, executor, observe, self.command)
        for asked, own in zip(going, units, strict=True):
            for seed in seeds:
                curve = [planned for planned in own if planned.unit.seed == seed]
                self._take(asked, self._measured(curve), self._reference(seed))
        self._drop_representations(plan.units)

    def _executing(self) -> Executor:
        """The executor, started when there is something to do and kept for the whole search."""
        if self._executor is None:
            self._executor = make_executor(self.config.run)
        return self._executor

    def _tell(self, asked: _Asked) -> Trial:
        from optuna.trial import TrialState

        assert asked.outcome is not None
        values: tuple[float, ...] = ()
        if asked.outcome is Outcome.COMPLETE:
            means = {
                Objective.AUFDC: lambda: statistics.fmean(asked.areas),
                Objective.COST: lambda: statistics.fmean(asked.costs),
            }
            values = tuple(means[objective]() for objective in self.config.objectives)
            self.study.tell(asked.trial, values=values)
        else:
            failed = asked.outcome is Outcome.FAILED
            state = TrialState.FAIL if failed else TrialState.PRUNED
            self.study.tell(asked.trial, state=state)
        return Trial(
            number=asked.trial.number,
            params=asked.used,
            outcome=asked.outcome,
            values=values,
            error=asked.error,
            seconds=asked.seconds,
            seeds=len(asked.areas),
            points=asked.points,
            replayed=asked.replayed,
        )

    # ---- figures from the store ------------------------------------------------------------

    def _measured(self, units: Sequence[PlannedUnit]) -> _Measured:
        """What the store has of these units."""
        found = _Measured()
        for planned in units:
            row = next(iter(self.store.records(UnitRecord, key=planned.key)), None)
            status = Status(row["status"]) if row else Status.PENDING
            if row is None or not (status is Status.DONE or status.bad):
                found.pending = True
                continue
            costs = row["costs"] or {}
            found.seconds += costs.get("train_seconds", 0.0) + costs.get("encode_seconds", 0.0)
            if status is not Status.DONE:
                _blame(found, status, row["error"] or "")
                continue
            if "flops" in costs:
                found.flops.append(costs["flops"])
            points = {
                point["key"]: point for point in self.store.records(PointRecord, unit=planned.key)
            }
            for label in (point["label"] for point in row["read_points"]):
                point = points.get(point_key(planned.key, label, self.budget.audit))
                status = Status(point["status"]) if point else Status.PENDING
                if point is None or not (status is Status.DONE or status.bad):
                    found.pending = True
                elif status is Status.DONE:
                    found.points.append(point)
                    found.seconds += point["seconds"]
                else:
                    _blame(found, status, point["error"] or "")
        return found

    def _take(self, asked: _Asked, found: _Measured, reference: Mapping[str, float]) -> None:
        asked.seconds += found.seconds
        asked.points += len(found.points)
        if found.problem is None and found.pending:
            # To tell the sampler anything now would make this search another one.
            raise StoreError(
                f"Trial {asked.trial.number} was not measured whole: another run on this store may "
                "be at it.",
                "The same command goes on once that has ended.",
            )
        if found.problem is not None:
            if asked.outcome is not Outcome.FAILED:
                asked.outcome, asked.error = found.problem
            return
        asked.areas.append(validation_area([point["values"] for point in found.points], reference))
        if Objective.COST in self.config.objectives:
            if not found.flops:
                raise ConfigError(
                    f"{self.method.name} does not tell its floating-point operations, so its cost "
                    "cannot be searched.",
                    "Use --objective aufdc.",
                )
            single = self.method.shots is Shots.SINGLE or not self.method(asked.params).knobs
            models = 1 if single else COST_POINTS
            asked.costs.append(models * statistics.fmean(found.flops))

    def _reference(self, seed: int) -> Mapping[str, float]:
        key = reference_key(self.data, seed, self.budget.audit)
        row = self.store.records(ReferenceRecord, key=key)[0]
        if row["status"] != Status.DONE:
            raise FairbenchError(
                f"{self.data.info.name}: x itself could not be audited ({row['error']}), and "
                "areas cannot be told without.",
                "Try again with --rerun failed.",
            )
        values: Mapping[str, float] = row["values"]
        if values["mutual_information_max_validation"] <= 0:
            raise ConfigError(
                f"{self.data.info.name}: x tells nothing of S here, so there is no area to lessen.",
                "See: fairbench data describe " + self.data.info.name,
            )
        return values

    def _drop_representations(self, units: Sequence[PlannedUnit]) -> None:
        """Delete what trials encoded, once it is measured: fifty curves would fill disks."""
        rows = self.store.records(UnitRecord)
        mine = {planned.key for planned in units}
        kept = {row["artefact"] for row in rows if row["key"] not in mine or not of_a_trial(row)}
        for row in rows:
            if row["key"] in mine and row["artefact"] and row["artefact"] not in kept:
                artefacts.drop(self.config.run.results, row["artefact"])


def validation_area(points: Sequence[Mapping[str, float]], reference: Mapping[str, float]) -> float:
    """AUFDC with the validation role in place of test: hull, area and ends.

    Parameters
    ----------
    points : sequence of mapping
        Of one curve, with ``distortion_validation`` and ``mutual_information_validation``.
    reference : mapping
        With ``distortion_max_validation`` and ``mutual_information_max_validation``.
    """
    found = [
        (point["distortion_validation"], point["mutual_information_validation"]) for point in points
    ]
    i_max, d_max = (
        reference["mutual_information_max_validation"],
        reference["distortion_max_validation"],
    )
    return strict_area(
        found,
        found,
        i_max=i_max,
        d_max=d_max,
        i_max_validation=i_max,
        d_max_validation=d_max,
    )


def _blame(found: _Measured, status: Status, error: str) -> None:
    """Remember the first problem; that a job failed weighs more than that a model diverged."""
    outcome = Outcome.DIVERGED if status is Status.DIVERGED else Outcome.FAILED
    if found.problem is None or (
        outcome is Outcome.FAILED and found.problem[0] is Outcome.DIVERGED
    ):
        found.problem = (outcome, f"{status.value}: {error}")


def _study(config: SearchConfig) -> Any:
    import optuna

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    return optuna.create_study(
        study_name="fairbench",
        directions=["minimize"] * len(config.objectives),
        sampler=_sampler(config, 0),
        pruner=optuna.pruners.NopPruner(),
    )


def _sampler(config: SearchConfig, number: int) -> Any:
    from optuna import samplers

    seed = derive_seed("search", config.seed, number) % 2**32
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if config.sampler is SamplerName.TPE:
            # Trials under way count as bad ones: a batch does not ask the same thing twice.
            return samplers.TPESampler(seed=seed, constant_liar=True)
        if config.sampler is SamplerName.NSGA2:
            return samplers.NSGAIISampler(seed=seed, population_size=POPULATION)
        return samplers.RandomSampler(seed=seed)
