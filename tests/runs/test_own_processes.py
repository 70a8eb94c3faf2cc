"""A call in a process of its own: its answer, its errors, its death, and the end of the wait."""

from __future__ import annotations

import contextlib
import fcntl
import itertools
import os
import pickle
import random
import signal
import subprocess
import sys
import threading
import time
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import pytest

from fairbench.runs import deaths, own_processes
from fairbench.runs.forked_calls import tell
from fairbench.runs.own_processes import DiedError, Inherited, OwnProcesses
from fairbench.store.status import Status, status_of


class UnreadableError(Exception):
    """Can be written by pickle and not be read."""

    def __init__(self, one: str, other: str) -> None:
        super().__init__(f"{one} and {other}")


PROCESSES = OwnProcesses(Inherited.now(), [__name__])
LEFT: list[int] = []


def pid_and(value: int, *, times: int = 1) -> tuple[int, int]:
    return os.getpid(), value * times


def look_around() -> tuple[str, str, int]:
    return os.environ.get("LEFT", ""), Path.cwd().name, len(os.read(0, 10) + os.read(2, 0))


def fail(kind: type[Exception]) -> None:
    raise kind(*["this", "that"][: 2 if kind is UnreadableError else 1])


def leave(kind: type[BaseException]) -> None:
    raise kind(0)


def start(how: type[subprocess.Popen[bytes]] | None) -> int:
    """Start a process, which holds the pipe of this one where it is forked."""
    if how is not None:
        return how(["sleep", "600"], start_new_session=True).pid
    pid = os.fork()
    if pid == 0:
        time.sleep(600)
    return pid


def remember(value: int) -> list[int]:
    """Say what earlier calls have left in the memory of the process."""
    LEFT.append(value)
    return LEFT


def set_flag() -> int:
    """Set a flag of what the standard input has open; return the flags that it had."""
    flags = fcntl.fcntl(0, fcntl.F_GETFL)
    fcntl.fcntl(0, fcntl.F_SETFL, flags | os.O_APPEND)
    return flags


def count(limit: int) -> int:
    for number in range(limit):
        tell([number, "counted"])
    return limit


