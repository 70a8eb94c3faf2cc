"""How commands end that the machine does not let through, or that a user interrupts."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fairbench.cli import app
from tests.conftest import Call, cli_environment


def test_what_may_not_be_read_is_told(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def refused(**_: Any) -> None:
        raise PermissionError(13, "Permission denied", "locked/x.yaml")

    monkeypatch.setattr(app, "app", refused)
    monkeypatch.setattr(signal, "signal", lambda *_: None)
    with pytest.raises(SystemExit) as ended:
        app.main()
    assert ended.value.code == 2
    told = capsys.readouterr().err
    assert "Error: locked/x.yaml: Permission denied." in told
    assert "Check who may read and write it" in told


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


def test_an_error_of_fairbench_itself_is_no_answer_of_no(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """With exit code 1, scripts would take it for models that failed, and go on."""

    def fails(**_: object) -> None:
        raise ZeroDivisionError("a bug")

    assert app._guarded(fails) == 70
    assert "ZeroDivisionError: a bug" in capsys.readouterr().err
