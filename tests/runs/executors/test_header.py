"""PyTorch's header is compiled before jobs take memory, where trainings will be compiled."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import time
from collections.abc import Iterator

import psutil
import pytest

from fairbench.runs.executors import inline
from fairbench.runs.executors.base import Finished
from fairbench.runs.executors.inline import InlineExecutor
from tests.support.jobs import Work


class Header:
    """Stands for the compilation of the header, which takes some seconds."""

    def __init__(self) -> None:
        self.is_compiled = False
        self.seconds = 0.5
        self.started: list[subprocess.Popen[bytes]] = []

    def start(self) -> subprocess.Popen[bytes]:
        # What ends it must end its child, g++, too.
        call = f"import subprocess; subprocess.run(['sleep', '{self.seconds}'])"
        self.started.append(subprocess.Popen([sys.executable, "-c", call], start_new_session=True))
        return self.started[-1]

    def assert_ended(self) -> None:
        for process in self.started:
            assert process.poll() is not None
            assert not list(_alive_in_session(process.pid))


def _alive_in_session(leader: int) -> Iterator[int]:
    for process in psutil.process_iter(["pid", "status"]):
        with contextlib.suppress(OSError):  # it ended meanwhile
            if os.getsid(process.pid) == leader and process.info["status"] != "zombie":
                yield process.pid


@pytest.fixture
def header(monkeypatch: pytest.MonkeyPatch) -> Header:
    made = Header()
    monkeypatch.setattr(inline, "header_is_compiled", lambda: made.is_compiled)
    monkeypatch.setattr(inline, "start_compiling_header", made.start)
    return made


@pytest.fixture
def executor(header: Header) -> Iterator[InlineExecutor]:
    made = InlineExecutor(workers=1, timeout=None)
    yield made
    made.stop()
    header.assert_ended()


def run_a_job(executor: InlineExecutor) -> None:
    executor.submit(Work("hello", id="hello"))  # type: ignore[arg-type]
    assert [e.result for e in executor.events() if isinstance(e, Finished)] == ["hello"]


@pytest.mark.thorough
def test_jobs_start_once_it_is_there(executor: InlineExecutor, header: Header) -> None:
    begun = time.monotonic()
    executor.prepare(compiler=True)
    (process,) = header.started
    assert process.poll() is None  # meanwhile the caller plans the jobs
    run_a_job(executor)
    assert time.monotonic() - begun >= header.seconds
    assert process.returncode == 0


@pytest.mark.thorough
def test_jobs_wait_for_it_only_so_long(
    executor: InlineExecutor, header: Header, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(inline, "_LONGEST_COMPILATION", 0.2)
    header.seconds = 600
    executor.prepare(compiler=True)
    run_a_job(executor)
    header.assert_ended()


def test_it_ends_with_a_run_that_has_no_jobs(executor: InlineExecutor, header: Header) -> None:
    header.seconds = 600
    executor.prepare(compiler=True)
    executor.stop()
    header.assert_ended()


def test_it_is_compiled_only_where_it_is_needed(executor: InlineExecutor, header: Header) -> None:
    executor.prepare()
    header.is_compiled = True
    executor.prepare(compiler=True)
    assert not header.started