def count_in_threads(limit: int) -> None:
    threads = [threading.Thread(target=count, args=(limit,)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def find_exit_codes() -> list[int]:
    """Look for how earlier calls ended, in what the process that forked was doing."""
    frame, found = sys._getframe(), []
    while (frame := frame.f_back) is not None:  # type: ignore[assignment]
        found += [v for v in frame.f_locals.values() if isinstance(v, int) and v >> 8 == 77]
    return found


def exit_with_a_code() -> None:
    os._exit(77)


def kill_who_forks() -> None:
    os.kill(who_forks(), signal.SIGKILL)
    time.sleep(60)


def draw() -> list[float]:
    drawn = [random.random(), np.random.random()]  # noqa: NPY002
    if (torch := sys.modules.get("torch")) is not None:
        drawn.append(torch.rand(1).item())
    return drawn


def who_forks() -> int:
    return psutil.Process(os.getppid()).ppid()


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def sleep(begun: Path) -> None:
    begun.write_text(str(os.getpid()))
    time.sleep(60)


def wait_for(written: Path) -> None:
    end = time.monotonic() + 60
    while not (written.exists() and written.read_text()):
        assert time.monotonic() < end, "nothing was written"
        time.sleep(0.05)


def test_it_answers_from_another_process() -> None:
    pid, value = PROCESSES.call(partial(pid_and, 3, times=2))
    assert value == 6
    assert pid != os.getpid()


def test_it_inherits_what_it_is_to_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = Path.cwd().name
    inherited = Inherited.now()
    monkeypatch.setenv("LEFT", "s")
    monkeypatch.chdir(tmp_path)
    assert OwnProcesses(inherited).call(look_around) == ("", folder, 0)


def test_nothing_of_a_call_is_there_in_the_next() -> None:
    assert [PROCESSES.call(partial(remember, value)) for value in (1, 2)] == [[1], [2]]
    assert PROCESSES.call(set_flag) == PROCESSES.call(set_flag)


@pytest.mark.parametrize(
    "libraries", [[], pytest.param(["torch"], marks=pytest.mark.thorough)], ids=len
)
def test_no_two_calls_draw_the_same_numbers(libraries: list[str]) -> None:
    """Else an encoder that draws without its generator would seem to give the same codes again."""
    processes = OwnProcesses(Inherited.now(), [__name__, *libraries]) if libraries else PROCESSES
    first, second = processes.call(draw), processes.call(draw)
    assert len(first) == 2 + len(libraries)
    assert not set(first) & set(second)


def test_a_call_tells_how_far_it_is() -> None:
    told: list[Any] = []
    assert PROCESSES.call(partial(count, 3), told.append) == 3
    assert told == [[number, "counted"] for number in range(3)]
    assert PROCESSES.call(partial(count, 3)) == 3, "nobody need listen"


def test_threads_tell_one_after_the_other() -> None:
    told: list[Any] = []
    PROCESSES.call(partial(count_in_threads, 500), told.append)
    assert sorted(told) == sorted([[number, "counted"] for number in range(500)] * 4)


def test_who_listens_may_end_the_call() -> None:
    def refuse(value: object) -> None:
        raise ValueError("no such share")

    with pytest.raises(ValueError, match="no such share"):
        PROCESSES.call(partial(count, 3), refuse)
    assert PROCESSES.call(partial(count, 3)) == 3


def test_large_messages_arrive() -> None:
    sent = np.arange(5_000_000)[::-1]
    assert np.array_equal(PROCESSES.call(partial(np.sort, sent)), sent[::-1])


@pytest.mark.skipif(sys.platform != "linux", reason="as Linux ends processes")
def test_the_death_of_who_forks_is_told_and_calls_go_on() -> None:
    with pytest.raises(DiedError, match="SIGKILL"):
        PROCESSES.call(kill_who_forks)
    assert PROCESSES.call(partial(count, 3)) == 3


def test_calls_go_on_where_the_process_that_forks_was_killed() -> None:
    processes = pickle.loads(pickle.dumps(PROCESSES))
    forks = psutil.Process(processes.call(who_forks))
    forks.kill()
    forks.wait(10)
    assert processes.call(partial(pid_and, 3))[1] == 3


def test_what_it_raises_is_raised() -> None:
    with pytest.raises(ValueError, match="this") as raised:
        PROCESSES.call(partial(fail, ValueError))
    assert str(raised.value) == "this"
    assert "in fail" in raised.value.__notes__[0], "where it was raised"


def test_an_error_that_does_not_travel_is_described() -> None:
    with pytest.raises(RuntimeError, match="UnreadableError: this and that"):
        PROCESSES.call(partial(fail, UnreadableError))


@pytest.mark.parametrize("kind", [SystemExit, KeyboardInterrupt])
def test_its_exit_is_an_error_of_the_call(kind: type[BaseException]) -> None:
    """Else a plugin could end the command that asked, with the exit code of success."""
    with pytest.raises(RuntimeError, match=kind.__name__):
        PROCESSES.call(partial(leave, kind))


@pytest.mark.parametrize("how", [subprocess.Popen, None])
def test_what_it_started_ends_with_it(how: type[subprocess.Popen[bytes]] | None) -> None:
    pid = PROCESSES.call(partial(start, how))
    assert not psutil.pid_exists(pid)


def test_its_death_is_told() -> None:
    with pytest.raises(DiedError, match="ended by SIGKILL") as died:
        PROCESSES.call(die)
    assert status_of(died.value) is Status.FAILED, "of the memory it could only be asked"


def test_so_is_that_for_lack_of_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    killed = itertools.count()
    for module in (deaths, own_processes):
        monkeypatch.setattr(module, "processes_killed_for_memory", lambda: next(killed))
    with pytest.raises(MemoryError, match="the machine was out of memory"):
        PROCESSES.call(die)


def test_how_a_call_ended_is_not_there_in_the_next() -> None:
    with pytest.raises(DiedError, match="exit code 77"):
        PROCESSES.call(exit_with_a_code)
    assert PROCESSES.call(find_exit_codes) == []


def test_who_interrupts_the_wait_ends_the_process(tmp_path: Path) -> None:
    begun = tmp_path / "pid"

    def interrupt() -> None:
        wait_for(begun)
        os.kill(os.getpid(), signal.SIGINT)

    thread = threading.Thread(target=interrupt)
    thread.start()
    with pytest.raises(KeyboardInterrupt):
        PROCESSES.call(partial(sleep, begun))
    thread.join()
    assert not psutil.pid_exists(int(begun.read_text()))


def test_the_death_of_who_calls_ends_the_process(tmp_path: Path) -> None:
    begun = tmp_path / "pid"
    call = f"PROCESSES.call(partial(sleep, Path({str(begun)!r})))"
    with subprocess.Popen([sys.executable, "-c", f"from {__name__} import *; {call}"]) as caller:
        wait_for(begun)
        caller.kill()
    with contextlib.suppress(psutil.NoSuchProcess):
        psutil.Process(int(begun.read_text())).wait(10)
