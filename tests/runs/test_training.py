"""What a training run leaves in the store."""

from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from fairbench.data.prepared import Prepared
from fairbench.runs import plan, training
from fairbench.runs.driver import drive
from fairbench.runs.fit_job import FitJob
from fairbench.runs.hyperparameters import validate_params
from fairbench.runs.plan import Plan, make_budget, units_of
from fairbench.runs.training import TrainingRun
from fairbench.store.records import PointRecord, UnitRecord
from fairbench.training.stack_size import CONTEXT_BYTES
from tests.search.bench import Answers, Bench, Bowl, bowl


@pytest.fixture
def bench(prepared: Prepared, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Bench:
    return Bench(prepared, tmp_path / "out", monkeypatch)


def planned(bench: Bench, device: str = "cpu", **given: object) -> TrainingRun:
    config, store = bench.run_config(**given), bench.store()
    budget = make_budget(10, bench.data)
    plan = Plan(units_of(Bowl, validate_params(Bowl, {}), bench.data, budget, config))
    return TrainingRun(config, bench.registry, plan, store, device)


def fit_jobs(bench: Bench) -> list[FitJob]:
    """Trainings of a run on a GPU."""
    return [job for job in planned(bench, "cuda").jobs() if isinstance(job, FitJob)]


def run(bench: Bench, **given: object) -> None:
    made = planned(bench, **given)
    made.begin("fairbench run")
    drive(made, Answers(bowl), lambda event: None)


def test_training_again_deletes_what_other_audits_measured_of_the_old_model(bench: Bench) -> None:
    run(bench)
    store = bench.store()
    first = store.records(PointRecord)
    store.put([p.replace(key=p.key[::-1], audit="quick", finished="2020-01-01") for p in first])
    strangers = first[0].replace(key="f" * 64, unit="e" * 64)
    store.put([strangers])
    run(bench)  # nothing is trained, so nothing is deleted
    assert len(store.records(PointRecord)) == 2 * len(first) + 1
    run(bench, rerun="all")
    again = store.records(PointRecord)
    assert {p.key for p in again} == {p.key for p in first} | {strangers.key}
    assert all(p.done for p in again)


@pytest.mark.parametrize(("free", "at_once"), [(2.5e9, 1), (5e9, 3), (20e9, 10)])
def test_jobs_beside_each_other_fit_the_memory_that_others_leave(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, free: float, at_once: int
) -> None:
    monkeypatch.setattr(training, "free_device_bytes", lambda device: [free])
    (job,) = fit_jobs(bench)
    assert round(1 / job.gpus) == at_once
    assert at_once * CONTEXT_BYTES < free


def test_a_method_that_does_not_use_a_gpu_takes_none_of_it(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is told to use the CPU, and stacks are as on one."""
    monkeypatch.setattr(training, "free_device_bytes", lambda device: [20e9] * 2)
    on_gpu = fit_jobs(bench)
    assert {job.device for job in on_gpu} == {"cuda"}
    assert len(on_gpu) == 2
    monkeypatch.setattr(Bowl, "uses_gpu", False)
    (job,) = fit_jobs(bench)
    assert (job.device, job.gpus) == ("cpu", 0)
    assert job.checkpoint is not None
    assert "cuda" not in job.checkpoint.name


def test_estimates_of_a_fit_are_of_past_units_of_its_method_and_dataset(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    run(bench)
    store = bench.store()
    (unit, *_) = store.records(UnitRecord)
    store.put([unit.replace(key=f"{i:064x}", method="another") for i in range(5)])
    seen: list[UnitRecord] = []

    def estimate(*given: Any, **_: int) -> float:
        seen.extend(given[-1])
        return 1.0

    monkeypatch.setattr(training, "fit_seconds", estimate)
    planned(bench, rerun="all").jobs()
    assert {one.method for one in seen} == {"bowl"}


def test_methods_whose_code_has_changed_are_named_before_they_are_trained_again(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert planned(bench).methods_with_changed_code() == [], "nothing was trained before"
    run(bench)
    assert planned(bench).methods_with_changed_code() == []
    assert planned(bench, rerun="all").methods_with_changed_code() == [], (
        "it is trained again as it was asked for"
    )
    monkeypatch.setattr(plan, "code_of", lambda method: "0" * 16)
    assert planned(bench).methods_with_changed_code() == ["bowl"]


def test_a_limit_of_time_has_several_checkpoints_within(bench: Bench) -> None:
    (job, *_) = (one for one in planned(bench, timeout=60).jobs() if isinstance(one, FitJob))
    assert job.checkpoint_every == 15
    (job, *_) = (one for one in planned(bench).jobs() if isinstance(one, FitJob))
    assert job.checkpoint_every == 300


def test_a_fit_that_begins_anew_deletes_the_checkpoint_once(bench: Bench) -> None:
    """Before it is submitted: one that is restarted goes on with what it wrote since."""
    training = planned(bench, rerun="all")
    (job, *_) = (one for one in training.jobs() if isinstance(one, FitJob))
    assert job.checkpoint is not None
    job.checkpoint.parent.mkdir(exist_ok=True)
    job.checkpoint.write_bytes(b"of an earlier run")
    assert not training.is_settled(job)
    assert not job.checkpoint.exists()


def test_a_model_that_gives_other_codes_than_before_is_another_one(bench: Bench) -> None:
    """A model of another machine is: figures of both would make no curve."""
    run(bench)
    for file in (bench.folder / "representations").iterdir():
        file.unlink()
    with bench.store().engine.begin() as connection:
        connection.execute(sa.text("DELETE FROM points"))
    ledger = planned(bench).units
    before = {unit.key: unit for unit in bench.store().records(UnitRecord)}
    assert all(not ledger.is_another_model(unit) for unit in before.values())
    other = [unit.replace(artefact="0" * 64 + ".npz") for unit in before.values()]
    made = planned(bench)
    made.begin("fairbench run")
    assert all(made.units.is_another_model(unit) for unit in other)
    assert not any(made.units.is_another_model(unit) for unit in before.values())
    drive(made, Answers(lambda params, seed: bowl(params, seed) + 0.01), lambda event: None)
    after = {unit.key: unit.artefact for unit in bench.store().records(UnitRecord)}
    assert all(after[key] != unit.artefact for key, unit in before.items())
