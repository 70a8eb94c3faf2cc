"""A search: the same trials whatever interrupts it, chosen on the validation role alone."""

from __future__ import annotations

import functools
import shutil
import time
import warnings
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from itertools import product
from typing import Any, Self

import pytest
from optuna.distributions import CategoricalDistribution
from pydantic import Field, create_model, model_validator

from fairbench.api import DatasetInfo
from fairbench.api.method import Method
from fairbench.data.prepare import prepare
from fairbench.data.splits import rotating
from fairbench.errors import CheckError, ConfigError, PluginError, StoreError, UnknownNameError
from fairbench.report import search_files
from fairbench.runs.audit_job import AuditJob
from fairbench.runs.executors.base import Event, Failed, Finished
from fairbench.runs.executors.shared import SharedExecutor
from fairbench.runs.fit_job import FitJob
from fairbench.runs.job import Job
from fairbench.runs.unit_result import UnitResult
from fairbench.search.space import search_space
from fairbench.search.study import FIRST_SEED, Search
from fairbench.search.trials import TrialOutcome, validation_area
from fairbench.store.status import Status
from fairbench_datasets.adults import AdultsGender
from tests.search.bench import Answers, Bench, Bowl, BowlParams, bowl, same
from tests.support.small_table import make_table


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


def test_drawn_settings_that_the_method_refuses_are_failed_trials(bench: Bench) -> None:
    class Picky(Bowl):
        name = "picky"

        def supports(self, info: DatasetInfo) -> str | None:
            return "it needs a flat table" if self.params.kind == "round" else None

    bench.method = Picky
    bench.registry.methods.add(Picky, "test")
    search = bench.search(trials=8)
    refused = [trial for trial in search.trials if trial.params["kind"] == "round"]
    assert refused
    assert {trial.outcome for trial in refused} == {TrialOutcome.FAILED}
    assert {trial.error for trial in refused} == {"it needs a flat table"}
    others = [trial for trial in search.trials if trial.params["kind"] == "flat"]
    assert {trial.outcome for trial in others} == {TrialOutcome.COMPLETE}


def test_drawn_settings_at_which_a_check_of_the_plugin_raises_are_failed_trials(
    bench: Bench,
) -> None:
    class Tables(BowlParams):
        @model_validator(mode="after")
        def _look_up(self) -> Self:
            if self.size < 32:
                _ = {"flat": 1}[self.kind]  # no ValueError, of which pydantic would make its own
            return self

    class Looking(Bowl):
        name = "looking"
        Params = Tables

    bench.method = Looking
    bench.registry.methods.add(Looking, "test")
    search = bench.search(trials=16)
    raised = [t for t in search.trials if t.params["size"] < 32 and t.params["kind"] == "round"]
    assert raised
    assert {trial.outcome for trial in raised} == {TrialOutcome.FAILED}
    assert all("KeyError: 'round'" in trial.error for trial in raised)
    others = [trial for trial in search.trials if trial not in raised]
    assert {trial.outcome for trial in others} == {TrialOutcome.COMPLETE}


def test_ends_of_a_range_are_checked_beside_what_is_held(bench: Bench) -> None:
    class Below(BowlParams):
        b: float = 0.95

        @model_validator(mode="after")
        def _ordered(self) -> Self:
            if self.a > self.b:
                raise ValueError("a is at most b")
            return self

    method = type("Under", (Bowl,), {"name": "under", "Params": Below})
    assert "a" in search_space(method, {"b": 1.0})
    with pytest.raises(CheckError, match="a is at most b"):
        search_space(method, {})


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


@pytest.mark.thorough
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


@pytest.mark.thorough
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


def test_what_fails_again_is_tried_again_once(bench: Bench) -> None:
    """A small space gives a setting to many trials, over several batches."""
    fits: list[float] = []

    def fails(params: Mapping[str, Any], seed: int) -> Status:
        fits.append(params["size"])
        return Status.FAILED

    class OfThreeSizes(Bowl):
        name = "of-three-sizes"

        def search_space(self) -> Mapping[str, Any]:
            return {"size": CategoricalDistribution([8, 64, 128])}

    bench.registry.methods.add(OfThreeSizes, "test")
    bench.method = OfThreeSizes
    bench.search(Answers(fails), trials=12)
    once = sorted(fits)
    fits.clear()
    again = bench.search(Answers(fails), trials=12, run={"rerun": "failed"})
    assert sorted(fits) == once
    assert not again.trials[0].replayed


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


def test_values_are_means_over_splits(bench: Bench) -> None:
    table = make_table()
    bench.splits = [
        prepare(table, AdultsGender, source="simulated", origin="test", split=split)
        for split in rotating(2)
    ]
    fold_areas = {bench.splits[0].fingerprint: 0.1, bench.splits[1].fingerprint: 0.4}

    class ByFold(Answers):
        def _fit(self, job: FitJob, i: int) -> UnitResult:
            self.answer = lambda *_: fold_areas[job.data.fingerprint]
            return super()._fit(job, i)

    executor = ByFold(bowl)
    search = bench.search(executor, trials=1)
    assert search.trials[0].values[0] == pytest.approx(0.25)
    assert search.trials[0].curves == 2
    assert executor.fits == 4  # two points on each fold
    assert search.best is not None
    assert "on the validation sets of 2 splits" in search_files.best_yaml(search, search.best)


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


class Slow(Answers):
    """Every fit ends at its limit of time."""

    def events(self) -> Iterator[Event]:
        for event in super().events():
            if isinstance(event, Finished) and isinstance(event.job, FitJob):
                event = Failed(event.job, Status.TIMEOUT, "killed after 3 s", None, 3.0)
            yield event


def test_a_trial_that_cannot_be_trained_again_says_so_and_blames_no_other_run(
    bench: Bench,
) -> None:
    with pytest.raises(KeyboardInterrupt):  # trained, and not yet audited
        bench.search(Answers(bowl, patience=6))
    shutil.rmtree(bench.folder / "representations")
    with pytest.raises(StoreError, match=r"gave nothing \(TIMEOUT: killed after 3 s\)"):
        bench.search(Slow(bowl))
    whole = bench.another("whole").search()
    assert same(bench.search().trials) == same(whole.trials)


@pytest.mark.thorough
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
    monkeypatch.setattr("fairbench.search.runner.make_executor", lambda *a, **k: next(given))
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
    raises = type("Made", (Bowl,), {"name": "raises", "search_space": lambda self: 1 // 0})
    with pytest.raises(PluginError, match="of raises raised ZeroDivisionError"):
        search_space(raises, {})


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


@pytest.mark.thorough
def test_optuna_says_nothing(bench: Bench, capfd: pytest.CaptureFixture[str]) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        search_files.write(bench.search(trials=14))
    printed = capfd.readouterr()
    assert printed.out == ""
    assert printed.err == ""
