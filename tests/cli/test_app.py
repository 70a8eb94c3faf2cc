"""How commands end that the machine does not let through, or that a user interrupts."""

import errno
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fairbench.cli import app, streams
from tests.conftest import Call, cli_environment

Ended = Callable[[BaseException], tuple[int, str]]
"""Ends a command with an error; returns the exit code and what was said."""


@pytest.fixture
def ended_by(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Ended:
    def end(error: BaseException) -> tuple[int, str]:
        def fails(**_: Any) -> None:
            raise error

        monkeypatch.setattr(app, "app", fails)
        monkeypatch.setattr(signal, "signal", lambda *_: None)
        # It would close the output of the tests.
        monkeypatch.setattr(streams, "abandon_output", lambda: None)
        with pytest.raises(SystemExit) as ended:
            app.main()
        assert isinstance(ended.value.code, int)
        return ended.value.code, capsys.readouterr().err

    return end


@pytest.mark.parametrize(
    ("number", "says", "hint"),
    [
        (errno.EACCES, "x/y.yaml: Permission denied.", "Check who may read and write it"),
        (
            errno.ENOSPC,
            "Output cannot be written to x/y.yaml: No space left on device.",
            "What is in the results folder is kept",
        ),
        (
            errno.EDQUOT,
            "Output cannot be written to x/y.yaml: Disk quota exceeded.",
            "What is in the results folder is kept",
        ),
        (errno.EMFILE, "Too many files are open.", "Raise the limit: ulimit -n"),
    ],
)
def test_what_the_machine_does_not_let_through_is_told(
    number: int, says: str, hint: str, ended_by: Ended
) -> None:
    code, told = ended_by(OSError(number, os.strerror(number), "x/y.yaml"))
    assert code == 2
    assert told.startswith(f"Error: {says}\n{hint}")
    assert "Traceback" not in told


def test_a_command_that_is_interrupted_says_so(
    fairbench_here: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("fairbench.cli.status.ResultsLocation", interrupt)
    done = fairbench_here("status")
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "Interrupted.\n")


@pytest.mark.parametrize("words", [("status",), ("verify", ".")])
def test_a_path_that_leads_nowhere_is_told(fairbench_here: Call, words: tuple[str, ...]) -> None:
    given = words if len(words) > 1 else (*words, "--results", "x" * 300)
    done = fairbench_here(*given)
    assert done.returncode == 2
    assert "Traceback" not in done.stderr
    assert len(done.stderr.splitlines()) == 2


@pytest.mark.slow
def test_every_command_says_that_it_was_interrupted(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    np.save(tmp_path / "z.npy", rng.normal(size=(20_000, 40)))
    np.save(tmp_path / "s.npy", rng.integers(0, 2, 20_000))
    words = [sys.executable, "-m", "fairbench", "audit", "--z", "z.npy", "--s", "s.npy"]
    running = subprocess.Popen(
        words,
        cwd=tmp_path,
        env=cli_environment(tmp_path),
        stderr=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    time.sleep(5)
    running.send_signal(signal.SIGINT)
    _, told = running.communicate(timeout=60)
    assert running.returncode == 130
    assert told.endswith("Interrupted.\n")
    assert "Traceback" not in told


def test_so_does_one_that_still_loads(fairbench: Call, tmp_path: Path) -> None:
    (tmp_path / "typer.py").write_text("raise KeyboardInterrupt")
    path = f"{tmp_path}{os.pathsep}{cli_environment(tmp_path)['PYTHONPATH']}"
    done = fairbench("list", PYTHONPATH=path)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "Interrupted.\n")


def test_an_error_of_fairbench_itself_is_no_answer_of_no(ended_by: Ended) -> None:
    """With exit code 1, scripts would take it for models that failed, and go on."""
    code, told = ended_by(ZeroDivisionError("a bug"))
    assert code == 70
    assert "ZeroDivisionError: a bug" in told
