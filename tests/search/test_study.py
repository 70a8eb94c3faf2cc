"""A search: the same trials whatever interrupts it, chosen on the validation role alone."""

from __future__ import annotations

import functools
import pickle
import time
import warnings
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from itertools import product
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pandas as pd
import pytest
import yaml
from pydantic import Field, create_model

from fairbench.api import Knob, Point
from fairbench.api.method import Method, Params
from fairbench.config import RunConfig, SearchConfig, build_config
from fairbench.data.prepare import Prepared
from fairbench.errors import CheckError, ConfigError, StoreError, UnknownNameError
from fairbench.leaderboard import build as leaderboard
from fairbench.metrics.aufdc import Aufdc
from fairbench.registry import Registry
from fairbench.runs.audit_job import AuditJob, Measurement, ReferenceJob
from fairbench.runs.audits import REFERENCE_FIGURES
from fairbench.runs.driver import drive
from fairbench.runs.executors.base import Event, Executor, Finished, Started
from fairbench.runs.executors.shared import SharedExecutor
from fairbench.runs.fit_job import FitJob, UnitResult
from fairbench.runs.job import Job
from fairbench.runs.plan import Plan, make_budget, units_of, validated
from fairbench.runs.training import TrainingRun
from fairbench.search import outputs as search_files
from fairbench.search.space import search_space
from fairbench.search.study import FIRST_SEED, Search
from fairbench.search.trials import Trial, TrialOutcome, validation_area
from fairbench.store.database import Store
from fairbench.store.records import UnitRecord
from fairbench.store.status import Status

Answer = Callable[[Mapping[str, Any], int], float | Status]


class BowlParams(Params):
    a: float = Field(0.9, gt=0, le=1)
    size: int = 64
    kind: str = "flat"


class Bowl(Method):
    """Its area is what a test says of its parameters and seed."""

    name = "bowl"
    summary = "a bowl"
    knobs = (Knob("gamma", 0.0, 1.0),)
    Params: ClassVar[type[Params]] = BowlParams

    def points(self) -> tuple[Point, ...]:
        return (Point.of(gamma=0.0), Point.of(gamma=1.0))

    def search_space(self) -> Mapping[str, Any]:
        from optuna.distributions import (
            CategoricalDistribution,
            FloatDistribution,
            IntDistribution,
        )

        return {
            "a": FloatDistribution(0.01, 1.0, log=True),
            "size": IntDistribution(8, 128, log=True),
            "kind": CategoricalDistribution(["flat", "round"]),
        }

    def fit(self, train: Any, units: Any, context: Any) -> Any:
        raise AssertionError("answered by the executor of these tests")


def bowl(params: Mapping[str, Any], seed: int) -> float:
    """Least, .1, near a = .2 and kind = round; a little different for each seed."""
    kind = 0.0 if params["kind"] == "round" else 0.05
    return float(0.1 + 0.3 * abs(params["a"] - 0.2) + kind + 0.001 * (seed - FIRST_SEED))


