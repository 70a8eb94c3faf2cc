"""What a search leaves behind: its files, and what runs take over."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import yaml

from fairbench.errors import StoreError
from fairbench.leaderboard import build as leaderboard
from fairbench.report import search_files
from fairbench.runs.driver import drive
from fairbench.runs.fit_job import FitJob
from fairbench.runs.hyperparameters import validate_params
from fairbench.runs.plan import Plan, make_budget, units_of
from fairbench.runs.training import TrainingRun
from fairbench.store.records import UnitRecord
from tests.search.bench import Answers, Bench, Bowl, bowl


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
    assert {"a", "size", "kind", "aufdc", "state", "seconds", "curves", "points"} <= set(frame)
    assert search.best is not None
    assert frame["aufdc"].min() == pytest.approx(search.best.values[0])
    # The YAML names exactly the models that the trial trained.
    best = yaml.safe_load(output.read_text())
    params = validate_params(Bowl, best["bowl"])
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


@pytest.mark.thorough
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


def test_files_of_an_earlier_search_stay_where_new_ones_cannot_be_written(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    search = bench.search(trials=5)
    stale = search_files.folder_of(search) / "pareto.csv"
    stale.parent.mkdir(parents=True)
    stale.write_text("of an earlier search")

    def refuse(path: Path, content: bytes) -> None:
        raise StoreError(f"{path} cannot be written")

    with monkeypatch.context() as patch:
        patch.setattr(search_files, "write_file", refuse)
        with pytest.raises(StoreError):
            search_files.write(search)
    assert stale.exists()
    search_files.write(search)
    assert not stale.exists()


def test_trials_are_no_rows_of_the_leaderboard_until_a_run_asks(bench: Bench) -> None:
    search = bench.search(trials=5)
    store = bench.store()
    assert leaderboard.build(store, bench.registry) == []
    assert search.best is not None
    params = validate_params(Bowl, search.full_params(search.best))
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
    defaults = validate_params(Bowl, {})  # which are trial 0
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
    params = validate_params(Bowl, {})
    plan = Plan(units_of(Bowl, params, data, make_budget(10, data), config))
    run = TrainingRun(config, bench.registry, plan, bench.store(), "cpu")
    run.begin("fairbench run")
    drive(run, Answers(bowl), lambda event: None)
    files = sorted((bench.folder / "representations").iterdir())
    assert files
    bench.search(trials=5)  # its first trial is that run's
    assert sorted((bench.folder / "representations").iterdir()) == files
