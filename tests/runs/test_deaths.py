"""How a process died that gave no result."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest

from fairbench.runs import deaths
from fairbench.runs.deaths import how_it_died, processes_killed_for_memory
from fairbench.runs.executors import inline
from fairbench.runs.executors.base import Failed
from fairbench.runs.executors.inline import InlineExecutor
from fairbench.store.status import Status
from tests.support.jobs import Work


@pytest.fixture
def counters(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    file = tmp_path / "vmstat"
    file.write_text("nr_free_pages 4711\noom_kill 3\n")
    monkeypatch.setattr(deaths, "_COUNTERS", file)
    return file


def test_a_process_that_was_killed_while_the_kernel_killed_was_out_of_memory(
    counters: Path,
) -> None:
    assert processes_killed_for_memory() == 3
    assert how_it_died(-signal.SIGKILL, 2)[0] is Status.OOM
    # By somebody else, or by another signal meanwhile.
    assert how_it_died(-signal.SIGKILL, 3)[0] is Status.CRASHED
    assert how_it_died(-signal.SIGSEGV, 2) == (
        Status.CRASHED,
        "the process was ended by SIGSEGV",
    )


@pytest.mark.parametrize("content", [None, "", "oom_kill", "oom_kill many\n", "a b c\n"])
def test_where_nothing_is_counted_it_is_asked(counters: Path, content: str | None) -> None:
    if content is None:
        counters.unlink()
    else:
        counters.write_text(content)
    assert processes_killed_for_memory() == 0
    status, text = how_it_died(-signal.SIGKILL, 0)
    assert status is Status.CRASHED
    assert "was the machine out of memory?" in text


@pytest.mark.thorough
def test_a_job_that_the_kernel_kills_for_memory_ends_as_one_that_ran_out_of_it(
    counters: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(inline, "processes_killed_for_memory", lambda: 2)  # when it starts
    executor = InlineExecutor(workers=1, timeout=None)
    executor.submit(Work("kill"))  # type: ignore[arg-type]
    *_, end = executor.events()
    executor.stop()
    assert isinstance(end, Failed)
    assert (end.status, end.error) == (
        Status.OOM,
        "the process was killed, as the machine was out of memory",
    )