class Answers(Executor):
    """Answers jobs at once, in an order of its own; Ctrl-C after ``patience`` of them.

    A point's D and I on validation are the answer, which is then the area; on test they are the
    reverse, so that whoever looks at test would choose the worst.
    """

    def __init__(self, answer: Answer, patience: int | None = None, shuffle: int = 0) -> None:
        self.answer, self.patience = answer, patience
        self.fits = self.audits = 0
        self.workers = 1
        self._queue: list[Job] = []
        self._rng = np.random.default_rng(shuffle)

    def submit(self, job: Job) -> None:
        self._queue.append(job)

    def events(self) -> Iterator[Event]:
        while self._queue:
            if self.patience is not None:
                self.patience -= 1
                if self.patience < 0:
                    raise KeyboardInterrupt
            job = self._queue.pop(int(self._rng.integers(len(self._queue))))
            yield Started(job)
            yield Finished(job, self._result(job), 1.0)

    def stop(self) -> None:
        self._queue.clear()

    def _result(self, job: Job) -> Any:
        if isinstance(job, FitJob):
            self.fits += len(job.keys)
            return [self._fit(job, i) for i in range(len(job.keys))]
        if isinstance(job, AuditJob):
            self.audits += len(job.keys)
            arrays = pickle.loads(pickle.dumps(job)).arrays  # as its process would have them
            return [
                Measurement(key, self._values(float(arrays[f"{n}/value"])), 1.0, "")
                for key, n in zip(job.keys, job.numbers, strict=True)
            ]
        assert isinstance(job, ReferenceJob)
        return [Measurement(job.key, dict.fromkeys(sorted(REFERENCE_FIGURES), 1.0), 1.0, "")]

    def _fit(self, job: FitJob, i: int) -> UnitResult:
        point = job.units[i].point
        assert point is not None
        params = job.params.model_dump()
        answer = self.answer(params, job.units[i].seed)
        if isinstance(answer, Status):
            return UnitResult(job.keys[i], answer, "loss nan at step 3")
        return UnitResult(
            job.keys[i],
            Status.DONE,
            points=(point,),
            arrays={"0/value": np.array(answer)},
            costs={"train_seconds": 1.0, "flops": 1e6 * params["size"]},
            hardware={"device": "cpu", "processor": "x"},
            versions={"torch": "x"},
        )

    @staticmethod
    def _values(x: float) -> dict[str, float | None]:
        return {
            "distortion_validation": x,
            "mutual_information_validation": x,
            "distortion": 0.5 - x,
            "mutual_information": 0.5 - x,
        }


