"""One set of promises that every executor keeps."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from fairbench.runs.executors.base import (
    Event,
    Executor,
    Failed,
    Finished,
    Printed,
    Progressed,
    Started,
)
from fairbench.runs.executors.in_process import InProcessExecutor
from fairbench.runs.executors.inline import InlineExecutor
from fairbench.store.status import Status
from tests.support.jobs import Unimportable, Work, assert_none_lives, runs

pytestmark = pytest.mark.thorough


class ExecutorTestCase:
    """Subclass it and give ``make``."""

    def make(self, timeout: float | None = None) -> Executor:
        raise AssertionError("give an executor")

    @pytest.fixture
    def executor(self) -> Iterator[Executor]:
        made = self.make()
        yield made
        made.stop()

    @staticmethod
    def ends(executor: Executor, *what: str) -> dict[str, Finished | Failed]:
        for name in what:
            executor.submit(Work(name, id=name))  # type: ignore[arg-type]
        ended = (e for e in executor.events() if isinstance(e, Finished | Failed))
        return {e.job.id: e for e in ended}

    def test_results_come_back_whole(self, executor: Executor) -> None:
        ends = self.ends(executor, "big", "hello")
        assert isinstance(ends["big"], Finished)
        assert len(ends["big"].result) == 20_000_000
        assert ends["hello"].result == "hello"  # type: ignore[union-attr]

    def test_more_jobs_may_follow_from_what_ended(self, executor: Executor) -> None:
        executor.submit(Work("first", id="first"))  # type: ignore[arg-type]
        seen = []
        for event in executor.events():
            if isinstance(event, Finished):
                seen.append(event.result)
                if event.result == "first":
                    executor.submit(Work("second", id="second"))  # type: ignore[arg-type]
        assert seen == ["first", "second"]

    def test_every_job_has_a_fresh_process(self, executor: Executor) -> None:
        executor.submit(Work("pid", id="a"))  # type: ignore[arg-type]
        executor.submit(Work("pid", id="b"))  # type: ignore[arg-type]
        pids = [e.result for e in executor.events() if isinstance(e, Finished)]
        assert len({*pids, os.getpid()}) == 3

    def test_a_vandal_harms_no_other_job(self, executor: Executor) -> None:
        before = self.ends(executor, "look")["look"].result  # type: ignore[union-attr]
        self.ends(executor, "vandal")
        assert self.ends(executor, "look")["look"].result == before  # type: ignore[union-attr]

    def test_one_thread_a_job(self, executor: Executor) -> None:
        assert self.ends(executor, "threads")["threads"].result == 1  # type: ignore[union-attr]

    def test_every_way_of_failing_has_its_status_and_the_rest_go_on(
        self, executor: Executor
    ) -> None:
        ends = self.ends(executor, "raise", "memory", "exit", "segfault", "kill", "fine")
        statuses = {name: e.status for name, e in ends.items() if isinstance(e, Failed)}
        assert statuses == {
            "raise": Status.FAILED,
            "memory": Status.OOM,
            "exit": Status.CRASHED,
            "segfault": Status.CRASHED,
            "kill": Status.CRASHED,
        }
        raised = ends["raise"]
        assert isinstance(raised, Failed)
        assert raised.error.startswith("ValueError: no luck (support/jobs.py:")
        assert "no luck" in (raised.traceback or "")
        assert isinstance(ends["fine"], Finished)

    def test_a_plugins_sys_exit_is_a_failure(self, executor: Executor) -> None:
        end = self.ends(executor, "system-exit")["system-exit"]
        assert isinstance(end, Failed)
        assert end.status is Status.FAILED

    @pytest.mark.parametrize(
        "what", ["sleep", pytest.param("hold-the-gil", marks=pytest.mark.slow)]
    )
    def test_a_hanging_job_is_killed_at_its_limit(self, what: str) -> None:
        executor = self.make(timeout=4.0)
        ends = self.ends(executor, what, "fine")
        executor.stop()
        hung = ends[what]
        assert isinstance(hung, Failed)
        assert hung.status is Status.TIMEOUT
        assert hung.seconds < 4.0 + 5.0
        assert isinstance(ends["fine"], Finished)

    @pytest.mark.parametrize("how", ["return", "raise", "segfault", "sleep"])
    def test_what_a_job_started_ends_with_it(self, tmp_path: Path, how: str) -> None:
        executor = self.make(timeout=6.0 if how == "sleep" else None)
        executor.submit(Work(f"children-{how}", id=str(tmp_path)))  # type: ignore[arg-type]
        (end,) = [e for e in executor.events() if isinstance(e, Finished | Failed)]
        assert_none_lives(tmp_path)
        expected = {"raise": Status.FAILED, "segfault": Status.CRASHED, "sleep": Status.TIMEOUT}
        assert getattr(end, "status", None) == expected.get(how)
        executor.stop()

    @pytest.mark.parametrize(
        "what",
        [
            *("pool-fork-return", "pool-spawn-return", "pool-forkserver-return"),
            pytest.param("pool-fork-sleep", marks=pytest.mark.thorough),
        ],
    )
    def test_a_job_may_use_multiprocessing_and_its_pool_ends_with_it(
        self, tmp_path: Path, what: str
    ) -> None:
        executor = self.make(timeout=10.0 if what.endswith("sleep") else None)
        executor.submit(Work(what, id=str(tmp_path)))  # type: ignore[arg-type]
        (end,) = [e for e in executor.events() if isinstance(e, Finished | Failed)]
        assert getattr(end, "error", "").startswith("killed after" if "sleep" in what else "")
        assert isinstance(end, Failed) == ("sleep" in what)
        assert_none_lives(tmp_path)
        executor.stop()

    @pytest.mark.parametrize("how", ["return", "raise", "segfault", "sleep"])
    def test_memory_that_a_job_shared_is_free_when_it_has_ended(
        self, tmp_path: Path, how: str
    ) -> None:
        executor = self.make(timeout=6.0 if how == "sleep" else None)
        executor.submit(Work(f"memory-{how}", id=str(tmp_path)))  # type: ignore[arg-type]
        events: list[Event] = list(executor.events())
        executor.stop()
        assert isinstance(events[-1], Finished if how == "return" else Failed)
        (shared,) = tmp_path.iterdir()
        assert not Path("/dev/shm", shared.name).exists()
        # No plugin could prevent a warning: the job ends without what runs at a process's end.
        assert not any("leaked" in event.text for event in events if isinstance(event, Printed))

    def test_a_job_may_load_its_data_in_processes(self, executor: Executor) -> None:
        assert self.ends(executor, "loader")["loader"].result == [3, 7]  # type: ignore[union-attr]

    @pytest.mark.parametrize(
        ("what", "says"),
        [
            ("garbage", "did it write to a descriptor of the suite?"),
            ("garbled-end", "did it write to a descriptor of the suite?"),
            ("close-descriptors", "did it close descriptors of the suite?"),
            ("close-descriptors-and-open-others", "did it close descriptors of the suite?"),
        ],
    )
    def test_a_job_that_spoils_what_its_result_is_sent_by_is_told_so(
        self, executor: Executor, what: str, says: str
    ) -> None:
        ends = self.ends(executor, what, "fine")
        spoilt = ends[what]
        assert isinstance(spoilt, Failed)
        assert spoilt.status is Status.CRASHED
        assert says in spoilt.error
        assert isinstance(ends["fine"], Finished)

    def test_what_is_printed_is_handed_on_and_its_end_is_told_on_failure(
        self, executor: Executor
    ) -> None:
        executor.submit(Work("print"))  # type: ignore[arg-type]
        events: list[Event] = list(executor.events())
        printed = "".join(e.text for e in events if isinstance(e, Printed))
        assert printed == "to stdout\nto stderr \\x1b[2J \\xff\n"
        (end,) = [e for e in events if isinstance(e, Failed)]
        assert end.output == printed.rstrip()

    def test_of_a_flood_both_ends_are_kept(self, executor: Executor) -> None:
        executor.submit(Work("flood"))  # type: ignore[arg-type]
        events: list[Event] = list(executor.events())
        printed = "".join(e.text for e in events if isinstance(e, Printed))
        assert len(printed) < 1_000_000
        assert "99,500,008 bytes left out" in printed
        assert printed.endswith("the end\n")
        assert isinstance(events[-1], Finished)

    def test_texts_of_plugins_are_short_and_harmless(self, executor: Executor) -> None:
        ends = self.ends(executor, "loud", "unreadable", "unsendable")
        loud, unreadable, unsendable = ends["loud"], ends["unreadable"], ends["unsendable"]
        assert isinstance(loud, Failed)
        assert isinstance(unreadable, Failed)
        assert isinstance(unsendable, Failed)
        assert loud.error.startswith("ValueError: \\x1b[31m\\udcff\\x00yyy")
        assert len(loud.error.encode()) <= 1_000
        assert len((loud.traceback or "").encode()) <= 10_000
        assert unreadable.error.startswith("Unreadable: (an error that raises")
        assert unsendable.status is Status.FAILED
        assert unsendable.error.startswith("the result cannot be sent to the driver: ")

    def test_an_error_that_ends_the_process_when_it_is_looked_at_is_a_failure(
        self, executor: Executor
    ) -> None:
        end = self.ends(executor, "exits-when-read")["exits-when-read"]
        assert isinstance(end, Failed)
        assert end.status is Status.FAILED
        assert end.error.startswith("ExitsWhenRead: (an error that raises when its text is asked")
        assert "raise ExitsWhenRead" in (end.traceback or "")

    def test_a_job_that_cannot_be_sent_fails_and_the_rest_go_on(self, executor: Executor) -> None:
        ends = self.ends(executor, "cannot-leave", "fine")
        stuck = ends["cannot-leave"]
        assert isinstance(stuck, Failed)
        assert stuck.status is Status.FAILED
        assert "to a process of its own: ValueError: its arrays are gone" in stuck.error
        assert isinstance(ends["fine"], Finished)

    def test_a_job_that_cannot_be_sent_fails_alone_and_under_a_time_limit_too(self) -> None:
        executor = self.make(timeout=30.0)
        assert isinstance(self.ends(executor, "cannot-leave")["cannot-leave"], Failed)
        executor.stop()

    def test_signals_without_a_name_are_told_by_number(self, executor: Executor) -> None:
        end = self.ends(executor, "real-time-signal")["real-time-signal"]
        assert isinstance(end, Failed)
        assert end.status is Status.CRASHED
        assert end.error.endswith(f"was ended by signal {signal.SIGRTMIN + 6}")

    def test_more_workers_than_jobs_and_back(self, executor: Executor) -> None:
        assert len(self.ends(executor, "one", "two", "three", "four", "five")) == 5
        assert len(self.ends(executor, "six")) == 1


class TestInline(ExecutorTestCase):
    def make(self, timeout: float | None = None) -> Executor:
        return InlineExecutor(workers=2, timeout=timeout)

    def test_a_job_that_its_process_cannot_import_says_so(self, executor: Executor) -> None:
        executor.submit(Unimportable())  # type: ignore[arg-type]
        (end,) = [e for e in executor.events() if isinstance(e, Failed)]
        assert end.status is Status.FAILED
        assert "Can't get attribute 'Late'" in end.error
        assert "at the top of an importable module" in end.error

    @pytest.mark.thorough
    def test_a_job_that_ended_in_time_has_its_result_though_the_driver_was_busy(self) -> None:
        executor = self.make(timeout=4.0)
        executor.submit(Work("big"))  # type: ignore[arg-type]
        events = []
        for event in executor.events():
            if isinstance(event, Progressed):
                time.sleep(5.0)  # as where another program has locked the database
            events.append(event)
        executor.stop()
        assert isinstance(events[-1], Finished)
        assert len(events[-1].result) == 20_000_000

    @pytest.mark.slow
    @pytest.mark.parametrize("what", ["children-sleep", "hold-the-gil"])
    def test_a_driver_that_is_killed_leaves_no_process_behind(
        self, tmp_path: Path, what: str
    ) -> None:
        code = (
            "import os, psutil;"
            "from fairbench.runs.executors.inline import InlineExecutor;"
            "from tests.support.jobs import Work;"
            "e = InlineExecutor(workers=1, timeout=None);"
            f"e.submit(Work({what!r}, id={str(tmp_path)!r}));"
            "it = e.events(); next(x for x in it if type(x).__name__ == 'Progressed');"
            f"[next(it) for _ in range(99) if {what!r}[0] == 'c' and"
            f" len(os.listdir({str(tmp_path)!r})) < 5];"
            "print(*[p.pid for p in psutil.Process().children(recursive=True)]);"
            "print(flush=True); list(it)"
        )
        driver = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
        assert driver.stdout is not None
        pids = [int(word) for word in driver.stdout.readline().split()]
        assert len(pids) >= (9 if what == "children-sleep" else 4)
        driver.kill()
        driver.wait()
        for _ in range(200):
            if not any(runs(pid) for pid in pids):
                return
            time.sleep(0.1)
        for pid in filter(runs, pids):
            os.kill(pid, signal.SIGKILL)
        pytest.fail("a process outlived the driver")

    def test_prepared_without_a_job_it_leaves_no_process_behind(self) -> None:
        code = (
            "import psutil;"
            "from fairbench.runs.executors.inline import InlineExecutor;"
            "e = InlineExecutor(workers=1, timeout=None); e.prepare();"
            "print(*[p.pid for p in psutil.Process().children(recursive=True)]);"
            "e.stop()"
        )
        # Its output ends when the last process that holds it does.
        driver = subprocess.run(
            [sys.executable, "-c", code], stdout=subprocess.PIPE, text=True, check=True, timeout=60
        )
        pids = [int(word) for word in driver.stdout.split()]
        assert pids
        for _ in range(100):
            if not any(runs(pid) for pid in pids):
                return
            time.sleep(0.1)
        pytest.fail("a process outlived the driver")

    @pytest.mark.parametrize(
        ("name", "why"),
        [("missing", "No usable temporary directory found"), ("x" * 100, "path too long")],
    )
    def test_without_a_usable_temporary_folder_it_says_what_to_do(
        self, tmp_path: Path, name: str, why: str
    ) -> None:
        folder = tmp_path / name
        if name != "missing":
            folder.mkdir()
        code = (
            "import tempfile;"
            "from fairbench.errors import ExecutorError;"
            "from fairbench.runs.executors.inline import InlineExecutor;"
            f"tempfile._candidate_tempdir_list = lambda: [{str(folder)!r}];"
            "tempfile.tempdir = None;"
            "e = InlineExecutor(workers=1, timeout=None);\n"
            "try: e.prepare()\n"
            "except ExecutorError as error: print(error)\n"
            "e.stop()"
        )
        done = subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
        assert why in done.stdout
        assert "TMPDIR=/tmp" in done.stdout

    def test_prepared_it_runs_jobs_all_the_same(self) -> None:
        executor = self.make()
        executor.prepare()
        assert isinstance(self.ends(executor, "one")["one"], Finished)

    def test_stopping_leaves_no_process_behind(self, tmp_path: Path) -> None:
        executor = InlineExecutor(workers=1, timeout=None)
        executor.submit(Work("children-sleep", id=str(tmp_path)))  # type: ignore[arg-type]
        events = executor.events()
        while len(list(tmp_path.iterdir())) < 5:
            next(events)
        (child,) = executor._running
        executor.stop()
        assert not child.process.is_alive()
        assert_none_lives(tmp_path)


def test_in_this_process_ctrl_c_ends_the_run_and_is_no_failure_of_the_job() -> None:
    executor = InProcessExecutor()
    executor.submit(Work("interrupt"))  # type: ignore[arg-type]
    executor.submit(Work("raise"))  # type: ignore[arg-type]
    events = executor.events()
    assert isinstance(next(events), Started)
    with pytest.raises(KeyboardInterrupt):
        next(events)


_LOADED_WITHOUT_CUDA = """
import torch

def fail(*args, **kwargs):
    raise AssertionError("the fork server asked for CUDA")

for name in ("is_available", "device_count", "init", "_lazy_init", "current_device"):
    setattr(torch.cuda, name, fail)
import fairbench.runs.executors.preload
"""


@pytest.mark.slow
def test_the_fork_server_leaves_cuda_alone() -> None:
    """A process that is forked from one which has asked for CUDA devices cannot use them."""
    subprocess.run([sys.executable, "-c", _LOADED_WITHOUT_CUDA], check=True, timeout=120)
