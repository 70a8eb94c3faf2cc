"""PyTorch's header is compiled before jobs take memory, where one of them needs it."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import psutil
import pytest

from fairbench.registry import load_registry
from fairbench.runs.executors import inline, worker
from fairbench.runs.executors.inline import InlineExecutor
from fairbench.runs.fit_job import FitJob
from fairbench.training.compiler import compiler_is_there
from tests.support.jobs import Work

pytestmark = pytest.mark.skipif(not compiler_is_there(), reason="there is no C++ compiler")


def fit(method: str, iterations: int, device: str = "cpu") -> FitJob:
    cls = load_registry().methods[method]
    nothing: Any = None
    return FitJob(method, method, 1, 1, cls, cls.Params(), nothing, (), (), iterations, device, 8)


@pytest.fixture
def executor() -> Iterator[InlineExecutor]:
    made = InlineExecutor(workers=1, timeout=None)
    yield made
    made.stop()


class Noting:
    """Notes that it was called, in the process where that happens."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def __call__(self) -> None:
        (self.folder / f"{time.time_ns()}").touch()


def hang() -> None:
    time.sleep(600)


def test_it_is_made_once_and_only_for_long_trainings_here(
    executor: InlineExecutor, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(worker, "compile_header", Noting(tmp_path))
    executor.expect(Work("hello", id="a"))  # type: ignore[arg-type]
    executor.expect(fit("pca", 27_000))
    executor.expect(fit("sofair", 2_700))
    executor.expect(fit("sofair", 27_000, "cuda"))
    assert not [*tmp_path.iterdir()]
    executor.expect(fit("sofair", 27_000))
    executor.expect(replace(fit("latfr", 27_000), id="another"))
    assert len([*tmp_path.iterdir()]) == 1


def test_jobs_wait_for_it_only_so_long(
    executor: InlineExecutor, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(worker, "compile_header", hang)
    monkeypatch.setattr(inline, "_LONGEST_COMPILATION", 0.2)
    executor.prepare()
    before = {child.pid for child in psutil.Process().children(recursive=True)}
    executor.expect(fit("sofair", 27_000))
    after = {child.pid for child in psutil.Process().children(recursive=True)}
    assert after <= before
