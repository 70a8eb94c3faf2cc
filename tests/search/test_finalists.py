"""The best trials are trained once more, and the best of these is the result."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd
import pytest

from fairbench.cli.progress import TrialDisplay
from fairbench.errors import ConfigError
from fairbench.report import search_files
from fairbench.runs.fit_job import FitJob
from fairbench.runs.unit_result import UnitResult
from fairbench.search.trials import TrialOutcome
from fairbench.store.status import Status
from tests.search.bench import Answer, Answers, Bench, BowlParams, bowl, same


def reverse(params: Mapping[str, Any], seed: int) -> float:
    return 0.5 - bowl(params, seed)


def reverse_but_of_the_defaults(params: Mapping[str, Any], seed: int) -> float:
    return 0.5 if params["a"] == BowlParams().a else reverse(params, seed)


class LongTrainings(Answers):
    """With 20 iterations areas are those that are ``given``; it lists the units that it fitted."""

    def __init__(self, given: Answer = reverse_but_of_the_defaults) -> None:
        super().__init__(bowl)
        self.given = given
        self.long: list[Mapping[str, Any]] = []

    def _fit(self, job: FitJob, i: int) -> UnitResult:
        if job.iterations != 20:
            return super()._fit(job, i)
        self.long.append(job.params.model_dump())
        self.answer = self.given
        result = super()._fit(job, i)
        self.answer = bowl
        return result


def test_the_best_trials_are_trained_once_more_and_the_best_of_these_is_the_result(
    bench: Bench,
) -> None:
    executor = LongTrainings()
    search = bench.search(executor, trials=6, finalists=3, final_budget=20)
    by_area = sorted(search.trials, key=lambda trial: trial.values[0])
    assert [final.number for final in search.finals] == [0, *(t.number for t in by_area[:3])]
    assert {repr(params) for params in executor.long} == {repr(f.params) for f in search.finals}
    # With the long training the order is the reverse, but for the defaults.
    assert search.best is not None
    assert search.best.number == by_area[2].number
    assert search.best.values[0] == pytest.approx(0.5 - by_area[2].values[0])
    text = search_files.best_yaml(search, search.best)
    assert "best of 4 finalists" in text
    assert "trained with budget 20, 0.5000 with the defaults" in text
    search_files.write(search)
    table = pd.read_csv(search_files.folder_of(search) / "trials.csv")
    assert table["aufdc_final"].notna().sum() == 4
    again = LongTrainings()
    repeated = bench.search(again, trials=6, finalists=3, final_budget=20)
    assert again.fits == 0
    assert repeated.finals[0].replayed
    assert same(repeated.finals) == same(search.finals)


def test_the_defaults_are_the_result_where_they_are_better_with_the_long_training(
    bench: Bench,
) -> None:
    executor = LongTrainings(reverse)
    search = bench.search(executor, trials=12, finalists=1, final_budget=20)
    # They are far from the best of the trials.
    assert sorted(trial.values[0] for trial in search.trials).index(search.trials[0].values[0]) > 3
    assert len(search.finals) == 2
    assert search.best is not None
    assert search.best.final
    assert search.best.params == BowlParams().model_dump()
    assert search.trial_of_defaults == search.best


def test_defaults_that_are_among_the_best_are_trained_once(bench: Bench) -> None:
    search = bench.search(LongTrainings(), trials=4, finalists=4, final_budget=20)
    assert sorted(final.number for final in search.finals) == [0, 1, 2, 3]
    assert search.most_finalists == 5


def test_the_time_left_counts_the_finalists(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    # As trials of these tests take no time, that of a finalist has to be long.
    monkeypatch.setattr("fairbench.cli.progress.trial_seconds", lambda search, budget: 1e9)
    for finalists in (0, 3):
        final = {"finalists": finalists, "final_budget": 20} if finalists else {}
        search = bench.another(str(finalists)).prepare(trials=4, **final)
        display = TrialDisplay(search)
        monkeypatch.setattr("fairbench.search.runner.make_executor", lambda *a, **k: Answers(bowl))
        with search:
            search.run(display.watch, display.report)
        trials = [line for line in capsys.readouterr().err.splitlines() if line.startswith("trial")]
        assert (" left" in trials[-1]) == (finalists > 0)


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
    assert (table["state_final"] == "diverged").sum() == 3  # the defaults, too
