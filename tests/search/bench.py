"""A search whose trials are answered by a function: no model is trained."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator, Mapping
from contextlib import nullcontext
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest
from pydantic import Field

from fairbench.api import Knob, Point
from fairbench.api.method import Method, Params
from fairbench.config import RunConfig, build_config
from fairbench.data.prepared import Prepared
from fairbench.metrics.aufdc import Aufdc
from fairbench.registry import Registry
from fairbench.runs.audit_job import AuditJob, Measurement, ReferenceJob
from fairbench.runs.audits import REFERENCE_FIGURES
from fairbench.runs.executors.base import Event, Executor, Finished, Started
from fairbench.runs.fit_job import FitJob
from fairbench.runs.job import Job
from fairbench.runs.unit_result import UnitResult
from fairbench.search.config import SearchConfig
from fairbench.search.study import FIRST_SEED, Search
from fairbench.search.trials import Trial
from fairbench.store.database import Store
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
    uses_gpu = True
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
                Measurement(
                    key, self._values(float(arrays[f"{n}/value"])), 9.0, "", processor_seconds=1.0
                )
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
            costs = {"processor_seconds": 2.0}
            return UnitResult(job.keys[i], answer, "loss nan at step 3", costs=costs)
        return UnitResult(
            job.keys[i],
            Status.DONE,
            points=(point,),
            arrays={"0/value": np.array(answer)},
            costs={"train_seconds": 9.0, "processor_seconds": 2.0, "flops": 1e6 * params["size"]},
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
        self.splits = [prepared]
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
            self.splits,
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
        self._patch.setattr("fairbench.search.runner.make_executor", lambda *a, **k: executor)
        with search:
            search.run(lambda jobs: nullcontext(lambda event: None), lambda trial: None)

    def another(self, name: str) -> Bench:
        return Bench(self.data, self.folder.parent / name, self._patch)


def same(trials: list[Trial]) -> list[tuple[Any, ...]]:
    """All of a trial but whether it came from the store."""
    return [(t.number, t.params, t.outcome, t.values, t.error, t.seconds) for t in trials]
