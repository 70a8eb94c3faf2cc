"""A call in a process of its own: its answer, its errors, its death, and the end of the wait."""

from __future__ import annotations

import os
import signal
import subprocess
import threading
import time
from pathlib import Path

import psutil
import pytest

from fairbench.runs.own_process import Inherited, call_in_own_process


class UnreadableError(Exception):
    """Can be written by pickle and not be read."""

    def __init__(self, one: str, other: str) -> None:
        super().__init__(f"{one} and {other}")


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


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def sleep(begun: Path) -> None:
    begun.write_text(str(os.getpid()))
    time.sleep(60)


def test_it_answers_from_another_process() -> None:
    pid, value = call_in_own_process(Inherited.now(), pid_and, 3, times=2)
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
    assert call_in_own_process(inherited, look_around) == ("", folder, 0)


def test_what_it_raises_is_raised() -> None:
    with pytest.raises(ValueError, match="this") as raised:
        call_in_own_process(Inherited.now(), fail, ValueError)
    assert str(raised.value) == "this"
    assert "in fail" in raised.value.__notes__[0], "where it was raised"


def test_an_error_that_does_not_travel_is_described() -> None:
    with pytest.raises(RuntimeError, match="UnreadableError: this and that"):
        call_in_own_process(Inherited.now(), fail, UnreadableError)


@pytest.mark.parametrize("kind", [SystemExit, KeyboardInterrupt])
def test_its_exit_is_an_error_of_the_call(kind: type[BaseException]) -> None:
    """Else a plugin could end the command that asked, with the exit code of success."""
    with pytest.raises(RuntimeError, match=kind.__name__):
        call_in_own_process(Inherited.now(), leave, kind)


@pytest.mark.parametrize("how", [subprocess.Popen, None])
def test_what_it_started_ends_with_it(how: type[subprocess.Popen[bytes]] | None) -> None:
    pid = call_in_own_process(Inherited.now(), start, how)
    assert not psutil.pid_exists(pid)


def test_its_death_is_told() -> None:
    with pytest.raises(RuntimeError, match="exit code -9"):
        call_in_own_process(Inherited.now(), die)


def test_who_interrupts_the_wait_ends_the_process(tmp_path: Path) -> None:
    begun = tmp_path / "pid"

    def interrupt() -> None:
        while not (begun.exists() and begun.read_text()):
            time.sleep(0.05)
        os.kill(os.getpid(), signal.SIGINT)

    thread = threading.Thread(target=interrupt)
    thread.start()
    with pytest.raises(KeyboardInterrupt):
        call_in_own_process(Inherited.now(), sleep, begun)
    thread.join()
    assert not psutil.pid_exists(int(begun.read_text()))
