"""A call in a process of its own: its answer, its errors, its death, and the end of the wait."""

from __future__ import annotations

import contextlib
import os
import pickle
import random
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import psutil
import pytest

from fairbench.runs.own_processes import Inherited, OwnProcesses


class UnreadableError(Exception):
    """Can be written by pickle and not be read."""

    def __init__(self, one: str, other: str) -> None:
        super().__init__(f"{one} and {other}")


PROCESSES = OwnProcesses(Inherited.now())
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
    while not (written.exists() and written.read_text()):
        time.sleep(0.05)


def test_it_answers_from_another_process() -> None:
    pid, value = PROCESSES.call([], pid_and, 3, times=2)
    assert value == 6
    assert pid != os.getpid()


def test_it_inherits_what_it_is_to_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = Path.cwd().name
    inherited = Inherited.now()
    monkeypatch.setenv("LEFT", "s")
    monkeypatch.chdir(tmp_path)
    os.putenv("LEFT_UNSEEN", "s")
    assert OwnProcesses(inherited).call([__name__], look_around) == ("", folder, 0)


def test_nothing_of_a_call_is_there_in_the_next() -> None:
    assert [PROCESSES.call([__name__], remember, value) for value in (1, 2)] == [[1], [2]]


@pytest.mark.parametrize(
    "libraries", [[], pytest.param(["torch"], marks=pytest.mark.thorough)], ids=len
)
def test_no_two_calls_draw_the_same_numbers(libraries: list[str]) -> None:
    """Else an encoder that draws without its generator would seem to give the same codes again."""
    first, second = (PROCESSES.call([__name__, *libraries], draw) for _ in range(2))
    assert len(first) == 2 + len(libraries)
    assert not set(first) & set(second)


def test_calls_go_on_where_the_process_that_forks_was_killed() -> None:
    processes = pickle.loads(pickle.dumps(PROCESSES))
    forks = psutil.Process(processes.call([__name__], who_forks))
    forks.kill()
    forks.wait(10)
    assert processes.call([__name__], pid_and, 3)[1] == 3


def test_what_it_raises_is_raised() -> None:
    with pytest.raises(ValueError, match="this") as raised:
        PROCESSES.call([__name__], fail, ValueError)
    assert str(raised.value) == "this"
    assert "in fail" in raised.value.__notes__[0], "where it was raised"


def test_an_error_that_does_not_travel_is_described() -> None:
    with pytest.raises(RuntimeError, match="UnreadableError: this and that"):
        PROCESSES.call([__name__], fail, UnreadableError)


@pytest.mark.parametrize("kind", [SystemExit, KeyboardInterrupt])
def test_its_exit_is_an_error_of_the_call(kind: type[BaseException]) -> None:
    """Else a plugin could end the command that asked, with the exit code of success."""
    with pytest.raises(RuntimeError, match=kind.__name__):
        PROCESSES.call([__name__], leave, kind)


@pytest.mark.parametrize("how", [subprocess.Popen, None])
def test_what_it_started_ends_with_it(how: type[subprocess.Popen[bytes]] | None) -> None:
    pid = PROCESSES.call([__name__], start, how)
    assert not psutil.pid_exists(pid)


def test_its_death_is_told() -> None:
    with pytest.raises(RuntimeError, match="exit code -9"):
        PROCESSES.call([__name__], die)


def test_who_interrupts_the_wait_ends_the_process(tmp_path: Path) -> None:
    begun = tmp_path / "pid"

    def interrupt() -> None:
        wait_for(begun)
        os.kill(os.getpid(), signal.SIGINT)

    thread = threading.Thread(target=interrupt)
    thread.start()
    with pytest.raises(KeyboardInterrupt):
        PROCESSES.call([__name__], sleep, begun)
    thread.join()
    assert not psutil.pid_exists(int(begun.read_text()))


def test_the_death_of_who_calls_ends_the_process(tmp_path: Path) -> None:
    begun = tmp_path / "pid"
    call = f"PROCESSES.call([{__name__!r}], sleep, Path({str(begun)!r}))"
    with subprocess.Popen([sys.executable, "-c", f"from {__name__} import *; {call}"]) as caller:
        wait_for(begun)
        caller.kill()
    with contextlib.suppress(psutil.NoSuchProcess):
        psutil.Process(int(begun.read_text())).wait(10)