class Bench:
    """Searches of one results folder."""

    def __init__(self, prepared: Prepared, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.data, self.folder, self._patch = prepared, folder, monkeypatch
        self.registry = Registry()
        self.registry.methods.add(Bowl, "test")
        self.registry.metrics.add(Aufdc, "test")
        self.method: type[Method] = Bowl

    def store(self) -> Store:
        return Store.in_folder(self.folder)

    def run_config(self, **given: Any) -> RunConfig:
        fixed = {
            "methods": (self.method.name,),
            "datasets": (self.data.info.name,),
            "seeds": (FIRST_SEED,),
            "budget": 10,
            "results": self.folder,
        }
        return RunConfig(**{**fixed, **given})

    def prepare(self, *, run: Mapping[str, Any] | None = None, **given: Any) -> Search:
        options = {"run": self.run_config(**(run or {})), "trials": 12, **given}
        config = build_config(SearchConfig, **options)
        return Search(
            config,
            self.registry,
            self.data,
            self.store(),
            "cpu",
            workers=1,
            command="fairbench search",
        )

    def search(self, executor: Executor | None = None, **given: Any) -> Search:
        search = self.prepare(**given)
        self.go(search, executor or Answers(bowl))
        return search

    def go(self, search: Search, executor: Executor) -> None:
        self._patch.setattr("fairbench.search.study.make_executor", lambda *a, **k: executor)
        with search:
            search.run(lambda jobs: nullcontext(lambda event: None), lambda trial: None)

    def another(self, name: str) -> Bench:
        return Bench(self.data, self.folder.parent / name, self._patch)


@pytest.fixture
def bench(prepared: Prepared, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Bench:
    return Bench(prepared, tmp_path / "out", monkeypatch)


def same(trials: list[Trial]) -> list[tuple[Any, ...]]:
    """All of a trial but whether it came from the store."""
    return [(t.number, t.params, t.outcome, t.values, t.error, t.seconds) for t in trials]


def test_the_area_is_of_selection_points_and_selection_ends() -> None:
    reference = {
        "mutual_information_max_validation": 0.4,
        "distortion_max_validation": 8.0,
        "mutual_information_max": 9.0,
        "distortion_max": 9.0,
    }
    assert validation_area([], reference) == pytest.approx(0.5)
    # A vertex at a quarter of either end: trapezoids .25 (1 + .25) / 2 and .75 * .25 / 2.
    point = {
        "distortion_validation": 2.0,
        "mutual_information_validation": 0.1,
        "distortion": 0.0,
        "mutual_information": 0.0,
    }
    assert validation_area([point], reference) == pytest.approx(0.25)


class LongTrainings(Answers):
    """With 20 iterations areas are those of another bowl; it counts the units that it fitted."""

    def __init__(self) -> None:
        super().__init__(bowl)
        self.long: list[Mapping[str, Any]] = []

    def _fit(self, job: FitJob, i: int) -> UnitResult:
        if job.iterations != 20:
            return super()._fit(job, i)
        self.long.append(job.params.model_dump())
        self.answer = lambda params, seed: 0.5 - bowl(params, seed)
        result = super()._fit(job, i)
        self.answer = bowl
        return result


def test_the_best_trials_are_trained_once_more_and_the_best_of_these_is_the_result(
    bench: Bench,
) -> None:
    executor = LongTrainings()
    search = bench.search(executor, trials=6, finalists=3, final_budget=20)
    by_area = sorted(search.trials, key=lambda trial: trial.values[0])
    assert [final.number for final in search.finals] == [trial.number for trial in by_area[:3]]
    assert {repr(params) for params in executor.long} == {repr(f.params) for f in search.finals}
    # With the long training the order is the reverse.
    assert search.best is not None
    assert search.best.number == by_area[2].number
    assert search.best.values[0] == pytest.approx(0.5 - by_area[2].values[0])
    text = search_files.best_yaml(search, search.best)
    assert "best of 3 finalists" in text
    assert "trained with budget 20" in text
    search_files.write(search)
    table = pd.read_csv(search_files.folder_of(search) / "trials.csv")
    assert table["aufdc_final"].notna().sum() == 3
    again = LongTrainings()
    repeated = bench.search(again, trials=6, finalists=3, final_budget=20)
    assert again.fits == 0
    assert repeated.finals[0].replayed
    assert same(repeated.finals) == same(search.finals)


def test_finalists_have_distinct_hyperparameters_and_there_may_be_too_few(bench: Bench) -> None:
    fixed = {"bowl": {"a": 0.5, "size": 64}}
    search = bench.search(run={"params": fixed}, trials=8, finalists=5, final_budget=20)
    assert sorted(final.params["kind"] for final in search.finals) == ["flat", "round"]


def test_finalists_need_one_objective(bench: Bench) -> None:
    with pytest.raises(ConfigError, match="use --objective aufdc"):
        bench.prepare(finalists=2, objectives="aufdc,cost")
    with pytest.raises(ConfigError, match="'huge' is not full, quick or a number"):
        bench.prepare(finalists=2, final_budget="huge")
    with pytest.raises(ConfigError, match="would repeat the trials"):
        bench.prepare(finalists=2, final_budget=10)
    with pytest.raises(ConfigError, match="more than there are trials"):
        bench.prepare(finalists=13)
    with pytest.raises(ConfigError, match="add --finalists"):
        bench.prepare(final_budget=20)


def test_without_a_complete_finalist_the_best_trial_is_the_result(bench: Bench) -> None:
    class Diverging(Answers):
        def _fit(self, job: FitJob, i: int) -> UnitResult:
            self.answer = bowl if job.iterations == 10 else lambda *_: Status.DIVERGED
            return super()._fit(job, i)

    search = bench.search(Diverging(bowl), finalists=2, final_budget=20)
    assert search.best == min(search.trials, key=lambda trial: trial.values[0])
    assert {final.outcome for final in search.finals} == {TrialOutcome.DIVERGED}
    assert "finalists" not in search_files.best_yaml(search, search.best)
    search_files.write(search)
    table = pd.read_csv(search_files.folder_of(search) / "trials.csv")
    assert (table["state_final"] == "diverged").sum() == 2


def test_numbers_are_short_but_the_defaults_are_as_they_are(bench: Bench) -> None:
    made = {"a": (float, Field(0.123456789, gt=0, le=1)), "__base__": BowlParams}
    params = create_model("ExactParams", **made)  # type: ignore[call-overload]
    bench.method = type("Exact", (Bowl,), {"name": "exact", "Params": params})
    bench.registry.methods.add(bench.method, "test")
    search = bench.search(trials=8)
    first, *rest = (trial.params["a"] for trial in search.trials)
    assert first == 0.123456789
    assert all(value == float(f"{value:.4g}") and 0.01 <= value <= 1 for value in rest)


def test_it_finds_what_is_best_on_selection_and_never_looks_at_test(bench: Bench) -> None:
    search = bench.search(trials=40)
    assert search.best is not None
    assert search.best.values[0] == min(t.values[0] for t in search.trials)
    assert search.best.values[0] < 0.13
    assert search.best.params["kind"] == "round"
    # Trial 0 is the defaults: what is tuned is no worse on validation.
    assert search.trials[0].params == BowlParams().model_dump()
    assert search.trials[0].values[0] == pytest.approx(0.1 + 0.3 * 0.7 + 0.05)


INTERRUPTIONS = list(product(["tpe", "nsga2", "random"], [2, 9, 30]))
QUICK = {("tpe", 2), ("nsga2", 9), ("random", 30)}


@pytest.mark.parametrize(
    ("sampler", "patience"),
    [one if one in QUICK else pytest.param(*one, marks=pytest.mark.slow) for one in INTERRUPTIONS],
)
def test_an_interrupted_search_equals_an_uninterrupted_one(
    bench: Bench, sampler: str, patience: int
) -> None:
    whole = Answers(bowl)
    expected = bench.search(whole, sampler=sampler)
    other = bench.another("other")
    stopped = Answers(bowl, patience=patience, shuffle=1)
    with pytest.raises(KeyboardInterrupt):
        other.search(stopped, sampler=sampler)
    resumed = Answers(bowl, shuffle=2)
    search = other.search(resumed, sampler=sampler)
    assert same(search.trials) == same(expected.trials)
    assert stopped.fits + resumed.fits == whole.fits
    # Once more: everything is in the store.
    again = Answers(bowl, patience=0)
    assert same(other.search(again, sampler=sampler).trials) == same(expected.trials)


def test_trials_is_the_total(bench: Bench) -> None:
    first = bench.search(Answers(bowl), trials=6)
    more = Answers(bowl)
    longer = bench.search(more, trials=9)
    assert same(longer.trials)[:6] == same(first.trials)
    assert [trial.replayed for trial in longer.trials] == [True] * 6 + [False] * 3
    assert more.fits == 2 * 3
    assert len(bench.search(Answers(bowl, patience=0), trials=3).trials) == 3


def test_a_search_ends_with_its_work_and_goes_on_with_more(bench: Bench) -> None:
    each = bench.search(Answers(bowl), trials=1).seconds
    first = bench.search(Answers(bowl), trials=None, work=5 * each)
    assert len(first.trials) == 8  # two batches of four
    more = Answers(bowl)
    longer = bench.search(more, trials=None, work=9 * each)
    assert same(longer.trials)[:8] == same(first.trials)
    assert len(longer.trials) == 12
    assert more.fits == 2 * 4
    assert len(bench.search(trials=10, work=9 * each).trials) == 10
    # Trials that fail at once must end too.
    assert bench.prepare(trials=None, work=9 * each).config.most_trials == 1000


def test_a_search_depends_on_its_seed_and_batch_but_not_on_the_order_of_work(
    bench: Bench,
) -> None:
    expected = bench.search(Answers(bowl), trials=16)
    shuffled = bench.another("shuffled").search(Answers(bowl, shuffle=5), trials=16)
    assert same(shuffled.trials) == same(expected.trials)
    seeded = bench.another("seeded").search(seed=1, trials=16)
    assert same(seeded.trials)[1:] != same(expected.trials)[1:]
    wider = bench.another("wider").search(parallel=8, trials=16)
    assert same(wider.trials) != same(expected.trials)


def test_diverged_and_failed_trials_are_told_and_the_search_goes_on(bench: Bench) -> None:
    def answer(params: Mapping[str, Any], seed: int) -> float | Status:
        if params["a"] > 0.5:
            return Status.DIVERGED
        return Status.FAILED if params["size"] < 20 else bowl(params, seed)

    search = bench.search(Answers(answer), trials=20)
    outcomes = {trial.outcome for trial in search.trials}
    assert outcomes == {TrialOutcome.COMPLETE, TrialOutcome.DIVERGED, TrialOutcome.FAILED}
    assert search.trials[0].outcome is TrialOutcome.DIVERGED  # the defaults
    assert "loss nan" in search.trials[0].error
    assert search.best is not None
    assert search.best.outcome is TrialOutcome.COMPLETE
    # Remembered, not tried again until it is asked for.
    again = bench.search(Answers(bowl, patience=0), trials=20)
    assert same(again.trials) == same(search.trials)
    retried = bench.search(Answers(bowl), trials=20, run={"rerun": "failed"})
    assert all(trial.outcome is TrialOutcome.COMPLETE for trial in retried.trials)


def test_where_every_trial_fails_there_is_no_best(bench: Bench) -> None:
    search = bench.search(Answers(lambda params, seed: Status.FAILED), trials=3)
    assert search.best is None
    written = search_files.write(search)
    assert [path.name for path in written] == ["trials.csv"]


def test_values_are_means_over_seeds(bench: Bench) -> None:
    search = bench.search(trials=1, run={"seeds": (FIRST_SEED, FIRST_SEED + 10)})
    defaults = BowlParams().model_dump()
    expected = (bowl(defaults, FIRST_SEED) + bowl(defaults, FIRST_SEED + 10)) / 2
    assert search.trials[0].values[0] == pytest.approx(expected)


def test_two_objectives_give_the_pareto_set(bench: Bench) -> None:
    def answer(params: Mapping[str, Any], seed: int) -> float:
        return 0.4 - 0.003 * float(params["size"])  # larger is better, and costs more

    search = bench.search(Answers(answer), trials=20, objectives="aufdc,cost", sampler="nsga2")
    front = search.front
    assert len(front) > 3
    areas = [trial.values[0] for trial in front]
    costs = [trial.values[1] for trial in front]
    assert areas == sorted(areas)
    assert costs == sorted(costs, reverse=True)
    assert costs[0] == pytest.approx(16e6 * front[0].params["size"])
    for trial in search.trials:
        assert any(a <= trial.values[0] and c <= trial.values[1] for a, c in zip(areas, costs))  # noqa: B905
    written = {path.name: path for path in search_files.write(search)}
    listed = yaml.safe_load(written["pareto.yaml"].read_text())
    assert [entry["trial"] for entry in listed] == [trial.number for trial in front]
    assert list(pd.read_csv(written["pareto.csv"])["number"]) == [t.number for t in front]
    assert written["pareto.png"].read_bytes().startswith(b"\x89PNG")


def test_files_say_what_was_found(bench: Bench, tmp_path: Path) -> None:
    search = bench.search(trials=20)
    output = tmp_path / "mine.yaml"
    written = {path.name: path for path in search_files.write(search, output)}
    assert set(written) == {
        "trials.csv",
        "best.yaml",
        "history.png",
        "importance.csv",
        "importance.png",
        "mine.yaml",
    }
    assert written["best.yaml"].parent.name == "bowl-adults-gender-simulated"
    frame = pd.read_csv(written["trials.csv"])
    assert list(frame["number"]) == list(range(20))
    assert {"a", "size", "kind", "aufdc", "state", "seconds", "seeds", "points"} <= set(frame)
    assert search.best is not None
    assert frame["aufdc"].min() == pytest.approx(search.best.values[0])
    # The YAML names exactly the models that the trial trained.
    best = yaml.safe_load(output.read_text())
    params = validated(Bowl, best["bowl"])
    budget = make_budget(10, bench.data)
    units = units_of(Bowl, params, bench.data, budget, bench.run_config())
    stored = {row.key for row in bench.store().records(UnitRecord)}
    assert {unit.key for unit in units} <= stored
    importance = pd.read_csv(written["importance.csv"]).set_index("parameter")["aufdc"]
    assert importance.sum() == pytest.approx(1)
    assert importance["a"] > importance["size"]
    # Files of the same trials are the same files.
    before = {name: path.read_bytes() for name, path in written.items()}
    search_files.write(bench.search(Answers(bowl, patience=0), trials=20), output)
    assert {name: path.read_bytes() for name, path in written.items()} == before


def test_trials_are_no_rows_of_the_leaderboard_until_a_run_asks(bench: Bench) -> None:
    search = bench.search(trials=5)
    store = bench.store()
    assert leaderboard.build(store, bench.registry) == []
    assert search.best is not None
    params = validated(Bowl, search.full_params(search.best))
    config = bench.run_config()
    data = bench.data
    plan = Plan(units_of(Bowl, params, data, make_budget(10, data), config))
    run = TrainingRun(config, bench.registry, plan, store, "cpu")
    jobs = run.jobs()
    assert not jobs  # all is there
    run.begin("fairbench run")
    drive(run, Answers(bowl, patience=0), lambda event: None)
    (table,) = leaderboard.build(store, bench.registry)
    assert len(table.leaderboard) == 1
    assert not any(
        row.of_a_trial for row in store.records(UnitRecord) if row.key in run.units.by_key
    )
    # And a search that meets a run's units leaves them to it.
    bench.search(trials=5)
    assert len(leaderboard.build(store, bench.registry)[0].leaderboard) == 1


def test_a_run_takes_over_what_a_search_has_trained_since_it_planned(bench: Bench) -> None:
    config, data, store = bench.run_config(), bench.data, bench.store()
    defaults = validated(Bowl, {})  # which are trial 0
    plan = Plan(units_of(Bowl, defaults, data, make_budget(10, data), config))
    run = TrainingRun(config, bench.registry, plan, store, "cpu")
    jobs = run.jobs()
    assert any(isinstance(job, FitJob) for job in jobs)
    bench.search(trials=1)
    answers = Answers(bowl)
    run.begin("fairbench run")
    drive(run, answers, lambda event: None)
    assert (answers.fits, answers.audits) == (0, 0)
    units = store.find(UnitRecord, list(run.units.by_key))
    assert {row.status for row in units.values()} == {"DONE"}
    assert {row.run for row in units.values()} == {run.id}


def test_what_trials_encoded_is_not_kept_but_a_runs_is(bench: Bench) -> None:
    config, data = bench.run_config(), bench.data
    params = validated(Bowl, {})
    plan = Plan(units_of(Bowl, params, data, make_budget(10, data), config))
    run = TrainingRun(config, bench.registry, plan, bench.store(), "cpu")
    run.begin("fairbench run")
    drive(run, Answers(bowl), lambda event: None)
    files = sorted((bench.folder / "representations").iterdir())
    assert files
    bench.search(trials=5)  # its first trial is that run's
    assert sorted((bench.folder / "representations").iterdir()) == files


def test_held_parameters_are_not_searched(bench: Bench) -> None:
    search = bench.search(trials=6, run={"params": {"bowl": {"kind": "round", "size": 32}}})
    assert set(search.space) == {"a"}
    assert all(set(trial.params) == {"a"} for trial in search.trials)
    assert search.best is not None
    assert search.full_params(search.best)["kind"] == "round"
    with pytest.raises(ConfigError, match="holds all that bowl could search"):
        bench.prepare(run={"params": {"bowl": {"kind": "round", "size": 32, "a": 0.5}}})


def test_a_trial_that_is_not_measured_whole_is_told(bench: Bench) -> None:
    class Lazy(Answers):
        def events(self) -> Iterator[Event]:
            for event in super().events():
                if isinstance(event, Finished) and isinstance(event.job, AuditJob):
                    event = Finished(event.job, [], 1.0)
                yield event

    with pytest.raises(StoreError, match="another run"):
        bench.search(Lazy(bowl), trials=2)
    assert bench.search(trials=2).best is not None


def test_two_searches_at_once_share_the_work_and_find_the_same(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Slow(Answers):
        def _result(self, job: Job) -> Any:
            time.sleep(0.02)
            return super()._result(job)

    alone = Slow(bowl)
    whole = bench.another("alone").search(alone, trials=8)
    executors = [Slow(bowl), Slow(bowl, shuffle=1)]
    given = iter(executors)
    monkeypatch.setattr("fairbench.search.study.make_executor", lambda *a, **k: next(given))
    eager = functools.partial(SharedExecutor, look_every=0.01)
    monkeypatch.setattr("fairbench.runs.driver.SharedExecutor", eager)
    searches = [bench.prepare(trials=8) for _ in executors]

    def run(search: Search) -> list[tuple[Any, ...]]:
        with search:
            search.run(lambda jobs: nullcontext(lambda event: None), lambda trial: None)
        return same(search.trials)

    with ThreadPoolExecutor(2) as pool:
        finished = list(pool.map(run, searches))
    assert finished == [same(whole.trials)] * 2
    assert alone.fits == sum(executor.fits for executor in executors)
    assert alone.audits == sum(executor.audits for executor in executors)


def _declares(name: str, **space: Any) -> type[Method]:
    return type("Made", (Bowl,), {"name": name, "search_space": lambda self: space})


def test_bad_spaces_are_told() -> None:
    from optuna.distributions import CategoricalDistribution, FloatDistribution

    with pytest.raises(ConfigError, match="nothing to search"):
        search_space(_declares("none"), {})
    with pytest.raises(CheckError, match="'b', not a parameter"):
        search_space(_declares("unknown", b=FloatDistribution(0, 1)), {})
    with pytest.raises(CheckError, match="not one of"):
        search_space(_declares("plain", a=(0, 1)), {})
    with pytest.raises(CheckError, match="outside what its Params take"):
        search_space(_declares("wide", a=FloatDistribution(0.1, 2.0)), {})
    with pytest.raises(CheckError, match="outside what its Params take"):
        search_space(_declares("word", size=CategoricalDistribution([1, "many"])), {})


@pytest.mark.parametrize(
    ("given", "error", "says"),
    [
        ({"trials": 0}, ConfigError, "trials"),
        ({"parallel": 0}, ConfigError, "parallel"),
        ({"seed": -1}, ConfigError, "seed"),
        ({"objectives": "aufcd"}, UnknownNameError, "'aufdc'"),
        ({"objectives": "cost"}, ConfigError, "leaves out aufdc"),
        ({"objectives": ""}, ConfigError, "leaves out aufdc"),
        ({"sampler": "tpee"}, ConfigError, "sampler"),
        ({"run": {"rerun": "all"}}, ConfigError, "--rerun failed"),
        ({"run": {"params": {"bowl": {"c": 1}}}}, UnknownNameError, "'c'"),
    ],
)
def test_bad_requests_are_told(
    bench: Bench, given: dict[str, Any], error: type[Exception], says: str
) -> None:
    with pytest.raises(error, match=says):
        bench.prepare(**given)


def test_optuna_says_nothing(bench: Bench, capfd: pytest.CaptureFixture[str]) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        search_files.write(bench.search(trials=14))
    printed = capfd.readouterr()
    assert printed.out == ""
    assert printed.err == ""
